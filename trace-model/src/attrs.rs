//! Facts that only few slices carry, stored as sparse columns.

use serde::{Deserialize, Serialize};

use crate::compact::CompactColumn;

/// A per-execution fact that analyses read often, so that they need not read the arguments of every slice. All other
/// arguments stay in the file (see [`crate::ArgSource`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SliceAttr {
    /// Runtime id of a program execution.
    RunId,
    /// Step that the profiler assigned.
    GroupId,
    /// Step number that the program passed.
    StepNum,
    /// The slice marks a step (`_r`).
    StepRoot,
    /// Id of one execution of a collective; the same on all participants.
    CollectiveInstance,
    /// Operations of this execution at the bf16 rate, if they vary between executions (custom calls).
    Flops,
    /// Operations of the algorithm in this execution, if they vary between executions.
    ModelFlops,
    /// Bytes accessed by this execution, if they vary between executions.
    Bytes,
    /// Picoseconds stalled on DMA.
    DmaStallPs,
    /// Clock scaling of this execution, as `f64` bits.
    TimeScaleBits,
    /// Occurrences of an aggregated event.
    Occurrences,
    /// Events that the hardware dropped here.
    DroppedTraces,
    /// Device that a host event concerns.
    DeviceOrdinal,
    /// Bytes that a transfer moves.
    TransferBytes,
    /// A begin event without an end event: the slice extends to the end of its track.
    Unterminated,
    /// A point in time, not a span.
    Instant,
    /// `StringId` index of the `-done` op that ends an asynchronous span.
    DoneOp,
    /// Derived by an importer from start/done pairs, not recorded.
    Reconstructed,
    /// Queue of a program execution.
    QueueId,
    /// `SparseCore` that a `TensorCore` op hands work to.
    OffloadCore,
    /// Bytes of a memory reserved for programs (its stack) after this allocation or release; absent if there are none.
    MemoryReserved,
    /// Bytes of a memory allocated to buffers (its heap) after this allocation or release.
    MemoryAllocated,
    /// Bytes of a memory that are free after this allocation or release.
    MemoryAvailable,
    /// Fragmentation: share of the free bytes that lies outside the largest free block, as `f64` bits.
    FragmentationBits,
    /// Bytes requested by an allocation.
    RequestedBytes,
    /// Bytes granted to an allocation.
    AllocationBytes,
    /// Address of the allocated or released block.
    Address,
    /// `StringId` index of the name of the allocator.
    Allocator,
    /// Number that an offloading op shares with the program that it starts.
    OffloadStart,
    /// Number of earlier offloads by this op.
    OffloadExecution,
    /// Number of the hardware counter that was read.
    CounterId,
    /// Value of the hardware counter, as `f64` bits.
    CounterValueBits,
}

/// One sparse column: sorted rows and their values.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SparseColumn {
    #[serde(with = "crate::plain")]
    pub rows: Vec<u32>,
    pub values: CompactColumn,
    /// For each block of [`BLOCK`] rows, the first entry of that block or a later one, so that a lookup need not search
    /// all entries. Empty if there are few.
    #[serde(skip)]
    firsts: Vec<u32>,
}

/// Rows per entry of [`SparseColumn::firsts`].
const BLOCK: u32 = 256;

/// Fewer entries are searched as they are.
const FEW: usize = 64;

impl SparseColumn {
    pub fn get(&self, row: u32) -> Option<i64> {
        let block = (row / BLOCK) as usize;
        let entries = match self.firsts.get(block..block + 2) {
            Some(&[from, to]) => from as usize..to as usize,
            _ if self.firsts.is_empty() => 0..self.rows.len(),
            _ => return None,
        };
        let from = entries.start;
        let index = self.rows.get(entries)?.binary_search(&row).ok()?;
        Some(self.values.get(from + index))
    }

    pub fn freeze(&mut self) {
        self.rows.shrink_to_fit();
        self.values.freeze();
        self.index();
    }

    /// Fills [`Self::firsts`].
    pub fn index(&mut self) {
        let last = self.rows.last().filter(|_| self.rows.len() >= FEW);
        let blocks = last.map_or(0, |last| last / BLOCK + 2);
        let first = |block| self.rows.partition_point(|row| row / BLOCK < block) as u32;
        self.firsts = (0..blocks).map(first).collect();
    }

    pub fn heap_bytes(&self) -> usize {
        (self.rows.capacity() + self.firsts.capacity()) * 4 + self.values.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_of_blocks_finds_what_a_search_of_all_entries_finds() {
        for step in [1, 3, 100, 1000] {
            let rows: Vec<u32> = (7..).step_by(step).take(300).collect();
            let mut column = SparseColumn {
                rows: rows.clone(),
                ..SparseColumn::default()
            };
            for &row in &rows {
                column.values.push(i64::from(row));
            }
            column.freeze();
            assert!(!column.firsts.is_empty());
            for row in (0..300 * step as u32 + 600).chain([u32::MAX]) {
                let expected = rows.binary_search(&row).is_ok().then_some(i64::from(row));
                assert_eq!(column.get(row), expected, "row {row}, every {step}");
            }
        }
    }
}
