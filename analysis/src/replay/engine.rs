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

use trace_model::{Picos, Timestamp};

use super::schedule::{Belief, Kind, Schedule};

/// Begin and end of each piece of a core.
pub(super) type Times = Vec<(Timestamp, Timestamp)>;

/// The replay of all cores.
pub(super) struct Played {
    pub cores: Vec<Times>,
    /// When the window of each core ends.
    pub ends: Vec<Timestamp>,
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

pub(super) fn play(schedule: &Schedule, belief: Belief) -> Played {
    let mut state = State {
        schedule,
        belief,
        progress: vec![Progress::default(); schedule.transfers.len()],
        cores: schedule
            .cores
            .iter()
            .map(|core| Cursor { now: core.window.start, times: Vec::with_capacity(core.pieces.len()), came: false })
            .collect(),
    };
    loop {
        let mut moved = false;
        for core in 0..schedule.cores.len() {
            moved |= state.advance(core);
        }
        // Everyone is finished, or waits for someone who never comes.
        if !moved && !state.release_one() {
            break;
        }
    }
    let ends = state.cores.iter().zip(&schedule.cores).map(|(cursor, core)| cursor.now + core.tail).collect();
    Played { cores: state.cores.into_iter().map(|cursor| cursor.times).collect(), ends }
}

struct Cursor {
    now: Timestamp,
    times: Times,
    /// The next piece has already said that it has come.
    came: bool,
}

struct State<'a> {
    schedule: &'a Schedule,
    belief: Belief,
    progress: Vec<Progress>,
    cores: Vec<Cursor>,
}

impl State<'_> {
    /// Plays a core until it ends or has to wait for another; whether it got on.
    fn advance(&mut self, core: usize) -> bool {
        let Some(plan) = self.schedule.cores.get(core) else { return false };
        let mut moved = false;
        loop {
            let at = self.cores[core].times.len();
            let (Some(piece), Some(timing)) = (plan.pieces.get(at), plan.timings.get(at)) else { return moved };
            let begin = self.cores[core].now + timing.gap;
            let transfer = match piece.kind {
                Kind::Work => None,
                Kind::Start(transfer) | Kind::Done(transfer) | Kind::Sync(transfer) => Some(transfer),
            };
            if let (Kind::Start(transfer) | Kind::Sync(transfer), false) = (piece.kind, self.cores[core].came) {
                self.come(transfer, core, begin - piece.range.start);
                self.cores[core].came = true;
                moved = true;
            }
            let end = match (piece.kind, transfer) {
                (Kind::Done(_) | Kind::Sync(_), Some(transfer)) => {
                    let Some(arrival) = self.arrival(transfer, core) else { return moved };
                    arrival.max(begin + timing.dur)
                }
                _ => begin + timing.dur,
            };
            let cursor = &mut self.cores[core];
            cursor.times.push((begin, end));
            (cursor.now, cursor.came) = (end, false);
            moved = true;
        }
    }

    fn come(&mut self, transfer: usize, core: usize, delay: Picos) {
        let wait = self.member(transfer, core).map_or(Picos::ZERO, |member| member.wait);
        let progress = &mut self.progress[transfer];
        progress.came += 1;
        progress.late = Some(progress.late.map_or(delay - wait, |late| late.max(delay - wait)));
    }

    fn member(&self, transfer: usize, core: usize) -> Option<&super::schedule::Member> {
        let members = &self.schedule.transfers[transfer].members;
        members.binary_search_by_key(&core, |member| member.core).ok().and_then(|at| members.get(at))
    }

    /// When the transfer has arrived on `core`; `None` as long as someone is awaited.
    fn arrival(&self, transfer: usize, core: usize) -> Option<Timestamp> {
        let (progress, plan) = (self.progress[transfer], &self.schedule.transfers[transfer]);
        if progress.came < plan.members.len() && !progress.released {
            return None;
        }
        let member = self.member(transfer, core)?;
        let took = plan.took(self.belief);
        let recorded = member.arrived.unwrap_or(member.begin + member.wait + took);
        let sooner = took - Picos::from_ps((took.ps() as f64 * plan.factor).round() as i64);
        Some(recorded + progress.late.unwrap_or_default() - sooner)
    }

    /// Lets the first core that waits go on without those who do not come.
    fn release_one(&mut self) -> bool {
        for (core, cursor) in self.cores.iter().enumerate() {
            let Some(piece) = self.schedule.cores[core].pieces.get(cursor.times.len()) else { continue };
            let (Kind::Done(transfer) | Kind::Sync(transfer)) = piece.kind else { continue };
            if !self.progress[transfer].released {
                self.progress[transfer].released = true;
                return true;
            }
        }
        false
    }
}
