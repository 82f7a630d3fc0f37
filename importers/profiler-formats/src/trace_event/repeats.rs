//! Parts of events that repeat byte for byte: comparing them is several times faster than parsing them.
//!
//! ```text
//! {"ph":"X","pid":7,"tid":12,"ts":9.25,"dur":1.5,"name":"Wait","args":{"_src":"pool.cc"}}
//! └────────── head ─────────┘                    └──────────────── rest ────────────────┘
//! ```
//!
//! Events of a thread have the same head, and most events of a host the same rest: nine tenths of those of a JAX
//! program on CPUs.

use std::ops::Range;

use super::names::{NameId, OpNumbers};

/// Longer heads and rests are not kept.
const MAX_HEAD: usize = 96;
const MAX_REST: usize = 1024;
/// Number of rests that are kept; a power of two.
const RESTS: usize = 1 << 10;

/// The heads and rests of recent events.
#[derive(Default)]
pub(super) struct EventRepeats {
    head: EventHead,
    /// By [`place_of`]; empty until the first rest is kept.
    rests: Vec<EventRest>,
}

/// The phase and the ids with which an event starts.
#[derive(Default)]
struct EventHead {
    bytes: Vec<u8>,
    ids: HeadIds,
}

/// What a head says.
#[derive(Clone, Copy, Default)]
pub(super) struct HeadIds {
    pub ph: u8,
    pub pid: i64,
    pub tid: i64,
    /// Number of members.
    pub members: u32,
}

/// An event from its name to its closing brace. Its arguments have no numbers of an execution.
#[derive(Default)]
pub(super) struct EventRest {
    bytes: Vec<u8>,
    pub parts: RestParts,
    pub facts: RestFacts,
}

/// Where the members of a rest are.
#[derive(Default)]
pub(super) struct RestParts {
    pub name: Range<usize>,
    pub name_is_escaped: bool,
    /// Empty if there are no arguments.
    pub args: Range<usize>,
    /// Number of members.
    pub members: u32,
}

/// What the members of a rest mean.
#[derive(Clone, Copy, Default)]
pub(super) struct RestFacts {
    pub name: NameId,
    pub texts: Option<u32>,
    pub numbers: OpNumbers,
    /// Whether there are facts about an op.
    pub has_op: bool,
}

impl EventRepeats {
    /// The last head and its length, if `event` starts with it.
    #[inline]
    pub fn head(&self, event: &[u8]) -> Option<(HeadIds, usize)> {
        let bytes = &self.head.bytes;
        (!bytes.is_empty() && event.starts_with(bytes)).then_some((self.head.ids, bytes.len()))
    }

    pub fn keep_head(&mut self, bytes: &[u8], ids: HeadIds) {
        if bytes.len() <= MAX_HEAD {
            self.head.bytes.clear();
            self.head.bytes.extend_from_slice(bytes);
            self.head.ids = ids;
        }
    }

    /// The rest that `event` continues with from its name on, if it is known, and its length.
    #[inline]
    pub fn rest(&self, event: &[u8]) -> Option<(&EventRest, usize)> {
        let rest = self.rests.get(place_of(event)?)?;
        (!rest.bytes.is_empty() && event.starts_with(&rest.bytes))
            .then_some((rest, rest.bytes.len()))
    }

    pub fn keep_rest(&mut self, bytes: &[u8], parts: RestParts, facts: RestFacts) {
        // A member that occurs twice is rare, and takes no part in this.
        let is_usual = bytes.len() <= MAX_REST && parts.members <= 2;
        let Some(place) = place_of(bytes).filter(|_| is_usual) else {
            return;
        };
        if self.rests.is_empty() {
            self.rests.resize_with(RESTS, EventRest::default);
        }
        let rest = &mut self.rests[place];
        rest.bytes.clear();
        rest.bytes.extend_from_slice(bytes);
        (rest.parts, rest.facts) = (parts, facts);
    }
}

/// The place of a rest, by the first letters of its name and by some in the middle of usual names, which differ where
/// the first ones are those of a class. `None` for the shortest rests.
#[inline]
fn place_of(rest: &[u8]) -> Option<usize> {
    let word = |position: usize| {
        rest.get(position..)?
            .first_chunk::<8>()
            .map(|word| u64::from_le_bytes(*word))
    };
    let mixed = word(8)?.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ word(26)?.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    Some((mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize % RESTS)
}
