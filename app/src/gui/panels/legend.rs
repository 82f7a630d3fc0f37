//! The colour legend at the bottom.

use egui::{Align, Color32, Layout, RichText, Sense, Ui, vec2};

use crate::gui::theme::Theme;
use crate::view::panels::legend::{ColorLegend, HATCHED};
use crate::view::state::{ColorBy, ViewCommand, ViewState};
use crate::view::timeline::trace::OpenTrace;

/// The categories that occur in the trace, and the colour choices.
pub fn legend_ui(ui: &mut Ui, trace: &OpenTrace, state: &ViewState, comparing: bool, out: &mut Vec<ViewCommand>) {
    let theme = Theme::current(ui);
    ui.horizontal_centered(|ui| {
        let legend = ColorLegend::of(trace, state.color_by, comparing);
        for (key, title) in &legend.swatches {
            swatch_ui(ui, theme.slice(*key).fill, title);
        }
        if !legend.text.is_empty() {
            ui.label(RichText::new(legend.text).small().weak());
        }
        if comparing {
            ui.label(RichText::new(HATCHED).small());
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 2.0;
            let choices = ColorBy::ALL.into_iter().filter(|(by, _)| comparing || *by != ColorBy::Change);
            for (by, label) in choices.rev() {
                if ui.selectable_label(state.color_by == by, RichText::new(label).small()).clicked() {
                    out.push(ViewCommand::Color(by));
                }
            }
            ui.label(RichText::new("Colour by").small().weak());
        });
    });
}

/// A colour and what it means.
pub fn swatch_ui(ui: &mut Ui, color: Color32, title: &str) {
    ui.spacing_mut().item_spacing.x = 5.0;
    let (rect, _) = ui.allocate_exact_size(vec2(11.0, 11.0), Sense::hover());
    ui.painter().rect_filled(rect, 2.0, color);
    ui.label(RichText::new(title).small());
    ui.add_space(8.0);
}
