//! A program: computations of instructions.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::syntax::{AxisNames, StackFrames};
use crate::{GroupMode, ReplicaGroups};
use trace_model::ProgramBytes;

use super::fused::FusedResult;
use super::index::HloIndex;
use super::instruction::{ComputationId, Instruction, InstructionId};

/// The attribute of front ends that states the meshes of a program.
pub(super) const MESHES: &str = "xla.sdy.meshes";

/// Largest group of all devices that is listed.
const MOST_LISTED: u64 = 1 << 20;

/// The source of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HloOrigin {
    /// The whole program, as serialized or printed by the compiler.
    #[default]
    Proto,
    /// One line of text: what is inside fusions and loops is not known.
    Text,
}

/// A compiled program. Immutable; cheap to share.
#[derive(Debug, Default)]
pub struct HloModule {
    /// Name without the id.
    pub name: String,
    /// Whether it is what the compiler is given, in `StableHLO`.
    pub is_stablehlo: bool,
    /// The number of the module in its process, if serialized; a program id only on some platforms.
    pub id: Option<u64>,
    /// The source of the module.
    pub origin: HloOrigin,
    /// All computations.
    pub computations: Vec<Computation>,
    /// All instructions, computation by computation, operands before their users.
    pub instructions: Vec<Instruction>,
    /// Where execution starts.
    pub entry: Option<ComputationId>,
    /// What is missing of it, if its text ends too early.
    pub cut: Option<String>,
    /// The devices it runs on, if recorded.
    pub devices: Option<DeviceAssignment>,
    /// Results that reuse the memory of a parameter (donated buffers).
    pub aliases: Vec<BufferAlias>,
    /// Parameters whose memory results may reuse: number and position in its tuple.
    pub donors: Vec<(u64, Vec<u64>)>,
    /// The order of execution by computation, of serialized programs.
    pub(super) sequences: HashMap<ComputationId, Vec<InstructionId>>,
    /// Whether the instructions of a text are in the order of execution.
    pub(super) is_in_order: bool,
    pub(super) frames: StackFrames,
    pub(super) axis_names: AxisNames,
    /// Number of cycles among the stack frames, which were cut.
    pub frame_rings: u64,
    pub(super) index: HloIndex,
    /// What fusions have of their operands, by computation, once somebody asks.
    pub(super) fused_results: OnceLock<Vec<FusedResult>>,
    /// Position of the memory plan in the serialized program.
    pub(super) buffers: Option<Range<usize>>,
    /// The serialized program.
    pub(super) blob: Option<ProgramBytes>,
}

/// One computation of a program.
#[derive(Debug, Default)]
pub struct Computation {
    pub name: String,
    /// Its instructions: a part of [`HloModule::instructions`].
    pub instructions: Range<usize>,
    /// The root instruction.
    pub root: Option<InstructionId>,
    /// Whether it is the body of a fusion, whose instructions do not run by themselves.
    pub is_fusion: bool,
    /// Thread that runs it; empty for the main one.
    pub thread: String,
}

/// The devices that a program runs on.
#[derive(Debug, Default)]
pub struct DeviceAssignment {
    /// Number of replicas, which work on different data.
    pub replicas: u64,
    /// Number of partitions of a replica.
    pub partitions: u64,
    /// Device ids by partition and replica.
    pub devices: Vec<Vec<u64>>,
}

impl DeviceAssignment {
    /// How many can take part in a collective, by what the ids in its groups number; `None` if that is more than can be
    /// counted.
    pub fn participants(&self, mode: GroupMode) -> Option<u64> {
        match mode {
            GroupMode::Replicas => Some(self.replicas),
            GroupMode::Partitions => Some(self.partitions),
            GroupMode::Devices | GroupMode::ReplicasAndPartitions => {
                self.replicas.checked_mul(self.partitions)
            }
        }
    }

    /// The device that runs a replica of a partition.
    pub fn device(&self, replica: u64, partition: u64) -> Option<u64> {
        self.devices
            .get(usize::try_from(partition).ok()?)?
            .get(usize::try_from(replica).ok()?)
            .copied()
    }
}

