//! Plots that are moved and zoomed with the pointer.

use crate::prelude::*;
use egui::UiBuilder;
use egui_plot::Plot;

use view::drawing::{PlotArea, PlotRange};

/// The part to show of a plot whose drawing begins at the corner of `rect`, and what reacts to the pointer: dragging
/// moves it, zooming gestures and boxes drawn with the secondary button change it, a double click shows all of it.
pub fn zoomed_ui(ui: &mut Ui, name: &str, rect: Rect, whole: PlotArea) -> (Response, PlotRange) {
    let area = Rect::from_min_size(
        rect.min + vec2(whole.left, whole.top),
        vec2(whole.width, whole.height),
    );
    let (x, y) = (whole.range.x, whole.range.y);
    let plot = Plot::new((name, [x.0, x.1, y.0, y.1].map(f64::to_bits)))
        .include_x(x.0)
        .include_x(x.1)
        .include_y(y.0)
        .include_y(y.1)
        .set_margin_fraction(Vec2::ZERO)
        .allow_scroll(false)
        .show_axes(false)
        .show_grid(false)
        .show_background(false)
        .show_crosshair(false);
    // The caller has allocated the space of the whole drawing: the plot takes no more.
    let mut inside = ui.new_child(UiBuilder::new().max_rect(area));
    let shown = plot.show(&mut inside, |_| ());
    let bounds = *shown.transform.bounds();
    let range = PlotRange {
        x: (bounds.min()[0], bounds.max()[0]),
        y: (bounds.min()[1], bounds.max()[1]),
    };
    (shown.response, range)
}
