//! Zooming and moving plots.

use egui::{PointerButton, Pos2, Rect, Response, Stroke, StrokeKind, Ui};

use crate::theme;
use view::drawing::{PlotArea, PlotPlace, PlotRange};

/// The part of a plot that is shown, where it is not all of it.
#[derive(Default)]
pub struct PlotZoom {
    shown: Option<PlotRange>,
    /// Where the box that is drawn began.
    box_from: Option<Pos2>,
}

impl PlotZoom {
    /// The range to show of the plot of a widget: dragging moves it, zooming gestures and boxes drawn with the
    /// secondary button change it, and a double click shows all of it.
    pub fn update(&mut self, ui: &Ui, response: &Response, whole: PlotArea) -> PlotRange {
        let area = PlotArea {
            range: self.shown.unwrap_or(whole.range),
            ..whole
        };
        let place = |at: Pos2| {
            let at = at - response.rect.min;
            area.place((at.x, at.y))
        };
        let pointer = response.interact_pointer_pos();
        if response.dragged_by(PointerButton::Primary)
            && let Some(to) = pointer
        {
            let (from, to) = (place(to - response.drag_delta()), place(to));
            let by = (from.0 - to.0, from.1 - to.1);
            self.shown = Some(mapped(area.range, |(x, y)| (x + by.0, y + by.1)));
        }
        if let Some(hovered) = response.hover_pos() {
            let zoom = ui.input(|input| f64::from(input.zoom_delta()));
            let (x, y) = place(hovered);
            if (zoom - 1.0).abs() > f64::EPSILON {
                let about = |own: PlotPlace| (x + (own.0 - x) / zoom, y + (own.1 - y) / zoom);
                self.shown = Some(mapped(area.range, about));
            }
        }
        if response.drag_started_by(PointerButton::Secondary) {
            self.box_from = ui.input(|input| input.pointer.press_origin());
        }
        if let (Some(from), Some(to)) = (self.box_from, pointer) {
            let stroke = Stroke::new(1.0, theme::current(ui).accent);
            let drawn = Rect::from_two_pos(from, to);
            ui.painter()
                .rect_stroke(drawn, 0.0, stroke, StrokeKind::Inside);
            if response.drag_stopped() {
                self.box_from = None;
                let ((left, bottom), (right, top)) =
                    (place(drawn.left_bottom()), place(drawn.right_top()));
                if drawn.width().min(drawn.height()) > 3.0 {
                    self.shown = Some(PlotRange {
                        x: (left, right),
                        y: (bottom, top),
                    });
                }
            }
        }
        if response.double_clicked() {
            self.shown = None;
        }
        self.shown.unwrap_or(whole.range)
    }
}

/// A range whose corners are moved.
fn mapped(range: PlotRange, to: impl Fn(PlotPlace) -> PlotPlace) -> PlotRange {
    let (low, high) = (to((range.x.0, range.y.0)), to((range.x.1, range.y.1)));
    PlotRange {
        x: (low.0, high.0),
        y: (low.1, high.1),
    }
}
