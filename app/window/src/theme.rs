//! The palette as egui colours, and the style of egui's widgets.

use std::cell::Cell;
use std::sync::LazyLock;

use crate::prelude::*;
use egui::{CornerRadius, FontDefinitions, FontFamily, Style, TextStyle, Visuals};

use view::palette::{self, Palette, Preset, Rgb};

/// One set of colours.
pub type Theme = Palette<Color32>;

fn color32(Rgb([r, g, b]): Rgb) -> Color32 {
    Color32::from_rgb(r, g, b)
}

thread_local! {
    static PRESET: Cell<Preset> = const { Cell::new(Preset::Systole) };
}

/// Sets the colour preset of slices. The window has one preset, stored per thread, so that it need not be passed to
/// everything that draws.
pub fn paint_in(preset: Preset) {
    PRESET.set(preset);
}

/// The dark or light theme with the chosen preset.
pub fn theme_of(dark: bool) -> &'static Theme {
    theme_in(dark, PRESET.get())
}

/// The dark or light theme with a given preset.
pub fn theme_in(dark: bool, preset: Preset) -> &'static Theme {
    static ALL: LazyLock<Vec<[Theme; 2]>> = LazyLock::new(|| {
        Preset::all()
            .map(|(preset, _)| [false, true].map(|dark| Palette::of(dark, preset).map(color32)))
            .collect()
    });
    &ALL[preset.index()][usize::from(dark)]
}

/// The theme that is shown.
pub fn current(ui: &Ui) -> &'static Theme {
    theme_of(ui.visuals().dark_mode)
}

/// Black or white, whichever contrasts more.
pub fn readable_on(fill: Color32) -> Color32 {
    color32(palette::readable_on(Rgb([fill.r(), fill.g(), fill.b()])))
}

/// Text on slices and names of tracks.
pub fn small_font() -> FontId {
    FontId::new(11.5, FontFamily::Proportional)
}

/// Styles egui's widgets, in both themes.
pub fn install(ctx: &Context) {
    ctx.set_fonts(fonts());
    for dark in [true, false] {
        let theme = if dark {
            egui::Theme::Dark
        } else {
            egui::Theme::Light
        };
        ctx.style_mut_of(theme, |style| apply(style, theme_of(dark), dark));
    }
}

/// The fonts of egui. Reports contain arrows and block characters, which only the monospace font has; without fallback
/// fonts a system would draw boxes.
fn fonts() -> FontDefinitions {
    let mut fonts = FontDefinitions::default();
    let monospace = fonts
        .families
        .get(&FontFamily::Monospace)
        .cloned()
        .unwrap_or_default();
    let proportional = fonts.families.entry(FontFamily::Proportional).or_default();
    proportional.extend(
        monospace
            .into_iter()
            .filter(|name| !proportional.contains(name))
            .collect::<Vec<_>>(),
    );
    fonts
}

fn apply(style: &mut Style, theme: &Theme, dark: bool) {
    style.text_styles = [
        (TextStyle::Small, 11.5),
        (TextStyle::Body, 13.0),
        (TextStyle::Button, 13.0),
        (TextStyle::Heading, 17.0),
    ]
    .into_iter()
    .map(|(name, size)| (name, FontId::new(size, FontFamily::Proportional)))
    .chain([(
        TextStyle::Monospace,
        FontId::new(12.0, FontFamily::Monospace),
    )])
    .collect();
    style.spacing.item_spacing = vec2(8.0, 5.0);
    style.spacing.button_padding = vec2(8.0, 3.0);
    // Scroll bars are always visible and do not cover content.
    let scroll = &mut style.spacing.scroll;
    (
        scroll.floating_width,
        scroll.floating_allocated_width,
        scroll.bar_width,
    ) = (6.0, 8.0, 8.0);
    (
        scroll.dormant_background_opacity,
        scroll.dormant_handle_opacity,
    ) = (0.2, 0.55);
    style.interaction.tooltip_delay = 0.25;
    // Dragging next to a panel marks an area, so the edge of the panel must be easy to hit.
    style.interaction.resize_grab_radius_side = 7.0;

    let mut visuals = if dark {
        Visuals::dark()
    } else {
        Visuals::light()
    };
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
