//! The timeline as the window shows it: names, ruler, steps, boxes, arrows.

mod boxes;

use importers::Progress;
use trace_model::{Picos, Timestamp};

use super::{ChartFrame, ChartSwatch};
use crate::drawing::{Anchor, ColorRole, Drawing, width_of};
use crate::palette::ColorKey;
use crate::panels::legend::{ColorLegend, HATCHED};
use crate::search::{SearchFor, search};
use crate::state::TreeItem;
use crate::state::{ColorBy, TimelineLayer, ViewState};
use crate::time_format::TimeFormat;
use crate::timeline::bands::{bands, in_sight};
use crate::timeline::inks::load_ink;
use crate::timeline::layout::{DrawList, LayoutWindow};
use crate::timeline::ruler::TimeRuler;
use crate::timeline::tiles::LaneTiles;
use crate::timeline::trace::OpenTrace;
use crate::timeline::tree::LANE;

/// Height of the title.
const TITLE: f32 = 30.0;
/// Height of the ruler.
const RULER: f32 = 26.0;
/// Height of the legend.
const LEGEND: f32 = 28.0;
/// Size of most texts.
const FONT: f32 = 11.0;

struct TimelinePicture<'a> {
    trace: &'a OpenTrace,
    state: &'a ViewState,
    /// Colours of labels.
    keys: &'a [ColorKey],
    /// By label: whether the other run lacks the op.
    only: &'a [bool],
    times: TimeFormat,
    /// Left edge of the tracks.
    left: f32,
    /// Top edge of the tracks.
    top: f32,
    width: f32,
    height: f32,
}

/// What the comparison with another trace provides, by label.
#[derive(Clone, Copy, Debug)]
pub struct OtherTraceColors<'a> {
    /// Colours by how ops changed.
    pub colors: &'a [ColorKey],
    /// Whether the other one lacks the op.
    pub only: &'a [bool],
}

/// The tracks as `state` arranges them, in its range of time.
pub fn timeline(
    trace: &OpenTrace,
    state: &ViewState,
    beside: Option<OtherTraceColors<'_>>,
    look: &ChartFrame,
) -> Drawing {
    if !state.folded_groups.is_empty() {
        trace.tree.measure_load(&trace.model);
    }
    let room = (look.height - TITLE - RULER - LEGEND).max(100.0);
    let rows = trace.tree.compacted(trace.tree.rows(state), room);
    let left = state.label_width.min(look.width * 0.3);
    let top = TITLE + RULER;
    let scroll = state.place.scroll.min(rows.max_scroll(room));
    let height = (rows.height() + rows.pinned_height() - scroll).min(room);
    let scope = analysis::Scope::WholeTrace;
    let ops = || {
        trace
            .session
            .report::<analysis::reports::ops::op_stats::Ops>(scope)
            .ok()
    };
    let efficiency = if state.color_by == ColorBy::Efficiency {
        ops()
    } else {
        None
    };
    let efficiency = efficiency.map(|ops| trace.by_efficiency(&ops));
    let keys = match (state.color_by, &efficiency) {
        (ColorBy::Name, _) => &*trace.by_name,
        (ColorBy::Module, _) => &*trace.by_module,
        (ColorBy::Efficiency, Some(keys)) => keys,
        (ColorBy::Change, _) => beside.map_or(&*trace.by_category, |beside| beside.colors),
        (ColorBy::Category | ColorBy::Efficiency, _) => &*trace.by_category,
    };
    let only = beside.map_or(&[][..], |beside| beside.only);
    // An invalid query highlights nothing, as in the window.
    let found = SearchFor::of(state)
        .and_then(|wanted| search(&trace.model, &trace.classes, &wanted, &Progress::new()).ok());
    let frame = TimelinePicture {
        trace,
        state,
        keys,
        only,
        times: look.times,
        left,
        top,
        width: look.width - left,
        height,
    };
    let window = LayoutWindow {
        time: state.place.time,
        rows: &rows,
        scroll,
        width: frame.width,
        height,
        selection: state.place.selection,
        highlighted: found.as_ref().map(|found| &found.highlighted),
        arrows: state.draws(TimelineLayer::Arrows),
        flow: state.flow,
        colors: keys,
        pixel: 1.0,
    };
    let mut list = DrawList::default();
    list.fill(
        trace.scene(),
        &window,
        &mut LaneTiles::with_columns_from(state.place.time.start()),
    );

    let mut drawing = Drawing::new(look.width, top + height + LEGEND, ColorRole::Labels);
    frame.title(&mut drawing, look.width);
    drawing.rect(left, top, frame.width, height, ColorRole::Canvas, "");
    drawing.begin_clip(left, TITLE, frame.width, RULER + height);
    frame.bands(&mut drawing);
    frame.ruler(&mut drawing);
    drawing.end_clip();
    drawing.begin_clip(left, top, frame.width, height);
    frame.tracks(&mut drawing, &list);
    drawing.end_clip();
    drawing.begin_clip(0.0, top, left, height);
    frame.names(&mut drawing, &list);
    drawing.end_clip();
    drawing.size.1 = frame.legend(&mut drawing, top + height + LEGEND / 2.0, beside.is_some());
    drawing
}

