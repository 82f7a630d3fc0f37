//! The slice table: one row per slice, sorted by (track, depth, start).

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::attrs::{SliceAttr, SparseColumn};
use crate::compact::CompactColumn;

row_ids! {
    /// A slice of a model, by its row; valid only in that model.
    SliceId
}

impl SliceId {
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
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SliceTable {
    #[serde(with = "crate::plain")]
    pub starts: Vec<i64>,
    pub durs: CompactColumn,
    /// Measured time of the direct children. Unlike self time, it is zero for most slices and so takes no space.
    pub child_durs: CompactColumn,
    #[serde(with = "crate::plain")]
    pub labels: Vec<u32>,
    #[serde(with = "crate::plain")]
    pub parents: Vec<u32>,
    /// Empty if no slice has arguments.
    pub args: CompactColumn,
    /// Device clocks of tracks, sorted by rows.
    pub device_clocks: Vec<DeviceClockColumns>,
    /// For each block of [`CLOCK_BLOCK`] rows, the first of `device_clocks` that ends after the start of the block.
    #[serde(skip)]
    pub first_clocks: Vec<u32>,
    pub attrs: BTreeMap<SliceAttr, SparseColumn>,
    /// Tracks whose parents do not follow the timeline, sorted by rows; on other tracks children are found by time.
    pub reparented: Vec<Reparented>,
}

/// Children of the rows of one track, if they cannot be found by time.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Reparented {
    pub rows: Range<u32>,
    /// Parent and child, sorted.
    pub pairs: Vec<(u32, u32)>,
}

/// The device clock for the rows of one track, as differences from the timeline: start and length usually differ by a
/// constant, apart from rounding.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DeviceClockColumns {
    pub rows: Range<u32>,
    pub base: i64,
    pub start_minus_base: CompactColumn,
    pub dur_minus_timeline: CompactColumn,
}

impl DeviceClockColumns {
    /// Place of a slice in the columns.
    #[inline]
    pub fn place(&self, slice: SliceId) -> usize {
        (slice.0 - self.rows.start) as usize
    }
}

impl SliceTable {
    #[inline]
    pub fn device_clock(&self, row: u32) -> Option<&DeviceClockColumns> {
        let first = *self.first_clocks.get(row as usize / CLOCK_BLOCK)? as usize;
        let next = self
            .device_clocks
            .get(first..)?
            .iter()
            .find(|clock| row < clock.rows.end);
        next.filter(|clock| clock.rows.start <= row)
    }

    /// Children of `row` if they cannot be found by time, because the parents of its track follow the device clock and
    /// that disagrees with the timeline.
    pub fn reparented_children(&self, row: u32) -> Option<&[(u32, u32)]> {
        let index = self
            .reparented
            .partition_point(|track| track.rows.end <= row);
        let Reparented { pairs, .. } = self
            .reparented
            .get(index)
            .filter(|track| track.rows.contains(&row))?;
        let from = pairs.partition_point(|&(parent, _)| parent < row);
        let to = pairs.partition_point(|&(parent, _)| parent <= row);
        Some(&pairs[from..to])
    }

    pub fn freeze(&mut self) {
        self.starts.shrink_to_fit();
        self.durs.freeze();
        self.child_durs.freeze();
        self.labels.shrink_to_fit();
        self.parents.shrink_to_fit();
        self.args.freeze();
        self.attrs.values_mut().for_each(SparseColumn::freeze);
        self.index_clocks();
    }

    /// Makes what a snapshot does not save.
    pub fn index(&mut self) {
        self.attrs.values_mut().for_each(SparseColumn::index);
        self.index_clocks();
    }

    /// Fills [`Self::first_clocks`].
    fn index_clocks(&mut self) {
        if !self.device_clocks.is_empty() {
            let first = |row| {
                self.device_clocks
                    .partition_point(|clock| clock.rows.end as usize <= row) as u32
            };
            self.first_clocks = (0..self.starts.len())
                .step_by(CLOCK_BLOCK)
                .map(first)
                .collect();
        }
    }

    pub fn heap_bytes(&self) -> usize {
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
            + self
                .attrs
                .values()
                .map(SparseColumn::heap_bytes)
                .sum::<usize>()
            + self
                .reparented
                .iter()
                .map(|track| track.pairs.capacity() * size_of::<(u32, u32)>())
                .sum::<usize>()
    }
}
