//! Facts that few slices carry, as sparse columns.

use crate::compact::CompactColumn;

/// A per-execution fact that an analysis needs without reading the arguments of
/// every slice. Everything else stays in the file (see [`crate::ArgSource`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SliceAttr {
    /// Runtime id of a program execution.
    RunId,
    /// Step that the profiler assigned.
    GroupId,
    /// Step number that the program passed.
    StepNum,
    /// The slice marks a step (`_r`).
    StepRoot,
    /// Instance of a collective, equal on all its participants.
    CollectiveInstance,
    /// Operations of this execution at the bf16 rate, where they vary (custom calls).
    Flops,
    /// Operations of the algorithm of this execution, where they vary.
    ModelFlops,
    /// Bytes of this execution, where they vary.
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
    /// Begin without end: the slice runs to the end of its track.
    Unterminated,
    /// A point in time, not a span.
    Instant,
    /// `StringId` index of the `-done` op that ends an asynchronous span.
    DoneOp,
    /// Made by an importer from start/done pairs, not recorded.
    Reconstructed,
    /// Queue of a program execution.
    QueueId,
    /// `SparseCore` that a `TensorCore` op hands work to.
    OffloadCore,
    /// Bytes of a memory set aside for programs (its stack) after this allocation or release; absent if there are none.
    MemoryReserved,
    /// Bytes of a memory in buffers (its heap) after this allocation or release.
    MemoryAllocated,
    /// Bytes of a memory that are free after this allocation or release.
    MemoryAvailable,
    /// Share of the free bytes outside the largest free block, as `f64` bits.
    FragmentationBits,
    /// Bytes that an allocation asked for.
    RequestedBytes,
    /// Bytes that an allocation got.
    AllocationBytes,
    /// Address that was allocated or released.
    Address,
    /// `StringId` index of the name of the allocator.
    Allocator,
    /// Number that an op which hands work over shares with the program that does it.
    OffloadStart,
    /// How many times this op handed work over before.
    OffloadExecution,
    /// Which hardware counter was read, by its number.
    CounterId,
    /// What it read, as `f64` bits.
    CounterValueBits,
}

/// One sparse column: rows sorted, values beside.
#[derive(Debug, Default)]
pub(crate) struct SparseColumn {
    pub(crate) rows: Vec<u32>,
    pub(crate) values: CompactColumn,
}

impl SparseColumn {
    pub(crate) fn get(&self, row: u32) -> Option<i64> {
        self.rows.binary_search(&row).ok().map(|i| self.values.get(i))
    }

    pub(crate) fn freeze(&mut self) {
        self.rows.shrink_to_fit();
        self.values.freeze();
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.rows.capacity() * 4 + self.values.heap_bytes()
    }
}
