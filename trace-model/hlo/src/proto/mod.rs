//! Reads `xla.HloProto`: the module, its computations and tables.

mod counter;
mod instruction;
mod shape;

use std::collections::HashMap;
use std::sync::Arc;

use crate::module::MESHES;
use crate::syntax::{Shape, StackFrames};
use trace_model::ProgramBytes;

use super::HloError;
use super::buffers::BufferAssignment;
use super::index::HloIndex;
use super::instruction::{ComputationId, Instruction, InstructionId};
use super::module::{BufferAlias, Computation, DeviceAssignment, HloModule, HloOrigin};
use super::wire::{HloDamage, ProtoValue};

const COMPUTATION: &str = "HloComputationProto";

/// A pool of strings, because many instructions share them.
#[derive(Default)]
struct StringPool<'a>(HashMap<&'a [u8], Arc<str>>);

impl<'a> StringPool<'a> {
    fn intern(&mut self, bytes: &'a [u8]) -> Arc<str> {
        Arc::clone(
            self.0
                .entry(bytes)
                .or_insert_with(|| Arc::from(String::from_utf8_lossy(bytes))),
        )
    }
}

/// State of the parser.
struct ProtoReader<'a> {
    bytes: &'a [u8],
    texts: StringPool<'a>,
    /// Parsed shapes by their bytes.
    shapes: HashMap<&'a [u8], Arc<Shape<'static>>>,
    module: HloModule,
    /// Computations by the compiler's id.
    computations: HashMap<u64, ComputationId>,
    /// Instructions by the compiler's id.
    numbers: Vec<(u64, InstructionId)>,
    /// Shared backend configurations.
    payloads: Vec<std::ops::Range<usize>>,
}

impl HloModule {
    /// Reads a serialized `xla.HloProto`. `program` is its name for the error.
    ///
    /// Operands that come after their user and computations that come after their
    /// caller count as damage: programs are acyclic, and so is what is returned.
    ///
    /// # Errors
    ///
    /// The bytes are damaged; the error names the place.
    pub fn from_proto(blob: ProgramBytes, program: &str) -> Result<Self, HloError> {
        let bytes = blob.bytes();
        let mut module = read(bytes).map_err(|damage| damaged(bytes, program, damage))?;
        module.blob = Some(blob);
        Ok(module)
    }

    /// The memory plan, if recorded. Parsed on every call, because it is large and rarely needed. `program` is the name
    /// for the error.
    ///
    /// # Errors
    ///
    /// The bytes are damaged; the error names the place.
    pub fn buffer_assignment(&self, program: &str) -> Result<Option<BufferAssignment>, HloError> {
        let (Some(blob), Some(range)) = (&self.blob, &self.buffers) else {
            return Ok(None);
        };
        let bytes = blob.bytes();
        BufferAssignment::read(&ProtoValue::message(bytes, range.clone()))
            .map(Some)
            .map_err(|damage| damaged(bytes, program, damage))
    }
}

fn damaged(bytes: &[u8], program: &str, HloDamage { message, at, why }: HloDamage) -> HloError {
    HloError::Damaged {
        program: program.to_owned(),
        why,
        message,
        at,
        len: bytes.len(),
    }
}

fn read(bytes: &[u8]) -> Result<HloModule, HloDamage> {
    const PROGRAM: &str = "HloProto";
    let program = ProtoValue::message(bytes, 0..bytes.len());
    let (mut module, mut buffers, mut is_bare) = (None, None, false);
    program.walk(PROGRAM, |field, value| {
        match field {
            1 => module = Some(value.clone()),
            // The name of an entry computation: the module itself stands here, without the message around it.
            2 => is_bare = true,
            3 => buffers = Some(value.range()),
            _ => {}
        }
        Ok(())
    })?;
    if is_bare {
        (module, buffers) = (Some(program.clone()), None);
    }
    let Some(module) = module else {
        return Err(program.damage(PROGRAM, "there is no module"));
    };
    let mut reader = ProtoReader {
        bytes,
        texts: StringPool::default(),
        shapes: HashMap::new(),
        module: HloModule {
            origin: HloOrigin::Proto,
            buffers,
            ..HloModule::default()
        },
        computations: HashMap::new(),
        numbers: Vec::new(),
        payloads: Vec::new(),
    };
    reader.read_module(&module)?;
    Ok(reader.module)
}

