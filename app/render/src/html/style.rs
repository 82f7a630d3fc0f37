//! Style of HTML pages: the colours of the window, light or dark like the reader's system.

use crate::prelude::*;
use analysis::OpGroup;
use maud::{Markup, PreEscaped, html};

use view::drawing::Ink;
use view::palette::{ColorKey, Palette, Preset, SliceColor};

/// The content of the head of a page besides its title.
pub fn head() -> Markup {
    const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta http-equiv="Content-Security-Policy" content=(POLICY);
        style {
            ":root{color-scheme:light dark;--pass:#19713a;" (colors(false)) "}\n"
            "@media(prefers-color-scheme:dark){:root{--pass:#6fcf8e;" (colors(true)) "}}\n"
            (PreEscaped(RULES))
        }
    }
}

/// How the page writes a colour of a drawing.
pub fn color_of(ink: Ink) -> String {
    let of = |role| match role {
        ColorRole::Text | ColorRole::TextStrong => "var(--fg)".to_owned(),
        ColorRole::TextWeak => "var(--dim)".to_owned(),
        ColorRole::Edge | ColorRole::Grid => "var(--line)".to_owned(),
        ColorRole::Raised => "var(--soft)".to_owned(),
        ColorRole::Warning => "var(--warn)".to_owned(),
        ColorRole::Accent => "var(--accent)".to_owned(),
        ColorRole::Slice(key) => format!("var(--p{})", key.0),
        ColorRole::OnSlice(key) => format!("var(--t{})", key.0),
        _ => "var(--bg)".to_owned(),
    };
    let ground = ink.ground.map_or_else(|| "transparent".to_owned(), of);
    if ink.share < 1.0 {
        let (role, percent) = (of(ink.role), 100.0 * ink.share);
        format!("color-mix(in srgb,{role} {percent:.0}%,{ground})")
    } else {
        of(ink.role)
    }
}

fn colors(dark: bool) -> String {
    let palette = Palette::of(dark, Preset::default());
    let named = [
        ("bg", palette.panel),
        ("fg", palette.text_strong),
        ("dim", palette.text_weak),
        ("line", palette.edge),
        ("soft", palette.raised),
        ("accent", palette.accent),
        ("fail", palette.error),
        ("warn", palette.warning),
    ];
    let mut text = String::new();
    for (name, color) in named {
        let _ = write!(text, "--{name}:{color};");
    }
    for key in OpGroup::ALL.map(ColorKey::of_group) {
        let SliceColor { fill, text: on } = palette.slice(key);
        let _ = write!(text, "--p{at}:{fill};--t{at}:{on};", at = key.0);
    }
    text
}

const RULES: &str = "*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
main{max-width:62rem;margin:0 auto;padding:1rem}h1{font-size:1.35rem;line-height:1.3;margin:.3rem 0 1rem}h2{font-size:1.1rem;margin:1.6rem 0 .5rem}header p{margin:.2rem 0}header h1{margin:.4rem 0}h3{font-size:1rem;margin:1rem 0 .3rem}
p{margin:.4rem 0}.dim{color:var(--dim)}.pass{color:var(--pass)}.fail{color:var(--fail)}.warn{color:var(--warn)}
.scroll{overflow-x:auto}:where(.scroll td:not([class])){min-width:7rem}table+table{margin-top:1rem}table{border-collapse:collapse;font-size:.87rem;min-width:100%}th{text-align:left;color:var(--dim);font-weight:500}th.n{text-align:right}
th,td{padding:.25rem .7rem .25rem 0;border-bottom:1px solid var(--line);vertical-align:top}.n{text-align:right;white-space:nowrap;overflow-wrap:normal;font-variant-numeric:tabular-nums}
td:first-child{min-width:11rem}.v{white-space:nowrap}.cap{margin:.3rem 0 0;font-size:.8rem;color:var(--dim)}.share{display:block;height:3px;background:var(--p0)}
svg{display:block;width:100%;height:auto}svg text{font:11px system-ui,sans-serif}.plot svg{min-width:35rem}
pre{overflow-x:auto;background:var(--soft);padding:.5rem .7rem;font-size:.85rem}details{border-bottom:1px solid var(--line);padding:.35rem 0}summary{cursor:pointer}details details{border:0}.uses{display:flex;height:1.6rem;border-radius:3px;overflow:hidden}.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(10rem,1fr));gap:.6rem 1.2rem}.figures p{margin:0}.lead{font-size:1.15rem;font-weight:600}.value{font-size:1.25rem;font-weight:600}
footer{margin:2.5rem 0 1rem;font-size:.85rem}
.narrow{display:none}.key{display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.85rem;margin:.4rem 0;padding:0;list-style:none}.key i{display:inline-block;width:.8em;height:.8em;margin-right:.35em;border-radius:2px}
@media(max-width:600px){.wide{display:none}.narrow{display:inline}.plot text{font-size:14px}td:first-child{min-width:6.5rem}th,td{padding-right:.45rem}}
";
