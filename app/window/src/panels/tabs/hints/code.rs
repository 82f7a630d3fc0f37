//! The code of a hint, to be copied.

use egui::{Frame, Margin, RichText, Role, ScrollArea, Ui};

use crate::panels::widgets::ResponseExt as _;
use crate::theme;

/// Seconds for which the button says that it copied.
const ANSWERED: f64 = 2.0;

/// The code of rule `id`, with a button that copies it; nothing without code.
pub fn code_ui(ui: &mut Ui, id: &str, code: Option<&str>) {
    let Some(code) = code else { return };
    let theme = theme::current(ui);
    Frame::new()
        .fill(theme.edge)
        .corner_radius(3.0)
        .inner_margin(Margin::symmetric(8, 5))
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            let text = RichText::new(code)
                .monospace()
                .size(11.5)
                .color(theme.text_strong);
            ScrollArea::horizontal()
                .id_salt(("code", id))
                .show(ui, |ui| ui.add(egui::Label::new(text).extend()));
            copy_ui(ui, id, code);
        });
}

fn copy_ui(ui: &mut Ui, id: &str, code: &str) {
    let (place, now) = (
        ui.scope_id().with(("copied", id)),
        ui.input(|input| input.time),
    );
    let copied: Option<f64> = ui.data(|data| data.get_temp(place));
    let left = copied.map_or(0.0, |at| at + ANSWERED - now);
    let answer = if left > 0.0 { "copied" } else { "Copy code" };
    let button = ui.small_button(answer);
    button.labeled(Role::Button, format_args!("{answer} of {id}"));
    if button.clicked() {
        ui.ctx().copy_text(code.to_owned());
        ui.data_mut(|data| data.insert_temp(place, now));
        ui.ctx().request_repaint();
    } else if left > 0.0 {
        ui.ctx()
            .request_repaint_after(std::time::Duration::from_secs_f64(left));
    }
}
