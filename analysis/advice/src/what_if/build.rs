//! Builds a schedule from a trace.

use std::collections::HashMap;
use std::sync::OnceLock;

use device_reports::communication::overlap::skew::{self, CollectiveExecution};
use facts::prelude::*;
use facts::window::own_extent;
use facts::{CollectiveTraffic, CoreTime, SharedClock};
use math::parallel;
use trace_model::{SourceId, may_pause, pausing};

use super::schedule::{
    CoreSchedule, Flight, JointMember, JointTransfer, NO_OP, ReplaySchedule, TimeByGroup,
};
use super::transfers::bound_hidden;

/// The schedule of all cores in the scope of `cx`.
pub(super) fn build(cx: &Context<'_>) -> Result<ReplaySchedule> {
    cx.require_times()?;
    let mut times = Vec::new();
    for group in cx.tensor_cores() {
        times.extend(
            cx.core_time(group)?
                .filter(|time| !time.segments.is_empty()),
        );
    }
    if times.is_empty() {
        return Err("no TPU device recorded ops here, so there is nothing to replay".into());
    }
    let pieces = times.iter().map(|time| time.segments.len()).sum();
    // Before threads need them: they are linked by several threads, too.
    cx.model.flows();
    let cores = parallel::map(&times, pieces, |time| core_schedule(cx, time));
    let mut schedule = ReplaySchedule {
        cores,
        joint: Vec::new(),
        least: Vec::new(),
        unmatched: 0,
    };
    join(cx, &mut schedule, pieces);
    for core in &mut schedule.cores {
        set_apart(core);
    }
    let ops = parallel::map(&schedule.cores, pieces, |core| ops_of(cx, core));
    for (core, ops) in schedule.cores.iter_mut().zip(ops) {
        core.ops = ops;
    }
    bound_hidden(cx, &mut schedule);
    Ok(schedule)
}

/// One core, without the transfers between cores.
fn core_schedule(cx: &Context<'_>, time: &CoreTime) -> CoreSchedule {
    let mut groups = TimeByGroup::default();
    for piece in cx.watched(&time.segments) {
        groups[piece.class.group.index()] += piece.range.dur();
    }
    // A device that is away for a part of the run has nothing to do then that could be played.
    let extent = own_extent(cx, time.core)
        .filter(|_| cx.scope == Scope::WholeTrace)
        .map(|extent| extent.measured);
    CoreSchedule {
        group: time.core,
        window: extent.unwrap_or(time.window.measured),
        time: time.clone(),
        flights: flights_of(cx, time),
        awaited: OnceLock::new(),
        members: Vec::new(),
        alone: Vec::new(),
        ops: Vec::new(),
        groups,
        shared_clock: SharedClock::of(cx, time.core),
    }
}

/// The transfers that a core both issues and awaits inside the window.
fn flights_of(cx: &Context<'_>, time: &CoreTime) -> Vec<Flight> {
    let model = cx.model;
    let mut flights: Vec<Option<Flight>> = Vec::new();
    let mut awaited = vec![false; time.segments.len()];
    // For ops that are interrupted by inner ops: their last flight so far.
    let mut last: HashMap<SliceId, usize> = HashMap::new();
    let mut seen: Option<SliceId> = None;
    for (row, piece) in cx.watched(&time.segments).enumerate() {
        let is_awaited = awaited[row];
        if seen == Some(piece.slice) {
            continue;
        }
        seen = Some(piece.slice);
        let waits = if piece.class.is_start() {
            let done = model
                .flows_from(piece.slice)
                .iter()
                .find_map(|flow| last_piece(model, time, row, flow.to));
            let Some(done) = done.filter(|&done| done > row) else {
                continue;
            };
            awaited[done] = true;
            done
        } else if piece.class.is_collective() && !piece.class.is_async() {
            row
        } else if piece.class.is_done() && !is_awaited {
            // Started before the window: in flight at least during the wait.
            row
        } else {
            continue;
        };
        if piece.range != model.slice(piece.slice).measured_range() {
            // An op with an inner op consists of several pieces: the last one represents it.
            if let Some(before) = last.insert(piece.slice, flights.len()) {
                flights[before] = None;
            }
        }
        flights.push(Some(Flight {
            issues: row as u32,
            awaits: waits as u32,
        }));
    }
    let mut out = Vec::with_capacity(flights.iter().flatten().count());
    out.extend(flights.into_iter().flatten());
    out
}

/// Row of the last piece of an op; `None` for slices elsewhere. It is searched from the row `near` on, in steps that
/// double: a transfer is mostly awaited soon after its start.
fn last_piece(model: &TraceModel, time: &CoreTime, near: usize, slice: SliceId) -> Option<usize> {
    let track = model.track(model.slice(slice).track());
    if track.group != time.core || track.kind != TrackKind::Ops {
        return None;
    }
    let pieces = &time.segments;
    let span = model.slice(slice).measured_range();
    let starts_before = |range: TimeRange| range.start < span.end;
    let mut from = if pieces.range(near).is_some_and(starts_before) {
        near
    } else {
        0
    };
    let mut step = 1;
    while pieces.range(from + step).is_some_and(starts_before) {
        from += step;
        step *= 2;
    }
    let until = pieces.partition_rows(from..pieces.len().min(from + step), starts_before);
    let around = pieces.rows(0..until).rev();
    around
        .take_while(|piece| piece.range.end > span.start)
        .enumerate()
        .find(|(_, piece)| piece.slice == slice)
        .map(|(back, _)| until - 1 - back)
}

