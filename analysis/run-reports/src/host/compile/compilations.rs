//! Every compilation with its function, time, duration, cost, and cause.

use facts::compile_events::PhaseEvent;
use facts::host_class::pjit_function;
use facts::prelude::*;

use super::annotations;
use super::cache::{CacheUse, CacheUses};
use super::event_grouping::EventGroup;
use super::logged::{self, KeyPart};
use super::place::{CompilePlace, StepFinder};
use super::program_similarity::{ProgramOps, SAME_FUNCTION};
use super::programs::{ProgramRuns, ProgramTable, before_and_after};
use super::shapes::{self, ChangeSource, ShapeChange};

/// Why a compilation counts as a recompilation.
#[engine::titled]
pub enum CompileEvidence {
    /// The function was compiled before in the capture.
    CompiledBefore = "compiled before in this capture",
    /// The function was called before in the capture without being compiled.
    RanBefore = "ran before in this capture",
    /// The resulting program had run before: nothing changed.
    SameProgram = "the same program again",
}

/// One phase on one thread.
#[engine::reported]
pub struct PhaseTime {
    /// The phase.
    pub phase: HostClass,
    /// The thread.
    pub thread: String,
    /// Time of its outermost events.
    pub time_ps: Picos,
}

/// One compilation.
#[engine::row(measured)]
#[derive(Default)]
pub struct Compilation {
    /// Begin of its first phase, on the timeline.
    #[column("Begin")]
    pub start_ps: Timestamp,
    /// Name in the program (`train_step`), else of the module, else `(unknown)`.
    #[column]
    pub function: String,
    /// The position in the run at which it started; `None` without steps.
    #[column("Where")]
    pub place: Option<CompilePlace>,
    /// Union over threads of its phases.
    #[column("Time")]
    pub wall_ps: Picos,
    /// The part of the rest in which Python was traced; `None` if that is not recorded.
    #[column]
    pub trace_ps: Option<Picos>,
    /// The part of the rest in which jaxprs were lowered; `None` if that is not recorded.
    #[column]
    pub lower_ps: Option<Picos>,
    /// The part of `wall_ps` in which a compiler ran.
    #[column]
    pub compile_ps: Picos,
    /// The part of the rest in which the executable was loaded; `None` if that is not recorded.
    #[column]
    pub load_ps: Option<Picos>,
    /// Its phases summed over threads.
    #[column("On all threads")]
    pub thread_time_ps: Picos,
    /// Duration of the call that triggered it, including time in which no phase was recorded.
    #[column("Whole call")]
    pub call_ps: Option<Picos>,
    /// The part of `wall_ps` in which no device ran a program; `None` without devices.
    #[column("No device ran")]
    pub exposed_ps: Option<Picos>,
    /// How much longer its step took than the median of the steps that do not compile.
    #[column("Step longer by", derived)]
    pub step_extra_ps: Option<Picos>,
    /// The resulting program, by its first execution.
    #[column(inferred)]
    pub program: Option<String>,
    /// Why it counts as compiled again; `None` if it does not.
    #[column("Again because", inferred)]
    pub again: Option<CompileEvidence>,
    /// Share of ops that both programs have in common; `None` if the ops are not known.
    #[column(derived)]
    pub ops_alike_percent: Option<Percent>,
    /// Differences from the program before.
    #[column(inferred, id = "changed", with = |row| ShapeChange::summary(&row.changes))]
    pub changes: Vec<ShapeChange>,
    /// Source of `changes`.
    #[column("Seen in")]
    pub changed_in: Option<ChangeSource>,
    /// Whether the persistent cache had the program; `None` if that is not recorded.
    #[column]
    pub cache: Option<CacheUse>,
    /// Why the function was traced, in the words of JAX, if a log contains them.
    #[column]
    pub reason: Option<String>,
    /// Types of its arguments (`f32[8,64]`), if a log contains them.
    pub arguments: Vec<String>,
    /// The key of the persistent cache, if a log contains it.
    pub cache_key: Option<String>,
    /// Parts of that key with their hashes, if a log contains them.
    pub key_parts: Vec<KeyPart>,
    /// XLA module, if recorded (`jit_train_step`).
    pub module: Option<String>,
    /// The position of this compilation among those of the function in the window, from 1.
    pub number: u64,
    /// Phases by thread, longest first.
    pub threads: Vec<PhaseTime>,
    /// The program of the function that ran last before.
    pub program_before: Option<String>,
    /// The slice to show: the longest event of the compiler, else of any phase.
    #[serde(skip)]
    pub slice: Option<SliceId>,
}

