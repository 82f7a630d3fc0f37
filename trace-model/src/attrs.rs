//! Facts that only few slices carry, stored as sparse columns.

use serde::{Deserialize, Serialize};

use crate::compact::CompactColumn;

/// A per-execution fact that analyses read often, so that they need not read the arguments of every slice. All other
/// arguments stay in the file (see [`crate::ArgSource`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
