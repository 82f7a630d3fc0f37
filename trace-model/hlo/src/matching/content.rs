//! What instructions say, as hashes.

use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::Arc;

use crate::facts::has_groups;
use crate::{ArrayShape, HloModule, Instruction, InstructionId, Shape};

/// Levels of labels, the surest first.
pub(super) const LABELS: usize = 5;
/// From this level on, only what is alone on both sides is paired.
pub(super) const UNSURE: usize = 4;

/// The hashes of one instruction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InstructionContent {
    /// With everything that it depends on.
    pub deep: u64,
    /// By itself: opcode, shape, attributes, what it calls, shapes of operands.
    pub local: u64,
    /// Like `local`, with framework name and source line.
    pub labelled: u64,
    /// Like `local` without layouts and memory spaces.
    pub bare: u64,
}

/// Whether the instructions of a computation run by themselves, and not inside a fusion or for each element of a
/// reduction.
pub fn running_computations(module: &HloModule) -> Vec<bool> {
    let mut runs = vec![true; module.computations.len()];
    for instruction in &module.instructions {
        // Regions of other dialects, `sdy.manual_computation`, are parts of the program.
        let is_control = matches!(&*instruction.opcode, "while" | "call" | "conditional")
            || instruction.opcode.starts_with("async-")
            || instruction.opcode.contains('.');
        for called in instruction.called.iter().filter(|_| !is_control) {
            if let Some(slot) = runs.get_mut(called.index()) {
                *slot = false;
            }
        }
    }
    runs
}

/// Whether an instruction communicates between devices.
pub(super) fn is_collective(opcode: &str) -> bool {
    has_groups(opcode) || opcode.starts_with("collective-permute")
}

/// Hashes of all instructions of a program.
pub(super) struct Contents {
    pub of_instructions: Vec<InstructionContent>,
    /// Hash of the sizes of each result, whatever its type and layout.
    sizes: Vec<u64>,
    /// Hash of type and sizes of each result.
    types: Vec<u64>,
}

pub(super) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// How much of a shape counts.
#[derive(Clone, Copy)]
enum Precision {
    Sizes,
    Types,
    Layouts,
}

fn shape(shape: Option<&Arc<Shape<'static>>>, precision: Precision) -> u64 {
    fn add(shape: &Shape<'_>, precision: Precision, into: &mut DefaultHasher) {
        match shape {
            Shape::Array(array) => add_array(array, precision, into),
            Shape::Tuple(parts) => {
                parts.len().hash(into);
                for part in parts {
                    add(part, precision, into);
                }
            }
        }
    }
    fn add_array(array: &ArrayShape<'_>, precision: Precision, into: &mut DefaultHasher) {
        array.dims.hash(into);
        if matches!(precision, Precision::Types | Precision::Layouts) {
            array.dtype.hash(into);
        }
        if matches!(precision, Precision::Layouts) {
            (&array.minor_to_major, &array.tiles).hash(into);
            (array.memory_space, array.packed_bits).hash(into);
        }
    }
    let mut hasher = DefaultHasher::new();
    if let Some(known) = shape {
        add(known, precision, &mut hasher);
    }
    hasher.finish()
}

impl Contents {
    /// Hashes of a program; `with_attributes` if those of the other one are spelled alike.
    pub fn of(module: &HloModule, with_attributes: bool) -> Self {
        let all = module.instructions.iter();
        let of = |precision| {
            let shapes = all.clone().map(|it| shape(it.shape.as_ref(), precision));
            shapes.collect::<Vec<u64>>()
        };
        let (sizes, types, layouts) = (
            of(Precision::Sizes),
            of(Precision::Types),
            of(Precision::Layouts),
        );
        let runs = running_computations(module);
        let mut out = Self {
            of_instructions: Vec::with_capacity(module.instructions.len()),
            sizes,
            types,
        };
        let mut computations: Vec<Option<u64>> = vec![None; module.computations.len()];
        for (index, instruction) in module.instructions.iter().enumerate() {
            let called = instruction.called.iter().map(|callee| {
                let runs = runs.get(callee.index()).copied().unwrap_or(true);
                let slot = computations.get_mut(callee.index());
                let digest =
                    slot.map(|slot| *slot.get_or_insert_with(|| out.computation(module, *callee)));
                (runs, digest.unwrap_or_default())
            });
            let called: Vec<(bool, u64)> = called.collect();
            let content = out.instruction(
                module,
                instruction,
                (index, &layouts),
                &called,
                with_attributes,
            );
            out.of_instructions.push(content);
        }
        out
    }

