//! Replays a schedule with changed durations.
//!
//! Cores have no common clock, so only *delays* are compared between them: how much later than recorded a core reaches
//! some point. A transfer between `m` cores starts when the last core has arrived. If a core waited `w` in the
//! recording and has the delay `d` at that point, the last core arrives `max(d − w)` later than recorded. The transfer
//! then ends that much later on all cores, minus its own speedup.
//!
//! Replaying unchanged durations gives the recorded times to the picosecond.

use std::collections::BinaryHeap;

use facts::prelude::*;
use trace_model::Pauses;

use super::change::{ReplayChanges, scaled};
use super::schedule::{
    CoreSchedule, Flight, HiddenTransferBound, JointMember, ReplaySchedule, TimeByGroup,
};

/// Input of a replay.
#[derive(Clone, Copy)]
pub(super) struct ReplayInput<'a> {
    pub model: &'a TraceModel,
    pub schedule: &'a ReplaySchedule,
    pub changed: &'a ReplayChanges,
    pub belief: HiddenTransferBound,
    /// Recorded times of each core, sorted; the replay computes when they occur.
    pub instants: &'a [Vec<Timestamp>],
}

/// The replay of one core.
#[derive(Default)]
pub(super) struct CoreReplay {
    /// End of the core's window.
    pub end: Timestamp,
    /// New times of the recorded instants.
    pub instants: Vec<Timestamp>,
    /// Time of its ops: as recorded, and what each changed piece takes more or less.
    pub groups: TimeByGroup,
}

/// State of a transfer between cores during the replay.
#[derive(Clone, Copy, Default)]
struct JointProgress {
    came: u32,
    /// Largest delay minus wait of the members that have arrived.
    late: Option<Picos>,
    /// Whether missing members are no longer waited for.
    released: bool,
}

/// Replays all cores.
pub(super) fn play(game: ReplayInput<'_>) -> Vec<CoreReplay> {
    let cursors = game
        .schedule
        .cores
        .iter()
        .enumerate()
        .map(|(row, core)| CoreCursor {
            core,
            number: row,
            row: 0,
            now: core.window.start,
            came: false,
            flights: &core.flights,
            members: &core.members,
            alone: &core.alone,
            begun: BinaryHeap::new(),
            issued: 0,
            instants: game
                .instants
                .get(row)
                .map(Vec::as_slice)
                .unwrap_or_default(),
            out: CoreReplay {
                groups: core.groups,
                ..CoreReplay::default()
            },
        });
    let mut state = ReplayState {
        game,
        progress: vec![JointProgress::default(); game.schedule.joint.len()],
        pauses: Pauses::default(),
    };
    let mut cursors: Vec<CoreCursor<'_>> = cursors.collect();
    loop {
        let mut moved = false;
        for cursor in &mut cursors {
            moved |= state.advance(cursor);
        }
        // All cores are finished or wait for a member that never arrives.
        if !moved && !state.release_one(&cursors) {
            break;
        }
    }
    cursors
        .into_iter()
        .map(|cursor| state.finish(cursor))
        .collect()
}

/// A flight that has started.
#[derive(Clone, Copy)]
struct StartedFlight<'a> {
    flight: Flight,
    /// Its delay against the recording.
    late: Picos,
    /// Its membership, if it is part of a transfer between cores.
    member: Option<&'a JointMember>,
}

/// A flight in progress. The greatest is awaited first; of those that the same piece awaits, the last one counts.
#[derive(Clone, Copy)]
struct BegunFlight<'a> {
    flight: StartedFlight<'a>,
    nth: u32,
}

impl BegunFlight<'_> {
    fn key(&self) -> (Reverse<u32>, u32) {
        (Reverse(self.flight.flight.awaits), self.nth)
    }
}

impl Ord for BegunFlight<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for BegunFlight<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for BegunFlight<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for BegunFlight<'_> {}

/// Replay position of a core.
struct CoreCursor<'a> {
    core: &'a CoreSchedule,
    /// Row of [`ReplaySchedule::cores`].
    number: usize,
    /// Row of the next piece.
    row: usize,
    now: Timestamp,
    /// Whether the flight of the next piece has started.
    came: bool,
    /// Remaining flights of the core.
    flights: &'a [Flight],
    members: &'a [JointMember],
    alone: &'a [u32],
    /// Flights in progress, the one that is awaited first on top; there are few at a time.
    begun: BinaryHeap<BegunFlight<'a>>,
    /// Number of flights that have started.
    issued: u32,
    /// Remaining recorded instants.
    instants: &'a [Timestamp],
    out: CoreReplay,
}

