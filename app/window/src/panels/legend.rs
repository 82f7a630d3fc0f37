//! The colour legend at the bottom.

use super::prelude::*;
use egui::Galley;

use crate::drawing::color_of;
use view::charts::ChartSwatch;
use view::panels::legend::{ColorLegend, HATCHED};
use view::state::ColorBy;

/// Side of the square of a colour.
const SIDE: f32 = 11.0;
/// Distance of its name.
const GAP: f32 = 5.0;
/// Room for the mark that there are more colours.
const MARK: f32 = 26.0;

/// The categories that occur in the trace, and the colour choices.
pub fn legend_ui(
    ui: &mut Ui,
    trace: &OpenTrace,
    state: &ViewState,
    comparing: bool,
    out: &mut ViewCommands,
) {
    let theme = theme::current(ui);
    at_right(ui, |ui| {
        ui.scope(|ui| {
            ui.spacing_mut().item_spacing.x = 2.0;
            let choices = ColorBy::ALL
                .into_iter()
                .filter(|(by, _)| comparing || *by != ColorBy::Change);
            for (by, label) in choices.rev() {
                ui.selectable_label(state.color_by == by, RichText::new(label).small())
                    .sends(out, ViewCommand::Color(by));
            }
            ui.label(remark("Colour by"));
        });
        ui.add_space(8.0);
        // The colours take the room that the choices leave.
        let room = ui.available_rect_before_wrap();
        ui.scope_builder(
            egui::UiBuilder::new()
                .max_rect(room)
                .layout(Layout::left_to_right(Align::Center)),
            |ui| {
                ui.set_clip_rect(room.intersect(ui.clip_rect()));
                let legend = ColorLegend::of(trace, state.color_by, comparing);
                let texts = [legend.text, if comparing { HATCHED } else { "" }];
                let texts = texts.into_iter().filter(|text| !text.is_empty());
                let parts: Vec<_> = legend
                    .swatches
                    .iter()
                    .map(|(key, title)| (Some(*key), title.as_ref()))
                    .chain(texts.map(|text| (None, text)))
                    .collect();
                for (index, &(key, title)) in parts.iter().enumerate() {
                    let rest = parts.get(index..).unwrap_or_default();
                    let mark = if rest.len() > 1 { MARK } else { 0.0 };
                    let swatch = swatch_of(ui, title);
                    let room = ui.available_width();
                    if swatch.1.x + mark > room {
                        // What is cut would be read as something else.
                        let titles = joined(rest.iter().map(|(_, title)| *title), ", ");
                        ui.add(Label::new(RichText::new("…").weak()).extend())
                            .on_hover_text(titles);
                        break;
                    }
                    match key {
                        Some(key) => drop(drawn_ui(ui, theme.slice(key).fill, title, swatch)),
                        None => drop(ui.label(remark(title))),
                    }
                }
            },
        );
    });
}

/// The text of a swatch, and the size of the whole.
fn swatch_of(ui: &Ui, title: &str) -> (Arc<Galley>, Vec2) {
    let font = egui::TextStyle::Small.resolve(ui.style());
    let galley = ui
        .painter()
        .layout_no_wrap(title.to_owned(), font, ui.visuals().text_color());
    let size = vec2(SIDE + GAP + galley.size().x, galley.size().y.max(SIDE));
    (galley, size)
}

/// The colours of a chart, in as many lines as they need.
pub fn chart_legend_ui(ui: &mut Ui, swatches: &[ChartSwatch]) {
    let theme = theme::current(ui);
    ui.horizontal_wrapped(|ui| {
        for ChartSwatch { ink, title, about } in swatches {
            let swatch = swatch_of(ui, title);
            let response = drawn_ui(ui, color_of(theme, *ink), title, swatch);
            if !about.is_empty() {
                response.on_hover_text(*about);
            }
        }
    });
}

/// A colour and its meaning as one widget, so that they stay together when lines wrap.
fn drawn_ui(
    ui: &mut Ui,
    color: Color32,
    title: &str,
    (galley, size): (Arc<Galley>, Vec2),
) -> Response {
    ui.spacing_mut().item_spacing.x = 13.0;
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    response.labeled(Role::Label, title);
    let square =
        Rect::from_center_size(rect.left_center() + vec2(SIDE / 2.0, 0.0), vec2(SIDE, SIDE));
    ui.painter().rect_filled(square, 2.0, color);
    let pos = rect.left_center() + vec2(SIDE + GAP, -galley.size().y / 2.0);
    ui.painter().galley(pos, galley, ui.visuals().text_color());
    response
}
