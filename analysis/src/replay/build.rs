//! From a trace to a schedule.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use trace_model::{LabelId, Picos, SliceId, TimeRange, Timestamp, TraceModel, TrackKind};

use super::schedule::{Core, DONE_TAKES, Member, Schedule, Tie, Transfer};
use crate::category::{CollectiveKind, OpClass};
use crate::core_time::CoreTime;
use crate::hlo_text::{HloText, Shape};
use crate::message::Message;
use crate::overlap::skew::{self, Execution};
use crate::{AnalysisError, Context};

/// One execution of a transfer on one core, before executions are matched. There are
/// many: what can be looked up is not kept.
struct Flight {
    core: usize,
    label: LabelId,
    /// What issues it.
    slice: SliceId,
    /// Row of the piece that issues it and of the one that waits; the same for a synchronous one.
    pieces: (usize, usize),
}

impl Flight {
    fn is_sync(&self) -> bool {
        self.pieces.0 == self.pieces.1
    }
}

/// What a [`Flight`] stands for.
struct Flown {
    core: usize,
    is_sync: bool,
    class: OpClass,
    /// On the timeline, which all cores share.
    shown: TimeRange,
    begin: Timestamp,
    /// Begin and end of what waits for it.
    done: TimeRange,
}

impl Flown {
    fn of(model: &TraceModel, cores: &[Core], flight: &Flight) -> Self {
        let piece = |row: usize| cores[flight.core].pieces()[row];
        let (issues, awaits) = (piece(flight.pieces.0), piece(flight.pieces.1));
        Self {
            core: flight.core,
            is_sync: flight.is_sync(),
            class: issues.class,
            shown: model.slice(flight.slice).range().hull(model.slice(awaits.slice).range()),
            begin: issues.range.start,
            done: awaits.range,
        }
    }

    fn waited(&self) -> bool {
        self.is_sync || self.done.dur() > DONE_TAKES
    }
}

/// The schedule of all cores in the scope of `cx`.
pub(super) fn build(cx: &Context<'_>) -> Result<Schedule, AnalysisError> {
    let mut schedule = Schedule { cores: Vec::new(), transfers: Vec::new(), members: Vec::new(), unmatched: 0 };
    let mut flights = Vec::new();
    for group in cx.tensor_cores() {
        let Some(time) = cx.core_time(group)? else { continue };
        if time.segments.is_empty() {
            continue;
        }
        flights_of(cx.model, schedule.cores.len(), &time, &mut flights);
        schedule.cores.push(Core { group, window: time.window.measured, time, ties: Vec::new() });
    }
    if schedule.cores.is_empty() {
        return Err(AnalysisError::NotApplicable("no TPU device recorded ops here: there is nothing to replay".into()));
    }
    matched(cx, flights, &mut schedule);
    bound_hidden(cx, &mut schedule);
    for core in &mut schedule.cores {
        // What a transfer was found for later hangs together with that one.
        core.ties.sort_by_key(|&(row, _)| row);
        core.ties.reverse();
        core.ties.dedup_by_key(|&mut (row, _)| row);
        core.ties.reverse();
    }
    Ok(schedule)
}

/// Everything that a core issues and waits for, both inside of the window.
fn flights_of(model: &TraceModel, core: usize, time: &CoreTime, flights: &mut Vec<Flight>) {
    let pieces = &time.segments;
    let mut ends: HashMap<SliceId, Option<usize>> = HashMap::new();
    let mut end = |slice: SliceId| *ends.entry(slice).or_insert_with(|| last_piece(model, time, slice));
    let mut awaited = BTreeSet::new();
    let mut seen: Option<SliceId> = None;
    for (row, piece) in pieces.iter().enumerate() {
        if seen == Some(piece.slice) {
            continue;
        }
        seen = Some(piece.slice);
        let waits = if piece.class.is_start() {
            let flow = model.flows_from(piece.slice).iter().find_map(|flow| end(flow.to));
            let Some(done) = flow.filter(|&done| done > row) else { continue };
            awaited.insert(done);
            done
        } else if piece.class.is_collective() && !piece.class.is_async() {
            row
        } else if piece.class.is_done() && !awaited.contains(&row) {
            // Begun before the window: in flight at least while it is awaited.
            row
        } else {
            continue;
        };
        let label = model.slice(piece.slice).label_id();
        flights.push(Flight { core, label, slice: piece.slice, pieces: (row, waits) });
    }
}

