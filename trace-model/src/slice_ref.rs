//! One slice of a model, and the queries that find slices.

use std::ops::Range;

use crate::args::{Arg, last_of_each_name};
use crate::attrs::SliceAttr;
use crate::model::TraceColumns;
use crate::nesting::NO_PARENT;
use crate::op::{Label, LabelId, OpId};
use crate::slices::{DeviceClockColumns, NO_ARGS, SliceId};
use crate::time::{Picos, TimeRange, Timestamp};
use crate::track::{GroupId, Lane, Track, TrackId, TrackKind};

/// One slice of a model.
#[derive(Clone, Copy)]
pub struct SliceRef<'a> {
    pub(crate) model: &'a TraceColumns,
    pub(crate) id: SliceId,
}

/// With this many deeper lanes, searching all of them for children costs more than using a list of all children of the
/// trace.
const DEEP: usize = 32;

impl<'a> SliceRef<'a> {
    #[inline]
    fn row(self) -> usize {
        self.id.index()
    }

    /// Id of the slice.
    #[inline]
    pub fn id(self) -> SliceId {
        self.id
    }

    /// Start on the timeline that hosts and devices share.
    #[inline]
    pub fn start(self) -> Timestamp {
        Timestamp::from_ps(self.model.slices.starts[self.row()])
    }

    /// Length on the timeline.
    #[inline]
    pub fn dur(self) -> Picos {
        Picos::from_ps(self.model.slices.durs.get(self.row()))
    }

    /// Span on the timeline: for drawing, and for comparing devices with hosts.
    #[inline]
    pub fn range(self) -> TimeRange {
        TimeRange::at(self.start(), self.dur())
    }

    /// Span on the device clock, if recorded: for all slices of a track or for none (see
    /// [`IssueKind::DeviceClockMissing`](crate::IssueKind)). Never mix the two clocks in one computation: they can
    /// differ by hundreds of milliseconds.
    #[inline]
    pub fn device_range(self) -> Option<TimeRange> {
        let clock = self.device_clock()?;
        Some(TimeRange::at(self.start_by(clock), self.dur_by(clock)))
    }

