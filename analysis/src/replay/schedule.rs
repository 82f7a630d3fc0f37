//! What has to be replayed: the ops of each core in order, the idle time between
//! them, and the transfers that tie them together.

use std::ops::Range;
use std::sync::Arc;

use trace_model::{GroupId, LabelId, Picos, TimeRange, Timestamp};

use crate::category::OpClass;
use crate::core_time::{CoreTime, Segment};

/// A done op of something that is already finished takes a cycle or two: the
/// shortest ones in captures of real chips. Longer ones waited.
pub(super) const DONE_TAKES: Picos = Picos::from_ps(1_250);

/// How a piece hangs together with a transfer, a row of [`Schedule::transfers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tie {
    /// Issues it and goes on.
    Start(usize),
    /// Waits until it has arrived.
    Done(usize),
    /// Is the transfer: begins when the last member has come, ends when it has arrived.
    Sync(usize),
}

impl Tie {
    pub fn transfer(self) -> usize {
        match self {
            Self::Start(transfer) | Self::Done(transfer) | Self::Sync(transfer) => transfer,
        }
    }

    /// Own time of a piece that took `recorded`, waiting for the transfer left out.
    pub fn own(self, recorded: Picos) -> Picos {
        match self {
            Self::Start(_) => recorded,
            Self::Done(_) => recorded.min(DONE_TAKES),
            Self::Sync(_) => Picos::ZERO,
        }
    }
}

/// The ops of one core. Its pieces are the segments of its time: there are as many
/// as ops were executed, so they are shared and never copied.
#[derive(Debug)]
pub(super) struct Core {
    pub group: GroupId,
    pub window: TimeRange,
    pub time: Arc<CoreTime>,
    /// Pieces that hang together with transfers, by row; all others only take their time.
    pub ties: Vec<(usize, Tie)>,
}

impl Core {
    pub fn pieces(&self) -> &[Segment] {
        &self.time.segments
    }

    /// End of what comes before a piece.
    pub fn before(&self, row: usize) -> Timestamp {
        let piece = row.checked_sub(1).and_then(|row| self.pieces().get(row));
        piece.map_or(self.window.start, |piece| piece.range.end)
    }

    /// Idle time before a piece; after the last one for the row behind it.
    pub fn gap(&self, row: usize) -> Picos {
        let until = self.pieces().get(row).map_or(self.window.end, |piece| piece.range.start);
        (until - self.before(row)).clamped()
    }
}

/// One participant of a transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    /// Row of [`Schedule::cores`].
    pub core: usize,
    /// Begin of its start, or of the op.
    pub begin: Timestamp,
    /// How long it waited for the last member to come.
    pub wait: Picos,
    /// When the transfer had arrived here; `None` where the core was still busy then.
    pub arrived: Option<Timestamp>,
}

/// Something that takes time beside the ops, or instead of them. There can be one for
/// every other op, so its members are kept together with all others.
#[derive(Debug)]
pub(super) struct Transfer {
    pub class: OpClass,
    /// The op that issues it.
    pub label: LabelId,
    /// Rows of [`Schedule::members`], by core.
    pub members: Range<usize>,
    /// Shortest and longest time that it can have taken after the last member came,
    /// as recorded. They differ where it arrived while every member was busy.
    pub took: (Picos, Picos),
}

/// Everything that is replayed.
#[derive(Debug)]
pub(super) struct Schedule {
    pub cores: Vec<Core>,
    pub transfers: Vec<Transfer>,
    /// Of all transfers, one after the other.
    pub members: Vec<Member>,
    /// Transfers of which not all members were found: they are taken as they are.
    pub unmatched: u64,
}

/// Which of the possible lengths of a hidden transfer to believe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Belief {
    /// The shortest: hidden transfers never come to light.
    Shortest,
    /// The longest: they come to light as soon as what hides them shrinks.
    Longest,
}

impl Schedule {
    pub fn members(&self, transfer: &Transfer) -> &[Member] {
        self.members.get(transfer.members.clone()).unwrap_or_default()
    }
}

impl Transfer {
    pub fn took(&self, belief: Belief) -> Picos {
        match belief {
            Belief::Shortest => self.took.0,
            Belief::Longest => self.took.1,
        }
    }
}
