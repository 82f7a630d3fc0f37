//! What a program needs of a memory, as report.

use facts::prelude::*;
use hlo::Shape;

/// Names of arguments that hold the state of an optimizer.
const OPTIMIZER: [&str; 6] = ["opt_state", "optimizer", "adam", "momentum", ".mu[", ".nu["];

/// What a program needs of a memory, and what there is. What is not known is null.
#[engine::reported]
#[derive(Default)]
pub struct MemoryShortage {
    /// A sentence: what is needed, what there is, and what takes most.
    pub statement: String,
    /// Who says so: the compiler, the runtime, or the plan of a program.
    pub told_by: String,
    /// `hbm`, `vmem`, `smem`.
    pub memory: String,
    /// The program, if it is named.
    pub program: Option<String>,
    /// Bytes that are needed.
    pub needed_bytes: Option<u64>,
    /// Whether more is needed than these bytes: the message tells of one kind only.
    pub is_least: bool,
    /// Whether it follows from how long each value is needed, because there is no plan: padding and gaps may add to it, and
    /// results that are written into the memory of operands may take from it.
    pub is_estimate: bool,
    /// Bytes that there are.
    pub capacity_bytes: Option<u64>,
    /// Bytes that are missing; 0 if it fits, null if that is not known.
    pub over_bytes: Option<u64>,
    /// What is needed, by kind.
    pub kinds: Vec<NeededKind>,
    /// Bytes of results whose memory is that of arguments.
    pub shared_bytes: Option<u64>,
    /// The largest buffers, as far as they are listed.
    pub buffers: Vec<NeededBuffer>,
    /// The buffers by source line, most bytes first.
    pub sources: Vec<NeededSource>,
    /// Changes that free memory, unless there is enough: those that suffice first.
    pub fixes: Vec<MemoryFix>,
    /// What cannot be told, and why.
    pub unknown: Vec<String>,
}

/// Memory of one kind.
#[engine::row(compiler)]
#[derive(Default)]
pub struct NeededKind {
    /// `arguments`, `temporaries`, `fragmentation` …
    #[column]
    pub kind: String,
    /// Its bytes.
    #[column]
    pub bytes: u64,
    /// The part of them that holds no element, if that is known.
    #[column(derived)]
    pub padding_bytes: Option<u64>,
}

/// A buffer that is in memory when the most is needed.
#[engine::row(compiler)]
#[derive(Default)]
pub struct NeededBuffer {
    /// The instruction, or what the compiler calls it.
    #[column]
    pub instruction: String,
    /// `HLO temp`, `argument` …
    #[column("What")]
    pub kind: String,
    /// Bytes with padding.
    #[column]
    pub bytes: u64,
    /// Bytes that hold no element.
    #[column(derived)]
    pub padding_bytes: Option<u64>,
    /// Shape with layout.
    #[column]
    pub shape: Option<String>,
    /// Name in the framework.
    #[column("Op")]
    pub op_name: Option<String>,
    /// `file:line`.
    #[column]
    pub source: Option<String>,
}

/// Buffers of one source line.
#[engine::row(derived)]
#[derive(Default)]
pub struct NeededSource {
    /// `file:line`.
    #[column]
    pub source: String,
    /// Their number.
    #[column]
    pub buffers: usize,
    /// Their bytes.
    #[column]
    pub bytes: u64,
    /// What of that holds no element, if that is known.
    #[column]
    pub padding_bytes: Option<u64>,
}

/// A change that frees memory.
#[engine::row(derived)]
#[derive(Default)]
pub struct MemoryFix {
    /// `donate`, `padding`, `dtype`, `rematerialize`, `shard`, `microbatch`, `offload`, `vmem-limit`.
    #[column(id = "fix")]
    pub id: String,
    /// Bytes that it frees, at most.
    #[column("Frees at most")]
    pub frees_bytes: u64,
    /// Whether that suffices; null if it is not known how much is missing.
    #[column(with = |fix| fix.suffices.map(|yes| if yes { "yes" } else { "no" }))]
    pub suffices: Option<bool>,
    /// What to do.
    #[column("What to do")]
    pub action: String,
}

impl NeededBuffer {
    /// Whether it is needed only while the program runs.
    pub(super) fn is_temporary(&self) -> bool {
        ["HLO temp", "temporary"].contains(&self.kind.as_str())
    }

