//! Dividing steps into what their time went to.
//!
//! ```text
//! ops        [matmul ]  [all-gather-done]   [copy-done][infeed]
//! in flight         [all-gather          ]
//! part       m m m m x x x x x x x x x x .   c c c c c  h h h   .
//! ```
//!
//! An instant belongs to the innermost op that runs; where none does, to a collective
//! in flight (`x`, exposed communication), else it is idle (`.`). So every instant
//! has exactly one part. Steps only cut the one partition of their core: sums up to
//! each begin and end of a step are noted in a single pass, and what a step has of a
//! part is the difference of two of them, however steps overlap.

use engine::{CellKind, CellType as _, Columns, DeclaredColumns};
use facts::prelude::*;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize};

/// A part of the time of a step.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum StepPart {
    /// Matrix multiplications and convolutions.
    #[serde(rename = "matmul")]
    MatMul,
    /// Elementwise work and reductions.
    Vector,
    /// Copies and layout changes that the core makes itself.
    DataMovement,
    /// Kernels that XLA did not write.
    Kernel,
    /// Exposed communication: synchronous collectives, starts, dones, and time in which a collective is in flight and
    /// no op runs.
    ExposedComm,
    /// Waiting for copies and other asynchronous ops that are no collectives.
    CopyWait,
    /// Infeed, outfeed, transfers to and from the host.
    HostIo,
    /// Work of or for a `SparseCore`.
    SparseCore,
    /// Loop overhead, and ops of unknown category.
    Other,
    /// No op runs and no collective is in flight.
    Idle,
}

/// Number of parts.
const COUNT: usize = StepPart::ALL.len();

impl StepPart {
    /// All parts in table order: usually large ones first.
    pub const ALL: [Self; 10] = [
        Self::MatMul,
        Self::Vector,
        Self::Kernel,
        Self::ExposedComm,
        Self::CopyWait,
        Self::Idle,
        Self::HostIo,
        Self::DataMovement,
        Self::SparseCore,
        Self::Other,
    ];

    /// Column id.
    pub fn id(self) -> &'static str {
        match self {
            Self::MatMul => "matmul_ps",
            Self::Vector => "vector_ps",
            Self::DataMovement => "data_movement_ps",
            Self::Kernel => "kernel_ps",
            Self::ExposedComm => "exposed_comm_ps",
            Self::CopyWait => "copy_wait_ps",
            Self::HostIo => "host_io_ps",
            Self::SparseCore => "sparse_core_ps",
            Self::Other => "other_ps",
            Self::Idle => "idle_ps",
        }
    }

    /// Display name.
    pub fn title(self) -> &'static str {
        match self {
            Self::ExposedComm => "Exposed comm",
            part => part.group().title(),
        }
    }

    /// The ops that it is the time of.
    pub fn group(self) -> OpGroup {
        match self {
            Self::MatMul => OpGroup::MatMul,
            Self::Vector => OpGroup::Vector,
            Self::DataMovement => OpGroup::DataMovement,
            Self::Kernel => OpGroup::CustomKernel,
            Self::ExposedComm => OpGroup::Collective,
            Self::CopyWait => OpGroup::AsyncWait,
            Self::HostIo => OpGroup::HostIo,
            Self::SparseCore => OpGroup::SparseCore,
            Self::Other => OpGroup::Other,
            Self::Idle => OpGroup::Idle,
        }
    }

    /// The core works for the program: what differs between cores is their load.
    pub(crate) fn is_work(self) -> bool {
        !matches!(
            self,
            Self::ExposedComm | Self::CopyWait | Self::HostIo | Self::Idle
        )
    }

    /// The part of an instant whose innermost op has this class.
    pub fn of(class: &OpClass) -> Self {
        match class.group {
            OpGroup::MatMul => Self::MatMul,
            OpGroup::Vector => Self::Vector,
            OpGroup::DataMovement => Self::DataMovement,
            OpGroup::CustomKernel => Self::Kernel,
            OpGroup::Collective => Self::ExposedComm,
            OpGroup::AsyncWait => Self::CopyWait,
            OpGroup::HostIo => Self::HostIo,
            OpGroup::SparseCore => Self::SparseCore,
            OpGroup::Control | OpGroup::Other | OpGroup::Idle => Self::Other,
        }
    }

    fn index(self) -> usize {
        self as usize
    }
}

