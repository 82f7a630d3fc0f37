//! Slices that were counted but not kept, because the import was asked for less than the files hold.

use serde::{Deserialize, Serialize};

use crate::op::LabelId;
use crate::time::{TimeRange, Timestamp};
use crate::track::TrackId;

/// What reports read of the events of a name on host threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostEventUse {
    /// Their number and when the first begins and the last ends.
    Count,
    /// Their times and arguments.
    Each,
    /// Besides, other events of the same file, whatever their names.
    WithOthers,
}

/// The slices of a track that were only counted.
#[derive(Debug, Serialize, Deserialize)]
pub struct UnreadSlices {
    /// Their track.
    pub track: TrackId,
    /// From the first start to the last end.
    pub range: TimeRange,
    /// How many there are of each label.
    pub counts: Vec<(LabelId, u64)>,
}

impl UnreadSlices {
    /// Their number.
    pub fn count(&self) -> u64 {
        self.counts
            .iter()
            .fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// The counts on a timeline that begins earlier by `shift` picoseconds.
    pub(crate) fn shifted(mut self, shift: i64) -> Self {
        let moved = |time: Timestamp| Timestamp::from_ps(time.ps().saturating_add(shift));
        self.range = TimeRange::new(moved(self.range.start), moved(self.range.end));
        self
    }
}
