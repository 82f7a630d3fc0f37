//! Rows and headings of the details.

use crate::panels::prelude::*;

use crate::panels::tabs::hints::badge;

pub(super) const STATIC: &str = "static: by the compiler's cost model, for one execution";

/// A time that can be copied in picoseconds.
pub(super) fn time_row(ui: &mut Ui, title: &str, value: Picos) {
    ui.weak(title);
    let label = ui.add(Label::new(time(value)).selectable(true).extend());
    label.context_menu(|ui| {
        if ui
            .button(format!("Copy {} (picoseconds)", value.ps()))
            .clicked()
        {
            ui.ctx().copy_text(value.ps().to_string());
            ui.close();
        }
    });
    label.on_hover_text(format!("{} ps; right-click to copy", value.ps()));
    ui.end_row();
}

pub(super) fn section(ui: &mut Ui, title: &str) {
    let text = RichText::new(title)
        .small()
        .strong()
        .color(theme::current(ui).text_weak);
    ui.add(Label::new(text).extend());
}

pub(super) fn static_row(ui: &mut Ui, title: &str, value: &str, hint: &str) {
    ui.weak(title);
    ui.horizontal(|ui| {
        ui.label(value);
        badge(ui, "static", theme::current(ui).edge);
    })
    .response
    .on_hover_text(hint);
    ui.end_row();
}
