//! Converts spans of the timeline to the clock of a device.

use trace_model::{GroupId, Picos, TimeRange, Timestamp, TraceModel, TrackId, TrackKind};

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
    let mut members: Option<(TimeRange, TimeRange)> = None;
    for lane in model.lanes(ops) {
        // The ops of a lane follow each other: the outermost ones of a range suffice, and a range costs one search,
        // however many ops it contains.
        let overlapping = model.slices_in(lane, range);
        let inside = || overlapping.clone().filter(|op| range.contains(op.start()));
        for op in [inside().next(), inside().next_back()]
            .into_iter()
            .flatten()
        {
            let Some(timed) = op.device_range() else {
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
    let (start, end) = (
        timed.start - (shown.start - range.start),
        timed.end + (range.end - shown.end),
    );
    let before = neighbours(model, ops, range.start)
        .0
        .map_or(start, |(_, before)| before.min(timed.start));
    let after = neighbours(model, ops, range.end)
        .1
        .map_or(end, |(_, after)| after.max(timed.end));
    TimeRange::new(start.max(before), end.min(after))
}

/// A range that was cut out of the timeline anywhere, by the clock of the ops: between two starts or ends of ops time
/// passes evenly. Ranges that meet on the timeline meet here, too, so that their times add up.
pub(crate) fn cut(model: &TraceModel, core: GroupId, range: TimeRange) -> TimeRange {
    let Some(ops) = timed_ops(model, core) else {
        return range;
    };
    let place = |at: Timestamp| match neighbours(model, ops, at) {
        (Some((from, timed_from)), Some((to, timed_to))) if from < to => {
            let (passed, whole) = (i128::from((at - from).ps()), i128::from((to - from).ps()));
            let passed = i128::from((timed_to - timed_from).ps()) * passed / whole;
            timed_from + Picos::from_ps(i64::try_from(passed).unwrap_or(i64::MAX))
        }
        // Of several at this instant the earliest: all that begins here belongs to what follows, also if it has no length
        // on the timeline.
        (_, Some((shown, timed))) | (Some((shown, timed)), None) => timed + (at - shown),
        (None, None) => at,
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

/// The last start or end of an op at or before an instant of the timeline, and the first one at or after it.
fn neighbours(
    model: &TraceModel,
    ops: TrackId,
    at: Timestamp,
) -> (Option<OpBorder>, Option<OpBorder>) {
    let (mut before, mut after) = (None::<OpBorder>, None::<OpBorder>);
    for lane in model.lanes(ops) {
        let last = model
            .slices_in(lane, TimeRange::new(Timestamp::MIN, at))
            .next_back();
        let next = model
            .slices_in(lane, TimeRange::new(at, Timestamp::MAX))
            .next();
        for op in last.into_iter().chain(next) {
            let (shown, Some(timed)) = (op.range(), op.device_range()) else {
                continue;
            };
            for border in [(shown.start, timed.start), (shown.end, timed.end)] {
                if border.0 <= at {
                    before = before.max(Some(border));
                }
                if border.0 >= at {
                    after = Some(after.map_or(border, |after| after.min(border)));
                }
            }
        }
    }
    (before, after)
}
