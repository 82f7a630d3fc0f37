//! Plays a schedule: when everything happens once durations have changed.
//!
//! Cores keep no common clock, so nothing is compared between them but *delays*:
//! how much later than recorded a core is at some point. A transfer that `m` cores
//! take part in begins when the last has come. With the wait `w` that was recorded
//! for a core and its delay `d` at that point, the last comes `max(d − w)` later
//! than recorded; the transfer then arrives everywhere that much later, and sooner
//! by what it was sped up.
//!
//! Replaying unchanged durations gives the recorded times to the picosecond.

use trace_model::{Picos, Timestamp, TraceModel};

use super::change::Changed;
use super::schedule::{Belief, Core, Member, Schedule, Tie};
use crate::category::OpGroup;
use crate::core_time::Segment;

/// Time of each group of ops.
pub(super) type Groups = [Picos; OpGroup::ALL.len()];

/// What is played, and how.
#[derive(Clone, Copy)]
pub(super) struct Game<'a> {
    pub model: &'a TraceModel,
    pub schedule: &'a Schedule,
    pub changed: &'a Changed,
    pub belief: Belief,
    /// Recorded instants of each core, sorted: asked for when they come in the replay.
    pub instants: &'a [Vec<Timestamp>],
    /// Whether to add up what kinds of ops take. Without it nothing looks at pieces
    /// that take what they took.
    pub with_groups: bool,
}

/// The replay of one core.
#[derive(Default)]
pub(super) struct Played {
    /// When its window ends.
    pub end: Timestamp,
    /// When the recorded instants come.
    pub instants: Vec<Timestamp>,
    /// What its ops take.
    pub groups: Groups,
}

/// What is known of a transfer while playing.
#[derive(Clone, Copy, Default)]
struct Progress {
    came: usize,
    /// Largest delay less wait of those who came.
    late: Option<Picos>,
    /// Members that never come are not waited for.
    released: bool,
}

/// Plays all cores.
pub(super) fn play(game: Game<'_>) -> Vec<Played> {
    let cursors = game.schedule.cores.iter().enumerate().map(|(row, core)| {
        let instants = game.instants.get(row).map(Vec::as_slice).unwrap_or_default();
        Cursor {
            core,
            number: row,
            row: 0,
            tie: 0,
            now: core.window.start,
            came: false,
            instants,
            out: Played::default(),
        }
    });
    let mut state = State { game, progress: vec![Progress::default(); game.schedule.transfers.len()] };
    let mut cursors: Vec<Cursor<'_>> = cursors.collect();
    loop {
        let mut moved = false;
        for cursor in &mut cursors {
            moved |= state.advance(cursor);
        }
        // Everyone is finished, or waits for someone who never comes.
        if !moved && !state.release_one(&cursors) {
            break;
        }
    }
    cursors.into_iter().map(|cursor| state.finish(cursor)).collect()
}

/// How far a core has come.
struct Cursor<'a> {
    core: &'a Core,
    /// Row of [`Schedule::cores`].
    number: usize,
    /// The next piece.
    row: usize,
    /// The next of its ties.
    tie: usize,
    now: Timestamp,
    /// The next piece has already said that it has come.
    came: bool,
    /// Those that are still to come.
    instants: &'a [Timestamp],
    out: Played,
}

impl Cursor<'_> {
    fn next_tie(&self) -> Option<Tie> {
        self.core.ties.get(self.tie).filter(|&&(row, _)| row == self.row).map(|&(_, tie)| tie)
    }

    /// The first row that has to be looked at by itself: it hangs together with a
    /// transfer, or an asked instant lies in it or in the gap before it.
    fn stop(&self) -> usize {
        let pieces = self.core.pieces();
        let tie = self.core.ties.get(self.tie).map_or(pieces.len(), |&(row, _)| row);
        match self.instants.first() {
            Some(&at) if pieces.get(tie).is_none_or(|piece| at < piece.range.start) => {
                tie.min(self.row + pieces[self.row..tie].partition_point(|piece| piece.range.end <= at))
            }
            _ => tie,
        }
    }

    /// Answers when the instants up to the end of the piece come that is played from `begin` to `end`.
    fn answer(&mut self, piece: &Segment, gap: Picos, (begin, end): (Timestamp, Timestamp)) {
        let recorded = self.core.gap(self.row);
        while let Some((&at, rest)) = self.instants.split_first().filter(|&(&at, _)| at < piece.range.end) {
            let comes = if at <= piece.range.start {
                begin - kept(piece.range.start - at, recorded, gap)
            } else {
                let share = (at - piece.range.start).fraction_of(piece.range.dur()).unwrap_or(0.0);
                begin + Picos::from_ps(((end - begin).ps() as f64 * share).round() as i64)
            };
            self.out.instants.push(comes);
            self.instants = rest;
        }
    }
}

/// What is left of a distance into (or beyond) a gap that shrinks from its far end.
fn kept(distance: Picos, recorded: Picos, now: Picos) -> Picos {
    if distance > recorded { distance - recorded + now } else { distance.min(now) }
}

