//! One pass over the ops of a core in the whole trace, for all that needs each of them.

use engine::OnceMap;
use engine::prelude::*;
use trace_model::SliceSpans;

use crate::category::OpClasses;
use crate::packed_segments::{PackedSegments, SelfTimeSegment};
use crate::segments::{SegmentCutter, Segments, in_order, self_time_segments};

/// What one pass over the ops of a core finds.
#[derive(Debug, Default)]
pub struct OpScan {
    /// From the first to the last op of each track.
    pub(crate) extents: Vec<(TrackId, TrackExtent)>,
    /// How the two clocks agree on the lengths of ops.
    pub lengths: LengthsByClock,
    /// The self time of all ops.
    segments: Segments,
}

impl OpScan {
    /// The self time of all ops in a window.
    pub(crate) fn segments_within(&self, window: TimeRange) -> Segments {
        self.segments.within(window)
    }
}

/// The lengths of ops on the timeline beside those by the clock of the device.
#[derive(Clone, Copy, Debug, Default)]
pub struct LengthsByClock {
    pub ops: usize,
    /// Those whose lengths differ by more than [`MISPLACED`].
    pub misplaced: usize,
    /// The largest difference.
    pub worst: Picos,
}

/// Ops whose lengths by the two clocks differ by more than this are misplaced on the timeline.
pub const MISPLACED: Picos = Picos::from_ps(1_000_000);

/// From the first slice of a track to the end of the last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TrackExtent {
    /// On the timeline.
    pub range: Option<TimeRange>,
    /// The slices with a span on the device clock, on that clock.
    pub timed: Option<TimeRange>,
    /// The other slices, on the timeline.
    pub untimed: Option<TimeRange>,
}

/// The scans of the devices, and of other cores once they are asked for.
struct OpScans(OnceMap<GroupId, Arc<OpScan>>);

impl Fact for OpScans {
    /// All devices at once: who asks for one needs the others, too, to know how long the run took.
    fn find(cx: &Context<'_>) -> Self {
        let devices = cx.model.tensor_cores();
        // Before several threads would wait for it.
        cx.fact::<Arc<OpClasses>>();
        let scans = cx.side_by_side(devices.len(), |nth| Arc::new(scan(cx, devices[nth])));
        Self(devices.into_iter().zip(scans).collect())
    }
}

/// The scan of a core, made on first use.
pub fn op_scan(cx: &Context<'_>, core: GroupId) -> Arc<OpScan> {
    let whole = cx.whole();
    let scans = &cx.fact::<OpScans>().0;
    scans.get(core, || Arc::new(scan(&whole, core)))
}

/// Drops the scans of all cores, once the reports that read them are there. Who asks for one later has it made again, for
/// this core alone.
pub fn forget_op_scans(cx: &Context<'_>) {
    if let Some(scans) = cx.known_fact::<OpScans>() {
        scans.0.clear();
    }
}

fn scan(cx: &Context<'_>, core: GroupId) -> OpScan {
    let model = cx.model;
    let classes = cx.fact::<Arc<OpClasses>>();
    let tracks: Vec<TrackId> = model.tracks_of_kind(core, TrackKind::Ops).collect();
    let mut extents = vec![ExtentSum::default(); tracks.len()];
    let mut lengths = LengthsByClock::default();
    let ops = || {
        let lanes = tracks.iter().flat_map(|&track| model.lanes(track));
        cx.watched(model.spans_by_time(lanes, TimeRange::new(Timestamp::MIN, Timestamp::MAX)))
    };
    let segment = |op: &SliceSpans<'_>| SelfTimeSegment {
        range: op.measured,
        slice: op.slice.id(),
        class: classes.class_of(op.slice.op()),
    };
    let count = tracks
        .iter()
        .map(|&track| model.spans_on(track).len())
        .sum();
    let mut segments = PackedSegments::with_capacity(count);
    let mut cutter = SegmentCutter::new(|segment| segments.push(segment));
    let mut last = None;
    let mut are_sorted = true;
    ops().for_each(|op| {
        let track = match &tracks[..] {
            [_] => Some(0),
            several => several.iter().position(|&track| track == op.slice.track()),
        };
        if let Some(extent) = track.and_then(|track| extents.get_mut(track)) {
            extent.add(&op);
        }
        lengths.ops += 1;
        let off = (op.measured.dur() - op.shown.dur()).abs();
        lengths.misplaced += usize::from(off > MISPLACED);
        lengths.worst = lengths.worst.max(off);
        let segment = segment(&op);
        let place = Some(in_order(&segment));
        are_sorted &= last <= place;
        last = place;
        cutter.add(segment);
    });
    cutter.finish();
    if !are_sorted {
        segments = PackedSegments::default();
        for segment in self_time_segments(ops().map(|op| segment(&op)).collect()) {
            segments.push(segment);
        }
    }
    let extents = tracks.iter().zip(extents);
    OpScan {
        extents: extents
            .map(|(&track, extent)| (track, extent.finish(cx, track)))
            .collect(),
        lengths,
        segments: segments.finish().into(),
    }
}