impl From<StepPart> for TimeUse {
    fn from(part: StepPart) -> Self {
        part.group().into()
    }
}

/// A time for each part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeByPart([Picos; COUNT]);

impl TimeByPart {
    /// The time of one part.
    pub fn get(&self, part: StepPart) -> Picos {
        self.0[part.index()]
    }

    /// The time of all parts.
    pub fn total(&self) -> Picos {
        self.0.into_iter().sum()
    }

    /// The time of the parts in which the core works.
    pub fn work(&self) -> Picos {
        StepPart::ALL
            .into_iter()
            .filter(|part| part.is_work())
            .map(|part| self.get(part))
            .sum()
    }

    /// Adds time to a part.
    pub fn add(&mut self, part: StepPart, time: Picos) {
        self.0[part.index()] += time;
    }

    /// Part by part; exact.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] + other.0[i]))
    }

    /// Part by part; exact.
    pub(crate) fn minus(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] - other.0[i]))
    }
}

/// A column for each part.
impl Columns for TimeByPart {
    fn declare(columns: &mut DeclaredColumns<Self>) {
        for part in StepPart::ALL {
            columns.column(
                [part.id(), part.title()],
                Unit::Picoseconds,
                Some(Provenance::Measured),
                CellKind::Int,
                move |parts| parts.get(part).cell(),
            );
        }
    }
}

/// As a map of column ids to picoseconds.
impl Serialize for TimeByPart {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(COUNT))?;
        for part in StepPart::ALL {
            map.serialize_entry(part.id(), &self.get(part))?;
        }
        map.end()
    }
}

/// The parts of each of `ranges`, which may overlap. `segments` are disjoint and in time order; `unhidden` is the time in
/// which collectives are in flight and no op runs.
pub(super) fn divide(
    segments: impl Iterator<Item = SelfTimeSegment>,
    unhidden: &IntervalSet,
    ranges: &[TimeRange],
) -> Vec<TimeByPart> {
    let mut cuts: Vec<Timestamp> = ranges
        .iter()
        .flat_map(|range| [range.start, range.end])
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    let ops = sums_at(
        &cuts,
        segments.map(|segment| (segment.range, StepPart::of(&segment.class))),
    );
    let comm = sums_at(
        &cuts,
        unhidden
            .ranges()
            .iter()
            .map(|range| (*range, StepPart::ExposedComm)),
    );
    let until = |time: Timestamp| match cuts.binary_search(&time) {
        Ok(index) => ops[index].plus(&comm[index]),
        Err(_) => TimeByPart::default(), // Unreachable: every start and end is a cut.
    };
    ranges
        .iter()
        .map(|range| {
            let mut parts = until(range.end).minus(&until(range.start));
            parts.add(StepPart::Idle, range.dur() - parts.total());
            parts
        })
        .collect()
}

/// Prefix sums at each cut; pieces are disjoint and in time order.
fn sums_at(
    cuts: &[Timestamp],
    pieces: impl Iterator<Item = (TimeRange, StepPart)>,
) -> Vec<TimeByPart> {
    let mut out = Vec::with_capacity(cuts.len());
    let mut sum = TimeByPart::default();
    let mut cuts = cuts.iter().copied().peekable();
    for (piece, part) in pieces {
        while let Some(cut) = cuts.next_if(|cut| *cut < piece.end) {
            let mut here = sum;
            if piece.start < cut {
                here.add(part, cut - piece.start);
            }
            out.push(here);
        }
        sum.add(part, piece.dur());
    }
    out.extend(cuts.map(|_| sum));
    out
}
