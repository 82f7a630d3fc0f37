//! The critical path of a step: the chain of ops, transfers and idle time that ended when the step ended.
//!
//! ```text
//! TPU:0      AARRRRRRB      B is preceded by the transfer of R, which began when the last core had arrived,
//! TPU:1      CCCCCCRRB      and the last core did C until then
//! path       CCCCCCRRB
//! ```
//!
//! The path is followed from the end of the step on the core that took longest, backwards: the end of a transfer that a
//! core waited for follows its start on the core that came last, everything else what the same core did before. Its pieces
//! follow each other without a gap, and their times add up to the step exactly. Nothing is predicted: times are recorded
//! ones, and who came last is what the replay found out.

use facts::prelude::*;
use run_reports::IdleCause;

use super::Replay;
use super::idle_causes::IdleCauses;
use super::predict::StepOnCores;
use super::schedule::{CoreSchedule, Flight};

/// What a step waits for in a piece of its critical path.
#[engine::titled]
#[derive(Hash)]
pub enum PathKind {
    /// A core runs an op that neither transfers nor waits for a transfer.
    Compute = "ops",
    /// A collective, from the arrival of its last participant to its end.
    Collective = "collectives",
    /// An asynchronous copy that a core waits for, from its start to its end.
    Copy = "copies",
    /// A transfer to or from the host, infeed and outfeed included.
    HostTransfer = "host transfers",
    /// No op runs between two executions of programs: the device waits for the host, or for the next program to start.
    BetweenPrograms,
    /// No op runs within the execution of a program.
    Idle = "idle in programs",
}

/// What a step waits for, and why where that is idle time between programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitsFor {
    /// What it is.
    pub kind: PathKind,
    /// What the host did meanwhile, by the report on gaps; `None` for all but time between programs, and where the report
    /// has no idle time of the device.
    pub cause: Option<IdleCause>,
}

impl WaitsFor {
    /// `ops`, `between programs: input`
    pub fn title(self) -> String {
        match self.cause {
            Some(cause) => format!("{}: {}", self.kind.title(), cause.title()),
            None => self.kind.title().to_owned(),
        }
    }
}

impl From<PathKind> for WaitsFor {
    fn from(kind: PathKind) -> Self {
        Self { kind, cause: None }
    }
}

impl PathKind {
    fn of(class: OpClass) -> Self {
        use facts::category::OpGroup as G;
        match class.group {
            G::Collective => Self::Collective,
            G::AsyncWait => Self::Copy,
            G::HostIo => Self::HostTransfer,
            _ => Self::Compute,
        }
    }
}

/// A piece of a critical path.
#[derive(Clone, Copy, Debug)]
pub struct PathPiece {
    /// Its time, as if the core that took longest had done everything: by the clock of that core.
    pub range: TimeRange,
    /// What the step waited for.
    pub waits_for: WaitsFor,
    /// The core that did it.
    pub core: GroupId,
    /// The op; `None` for idle time.
    pub slice: Option<SliceId>,
}

/// The critical path of one step.
#[derive(Debug)]
pub struct CriticalPath {
    /// Number of the step.
    pub step: u32,
    /// The core that took longest.
    pub slowest: GroupId,
    /// Its span of the step, by the clock of its ops: the pieces fill it.
    pub span: TimeRange,
    /// In time order.
    pub pieces: Vec<PathPiece>,
}

/// What is looked up on the way.
struct PathFinder<'a> {
    cores: &'a [CoreSchedule],
    idle: IdleCauses<'a>,
    /// Member that came last to each transfer between cores: its core and the row that issues it there.
    last: Vec<Option<(Picos, usize, u32)>>,
    /// Starts of executions of programs of each core, on the timeline.
    programs: Vec<Vec<Timestamp>>,
    /// When they ran, by the clock of the ops of the core.
    executions: Vec<IntervalSet>,
    model: &'a TraceModel,
}

/// A position on the way back.
struct PathWalk {
    core: usize,
    at: Timestamp,
    /// By core: rows from here on have been passed.
    passed: Vec<usize>,
    /// The part of the step that no piece fills yet.
    left: TimeRange,
    /// The last one first.
    pieces: Vec<PathPiece>,
}

