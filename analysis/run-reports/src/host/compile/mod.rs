//! How long the host compiled, for which functions, and whether devices waited for it.
//!
//! The same compilation shows up on several threads at once (the Python thread
//! calls, a worker compiles, pool threads run passes), and nested within itself:
//!
//! ```text
//! python   PjitFunction(f)[ trace ][ lower ][ backend_compile          ]
//! worker                                     [TfrtTpuCompiler::Compile]
//! ```
//!
//! So time is the *union* over threads of the outermost compile events of each thread ([`CompileReport::wall_ps`]).
//! It is divided among the phases with the precedence compile, lower, trace, load, so that the phases add up to it.
//! Everything is on the timeline.
//!
//! The list ([`CompileReport::list`]) contains every compilation with its step, the activity of devices meanwhile,
//! the resulting program, and, if a function was compiled again, the evidence for that and the changes.

mod annotations;
mod arguments;
mod cache;
mod compilations;
mod event_grouping;
mod functions;
mod lazy;
mod logged;
mod place;
mod program_similarity;
mod programs;
mod runs;
mod shapes;
mod table;
mod tf;

use device_reports::Steps;
use facts::compile_events::CompileEvents;
use facts::prelude::*;
use trace_model::IssueKind;

pub use cache::{CacheFacts, CacheUse};
pub use compilations::{Compilation, CompileEvidence, PhaseTime};
pub use functions::CompiledFunction;
pub use lazy::{LazyFact, LazyGraph, LazyTensors};
pub use logged::KeyPart;
pub use place::CompilePlace;
pub use programs::ProgramCount;
pub use runs::{CompileDay, CompileRuns, RunCompilation, RunCompilations, RunFunction};
pub use shapes::{ChangeSource, DimChange, ShapeChange};
pub(super) use tf::needs_others;
pub use tf::{CallKind, TfFunction};

use compilations::CompilationContext;
use place::StepFinder;

/// The compile analysis.
pub struct Compile;

impl Analysis for Compile {
    type Report = CompileReport;
    const ID: &str = "compile";
    const TITLE: &str = "Compilation";

    fn run(cx: &Context<'_>) -> Result<CompileReport> {
        let window = cx.host_window()?;
        if host_threads(cx.model).next().is_none() {
            return Err("the capture has no host threads".into());
        }
        let report = report(cx, &CompileEvents::collect(cx, window), window);
        if !report.is_recorded && report.functions.is_empty() && report.tf_functions.is_empty() {
            return Err(unknown(cx).into());
        }
        Ok(report)
    }
}

