//! Reads `xla.HloProto`: the module, its computations and tables.

mod counter;
mod instruction;
mod shape;

use std::collections::HashMap;
use std::sync::Arc;

use crate::module::MESHES;
use crate::syntax::{Shape, StackFrames};
use trace_model::ProgramBytes;
use trace_model::wire::WireValue;

use super::HloError;
use super::buffers::BufferAssignment;
use super::index::HloIndex;
use super::instruction::{ComputationId, Instruction, InstructionId};
use super::module::{BufferAlias, Computation, DeviceAssignment, HloModule, HloOrigin};
use super::wire::{HloDamage, ProgramMessage, number, range};

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
    bytes: ProgramMessage<'a>,
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
        let bytes = ProgramMessage(blob.bytes());
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
        let bytes = ProgramMessage(blob.bytes());
        BufferAssignment::read(bytes, &WireValue::Bytes(range.clone()))
            .map(Some)
            .map_err(|damage| damaged(bytes, program, damage))
    }
}

fn damaged(
    bytes: ProgramMessage<'_>,
    program: &str,
    HloDamage { message, at, why }: HloDamage,
) -> HloError {
    HloError::Damaged {
        program: program.to_owned(),
        why,
        message,
        at,
        len: bytes.0.len(),
    }
}

fn read(bytes: ProgramMessage<'_>) -> Result<HloModule, HloDamage> {
    let (mut module, mut buffers, mut is_bare) = (None, None, false);
    bytes.walk(
        &WireValue::Bytes(0..bytes.0.len()),
        "HloProto",
        |field, value| {
            match field {
                1 => module = Some(value.clone()),
                // The name of an entry computation: the module itself stands here, without the message around it.
                2 => is_bare = true,
                3 => buffers = Some(range(value)),
                _ => {}
            }
            Ok(())
        },
    )?;
    if is_bare {
        (module, buffers) = (Some(WireValue::Bytes(0..bytes.0.len())), None);
    }
    let Some(module) = module else {
        return Err(HloDamage {
            message: "HloProto",
            at: 0,
            why: "there is no module",
        });
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
fn instructions_in(bytes: ProgramMessage<'_>, computation: &WireValue) -> usize {
    let mut count = 0;
    let _ = bytes.walk(computation, COMPUTATION, |field, _| {
        count += usize::from(field == 2);
        Ok(())
    });
    count
}

impl ProtoReader<'_> {
    fn read_module(&mut self, message: &WireValue) -> Result<(), HloDamage> {
        const MODULE: &str = "HloModuleProto";
        let bytes = self.bytes;
        // Instructions refer to payloads by number, which may come after them.
        let mut count = 0;
        bytes.walk(message, MODULE, |field, value| {
            match field {
                3 => count += instructions_in(bytes, value),
                22 => self.payloads.push(range(value)),
                _ => {}
            }
            Ok(())
        })?;
        self.module.instructions.reserve_exact(count);
        self.numbers.reserve_exact(count);
        let (mut entry_id, mut entry_name, mut schedule) = (None, String::new(), None);
        bytes.walk(message, MODULE, |field, value| {
            match field {
                1 => self.module.name = bytes.text(value),
                2 => entry_name = bytes.text(value),
                3 => self.read_computation(value)?,
                5 => self.module.id = Some(number(value)),
                6 => entry_id = Some(number(value)),
                8 => self.read_aliases(value)?,
                15 => self.module.devices = Some(device_assignment(bytes, value)?),
                17 => self.module.frames = stack_frames(bytes, value)?,
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

    fn read_computation(&mut self, message: &WireValue) -> Result<(), HloDamage> {
        let bytes = self.bytes;
        let id = ComputationId(self.module.computations.len() as u32);
        let first = self.module.instructions.len();
        let mut computation = Computation::default();
        let mut local = HashMap::new();
        let (mut proto_id, mut root_id) = (0, 0);
        bytes.walk(message, COMPUTATION, |field, value| {
            match field {
                1 => computation.name = bytes.text(value),
                2 => {
                    let (compiler_id, instruction) = self.read_instruction(value, id, &local)?;
                    local.insert(compiler_id, self.add(compiler_id, instruction));
                }
                5 => proto_id = number(value),
                6 => root_id = number(value),
                7 => computation.is_fusion = number(value) != 0,
                8 => computation.thread = bytes.text(value),
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
    fn read_schedule(&mut self, message: &WireValue) -> Result<(), HloDamage> {
        const SCHEDULE: &str = "HloScheduleProto";
        let bytes = self.bytes;
        let ids: HashMap<u64, InstructionId> = self.numbers.iter().copied().collect();
        let mut found = HashMap::new();
        bytes.walk(message, SCHEDULE, |field, entry| {
            let (mut computation, mut sequence) = (0, Vec::new());
            bytes.walk(entry, SCHEDULE, |field, value| {
                match field {
                    1 => computation = number(value),
                    2 => bytes.walk(value, SCHEDULE, |field, value| match field {
                        1 => bytes.numbers(value, SCHEDULE, &mut sequence),
                        _ => Ok(()),
                    })?,
                    _ => {}
                }
                Ok(())
            })?;
            if let Some(&computation) = self.computations.get(&computation).filter(|_| field == 1) {
                let sequence = sequence.iter().filter_map(|id| ids.get(id).copied());
                found.insert(computation, sequence.collect());
            }
            Ok(())
        })?;
        self.module.sequences = found;
        Ok(())
    }

    fn read_aliases(&mut self, message: &WireValue) -> Result<(), HloDamage> {
        const ALIAS: &str = "HloInputOutputAliasProto";
        /// `xla.Kind`: the memory must be shared.
        const MUST_ALIAS: u64 = 2;
        let bytes = self.bytes;
        bytes.walk(message, ALIAS, |field, entry| {
            let mut alias = BufferAlias::default();
            bytes.walk(entry, ALIAS, |field, value| {
                match field {
                    1 => bytes.numbers(value, ALIAS, &mut alias.output_index)?,
                    2 => alias.parameter = number(value),
                    3 => bytes.numbers(value, ALIAS, &mut alias.parameter_index)?,
                    4 => alias.is_required = number(value) == MUST_ALIAS,
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
    fn read_meshes(&mut self, message: &WireValue) -> Result<(), HloDamage> {
        const ATTRIBUTES: &str = "FrontendAttributes";
        let bytes = self.bytes;
        bytes.walk(message, ATTRIBUTES, |_, entry| {
            let (mut key, mut text) = (String::new(), String::new());
            bytes.walk(entry, ATTRIBUTES, |field, value| {
                match field {
                    1 => key = bytes.text(value),
                    2 => text = bytes.text(value),
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

    fn read_donors(&mut self, message: &WireValue) -> Result<(), HloDamage> {
        const DONOR: &str = "HloBufferDonorProto";
        let bytes = self.bytes;
        bytes.walk(message, DONOR, |field, entry| {
            let (mut parameter, mut index) = (0, Vec::new());
            bytes.walk(entry, DONOR, |field, value| {
                match field {
                    1 => parameter = number(value),
                    2 => bytes.numbers(value, DONOR, &mut index)?,
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

fn device_assignment(
    bytes: ProgramMessage<'_>,
    message: &WireValue,
) -> Result<DeviceAssignment, HloDamage> {
    const ASSIGNMENT: &str = "DeviceAssignmentProto";
    bytes.read(
        message,
        ASSIGNMENT,
        |out: &mut DeviceAssignment, field, value| {
            match field {
                1 => out.replicas = number(value),
                2 => out.partitions = number(value),
                3 => {
                    out.devices.push(bytes.list(value, ASSIGNMENT)?);
                }
                _ => {}
            }
            Ok(())
        },
    )
}

fn stack_frames(bytes: ProgramMessage<'_>, message: &WireValue) -> Result<StackFrames, HloDamage> {
    const FRAMES: &str = "StackFrameIndexProto";
    bytes.read(message, FRAMES, |out: &mut StackFrames, field, value| {
        match field {
            1 => out.files.push(bytes.text(value)),
            2 => out.functions.push(bytes.text(value)),
            3 => out.locations.push(bytes.first_numbers(value, FRAMES)?),
            4 => out.frames.push(bytes.first_numbers(value, FRAMES)?),
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
            let module = read(ProgramMessage(&bytes)).unwrap();
            assert_eq!(module.axis_name(2, 4, 8).map(|it| &**it), name);
            for cut in 0..bytes.len() {
                let _ = read(ProgramMessage(&bytes[..cut]));
            }
        }
    }
}