impl PathWalk {
    fn add(&mut self, time: Picos, waits_for: WaitsFor, core: GroupId, slice: Option<SliceId>) {
        let time = time.clamped().min(self.left.dur());
        if time > Picos::ZERO {
            let range = TimeRange::new(self.left.end - time, self.left.end);
            self.left.end = range.start;
            self.pieces.push(PathPiece {
                range,
                waits_for,
                core,
                slice,
            });
        }
    }
}

impl Replay {
    /// The critical paths of complete steps, each on the cores that recorded ops; steps that no such core ran, or that do
    /// not lie whole in the scope of `cx`, are left out. Each is found when it is asked for: all together they have more
    /// pieces than the trace has ops.
    pub fn critical_paths<'a>(
        &'a self,
        cx: &'a Context<'_>,
        steps: impl IntoIterator<Item = &'a Step>,
    ) -> impl Iterator<Item = CriticalPath> {
        let cores = &self.recorded.cores;
        let finder = PathFinder::of(cx, cores, self.recorded.joint.len());
        let mut watch = cx.watched(std::iter::repeat(()));
        let complete = steps.into_iter().filter(|step| !step.is_partial);
        complete.filter_map(move |step| {
            trace_model::may_pause();
            let on_cores = cores
                .iter()
                .enumerate()
                .filter_map(|(row, core)| Some((row, step.span_on(core.group)?)));
            let is_within = match cx.scope {
                Scope::WholeTrace => true,
                Scope::Range(range) => on_cores.clone().all(|(_, span)| range.encloses(span.range)),
                Scope::Steps { first, last } => (first..=last).contains(&step.number),
            };
            let spans: StepOnCores = on_cores.map(|(row, span)| (row, span.measured)).collect();
            is_within.then(|| finder.path(step.number, &spans, &mut watch))?
        })
    }
}

impl<'a> PathFinder<'a> {
    fn of(cx: &Context<'a>, cores: &'a [CoreSchedule], transfers: usize) -> Self {
        let mut last: Vec<Option<(Picos, usize, u32)>> = vec![None; transfers];
        for (number, core) in cores.iter().enumerate() {
            for member in &core.members {
                if let Some(slot) = last.get_mut(member.transfer as usize)
                    && slot.is_none_or(|(wait, ..)| member.wait < wait)
                {
                    *slot = Some((member.wait, number, member.issues));
                }
            }
        }
        let model = cx.model;
        let programs = |core: &CoreSchedule| {
            let runs = model.slices_of_kind(core.group, TrackKind::Modules);
            let mut starts: Vec<Timestamp> = runs.map(SliceRef::start).collect();
            starts.sort_unstable();
            starts
        };
        Self {
            cores,
            idle: IdleCauses::of(cx),
            last,
            programs: cores.iter().map(programs).collect(),
            executions: cores.iter().map(|core| executions(model, core)).collect(),
            model,
        }
    }

    /// `None` if nothing ran, or if the watched loop ends early.
    fn path(
        &self,
        step: u32,
        spans: &StepOnCores,
        watch: &mut impl Iterator<Item = ()>,
    ) -> Option<CriticalPath> {
        // Of equal ones the first.
        let &(core, span) = spans
            .iter()
            .rev()
            .max_by_key(|(_, span)| span.dur())
            .filter(|(_, span)| !span.is_empty())?;
        let mut walk = PathWalk {
            core,
            at: span.end,
            passed: self.cores.iter().map(|core| core.pieces().len()).collect(),
            left: span,
            pieces: Vec::new(),
        };
        while !walk.left.is_empty() {
            watch.next()?;
            self.go_back(&mut walk);
        }
        walk.pieces.reverse();
        Some(CriticalPath {
            step,
            slowest: self.cores[core].group,
            pieces: walk.pieces,
            span,
        })
    }