/// Why it is unknown whether anything was compiled.
pub(crate) fn unknown(cx: &Context<'_>) -> &'static str {
    if is_cut(cx) {
        "the end of a file is missing: what was compiled then is not known"
    } else {
        NOT_RECORDED
    }
}

pub(crate) fn is_cut(cx: &Context<'_>) -> bool {
    cx.model.import_log().count(IssueKind::TruncatedFile) > 0
}

const NOT_RECORDED: &str = "no runtime that compiles (JAX, XLA, PyTorch/XLA) recorded events here: whether anything was compiled is not known";

/// The result of the compile analysis for a window.
#[engine::reported]
pub struct CompileReport {
    /// Duration of the window; for the whole trace, the duration of the timeline.
    pub window_ps: Picos,
    /// A sentence: the compile time, that nothing was compiled, or that this is unknown.
    pub statement: String,
    /// Whether a compiling runtime recorded events; then no compilation events mean that nothing was compiled.
    pub is_recorded: bool,
    /// Compilations (outermost events of the compile phase, each counted once over threads).
    pub compilations: u64,
    /// Number of these that compiled a function that had been compiled or run before.
    pub recompilations: u64,
    /// Union over threads of tracing, lowering, compiling and loading. `None` if no compilation was captured.
    pub wall_ps: Option<Picos>,
    /// `wall_ps` as a percentage of the window.
    pub share_percent: Option<Percent>,
    /// The part of `wall_ps` in which a compiler ran.
    pub compile_ps: Option<Picos>,
    /// The part of the rest in which jaxprs were lowered.
    pub lower_ps: Option<Picos>,
    /// The part of the rest in which Python was traced.
    pub trace_ps: Option<Picos>,
    /// The part of the rest in which executables were loaded to devices (loads of 1 ms and more).
    pub load_ps: Option<Picos>,
    /// Sum over threads of the outermost compile events: more than `wall_ps` if threads compile in parallel or one
    /// waits for another.
    pub thread_time_ps: Option<Picos>,
    /// The part of `wall_ps` in which no device ran a program; `None` without devices.
    pub exposed_ps: Option<Picos>,
    /// Time in which a device ran programs, mean over devices; `None` without devices.
    pub execute_mean_ps: Option<Picos>,
    /// Compile time of the threads, by phase, longest first.
    pub threads: Vec<PhaseTime>,
    /// Use of caches of compiled programs.
    pub cache: CacheFacts,
    /// Why the numbers are incomplete.
    pub notes: Vec<String>,
    /// Functions that were compiled or ran as several programs, longest first.
    pub functions: Vec<CompiledFunction>,
    /// Every compilation, by start.
    pub list: Vec<Compilation>,
    /// Numbers about lazy tensors (`PyTorch`/XLA); `None` if there are none.
    pub lazy: Option<LazyTensors>,
    /// Functions of TensorFlow by time; empty if calls are not recorded.
    pub tf_functions: Vec<TfFunction>,
    /// The spans in which any phase was active.
    #[serde(skip)]
    pub intervals: IntervalSet,
}

fn report(cx: &Context<'_>, events: &CompileEvents<'_>, window: TimeRange) -> CompileReport {
    let ([compile, lower, trace, load], all) =
        compilations::exclusive(|class| events.when(class).collect());
    let wall = all.measure();
    let has_compilations = events
        .phases
        .iter()
        .any(|event| event.class == HostClass::Compile);
    let is_seen = has_compilations || wall > Picos::ZERO;
    let when_found = |time: Picos| is_seen.then_some(time);
    let running = program_times(cx, window);
    let execute: Picos = running.iter().map(IntervalSet::measure).sum();
    let mean = execute.ps().checked_div(running.len() as i64);
    let steps = cx.whole().report::<Steps>().ok();
    let groups = event_grouping::groups(&events.phases);
    let around = CompilationContext {
        cx: *cx,
        steps: StepFinder::new(cx, steps.as_deref()),
        programs: programs::ProgramTable::new(cx, wall > Picos::ZERO),
        ops: program_similarity::ProgramOps::new(cx),
        calls: compilations::calls_by_name(&events.calls),
        labels_with_shapes: annotations::labels_with_shapes(&groups),
        cache: cache::CacheUses::new(&events.cache),
        running: running.iter().cloned().reduce(|sum, set| sum.union(&set)),
    };
    let list = compilations::compilations(&around, &groups);
    let functions = functions::functions(&around, &groups, &list);
    let length = window.dur();
    // That nothing was compiled shows only in a whole file.
    let is_recorded = cx.host_classes().has_compiling_runtime() && (is_seen || !is_cut(cx));
    let share = wall.fraction_of(length).map(Percent::of_fraction);
    let cache = CacheFacts::new(events.cache.iter().map(|(role, _)| *role));
    let threads = compilations::threads(*cx, &events.phases);
    // Not every version of the framework records every phase.
    let recorded = |time: Picos| when_found(time).filter(|time| *time > Picos::ZERO);
    CompileReport {
        window_ps: length,
        statement: if is_recorded {
            statement(has_compilations, &list, wall, length, share)
        } else {
            unknown(cx).to_owned()
        },
        is_recorded,
        compilations: list.len() as u64,
        recompilations: functions
            .iter()
            .map(|function| function.recompilations)
            .sum(),
        wall_ps: when_found(wall),
        share_percent: share.filter(|_| is_seen),
        compile_ps: has_compilations.then_some(compile),
        lower_ps: recorded(lower),
        trace_ps: recorded(trace),
        load_ps: recorded(load),
        thread_time_ps: when_found(threads.iter().map(|thread| thread.time_ps).sum()),
        exposed_ps: compilations::exposed(around.running.as_ref(), &all).and_then(when_found),
        execute_mean_ps: mean.map(Picos::from_ps),
        threads,
        notes: cache.statement(has_compilations).into_iter().collect(),
        cache,
        functions,
        list,
        lazy: LazyTensors::new(&events.lazy),
        tf_functions: tf::functions(cx.model, window),
        intervals: all,
    }
}

fn statement(
    has_compilations: bool,
    list: &[Compilation],
    wall: Picos,
    length: Picos,
    share: Option<Percent>,
) -> String {
    if !has_compilations {
        return "no compilation in the captured window".to_owned();
    }
    let listed: Picos = list.iter().map(|compilation| compilation.wall_ps).sum();
    let others = if wall > listed {
        format!(
            ", {} of it in phases that belong to none of them",
            wall - listed
        )
    } else {
        String::new()
    };
    format!(
        "{} took {wall} of {length} ({:.1}){others}",
        counted(list.len(), "compilation"),
        share.unwrap_or_default()
    )
}

/// The spans in which each device ran programs, by the clock of its host.
fn program_times(cx: &Context<'_>, window: TimeRange) -> Vec<IntervalSet> {
    let cores = cx
        .tensor_cores()
        .into_iter()
        .map(|core| cx.programs_on_host(core));
    let with_programs = cores.filter(|programs| !programs.is_empty());
    with_programs
        .map(|programs| {
            programs
                .into_iter()
                .filter_map(|(_, range)| range.intersect(window))
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests;
