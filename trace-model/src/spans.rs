//! The spans of many slices, row after row.
//!
//! A [`SliceRef`] looks up the device clock of its track and a block of each column for every single value. Here the
//! clock is looked up once, and a block of rows is unpacked at a time.

use std::cmp::Reverse;
use std::ops::Range;

use crate::model::TraceColumns;
use crate::op::LabelId;
use crate::slice_ref::SliceRef;
use crate::slices::{DeviceClockColumns, SliceId};
use crate::time::{Picos, TimeRange, Timestamp};
use crate::track::{Lane, TrackId};

/// A slice with its spans.
#[derive(Clone, Copy, Debug)]
pub struct SliceSpans<'a> {
    /// The slice.
    pub slice: SliceRef<'a>,
    /// [`SliceRef::range`].
    pub shown: TimeRange,
    /// [`SliceRef::measured_range`].
    pub measured: TimeRange,
    /// [`SliceRef::children_dur`].
    pub children: Picos,
}

/// Rows that are unpacked at once.
const BLOCK: usize = 128;

/// See [`TraceColumns::spans_on`].
pub struct SpansInOrder<'a> {
    model: &'a TraceColumns,
    clock: Option<&'a DeviceClockColumns>,
    /// The next row, and the end.
    rows: Range<u32>,
    /// Spans of the current block, of which the first `at` were returned.
    shown: [TimeRange; BLOCK],
    measured: [TimeRange; BLOCK],
    children: [i64; BLOCK],
    at: usize,
    len: usize,
}

impl<'a> SpansInOrder<'a> {
    /// The rows of one track.
    fn new(model: &'a TraceColumns, rows: Range<u32>) -> Self {
        let clock = if rows.is_empty() {
            None
        } else {
            model.slices.device_clock(rows.start)
        };
        let empty = [TimeRange::default(); BLOCK];
        Self {
            model,
            clock,
            rows,
            shown: empty,
            measured: empty,
            children: [0; BLOCK],
            at: 0,
            len: 0,
        }
    }

    /// Unpacks the next block; `false` at the end.
    fn fill(&mut self) -> bool {
        // As far as the packed block of the columns, so that the next one begins at the start of a packed block.
        let until_block = BLOCK - self.rows.start as usize % BLOCK;
        let (from, len) = (self.rows.start as usize, self.rows.len().min(until_block));
        (self.at, self.len) = (0, len);
        if len == 0 {
            return false;
        }
        let slices = &self.model.slices;
        let mut durs = [0; BLOCK];
        slices.durs.read(from, &mut durs[..len]);
        slices.child_durs.read(from, &mut self.children[..len]);
        let starts = &slices.starts[from..from + len];
        for ((shown, &start), &dur) in self.shown.iter_mut().zip(starts).zip(&durs) {
            *shown = TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(dur));
        }
        let Some(clock) = self.clock else {
            self.measured[..len].copy_from_slice(&self.shown[..len]);
            return true;
        };
        let (mut later, mut longer) = ([0; BLOCK], [0; BLOCK]);
        let of_clock = from - clock.rows.start as usize;
        clock.start_minus_base.read(of_clock, &mut later[..len]);
        clock.dur_minus_timeline.read(of_clock, &mut longer[..len]);
        let values = starts.iter().zip(&durs).zip(later.iter().zip(&longer));
        for (measured, ((&start, &dur), (&later, &longer))) in self.measured.iter_mut().zip(values)
        {
            let start = start.saturating_add(clock.base).saturating_add(later);
            *measured = TimeRange::at(
                Timestamp::from_ps(start),
                Picos::from_ps(dur.saturating_add(longer)),
            );
        }
        true
    }
}

/// The order of slices in [`SpansByTime`].
type TimeOrder = (Timestamp, Reverse<Timestamp>);

impl SpansInOrder<'_> {
    /// When the next slice runs; `None` at the end.
    #[inline]
    fn next_time(&mut self) -> Option<TimeOrder> {
        if self.at == self.len && !self.fill() {
            return None;
        }
        let next = self.measured[self.at];
        Some((next.start, Reverse(next.end)))
    }
}

impl<'a> Iterator for SpansInOrder<'a> {
    type Item = SliceSpans<'a>;