/// A flight of a collective: its op, its core and its index there.
type CollectiveFlight = (LabelId, u32, u32);

/// Joins executions of the same collective on several cores, as [`skew::instances`] finds them. Flights that cannot be
/// joined depend only on their own core. `work` is the number of pieces of all cores.
fn join(cx: &Context<'_>, schedule: &mut ReplaySchedule, work: usize) {
    let cores = schedule.cores.len();
    if cores < 2 {
        return;
    }
    let candidates = candidates(cx.model, &schedule.cores);
    // What several cores execute, with the groups of cores that communicate.
    let mut shared = Vec::new();
    for same in candidates.chunk_by(|a, b| a.0 == b.0) {
        may_pause();
        let (Some(&(label, core, flight)), Some(last)) = (same.first(), same.last()) else {
            continue;
        };
        let first = &schedule.cores[core as usize];
        let collective = first
            .piece(first.flights[flight as usize].issues)
            .class
            .collective;
        let Some(kind) = collective.filter(|_| last.1 != core) else {
            continue;
        };
        shared.push((
            same,
            CollectiveTraffic::of(cx, cx.model.label(label).op, kind, cores).groups,
        ));
    }
    let joined = parallel::map(&shared, work, |(same, groups)| {
        may_pause();
        JoinedFlights::of(cx, &schedule.cores, same, groups.as_deref())
    });
    for joined in joined {
        schedule.unmatched += joined.unmatched;
        let mut members = joined.members.into_iter();
        for transfer in joined.transfers {
            let nth = schedule.joint.len() as u32;
            for (core, issues, wait) in members.by_ref().take(transfer.members as usize) {
                schedule.cores[core as usize].members.push(JointMember {
                    issues,
                    transfer: nth,
                    wait,
                });
            }
            schedule.joint.push(transfer);
        }
    }
}

/// The transfers between cores of one collective.
#[derive(Default)]
struct JoinedFlights {
    transfers: Vec<JointTransfer>,
    /// Core, row of the piece that issues it, and wait of the members of each transfer in turn.
    members: Vec<(u32, u32, Picos)>,
    unmatched: u64,
}

impl JoinedFlights {
    fn of(
        cx: &Context<'_>,
        cores: &[CoreSchedule],
        same: &[CollectiveFlight],
        groups: Option<&[Vec<u64>]>,
    ) -> Self {
        let mut out = Self::default();
        let mut by_core = executions(cx, cores, same);
        let hosts: Vec<SourceId> = cores
            .iter()
            .map(|core| cx.model.group(core.group).source)
            .collect();
        let instances = skew::instances(&mut by_core, groups, &hosts).unwrap_or_default();
        let mut is_left = vec![true; same.len()];
        let mut flights = Vec::new();
        let mut waits = Vec::new();
        for instance in cx.watched(instances.iter()) {
            flights.clear();
            flights.extend(instance.iter().filter_map(|&(core, execution)| {
                let &(.., place) = same.get(execution.key as usize)?;
                let is_left = is_left.get_mut(execution.key as usize)?;
                std::mem::take(is_left).then(|| JoinedFlight::of(&cores[core], core as u32, place))
            }));
            if flights.len() > 1 {
                out.add(cx, &flights, &mut waits);
            }
        }
        out.unmatched = is_left.iter().filter(|&&is_left| is_left).count() as u64;
        out
    }

    /// Adds a transfer. `waits` is only room.
    fn add(&mut self, cx: &Context<'_>, flights: &[JoinedFlight<'_>], waits: &mut Vec<Picos>) {
        waits.clear();
        add_waits(cx, flights, waits);
        let took = flights
            .iter()
            .zip(&*waits)
            .map(|(joined, &wait)| joined.core.took(joined.flight, wait));
        let Some(took) = took.min() else { return };
        self.members.extend(
            flights
                .iter()
                .zip(&*waits)
                .map(|(joined, &wait)| (joined.number, joined.flight.issues, wait)),
        );
        self.transfers.push(JointTransfer {
            members: flights.len() as u32,
            took,
        });
    }
}

/// The part of one core in a transfer between several.
struct JoinedFlight<'a> {
    core: &'a CoreSchedule,
    /// Number of the core.
    number: u32,
    flight: Flight,
    /// Its last piece.
    done: TimeRange,
}

impl<'a> JoinedFlight<'a> {
    fn of(core: &'a CoreSchedule, number: u32, place: u32) -> Self {
        let flight = core.flights[place as usize];
        Self {
            core,
            number,
            flight,
            done: core.piece(flight.awaits).range,
        }
    }
}

