//! The timeline as the window shows it: names, ruler, steps, boxes, arrows.

mod boxes;

use crate::prelude::*;
use analysis::Scope;
use analysis::reports::{Ops, Steps};

use super::{ChartFrame, ChartSwatch};
use crate::drawing::{Anchor, ColorRole, Drawing};
use crate::palette::ColorKey;
use crate::panels::legend::{ColorLegend, HATCHED};
use crate::search::{SearchFor, search};
use crate::state::{ColorBy, TimelineLayer, TreeItem, ViewState};
use crate::time_format::TimeFormat;
use crate::timeline::bands::{bands, in_sight};
use crate::timeline::layout::{DrawList, LayoutWindow};
use crate::timeline::marks::{FONT, TimeArea};
use crate::timeline::ruler::{HEIGHT as RULER, TimeRuler};
use crate::timeline::shapes;
use crate::timeline::tiles::LaneTiles;
use crate::timeline::trace::OpenTrace;
use crate::timeline::tree::LANE;

/// Height of the title.
const TITLE: f32 = 30.0;
/// Height of the legend.
const LEGEND: f32 = 28.0;
struct TimelinePicture<'a> {
    trace: &'a OpenTrace,
    state: &'a ViewState,
    /// Colours of labels.
    keys: &'a [ColorKey],
    /// By label: whether the other run lacks the op.
    only: &'a [bool],
    times: TimeFormat,
    /// Where the tracks are.
    area: TimeArea,
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
    let efficiency = if state.color_by == ColorBy::Efficiency {
        trace.session.report::<Ops>(Scope::WholeTrace).ok()
    } else {
        None
    };
    let efficiency = efficiency.map(|ops| trace.by_efficiency(&ops));
    let change = beside.map(|beside| beside.colors);
    let keys = trace.keys(state.color_by, efficiency.as_deref(), change);
    let only = beside.map_or(&[][..], |beside| beside.only);
    // An invalid query highlights nothing, as in the window.
    let search = SearchFor::of(state)
        .and_then(|wanted| search(&trace.model, &trace.classes, &wanted, &Progress::new()).ok());
    let frame = TimelinePicture {
        trace,
        state,
        keys,
        only,
        times: look.times,
        area: TimeArea {
            left,
            top,
            width: look.width - left,
            height,
            time: state.place.time,
        },
    };
    let area = &frame.area;
    let window = LayoutWindow {
        time: state.place.time,
        rows: &rows,
        scroll,
        width: area.width,
        height,
        selection: state.place.selection,
        highlighted: search.as_ref().map(|search| &search.highlighted),
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
    // Nothing is added to a picture later.
    let remarks = list.scrolled.remarks.iter_mut();
    for remark in remarks.chain(&mut list.pinned.remarks) {
        if remark.is_pending {
            remark.text = "not known yet when this picture was made".into();
        }
    }

    let mut drawing = Drawing::new(look.width, top + height + LEGEND, ColorRole::Labels);
    frame.title(&mut drawing, look.width);
    drawing.rect(left, top, area.width, height, ColorRole::Canvas, "");
    drawing.begin_clip(left, TITLE, area.width, RULER + height);
    frame.grounds(&mut drawing, &list);
    drawing.end_clip();
    drawing.begin_clip(left, top, area.width, height);
    frame.tracks(&mut drawing, &list);
    drawing.end_clip();
    drawing.begin_clip(0.0, top, left, height);
    frame.names(&mut drawing, &list);
    drawing.end_clip();
    drawing.size.1 = frame.legend(&mut drawing, top + height + LEGEND / 2.0, beside.is_some());
    drawing
}

impl TimelinePicture<'_> {
    fn title(&self, drawing: &mut Drawing, width: f32) {
        drawing.fitted(
            12.0,
            TITLE / 2.0,
            width * 0.6,
            13.0,
            ColorRole::TextStrong,
            &self.trace.title(),
        );
        let base = TimeRuler::new(&self.area, self.times).base_text();
        let base = base.map_or_else(String::new, |base| format!(", from {base}"));
        let span = Picos::rounded(self.state.place.time.span_ps());
        drawing.text(
            width - 12.0,
            TITLE / 2.0,
            Anchor::End,
            FONT,
            ColorRole::TextWeak,
            &format!("{} in view{base}", self.times.text(span)),
        );
    }

    /// What lies behind the tracks, and the ruler above them.
    fn grounds(&self, drawing: &mut Drawing, list: &DrawList) {
        let area = &self.area;
        let head = TimeArea {
            top: TITLE,
            height: RULER,
            ..*area
        };
        let steps = self
            .trace
            .session
            .report::<Steps>(Scope::WholeTrace)
            .ok()
            .filter(|_| self.state.draws(TimelineLayer::Steps));
        let bands = steps.map(|report| bands(&report)).unwrap_or_default();
        let bands = in_sight(&bands, area.time.range());
        area.bands(drawing, bands);
        let ruler = TimeRuler::new(area, self.times);
        if self.state.draws(TimelineLayer::Grid) {
            ruler.grid(drawing, area);
        }
        area.outside(drawing, self.trace.model.extent());
        area.rows(drawing, list, &self.trace.tree);
        ruler.draw(drawing, &head, &[]);
        head.band_names(drawing, bands);
    }

    fn tracks(&self, drawing: &mut Drawing, list: &DrawList) {
        let corner = (self.area.left, self.area.top);
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
            shapes::loads(drawing, part, corner, list.is_dim);
            shapes::derived(drawing, part, corner, (self.area.width, list.is_dim));
            let of: (&TraceModel, _) = (&self.trace.model, &*self.trace.tree);
            shapes::counters(drawing, part, corner, of);
        }
        let area = &self.area;
        area.mark(drawing, list, &self.trace.tree, self.state);
        if let Some(mark) = self.state.place.mark {
            area.mark_length(drawing, mark, &self.times.text(mark.dur()), 0);
        }
        shapes::selection(drawing, list, corner);
    }

    fn names(&self, drawing: &mut Drawing, list: &DrawList) {
        for row in list.rows_in(0.0, self.area.height) {
            let node = self.trace.tree.node(row.node);
            let y = self.area.top + row.y;
            let is_group = matches!(node.item, TreeItem::Group(_));
            if is_group {
                drawing.rect(0.0, y, self.area.left, row.height, ColorRole::Heading, "");
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
            let room = self.area.left - x - 6.0;
            drawing.fitted(x, middle, room, size, color, &node.title);
            if let Some(hidden) = row.hidden_text().filter(|_| row.lanes > 1) {
                let middle = middle + LANE;
                drawing.fitted(x, middle, room, size, ColorRole::TextWeak, &hidden);
            }
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
