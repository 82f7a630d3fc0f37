//! The input of a replay: the ops of each core in order, the idle time between them, and the transfers that connect
//! them.
//!
//! There can be a transfer for every other op, so a transfer stores only the rows of its pieces: begin, end, kind and
//! label are looked up there.

use std::sync::OnceLock;

use facts::core_time::Segments;
use facts::prelude::*;
use facts::{CoreTime, SharedClock};

/// The done op of a transfer that has already finished takes a cycle or two, which are the shortest ones in captures
/// of real chips.
const DONE_TAKES: Picos = Picos::from_ps(1_250);

/// Most done ops of v6e and v7x take 2.4 to 4.8 ns, whether or not their transfer has long arrived. Up to this length, they
/// are no wait if the transfer was in flight for at least [`FAR_LONGER`] times as long.
const DONE_AT_MOST: Picos = Picos::from_ps(5_000);

/// See [`DONE_AT_MOST`].
const FAR_LONGER: i64 = 100;

/// A transfer on one core: the op that issues it and the op that waits for it.
#[derive(Clone, Copy, Debug)]
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

/// The ops of one core. Its pieces are the segments of its time. There are as many as executed ops, so they are
/// shared and never copied.
#[derive(Debug)]
pub(super) struct CoreSchedule {
    pub group: GroupId,
    pub window: TimeRange,
    pub time: CoreTime,
    /// Flights by the piece that issues them; pieces without a transfer only take their time.
    pub flights: Vec<Flight>,
    /// The number of the flight that each piece awaits, or [`NO_FLIGHT`], once a path asks for them.
    pub awaited: OnceLock<Vec<u32>>,
    /// Flights that are part of a transfer between cores, in the same order.
    pub members: Vec<JointMember>,
    /// Rows of pieces that are themselves a transfer without dependencies.
    pub alone: Vec<u32>,
    /// The op of each piece, by its number; [`NO_OP`] for those in `alone`, whose time is that of a transfer.
    pub ops: Vec<u32>,
    /// Recorded time of its pieces.
    pub groups: TimeByGroup,
    /// Its clock beside that of other hosts.
    pub shared_clock: Option<SharedClock>,
}

/// Time of each group of ops.
pub(super) type TimeByGroup = [Picos; OpGroup::ALL.len()];

/// In place of the number of an op.
pub(super) const NO_OP: u32 = u32::MAX;

/// In place of the number of a flight.
const NO_FLIGHT: u32 = u32::MAX;

impl CoreSchedule {
    pub(crate) fn pieces(&self) -> &Segments {
        &self.time.segments
    }

    /// A piece of this core, by its row.
    #[expect(clippy::expect_used, reason = "rows come from the pieces")]
    pub(crate) fn piece(&self, row: u32) -> SelfTimeSegment {
        self.pieces().get(row as usize).expect("a row of a piece")
    }

    /// When a piece of this core ran.
    #[expect(clippy::expect_used, reason = "rows come from the pieces")]
    pub(crate) fn range(&self, row: u32) -> TimeRange {
        self.pieces().range(row as usize).expect("a row of a piece")
    }

    /// End of the previous piece.
    pub(crate) fn before(&self, row: usize) -> Timestamp {
        let piece = row.checked_sub(1).and_then(|row| self.pieces().range(row));
        piece.map_or(self.window.start, |range| range.end)
    }

    /// Idle time before a piece; for the row after the last one, the idle time after it.
    pub(crate) fn gap(&self, row: usize) -> Picos {
        let until = self
            .pieces()
            .range(row)
            .map_or(self.window.end, |range| range.start);
        (until - self.before(row)).clamped()
    }

    /// The flight that a piece awaits. Of several the last one counts, as in a replay.
    pub(crate) fn awaited_by(&self, row: u32) -> Option<Flight> {
        let awaited = self.awaited.get_or_init(|| {
            let mut awaited = vec![NO_FLIGHT; self.pieces().len()];
            for (number, flight) in (0..).zip(&self.flights) {
                awaited[flight.awaits as usize] = number;
            }
            awaited
        });
        self.flights
            .get(*awaited.get(row as usize)? as usize)
            .copied()
    }

    /// The op of a piece that belongs to a flight.
    pub(crate) fn label(&self, model: &TraceModel, row: u32) -> LabelId {
        model.slice(self.piece(row).slice).label_id()
    }

    /// When the flight arrived; `None` if the core was still busy then.
    pub(crate) fn arrived(&self, flight: Flight) -> Option<Timestamp> {
        let done = self.range(flight.awaits);
        let took = (done.end - self.range(flight.issues).start).ps();
        let is_short =
            done.dur() <= DONE_AT_MOST && done.dur().ps().saturating_mul(FAR_LONGER) <= took;
        let waited = done.dur() > DONE_TAKES && !is_short;
        (flight.is_sync() || waited).then_some(done.end)
    }

    /// The time that the done op of the flight takes itself, without waiting.
    pub(crate) fn done_takes(&self, flight: Flight) -> Picos {
        let recorded = self.range(flight.awaits).dur();
        if self.arrived(flight).is_some() {
            recorded.min(DONE_TAKES)
        } else {
            recorded
        }
    }

    /// Duration of the flight after the wait for others: observed, or else an upper bound.
    pub(crate) fn took(&self, flight: Flight, wait: Picos) -> TransferTime {
        let after = |end: Timestamp| (end - self.range(flight.issues).start - wait).clamped();
        match self.arrived(flight) {
            Some(arrived) => TransferTime::Seen(after(arrived)),
            None => TransferTime::AtMost(after(self.range(flight.awaits).start)),
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
    /// How long it waited for the last member to arrive.
    pub wait: Picos,
}

/// A transfer between several cores.
#[derive(Clone, Copy)]
pub(super) struct JointTransfer {
    pub members: u32,
    pub took: TransferTime,
}

/// Recorded duration of a transfer after its last member arrived. The smallest duration that its members observed
/// counts: a member that waited observed it exactly, and of the members that did not wait, the one that checked first
/// gives the lowest upper bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TransferTime {
    /// A member waited for it.
    Seen(Picos),
    /// It arrived while all members were busy.
    AtMost(Picos),
}

/// Everything that is replayed.
pub(super) struct ReplaySchedule {
    pub cores: Vec<CoreSchedule>,
    /// Transfers that several cores take part in.
    pub joint: Vec<JointTransfer>,
    /// The shortest duration of the transfers of an op, for ops with hidden ones, by label; empty without any.
    pub least: Vec<Option<Picos>>,
    /// Number of flights whose members were not all found: they keep their recorded duration.
    pub unmatched: u64,
}

/// The assumed length of a hidden transfer.
#[derive(Clone, Copy)]
pub(super) enum HiddenTransferBound {
    /// The shortest: hidden transfers never become exposed.
    Shortest,
    /// The longest: they become exposed as soon as the compute that hides them shrinks.
    Longest,
}

impl ReplaySchedule {
    /// The assumption for a transfer that an op of this label issues.
    pub(crate) fn believed(
        &self,
        took: TransferTime,
        belief: HiddenTransferBound,
        label: impl FnOnce() -> LabelId,
    ) -> Picos {
        match (took, belief) {
            (TransferTime::Seen(took), _)
            | (TransferTime::AtMost(took), HiddenTransferBound::Longest) => took,
            (TransferTime::AtMost(most), HiddenTransferBound::Shortest) => {
                let least = self.least.get(label().index()).copied().flatten();
                least.map_or(Picos::ZERO, |least| most.min(least))
            }
        }
    }
}