/// Row of the last piece of an op; `None` for slices elsewhere.
fn last_piece(model: &TraceModel, time: &CoreTime, slice: SliceId) -> Option<usize> {
    let track = model.track(model.slice(slice).track());
    if track.group != time.core || track.kind != TrackKind::Ops {
        return None;
    }
    let (pieces, span) = (&time.segments, model.slice(slice).measured_range());
    let until = pieces.partition_point(|piece| piece.range.start < span.end);
    let from = pieces.partition_point(|piece| piece.range.end <= span.start).min(until);
    pieces[from..until].iter().rposition(|piece| piece.slice == slice).map(|at| from + at)
}

/// Joins executions of the same collective on several cores, as [`skew::instances`]
/// finds them. What cannot be joined depends on its own core only.
fn matched(cx: &Context<'_>, mut flights: Vec<Flight>, schedule: &mut Schedule) {
    flights.sort_unstable_by_key(|flight| (flight.label, flight.slice, Reverse(flight.pieces)));
    // An op with another inside has several pieces: the last one stands for it.
    flights.dedup_by_key(|flight| (flight.label, flight.slice));
    schedule.members.reserve_exact(flights.len());
    let cores = schedule.cores.len();
    for same in flights.chunk_by(|a, b| a.label == b.label) {
        let Some(first) = same.first() else { continue };
        let collective = Flown::of(cx.model, &schedule.cores, first).class.collective;
        let is_shared = collective.is_some() && same.iter().any(|flight| flight.core != first.core);
        let instances = collective.filter(|_| is_shared).and_then(|kind| {
            let message = Message::of(cx, cx.model.label(first.label).op, kind, cores);
            skew::instances(executions(cx, schedule, same), message.groups.as_deref(), cores)
        });
        let mut is_left = vec![true; same.len()];
        for instance in instances.unwrap_or_default() {
            let mut own = Vec::with_capacity(instance.len());
            for (_, execution) in instance {
                let found = same.binary_search_by_key(&execution.slice, |flight| flight.slice).ok();
                own.extend(found.filter(|&at| std::mem::take(&mut is_left[at])).map(|at| &same[at]));
            }
            add(cx.model, schedule, &own);
        }
        let left = || same.iter().zip(&is_left).filter(|&(_, &is_left)| is_left);
        schedule.unmatched += if is_shared { left().count() as u64 } else { 0 };
        for (flight, _) in left() {
            add(cx.model, schedule, &[flight]);
        }
    }
}

/// Flights as executions: at the same time on the timeline, which all cores share.
fn executions(cx: &Context<'_>, schedule: &Schedule, flights: &[Flight]) -> BTreeMap<usize, Vec<Execution>> {
    let mut by_core: BTreeMap<usize, Vec<Execution>> = BTreeMap::new();
    for flight in flights {
        let flown = Flown::of(cx.model, &schedule.cores, flight);
        by_core.entry(flight.core).or_default().push(Execution {
            range: flown.shown,
            ..Execution::of(cx.model.slice(flight.slice), flown.done.dur(), Picos::ZERO)
        });
    }
    by_core
}

fn add(model: &TraceModel, schedule: &mut Schedule, flights: &[&Flight]) {
    let flown = |flight: &&Flight| Flown::of(model, &schedule.cores, flight);
    let (row, flown) = (schedule.transfers.len(), flights.iter().map(flown).collect::<Vec<_>>());
    let Some((first, label)) = flown.first().zip(flights.first().map(|flight| flight.label)) else { return };
    for flight in flights {
        let ties = &mut schedule.cores[flight.core].ties;
        let (issues, awaits) = flight.pieces;
        if flight.is_sync() {
            ties.push((issues, Tie::Sync(row)));
        } else {
            ties.extend([(issues, Tie::Start(row)), (awaits, Tie::Done(row))]);
        }
    }
    let from = schedule.members.len();
    schedule.members.extend(flown.iter().zip(waits(&flown)).map(|(flown, wait)| {
        let arrived = flown.waited().then_some(flown.done.end);
        Member { core: flown.core, begin: flown.begin, wait, arrived }
    }));
    let members = &schedule.members[from..];
    let known = members.iter().filter_map(|member| Some(member.arrived? - member.begin - member.wait)).min();
    // Hidden everywhere: it had arrived when the first member looked.
    let latest = flown.iter().zip(members).map(|(flown, member)| flown.done.start - member.begin - member.wait);
    let took = match known {
        Some(took) => (took.clamped(), took.clamped()),
        None => (Picos::ZERO, latest.min().unwrap_or_default().clamped()),
    };
    let members = from..schedule.members.len();
    schedule.transfers.push(Transfer { class: first.class, label, members, took });
}

