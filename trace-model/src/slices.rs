//! The slice table: one row a slice, sorted by (track, depth, start).

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::attrs::{SliceAttr, SparseColumn};
use crate::compact::CompactColumn;
use crate::model::Columns;
use crate::nesting::NO_PARENT;
use crate::op::{Label, LabelId, OpId};
use crate::time::{Picos, TimeRange, Timestamp};
use crate::track::TrackId;

/// A slice of a model, by its row; valid only in that model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct SliceId(pub(crate) u32);

impl SliceId {
    /// Row number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
    /// The slice in row `row`, for ids that were stored as numbers.
    pub fn from_index(row: usize) -> Self {
        Self(row as u32)
    }
}

/// Handle that means "no arguments".
pub(crate) const NO_ARGS: i64 = -1;

/// Rows per entry of [`SliceTable::first_clocks`]; a lookup scans fewer tracks than this.
const CLOCK_BLOCK: usize = 256;

/// Columns of all slices. Real captures need at most 32 bytes per row without `args`.
#[derive(Debug, Default)]
pub(crate) struct SliceTable {
    pub(crate) starts: Vec<i64>,
    pub(crate) durs: CompactColumn,
    /// Measured time of the direct children: unlike self time it is zero for most slices, and so takes no space.
    pub(crate) child_durs: CompactColumn,
    pub(crate) labels: Vec<u32>,
    pub(crate) parents: Vec<u32>,
    /// Empty if no slice has arguments.
    pub(crate) args: CompactColumn,
    /// Sorted by rows.
    pub(crate) device_clocks: Vec<DeviceClockColumns>,
    /// For each block of [`CLOCK_BLOCK`] rows, the first of `device_clocks` that ends after the start of the block.
    pub(crate) first_clocks: Vec<u32>,
    pub(crate) attrs: BTreeMap<SliceAttr, SparseColumn>,
    /// Tracks whose parents do not follow the timeline, sorted by rows; on other tracks children are found by time.
    pub(crate) reparented: Vec<Reparented>,
}

/// Children of the rows of one track, if they cannot be found by time.
#[derive(Debug)]
pub(crate) struct Reparented {
    pub(crate) rows: Range<u32>,
    /// Parent and child, sorted.
    pub(crate) pairs: Vec<(u32, u32)>,
}

/// The device clock for the rows of one track, as differences from the timeline: start and length usually differ by a
/// constant, apart from rounding.
#[derive(Debug)]
pub(crate) struct DeviceClockColumns {
    pub(crate) rows: Range<u32>,
    pub(crate) base: i64,
    pub(crate) start_minus_base: CompactColumn,
    pub(crate) dur_minus_timeline: CompactColumn,
}

impl SliceTable {
    fn device_clock(&self, row: u32) -> Option<&DeviceClockColumns> {
        let first = *self.first_clocks.get(row as usize / CLOCK_BLOCK)? as usize;
        let next = self.device_clocks.get(first..)?.iter().find(|clock| row < clock.rows.end);
        next.filter(|clock| clock.rows.start <= row)
    }

    /// Children of `row` if they cannot be found by time, because the parents of its track follow the device clock and
    /// that disagrees with the timeline.
    fn reparented_children(&self, row: u32) -> Option<&[(u32, u32)]> {
        let at = self.reparented.partition_point(|track| track.rows.end <= row);
        let Reparented { pairs, .. } = self.reparented.get(at).filter(|track| track.rows.contains(&row))?;
        let from = pairs.partition_point(|&(parent, _)| parent < row);
        let to = pairs.partition_point(|&(parent, _)| parent <= row);
        Some(&pairs[from..to])
    }

    pub(crate) fn freeze(&mut self) {
        self.starts.shrink_to_fit();
        self.durs.freeze();
        self.child_durs.freeze();
        self.labels.shrink_to_fit();
        self.parents.shrink_to_fit();
        self.args.freeze();
        self.attrs.values_mut().for_each(SparseColumn::freeze);
        if !self.device_clocks.is_empty() {
            let first = |row| self.device_clocks.partition_point(|clock| clock.rows.end as usize <= row) as u32;
            self.first_clocks = (0..self.starts.len()).step_by(CLOCK_BLOCK).map(first).collect();
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.starts.capacity() * 8
            + self.durs.heap_bytes()
            + self.child_durs.heap_bytes()
            + (self.labels.capacity() + self.parents.capacity()) * 4
            + self
                .device_clocks
                .iter()
                .map(|c| c.start_minus_base.heap_bytes() + c.dur_minus_timeline.heap_bytes())
                .sum::<usize>()
            + self.first_clocks.capacity() * 4
            + self.attrs.values().map(SparseColumn::heap_bytes).sum::<usize>()
            + self.reparented.iter().map(|track| track.pairs.capacity() * size_of::<(u32, u32)>()).sum::<usize>()
    }
}

/// One slice of a model.
#[derive(Clone, Copy)]
pub struct SliceRef<'a> {
    pub(crate) model: &'a Columns,
    pub(crate) id: SliceId,
}

