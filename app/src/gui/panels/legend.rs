//! What colours mean, at the bottom.

use analysis::OpGroup;
use egui::{Align, Color32, Layout, RichText, Sense, Ui, vec2};

use crate::gui::theme::Theme;
use crate::view::palette::ColorKey;
use crate::view::state::{ColorBy, ViewCommand, ViewState};
use crate::view::trace::OpenTrace;

/// The kinds of work that occur in the trace, and the choices of how it is drawn.
pub fn legend_ui(ui: &mut Ui, trace: &OpenTrace, state: &ViewState, comparing: bool, out: &mut Vec<ViewCommand>) {
    let theme = Theme::current(ui);
    ui.horizontal_centered(|ui| {
        match state.color_by {
            ColorBy::Name => drop(ui.weak("Colours tell names apart; they have no other meaning.")),
            ColorBy::Module => drop(ui.weak("Colours tell programs apart; they have no other meaning.")),
            ColorBy::Efficiency => {
                for percent in [5.0, 25.0, 45.0, 55.0, 75.0, 95.0] {
                    let color = theme.slice(ColorKey::of_share(percent)).fill;
                    swatch_ui(ui, color, &format!("{percent:.0} %"));
                }
                ui.label(RichText::new("of the roofline; gray: not known").small());
            }
            ColorBy::Change if comparing => {
                for (ratio, title) in
                    [(0.5, "half the time or less"), (0.8, "−20 %"), (1.25, "+25 %"), (2.0, "twice or more")]
                {
                    swatch_ui(ui, theme.slice(ColorKey::of_change(ratio)).fill, title);
                }
                swatch_ui(ui, theme.group(OpGroup::Other), "~ noise");
            }
            ColorBy::Change => drop(ui.weak("Only one profile is open: compare it with another to see changes.")),
            ColorBy::Category if trace.groups.is_empty() => {
                ui.weak("No device ops here: colours tell names apart.");
            }
            ColorBy::Category => {
                for &group in trace.groups.iter() {
                    swatch_ui(ui, theme.group(group), group.title());
                }
            }
        }
        if comparing {
            ui.label(RichText::new("hatched: the other run lacks the op").small());
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