    /// Digest of a computation whose instructions are known: its root, and whatever else it does.
    fn computation(&self, module: &HloModule, id: crate::ComputationId) -> u64 {
        let Some(computation) = module.computation(id) else {
            return 0;
        };
        let contents = self.of_instructions.get(computation.instructions.clone());
        let contents = contents
            .unwrap_or_default()
            .iter()
            .zip(module.instructions_of(id));
        // A collective is an instruction of its own, unless its result is used here.
        let contents = contents.filter(|(_, it)| !is_collective(&it.opcode));
        let deep = contents.map(|(content, _)| content.deep);
        let root = computation
            .root
            .and_then(|id| self.of_instructions.get(id.index()));
        hash(&(root.map(|it| it.deep), deep.fold(0, u64::wrapping_add)))
    }

    fn instruction(
        &self,
        module: &HloModule,
        it: &Instruction,
        (at, layouts): (usize, &[u64]),
        called: &[(bool, u64)],
        with_attributes: bool,
    ) -> InstructionContent {
        let attributes = if with_attributes {
            it.content
        } else {
            let facts = it.attributes();
            hash(&(
                &facts.custom_call_target,
                facts.fusion_kind.map(|kind| kind as u8),
            ))
        };
        // The same groups are written in several ways.
        let attributes = hash(&(attributes, module.listed_groups(it)));
        let layout = layouts.get(at).copied().unwrap_or_default();
        let inside: Vec<u64> = called
            .iter()
            .filter(|(runs, _)| !runs)
            .map(|it| it.1)
            .collect();
        let all: Vec<u64> = called.iter().map(|it| it.1).collect();
        let operands = || it.operands.iter();
        let deep = operands().filter_map(|id| self.of_instructions.get(id.index()));
        let deep: Vec<u64> = deep.map(|it| it.deep).collect();
        let types = operands().filter_map(|id| self.types.get(id.index()));
        let types: Vec<u64> = types.copied().collect();
        // Operands of which a cut text says nothing count, too.
        let number = it.parameter_number.unwrap_or(0);
        let parts = (&*it.opcode, layout, attributes, inside, types);
        let local = hash(&parts);
        let (_, _, _, inside, types) = parts;
        let bare = (&*it.opcode, self.types.get(at), attributes, inside, types);
        InstructionContent {
            deep: hash(&(local, deep, all, number)),
            local,
            labelled: hash(&(local, &*it.op_name, module.source(it))),
            bare: hash(&bare),
        }
    }

    /// The key by which an instruction is taken for a changed one; `None` if it lacks the label of this level.
    pub fn label(&self, module: &HloModule, id: InstructionId, level: usize) -> Option<u64> {
        let it = module.instruction(id)?;
        let sizes = self.sizes.get(id.index());
        let name = Some(&*it.op_name).filter(|name| !name.is_empty());
        let source = module.source(it);
        match level {
            0 => Some(hash(&(&*it.opcode, name?, source, sizes))),
            1 => Some(hash(&(&*it.opcode, name?, source))),
            2 => Some(hash(&(&*it.opcode, name?))),
            3 => {
                let operands = it.operands.iter();
                let operands: Vec<_> = operands.map(|id| self.sizes.get(id.index())).collect();
                Some(hash(&(&*it.opcode, sizes, operands)))
            }
            _ => Some(hash(&&*it.opcode)),
        }
    }
}
