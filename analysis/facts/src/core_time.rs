//! Divides the time of a core among its ops.
//!
//! Ops nest (a `while` contains the ops of its body), so summing them counts time twice. Here every instant belongs to
//! the innermost running op, so the time of an op excludes that of its children:
//!
//! ```text
//! ops       WWWWWWWWWWWWWWWW....
//!             AAAA   BBBB
//! segments  WW AAAA WWW BBBB WW  idle
//! ```
//!
//! Segments never overlap, so the segments and the idle time add up exactly to the window. All times are on the clock
//! that timed the ops.

use std::cmp::Reverse;
use std::sync::Arc;

use engine::{AnalysisError, Context, Fact, OnceMap, Scope};
use math::intervals::IntervalSet;
use trace_model::{GroupId, Picos, SliceId, SliceSpans, TimeRange, Timestamp, TrackKind};

use crate::category::{OpClass, OpClasses};
use crate::window::{self, TimeWindow};

/// A span in which one op is the innermost running op.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelfTimeSegment {
    /// Its span.
    pub range: TimeRange,
    /// The op execution.
    pub slice: SliceId,
    /// Class of the op.
    pub class: OpClass,
}

/// The time of one core within a window.
#[derive(Clone, Debug)]
pub struct CoreTime {
    /// The core.
    pub core: GroupId,
    /// The window.
    pub window: TimeWindow,
    /// In time order, disjoint, inside `window.measured`.
    pub segments: Vec<SelfTimeSegment>,
}

/// Times of cores in the whole trace; smaller windows are cut from them.
#[derive(Default)]
struct CoreTimes(OnceMap<GroupId, Arc<CoreTime>>);

impl Fact for CoreTimes {
    fn find(_cx: &Context<'_>) -> Self {
        Self::default()
    }
}

pub(crate) fn core_time(
    cx: &Context<'_>,
    core: GroupId,
) -> Result<Option<Arc<CoreTime>>, AnalysisError> {
    let Some(window) = window::window(cx, core)? else {
        return Ok(None);
    };
    let all = cx.scoped(Scope::WholeTrace);
    let Some(extent) = window::window(&all, core)? else {
        return Ok(None);
    };
    let whole = cx
        .fact::<CoreTimes>()
        .0
        .get(core, || Arc::new(CoreTime::of(&all, core, extent)));
    Ok(Some(if window == extent {
        whole
    } else if extent.measured.encloses(window.measured) {
        Arc::new(whole.within(window))
    } else {
        Arc::new(CoreTime::of(cx, core, window))
    }))
}

impl CoreTime {
    fn of(cx: &Context<'_>, core: GroupId, window: TimeWindow) -> Self {
        let classes = cx.fact::<Arc<OpClasses>>();
        let mut spans: Vec<SelfTimeSegment> = Vec::new();
        let tracks = cx.model.tracks_of_kind(core, TrackKind::Ops);
        let slices = tracks.flat_map(|track| cx.model.spans_on(track));
        for SliceSpans {
            slice,
            measured: range,
            ..
        } in cx.watched(slices)
        {
            if range.overlaps(window.measured) {
                let class = classes.class_of(slice.op());
                spans.push(SelfTimeSegment {
                    range,
                    slice: slice.id(),
                    class,
                });
            }
        }
        let mut segments = self_time_segments(spans);
        let inside = |segment: &SelfTimeSegment| window.measured.encloses(segment.range);
        // All of them, if the window is that of the whole trace.
        if !segments.iter().all(inside) {
            segments.retain_mut(|segment| match segment.range.intersect(window.measured) {
                Some(range) => {
                    segment.range = range;
                    true
                }
                None => false,
            });
        }
        segments.shrink_to_fit();
        Self {
            core,
            window,
            segments,
        }
    }

    /// The part in a smaller window: an op that runs only outside it is never innermost inside.
    fn within(&self, window: TimeWindow) -> Self {
        let from = self
            .segments
            .partition_point(|segment| segment.range.end <= window.measured.start);
        let to = self
            .segments
            .partition_point(|segment| segment.range.start < window.measured.end);
        let clip = |segment: &SelfTimeSegment| {
            Some(SelfTimeSegment {
                range: segment.range.intersect(window.measured)?,
                ..*segment
            })
        };
        let mut segments = Vec::with_capacity(to.saturating_sub(from));
        segments.extend(
            self.segments
                .get(from..to)
                .unwrap_or_default()
                .iter()
                .filter_map(clip),
        );
        Self {
            core: self.core,
            window,
            segments,
        }
    }

    /// The spans in which an op of the wanted kind was the innermost one.
    pub fn when(&self, wanted: impl Fn(OpClass) -> bool) -> IntervalSet {
        self.segments
            .iter()
            .filter(|segment| wanted(segment.class))
            .map(|segment| segment.range)
            .collect()
    }

    /// Time in which an op of the wanted kind was the innermost one.
    pub(crate) fn time(&self, wanted: impl Fn(OpClass) -> bool) -> Picos {
        self.segments
            .iter()
            .filter(|segment| wanted(segment.class))
            .map(|segment| segment.range.dur())
            .sum()
    }

