//! The list of keys, from the same table that defines them.

use super::prelude::*;
use egui::Grid;

use crate::keys::{ACTIONS, Keys, MOUSE};

/// Width that a dialog leaves beside what it scrolls.
pub(super) const BESIDE: f32 = 48.0;

/// Width of the list: that of its longest line.
const WIDTH: f32 = 680.0;

/// The window with all keys and mouse actions.
pub fn help_ui(ctx: &Context, keys: &Keys, settings: &Settings, out: &mut AppCommands) {
    let mut open = true;
    dialog("Keys and mouse")
        .open(&mut open)
        .anchor(Align2::CENTER_CENTER, Vec2::ZERO)
        .show(ctx, |ui| {
            ui.set_width((ctx.content_rect().width() - BESIDE).min(WIDTH));
            ui.horizontal_wrapped(|ui| {
                if ui.button("Change keys…").clicked() {
                    out.push(ViewCommand::ShowPanel(Panel::Help, false).into());
                    out.push(ViewCommand::ShowPanel(Panel::Keys, true).into());
                }
                let mut zooms = settings.wheel_zooms;
                if check_box(ui, &mut zooms, "The wheel zooms; Ctrl and the wheel scroll").changed()
                {
                    out.push(AppCommand::WheelZooms(zooms));
                }
            });
            ui.separator();
            let height = ctx.content_rect().height() * 0.75;
            ScrollArea::vertical()
                .max_height(height)
                .min_scrolled_height(height)
                .auto_shrink([false, true])
                .show(ui, |ui| actions_ui(ui, keys));
        });
    if !open {
        out.push(ViewCommand::ShowPanel(Panel::Help, false).into());
    }
}

/// A table of keys and what they do, by group.
fn actions_ui(ui: &mut Ui, keys: &Keys) {
    // A limit makes the last column wrap its texts.
    let table = Grid::new("keys").num_columns(2).spacing([24.0, 3.0]);
    table.max_col_width(WIDTH).show(ui, |ui| {
        for (title, actions) in ACTIONS {
            ui.strong(*title);
            ui.end_row();
            let actions = actions
                .iter()
                .map(|action| (keys.shown(action.id), action.title));
            let of_mouse = MOUSE
                .iter()
                .filter(|_| *title == "Mouse")
                .map(|(shown, about)| ((*shown).to_owned(), *about));
            for (shown, about) in actions.chain(of_mouse) {
                if !shown.is_empty() {
                    ui.monospace(shown);
                    ui.label(about);
                    ui.end_row();
                }
            }
            ui.end_row();
        }
    });
}
