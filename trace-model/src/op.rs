//! [`Label`]s of slices, and for device ops the static facts ([`Op`]) that the compiler recorded, stored once per
//! distinct op.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::plain;
use crate::strings::StringId;

row_ids! {
    /// A label of a model; valid only in the model that created it.
    LabelId,
    /// An op of a model; valid only in the model that created it.
    OpId,
    /// A program of a model; valid only in the model that created it.
    ProgramId
}

/// Name of a slice and, if the slice is a device op, the op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Label {
    /// Shown on the slice.
    pub name: StringId,
    /// The op that it executes.
    pub op: Option<OpId>,
}

/// Which memory an access goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MemorySpace {
    /// Off-chip memory.
    Hbm,
    /// Common memory (v4).
    Cmem,
    /// Vector memory.
    Vmem,
    /// Any other on-chip memory, by its number.
    Other(u64),
}

/// Direction of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Access {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Not recorded.
    Unknown,
}

/// Bytes that one execution moves to or from one memory, as estimated by the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryAccess {
    /// Which memory.
    pub space: MemorySpace,
    /// Direction.
    pub access: Access,
    /// Bytes per execution.
    pub bytes: u64,
}

/// The name of an op without the number that the compiler adds to tell instructions apart: `fusion` of `fusion.12`.
///
/// ```
/// # use trace_model::without_number;
/// assert_eq!(without_number("fusion.12"), "fusion");
/// assert_eq!(without_number("fusion"), "fusion");
/// assert_eq!(without_number("fusion.12.remat"), "fusion.12.remat");
/// assert_eq!(without_number(".1"), ".1");
/// ```
pub fn without_number(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((base, number))
            if !base.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            base
        }
        _ => name,
    }
}

/// Static facts of one HLO op of one program, *per execution*, as estimated by the compiler. `None` means that the
/// capture does not record the fact; it never means zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Op {
    /// Instruction name without `%`; unique in its program.
    pub name: StringId,
    /// The program that contains it.
    pub program: Option<ProgramId>,
    /// Identity in the program; `0` marks the program's root.
    pub symbol_id: Option<u64>,
    /// `hlo_category` as recorded.
    pub category: Option<StringId>,
    /// The instruction as HLO text.
    pub hlo_text: Option<StringId>,
    /// Operations, scaled to the chip's bf16 rate.
    pub flops: Option<u64>,
    /// Operations of the algorithm.
    pub model_flops: Option<u64>,
    /// Bytes to and from all memories.
    pub bytes_accessed: Option<u64>,
    /// Bytes from the cost analysis, before adjustment.
    pub raw_bytes_accessed: Option<u64>,
    /// Bytes by memory; empty if not recorded.
    pub memory: Vec<MemoryAccess>,
    /// Output shape with layout and memory space.
    pub shape: Option<StringId>,
    /// Provenance in the framework (`jit(f)/dot_general:`).
    pub framework_name: Option<StringId>,
    /// `file:line`.
    pub source: Option<StringId>,
    /// The Python stack, one frame per line.
    pub source_stack: Option<StringId>,
    /// Representative among identical ops.
    pub deduplicated_name: Option<StringId>,
    /// Number of the collective within the program.
    pub all_reduce_id: Option<i64>,
    /// The code that the compiler emitted for it, if a dump of it was read.
    pub bundles: Option<Box<Bundles>>,
}

/// Code of an op: VLIW bundles, i.e. instructions issued together. Each counts once, however often a loop of the kernel
/// executes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundles {
    /// Number of bundles.
    pub count: u64,
    /// Slots used of each unit, in the compiler's order.
    pub units: Vec<UnitSlots>,
    /// The op that the code was emitted for; identical ops share the code.
    pub emitted_for: StringId,
    /// What its text shows, if the dump has it.
    pub text: Option<CodeText>,
    /// Its vector memory, if the dump has a report on it.
    pub vmem: Option<VmemUse>,
    /// Vector registers that hold values at one time, before registers are allocated; more than the core has are saved.
    pub live_registers: Option<u64>,
}

