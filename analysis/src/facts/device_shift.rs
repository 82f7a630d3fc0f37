//! Converts spans of the timeline to the clock of a device.

use trace_model::{GroupId, SliceRef, TimeRange, TraceModel, TrackKind};

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
pub(crate) fn shifted(model: &TraceModel, core: GroupId, range: TimeRange) -> TimeRange {
    let Some(ops) = model.track_of_kind(core, TrackKind::Ops) else { return range };
    let both = |op: SliceRef<'_>| Some((op.range(), op.device_range()?));
    // A track has that clock for all of its slices or for none.
    if model.slices_on(ops).next().and_then(both).is_none() {
        return range;
    }
    let (mut members, mut around) = (None, None);
    for lane in model.lanes(ops) {
        // The ops of a lane follow each other: the outermost ones of a range suffice, and a range costs one search,
        // however many ops it contains.
        let overlapping = model.slices_in(lane, range);
        let inside = || overlapping.clone().filter(|op| range.contains(op.start()));
        for op in [inside().next(), inside().next_back()].into_iter().flatten() {
            members = hull(members, both(op));
        }
        if members.is_none() {
            around = hull(around, overlapping.clone().next().and_then(both));
        }
    }
    // If no op starts in the range, it lies inside an op or between two.
    let Some((shown, timed)) = members.or(around) else { return range };
    let start = timed.start - (shown.start - range.start);
    let end = if members.is_some() { timed.end + (range.end - shown.end) } else { start + range.dur() };
    TimeRange::new(start, end)
}

/// The same span by two clocks.
type BothClocks = Option<(TimeRange, TimeRange)>;

fn hull(sum: BothClocks, part: BothClocks) -> BothClocks {
    match (sum, part) {
        (Some((a, b)), Some((shown, timed))) => Some((a.hull(shown), b.hull(timed))),
        (sum, part) => sum.or(part),
    }
}
