//! Events of hosts that are only counted: see `host_part`.

use importer_common::prelude::*;
use trace_model::UnreadSlices;

use super::tables::KnownStats;

/// What is decoded of the events of each plane.
pub(super) struct HostPart {
    /// For each row of the event metadata of each plane, whether its events are only counted; `None` of a plane of which
    /// all are decoded.
    pub counted: Vec<Option<Vec<bool>>>,
    /// The stats of each plane, without those of flows.
    pub stats: Vec<KnownStats>,
}

/// The events of a line that were counted, and whether counting them was enough.
pub(super) struct CountedEvents<'a> {
    is_counted: &'a [bool],
    counts: RowCounts,
    /// From the first start to the last end of all events.
    range: Option<TimeRange>,
    /// Start and end of the event before.
    before: (i64, i64),
    /// Ends of the events that have begun, from the outermost on.
    open: Vec<i64>,
    is_regular: bool,
}

impl<'a> CountedEvents<'a> {
    /// None so far, of a line with so many events.
    pub fn new(is_counted: &'a [bool], events: usize) -> Self {
        Self {
            is_counted,
            counts: RowCounts::new(is_counted.len().min(events)),
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
        if is_counted {
            self.counts.add(row);
        }
        is_counted
    }

    /// Says that an event has what only a model of all events can place.
    pub fn set_irregular(&mut self) {
        self.is_regular = false;
    }

    /// What was counted on the track, and the times of all of its events; `None` if all events have to be decoded.
    pub fn finish(self) -> Option<CountedLine> {
        self.is_regular.then(|| CountedLine {
            counts: self.counts.finish(),
            range: self.range,
        })
    }
}

/// Number of events of each row of the metadata. A file can have many rows and many lines with few events each, so what
/// a line needs grows with its events only.
struct RowCounts {
    /// Those of the first rows.
    dense: Vec<u64>,
    /// Those of the others that occur.
    others: BTreeMap<usize, u64>,
}

impl RowCounts {
    fn new(dense: usize) -> Self {
        Self {
            dense: vec![0; dense],
            others: BTreeMap::new(),
        }
    }

    #[inline]
    fn add(&mut self, row: usize) {
        match self.dense.get_mut(row) {
            Some(count) => *count += 1,
            None => *self.others.entry(row).or_default() += 1,
        }
    }

    /// The rows that occur, in their order.
    fn finish(self) -> Vec<(usize, u64)> {
        let dense = self.dense.into_iter().enumerate();
        let counted = dense.filter(|&(_, count)| count > 0);
        counted.chain(self.others).collect()
    }
}

/// The events of a line that were counted.
pub(super) struct CountedLine {
    /// Number of events of each row of the metadata that occurs.
    counts: Vec<(usize, u64)>,
    pub range: Option<TimeRange>,
}

impl CountedLine {
    /// The same with the labels of the rows; `None` if there are none.
    pub fn on_track(&self, track: TrackId, labels: &[LabelId]) -> Option<UnreadSlices> {
        let of_row = |&(row, count): &(usize, u64)| Some((*labels.get(row)?, count));
        let counts: Vec<(LabelId, u64)> = self.counts.iter().filter_map(of_row).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_needs_no_more_than_the_events_of_a_line() {
        let names = vec![true; 1 << 16];
        let mut counted = CountedEvents::new(&names, 3);
        assert_eq!(counted.counts.dense.len(), 3);
        for row in [1, 60_000, 40_000, 60_000] {
            assert!(counted.count(row));
        }
        assert!(!counted.count(1 << 16), "no such row");
        let found = counted.finish().map(|line| line.counts);
        assert_eq!(found, Some(vec![(1, 1), (40_000, 1), (60_000, 2)]));
    }
}
