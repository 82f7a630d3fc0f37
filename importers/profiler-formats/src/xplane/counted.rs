//! Events of hosts that are only counted: see `host_part`.

use std::cmp::Reverse;

use trace_model::{LabelId, TimeRange, TraceBuilder, TrackId, UnreadSlices};

use super::tables::KnownStats;

/// What is decoded of the events of each plane.
pub(super) struct HostPart {
    /// For each row of the event metadata of each plane, whether its events are only counted.
    pub counted: Vec<Vec<bool>>,
    /// The stats of each plane, without those of flows.
    pub stats: Vec<KnownStats>,
}

/// The events of a line that were counted, and whether counting them was enough.
pub(super) struct CountedEvents<'a> {
    is_counted: &'a [bool],
    /// Number of events of each row of the metadata.
    counts: Vec<u64>,
    /// From the first start to the last end of all events.
    range: Option<TimeRange>,
    /// Start and end of the event before.
    before: (i64, i64),
    /// Ends of the events that have begun, from the outermost on.
    open: Vec<i64>,
    is_regular: bool,
}

impl<'a> CountedEvents<'a> {
    /// None so far.
    pub fn new(is_counted: &'a [bool]) -> Self {
        Self {
            is_counted,
            counts: vec![0; is_counted.len()],
            range: None,
            before: (i64::MIN, i64::MAX),
            open: Vec::new(),
            is_regular: true,
        }
    }

    /// Sees the next event of the line, whether it is kept or not.
    #[inline]
    pub fn see(&mut self, range: TimeRange) {
        let (start, end) = (range.start.ps(), range.end.ps());
        let (last, last_end) = self.before;
        while self.open.pop_if(|open| *open <= start).is_some() {}
        let overlaps = self.open.last().is_some_and(|open| *open < end);
        self.is_regular &= (last, Reverse(last_end)) <= (start, Reverse(end)) && !overlaps;
        self.open.push(end);
        self.before = (start, end);
        self.range = Some(self.range.map_or(range, |all| all.hull(range)));
    }

    /// Counts an event of this row; false if it has to be kept.
    #[inline]
    pub fn count(&mut self, row: usize) -> bool {
        let is_counted = self.is_counted.get(row) == Some(&true);
        if is_counted && let Some(count) = self.counts.get_mut(row) {
            *count += 1;
        }
        is_counted
    }

    /// Says that an event has what only a model of all events can place.
    pub fn set_irregular(&mut self) {
        self.is_regular = false;
    }

    /// What was counted on the track, and the times of all of its events; `None` if all events have to be decoded.
    pub fn finish(self) -> Option<CountedLine> {
        let Self { counts, range, .. } = self;
        self.is_regular.then_some(CountedLine { counts, range })
    }
}

/// The events of a line that were counted.
pub(super) struct CountedLine {
    counts: Vec<u64>,
    pub range: Option<TimeRange>,
}

impl CountedLine {
    /// The same with the labels of the rows; `None` if there are none.
    pub fn on_track(&self, track: TrackId, labels: &[LabelId]) -> Option<UnreadSlices> {
        let mut counts: Vec<(LabelId, u64)> = labels
            .iter()
            .copied()
            .zip(self.counts.iter().copied())
            .collect();
        counts.retain(|&(_, count)| count > 0);
        let range = self.range.filter(|_| !counts.is_empty())?;
        Some(UnreadSlices {
            track,
            range,
            counts,
        })
    }
}

/// Whether no time of these lines can be implausible.
pub(super) fn are_plausible<'a>(lines: impl Iterator<Item = &'a CountedLine>) -> bool {
    let all = lines.filter_map(|line| line.range).reduce(TimeRange::hull);
    all.is_none_or(TraceBuilder::is_plausible)
}
