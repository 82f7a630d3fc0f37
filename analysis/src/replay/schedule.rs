//! What has to be replayed: the ops of each core in order, the idle time between
//! them, and the transfers that tie them together.

use std::sync::Arc;

use trace_model::{GroupId, LabelId, Picos, SliceId, TimeRange, Timestamp};

use crate::category::OpClass;

/// How a piece hangs together with transfers. The number is a row of [`Schedule::transfers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Takes its time, whatever happens elsewhere.
    Work,
    /// Issues a transfer and goes on.
    Start(usize),
    /// Waits until a transfer has arrived.
    Done(usize),
    /// Is the transfer: begins when the last member has come, ends when it has arrived.
    Sync(usize),
}

/// A span in which one op is the innermost one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// As recorded.
    pub range: TimeRange,
    pub slice: SliceId,
    pub label: LabelId,
    pub class: OpClass,
    pub kind: Kind,
}

/// How long things take in the replay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// Idle time before a piece.
    pub gap: Picos,
    /// Its own time, waiting for transfers left out.
    pub dur: Picos,
}

/// The ops of one core.
#[derive(Clone, Debug)]
pub(super) struct Core {
    pub group: GroupId,
    pub window: TimeRange,
    /// Shared by all replays: there are as many as ops were executed.
    pub pieces: Arc<Vec<Piece>>,
    /// Of each piece.
    pub timings: Vec<Timing>,
    /// Idle time after the last piece, in the replay.
    pub tail: Picos,
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

/// Something that takes time beside the ops, or instead of them.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    pub class: OpClass,
    /// The op that issues it.
    pub label: LabelId,
    /// By core.
    pub members: Vec<Member>,
    /// Shortest and longest time that it can have taken after the last member came,
    /// as recorded. They differ where it arrived while every member was busy.
    pub took: (Picos, Picos),
    /// What that time is multiplied by in the replay.
    pub factor: f64,
}

/// Everything that is replayed.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    pub cores: Vec<Core>,
    pub transfers: Vec<Transfer>,
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

impl Transfer {
    pub fn took(&self, belief: Belief) -> Picos {
        match belief {
            Belief::Shortest => self.took.0,
            Belief::Longest => self.took.1,
        }
    }
}
