//! The memory plan of a program.

use trace_model::wire::WireValue;

use super::wire::{HloDamage, ProgramMessage, number};

const MESSAGE: &str = "BufferAssignmentProto";

/// The compiler's plan of where the values of a program are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferAssignment {
    /// Values, and parts of tuple values, by id.
    pub buffers: Vec<LogicalBuffer>,
    /// Pieces of memory.
    pub allocations: Vec<Allocation>,
    /// Events of the heaps; replaying them gives the curve of live bytes.
    pub heap_traces: Vec<HeapTrace>,
    /// Other names of a buffer: buffer, the compiler's id of the instruction, position in its tuple.
    pub aliases: Vec<(u64, u64, Vec<u64>)>,
}

/// A value that needs memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogicalBuffer {
    /// Identity in this assignment.
    pub id: u64,
    /// Bytes, with padding.
    pub size: u64,
    /// The compiler's id of the instruction that makes it
    /// (see [`HloModule::instruction_by_compiler_id`](super::HloModule::instruction_by_compiler_id)).
    pub instruction_id: u64,
    /// Name of that instruction, from compilers that still write it.
    pub instruction_name: String,
    /// Position in the tuple that the instruction produces.
    pub shape_index: Vec<u64>,
    /// Memory space: 0 is HBM, 1 VMEM, others special.
    pub color: u64,
}

/// A piece of memory that buffers share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts of the compiler"
)]
pub struct Allocation {
    /// Identity in this assignment.
    pub index: u64,
    /// Bytes.
    pub size: u64,
    /// Memory space: 0 is HBM, 1 VMEM, others special.
    pub color: u64,
    /// Holds a parameter of the program, with this number.
    pub parameter: Option<u64>,
    /// Position in the tuple of that parameter.
    pub parameter_index: Vec<u64>,
    /// May hold a result of the program.
    pub maybe_live_out: bool,
    /// Whether it holds only the addresses of the parts of a tuple.
    pub is_tuple: bool,
    /// Holds a constant.
    pub is_constant: bool,
    /// Used inside reductions and the like; not in main memory.
    pub is_thread_local: bool,
    /// Buffers stored in it.
    pub slots: Vec<BufferSlot>,
}

/// The position of a buffer in its allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferSlot {
    /// The buffer's id.
    pub buffer: u64,
    /// Bytes from the beginning of the allocation.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// The events of one heap (an allocation that many buffers share over time).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapTrace {
    /// In order of execution.
    pub events: Vec<HeapEvent>,
    /// Covers all computations.
    pub is_whole_module: bool,
    /// The allocation.
    pub allocation: u64,
}

/// One change of a heap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapEvent {
    /// What happens.
    pub kind: HeapEventKind,
    /// To which buffer.
    pub buffer: u64,
    /// Instruction during which it happens.
    pub instruction: String,
    /// The buffer whose memory it shares, of [`HeapEventKind::ShareWith`].
    pub shares_with: u64,
}

/// An event of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeapEventKind {
    /// It gets memory.
    #[default]
    Alloc,
    /// Its memory is released.
    Free,
    /// It shares the memory of another one, which lives as long as both.
    ShareWith,
}

impl BufferAssignment {
    pub(super) fn read(bytes: ProgramMessage<'_>, message: &WireValue) -> Result<Self, HloDamage> {
        let mut out: Self = bytes.read(message, MESSAGE, |out: &mut Self, field, value| {
            match field {
                1 => out.buffers.push(LogicalBuffer::read(bytes, value)?),
                2 => out.aliases.push(alias(bytes, value)?),
                3 => out.allocations.push(Allocation::read(bytes, value)?),
                4 => out.heap_traces.push(HeapTrace::read(bytes, value)?),
                _ => {}
            }
            Ok(())
        })?;
        out.buffers.sort_by_key(|buffer| buffer.id);
        Ok(out)
    }

    /// The buffer with an id.
    pub fn buffer(&self, id: u64) -> Option<&LogicalBuffer> {
        self.buffers.get(
            self.buffers
                .binary_search_by_key(&id, |buffer| buffer.id)
                .ok()?,
        )
    }
}

