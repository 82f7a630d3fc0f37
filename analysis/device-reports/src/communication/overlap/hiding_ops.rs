//! The compute that hides a transfer.

use facts::prelude::*;

use super::cores::CoreTraffic;

/// Time in which each op ran while something was in flight.
pub(super) type HidingTime = BTreeMap<LabelId, Picos>;

/// Compute ops of a core, for spans in flight. Overlapping spans visit the same ops repeatedly; if that would take
/// much more work than reading the trace, there is no result.
pub(super) struct HidingOps<'a> {
    core: &'a CoreTraffic,
    label_of: &'a dyn Fn(&SelfTimeSegment) -> LabelId,
    visits_left: usize,
}

/// Maximum average number of visits per op.
const VISITS: usize = 16;

impl<'a> HidingOps<'a> {
    pub fn of(core: &'a CoreTraffic, label_of: &'a dyn Fn(&SelfTimeSegment) -> LabelId) -> Self {
        Self {
            core,
            label_of,
            visits_left: core
                .time
                .segments
                .len()
                .saturating_mul(VISITS)
                .saturating_add(1 << 16),
        }
    }

    /// Adds the ops that ran in `range`; `false` if that takes too much work.
    pub fn add(&mut self, range: TimeRange, to: &mut HidingTime) -> bool {
        let segments = &self.core.time.segments;
        let from = segments.partition_point(|segment| segment.end <= range.start);
        let until = segments.partition_point(|segment| segment.start < range.end);
        let inside = segments.rows(from..until);
        let Some(left) = self.visits_left.checked_sub(inside.len()) else {
            return false;
        };
        self.visits_left = left;
        for segment in inside.filter(|segment| segment.class.is_compute()) {
            if let Some(part) = segment.range.intersect(range) {
                *to.entry((self.label_of)(&segment)).or_default() += part.dur();
            }
        }
        true
    }
}