/// A result that reuses the memory of a parameter.
#[derive(Debug, Default)]
pub struct BufferAlias {
    /// Position in the tuple of results.
    pub output_index: Vec<u64>,
    /// Number of the parameter.
    pub parameter: u64,
    /// Position in the tuple of that parameter.
    pub parameter_index: Vec<u64>,
    /// Whether the memory must be shared.
    pub is_required: bool,
}

impl HloModule {
    /// Adds a computation; its instructions and its root refer to each other by their position in it.
    pub(crate) fn add_computation(
        &mut self,
        name: String,
        instructions: Vec<Instruction>,
        root: Option<usize>,
    ) -> ComputationId {
        let id = ComputationId(self.computations.len() as u32);
        let first = self.instructions.len();
        for mut instruction in instructions {
            instruction.computation = id;
            for operand in &mut instruction.operands {
                operand.0 += first as u32;
            }
            self.instructions.push(instruction);
        }
        self.computations.push(Computation {
            name,
            instructions: first..self.instructions.len(),
            root: root.map(|root| InstructionId((first + root) as u32)),
            ..Computation::default()
        });
        id
    }

    /// The instruction with a name (without `%`), the first of several.
    pub fn find(&self, name: &str) -> Option<InstructionId> {
        self.index.named(name)
    }

    /// The last instruction; `None` of an empty program.
    pub fn last(&self) -> Option<InstructionId> {
        u32::try_from(self.instructions.len())
            .ok()?
            .checked_sub(1)
            .map(InstructionId)
    }

    /// All instructions with their ids, operands before their users.
    pub fn iter(&self) -> impl Iterator<Item = (InstructionId, &Instruction)> {
        (0..).map(InstructionId).zip(&self.instructions)
    }

    /// One instruction.
    pub fn instruction(&self, id: InstructionId) -> Option<&Instruction> {
        self.instructions.get(id.index())
    }

    /// The instruction with the compiler's id, which buffer assignments use; `None` if there is none, or if two have
    /// this id.
    pub fn instruction_by_compiler_id(&self, id: u64) -> Option<InstructionId> {
        self.index.numbered(id)
    }

    /// One computation.
    pub fn computation(&self, id: ComputationId) -> Option<&Computation> {
        self.computations.get(id.index())
    }

    /// The ids of all computations, in order.
    pub fn computation_ids(&self) -> impl Iterator<Item = ComputationId> {
        (0..self.computations.len() as u32).map(ComputationId)
    }

    /// Instructions of a computation, operands before their users.
    pub fn instructions_of(&self, computation: ComputationId) -> &[Instruction] {
        let range = self
            .computation(computation)
            .map(|computation| computation.instructions.clone());
        range
            .and_then(|range| self.instructions.get(range))
            .unwrap_or_default()
    }

    /// Instructions of a computation with their ids, operands before their users.
    pub fn iter_of(
        &self,
        computation: ComputationId,
    ) -> impl DoubleEndedIterator<Item = (InstructionId, &Instruction)> + ExactSizeIterator {
        let first = self
            .computation(computation)
            .map_or(0, |computation| computation.instructions.start);
        let all = self.instructions_of(computation).iter().enumerate();
        all.map(move |(index, instruction)| (InstructionId((first + index) as u32), instruction))
    }

    /// Whether the order of execution is known.
    pub fn is_scheduled(&self) -> bool {
        self.is_in_order || !self.sequences.is_empty()
    }

    /// Whether values are marked as divided among devices, and the compiler has not divided them yet.
    pub fn is_unpartitioned(&self) -> bool {
        let mut all = self.instructions.iter();
        !self.is_scheduled() && all.any(|it| it.attributes().sharding.is_some())
    }

    /// Whether the compiler is yet to divide values that are marked, or the program among several partitions as it
    /// sees fit.
    pub fn may_get_collectives(&self) -> bool {
        let devices = self.devices.as_ref();
        let is_for_several = devices.is_some_and(|devices| devices.partitions > 1);
        self.is_unpartitioned() || (self.is_stablehlo && is_for_several)
    }

