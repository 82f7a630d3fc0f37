//! What has to be replayed: the ops of each core in order, the idle time between
//! them, and the transfers that tie them together.
//!
//! There can be a transfer for every other op, so each is no more than the rows of
//! its pieces: begin, end, kind and label are looked up there.

use std::collections::HashMap;
use std::sync::Arc;

use trace_model::{GroupId, LabelId, Picos, TimeRange, Timestamp, TraceModel};

use crate::facts::core_time::{CoreTime, SelfTimeSegment};

/// A done op of something that is already finished takes a cycle or two: the
/// shortest ones in captures of real chips. Longer ones waited.
pub(super) const DONE_TAKES: Picos = Picos::from_ps(1_250);

/// A transfer on one core: what issues it and what waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flight {
    /// Row of the piece that issues it.
    pub issues: u32,
    /// Row of the piece that waits for it; the same for a synchronous one.
    pub awaits: u32,
}

impl Flight {
    pub(crate) fn is_sync(self) -> bool {
        self.issues == self.awaits
    }
}

/// The ops of one core. Its pieces are the segments of its time: there are as many
/// as ops were executed, so they are shared and never copied.
#[derive(Debug)]
pub(super) struct CoreSchedule {
    pub group: GroupId,
    pub window: TimeRange,
    pub time: Arc<CoreTime>,
    /// By the piece that issues them; pieces without a transfer only take their time.
    pub flights: Vec<Flight>,
    /// Those of its flights that are part of a transfer between cores, in the same order.
    pub members: Vec<JointMember>,
    /// Rows of pieces that are a transfer by themselves, which depends on nothing else.
    pub alone: Vec<u32>,
}

impl CoreSchedule {
    pub(crate) fn pieces(&self) -> &[SelfTimeSegment] {
        &self.time.segments
    }

    /// A piece that a flight names.
    pub(crate) fn piece(&self, row: u32) -> &SelfTimeSegment {
        &self.pieces()[row as usize]
    }

    /// End of what comes before a piece.
    pub(crate) fn before(&self, row: usize) -> Timestamp {
        let piece = row.checked_sub(1).and_then(|row| self.pieces().get(row));
        piece.map_or(self.window.start, |piece| piece.range.end)
    }

    /// Idle time before a piece; after the last one for the row behind it.
    pub(crate) fn gap(&self, row: usize) -> Picos {
        let until = self.pieces().get(row).map_or(self.window.end, |piece| piece.range.start);
        (until - self.before(row)).clamped()
    }

    /// The op of a piece that a flight names.
    pub(crate) fn label(&self, model: &TraceModel, row: u32) -> LabelId {
        model.slice(self.piece(row).slice).label_id()
    }

    /// When the flight had arrived; `None` if the core was still busy then.
    pub(crate) fn arrived(&self, flight: Flight) -> Option<Timestamp> {
        let done = self.piece(flight.awaits).range;
        (flight.is_sync() || done.dur() > DONE_TAKES).then_some(done.end)
    }

    /// How long the flight took after the wait for others: as seen, or else at most.
    pub(crate) fn took(&self, flight: Flight, wait: Picos) -> TransferTime {
        let after = |end: Timestamp| (end - self.piece(flight.issues).range.start - wait).clamped();
        match self.arrived(flight) {
            Some(arrived) => TransferTime::Seen(after(arrived)),
            None => TransferTime::AtMost(after(self.piece(flight.awaits).range.start)),
        }
    }
}

/// The part of one core in a transfer between several.
#[derive(Clone, Copy, Debug)]
pub(super) struct JointMember {
    /// Row of the piece that issues it.
    pub issues: u32,
    /// Row of [`ReplaySchedule::joint`].
    pub transfer: u32,
    /// How long it waited for the last member to come.
    pub wait: Picos,
}

/// A transfer between several cores.
#[derive(Clone, Copy, Debug)]
pub(super) struct JointTransfer {
    pub members: u32,
    pub took: TransferTime,
}

/// Time that a transfer takes after its last member came, as recorded. Of what its
/// members saw the least counts: whoever waited for it knows, and of those who found
/// that it had arrived the one who looked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TransferTime {
    /// Somebody waited for it.
    Seen(Picos),
    /// It arrived while everyone was busy.
    AtMost(Picos),
}

/// Everything that is replayed.
#[derive(Debug)]
pub(super) struct ReplaySchedule {
    pub cores: Vec<CoreSchedule>,
    /// Transfers that several cores take part in.
    pub joint: Vec<JointTransfer>,
    /// The least time that transfers of an op take, for ops with hidden ones.
    pub least: HashMap<LabelId, Picos>,
    /// Flights of which not all members were found: they are taken as they are.
    pub unmatched: u64,
}

/// Which of the possible lengths of a hidden transfer to believe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HiddenTransferBound {
    /// The shortest: hidden transfers never come to light.
    Shortest,
    /// The longest: they come to light as soon as what hides them shrinks.
    Longest,
}

impl ReplaySchedule {
    /// What to believe of a transfer that an op of this label issues.
    pub(crate) fn believed(
        &self,
        took: TransferTime,
        belief: HiddenTransferBound,
        label: impl FnOnce() -> LabelId,
    ) -> Picos {
        match (took, belief) {
            (TransferTime::Seen(took), _) | (TransferTime::AtMost(took), HiddenTransferBound::Longest) => took,
            (TransferTime::AtMost(most), HiddenTransferBound::Shortest) => {
                self.least.get(&label()).map_or(Picos::ZERO, |least| most.min(*least))
            }
        }
    }
}
