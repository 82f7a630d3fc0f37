//! One instruction of a compiled program.

use std::sync::{Arc, LazyLock};

use crate::syntax::{ArrayShape, Shape};

use super::counter::CounterPart;
use super::facts::Attributes;

/// Targets of custom calls that make no value.
const MARKS: [&str; 9] = [
    "AllocateBuffer",
    "AssumeGatherIndicesInBound",
    "ConcatBitcast",
    "LayoutConstraint",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "Sharding",
    "annotate_device_placement",
    "mhlo.optimization_barrier",
];

/// Targets of custom calls that only move or sort elements.
const MOVES: [&str; 9] = [
    "MoveToDevice",
    "MoveToHost",
    "PadToStatic",
    "SliceToDynamic",
    "TopK",
    "X64Combine",
    "X64SplitHigh",
    "X64SplitLow",
    "mhlo.topk",
];

/// Index of a computation in its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputationId(pub(super) u32);

/// Index of an instruction in its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstructionId(pub(super) u32);

impl ComputationId {
    /// Position in [`HloModule::computations`](crate::HloModule::computations).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl InstructionId {
    /// Position in [`HloModule::instructions`](crate::HloModule::instructions).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One instruction of a program.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Name without `%`; unique in the program.
    pub name: Arc<str>,
    /// `fusion`, `all-reduce-start`, `dot` …; empty for an operand of which only the
    /// name or shape is known.
    pub opcode: Arc<str>,
    /// The result's shape, if known.
    pub shape: Option<Arc<Shape<'static>>>,
    /// Where it belongs.
    pub computation: ComputationId,
    /// Its operands, in order.
    pub operands: Vec<InstructionId>,
    /// Computations that it calls: the body of a fusion, condition and body of a loop
    /// (see [`super::HloModule::loop_body`]), the function of a reduction.
    pub called: Vec<ComputationId>,
    /// The number of a `parameter`.
    pub parameter_number: Option<u32>,
    /// Framework name (`jit(f)/dot_general`); empty if not recorded.
    pub op_name: Arc<str>,
    pub(super) source_file: Arc<str>,
    pub(super) source_line: u32,
    /// Index of the innermost stack frame, from 1; 0 for none.
    pub(super) stack_frame: u32,
    pub(super) attributes: Option<Box<Attributes>>,
    pub(super) counter: CounterPart,
    /// Digest of all attributes, values and literals that say what it computes: without names, metadata and the
    /// backend's configuration. Texts and serialized programs have different ones.
    pub(super) content: u64,
    /// Digest of the backend's configuration; 0 for none.
    pub(super) config: u64,
}

impl Instruction {
    /// An instruction without any information; `empty` is the shared empty string.
    pub(super) fn blank(empty: &Arc<str>, computation: ComputationId) -> Self {
        Self {
            name: Arc::clone(empty),
            opcode: Arc::clone(empty),
            shape: None,
            computation,
            operands: Vec::new(),
            called: Vec::new(),
            parameter_number: None,
            op_name: Arc::clone(empty),
            source_file: Arc::clone(empty),
            source_line: 0,
            stack_frame: 0,
            attributes: None,
            counter: CounterPart::None,
            content: 0,
            config: 0,
        }
    }

    /// Adds a framework name and a source (`file:line`) that are recorded apart from the text, where it has none.
    pub fn add_metadata(&mut self, framework_name: Option<&str>, source: Option<&str>) {
        if let Some(name) = framework_name.filter(|_| self.op_name.is_empty()) {
            self.op_name = name.trim_end_matches(':').into();
        }
        let place = source.and_then(|source| source.rsplit_once(':'));
        if self.source_file.is_empty()
            && let Some((file, line)) = place
            && let Ok(line) = line.parse()
        {
            (self.source_file, self.source_line) = (file.into(), line);
        }
    }

    /// The arrays of the result, in order; none if its shape is unknown.
    pub fn arrays(&self) -> Vec<&ArrayShape<'static>> {
        let shape = self.shape.as_deref();
        shape.map(Shape::arrays).unwrap_or_default()
    }

    /// Bytes of the result without padding; arrays of unknown types count as empty.
    pub fn bytes(&self) -> u64 {
        let arrays = self.arrays().into_iter();
        arrays
            .filter_map(ArrayShape::bytes)
            .fold(0, u64::saturating_add)
    }

    /// Whether the compiler or the framework computes a value again instead of keeping it: XLA marks the names of such
    /// instructions, JAX puts them into a scope.
    pub fn is_rematerialized(&self) -> bool {
        self.name.contains(".remat") || self.op_name.contains("rematted_computation")
    }

    /// Whether a custom call makes no value: it names, marks or places one, or is memory for one.
    pub fn moves_nothing(&self) -> bool {
        let target = self.attributes().custom_call_target.as_deref();
        target.is_some_and(|it| MARKS.contains(&it) || it.starts_with("xla.sdy."))
    }

    /// Whether it is a custom call that may compute anything.
    pub fn is_kernel(&self) -> bool {
        let target = self.attributes().custom_call_target.as_deref();
        let only_moves = self.moves_nothing() || target.is_some_and(|it| MOVES.contains(&it));
        &*self.opcode == "custom-call" && !only_moves
    }

    /// Attributes that only some instructions have.
    pub fn attributes(&self) -> &Attributes {
        static NONE: LazyLock<Attributes> = LazyLock::new(Attributes::default);
        self.attributes.as_deref().unwrap_or(&NONE)
    }
}
