//! The memory plan of a program.

use super::wire::{HloDamage, ProtoValue};

const MESSAGE: &str = "BufferAssignmentProto";

/// The compiler's plan of where the values of a program are stored.
#[derive(Debug, Default)]
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
#[derive(Debug, Default)]
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
#[derive(Debug, Default)]
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
#[derive(Clone, Copy, Debug, Default)]
pub struct BufferSlot {
    /// The buffer's id.
    pub buffer: u64,
    /// Bytes from the beginning of the allocation.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// The events of one heap (an allocation that many buffers share over time).
#[derive(Debug, Default)]
pub struct HeapTrace {
    /// In order of execution.
    pub events: Vec<HeapEvent>,
    /// Covers all computations.
    pub is_whole_module: bool,
    pub allocation: u64,
}

/// One change of a heap.
#[derive(Debug, Default)]
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
    pub(super) fn read(message: &ProtoValue<'_>) -> Result<Self, HloDamage> {
        let mut out: Self = message.read(MESSAGE, |out: &mut Self, field, value| {
            match field {
                1 => out.buffers.push(LogicalBuffer::read(value)?),
                2 => out.aliases.push(alias(value)?),
                3 => out.allocations.push(Allocation::read(value)?),
                4 => out.heap_traces.push(HeapTrace::read(value)?),
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

fn alias(message: &ProtoValue<'_>) -> Result<(u64, u64, Vec<u64>), HloDamage> {
    let mut out = (0, LogicalBuffer::default());
    message.walk(MESSAGE, |field, value| {
        match field {
            1 => out.0 = value.number(),
            2 => out.1.read_location(value)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok((out.0, out.1.instruction_id, out.1.shape_index))
}

impl LogicalBuffer {
    fn read(message: &ProtoValue<'_>) -> Result<Self, HloDamage> {
        message.read("LogicalBufferProto", |out: &mut Self, field, value| {
            match field {
                1 => out.id = value.number(),
                2 => out.size = value.number(),
                3 => out.read_location(value)?,
                4 => out.color = value.number(),
                _ => {}
            }
            Ok(())
        })
    }

    fn read_location(&mut self, message: &ProtoValue<'_>) -> Result<(), HloDamage> {
        message.walk("LogicalBufferProto.Location", |field, value| {
            match field {
                2 => self.instruction_name = value.text(),
                3 => value.numbers(&mut self.shape_index)?,
                4 => self.instruction_id = value.number(),
                _ => {}
            }
            Ok(())
        })
    }
}

impl Allocation {
    fn read(message: &ProtoValue<'_>) -> Result<Self, HloDamage> {
        let (mut out, mut is_parameter) = (Self::default(), false);
        message.walk("BufferAllocationProto", |field, value| {
            match field {
                1 => out.index = value.number(),
                2 => out.size = value.number(),
                3 => out.is_thread_local = value.number() != 0,
                5 => is_parameter = value.number() != 0,
                6 => out.parameter = Some(value.number()),
                7 => out.maybe_live_out = value.number() != 0,
                8 => out.color = value.number(),
                9 => out.slots.push(BufferSlot::read(value)?),
                10 => value.numbers(&mut out.parameter_index)?,
                11 => out.is_tuple = value.number() != 0,
                12 => out.is_constant = value.number() != 0,
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
    fn read(message: &ProtoValue<'_>) -> Result<Self, HloDamage> {
        message.read(
            "BufferAllocationProto.Assigned",
            |out: &mut Self, field, value| {
                match field {
                    1 => out.buffer = value.number(),
                    2 => out.offset = value.number(),
                    3 => out.size = value.number(),
                    _ => {}
                }
                Ok(())
            },
        )
    }
}

impl HeapTrace {
    fn read(message: &ProtoValue<'_>) -> Result<Self, HloDamage> {
        message.read("HeapSimulatorTrace", |out: &mut Self, field, value| {
            match field {
                1 => out.events.push(HeapEvent::read(value)?),
                2 => out.is_whole_module = value.number() != 0,
                3 => out.allocation = value.number(),
                _ => {}
            }
            Ok(())
        })
    }
}

impl HeapEvent {
    fn read(message: &ProtoValue<'_>) -> Result<Self, HloDamage> {
        message.read(
            "HeapSimulatorTrace.Event",
            |out: &mut Self, field, value| {
                match field {
                    1 => {
                        out.kind = match value.number() {
                            1 => HeapEventKind::Free,
                            2 => HeapEventKind::ShareWith,
                            _ => HeapEventKind::Alloc,
                        }
                    }
                    2 => out.buffer = value.number(),
                    4 => out.instruction = value.text(),
                    5 => out.shares_with = value.number(),
                    _ => {}
                }
                Ok(())
            },
        )
    }
}
