//! Every colour of the app, and nothing else that decides.
//!
//! Colours of slices are given in Oklch (lightness, chroma, hue): equal lightness
//! there is equal lightness to the eye, so no category shouts by accident. Texts on
//! slices are black or white, whichever contrasts more (tested).

use std::sync::LazyLock;

use analysis::OpGroup;
use egui::{Color32, CornerRadius, FontFamily, FontId, Stroke, Style, TextStyle, Visuals};

/// How many colours names are spread over.
pub const NAME_COLORS: usize = 24;

/// Which colour a slice gets: an index into [`Theme`]'s palette.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColorKey(u8);

impl ColorKey {
    /// The colour of a kind of work.
    pub fn of_group(group: OpGroup) -> Self {
        let index = OpGroup::ALL.iter().position(|&g| g == group).unwrap_or(0);
        Self(index as u8)
    }

    /// The colour of a name, whose trailing numbers do not count: `fusion.12` and
    /// `fusion.99` look alike.
    pub fn of_name(name: &str) -> Self {
        let stem =
            name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '_' | '-' | '(' | ')' | ' '));
        if stem.is_empty() {
            // Steps are numbers: no colour tells them apart, and none is needed.
            return Self::of_group(OpGroup::Other);
        }
        // FNV-1a: the same name has the same colour in every trace and every version.
        let hash = stem
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Self((OpGroup::ALL.len() + ((hash >> 16) % NAME_COLORS as u64) as usize) as u8)
    }
}

/// A fill and the text colour that reads on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SliceColor {
    /// Of the box.
    pub fill: Color32,
    /// Of the text in it.
    pub text: Color32,
}

/// One set of colours.
#[derive(Debug)]
pub struct Theme {
    /// Behind the tracks.
    pub canvas: Color32,
    /// Behind the names of tracks.
    pub labels: Color32,
    /// Behind headings of groups.
    pub heading: Color32,
    /// Behind panels.
    pub panel: Color32,
    /// Behind cards and fields on panels.
    pub raised: Color32,
    /// Between panels, around cards.
    pub edge: Color32,
    /// Lines of the time grid.
    pub grid: Color32,
    /// Text.
    pub text: Color32,
    /// Text that matters less.
    pub text_weak: Color32,
    /// Headings and numbers.
    pub text_strong: Color32,
    /// What can be pressed, what is going on.
    pub accent: Color32,
    /// The selected slice.
    pub selection: Color32,
    /// Beware.
    pub warning: Color32,
    /// It went wrong.
    pub error: Color32,
    /// Lines of counters and plots.
    pub counter: Color32,
    /// Arrows that arrive.
    pub flow_in: Color32,
    /// Arrows that leave.
    pub flow_out: Color32,
    palette: Vec<SliceColor>,
}

impl Theme {
    /// The dark or the light one.
    pub fn of(dark: bool) -> &'static Self {
        static DARK: LazyLock<Theme> = LazyLock::new(Theme::dark);
        static LIGHT: LazyLock<Theme> = LazyLock::new(Theme::light);
        if dark { &DARK } else { &LIGHT }
    }

    /// The one that is in use.
    pub fn current(ui: &egui::Ui) -> &'static Self {
        Self::of(ui.visuals().dark_mode)
    }

    /// Colours of a slice.
    pub fn slice(&self, key: ColorKey) -> SliceColor {
        self.palette[usize::from(key.0)]
    }

    /// Colour of a kind of work, for legends and bars.
    pub fn group(&self, group: OpGroup) -> Color32 {
        self.slice(ColorKey::of_group(group)).fill
    }

    fn dark() -> Self {
        let gray = |l: f32| oklch(l, 0.012, 262.0);
        Self {
            canvas: gray(0.185),
            labels: gray(0.215),
            heading: gray(0.255),
            panel: gray(0.225),
            raised: gray(0.275),
            edge: gray(0.33),
            grid: gray(0.25),
            text: gray(0.86),
            text_weak: gray(0.68),
            text_strong: gray(0.97),
            accent: oklch(0.74, 0.12, 245.0),
            selection: Color32::WHITE,
            warning: oklch(0.82, 0.14, 80.0),
            error: oklch(0.72, 0.16, 25.0),
            counter: oklch(0.70, 0.10, 200.0),
            flow_in: oklch(0.80, 0.13, 200.0),
            flow_out: oklch(0.82, 0.14, 80.0),
            palette: palette(0.0, 0.47, [0.44, 0.58, 0.34]),
        }
    }

    fn light() -> Self {
        let gray = |l: f32| oklch(l, 0.008, 262.0);
        Self {
            canvas: gray(0.995),
            labels: gray(0.965),
            heading: gray(0.925),
            panel: gray(0.975),
            raised: gray(0.945),
            edge: gray(0.87),
            grid: gray(0.945),
            text: gray(0.32),
            text_weak: gray(0.50),
            text_strong: gray(0.20),
            accent: oklch(0.52, 0.16, 255.0),
            selection: Color32::BLACK,
            warning: oklch(0.52, 0.12, 65.0),
            error: oklch(0.52, 0.19, 27.0),
            counter: oklch(0.58, 0.10, 215.0),
            flow_in: oklch(0.50, 0.12, 230.0),
            flow_out: oklch(0.55, 0.15, 50.0),
            palette: palette(0.08, 0.80, [0.60, 0.70, 0.90]),
        }
    }
}

