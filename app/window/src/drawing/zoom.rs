//! Zooming and moving plots.

use egui::{PointerButton, Pos2, Rect, Response, Stroke, StrokeKind, Ui};

use crate::theme;
use view::drawing::{PlotArea, PlotRange};

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
        let point = |at: Pos2| {
            let at = at - response.rect.min;
            (at.x, at.y)
        };
        let by = response.drag_delta();
        if response.dragged_by(PointerButton::Primary) {
            self.shown = Some(area.moved((by.x, by.y)));
        }
        let zoom = ui.input(egui::InputState::zoom_delta);
        if let Some(at) = response
            .hover_pos()
            .filter(|_| zoom.to_bits() != 1.0_f32.to_bits())
        {
            self.shown = Some(area.zoomed(point(at), zoom));
        }
        if response.drag_started_by(PointerButton::Secondary) {
            self.box_from = ui.input(|input| input.pointer.press_origin());
        }
        if let (Some(from), Some(to)) = (self.box_from, response.interact_pointer_pos()) {
            let stroke = Stroke::new(1.0, theme::current(ui).accent);
            let drawn = Rect::from_two_pos(from, to);
            ui.painter()
                .rect_stroke(drawn, 0.0, stroke, StrokeKind::Inside);
            if response.drag_stopped() {
                self.box_from = None;
                let is_wanted = drawn.width().min(drawn.height()) > 3.0;
                let boxed = is_wanted.then(|| area.between(point(from), point(to)));
                self.shown = boxed.or(self.shown);
            }
        }
        if response.double_clicked() {
            self.shown = None;
        }
        self.shown.unwrap_or(whole.range)
    }
}