/// Number of instructions of a computation, ignoring damage, which is found when they are read.
fn instructions_in(computation: &ProtoValue<'_>) -> usize {
    let mut count = 0;
    let _ = computation.walk(COMPUTATION, |field, _| {
        count += usize::from(field == 2);
        Ok(())
    });
    count
}

impl<'a> ProtoReader<'a> {
    fn read_module(&mut self, message: &ProtoValue<'a>) -> Result<(), HloDamage> {
        const MODULE: &str = "HloModuleProto";
        // Instructions refer to payloads by number, which may come after them.
        let mut count = 0;
        message.walk(MODULE, |field, value| {
            match field {
                3 => count += instructions_in(value),
                22 => self.payloads.push(value.range()),
                _ => {}
            }
            Ok(())
        })?;
        self.module.instructions.reserve_exact(count);
        self.numbers.reserve_exact(count);
        let (mut entry_id, mut entry_name, mut schedule) = (None, String::new(), None);
        message.walk(MODULE, |field, value| {
            match field {
                1 => self.module.name = value.text(),
                2 => entry_name = value.text(),
                3 => self.read_computation(value)?,
                5 => self.module.id = Some(value.number()),
                6 => entry_id = Some(value.number()),
                8 => self.read_aliases(value)?,
                15 => self.module.devices = Some(device_assignment(value)?),
                17 => self.module.frames = stack_frames(value)?,
                7 => schedule = Some(value.clone()),
                18 => self.read_donors(value)?,
                19 => self.read_meshes(value)?,
                _ => {}
            }
            Ok(())
        })?;
        if let Some(schedule) = schedule {
            self.read_schedule(&schedule)?;
        }
        self.module.name_axes();
        self.module.frame_rings = self.module.frames.cut_rings();
        self.module.computations.shrink_to_fit();
        self.module.index =
            HloIndex::new(&self.module.instructions, std::mem::take(&mut self.numbers));
        let named = || {
            self.module
                .computations
                .iter()
                .position(|it| it.name == entry_name)
        };
        self.module.entry = entry_id
            .and_then(|id| self.computations.get(&id).copied())
            .or_else(|| named().map(|index| ComputationId(index as u32)))
            // An id of 0 is not written.
            .or_else(|| self.computations.get(&0).copied());
        Ok(())
    }

    fn read_computation(&mut self, message: &ProtoValue<'a>) -> Result<(), HloDamage> {
        let id = ComputationId(self.module.computations.len() as u32);
        let first = self.module.instructions.len();
        let mut computation = Computation::default();
        let mut local = HashMap::new();
        let (mut proto_id, mut root_id) = (0, 0);
        message.walk(COMPUTATION, |field, value| {
            match field {
                1 => computation.name = value.text(),
                2 => {
                    let (compiler_id, instruction) = self.read_instruction(value, id, &local)?;
                    local.insert(compiler_id, self.add(compiler_id, instruction));
                }
                5 => proto_id = value.number(),
                6 => root_id = value.number(),
                7 => computation.is_fusion = value.number() != 0,
                8 => computation.thread = value.text(),
                _ => {}
            }
            Ok(())
        })?;
        computation.instructions = first..self.module.instructions.len();
        computation.root = local.get(&root_id).copied();
        self.module.computations.push(computation);
        self.computations.insert(proto_id, id);
        Ok(())
    }

    fn add(&mut self, compiler_id: u64, instruction: Instruction) -> InstructionId {
        let module = &mut self.module;
        let id = InstructionId(module.instructions.len() as u32);
        self.numbers.push((compiler_id, id));
        module.instructions.push(instruction);
        id
    }

    /// `xla.HloScheduleProto`: sequences of ids by the id of the computation.
    fn read_schedule(&mut self, message: &ProtoValue<'_>) -> Result<(), HloDamage> {
        const SCHEDULE: &str = "HloScheduleProto";
        let ids: HashMap<u64, InstructionId> = self.numbers.iter().copied().collect();
        let mut sequences = HashMap::new();
        message.walk(SCHEDULE, |field, entry| {
            let (mut computation, mut sequence) = (0, Vec::new());
            entry.walk(SCHEDULE, |field, value| {
                match field {
                    1 => computation = value.number(),
                    2 => value.walk(SCHEDULE, |field, value| match field {
                        1 => value.numbers(&mut sequence),
                        _ => Ok(()),
                    })?,
                    _ => {}
                }
                Ok(())
            })?;
            if let Some(&computation) = self.computations.get(&computation).filter(|_| field == 1) {
                let sequence = sequence.iter().filter_map(|id| ids.get(id).copied());
                sequences.insert(computation, sequence.collect());
            }
            Ok(())
        })?;
        self.module.sequences = sequences;
        Ok(())
    }