/// How long each waited for the last to come. Members of a synchronous collective
/// leave together, so the shortest was the last; those of an asynchronous one are
/// compared by when they began on the timeline.
fn waits(flown: &[Flown]) -> Vec<Picos> {
    if flown.iter().all(|flown| flown.is_sync) {
        let shortest = flown.iter().map(|flown| flown.done.dur()).min().unwrap_or_default();
        return flown.iter().map(|flown| flown.done.dur() - shortest).collect();
    }
    let last = flown.iter().map(|flown| flown.shown.start).max().unwrap_or_default();
    let longest = |flown: &Flown| (flown.done.end - flown.begin).clamped();
    flown.iter().map(|flown| (last - flown.shown.start).clamped().min(longest(flown))).collect()
}

/// A hidden transfer took at least as long as the shortest of the same op that was
/// seen, or else as long as its bytes need at the fastest rate that was seen of its kind.
fn bound_hidden(cx: &Context<'_>, schedule: &mut Schedule) {
    let cores = schedule.cores.len();
    let is_seen = |transfer: &Transfer| transfer.took.0 == transfer.took.1 && transfer.took.0 > Picos::ZERO;
    let mut sizes: HashMap<LabelId, Option<Size>> = HashMap::new();
    let mut shortest: HashMap<LabelId, Picos> = HashMap::new();
    let mut fastest: BTreeMap<Alike, f64> = BTreeMap::new();
    for transfer in schedule.transfers.iter().filter(|transfer| is_seen(transfer)) {
        let took = transfer.took.0;
        shortest.entry(transfer.label).and_modify(|least| *least = (*least).min(took)).or_insert(took);
        let own = sizes.entry(transfer.label).or_insert_with(|| size(cx, transfer, cores));
        if let Some(Size { alike, bytes }) = own {
            let rate = *bytes / took.ps() as f64;
            fastest.entry(alike.clone()).and_modify(|most| *most = most.max(rate)).or_insert(rate);
        }
    }
    for transfer in schedule.transfers.iter_mut().filter(|transfer| transfer.took.0 < transfer.took.1) {
        let least = shortest.get(&transfer.label).copied().or_else(|| {
            let own = sizes.entry(transfer.label).or_insert_with(|| size(cx, transfer, cores)).as_ref()?;
            Some(Picos::from_ps((own.bytes / fastest.get(&own.alike)?).round() as i64))
        });
        if let Some(least) = least {
            transfer.took.0 = least.min(transfer.took.1);
        }
    }
}

/// Transfers over the same links: a pattern among so many, or from one memory to another.
type Alike = (Option<CollectiveKind>, Vec<u64>);

/// What a transfer moves.
struct Size {
    alike: Alike,
    bytes: f64,
}

/// `None` where the text of the op does not tell.
fn size(cx: &Context<'_>, transfer: &Transfer, cores: usize) -> Option<Size> {
    let op = cx.model.label(transfer.label).op?;
    if let Some(kind) = transfer.class.collective {
        let message = Message::of(cx, Some(op), kind, cores);
        let alike = (Some(kind), message.participants.into_iter().collect());
        return Some(Size { alike, bytes: message.bytes.filter(|&bytes| bytes > 0)? as f64 });
    }
    let hlo = HloText::parse(cx.model.str(cx.model.op(op).hlo_text?))?;
    let result = hlo.result()?;
    // (destination, source, context)
    let ends = result.parts().iter().take(2).flat_map(Shape::arrays).collect::<Vec<_>>();
    let bytes = result.parts().first()?.bytes().filter(|&bytes| bytes > 0)? as f64;
    (ends.len() == 2).then(|| Size { alike: (None, ends.iter().map(|end| end.memory_space).collect()), bytes })
}
