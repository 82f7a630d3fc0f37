//! What colours mean, at the bottom.

use analysis::OpGroup;
use egui::{Align, Layout, RichText, Sense, Ui, vec2};

use crate::gui::state::{ColorBy, ViewCommand, ViewState};
use crate::gui::theme::Theme;
use crate::gui::trace::OpenTrace;

/// The kinds of work that occur in the trace, and the choice of colours.
pub fn legend_ui(ui: &mut Ui, trace: &OpenTrace, state: &ViewState, out: &mut Vec<ViewCommand>) {
    ui.horizontal_centered(|ui| {
        match state.color_by {
            ColorBy::Name => drop(ui.weak("Colours tell names apart; they have no other meaning.")),
            ColorBy::Category if trace.groups.is_empty() => {
                ui.weak("No device ops here: colours tell names apart.");
            }
            ColorBy::Category => {
                for &group in trace.groups.iter() {
                    swatch_ui(ui, group);
                }
            }
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            for (label, by) in [("name", ColorBy::Name), ("kind of work", ColorBy::Category)] {
                if ui.selectable_label(state.color_by == by, RichText::new(label).small()).clicked() {
                    out.push(ViewCommand::Color(by));
                }
            }
            ui.label(RichText::new("Colour by").small().weak());
        });
    });
}

fn swatch_ui(ui: &mut Ui, group: OpGroup) {
    ui.spacing_mut().item_spacing.x = 5.0;
    let (rect, _) = ui.allocate_exact_size(vec2(11.0, 11.0), Sense::hover());
    ui.painter().rect_filled(rect, 2.0, Theme::current(ui).group(group));
    ui.label(RichText::new(group.title()).small());
    ui.add_space(8.0);
}