/// With this many deeper lanes, searching all of them for children costs more than a list of all children of the trace.
const DEEP: usize = 32;

impl<'a> SliceRef<'a> {
    fn row(self) -> usize {
        self.id.index()
    }

    /// Id of the slice.
    pub fn id(self) -> SliceId {
        self.id
    }

    /// Start on the timeline that hosts and devices share.
    pub fn start(self) -> Timestamp {
        Timestamp::from_ps(self.model.slices.starts[self.row()])
    }

    /// Length on the timeline.
    pub fn dur(self) -> Picos {
        Picos::from_ps(self.model.slices.durs.get(self.row()))
    }

    /// Span on the timeline: for drawing, and for comparing devices with hosts.
    pub fn range(self) -> TimeRange {
        TimeRange::at(self.start(), self.dur())
    }

    /// Span on the device clock, if recorded: for all slices of a track or for none (see
    /// [`IssueKind::DeviceClockMissing`](crate::IssueKind)). Never mix the two clocks in one computation: they can
    /// differ by hundreds of milliseconds.
    pub fn device_range(self) -> Option<TimeRange> {
        let clock = self.model.slices.device_clock(self.id.0)?;
        let i = (self.id.0 - clock.rows.start) as usize;
        let start = self.start().ps().saturating_add(clock.base).saturating_add(clock.start_minus_base.get(i));
        let dur = self.dur().ps().saturating_add(clock.dur_minus_timeline.get(i));
        Some(TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(dur)))
    }

    /// The most precise span: on the device clock if recorded, else on the timeline. Use it for durations, and for
    /// overlap within one track.
    pub fn measured_range(self) -> TimeRange {
        self.device_range().unwrap_or_else(|| self.range())
    }

    /// Length of [`Self::measured_range`].
    pub fn measured_dur(self) -> Picos {
        self.measured_range().dur()
    }

    /// [`Self::measured_dur`] less that of the direct children; never negative.
    pub fn self_dur(self) -> Picos {
        (self.measured_dur() - self.children_dur()).clamped()
    }

    /// [`Self::measured_dur`] of the direct children together.
    pub fn children_dur(self) -> Picos {
        Picos::from_ps(self.model.slices.child_durs.get(self.row()))
    }

    /// Label of the slice, as a key for grouping.
    pub fn label_id(self) -> LabelId {
        LabelId(self.model.slices.labels[self.row()])
    }

    /// Label of the slice.
    pub fn label(self) -> Label {
        self.model.label(self.label_id())
    }

    /// Display name.
    pub fn name(self) -> &'a str {
        self.model.str(self.label().name)
    }

    /// The op that it executes.
    pub fn op(self) -> Option<OpId> {
        self.label().op
    }

    /// The parent, on the clock of [`Self::measured_range`].
    pub fn parent(self) -> Option<SliceRef<'a>> {
        let parent = self.model.slices.parents[self.row()];
        (parent != NO_PARENT).then_some(SliceRef { model: self.model, id: SliceId(parent) })
    }

    /// Whether any slice has this one as its parent.
    pub fn has_children(self) -> bool {
        self.children().next().is_some()
    }

    /// Direct children, in time order within each lane.
    pub fn children(self) -> impl Iterator<Item = SliceRef<'a>> {
        let by_clock = self.model.slices.reparented_children(self.id.0);
        let is_deep = by_clock.is_none() && self.model.lanes(self.track()).len() > DEEP;
        let by_time = (by_clock.is_none() && !is_deep).then(|| self.children_by_time());
        let listed = if is_deep { self.model.children_listed(self.id) } else { &[] };
        let pairs = by_clock.unwrap_or_default().iter().map(|&(_, child)| child);
        let rows = pairs.chain(listed.iter().copied());
        by_time.into_iter().flatten().chain(rows.map(move |child| self.model.slice(SliceId(child))))
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

    /// Lane within its track.
    pub fn depth(self) -> u32 {
        self.model.lane_of(self.id).depth
    }

    /// A sparse fact.
    pub fn attr(self, attr: SliceAttr) -> Option<i64> {
        self.model.slices.attrs.get(&attr)?.get(self.id.0)
    }

    /// A sparse fact that is a floating point number.
    pub fn attr_f64(self, attr: SliceAttr) -> Option<f64> {
        self.attr(attr).map(|bits| f64::from_bits(bits as u64))
    }

    /// Reads its arguments from the file; empty if it has none.
    ///
    /// # Errors
    ///
    /// The file has changed or cannot be read; the text is a sentence for the user.
    pub fn args(self) -> Result<Vec<crate::Arg>, String> {
        self.model.args_of(self)
    }
}

impl std::fmt::Debug for SliceRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {} +{}", self.name(), self.start().ps(), self.dur().ps())
    }
}