struct State<'a> {
    game: Game<'a>,
    progress: Vec<Progress>,
}

impl State<'_> {
    /// Plays a core until it ends or has to wait for another; whether it got on.
    fn advance(&mut self, cursor: &mut Cursor<'_>) -> bool {
        let mut moved = false;
        while cursor.row < cursor.core.pieces().len() {
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

    /// Plays pieces that only take their time, up to the row `stop`.
    fn work(&self, cursor: &mut Cursor<'_>, stop: usize) {
        let (core, changed) = (cursor.core, self.game.changed);
        if changed.keeps_work() && !self.game.with_groups {
            cursor.now = cursor.now + (core.before(stop) - core.before(cursor.row));
            cursor.row = stop;
            return;
        }
        let mut before = core.before(cursor.row);
        for (row, piece) in core.pieces().iter().enumerate().take(stop).skip(cursor.row) {
            let gap = (piece.range.start - before).clamped();
            before = piece.range.end;
            let takes = changed.work(|| self.game.model.slice(piece.slice).label_id(), piece.range.dur());
            cursor.now = cursor.now + changed.gap(cursor.number, row, gap) + takes;
            cursor.out.groups[piece.class.group.index()] += takes;
        }
        cursor.row = stop;
    }

    /// Plays the next piece; `false` where it has to wait for another core.
    fn piece(&mut self, cursor: &mut Cursor<'_>, moved: &mut bool) -> bool {
        let (row, tie) = (cursor.row, cursor.next_tie());
        let Some(&piece) = cursor.core.pieces().get(row) else { return false };
        let gap = self.game.changed.gap(cursor.number, row, cursor.core.gap(row));
        let begin = cursor.now + gap;
        if let (Some(Tie::Start(transfer) | Tie::Sync(transfer)), false) = (tie, cursor.came) {
            self.come(transfer, cursor.number, begin - piece.range.start);
            cursor.came = true;
            *moved = true;
        }
        let recorded = piece.range.dur();
        let own = tie.map_or(recorded, |tie| tie.own(recorded));
        let mut end = begin + self.game.changed.work(|| self.game.model.slice(piece.slice).label_id(), own);
        if let Some(Tie::Done(transfer) | Tie::Sync(transfer)) = tie {
            let Some(arrival) = self.arrival(transfer, cursor.number) else { return false };
            end = end.max(arrival);
        }
        cursor.out.groups[piece.class.group.index()] += end - begin;
        cursor.answer(&piece, gap, (begin, end));
        cursor.tie += usize::from(tie.is_some());
        (cursor.row, cursor.now, cursor.came) = (row + 1, end, false);
        true
    }

    /// What comes after the last piece.
    fn finish(&self, mut cursor: Cursor<'_>) -> Played {
        let (core, row) = (cursor.core, cursor.core.pieces().len());
        let recorded = core.gap(row);
        let tail = self.game.changed.gap(cursor.number, row, recorded);
        let last = core.before(row);
        let comes = cursor.instants.iter().map(|&at| cursor.now + kept(at - last, recorded, tail));
        cursor.out.instants.extend(comes);
        Played { end: cursor.now + tail, ..cursor.out }
    }

    fn come(&mut self, transfer: usize, core: usize, delay: Picos) {
        let wait = self.member(transfer, core).map_or(Picos::ZERO, |member| member.wait);
        let progress = &mut self.progress[transfer];
        progress.came += 1;
        progress.late = Some(progress.late.map_or(delay - wait, |late| late.max(delay - wait)));
    }

    fn member(&self, transfer: usize, core: usize) -> Option<&Member> {
        let schedule = self.game.schedule;
        let members = schedule.members(&schedule.transfers[transfer]);
        members.binary_search_by_key(&core, |member| member.core).ok().and_then(|at| members.get(at))
    }

    /// When the transfer has arrived on `core`; `None` as long as someone is awaited.
    fn arrival(&self, transfer: usize, core: usize) -> Option<Timestamp> {
        let (progress, plan) = (self.progress[transfer], &self.game.schedule.transfers[transfer]);
        if progress.came < plan.members.len() && !progress.released {
            return None;
        }
        let member = self.member(transfer, core)?;
        let took = plan.took(self.game.belief);
        let recorded = member.arrived.unwrap_or(member.begin + member.wait + took);
        let sooner = took - self.game.changed.transfer(transfer, took);
        Some(recorded + progress.late.unwrap_or_default() - sooner)
    }

    /// Lets the first core that waits go on without those who do not come.
    fn release_one(&mut self, cursors: &[Cursor<'_>]) -> bool {
        for cursor in cursors {
            let Some(Tie::Done(transfer) | Tie::Sync(transfer)) = cursor.next_tie() else { continue };
            if !self.progress[transfer].released {
                self.progress[transfer].released = true;
                return true;
            }
        }
        false
    }
}
