//! The list of keys, from the table that they are read by.

use egui::{Context, Grid, RichText, Window};

use crate::gui::keys::HELP;
use crate::gui::state::{Panel, ViewCommand};

/// A window with everything that keys and mouse do.
pub fn help_ui(ctx: &Context, out: &mut Vec<ViewCommand>) {
    let mut open = true;
    let window = Window::new("Keys and mouse").open(&mut open).collapsible(false).resizable(false);
    window.anchor(egui::Align2::CENTER_CENTER, egui::Vec2::ZERO).show(ctx, |ui| {
        for (title, bindings) in HELP {
            ui.label(RichText::new(*title).strong());
            Grid::new(title).num_columns(2).spacing([24.0, 3.0]).min_col_width(170.0).show(ui, |ui| {
                for binding in *bindings {
                    ui.monospace(binding.keys);
                    ui.label(binding.about);
                    ui.end_row();
                }
            });
            ui.add_space(8.0);
        }
    });
    if !open {
        out.push(ViewCommand::ShowPanel(Panel::Help, false));
    }
}