/// Facts about the run that compilations are compared with.
pub(super) struct CompilationContext<'a> {
    pub cx: Context<'a>,
    pub steps: StepFinder<'a>,
    pub programs: ProgramTable,
    pub ops: ProgramOps,
    /// Calls of functions by name, each sorted by end.
    pub calls: BTreeMap<&'a str, Vec<SliceRef<'a>>>,
    /// Events whose arguments hold shapes.
    pub labels_with_shapes: BTreeSet<LabelId>,
    /// When the persistent cache was used.
    pub cache: CacheUses,
    /// The spans in which any device ran a program; `None` without devices.
    pub running: Option<IntervalSet>,
}

/// Calls by name, each list sorted by end.
pub(super) fn calls_by_name<'a>(calls: &[SliceRef<'a>]) -> BTreeMap<&'a str, Vec<SliceRef<'a>>> {
    let mut by_name = grouped(
        calls
            .iter()
            .map(|&call| (pjit_function(call.name()).unwrap_or_default(), call)),
    );
    for calls in by_name.values_mut() {
        calls.sort_by_key(|call| (call.range().end, call.id()));
    }
    by_name
}

impl CompilationContext<'_> {
    /// Name of the module of a compilation, as far as it is known.
    pub fn module_of(&self, group: &EventGroup<'_>) -> Option<String> {
        group
            .module
            .clone()
            .or_else(|| self.programs.module_of(&group.function).map(str::to_owned))
    }

    /// Whether the persistent cache had the program.
    pub fn cache_use(&self, group: &EventGroup<'_>) -> Option<CacheUse> {
        let logged = logged::facts(group);
        if logged.is_log {
            // Events of several processes may lie in one track.
            return logged.cache;
        }
        let call = group.call.map(|call| (call.track(), call.range()));
        let compiled = group
            .events
            .iter()
            .find(|event| event.class == HostClass::Compile)
            .map(|event| (event.slice.track(), event.range));
        let (track, span) = call.or(compiled)?;
        self.cache.last_in(track, span)
    }

    fn called_before(&self, function: &str, time: Timestamp) -> bool {
        let calls = self.calls.get(function);
        calls
            .and_then(|calls| calls.first())
            .is_some_and(|call| call.range().end <= time)
    }
}

/// All compilations, by start.
pub(super) fn compilations(
    around: &CompilationContext<'_>,
    groups: &[EventGroup<'_>],
) -> Vec<Compilation> {
    let by_function = grouped(
        groups
            .iter()
            .filter(|group| group.compiles)
            .map(|group| (&*group.function, group)),
    );
    let mut out = Vec::new();
    for same in by_function.into_values() {
        for (k, group) in same.iter().enumerate() {
            let mut row = measured(around, group);
            row.number = k as u64 + 1;
            judge(
                around,
                &mut row,
                group,
                k.checked_sub(1).and_then(|k| same.get(k)),
                same.get(k + 1),
            );
            out.push(row);
        }
    }
    out.sort_by(|a, b| (a.start_ps, &a.function).cmp(&(b.start_ps, &b.function)));
    out
}

/// The phases, the one that counts of several first.
const PHASES: [HostClass; 4] = [
    HostClass::Compile,
    HostClass::Lower,
    HostClass::Trace,
    HostClass::Load,
];

/// Exclusive times of [`PHASES`].
pub(super) fn exclusive(when: impl Fn(HostClass) -> IntervalSet) -> ([Picos; 4], IntervalSet) {
    let mut all = IntervalSet::new();
    let phases = PHASES.map(|class| {
        let of_class = when(class);
        let time = of_class.subtract(&all).measure();
        all = all.union(&of_class);
        time
    });
    (phases, all)
}

/// The part of `compiling` in which no device ran a program.
pub(super) fn exposed(running: Option<&IntervalSet>, compiling: &IntervalSet) -> Option<Picos> {
    let hull = compiling.hull().unwrap_or_default();
    running.map(|running| compiling.subtract(&running.clip(hull)).measure())
}

fn measured(around: &CompilationContext<'_>, group: &EventGroup<'_>) -> Compilation {
    let ([compile_ps, lower, trace, load], all) = exclusive(|class| group.when(class));
    let recorded = |class, time| {
        group
            .events
            .iter()
            .any(|event| event.class == class)
            .then_some(time)
    };
    let start = group.start();
    let place = around.steps.place(start);
    let step = match place {
        Some(CompilePlace::InStep(number)) => around.steps.step(number),
        _ => None,
    };
    let threads = threads(around.cx, &group.events);
    let logged = logged::facts(group);
    let longest = group
        .events
        .iter()
        .max_by_key(|event| (event.class == HostClass::Compile, event.range.dur()));
    Compilation {
        function: group.function.clone(),
        module: around.module_of(group),
        start_ps: start,
        wall_ps: all.measure(),
        compile_ps,
        lower_ps: recorded(HostClass::Lower, lower),
        trace_ps: recorded(HostClass::Trace, trace),
        load_ps: recorded(HostClass::Load, load),
        thread_time_ps: threads.iter().map(|thread| thread.time_ps).sum(),
        threads,
        call_ps: group
            .call
            .filter(|call| pjit_function(call.name()).is_some())
            .map(SliceRef::dur),
        cache: around.cache_use(group),
        exposed_ps: exposed(around.running.as_ref(), &all),
        place,
        step_extra_ps: step
            .zip(around.steps.usual_ps)
            .map(|(step, usual)| step.time_ps - usual),
        slice: longest.map(|event| event.slice.id()),
        reason: logged.reason,
        arguments: logged.arguments,
        cache_key: logged.cache_key,
        key_parts: logged.key_parts,
        ..Compilation::default()
    }
}

/// A phase inside another one on the same thread counts towards the inner one.
pub(super) fn threads(cx: Context<'_>, events: &[PhaseEvent<'_>]) -> Vec<PhaseTime> {
    let by_thread = grouped(
        events
            .iter()
            .map(|event| ((event.slice.track(), event.class), event.range)),
    );
    let mut tracks: Vec<_> = by_thread.keys().map(|(track, _)| *track).collect();
    tracks.dedup();
    let mut out = Vec::new();
    for track in tracks {
        let when = |class| {
            by_thread
                .get(&(track, class))
                .into_iter()
                .flatten()
                .copied()
                .collect()
        };
        let (times, _) = exclusive(when);
        let thread = cx.model.str(cx.model.track(track).name);
        let phases = PHASES
            .into_iter()
            .zip(times)
            .filter(|(_, time)| *time > Picos::ZERO);
        out.extend(phases.map(|(phase, time_ps)| PhaseTime {
            phase,
            thread: thread.to_owned(),
            time_ps,
        }));
    }
    out.sort_by(|a, b| {
        b.time_ps
            .cmp(&a.time_ps)
            .then_with(|| (a.phase, &a.thread).cmp(&(b.phase, &b.thread)))
    });
    out
}