/// What the text of an op's code shows. Each bundle counts once, as in [`Bundles`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeText {
    /// Bundles without an instruction, in which the core waits for a result or a branch.
    pub empty: u64,
    /// Instructions that multiply on the matrix units.
    pub matmuls: u64,
    /// Instructions that wait for the end of a copy.
    pub dma_waits: u64,
    /// Runs of empty bundles, by the last instruction before them; the most bundles first.
    pub stalls: Vec<EmptyRuns>,
}

/// Runs of empty bundles after the same instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmptyRuns {
    /// The instruction (`sbr.rel`, `vmatmul.bf16.gmra.mxu0`).
    pub after: StringId,
    /// Number of runs.
    pub runs: u64,
    /// Their bundles.
    pub bundles: u64,
}

/// Vector memory that the compiler allocates for an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmemUse {
    /// All of it.
    pub bytes: u64,
    /// The part that holds registers that were saved.
    pub spill_bytes: u64,
    /// What the core has.
    pub limit_bytes: Option<u64>,
}

/// Issue slots of one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitSlots {
    /// Name as the compiler writes it (`MATMUL`, `VSTORE:SPILL`).
    pub unit: StringId,
    /// Slots that all bundles together use.
    pub used: u64,
    /// Slots of one bundle.
    pub per_bundle: u64,
}

impl UnitSlots {
    /// Used slots as percent of all slots that `bundles` have; `None` if there are no slots.
    pub fn percent(&self, bundles: u64) -> Option<f64> {
        let all = bundles as f64 * self.per_bundle as f64;
        (all > 0.0).then(|| 100.0 * self.used as f64 / all)
    }
}

impl Op {
    /// Fills in facts that are missing here from `other`.
    pub(crate) fn fill_from(&mut self, other: &Self) {
        macro_rules! fill {
            ($($fact:ident),*) => {
                $(if self.$fact.is_none() {
                    self.$fact.clone_from(&other.$fact);
                })*
            };
        }
        fill!(
            symbol_id,
            category,
            hlo_text,
            flops,
            model_flops,
            bytes_accessed,
            raw_bytes_accessed,
            shape,
            framework_name,
            source,
            source_stack,
            deduplicated_name,
            all_reduce_id,
            bundles
        );
        if self.memory.is_empty() {
            self.memory.clone_from(&other.memory);
        }
    }
}

/// A compiled program.
#[derive(Debug, Serialize, Deserialize)]
pub struct Program {
    /// Name without the id (`jit_matmul`).
    pub name: StringId,
    /// The id in parentheses of `jit_matmul(123)`, any 64-bit value.
    pub id: Option<u64>,
    /// Its `xla.HloProto`, serialized, or its HLO text, to be parsed on demand.
    pub hlo: Option<ProgramBytes>,
}

/// A range of bytes in a file that stays open or mapped; not copied.
#[derive(Clone)]
pub struct ProgramBytes {
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    range: Range<usize>,
}

impl ProgramBytes {
    /// The bytes `range` of `owner`; empty if the range lies outside.
    pub fn new(owner: Arc<dyn AsRef<[u8]> + Send + Sync>, range: Range<usize>) -> Self {
        let range = if (*owner).as_ref().get(range.clone()).is_some() {
            range
        } else {
            0..0
        };
        Self { owner, range }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        (*self.owner)
            .as_ref()
            .get(self.range.clone())
            .unwrap_or_default()
    }
}

impl Serialize for ProgramBytes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        plain::serialize(self.bytes(), to)
    }
}

impl<'de> Deserialize<'de> for ProgramBytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let bytes: Vec<u8> = plain::deserialize(from)?;
        let range = 0..bytes.len();
        Ok(Self::new(Arc::new(bytes), range))
    }
}

impl std::fmt::Debug for ProgramBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Blob({} bytes)", self.range.len())
    }
}
