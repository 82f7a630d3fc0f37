//! Panels whose size only the user changes, and that keep it.

use egui::{Panel as EguiPanel, Response, Sense, Ui, UiBuilder};

use crate::gui::AppCommand;
use crate::gui::settings::{PanelPart, Settings};
use crate::view::state::ViewCommand;

/// Windows narrower than this show reports over the timeline instead of beside it.
pub const NARROW: f32 = 1100.0;

/// Whether the window has no room for reports beside the timeline.
pub fn is_narrow(ui: &Ui) -> bool {
    ui.ctx().content_rect().width() < NARROW
}

/// Tells the view whether reports lie over the timeline, if that has changed.
pub fn overlay_command(ui: &Ui, is_over: bool) -> Option<ViewCommand> {
    let narrow = is_narrow(ui);
    (narrow != is_over).then_some(ViewCommand::ReportsOver(narrow))
}

/// Draws a panel with the size that the user gave it: its content is clipped and never changes it. `most` is the
/// largest size that leaves room for the rest of the window.
pub fn sized_ui(
    ui: &mut Ui,
    panel: EguiPanel,
    (part, most): (PanelPart, f32),
    settings: &Settings,
    out: &mut Vec<AppCommand>,
    content: impl FnOnce(&mut Ui, &mut Vec<AppCommand>),
) -> Response {
    let [least, _] = part.limits();
    let most = most.max(least);
    let wanted = settings.sizes.of(part).min(most);
    let panel = panel.resizable(true).default_size(wanted).size_range(least..=most);
    let shown = panel.show(ui, |ui| {
        let rect = ui.available_rect_before_wrap();
        let mut inner = ui.new_child(UiBuilder::new().max_rect(rect));
        inner.shrink_clip_rect(rect);
        content(&mut inner, out);
        ui.allocate_rect(rect, Sense::hover());
    });
    let rect = shown.response.rect;
    let size = if part.is_width() { rect.width() } else { rect.height() };
    // Only a drag changes it: a small window must not make the panel small for good.
    if ui.input(|i| i.pointer.any_released()) && (size - wanted).abs() > 1.0 {
        out.push(AppCommand::PanelSize(part, size));
    }
    shown.response
}