/// Flights of collectives, sorted by the collective that they execute, by core and by place. They are counted, because sorting
/// millions cannot be interrupted.
fn candidates(model: &TraceModel, cores: &[CoreSchedule]) -> Vec<CollectiveFlight> {
    let of_core = |(number, core): (usize, &'_ CoreSchedule)| -> Vec<CollectiveFlight> {
        let flights = pausing(core.flights.iter().enumerate())
            .filter(|(_, flight)| core.piece(flight.issues).class.is_collective());
        flights
            .map(|(place, flight)| {
                (
                    core.label(model, flight.issues),
                    number as u32,
                    place as u32,
                )
            })
            .collect()
    };
    let all: Vec<Vec<CollectiveFlight>> = cores.iter().enumerate().map(of_core).collect();
    let mut place_of = vec![0; model.labels().len() + 1];
    for &(label, ..) in pausing(all.iter().flatten()) {
        place_of[label.index() + 1] += 1;
    }
    let mut before = 0;
    for place in &mut place_of {
        before += *place;
        *place = before;
    }
    let Some(&any) = all.iter().flatten().next() else {
        return Vec::new();
    };
    let mut sorted = vec![any; before];
    for &flight in pausing(all.iter().flatten()) {
        let place = &mut place_of[flight.0.index()];
        sorted[*place] = flight;
        *place += 1;
    }
    sorted
}

/// Span of a flight by a clock that all cores share.
fn shown(cx: &Context<'_>, core: &CoreSchedule, flight: Flight) -> TimeRange {
    let range = |row: u32| cx.model.slice(core.piece(row).slice).range();
    let issues = range(flight.issues);
    let shown = if flight.is_sync() {
        issues
    } else {
        issues.hull(range(flight.awaits))
    };
    core.shared_clock
        .map_or(shown, |clock| clock.convert(cx, shown))
}

/// Their keys are rows of `same`.
fn executions(
    cx: &Context<'_>,
    cores: &[CoreSchedule],
    same: &[CollectiveFlight],
) -> BTreeMap<usize, Vec<CollectiveExecution>> {
    let mut by_core: BTreeMap<usize, Vec<CollectiveExecution>> = BTreeMap::new();
    let mut keys = 0..;
    for instance in same.chunk_by(|a, b| a.1 == b.1) {
        let Some(&(_, number, _)) = instance.first() else {
            continue;
        };
        let core = &cores[number as usize];
        let execution = |(&(_, _, place), key): (&CollectiveFlight, u32)| {
            let flight = core.flights[place as usize];
            let slice = cx.model.slice(core.piece(flight.issues).slice);
            let dur = core.piece(flight.awaits).range.dur();
            CollectiveExecution {
                key,
                range: shown(cx, core, flight),
                ..CollectiveExecution::of(slice, dur, Picos::ZERO)
            }
        };
        by_core.insert(
            number as usize,
            instance.iter().zip(keys.by_ref()).map(execution).collect(),
        );
    }
    by_core
}

/// How long each member waited for the last one. Members of a synchronous collective leave together, so the shortest
/// one arrived last; those of an asynchronous one are compared by their starts on the timeline.
fn add_waits(cx: &Context<'_>, flights: &[JoinedFlight<'_>], waits: &mut Vec<Picos>) {
    if flights.iter().all(|joined| joined.flight.is_sync()) {
        let shortest = flights
            .iter()
            .map(|joined| joined.done.dur())
            .min()
            .unwrap_or_default();
        waits.extend(flights.iter().map(|joined| joined.done.dur() - shortest));
        return;
    }
    let came = |joined: &JoinedFlight<'_>| shown(cx, joined.core, joined.flight).start;
    let last = flights.iter().map(came).max().unwrap_or_default();
    let longest = |joined: &JoinedFlight<'_>| {
        (joined.done.end - joined.core.piece(joined.flight.issues).range.start).clamped()
    };
    waits.extend(
        flights
            .iter()
            .map(|joined| (last - came(joined)).clamped().min(longest(joined))),
    );
}

/// Keeps flights with two ends or several cores; keeps only the rows of the others.
fn set_apart(core: &mut CoreSchedule) {
    core.members.sort_unstable_by_key(|member| member.issues);
    core.members.shrink_to_fit();
    let mut members = core.members.iter().peekable();
    let (alone, flights): (Vec<Flight>, Vec<Flight>) = core.flights.drain(..).partition(|flight| {
        let is_member = members
            .next_if(|member| member.issues == flight.issues)
            .is_some();
        flight.is_sync() && !is_member
    });
    core.flights = flights;
    core.flights.shrink_to_fit();
    core.alone = alone.into_iter().map(|flight| flight.issues).collect();
}

/// See [`CoreSchedule::ops`].
fn ops_of(cx: &Context<'_>, core: &CoreSchedule) -> Vec<u32> {
    let mut ops = Vec::with_capacity(core.pieces().len());
    ops.extend(cx.watched(core.pieces()).map(|piece| {
        cx.model
            .slice(piece.slice)
            .op()
            .map_or(NO_OP, |op| op.index() as u32)
    }));
    // A cancelled replay has fewer.
    ops.resize(core.pieces().len(), NO_OP);
    for &row in &core.alone {
        ops[row as usize] = NO_OP;
    }
    ops
}