    /// Time in which any op ran.
    pub fn busy_time(&self) -> Picos {
        self.time(|_| true)
    }
}

/// Cuts nested spans into segments that do not overlap. Where spans overlap without being nested, the one that started
/// later has the shared part.
pub fn self_time_segments(mut spans: Vec<SelfTimeSegment>) -> Vec<SelfTimeSegment> {
    // Without nesting, every span is a segment.
    if spans.is_sorted_by(|before, after| before.range.end <= after.range.start) {
        spans.retain(|span| !span.range.is_empty());
        return spans;
    }
    let order = |span: &SelfTimeSegment| (span.range.start, Reverse(span.range.end));
    // Most are sorted, and sorting would need a second buffer.
    if !spans.is_sorted_by_key(order) {
        spans.sort_by_key(order);
    }
    let mut out = Vec::with_capacity(spans.len());
    let mut open: Vec<(Timestamp, SelfTimeSegment)> = Vec::new();
    let mut now = Timestamp::MIN;
    let mut emit = |segment: &SelfTimeSegment, from: Timestamp, to: Timestamp| {
        if from < to {
            out.push(SelfTimeSegment {
                range: TimeRange::new(from, to),
                ..*segment
            });
        }
        from.max(to)
    };
    for segment in spans {
        let range = segment.range;
        while let Some((end, inner)) = open.pop_if(|(end, _)| *end <= range.start) {
            now = emit(&inner, now, end);
        }
        if let Some((_, around)) = open.last() {
            now = emit(around, now, range.start);
        }
        now = now.max(range.start);
        open.push((range.end, segment));
    }
    while let Some((end, inner)) = open.pop() {
        now = emit(&inner, now, end);
    }
    out
}

#[cfg(test)]
mod tests {
    use engine::{Options, ReportCache};
    use proptest::prelude::*;
    use sample_traces::text_trace;

    use super::*;
    use crate::TraceFacts as _;

    fn segments_of(spans: &[(i64, i64)]) -> Vec<(usize, i64, i64)> {
        let spans = spans.iter().enumerate().map(|(i, &(start, end))| {
            let range = TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
            SelfTimeSegment {
                range,
                slice: SliceId::from_index(i),
                class: OpClass::default(),
            }
        });
        let cut = self_time_segments(spans.collect());
        cut.iter()
            .map(|s| (s.slice.index(), s.range.start.ps(), s.range.end.ps()))
            .collect()
    }

    /// Self time of the golden vector: parent 30, second child 35, grandchild 5, busy 100.
    #[test]
    fn self_time_excludes_children() {
        let segments = segments_of(&[(0, 100), (10, 40), (50, 90), (55, 60)]);
        let own = |i: usize| {
            segments
                .iter()
                .filter(|s| s.0 == i)
                .map(|s| s.2 - s.1)
                .sum::<i64>()
        };
        assert_eq!([0, 1, 2, 3].map(own), [30, 30, 35, 5]);
    }

    #[test]
    fn partial_overlap_counts_for_the_later_op() {
        assert_eq!(segments_of(&[(0, 10), (5, 20)]), [(0, 0, 5), (1, 5, 20)]);
        assert_eq!(
            segments_of(&[(0, 10), (5, 20), (12, 15)]),
            [(0, 0, 5), (1, 5, 12), (2, 12, 15), (1, 15, 20)]
        );
    }

    #[test]
    fn segments_and_idle_time_fill_the_window() {
        let model = text_trace(
            "
            ops : WWWWWWWW..ccCC
                : .ff.gg..
            W = while.1 [while]
            f = fusion.1 [loop fusion]
            g = fusion.2 [loop fusion]
            c = copy-done.1 [copy-done]
            C = copy.1 [copy]
            ",
        );
        let (options, reports) = (Options::default(), ReportCache::default());
        let cx = Context {
            model: &model,
            scope: Scope::WholeTrace,
            options: &options,
            reports: &reports,
        };
        let time = cx.core_time(model.tensor_cores()[0]).unwrap().unwrap();
        assert_eq!(time.window.dur().ps(), 14_000);
        assert_eq!((time.window.dur() - time.busy_time()).ps(), 2_000);
        assert_eq!(time.time(OpClass::may_have_inner_ops).ps(), 4_000);
        assert_eq!(time.time(OpClass::is_compute).ps(), 6_000);
        assert_eq!(time.time(OpClass::is_done).ps(), 2_000);
    }

    proptest! {
        #[test]
        fn segments_are_disjoint_and_cover_the_union(spans in prop::collection::vec((0_i64..50, 0_i64..20), 0..20)) {
            let spans: Vec<_> = spans.into_iter().map(|(start, len)| (start, start + len)).collect();
            let segments = segments_of(&spans);
            prop_assert!(segments.windows(2).all(|w| w[0].2 <= w[1].1));
            let range = |a, b| TimeRange::new(Timestamp::from_ps(a), Timestamp::from_ps(b));
            let union: IntervalSet = spans.iter().map(|&(a, b)| range(a, b)).collect();
            let covered: IntervalSet = segments.iter().map(|&(_, a, b)| range(a, b)).collect();
            prop_assert_eq!(union, covered);
        }
    }
}