/// Whether the function was compiled again, and what changed.
fn judge(
    around: &CompilationContext<'_>,
    row: &mut Compilation,
    group: &EventGroup<'_>,
    earlier: Option<&&EventGroup<'_>>,
    later: Option<&&EventGroup<'_>>,
) {
    let start = group.start();
    let compiled = group.all().hull().map_or(start, |hull| hull.end);
    let programs = row
        .module
        .as_deref()
        .map(|module| around.programs.of(module))
        .unwrap_or_default();
    let (before, after) =
        before_and_after(programs, start, compiled, later.map(|later| later.start()));
    let run = |index: Option<usize>| index.and_then(|index| programs.get(index));
    let before = run(before);
    let after = run(after);
    row.program = after.map(|run| run.title.clone());
    row.program_before = before.map(|run| run.title.clone());
    let is_same = before.is_some() && after.is_some_and(|after| after.ran_before(start));
    let ids = both(before, after).filter(|_| !is_same);
    row.ops_alike_percent = ids
        .and_then(|(a, b)| around.ops.similarity(&around.cx, a, b))
        .map(|share| Percent(100.0 * share));
    row.again = match () {
        // Two functions of the same name.
        () if row
            .ops_alike_percent
            .is_some_and(|alike| alike < Percent(100.0 * SAME_FUNCTION)) =>
        {
            None
        }
        () if is_same => Some(CompileEvidence::SameProgram),
        () if earlier.is_some() => Some(CompileEvidence::CompiledBefore),
        () if before.is_some() || around.called_before(&row.function, start) => {
            Some(CompileEvidence::RanBefore)
        }
        () => None,
    };
    if row.again.is_none() || is_same {
        return;
    }
    let change = ids
        .and_then(|(a, b)| shapes::between_programs(&around.cx, &around.ops, a, b))
        .or_else(|| {
            let changes =
                annotations::event_arguments(group, earlier?, &around.labels_with_shapes)?;
            Some((ChangeSource::EventArguments, changes))
        })
        .or_else(|| {
            let changes = annotations::in_steps(&around.cx, &around.steps, row.place?, group)?;
            Some((ChangeSource::Annotation, changes))
        });
    if let Some((source, changes)) = change {
        row.changed_in = Some(source);
        row.changes = changes;
        row.changes.truncate(MAX_CHANGES);
    }
}

/// With more differences than this, they are summarised as "everything".
const MAX_CHANGES: usize = 64;

fn both(
    before: Option<&ProgramRuns>,
    after: Option<&ProgramRuns>,
) -> Option<(ProgramId, ProgramId)> {
    Some((before?.program?, after?.program?))
}