    /// The instructions of a computation in the order of execution; `None` if the program is not scheduled.
    pub fn schedule(&self, computation: ComputationId) -> Option<Vec<InstructionId>> {
        if self.is_in_order {
            return Some(self.iter_of(computation).map(|(id, _)| id).collect());
        }
        self.sequences.get(&computation).cloned()
    }

    /// Whether it was read from the serialized form, and not from text.
    pub fn is_serialized(&self) -> bool {
        self.blob.is_some()
    }

    /// The name of an axis of the program's mesh with so many `devices`, whose numbers are so far `apart`, `of` all; `None`
    /// if the program does not state it, or not clearly.
    pub fn axis_name(&self, devices: u64, apart: u64, of: u64) -> Option<&Arc<str>> {
        self.axis_names.name([devices, apart, of])
    }

    /// Adds the meshes that instructions name to those that the program states as a whole.
    pub(super) fn name_axes(&mut self) {
        for attributes in self.instructions.iter().map(Instruction::attributes) {
            let groups = attributes.collective.as_ref().map(|it| &it.groups);
            if let Some(Some(ReplicaGroups::Mesh(groups))) = groups {
                self.axis_names.add(&groups.mesh);
            }
            if let Some(sharding) = &attributes.sharding {
                self.axis_names.add_sharding(sharding);
            }
        }
    }

    /// The groups of a collective, however they are written: each as a list, in the order of their first devices. All
    /// devices are a list, too, where the program states how many there are. `None` for what cannot be read.
    pub fn listed_groups(&self, it: &Instruction) -> Option<Vec<Vec<u64>>> {
        let who = it.attributes().collective.as_deref()?;
        let mut groups = who.groups.as_ref()?.expand()?;
        let all = self.devices.as_ref();
        let all = all.and_then(|all| all.participants(who.group_mode(&it.opcode)));
        if let Some(all) = all.filter(|&all| groups.is_empty() && all <= MOST_LISTED) {
            groups.push((0..all).collect());
        }
        groups.sort_unstable();
        Some(groups)
    }

    /// The root instruction of a computation.
    pub fn root(&self, computation: ComputationId) -> Option<&Instruction> {
        self.instruction(self.computation(computation)?.root?)
    }

    /// Operands, in order.
    pub fn operands<'a>(
        &'a self,
        instruction: &'a Instruction,
    ) -> impl Iterator<Item = &'a Instruction> {
        instruction
            .operands
            .iter()
            .filter_map(|&id| self.instruction(id))
    }

    /// The computation that a fusion, call or asynchronous op runs.
    pub fn body(&self, instruction: &Instruction) -> Option<ComputationId> {
        let calls = matches!(&*instruction.opcode, "fusion" | "call")
            || instruction.opcode.starts_with("async-");
        instruction.called.first().copied().filter(|_| calls)
    }

    /// Body and condition of a `while`.
    pub fn loop_body(&self, instruction: &Instruction) -> Option<(ComputationId, ComputationId)> {
        match &*instruction.called {
            &[body, condition] if &*instruction.opcode == "while" => Some((body, condition)),
            _ => None,
        }
    }

    /// Number, name and shape of the parameters of the program, by number.
    pub fn parameters(&self) -> Vec<(u64, &Instruction)> {
        let entry = self
            .entry
            .map(|entry| self.instructions_of(entry))
            .unwrap_or_default();
        let number = |instruction: &Instruction| {
            (&*instruction.opcode == "parameter")
                .then(|| instruction.parameter_number.map_or(0, u64::from))
        };
        let mut parameters: Vec<_> = entry
            .iter()
            .filter_map(|it| Some((number(it)?, it)))
            .collect();
        parameters.sort_by_key(|&(number, _)| number);
        parameters
    }

    /// The backend configuration of an instruction: JSON text, or a message whose meaning depends on the compiler; for
    /// a Mosaic kernel the kernel itself. Empty if there is none, and for modules from text.
    pub fn backend_config(&self, instruction: &Instruction) -> &[u8] {
        let range = instruction
            .attributes()
            .backend_config
            .clone()
            .unwrap_or_default();
        self.blob
            .as_ref()
            .and_then(|blob| blob.bytes().get(range))
            .unwrap_or_default()
    }
}
