//! The list of keys, from the same table that defines them.

use egui::{Context, Grid, ScrollArea};

use super::widgets::{check_box, dialog};
use crate::AppCommand;
use crate::keys::{ACTIONS, Keys, MOUSE};
use crate::settings::Settings;
use view::state::{Panel, ViewCommand};

/// Width that a dialog leaves beside what it scrolls.
pub(super) const BESIDE: f32 = 48.0;

/// The window with all keys and mouse actions.
pub fn help_ui(ctx: &Context, keys: &Keys, settings: &Settings, out: &mut Vec<AppCommand>) {
    let mut open = true;
    dialog("Keys and mouse")
        .open(&mut open)
        .anchor(egui::Align2::CENTER_CENTER, egui::Vec2::ZERO)
        .show(ctx, |ui| {
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
            ScrollArea::both()
                .max_width(ctx.content_rect().width() - BESIDE)
                .max_height(height)
                .min_scrolled_height(height)
                .show(ui, |ui| {
                    for (title, actions) in ACTIONS {
                        ui.strong(*title);
                        Grid::new(title)
                            .num_columns(2)
                            .spacing([24.0, 3.0])
                            .min_col_width(170.0)
                            .show(ui, |ui| {
                                let with_keys = actions
                                    .iter()
                                    .map(|action| (keys.shown(action.id), action.title));
                                for (shown, about) in
                                    with_keys.filter(|(shown, _)| !shown.is_empty())
                                {
                                    ui.monospace(shown);
                                    ui.label(about);
                                    ui.end_row();
                                }
                                for (shown, about) in MOUSE.iter().filter(|_| *title == "Mouse") {
                                    ui.monospace(*shown);
                                    ui.label(*about);
                                    ui.end_row();
                                }
                            });
                        ui.add_space(8.0);
                    }
                });
        });
    if !open {
        out.push(ViewCommand::ShowPanel(Panel::Help, false).into());
    }
}