    /// Passes what precedes the position: idle time, an op, or a transfer.
    fn go_back(&self, walk: &mut PathWalk) {
        let number = walk.core;
        let core = &self.cores[number];
        let before = core
            .pieces()
            .partition_from_end(walk.passed[number], |range| range.start < walk.at);
        let Some((row, piece)) = before
            .checked_sub(1)
            .and_then(|row| Some((row, core.pieces().get(row)?)))
        else {
            // Before the first recorded op.
            let before = TimeRange::new(walk.at - walk.left.dur(), walk.at);
            return self.without_ops(walk, None, before);
        };
        if piece.range.end < walk.at {
            let idle = TimeRange::new(piece.range.end, walk.at);
            match self.idle_after(number, row, &piece) {
                PathKind::BetweenPrograms => self.without_ops(walk, Some(row), idle),
                kind => walk.add(idle.dur(), kind.into(), core.group, None),
            }
            walk.at = piece.range.end;
            return;
        }
        walk.passed[number] = row;
        // Only the end of an op waits for a transfer.
        let awaited = (piece.range.end == walk.at)
            .then(|| self.arrival(number, row as u32))
            .flatten();
        let kind = PathKind::of(piece.class).into();
        let Some((flight, wait)) = awaited else {
            walk.add(
                walk.at - piece.range.start,
                kind,
                core.group,
                Some(piece.slice),
            );
            walk.at = piece.range.start;
            return;
        };
        let issued = core.range(flight.issues);
        let begin = issued.start + wait;
        walk.add(walk.at - begin, kind, core.group, Some(piece.slice));
        walk.at = issued.start;
        walk.passed[number] = flight.issues as usize;
        let came_last = core
            .members
            .binary_search_by_key(&flight.issues, |member| member.issues)
            .ok()
            .and_then(|index| *self.last.get(core.members.get(index)?.transfer as usize)?);
        match came_last {
            Some((_, other, issues))
                if other != number && issues as usize <= walk.passed[other] =>
            {
                walk.core = other;
                walk.at = self.cores[other].range(issues).start;
                walk.passed[other] = issues as usize;
            }
            // Where transfers contradict each other, it waited here.
            _ => walk.add(wait, kind, core.group, Some(piece.slice)),
        }
    }

    /// Adds a part of the time after the last op of an execution, or before the first one of all: a program can run before
    /// its first op and after its last one.
    fn without_ops(&self, walk: &mut PathWalk, row: Option<usize>, part: TimeRange) {
        let core = &self.cores[walk.core];
        let mut until = part.end;
        for running in self.executions[walk.core].clip(part).ranges().iter().rev() {
            self.between_programs(walk, core, row, TimeRange::new(running.end, until));
            walk.add(running.dur(), PathKind::Idle.into(), core.group, None);
            until = running.start;
        }
        self.between_programs(walk, core, row, TimeRange::new(part.start, until));
    }

    /// Adds a part of the time after a piece of a core, or before its first one, by what the host did.
    fn between_programs(
        &self,
        walk: &mut PathWalk,
        core: &CoreSchedule,
        row: Option<usize>,
        part: TimeRange,
    ) {
        let kind = PathKind::BetweenPrograms;
        for (time, cause) in self.idle.parts(core, row, part) {
            walk.add(time, WaitsFor { kind, cause }, core.group, None);
        }
    }

    /// The transfer that a piece waits for until its end, and how long it waited for others.
    fn arrival(&self, number: usize, row: u32) -> Option<(Flight, Picos)> {
        let core = &self.cores[number];
        let flight = core.awaited_by(row)?;
        core.arrived(flight)?;
        let member = core
            .members
            .binary_search_by_key(&flight.issues, |member| member.issues);
        let wait = member
            .ok()
            .and_then(|index| core.members.get(index))
            .map_or(Picos::ZERO, |member| member.wait);
        Some((flight, wait))
    }

    /// What idle time after a piece is.
    fn idle_after(&self, number: usize, row: usize, piece: &SelfTimeSegment) -> PathKind {
        let runs_before = |piece: &SelfTimeSegment| {
            let start = self.model.slice(piece.slice).start();
            self.programs[number].partition_point(|&run| run <= start)
        };
        match self.cores[number].pieces().get(row + 1) {
            Some(next) if runs_before(&next) == runs_before(piece) => PathKind::Idle,
            _ => PathKind::BetweenPrograms,
        }
    }
}

/// When programs ran on a core, by the clock of its ops; empty where only ops have that clock.
fn executions(model: &TraceModel, core: &CoreSchedule) -> IntervalSet {
    let on = |kind| model.slices_of_kind(core.group, kind);
    let is_of_device = |kind| {
        on(kind)
            .next()
            .is_some_and(|slice| slice.device_range().is_some())
    };
    if is_of_device(TrackKind::Modules) != is_of_device(TrackKind::Ops) {
        return IntervalSet::default();
    }
    on(TrackKind::Modules)
        .map(SliceRef::measured_range)
        .collect()
}
