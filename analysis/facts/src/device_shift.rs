//! Converts spans of the timeline to the clock of a device.

use engine::prelude::*;

/// `range` by the clock of the ops: from the first to the last op by their own clock, plus the time that the timeline
/// shows before the first and after the last of them.
///
/// The mapping between the clocks can jump in the middle: on a real v6e capture steps of 784 ms on the device clock
/// take 676 to 982 ms on the timeline. With the length from the timeline, a window could contain more work than time.
///
/// ```text
/// timeline  |  [op][op]   [op]  |
/// device       [op][op]        [op]
/// window    |                       |
/// ```
///
/// What the timeline shows before or after them is at most as long as the gap to the ops outside by the clock of the
/// ops, so that a step never contains the work of another.
pub fn shifted(model: &TraceModel, core: GroupId, range: TimeRange) -> TimeRange {
    let Some(ops) = timed_ops(model, core) else {
        return range;
    };
    let mut first = OpBorders::default();
    let mut last = OpBorders::default();
    let mut members: Option<(TimeRange, TimeRange)> = None;
    for lane in model.lanes(ops) {
        // The ops of a lane follow each other: the outermost ones of a range suffice, and a range costs two searches,
        // however many ops it contains.
        let at_start = model.slices_around(lane, range.start);
        let at_end = model.slices_around(lane, range.end);
        first.add(at_start, range.start);
        last.add(at_end, range.end);
        for op in [at_start.1, at_end.0].into_iter().flatten() {
            let Some(timed) = op.device_range().filter(|_| range.contains(op.start())) else {
                continue;
            };
            members = Some(members.map_or((op.range(), timed), |(a, b)| {
                (a.hull(op.range()), b.hull(timed))
            }));
        }
    }
    // If no op starts in the range, it lies inside an op or between two.
    let Some((shown, timed)) = members else {
        return cut(model, core, range);
    };
    let start = timed.start - (shown.start - range.start);
    let end = timed.end + (range.end - shown.end);
    let before = first
        .before
        .map_or(start, |(_, before)| before.min(timed.start));
    let after = last.after.map_or(end, |(_, after)| after.max(timed.end));
    TimeRange::new(start.max(before), end.min(after))
}

/// A range that was cut out of the timeline anywhere, by the clock of the ops: between two starts or ends of ops time
/// passes evenly. Ranges that meet on the timeline meet here, too, so that their times add up.
pub(crate) fn cut(model: &TraceModel, core: GroupId, range: TimeRange) -> TimeRange {
    let Some(ops) = timed_ops(model, core) else {
        return range;
    };
    let around = |time: Timestamp| {
        let OpBorders { before, after } = OpBorders::at(model, ops, time);
        (before, after)
    };
    let place = |time: Timestamp| match around(time) {
        (Some((from, timed_from)), Some((to, timed_to))) if from < to => {
            let passed = i128::from((time - from).ps());
            let whole = i128::from((to - from).ps());
            let passed = i128::from((timed_to - timed_from).ps()) * passed / whole;
            timed_from + Picos::from_ps(i64::try_from(passed).unwrap_or(i64::MAX))
        }
        // Of several at this instant the earliest: all that begins here belongs to what follows, also if it has no length
        // on the timeline.
        (_, Some((shown, timed))) | (Some((shown, timed)), None) => timed + (time - shown),
        (None, None) => time,
    };
    TimeRange::new(place(range.start), place(range.end))
}

/// The ops of a core, if they have the clock of the device: a track has it for all of its slices or for none.
fn timed_ops(model: &TraceModel, core: GroupId) -> Option<TrackId> {
    let ops = model.track_of_kind(core, TrackKind::Ops)?;
    model.slices_on(ops).next()?.device_range().map(|_| ops)
}

/// A start or end of an op, on the timeline and by the clock of the ops.
type OpBorder = (Timestamp, Timestamp);

/// The borders of ops next to an instant of the timeline.
#[derive(Default)]
struct OpBorders {
    /// The last one at or before it.
    before: Option<OpBorder>,
    /// The first one at or after it.
    after: Option<OpBorder>,
}

impl OpBorders {
    fn at(model: &TraceModel, ops: TrackId, instant: Timestamp) -> Self {
        let mut out = Self::default();
        for lane in model.lanes(ops) {
            out.add(model.slices_around(lane, instant), instant);
        }
        out
    }

    /// Adds the ops of a lane around the instant `at`, as [`trace_model::TraceColumns::slices_around`] finds them.
    fn add(
        &mut self,
        (last, later): (Option<SliceRef<'_>>, Option<SliceRef<'_>>),
        instant: Timestamp,
    ) {
        let next = later.filter(|_| last.is_none_or(|last| last.range().end <= instant));
        for op in last.into_iter().chain(next) {
            let (shown, Some(timed)) = (op.range(), op.device_range()) else {
                continue;
            };
            for border in [(shown.start, timed.start), (shown.end, timed.end)] {
                if border.0 <= instant {
                    self.before = self.before.max(Some(border));
                }
                if border.0 >= instant {
                    self.after = Some(self.after.map_or(border, |after| after.min(border)));
                }
            }
        }
    }
}