/// A [`TrackExtent`] while it is collected.
#[derive(Clone, Default)]
pub(crate) struct ExtentSum {
    shown: Option<TimeRange>,
    measured: Option<TimeRange>,
}

impl ExtentSum {
    #[inline]
    pub fn add(&mut self, spans: &SliceSpans<'_>) {
        self.shown = hull(self.shown, Some(spans.shown));
        self.measured = hull(self.measured, Some(spans.measured));
    }

    /// The extent of `track`, of which all slices were added.
    pub fn finish(self, cx: &Context<'_>, track: TrackId) -> TrackExtent {
        // A track has a device clock for all of its slices or for none.
        let is_timed = cx
            .model
            .slices_on(track)
            .next()
            .is_some_and(|slice| slice.device_range().is_some());
        TrackExtent {
            range: self.shown,
            timed: self.measured.filter(|_| is_timed),
            untimed: self.measured.filter(|_| !is_timed),
        }
    }
}

impl TrackExtent {
    /// The smallest span that contains both.
    pub fn hull(self, other: Self) -> Self {
        Self {
            range: hull(self.range, other.range),
            timed: hull(self.timed, other.timed),
            untimed: hull(self.untimed, other.untimed),
        }
    }
}

fn hull(a: Option<TimeRange>, b: Option<TimeRange>) -> Option<TimeRange> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.hull(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use engine::{Options, ReportCache};

    use super::*;

    fn with(model: &TraceModel, ask: impl FnOnce(&Context<'_>)) {
        let (options, reports) = (Options::default(), ReportCache::default());
        ask(&Context {
            model,
            scope: Scope::WholeTrace,
            options: &options,
            reports: &reports,
        });
    }

    #[test]
    fn forgotten_scans_are_gone_and_made_again() {
        let model = sample_traces::text_trace(
            "
            ops : WW
                : .f
            W = while.1 [while]
            f = fusion.1 [loop fusion]
            ",
        );
        with(&model, |cx| {
            forget_op_scans(cx);
            assert!(cx.known_fact::<OpScans>().is_none(), "none is made for it");
            let core = model.tensor_cores()[0];
            let segments = || op_scan(cx, core).segments.iter().collect::<Vec<_>>();
            let (found, known) = (segments(), Arc::downgrade(&op_scan(cx, core)));
            forget_op_scans(cx);
            assert!(known.upgrade().is_none());
            assert_eq!(segments(), found);
        });
    }

    /// More lanes than are read side by side: the ops come out of order, and their list is sorted.
    #[test]
    fn ops_of_many_lanes_are_cut_as_those_of_few() {
        for lanes in [3_u8, 20] {
            let names = || (b'a'..b'a' + lanes).map(char::from);
            let rows = names().enumerate().map(|(at, name)| {
                let (before, op) = (".".repeat(at), name.to_string().repeat(25));
                let label = if at == 0 { "ops" } else { "" };
                // Twice: the second time begins after ops of lanes that are read later.
                let pause = ".".repeat(35);
                format!("{label}: {before}{op}{pause}{op}\n")
            });
            let legend = names().map(|name| format!("{name} = fusion.{name} [loop fusion]\n"));
            let model = sample_traces::text_trace(&rows.chain(legend).collect::<String>());
            let core = model.tensor_cores()[0];
            assert_eq!(model.all_lanes().len(), usize::from(lanes));
            let mut segments = Segments::default();
            with(&model, |cx| segments = op_scan(cx, core).segments.clone());
            // Each op is the innermost one until the next begins.
            let found = segments
                .iter()
                .map(|segment| segment.range.dur().ps() / 1_000);
            let mut expected = vec![1; usize::from(lanes)];
            expected[usize::from(lanes) - 1] = 25;
            assert_eq!(found.collect::<Vec<_>>(), expected.repeat(2));
        }
    }
}
