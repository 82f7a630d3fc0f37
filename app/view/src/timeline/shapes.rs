//! Shapes of what tracks show beside slices: loads of folded groups, counters, the selection and arrows.

use crate::prelude::*;
use trace_model::CounterSeries;

use crate::drawing::{Anchor, ColorRole, Drawing, DrawingPoint, Ink};
use crate::state::TreeItem;
use crate::timeline::counter_text::counter_value;
use crate::timeline::inks::{dimmed, slice_inks};
use crate::timeline::layout::{CounterBox, DrawList, DrawnRows};
use crate::timeline::marks::FONT;
use crate::timeline::tree::TrackTree;

type Bars = Vec<(DrawingPoint, (f32, f32))>;

/// The load of folded groups. `left` and `top` are the corner of the tracks.
pub fn loads(drawing: &mut Drawing, part: &DrawnRows, (left, top): DrawingPoint, is_dim: bool) {
    let ink = Ink::from(ColorRole::Counter);
    let faint = ink.over(ColorRole::Heading, 0.3);
    for (is_faint, ink) in [(true, faint), (false, ink)] {
        let bars = part
            .loads
            .iter()
            .filter(|load| load.is_faint == is_faint)
            .map(|load| {
                let size = (load.right - load.left, load.bottom - load.top);
                ((left + load.left, top + load.top), size)
            });
        drawing.bars(bars.collect(), dimmed(ink, is_dim));
    }
}

/// Slices of derived tracks, and sentences in their place. `width` is that of the canvas.
pub fn derived(
    drawing: &mut Drawing,
    part: &DrawnRows,
    (left, top): DrawingPoint,
    (width, is_dim): (f32, bool),
) {
    const PAD: f32 = 4.0;
    for drawn in &part.derived {
        let (fill, text) = slice_inks(Some(drawn.color), is_dim);
        // A gap separates neighbours if there is room for it.
        let gap = if drawn.right - drawn.left > 4.0 {
            1.0
        } else {
            0.0
        };
        let (x, y) = (left + drawn.left, top + drawn.top);
        let size = (drawn.right - drawn.left - gap, drawn.height);
        drawing.rect(x, y, size.0, size.1, fill, "");
        if !drawn.written().is_empty() {
            // The name stays in sight when the left end of the slice is not.
            let from = drawn.left.max(0.0) + PAD;
            let room = drawn.right.min(width) - PAD - from;
            let middle = (left + from, y + drawn.height / 2.0);
            drawing.fitted_name(middle, room, FONT, text, drawn.written());
        }
    }
    for remark in &part.remarks {
        let (x, y) = (left.max(0.0) + 8.0, top + remark.top + remark.height / 2.0);
        drawing.text(x, y, Anchor::Start, FONT, ColorRole::TextWeak, &remark.text);
    }
}

/// Counters, with the values at their top and bottom.
pub fn counters(
    drawing: &mut Drawing,
    part: &DrawnRows,
    corner: DrawingPoint,
    (model, tree): (&TraceModel, &TrackTree),
) {
    for counter in &part.counters {
        counter_steps(drawing, counter, corner);
        let series = match tree.node(counter.node).item {
            TreeItem::Track(track) => model.counter(track),
            TreeItem::Group(_) | TreeItem::Derived(_) => None,
        };
        let unit = series.and_then(CounterSeries::unit);
        let unit = unit.map_or("", |unit| model.str(unit));
        let is_range = counter.max > counter.min;
        let mut write = |y: f32, end: &str, value: f64| {
            // The ends of the scale are not values at the left edge; a scale may begin with a 0 that is no value at all.
            let end = if is_range && value != 0.0 { end } else { "" };
            let position = (corner.0.max(0.0) + 4.0, corner.1 + counter.top + y);
            let text = format!("{end}{}", counter_value(value, unit));
            drawing.label(
                position,
                Anchor::Start,
                0.9 * FONT,
                ColorRole::TextWeak,
                &text,
            );
        };
        write(counter.y(1.0) + 0.6 * FONT, "max ", counter.max);
        if counter.max > counter.min && counter.height > 34.0 {
            write(counter.y(0.0) - 0.6 * FONT, "min ", counter.min);
        }
    }
}

fn counter_steps(drawing: &mut Drawing, counter: &CounterBox, (left, top): DrawingPoint) {
    let base = counter.height - 1.0;
    let bars = |height: &dyn Fn(f32) -> f32| -> Bars {
        let bar = |step: &crate::timeline::layout::CounterStep| {
            let y = counter.y(step.level);
            let corner = (left + step.left, top + counter.top + y - 1.0);
            (corner, ((step.right - step.left).max(1.0), height(y)))
        };
        counter.steps.iter().map(bar).collect()
    };
    let role = Ink::from(ColorRole::Counter);
    drawing.bars(bars(&|y| base - y + 1.0), role.clear(0.35));
    drawing.bars(bars(&|_| 1.0), role);
}

/// The outline of the selected slice, and its flow arrows.
pub fn selection(drawing: &mut Drawing, list: &DrawList, (left, top): DrawingPoint) {
    if let Some(place) = list.selected {
        let (x, y) = (left + place.left, top + place.top);
        let (right, bottom) = (left + place.right, y + place.height);
        for (from, to) in [
            ((x - 1.0, y), (right + 1.0, y)),
            ((x - 1.0, bottom), (right + 1.0, bottom)),
            ((x, y), (x, bottom)),
            ((right, y), (right, bottom)),
        ] {
            drawing.line(from, to, ColorRole::Selection, 2.0);
        }
    }
    for arrow in &list.arrows {
        let role = if arrow.outgoing {
            ColorRole::FlowOut
        } else {
            ColorRole::FlowIn
        };
        let curve = arrow.curve().map(|(x, y)| (left + x, top + y));
        drawing.arrow(curve, role, if arrow.is_chosen { 3.0 } else { 1.5 });
    }
}
