//! How long the host compiled, for which functions, and whether devices waited.
//!
//! The same compilation shows up on several threads at once (the Python thread
//! calls, a worker compiles, pool threads run passes), and nested within itself:
//!
//! ```text
//! python   PjitFunction(f)[ trace ][ lower ][ backend_compile          ]
//! worker                                     [TfrtTpuCompiler::Compile]
//! ```
//!
//! So time is the *union* over threads of the outermost compile events of each
//! ([`CompileReport::wall_ps`]). Phases share it out: compile before lower before
//! trace before load, so that they add up to it. Everything is on the timeline.

mod ledger;
mod table;

use serde::Serialize;
use trace_model::{Picos, SliceRef, TimeRange, TraceModel, TrackId, TrackKind};

use crate::doctor::session_ps;
use crate::host_class::{HostClass, HostClasses};
use crate::intervals::IntervalSet;
use crate::{Analysis, AnalysisError, Context, Scope};

pub use ledger::CompiledFunction;

/// The compile analysis.
pub struct Compile;

impl Analysis for Compile {
    type Report = CompileReport;
    const ID: &'static str = "compile";
    const TITLE: &'static str = "Compilation";

    fn run(cx: &Context<'_>) -> Result<CompileReport, AnalysisError> {
        let window = cx.timeline_window()?;
        let hosts = host_threads(cx.model);
        if hosts.is_empty() {
            return Err(AnalysisError::NotApplicable("the capture has no host threads".to_owned()));
        }
        let events = CompileEvents::collect(cx.model, &hosts, window);
        Ok(report(cx, &events, window))
    }
}

/// A load shorter than this is the check that precedes every execution.
const SHORTEST_LOAD_PS: i64 = 1_000_000_000;

/// Compilation in a window.
#[derive(Clone, Debug, Serialize)]
pub struct CompileReport {
    /// Length of the window: of the whole trace the profiling session, where the
    /// capture says when that began and ended, else the timeline.
    pub window_ps: i64,
    /// A sentence: how much, or that there was none.
    pub statement: String,
    /// Compilations (outermost events of the compile phase, each counted once over threads).
    pub compilations: u64,
    /// How many of them compiled a function that had been compiled or run before.
    pub recompilations: u64,
    /// Union over threads of tracing, lowering, compiling and loading. `None` where
    /// no compilation was captured.
    pub wall_ps: Option<i64>,
    /// `wall_ps` of the window.
    pub share_percent: Option<f64>,
    /// The part of `wall_ps` in which a compiler ran.
    pub compile_ps: Option<i64>,
    /// The part of the rest in which jaxprs were lowered.
    pub lower_ps: Option<i64>,
    /// The part of the rest in which Python was traced.
    pub trace_ps: Option<i64>,
    /// The part of the rest in which executables were loaded to devices (loads of 1 ms and more).
    pub load_ps: Option<i64>,
    /// Outermost compile events summed over threads: more than `wall_ps` where
    /// threads compile in parallel or one waits for another.
    pub thread_time_ps: Option<i64>,
    /// The part of `wall_ps` in which no device ran a program; `None` without devices.
    pub exposed_ps: Option<i64>,
    /// Time in which a device ran programs, mean over devices; `None` without devices.
    pub execute_mean_ps: Option<i64>,
    /// Programs that the cache did not have.
    pub cache_misses: u64,
    /// What was compiled, longest first.
    pub functions: Vec<CompiledFunction>,
    /// When anything of it went on.
    #[serde(skip)]
    pub intervals: IntervalSet,
}

/// Threads of hosts, by host.
fn host_threads(model: &TraceModel) -> Vec<TrackId> {
    model.track_ids().filter(|&track| model.track(track).kind == TrackKind::HostThread).collect()
}

/// An outermost event of compilation.
#[derive(Clone, Copy)]
struct CompileEvent<'a> {
    slice: SliceRef<'a>,
    class: HostClass,
    /// Inside of the window.
    range: TimeRange,
}

struct CompileEvents<'a> {
    events: Vec<CompileEvent<'a>>,
    cache_misses: u64,
}