/// Colours of all [`ColorKey`]s. `lift` brightens those of the kinds of work;
/// names have lightness `name_lightness` and little chroma, so that they stay
/// behind them; `grays` are the lightness of what is no work.
fn palette(lift: f32, name_lightness: f32, grays: [f32; 3]) -> Vec<SliceColor> {
    let groups = OpGroup::ALL.map(|group| {
        // Cool: work. Warm: waiting and moving. Gray: neither.
        let (lightness, chroma, hue) = match group {
            OpGroup::MatMul => (0.62, 0.15, 255.0),
            OpGroup::Vector => (0.66, 0.11, 175.0),
            OpGroup::CustomKernel => (0.62, 0.15, 300.0),
            OpGroup::SparseCore => (0.70, 0.11, 215.0),
            OpGroup::DataMovement => (0.76, 0.13, 90.0),
            OpGroup::Collective => (0.68, 0.16, 48.0),
            OpGroup::AsyncWait => (0.58, 0.16, 15.0),
            OpGroup::HostIo => (0.60, 0.08, 65.0),
            OpGroup::Control => (grays[0] - lift, 0.02, 262.0),
            OpGroup::Other => (grays[1] - lift, 0.02, 262.0),
            OpGroup::Idle => (grays[2] - lift, 0.01, 262.0),
        };
        oklch((lightness + lift).min(0.95), chroma, hue)
    });
    let names = (0..NAME_COLORS).map(|i| {
        let hue = i as f32 * 360.0 / NAME_COLORS as f32;
        let lightness = name_lightness + if i % 2 == 0 { 0.04 } else { -0.03 };
        oklch(lightness, 0.065, hue)
    });
    groups.into_iter().chain(names).map(|fill| SliceColor { fill, text: readable_on(fill) }).collect()
}

/// Black or white, whichever contrasts more.
pub fn readable_on(fill: Color32) -> Color32 {
    let black = Color32::from_gray(12);
    if contrast(black, fill) >= contrast(Color32::WHITE, fill) { black } else { Color32::WHITE }
}