    #[inline]
    fn next(&mut self) -> Option<SliceSpans<'a>> {
        if self.at == self.len && !self.fill() {
            return None;
        }
        let slice = SliceRef {
            model: self.model,
            id: SliceId(self.rows.start),
        };
        let spans = SliceSpans {
            slice,
            shown: self.shown[self.at],
            measured: self.measured[self.at],
            children: Picos::from_ps(self.children[self.at]),
        };
        self.rows.start += 1;
        self.at += 1;
        Some(spans)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.rows.len(), Some(self.rows.len()))
    }
}

impl ExactSizeIterator for SpansInOrder<'_> {}

/// Lanes that are read side by side.
const MOST_LANES: usize = 16;

/// See [`TraceColumns::spans_by_time`].
pub struct SpansByTime<'a> {
    model: &'a TraceColumns,
    lanes: Vec<SpansInOrder<'a>>,
    /// The rows of lanes that follow these, one lane after the other.
    later: std::vec::IntoIter<Range<u32>>,
    /// The lane that is read until the next slice of another one comes first.
    lane: usize,
    /// That slice, and the number of its lane.
    until: Option<(TimeOrder, usize)>,
}

impl SpansByTime<'_> {
    /// Chooses the lane whose slice comes first; `None` at the end of all.
    #[cold]
    fn choose(&mut self) -> Option<()> {
        let (mut first, mut second) = (None, None);
        for (number, lane) in self.lanes.iter_mut().enumerate() {
            let Some(time) = lane.next_time() else {
                continue;
            };
            let next = Some((time, number));
            if first.is_none() || next < first {
                (first, second) = (next, first);
            } else if second.is_none() || next < second {
                second = next;
            }
        }
        if let Some((_, lane)) = first {
            (self.lane, self.until) = (lane, second);
            return Some(());
        }
        let rows = self.later.find(|rows| !rows.is_empty())?;
        self.lanes = vec![SpansInOrder::new(self.model, rows)];
        (self.lane, self.until) = (0, None);
        Some(())
    }
}

impl<'a> Iterator for SpansByTime<'a> {
    type Item = SliceSpans<'a>;

    #[inline]
    fn next(&mut self) -> Option<SliceSpans<'a>> {
        let lane = self.lane;
        let is_next = |time| self.until.is_none_or(|until| (time, lane) < until);
        if !self.lanes.get_mut(lane)?.next_time().is_some_and(is_next) {
            self.choose()?;
        }
        self.lanes.get_mut(self.lane)?.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let here: usize = self.lanes.iter().map(SpansInOrder::len).sum();
        let later = self.later.as_slice().iter();
        let left = here + later.map(Range::len).sum::<usize>();
        (left, Some(left))
    }
}

/// Queries for the labels and spans of many slices.
impl TraceColumns {
    /// Labels of the slices in some rows.
    pub fn labels_of(
        &self,
        rows: Range<usize>,
    ) -> impl ExactSizeIterator<Item = LabelId> + use<'_> {
        self.slices.labels[rows].iter().map(|&label| LabelId(label))
    }

    /// Slices of a track with their spans, lane by lane.
    pub fn spans_on(&self, track: TrackId) -> SpansInOrder<'_> {
        SpansInOrder::new(self, self.rows_on(track))
    }

    /// Slices of a lane that overlap `range` on the timeline, zero-length slices at its start included, with their
    /// spans.
    pub fn spans_in(&self, lane: &Lane, range: TimeRange) -> SpansInOrder<'_> {
        SpansInOrder::new(self, self.rows_overlapping(lane, range))
    }

    /// What [`Self::spans_in`] finds in several lanes, in order of the measured start, of those that start at once the
    /// longest first: a union or the self time of ops needs no list of them. A lane that is out of order itself, because
    /// the two clocks disagree, stays so. Lanes from the seventeenth on, where that many ops overlap, follow one by one.
    pub fn spans_by_time<'a>(
        &'a self,
        lanes: impl IntoIterator<Item = &'a Lane>,
        range: TimeRange,
    ) -> SpansByTime<'a> {
        let rows = |lane| self.rows_overlapping(lane, range);
        let mut rows = lanes.into_iter().map(rows).collect::<Vec<_>>().into_iter();
        let lanes = rows.by_ref().take(MOST_LANES);
        SpansByTime {
            model: self,
            lanes: lanes.map(|rows| SpansInOrder::new(self, rows)).collect(),
            later: rows,
            lane: 0,
            // Nothing comes before it, so that the first slice is looked for.
            until: Some(((Timestamp::MIN, Reverse(Timestamp::MAX)), 0)),
        }
    }
}
