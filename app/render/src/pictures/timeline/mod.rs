//! The timeline as the window shows it: names, ruler, steps, boxes, arrows.

mod boxes;

use importers::Progress;
use trace_model::{Picos, Timestamp};

use super::drawing::{Anchor, Drawing, width_of};
use super::{OtherTraceColors, PictureStyle};
use view::palette::{ColorKey, Palette, Rgb};
use view::panels::legend::{ColorLegend, HATCHED};
use view::search::{SearchFor, search};
use view::state::TreeItem;
use view::state::{ColorBy, TimelineLayer, ViewState};
use view::time_format::TimeFormat;
use view::timeline::bands::{bands, in_sight};
use view::timeline::layout::{DrawList, LayoutWindow};
use view::timeline::tiles::LaneTiles;
use view::timeline::trace::OpenTrace;
use view::timeline::tree::LANE;
use view::viewport::{ruler_base, tick_step, ticks};

/// Height of the title.
const TITLE: f32 = 30.0;
/// Height of the ruler.
const RULER: f32 = 26.0;
/// Height of the legend.
const LEGEND: f32 = 28.0;
/// How much of the colour of dimmed slices, and of marks and edges of slices, differs from the ground.
const DIM: f32 = 0.22;
const FAINT: f32 = 0.45;
/// Size of most texts.
const FONT: f32 = 11.0;

struct TimelinePicture<'a> {
    trace: &'a OpenTrace,
    state: &'a ViewState,
    /// Colours of labels.
    keys: &'a [ColorKey],
    /// By label: whether the other run lacks the op.
    only: &'a [bool],
    palette: &'static Palette<Rgb>,
    times: TimeFormat,
    /// Left edge of the tracks.
    left: f32,
    /// Top edge of the tracks.
    top: f32,
    width: f32,
    height: f32,
}

/// The tracks as `state` arranges them, in its range of time.
pub fn timeline(
    trace: &OpenTrace,
    state: &ViewState,
    beside: Option<OtherTraceColors<'_>>,
    look: PictureStyle,
) -> Drawing {
    let palette = look.palette();
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
        palette,
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

    let mut drawing = Drawing::new(look.width, top + height + LEGEND, palette.labels);
    frame.title(&mut drawing, look.width);
    drawing.rect(left, top, frame.width, height, palette.canvas, "");
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
    frame.legend(&mut drawing, top + height + LEGEND / 2.0, beside.is_some());
    drawing
}

impl TimelinePicture<'_> {
    fn x_of(&self, at: Timestamp) -> f32 {
        let share = self.state.place.time.fraction(at).clamp(-4.0, 5.0);
        self.left + (share * f64::from(self.width)) as f32
    }

    fn title(&self, drawing: &mut Drawing, width: f32) {
        let palette = self.palette;
        drawing.fitted(
            12.0,
            TITLE / 2.0,
            width * 0.6,
            13.0,
            palette.text_strong,
            &self.trace.title(),
        );
        let span = Picos::from_ps(self.state.place.time.span_ps().round() as i64);
        drawing.text(
            width - 12.0,
            TITLE / 2.0,
            Anchor::End,
            FONT,
            palette.text_weak,
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
                drawing.rect(
                    from,
                    self.top,
                    to - from,
                    self.height,
                    self.palette.grid,
                    "",
                );
            }
            let color = if band.is_outlier {
                self.palette.warning
            } else {
                self.palette.text_weak
            };
            drawing.rect(from + 0.5, TITLE, to - from - 1.0, 3.0, color, &band.name());
        }
    }

    fn ruler(&self, drawing: &mut Drawing) {
        let time = &self.state.place.time;
        let origin = Timestamp::ZERO;
        let step = tick_step(time, self.width, self.times.tick_distance());
        let base = ruler_base(time, origin, step);
        let bottom = TITLE + RULER;
        for tick in ticks(time, origin, step) {
            let x = self.x_of(tick.at);
            if !tick.major {
                drawing.line((x, bottom - 4.0), (x, bottom), self.palette.edge, 1.0);
                continue;
            }
            drawing.line(
                (x, bottom - 8.0),
                (x, bottom + self.height),
                self.palette.edge,
                0.6,
            );
            let text = self.times.tick(tick.at - base, step);
            let text = if base == origin {
                text
            } else {
                format!("+{text}")
            };
            drawing.text(
                x + 4.0,
                bottom - 11.0,
                Anchor::Start,
                FONT,
                self.palette.text_weak,
                &text,
            );
        }
        if base != origin {
            let text = format!("{} +", self.times.tick(base - origin, step));
            drawing.text(
                self.left + 4.0,
                TITLE + 8.0,
                Anchor::Start,
                FONT,
                self.palette.text,
                &text,
            );
        }
    }

    fn tracks(&self, drawing: &mut Drawing, list: &DrawList) {
        for row in list.rows_in(0.0, self.height) {
            let y = self.top + row.y;
            if matches!(self.trace.tree.node(row.node).item, TreeItem::Group(_)) {
                drawing.rect(
                    self.left,
                    y,
                    self.width,
                    row.height,
                    self.palette.heading,
                    "",
                );
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
                let color = self.palette.counter;
                let color = if load.is_faint {
                    self.palette.heading.towards(color, 0.3)
                } else {
                    color
                };
                let (width, height) = (load.right - load.left, load.bottom - load.top);
                drawing.rect(
                    self.left + load.left,
                    self.top + load.top,
                    width,
                    height,
                    color,
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
                drawing.line(a, b, self.palette.selection, 2.0);
            }
        }
        self.mark(drawing);
        for arrow in &list.arrows {
            let color = if arrow.outgoing {
                self.palette.flow_out
            } else {
                self.palette.flow_in
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
                self.palette.accent,
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
            self.palette.raised,
            "",
        );
        drawing.text(
            middle,
            y,
            Anchor::Middle,
            FONT,
            self.palette.text_strong,
            &text,
        );
    }

    fn names(&self, drawing: &mut Drawing, list: &DrawList) {
        let palette = self.palette;
        for row in list.rows_in(0.0, self.height) {
            let node = self.trace.tree.node(row.node);
            let y = self.top + row.y;
            let is_group = matches!(node.item, TreeItem::Group(_));
            if is_group {
                drawing.rect(0.0, y, self.left, row.height, palette.heading, "");
            }
            let x = 10.0 + 12.0 * f32::from(node.indent);
            let (size, color) = if is_group {
                ((row.height - 1.0).min(12.5), palette.text_strong)
            } else {
                (11.5, palette.text)
            };
            let middle = y + if is_group {
                row.height / 2.0
            } else {
                LANE / 2.0
            };
            drawing.fitted(x, middle, self.left - x - 6.0, size, color, &node.title);
        }
    }

    fn legend(&self, drawing: &mut Drawing, y: f32, comparing: bool) {
        let mut x = 12.0;
        let legend = ColorLegend::of(self.trace, self.state.color_by, comparing);
        for (key, title) in &legend.swatches {
            drawing.rect(x, y - 5.0, 10.0, 10.0, self.palette.slice(*key).fill, "");
            drawing.text(
                x + 15.0,
                y,
                Anchor::Start,
                FONT,
                self.palette.text_weak,
                title,
            );
            x += 15.0 + width_of(title, FONT) + 14.0;
        }
        for text in [legend.text, if comparing { HATCHED } else { "" }] {
            drawing.text(x, y, Anchor::Start, FONT, self.palette.text_weak, text);
            x += width_of(text, FONT) + 14.0;
        }
    }
}