impl TimelinePicture<'_> {
    fn x_of(&self, at: Timestamp) -> f32 {
        let share = self.state.place.time.fraction(at).clamp(-4.0, 5.0);
        self.left + (share * f64::from(self.width)) as f32
    }

    fn title(&self, drawing: &mut Drawing, width: f32) {
        drawing.fitted(
            12.0,
            TITLE / 2.0,
            width * 0.6,
            13.0,
            ColorRole::TextStrong,
            &self.trace.title(),
        );
        let span = Picos::from_ps(self.state.place.time.span_ps().round() as i64);
        drawing.text(
            width - 12.0,
            TITLE / 2.0,
            Anchor::End,
            FONT,
            ColorRole::TextWeak,
            &format!("{} in view", self.times.text(span)),
        );
    }

    fn bands(&self, drawing: &mut Drawing) {
        if !self.state.draws(TimelineLayer::Steps) {
            return;
        }
        let scope = analysis::Scope::WholeTrace;
        let Ok(report) = self
            .trace
            .session
            .report::<analysis::reports::steps::step_times::Steps>(scope)
        else {
            return;
        };
        for band in in_sight(&bands(&report), self.state.place.time.range()) {
            let (from, to) = (self.x_of(band.range.start), self.x_of(band.range.end));
            if to - from < 6.0 {
                continue;
            }
            if band.is_odd {
                drawing.rect(from, self.top, to - from, self.height, ColorRole::Grid, "");
            }
            let color = if band.is_outlier {
                ColorRole::Warning
            } else {
                ColorRole::TextWeak
            };
            drawing.rect(from + 0.5, TITLE, to - from - 1.0, 3.0, color, &band.name());
        }
    }

    fn ruler(&self, drawing: &mut Drawing) {
        let ruler = TimeRuler::new(self.state.place.time, self.width, self.times);
        let bottom = TITLE + RULER;
        ruler.grid(drawing, self.left, bottom, bottom + self.height);
        ruler.draw(drawing, self.left, bottom, &[]);
        if let Some(text) = ruler.base_text() {
            let (x, y) = (self.left + 4.0, TITLE + 8.0);
            drawing.text(x, y, Anchor::Start, FONT, ColorRole::Text, &text);
        }
    }

    fn tracks(&self, drawing: &mut Drawing, list: &DrawList) {
        for row in list.rows_in(0.0, self.height) {
            let y = self.top + row.y;
            if matches!(self.trace.tree.node(row.node).item, TreeItem::Group(_)) {
                drawing.rect(self.left, y, self.width, row.height, ColorRole::Heading, "");
            }
        }
        for part in [&list.scrolled, &list.pinned] {
            if !(list.is_dim && self.state.isolate) {
                part.columns
                    .iter()
                    .for_each(|columns| self.columns(drawing, columns, list.is_dim));
                part.boxes
                    .iter()
                    .for_each(|drawn| self.slice(drawing, drawn, list.is_dim, true));
            }
            for drawn in &part.highlighted {
                self.slice(drawing, drawn, false, false);
            }
            for load in &part.loads {
                drawing.rect(
                    self.left + load.left,
                    self.top + load.top,
                    load.right - load.left,
                    load.bottom - load.top,
                    load_ink(load, false),
                    "",
                );
            }
            for counter in &part.counters {
                self.counter(drawing, counter);
            }
        }
        if let Some(place) = list.selected {
            let (x, y) = (self.left + place.left, self.top + place.top);
            let (right, bottom) = (self.left + place.right, y + place.height);
            for (a, b) in [
                ((x, y), (right, y)),
                ((x, bottom), (right, bottom)),
                ((x, y), (x, bottom)),
                ((right, y), (right, bottom)),
            ] {
                drawing.line(a, b, ColorRole::Selection, 2.0);
            }
        }
        self.mark(drawing);
        for arrow in &list.arrows {
            let color = if arrow.outgoing {
                ColorRole::FlowOut
            } else {
                ColorRole::FlowIn
            };
            let at = |(x, y): (f32, f32)| (self.left + x, self.top + y);
            drawing.arrow(at(arrow.from), at(arrow.to), color);
        }
    }

    /// The ends of the marked time, and its length.
    fn mark(&self, drawing: &mut Drawing) {
        let Some(mark) = self.state.place.mark else {
            return;
        };
        let (from, to) = (self.x_of(mark.start), self.x_of(mark.end));
        for x in [from, to] {
            drawing.line(
                (x, self.top),
                (x, self.top + self.height),
                ColorRole::Accent,
                1.5,
            );
        }
        let middle = f32::midpoint(from.max(self.left), to.min(self.left + self.width));
        let (text, y) = (self.times.text(mark.dur()), self.top + 12.0);
        let width = width_of(&text, FONT) + 12.0;
        drawing.rect(
            middle - width / 2.0,
            y - 8.0,
            width,
            16.0,
            ColorRole::Raised,
            "",
        );
        drawing.text(
            middle,
            y,
            Anchor::Middle,
            FONT,
            ColorRole::TextStrong,
            &text,
        );
    }

    fn names(&self, drawing: &mut Drawing, list: &DrawList) {
        for row in list.rows_in(0.0, self.height) {
            let node = self.trace.tree.node(row.node);
            let y = self.top + row.y;
            let is_group = matches!(node.item, TreeItem::Group(_));
            if is_group {
                drawing.rect(0.0, y, self.left, row.height, ColorRole::Heading, "");
            }
            let x = 10.0 + 12.0 * f32::from(node.indent);
            let (size, color) = if is_group {
                ((row.height - 1.0).min(12.5), ColorRole::TextStrong)
            } else {
                (11.5, ColorRole::Text)
            };
            let middle = y + if is_group {
                row.height / 2.0
            } else {
                LANE / 2.0
            };
            drawing.fitted(x, middle, self.left - x - 6.0, size, color, &node.title);
        }
    }

    fn legend(&self, drawing: &mut Drawing, y: f32, comparing: bool) -> f32 {
        let ColorLegend { swatches, text } =
            ColorLegend::of(self.trace, self.state.color_by, comparing);
        let swatch = |(key, title)| ChartSwatch::new(ColorRole::Slice(key), title);
        let swatches: Vec<_> = swatches.into_iter().map(swatch).collect();
        let hatched = if comparing { HATCHED } else { "" };
        super::legend(drawing, y, &swatches, &[text, hatched])
    }
}