    #[inline]
    fn device_clock(self) -> Option<&'a DeviceClockColumns> {
        self.model.slices.device_clock(self.id.0)
    }

    #[inline]
    fn start_by(self, clock: &DeviceClockColumns) -> Timestamp {
        let start = self.start().ps().saturating_add(clock.base);
        let later = clock.start_minus_base.get(clock.place(self.id));
        Timestamp::from_ps(start.saturating_add(later))
    }

    #[inline]
    fn dur_by(self, clock: &DeviceClockColumns) -> Picos {
        let difference = clock.dur_minus_timeline.get(clock.place(self.id));
        Picos::from_ps(self.dur().ps().saturating_add(difference)).clamped()
    }

    /// The most precise span: on the device clock if recorded, else on the timeline. Use it for durations, and for
    /// overlap within one track.
    #[inline]
    pub fn measured_range(self) -> TimeRange {
        self.device_range().unwrap_or_else(|| self.range())
    }

    /// Start of [`Self::measured_range`].
    #[inline]
    pub fn measured_start(self) -> Timestamp {
        self.device_clock()
            .map_or_else(|| self.start(), |clock| self.start_by(clock))
    }

    /// Length of [`Self::measured_range`].
    #[inline]
    pub fn measured_dur(self) -> Picos {
        // Analyses sum millions of durations, so this reads two columns of lengths instead of the four of the range.
        self.device_clock()
            .map_or_else(|| self.dur(), |clock| self.dur_by(clock))
    }

    /// [`Self::measured_dur`] without the time in which another slice of the track runs that began later. All self times
    /// of a track add up to the time in which anything runs on it. Spans of asynchronous tracks run side by side, and each
    /// has all of its time.
    #[inline]
    pub fn self_dur(self) -> Picos {
        (self.measured_dur() - self.children_dur()).clamped()
    }

    /// The time within [`Self::measured_range`] in which another slice of the track runs that began later: the children,
    /// and the beginning of slices that overlap without nesting. Zero on asynchronous tracks.
    #[inline]
    pub fn children_dur(self) -> Picos {
        Picos::from_ps(self.model.slices.child_durs.get(self.row()))
    }

    /// Label of the slice, as a key for grouping.
    #[inline]
    pub fn label_id(self) -> LabelId {
        LabelId(self.model.slices.labels[self.row()])
    }

    /// Label of the slice.
    #[inline]
    pub fn label(self) -> Label {
        self.model.label(self.label_id())
    }

    /// Display name.
    pub fn name(self) -> &'a str {
        self.model.str(self.label().name)
    }

    /// The op that it executes.
    #[inline]
    pub fn op(self) -> Option<OpId> {
        self.label().op
    }

    /// The parent, on the clock of [`Self::measured_range`].
    #[inline]
    pub fn parent(self) -> Option<SliceRef<'a>> {
        let parent = self.model.slices.parents[self.row()];
        (parent != NO_PARENT).then_some(SliceRef {
            model: self.model,
            id: SliceId(parent),
        })
    }

    /// Whether any slice has this one as its parent.
    pub fn has_children(self) -> bool {
        let rows = self.model.rows_with_children();
        rows[self.row() / u64::BITS as usize] >> (self.row() % u64::BITS as usize) & 1 == 1
    }

    /// Direct children, in time order within each lane.
    pub fn children(self) -> impl Iterator<Item = SliceRef<'a>> {
        let by_clock = self.model.slices.reparented_children(self.id.0);
        let is_deep = by_clock.is_none() && self.model.lanes(self.track()).len() > DEEP;
        let by_time = (by_clock.is_none() && !is_deep).then(|| self.children_by_time());
        let listed = if is_deep {
            self.model.children_listed(self.id)
        } else {
            &[]
        };
        let pairs = by_clock.unwrap_or_default().iter().map(|&(_, child)| child);
        let rows = pairs.chain(listed.iter().copied());
        by_time
            .into_iter()
            .flatten()
            .chain(rows.map(move |child| self.model.slice(SliceId(child))))
    }

    fn children_by_time(self) -> impl Iterator<Item = SliceRef<'a>> {
        // A child usually lies one lane deeper, but a spilled neighbour can push it further down.
        let lane = self.model.lane_of(self.id);
        let range = self.range();
        self.model
            .lanes(lane.track)
            .iter()
            .filter(move |deeper| deeper.depth > lane.depth)
            .flat_map(move |deeper| self.model.slices_starting_in(deeper, range))
            .filter(move |child| self.model.slices.parents[child.row()] == self.id.0)
    }

    /// The track it lies on.
    pub fn track(self) -> TrackId {
        self.model.lane_of(self.id).track
    }

    /// What is known of that track.
    pub fn track_ref(self) -> &'a Track {
        &self.model.tracks[self.track().index()]
    }

    /// Lane within its track.
    pub fn depth(self) -> u32 {
        self.model.lane_of(self.id).depth
    }

    /// A sparse fact.
    pub fn attr(self, attr: SliceAttr) -> Option<i64> {
        self.model.slices.attrs.get(&attr)?.get(self.id.0)
    }

    /// Reads its arguments from the file; empty if it has none. Of those with the same name, only the last.
    ///
    /// # Errors
    ///
    /// The file has changed or cannot be read; the text is a sentence for the user.
    pub fn args(self) -> Result<Vec<Arg>, String> {
        self.model.args_of(self)
    }
}

impl std::fmt::Debug for SliceRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:?} {} +{}",
            self.name(),
            self.start().ps(),
            self.dur().ps()
        )
    }
}