    /// Whether its name says that it is the state of an optimizer.
    pub(super) fn is_optimizer_state(&self) -> bool {
        let name = self
            .op_name
            .as_deref()
            .unwrap_or(&self.instruction)
            .to_ascii_lowercase();
        !self.is_temporary() && OPTIMIZER.iter().any(|part| name.contains(part))
    }

    /// Its element type and sizes.
    pub(super) fn dims(&self) -> Option<(String, Vec<u64>, Vec<u64>)> {
        let shape = Shape::parse(self.shape.as_deref()?)?;
        let array = shape.array()?;
        Some((
            array.dtype.to_owned(),
            array.dims.clone(),
            array.minor_to_major.clone(),
        ))
    }

    /// `copy.7 at train.py:38`
    pub(super) fn named(&self) -> String {
        let file = self
            .source
            .as_deref()
            .and_then(|source| source.rsplit('/').next());
        match file {
            Some(file) if self.instruction.is_empty() => file.to_owned(),
            Some(file) => format!("{} at {file}", self.instruction),
            None => self.instruction.clone(),
        }
    }
}

impl MemoryShortage {
    /// Bytes of a kind.
    pub(super) fn kind(&self, name: &str) -> Option<u64> {
        let mut kinds = self.kinds.iter().filter(|kind| kind.kind == name);
        kinds.next().map(|kind| kind.bytes)
    }

    /// Adds bytes to those of a kind.
    pub(super) fn add_to_kind(&mut self, name: &str, bytes: u64) {
        match self.kinds.iter_mut().find(|kind| kind.kind == name) {
            Some(kind) => kind.bytes = kind.bytes.saturating_add(bytes),
            None => self.kinds.push(NeededKind {
                kind: name.to_owned(),
                bytes,
                padding_bytes: None,
            }),
        }
    }

    /// Bytes that hold no element: of all kinds if they are known, of all temporaries if the compiler says so, else of the
    /// listed buffers.
    pub(super) fn padding(&self) -> u64 {
        let of_kinds = self.kinds.iter().filter_map(|kind| kind.padding_bytes);
        let of_kinds = of_kinds.fold(0, u64::saturating_add);
        if self.kinds.iter().all(|kind| kind.padding_bytes.is_some()) && !self.kinds.is_empty() {
            return of_kinds;
        }
        let listed = self
            .buffers
            .iter()
            .filter_map(|buffer| buffer.padding_bytes);
        of_kinds.max(listed.fold(0, u64::saturating_add))
    }
}

impl MemoryShortage {
    /// Whether the listed buffers take more than is needed: they are not all in memory at the same time.
    pub fn shares_memory(&self) -> bool {
        let listed = self.buffers.iter().map(|buffer| buffer.bytes);
        let listed = listed.fold(0, u64::saturating_add);
        self.needed_bytes.is_some_and(|needed| listed > needed)
    }

    /// Bytes that a program leaves free; `None` if that is not known, as where it needs more than is told, and for messages,
    /// which tell of a failure.
    pub(super) fn spare_bytes(&self) -> Option<u64> {
        let is_message = ["the compiler", "the runtime"].contains(&self.told_by.as_str());
        let spare = self.capacity_bytes?.checked_sub(self.needed_bytes?);
        spare.filter(|_| !is_message && !self.is_least)
    }

    /// Whether it fits, and nothing is gained by freeing more: with a tenth of the memory to spare, or half of it where
    /// padding and gaps come on top.
    pub(super) fn has_room(&self) -> bool {
        let least = |there: u64| there / if self.is_estimate { 2 } else { 10 };
        let spare = self.spare_bytes().zip(self.capacity_bytes);
        spare.is_some_and(|(spare, there)| spare >= least(there))
    }
}

impl Tabular for MemoryShortage {
    fn tables(&self) -> Vec<Table> {
        let tables = [
            Table::of("kinds", "What is needed", &self.kinds)
                .remaining()
                .note(self.decimal_statement())
                .build(),
            Table::of("buffers", "The largest buffers", &self.buffers)
                .remaining()
                .build(),
            Table::of(
                "sources",
                "The largest buffers by source line",
                &self.sources,
            )
            .remaining()
            .build(),
            Table::of("fixes", "What would free memory", &self.fixes)
                .remaining()
                .notes(self.unknown.clone())
                .build(),
        ];
        tables
            .into_iter()
            .filter(|table| !table.rows.is_empty())
            .collect()
    }
}