    fn read_aliases(&mut self, message: &ProtoValue<'_>) -> Result<(), HloDamage> {
        const ALIAS: &str = "HloInputOutputAliasProto";
        /// `xla.Kind`: the memory must be shared.
        const MUST_ALIAS: u64 = 2;
        message.walk(ALIAS, |field, entry| {
            let mut alias = BufferAlias::default();
            entry.walk(ALIAS, |field, value| {
                match field {
                    1 => value.numbers(&mut alias.output_index)?,
                    2 => alias.parameter = value.number(),
                    3 => value.numbers(&mut alias.parameter_index)?,
                    4 => alias.is_required = value.number() == MUST_ALIAS,
                    _ => {}
                }
                Ok(())
            })?;
            if field == 1 {
                self.module.aliases.push(alias);
            }
            Ok(())
        })
    }

    /// The meshes among what front ends state of the program.
    fn read_meshes(&mut self, message: &ProtoValue<'_>) -> Result<(), HloDamage> {
        const ATTRIBUTES: &str = "FrontendAttributes";
        message.walk(ATTRIBUTES, |_, entry| {
            let (mut key, mut text) = (String::new(), String::new());
            entry.walk(ATTRIBUTES, |field, value| {
                match field {
                    1 => key = value.text(),
                    2 => text = value.text(),
                    _ => {}
                }
                Ok(())
            })?;
            if key == MESHES {
                self.module.axis_names.add_shardy(&text);
            }
            Ok(())
        })
    }

    fn read_donors(&mut self, message: &ProtoValue<'_>) -> Result<(), HloDamage> {
        const DONOR: &str = "HloBufferDonorProto";
        message.walk(DONOR, |field, entry| {
            let (mut parameter, mut index) = (0, Vec::new());
            entry.walk(DONOR, |field, value| {
                match field {
                    1 => parameter = value.number(),
                    2 => value.numbers(&mut index)?,
                    _ => {}
                }
                Ok(())
            })?;
            if field == 1 {
                self.module.donors.push((parameter, index));
            }
            Ok(())
        })
    }
}

fn device_assignment(message: &ProtoValue<'_>) -> Result<DeviceAssignment, HloDamage> {
    const ASSIGNMENT: &str = "DeviceAssignmentProto";
    message.read(ASSIGNMENT, |out: &mut DeviceAssignment, field, value| {
        match field {
            1 => out.replicas = value.number(),
            2 => out.partitions = value.number(),
            3 => out.devices.push(value.list(ASSIGNMENT)?),
            _ => {}
        }
        Ok(())
    })
}

fn stack_frames(message: &ProtoValue<'_>) -> Result<StackFrames, HloDamage> {
    const FRAMES: &str = "StackFrameIndexProto";
    message.read(FRAMES, |out: &mut StackFrames, field, value| {
        match field {
            1 => out.files.push(value.text()),
            2 => out.functions.push(value.text()),
            3 => out.locations.push(value.first_numbers(FRAMES)?),
            4 => out.frames.push(value.first_numbers(FRAMES)?),
            _ => {}
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u8, inside: &[u8]) -> Vec<u8> {
        let tag = u16::from(number) << 3 | 2;
        let tag = if tag < 128 {
            vec![tag as u8]
        } else {
            vec![tag as u8 | 128, (tag >> 7) as u8]
        };
        [&tag, &[inside.len() as u8][..], inside].concat()
    }

    /// The attribute as a capture of JAX on a CPU has it, with a mesh of two axes.
    #[test]
    fn meshes_are_read_from_attributes_of_the_module() {
        let text = b"{mesh = #sdy.mesh<[\"data\"=2, \"model\"=4]>}";
        for (key, name) in [(&b"xla.sdy.meshes"[..], Some("data")), (b"other", None)] {
            let entry = [field(1, key), field(2, text)].concat();
            let module = [
                field(1, b"jit_f"),
                field(2, b"main"),
                field(19, &field(1, &entry)),
            ];
            let bytes = module.concat();
            let module = read(&bytes).unwrap();
            assert_eq!(module.axis_name(2, 4, 8).map(|it| &**it), name);
            for cut in 0..bytes.len() {
                let _ = read(&bytes[..cut]);
            }
        }
    }
}