/// Queries for slices.
impl TraceColumns {
    /// One slice.
    #[inline]
    pub fn slice(&self, id: SliceId) -> SliceRef<'_> {
        SliceRef { model: self, id }
    }

    /// Every slice, track by track, lane by lane, in time order.
    pub fn all_slices(&self) -> impl Iterator<Item = SliceRef<'_>> {
        (0..self.slice_count() as u32).map(|row| self.slice(SliceId(row)))
    }

    /// Slices that carry a sparse fact, with its value, by row.
    pub fn slices_with(&self, attr: SliceAttr) -> impl Iterator<Item = (SliceRef<'_>, i64)> {
        let column = self.slices.attrs.get(&attr);
        column
            .into_iter()
            .flat_map(|c| {
                c.rows
                    .iter()
                    .enumerate()
                    .map(|(i, &row)| (row, c.values.get(i)))
            })
            .map(|(row, value)| (self.slice(SliceId(row)), value))
    }

    /// The slices of a lane that carry the fact and overlap `range`, zero-length slices at its start included.
    pub fn slices_with_in(
        &self,
        attr: SliceAttr,
        lane: &Lane,
        range: TimeRange,
    ) -> impl Iterator<Item = (SliceRef<'_>, i64)> + use<'_> {
        let wanted = self.rows_overlapping(lane, range);
        self.slices
            .attrs
            .get(&attr)
            .into_iter()
            .flat_map(move |column| {
                let from = column.rows.partition_point(|&row| row < wanted.start);
                let to = column
                    .rows
                    .partition_point(|&row| row < wanted.end)
                    .max(from);
                (from..to).map(|i| (self.slice(SliceId(column.rows[i])), column.values.get(i)))
            })
    }

    /// Slices of a lane.
    #[inline]
    pub fn slices_of(
        &self,
        lane: &Lane,
    ) -> impl DoubleEndedIterator<Item = SliceRef<'_>> + ExactSizeIterator + use<'_> {
        lane.rows.clone().map(|row| self.slice(SliceId(row)))
    }

    /// Slices of a track, lane by lane.
    #[inline]
    pub fn slices_on(&self, track: TrackId) -> impl Iterator<Item = SliceRef<'_>> {
        self.rows_on(track).map(|row| self.slice(SliceId(row)))
    }

    /// The slices on the tracks of `kind` in a group.
    pub fn slices_of_kind(
        &self,
        group: GroupId,
        kind: TrackKind,
    ) -> impl Iterator<Item = SliceRef<'_>> {
        let tracks = self.tracks_of_kind(group, kind);
        tracks.flat_map(|track| self.slices_on(track))
    }

    /// Slices of a lane that overlap `range`, zero-length slices at its start included.
    #[inline]
    pub fn slices_in(
        &self,
        lane: &Lane,
        range: TimeRange,
    ) -> impl DoubleEndedIterator<Item = SliceRef<'_>> + Clone + use<'_> {
        self.rows_overlapping(lane, range)
            .map(|row| self.slice(SliceId(row)))
    }

    /// The rows of all lanes of a track.
    pub(crate) fn rows_on(&self, track: TrackId) -> Range<u32> {
        match self.lanes(track) {
            [first, .., last] => first.rows.start..last.rows.end,
            [only] => only.rows.clone(),
            [] => 0..0,
        }
    }

    pub(crate) fn starts_in(&self, lane: &Lane) -> &[i64] {
        &self.slices.starts[self.lane_rows(lane)]
    }

    /// One bit for each row: whether it has children. Looking for the children of each slice would take a search each.
    fn rows_with_children(&self) -> &[u64] {
        self.has_children.get_or_init(|| {
            let mut bits = vec![0_u64; self.slice_count().div_ceil(u64::BITS as usize)];
            for &parent in self
                .slices
                .parents
                .iter()
                .filter(|&&parent| parent != NO_PARENT)
            {
                bits[(parent / u64::BITS) as usize] |= 1 << (parent % u64::BITS);
            }
            bits
        })
    }

    /// Rows of the children of a slice, from the list of all children of the trace.
    pub(crate) fn children_listed(&self, parent: SliceId) -> &[u32] {
        let parents = &self.slices.parents;
        let of = |row: u32| parents.get(row as usize).copied().unwrap_or(NO_PARENT);
        let rows = self.by_parent.get_or_init(|| {
            let mut rows: Vec<u32> = (0..parents.len() as u32)
                .filter(|&row| of(row) != NO_PARENT)
                .collect();
            rows.sort_by_key(|&row| of(row));
            rows
        });
        let from = rows.partition_point(|&row| of(row) < parent.0);
        let len = rows[from..].partition_point(|&row| of(row) == parent.0);
        &rows[from..from + len]
    }

    /// Slices of a lane that start in `range`; an empty range includes its start.
    pub(crate) fn slices_starting_in(
        &self,
        lane: &Lane,
        range: TimeRange,
    ) -> impl Iterator<Item = SliceRef<'_>> + use<'_> {
        let starts = self.starts_in(lane);
        let from = starts.partition_point(|&start| start < range.start.ps());
        let to = starts
            .partition_point(|&start| start < range.end.ps())
            .max(from);
        let base = lane.rows.start;
        (base + from as u32..base + to as u32).map(|row| self.slice(SliceId(row)))
    }

    pub(crate) fn rows_overlapping(&self, lane: &Lane, range: TimeRange) -> Range<u32> {
        let base = lane.rows.start as usize;
        let starts = self.starts_in(lane);
        let end = starts.partition_point(|&start| start < range.end.ps());
        // Of the slices that start before the range, only the last one can reach into it.
        let mut begin = partition_from_end(end, |row| starts[row] < range.start.ps());
        if begin > 0 {
            let row = base + begin - 1;
            if self.slices.starts[row].saturating_add(self.slices.durs.get(row)) > range.start.ps()
            {
                begin -= 1;
            }
        }
        (base + begin) as u32..(base + end) as u32
    }

    /// The last slice of a lane that starts before `time`, and the first one that starts there or later.
    pub fn slices_around(
        &self,
        lane: &Lane,
        time: Timestamp,
    ) -> (Option<SliceRef<'_>>, Option<SliceRef<'_>>) {
        let begun = self
            .starts_in(lane)
            .partition_point(|&start| start < time.ps()) as u32;
        let row = |row: u32| self.slice(SliceId(lane.rows.start + row));
        let later = (begun < lane.rows.len() as u32).then(|| row(begun));
        (begun.checked_sub(1).map(row), later)
    }

    /// The deepest slice of a track at a time.
    pub fn slice_at(&self, track: TrackId, time: Timestamp) -> Option<SliceRef<'_>> {
        self.lanes(track).iter().rev().find_map(|lane| {
            let before = self
                .starts_in(lane)
                .partition_point(|&start| start <= time.ps())
                .checked_sub(1)?;
            let slice = self.slice(SliceId(lane.rows.start + before as u32));
            (slice.range().contains(time) || slice.start() == time).then_some(slice)
        })
    }

    pub(crate) fn args_of(&self, slice: SliceRef<'_>) -> Result<Vec<Arg>, String> {
        let (args, row) = (&self.slices.args, slice.id.index());
        let handle = if row < args.len() {
            args.get(row)
        } else {
            NO_ARGS
        };
        match self.track_args[slice.track().index()] {
            Some(source) if handle != NO_ARGS => self.arg_sources[usize::from(source)]
                .args(handle as u64)
                .map(last_of_each_name),
            _ => Ok(Vec::new()),
        }
    }
}

/// [`partition_point`](slice::partition_point) of rows: the first one that is not before what is looked for.
#[inline]
pub fn partition_rows(rows: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (rows.start, rows.end);
    while low < high {
        let middle = low.midpoint(high);
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// [`partition_rows`] of the rows below `end`, searched from there in steps that double: for what is looked for near the
/// end, as the start of a range that is short beside its lane.
#[inline]
pub fn partition_from_end(end: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut high, mut step) = (end, 1);
    while step <= high && !is_before(high - step) {
        high -= step;
        step *= 2;
    }
    partition_rows(high.saturating_sub(step)..high, is_before)
}

#[cfg(test)]
mod tests {
    use super::partition_from_end;

    #[test]
    fn a_search_from_the_end_finds_what_a_binary_search_finds() {
        for len in 0..20 {
            let starts: Vec<i64> = (0..len).map(|at| at / 2 * 3).collect();
            for from in -1..32 {
                assert_eq!(
                    partition_from_end(starts.len(), |row| starts[row] < from),
                    starts.partition_point(|&start| start < from),
                    "{starts:?} {from}"
                );
            }
        }
    }
}
