//! Converts cycles of a simulator to times.

use trace_model::{
    IssueKind, LabelId, SliceKey, SliceSpec, TimeRange, Timestamp, TraceBuilder, TrackId,
};

/// The latest time on the timeline.
const MAX_PS: f64 = (i64::MAX / 2) as f64;

/// Length of a cycle.
#[derive(Clone, Copy, Debug)]
pub struct CycleClock {
    /// Cycles per microsecond.
    pub mhz: f64,
}

impl CycleClock {
    /// Without a clock, a cycle is shown as a nanosecond.
    pub const NONE: Self = Self { mhz: 1000.0 };

    /// The time of a cycle; `None` beyond what the timeline can hold.
    pub fn at(self, cycle: i64) -> Option<Timestamp> {
        let ps = (cycle as f64 * 1e6 / self.mhz).round();
        (ps.abs() <= MAX_PS).then(|| Timestamp::from_ps(ps as i64))
    }

    /// The range between two cycles in order.
    pub fn range(self, begin: i64, end: i64) -> Option<TimeRange> {
        let (begin, end) = (self.at(begin)?, self.at(end.max(begin))?);
        Some(TimeRange::new(begin, end))
    }

    /// The time of a cycle, or the end of the timeline that is nearest to it.
    pub fn nearest(self, cycle: i64) -> Timestamp {
        let ps = (cycle as f64 * 1e6 / self.mhz).round();
        Timestamp::from_ps(ps.clamp(-MAX_PS, MAX_PS) as i64)
    }

    /// The range of cycles; if it does not fit the timeline, `what` is logged as left out.
    pub fn range_of(
        self,
        what: &str,
        begin: i64,
        end: i64,
        out: &mut TraceBuilder,
    ) -> Option<TimeRange> {
        let range = self.range(begin, end);
        if range.is_none() {
            out.log(IssueKind::BeyondTimeline, || {
                format!("{what}, cycle {begin} to {end}")
            });
        }
        range
    }

    /// Adds a slice from cycle to cycle; if it does not fit the timeline, `what` is logged as left out.
    pub fn add_slice(
        self,
        what: &str,
        (begin, end): (i64, i64),
        (track, label): (TrackId, LabelId),
        out: &mut TraceBuilder,
    ) -> Option<SliceKey> {
        let range = self.range_of(what, begin, end, out)?;
        Some(out.add_slice(track, SliceSpec::new(range, label)))
    }
}
