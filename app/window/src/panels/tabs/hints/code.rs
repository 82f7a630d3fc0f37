//! The code of a hint, to be copied.

use crate::panels::tabs::prelude::*;
use egui::Margin;
use egui::scroll_area::ScrollBarVisibility;

/// Seconds for which the button says that it copied.
const ANSWERED: f64 = 2.0;

/// Size of its letters.
const SIZE: f32 = 11.5;

/// Space between the last line and the scroll bar.
const ABOVE_BAR: f32 = 4.0;

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
                .size(SIZE)
                .color(theme.text_strong);
            let font = FontId::monospace(SIZE);
            let layout = ui
                .painter()
                .layout_no_wrap(code.to_owned(), font, theme.text);
            let (size, bar) = (layout.size(), ui.spacing().scroll.allocated_width());
            // The bar of a box that ends below the visible part of a panel would lie over what is above the box.
            let is_hidden = ui.cursor().top() + size.y > ui.clip_rect().bottom();
            let visibility = if is_hidden {
                ScrollBarVisibility::AlwaysHidden
            } else {
                ScrollBarVisibility::VisibleWhenNeeded
            };
            let is_wide = size.x > ui.available_width();
            ScrollArea::horizontal()
                .id_salt(("code", id))
                .scroll_bar_visibility(visibility)
                .show(ui, |ui| {
                    ui.spacing_mut().item_spacing.y = 0.0;
                    ui.add(Label::new(text).extend());
                    ui.add_space(if is_wide { ABOVE_BAR } else { 0.0 });
                });
            if is_hidden && is_wide {
                ui.add_space(bar);
            }
            copy_ui(ui, id, code);
        });
}

fn copy_ui(ui: &mut Ui, id: &str, code: &str) {
    let (place, now) = (
        ui.scope_id().with(("copied", id)),
        ui.input(|input| input.time),
    );
    let copied: Option<f64> = kept(ui, place);
    let left = copied.map_or(0.0, |time| time + ANSWERED - now);
    let answer = if left > 0.0 { "copied" } else { "Copy code" };
    let button = ui.small_button(answer);
    button.labeled(Role::Button, format_args!("{answer} of {id}"));
    if button.clicked() {
        ui.ctx().copy_text(code.to_owned());
        keep(ui, place, now);
        ui.ctx().request_repaint();
    } else if left > 0.0 {
        ui.ctx()
            .request_repaint_after(std::time::Duration::from_secs_f64(left));
    }
}