fn alias(
    bytes: ProgramMessage<'_>,
    message: &WireValue,
) -> Result<(u64, u64, Vec<u64>), HloDamage> {
    let mut out = (0, LogicalBuffer::default());
    bytes.walk(message, MESSAGE, |field, value| {
        match field {
            1 => out.0 = number(value),
            2 => out.1.read_location(bytes, value)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok((out.0, out.1.instruction_id, out.1.shape_index))
}

impl LogicalBuffer {
    fn read(bytes: ProgramMessage<'_>, message: &WireValue) -> Result<Self, HloDamage> {
        bytes.read(
            message,
            "LogicalBufferProto",
            |out: &mut Self, field, value| {
                match field {
                    1 => out.id = number(value),
                    2 => out.size = number(value),
                    3 => out.read_location(bytes, value)?,
                    4 => out.color = number(value),
                    _ => {}
                }
                Ok(())
            },
        )
    }

    fn read_location(
        &mut self,
        bytes: ProgramMessage<'_>,
        message: &WireValue,
    ) -> Result<(), HloDamage> {
        const LOCATION: &str = "LogicalBufferProto.Location";
        bytes.walk(message, LOCATION, |field, value| {
            match field {
                2 => self.instruction_name = bytes.text(value),
                3 => bytes.numbers(value, LOCATION, &mut self.shape_index)?,
                4 => self.instruction_id = number(value),
                _ => {}
            }
            Ok(())
        })
    }
}

impl Allocation {
    fn read(bytes: ProgramMessage<'_>, message: &WireValue) -> Result<Self, HloDamage> {
        const ALLOCATION: &str = "BufferAllocationProto";
        let (mut out, mut is_parameter) = (Self::default(), false);
        bytes.walk(message, ALLOCATION, |field, value| {
            match field {
                1 => out.index = number(value),
                2 => out.size = number(value),
                3 => out.is_thread_local = number(value) != 0,
                5 => is_parameter = number(value) != 0,
                6 => out.parameter = Some(number(value)),
                7 => out.maybe_live_out = number(value) != 0,
                8 => out.color = number(value),
                9 => out.slots.push(BufferSlot::read(bytes, value)?),
                10 => bytes.numbers(value, ALLOCATION, &mut out.parameter_index)?,
                11 => out.is_tuple = number(value) != 0,
                12 => out.is_constant = number(value) != 0,
                _ => {}
            }
            Ok(())
        })?;
        // Number 0 is not written.
        out.parameter = is_parameter.then(|| out.parameter.unwrap_or(0));
        Ok(out)
    }
}

impl BufferSlot {
    fn read(bytes: ProgramMessage<'_>, message: &WireValue) -> Result<Self, HloDamage> {
        bytes.read(
            message,
            "BufferAllocationProto.Assigned",
            |out: &mut Self, field, value| {
                match field {
                    1 => out.buffer = number(value),
                    2 => out.offset = number(value),
                    3 => out.size = number(value),
                    _ => {}
                }
                Ok(())
            },
        )
    }
}

impl HeapTrace {
    fn read(bytes: ProgramMessage<'_>, message: &WireValue) -> Result<Self, HloDamage> {
        bytes.read(
            message,
            "HeapSimulatorTrace",
            |out: &mut Self, field, value| {
                match field {
                    1 => out.events.push(HeapEvent::read(bytes, value)?),
                    2 => out.is_whole_module = number(value) != 0,
                    3 => out.allocation = number(value),
                    _ => {}
                }
                Ok(())
            },
        )
    }
}

impl HeapEvent {
    fn read(bytes: ProgramMessage<'_>, message: &WireValue) -> Result<Self, HloDamage> {
        bytes.read(
            message,
            "HeapSimulatorTrace.Event",
            |out: &mut Self, field, value| {
                match field {
                    1 => {
                        out.kind = match number(value) {
                            1 => HeapEventKind::Free,
                            2 => HeapEventKind::ShareWith,
                            _ => HeapEventKind::Alloc,
                        }
                    }
                    2 => out.buffer = number(value),
                    4 => out.instruction = bytes.text(value),
                    5 => out.shares_with = number(value),
                    _ => {}
                }
                Ok(())
            },
        )
    }
}