impl<'a> CoreCursor<'a> {
    /// The flight that the next piece issues if it starts with this delay.
    fn issues(&self, late: Picos) -> Option<StartedFlight<'a>> {
        let flight = *self
            .flights
            .first()
            .filter(|flight| flight.issues as usize == self.row)?;
        Some(StartedFlight {
            flight,
            late,
            member: self
                .members
                .first()
                .filter(|member| member.issues == flight.issues),
        })
    }

    /// The flight that the next piece awaits.
    fn awaits(&self) -> Option<StartedFlight<'a>> {
        let begun = self.begun.peek()?.flight;
        (begun.flight.awaits as usize == self.row).then_some(begun)
    }

    /// Advances past the next piece, which has been played.
    fn pass(&mut self, issued: Option<StartedFlight<'a>>, awaited: bool) {
        while awaited && self.awaits().is_some() {
            self.begun.pop();
        }
        if let Some(issued) = issued {
            self.flights = &self.flights[1..];
            self.members = &self.members[usize::from(issued.member.is_some())..];
            if !issued.flight.is_sync() {
                self.begun.push(BegunFlight {
                    flight: issued,
                    nth: self.issued,
                });
                self.issued += 1;
            }
        }
        self.row += 1;
        self.came = false;
    }

    /// Moves past the next transfer of its own if it is the piece `row`; returns whether it is.
    fn take_alone(&mut self, row: usize) -> bool {
        let rest = self
            .alone
            .split_first()
            .filter(|&(&alone, _)| alone as usize == row)
            .map(|(_, rest)| rest);
        self.alone = rest.unwrap_or(self.alone);
        rest.is_some()
    }

    /// The first row that needs individual treatment: a transfer starts or ends there, or a requested instant lies in
    /// it or in the gap before it.
    fn stop(&self) -> usize {
        let pieces = self.core.pieces();
        let issues = self.flights.first().map(|flight| flight.issues);
        let awaits = self.begun.peek().map(|begun| begun.flight.flight.awaits);
        let tied = issues
            .into_iter()
            .chain(awaits)
            .min()
            .map_or(pieces.len(), |row| row as usize);
        match self.instants.first() {
            Some(&time) if pieces.range(tied).is_none_or(|range| time < range.start) => {
                pieces.partition_rows(self.row..tied, |range| range.end <= time)
            }
            _ => tied,
        }
    }

    /// Computes the new times of the instants up to the end of the piece that is replayed from `begin` to `end`.
    fn answer(&mut self, piece: SelfTimeSegment, gap: Picos, (begin, end): (Timestamp, Timestamp)) {
        let recorded = self.core.gap(self.row);
        while let Some((&time, rest)) = self
            .instants
            .split_first()
            .filter(|&(&time, _)| time < piece.range.end)
        {
            let comes = if time <= piece.range.start {
                begin - kept(piece.range.start - time, recorded, gap)
            } else {
                let share = (time - piece.range.start)
                    .fraction_of(piece.range.dur())
                    .unwrap_or(0.0);
                begin + Picos::rounded((end - begin).as_ps_f64() * share)
            };
            self.out.instants.push(comes);
            self.instants = rest;
        }
    }
}

/// Remaining part of a distance into (or beyond) a gap that shrinks from its end.
fn kept(distance: Picos, recorded: Picos, now: Picos) -> Picos {
    if distance > recorded {
        distance - recorded + now
    } else {
        distance.min(now)
    }
}

struct ReplayState<'a> {
    game: ReplayInput<'a>,
    progress: Vec<JointProgress>,
    pauses: Pauses,
}