impl<'a> CompileEvents<'a> {
    fn collect(model: &'a TraceModel, hosts: &[TrackId], window: TimeRange) -> Self {
        let classes = HostClasses::new(model);
        let is_phase = |slice: SliceRef<'_>| {
            let class = classes.class(slice.label_id());
            matches!(class, HostClass::Compile | HostClass::Lower | HostClass::Trace)
                || (class == HostClass::Load && slice.dur().ps() >= SHORTEST_LOAD_PS)
        };
        let mut out = Self { events: Vec::new(), cache_misses: 0 };
        for slice in hosts.iter().flat_map(|&track| model.lanes(track)).flat_map(|lane| model.slices_in(lane, window)) {
            let class = classes.class(slice.label_id());
            if class == HostClass::Cache && slice.name() == "LoadProgramCacheMiss" {
                out.cache_misses += 1;
            }
            if !is_phase(slice) {
                continue;
            }
            let Some(range) = slice.range().intersect(window) else { continue };
            let is_inner = std::iter::successors(slice.parent(), |around| around.parent()).any(is_phase);
            if !is_inner {
                out.events.push(CompileEvent { slice, class, range });
            } else if class == HostClass::Compile {
                // A compile inside of tracing (a constant that is computed) is compiling all the same.
                out.inner_compile(slice, range, &classes);
            }
        }
        out
    }

    /// Keeps a compile event whose outermost event belongs to another phase.
    fn inner_compile(&mut self, slice: SliceRef<'a>, range: TimeRange, classes: &HostClasses) {
        let mut around = std::iter::successors(slice.parent(), |around| around.parent());
        if !around.any(|parent| classes.class(parent.label_id()) == HostClass::Compile) {
            self.events.push(CompileEvent { slice, class: HostClass::Compile, range });
        }
    }

    fn when(&self, class: HostClass) -> IntervalSet {
        self.events.iter().filter(|event| event.class == class).map(|event| event.range).collect()
    }
}

fn report(cx: &Context<'_>, events: &CompileEvents<'_>, window: TimeRange) -> CompileReport {
    let mut rest = IntervalSet::new();
    let phases = [HostClass::Compile, HostClass::Lower, HostClass::Trace, HostClass::Load].map(|class| {
        let own = events.when(class);
        let exclusive = own.subtract(&rest).measure().ps();
        rest = rest.union(&own);
        exclusive
    });
    let wall = rest.measure();
    let found = events.events.iter().any(|event| event.class == HostClass::Compile);
    let when_found = |ps: i64| (found || wall.ps() > 0).then_some(ps);
    let programs = program_times(cx, window);
    let any_program = programs.iter().fold(IntervalSet::new(), |sum, set| sum.union(set));
    let mean = programs.iter().map(|set| set.measure().ps()).sum::<i64>().checked_div(programs.len() as i64);
    let (functions, compilations) = ledger::ledger(cx.model, &events.events);
    let length = window_length(cx, window);
    let share = wall.fraction_of(length).map(|share| 100.0 * share);
    CompileReport {
        window_ps: length.ps(),
        statement: if found {
            let plural = if compilations == 1 { "" } else { "s" };
            let percent = share.unwrap_or_default();
            format!("{compilations} compilation{plural} took {wall} of {length} ({percent:.1} %)")
        } else {
            "no compilation in the captured window".to_owned()
        },
        compilations,
        recompilations: functions.iter().map(|function| function.recompilations).sum(),
        wall_ps: when_found(wall.ps()),
        share_percent: share.filter(|_| found || wall.ps() > 0),
        compile_ps: found.then_some(phases[0]),
        lower_ps: when_found(phases[1]),
        trace_ps: when_found(phases[2]),
        load_ps: when_found(phases[3]),
        thread_time_ps: when_found(thread_time(events)),
        exposed_ps: (!programs.is_empty()).then(|| rest.subtract(&any_program).measure().ps()).and_then(when_found),
        execute_mean_ps: mean,
        cache_misses: events.cache_misses,
        functions,
        intervals: rest,
    }
}

/// Events may begin before the session and end after it, so its length comes from
/// the session itself.
fn window_length(cx: &Context<'_>, window: TimeRange) -> Picos {
    let session = cx.model.sources().iter().filter_map(session_ps).max().filter(|_| cx.scope == Scope::WholeTrace);
    session.map_or(window.dur(), Picos::from_ps)
}

/// Outermost events only: a compile inside of tracing is part of the tracing's length.
fn thread_time(events: &CompileEvents<'_>) -> i64 {
    let mut tracks: std::collections::BTreeMap<TrackId, Vec<TimeRange>> = std::collections::BTreeMap::new();
    for event in &events.events {
        tracks.entry(event.slice.track()).or_default().push(event.range);
    }
    tracks.into_values().map(|ranges| ranges.into_iter().collect::<IntervalSet>().measure().ps()).sum()
}

/// When each device ran programs.
fn program_times(cx: &Context<'_>, window: TimeRange) -> Vec<IntervalSet> {
    let model = cx.model;
    let modules =
        |core| model.tracks_of(core).into_iter().filter(|&track| model.track(track).kind == TrackKind::Modules);
    let of = |core| -> IntervalSet {
        let lanes = modules(core).flat_map(|track| model.lanes(track));
        lanes
            .flat_map(|lane| model.slices_in(lane, window))
            .filter_map(|slice| slice.range().intersect(window))
            .collect()
    };
    let cores = cx.tensor_cores().into_iter().filter(|&core| modules(core).next().is_some());
    cores.map(of).collect()
}

#[cfg(test)]
mod tests;
