//! Panels whose size only the user changes, and that keep it.

use super::prelude::*;
use egui::{Area, Margin, Order, PanelState, UiBuilder};

use crate::settings::{NARROW, PanelPart};

/// Height that panels below leave to the timeline: its ruler and some tracks.
pub const TIMELINE: f32 = 200.0;

/// Whether the window has no room for reports beside the timeline.
pub fn is_narrow(ui: &Ui) -> bool {
    window_width(ui) < NARROW
}

/// Tells the view whether reports lie over the timeline, if that has changed.
pub fn overlay_command(ui: &Ui, is_over: bool) -> Option<ViewCommand> {
    let narrow = is_narrow(ui);
    (narrow != is_over).then_some(ViewCommand::ReportsOver(narrow))
}

/// Draws a bar at the top of the remaining window, above what was there: it covers nothing.
pub fn top_ui(ui: &mut Ui, id: &'static str, content: impl FnOnce(&mut Ui)) {
    EguiPanel::top(id).show(ui, content);
}

/// Draws a bar over the lower right corner of the remaining window, so that nothing moves when it appears.
pub fn floating_ui(ui: &Ui, id: &'static str, content: impl FnOnce(&mut Ui)) {
    let room = ui.available_rect_before_wrap().shrink2(vec2(18.0, 4.0));
    let area = Area::new(Id::unique(("floating", id)))
        .order(Order::Foreground)
        .movable(false)
        .pivot(Align2::RIGHT_BOTTOM);
    area.fixed_pos(room.right_bottom()).show(ui.ctx(), |ui| {
        bar(ui).shadow(ui.visuals().popup_shadow).show(ui, |ui| {
            ui.set_max_width(room.width() - 18.0);
            content(ui);
        });
    });
}

/// The frame of a bar with a message.
pub fn bar(ui: &Ui) -> Frame {
    let theme = theme::current(ui);
    let frame = Frame::new()
        .fill(theme.raised)
        .stroke(Stroke::new(1.0, theme.edge))
        .corner_radius(6.0);
    frame.inner_margin(Margin::symmetric(8, 4))
}

/// Width of the window.
pub fn window_width(ui: &Ui) -> f32 {
    ui.ctx().content_rect().width()
}

/// Draws a panel with the size that the user gave it: its content is clipped and never changes it. `most` is the
/// largest size that leaves room for the rest of the window.
pub fn sized_ui(
    ui: &mut Ui,
    (panel, name): (fn(&'static str) -> EguiPanel, &'static str),
    (part, most): (PanelPart, f32),
    settings: &Settings,
    out: &mut AppCommands,
    content: impl FnOnce(&mut Ui, &mut AppCommands),
) -> Response {
    let [least, _] = part.limits();
    let most = most.max(least);
    let wanted = settings.sizes.of(part, window_width(ui)).min(most);
    let id = ui.scope_id().with(name);
    let before: Option<f32> = kept(ui, id.with("wanted"));
    if before != Some(wanted) {
        // egui keeps the size of a panel, and so it would not follow the window.
        ui.data_mut(|data| {
            data.remove::<PanelState>(id);
            data.insert_temp(id.with("wanted"), wanted);
        });
    }
    let shown = panel(name)
        .resizable(true)
        .default_size(wanted)
        .size_range(least..=most)
        .show(ui, |ui| {
            let rect = ui.available_rect_before_wrap();
            let mut inner = ui.new_child(UiBuilder::new().max_rect(rect));
            inner.shrink_clip_rect(rect);
            content(&mut inner, out);
            ui.allocate_rect(rect, Sense::hover());
        });
    let rect = shown.response.rect;
    let size = if part.is_width() {
        rect.width()
    } else {
        rect.height()
    };
    // Only a drag changes the size: a small window must not shrink the panel permanently.
    if ui.input(|i| i.pointer.any_released()) && (size - wanted).abs() > 1.0 {
        out.push(AppCommand::PanelSize(part, size));
    }
    shown.response
}