/// Contrast ratio of two opaque colours, 1 to 21 (WCAG 2).
pub fn contrast(a: Color32, b: Color32) -> f32 {
    let luminance = |color: Color32| {
        let [r, g, b] = [color.r(), color.g(), color.b()].map(|v| {
            let v = f32::from(v) / 255.0;
            if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// Oklch to sRGB, clipped to what screens can show.
#[expect(clippy::many_single_char_names, reason = "the names of the colour spaces' axes")]
fn oklch(lightness: f32, chroma: f32, hue_degrees: f32) -> Color32 {
    let (sin, cos) = hue_degrees.to_radians().sin_cos();
    let (a, b) = (chroma * cos, chroma * sin);
    let l = (lightness + 0.396_337_78 * a + 0.215_803_76 * b).powi(3);
    let m = (lightness - 0.105_561_346 * a - 0.063_854_17 * b).powi(3);
    let s = (lightness - 0.089_484_18 * a - 1.291_485_5 * b).powi(3);
    let linear = [
        4.076_741_7 * l - 3.307_711_6 * m + 0.230_969_94 * s,
        -1.268_438 * l + 2.609_757_4 * m - 0.341_319_38 * s,
        -0.004_196_086_3 * l - 0.703_418_6 * m + 1.707_614_7 * s,
    ];
    let [r, g, b] = linear.map(|v| {
        let v = v.clamp(0.0, 1.0);
        let v = if v <= 0.003_130_8 { v * 12.92 } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 };
        (v * 255.0).round() as u8
    });
    Color32::from_rgb(r, g, b)
}

/// Text on slices and names of tracks.
pub fn small_font() -> FontId {
    FontId::new(11.5, FontFamily::Proportional)
}

/// Makes egui's own widgets look the part, in both themes.
pub fn install(ctx: &egui::Context) {
    for dark in [true, false] {
        let theme = if dark { egui::Theme::Dark } else { egui::Theme::Light };
        ctx.style_mut_of(theme, |style| apply(style, Theme::of(dark), dark));
    }
}

fn apply(style: &mut Style, theme: &Theme, dark: bool) {
    style.text_styles =
        [(TextStyle::Small, 11.5), (TextStyle::Body, 13.0), (TextStyle::Button, 13.0), (TextStyle::Heading, 17.0)]
            .into_iter()
            .map(|(name, size)| (name, FontId::new(size, FontFamily::Proportional)))
            .chain([(TextStyle::Monospace, FontId::new(12.0, FontFamily::Monospace))])
            .collect();
    style.spacing.item_spacing = egui::vec2(8.0, 5.0);
    style.spacing.button_padding = egui::vec2(8.0, 3.0);
    style.interaction.tooltip_delay = 0.25;

    let mut visuals = if dark { Visuals::dark() } else { Visuals::light() };
    visuals.panel_fill = theme.panel;
    visuals.window_fill = theme.panel;
    visuals.window_stroke = Stroke::new(1.0, theme.edge);
    visuals.extreme_bg_color = theme.canvas;
    visuals.faint_bg_color = theme.raised.gamma_multiply(0.5);
    visuals.code_bg_color = theme.raised;
    visuals.hyperlink_color = theme.accent;
    visuals.warn_fg_color = theme.warning;
    visuals.error_fg_color = theme.error;
    visuals.weak_text_color = Some(theme.text_weak);
    visuals.selection.bg_fill = theme.accent.gamma_multiply(0.35);
    visuals.selection.stroke = Stroke::new(1.0, theme.text_strong);
    visuals.widgets.noninteractive.fg_stroke.color = theme.text;
    visuals.widgets.noninteractive.bg_stroke.color = theme.edge;
    visuals.widgets.inactive.fg_stroke.color = theme.text;
    visuals.widgets.inactive.weak_bg_fill = theme.raised;
    visuals.widgets.inactive.bg_fill = theme.raised;
    visuals.widgets.hovered.fg_stroke.color = theme.text_strong;
    visuals.widgets.hovered.weak_bg_fill = theme.edge;
    visuals.widgets.hovered.bg_stroke = Stroke::new(1.0, theme.text_weak.gamma_multiply(0.5));
    visuals.widgets.active.fg_stroke.color = theme.text_strong;
    for widget in [
        &mut visuals.widgets.noninteractive,
        &mut visuals.widgets.inactive,
        &mut visuals.widgets.hovered,
        &mut visuals.widgets.active,
        &mut visuals.widgets.open,
    ] {
        widget.corner_radius = CornerRadius::same(4);
        widget.expansion = 0.0;
    }
    style.visuals = visuals;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_readable_on_its_background() {
        for dark in [true, false] {
            let theme = Theme::of(dark);
            for (i, color) in theme.palette.iter().enumerate() {
                let ratio = contrast(color.fill, color.text);
                assert!(ratio >= 4.5, "dark {dark}, palette {i}: {ratio:.2}");
            }
            for back in [theme.panel, theme.labels, theme.heading, theme.canvas, theme.raised] {
                for text in [theme.text, theme.text_weak, theme.text_strong, theme.warning, theme.error] {
                    let ratio = contrast(text, back);
                    assert!(ratio >= 4.5, "dark {dark}: {text:?} on {back:?} is {ratio:.2}");
                }
            }
        }
    }

    #[test]
    fn slices_stand_out_from_the_canvas() {
        for dark in [true, false] {
            let theme = Theme::of(dark);
            for group in OpGroup::ALL.into_iter().filter(|&group| group != OpGroup::Idle) {
                let ratio = contrast(theme.group(group), theme.canvas);
                assert!(ratio >= 1.5, "dark {dark}, {group:?}: {ratio:.2}");
            }
        }
    }

    #[test]
    fn names_that_differ_by_number_share_a_colour() {
        assert_eq!(ColorKey::of_name("fusion.12"), ColorKey::of_name("fusion.99"));
        assert_eq!(ColorKey::of_name("jit_step(123)"), ColorKey::of_name("jit_step(9)"));
        assert_ne!(ColorKey::of_name("fusion"), ColorKey::of_name("copy"));
        assert_eq!(ColorKey::of_name("12"), ColorKey::of_group(OpGroup::Other));
    }

    #[test]
    fn known_colours_convert() {
        assert_eq!(oklch(1.0, 0.0, 0.0), Color32::WHITE);
        assert_eq!(oklch(0.0, 0.0, 0.0), Color32::BLACK);
        // Pure sRGB red is oklch(0.628, 0.2577, 29.23).
        let red = oklch(0.627_96, 0.257_68, 29.23);
        assert!(red.r() >= 254 && red.g() <= 2 && red.b() <= 2, "{red:?}");
    }
}