impl ReplayState<'_> {
    /// Replays a core until it ends or must wait for another; returns whether it advanced.
    fn advance(&mut self, cursor: &mut CoreCursor<'_>) -> bool {
        let mut moved = false;
        while cursor.row < cursor.core.pieces().len() {
            self.pauses.add(64);
            let stop = cursor.stop();
            if cursor.row < stop {
                self.work(cursor, stop);
            } else if !self.piece(cursor, &mut moved) {
                return moved;
            }
            moved = true;
        }
        moved
    }

    /// Replays pieces without dependencies up to the row `stop`.
    fn work(&self, cursor: &mut CoreCursor<'_>, stop: usize) {
        let ReplayInput { changed, model, .. } = self.game;
        let core = cursor.core;
        let from = cursor.row;
        let (passed, rest) = cursor
            .alone
            .split_at(cursor.alone.partition_point(|&row| (row as usize) < stop));
        let mut longer = Picos::ZERO;
        let mut add = |row: usize, more: Picos| {
            longer += more;
            cursor.out.groups[core.piece(row as u32).class.group.index()] += more;
        };
        if !changed.keeps_transfers() {
            for &row in passed {
                let recorded = core.range(row).dur();
                add(
                    row as usize,
                    changed.transfer(model, core, alone(row as usize), recorded) - recorded,
                );
            }
        }
        // Most ops keep their time: only a column of four bytes is read for these.
        if let Some(work) = changed.scaled_work() {
            for (row, &op) in (from..stop).zip(&core.ops[from..stop]) {
                let factor = work.of(op);
                if factor.to_bits() != 1.0_f64.to_bits() {
                    let recorded = core.range(row as u32).dur();
                    add(row, scaled(recorded, factor) - recorded);
                }
            }
        }
        longer += changed.longer_gaps(cursor.number, core, from..stop);
        cursor.now = cursor.now + (core.before(stop) - core.before(from)) + longer;
        (cursor.alone, cursor.row) = (rest, stop);
    }

    /// Replays the next piece; `false` if it must wait for another core.
    fn piece(&mut self, cursor: &mut CoreCursor<'_>, moved: &mut bool) -> bool {
        let (core, row, ReplayInput { changed, model, .. }) = (cursor.core, cursor.row, self.game);
        let Some(piece) = core.pieces().get(row) else {
            return false;
        };
        let gap = changed.gap(cursor.number, row, core.gap(row));
        let begin = cursor.now + gap;
        let issued = cursor.issues(begin - piece.range.start);
        let awaited = cursor.awaits();
        if let (Some(issued), false) = (issued, cursor.came) {
            self.come(issued);
            cursor.came = true;
            *moved = true;
        }
        let recorded = piece.range.dur();
        let is_sync = issued.is_some_and(|issued| issued.flight.is_sync());
        let is_alone = cursor.take_alone(row);
        let takes = if is_sync {
            Picos::ZERO // Its time is that of the transfer.
        } else if let Some(awaited) = awaited {
            changed.work(core, row, core.done_takes(awaited.flight))
        } else if is_alone {
            changed.transfer(model, core, alone(row), recorded)
        } else {
            changed.work(core, row, recorded)
        };
        let mut end = begin + takes;
        for waits_for in awaited.into_iter().chain(issued.filter(|_| is_sync)) {
            let Some(arrival) = self.arrival(core, waits_for) else {
                return false;
            };
            end = end.max(arrival);
        }
        cursor.out.groups[piece.class.group.index()] += end - begin - recorded;
        cursor.answer(piece, gap, (begin, end));
        cursor.now = end;
        cursor.pass(issued, awaited.is_some());
        true
    }

    /// Handles the time after the last piece.
    fn finish(&self, mut cursor: CoreCursor<'_>) -> CoreReplay {
        let core = cursor.core;
        let row = cursor.core.pieces().len();
        let recorded = core.gap(row);
        let tail = self.game.changed.gap(cursor.number, row, recorded);
        let last = core.before(row);
        let comes = cursor
            .instants
            .iter()
            .map(|&time| cursor.now + kept(time - last, recorded, tail));
        cursor.out.instants.extend(comes);
        CoreReplay {
            end: cursor.now + tail,
            ..cursor.out
        }
    }

    fn come(&mut self, begun: StartedFlight<'_>) {
        let Some(member) = begun.member else { return };
        let Some(progress) = self.progress.get_mut(member.transfer as usize) else {
            return;
        };
        let late = begun.late - member.wait;
        progress.came += 1;
        progress.late = Some(progress.late.map_or(late, |latest| latest.max(late)));
    }

    /// Arrival time of a flight on its core; `None` while a member is missing.
    fn arrival(
        &self,
        core: &CoreSchedule,
        StartedFlight {
            flight,
            late,
            member,
        }: StartedFlight<'_>,
    ) -> Option<Timestamp> {
        let ReplayInput {
            model,
            schedule,
            changed,
            belief,
            ..
        } = self.game;
        let (took, wait, late) = match member {
            None => (core.took(flight, Picos::ZERO), Picos::ZERO, late),
            Some(member) => {
                let transfer = member.transfer as usize;
                let joint = schedule.joint.get(transfer)?;
                let progress = self.progress.get(transfer)?;
                if progress.came < joint.members && !progress.released {
                    return None;
                }
                (joint.took, member.wait, progress.late.unwrap_or_default())
            }
        };
        let took = schedule.believed(took, belief, || core.label(model, flight.issues));
        let recorded = core
            .arrived(flight)
            .unwrap_or(core.range(flight.issues).start + wait + took);
        let sooner = took - changed.transfer(model, core, flight, took);
        Some(recorded + late - sooner)
    }

    /// Releases the first waiting core from members that never arrive.
    fn release_one(&mut self, cursors: &[CoreCursor<'_>]) -> bool {
        for cursor in cursors {
            let issued = cursor
                .issues(Picos::ZERO)
                .filter(|issued| issued.flight.is_sync());
            for member in cursor
                .awaits()
                .into_iter()
                .chain(issued)
                .filter_map(|waits_for| waits_for.member)
            {
                let Some(progress) = self.progress.get_mut(member.transfer as usize) else {
                    continue;
                };
                if !std::mem::replace(&mut progress.released, true) {
                    return true;
                }
            }
        }
        false
    }
}

/// The flight of a piece that is a transfer of its own.
fn alone(row: usize) -> Flight {
    Flight {
        issues: row as u32,
        awaits: row as u32,
    }
}
