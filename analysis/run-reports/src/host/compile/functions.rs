//! Compilations by function.

use engine::Cell;
use facts::prelude::*;

use super::cache::CacheUse;
use super::compilations::{Compilation, CompilationContext, exposed};
use super::event_grouping::EventGroup;
use super::program_similarity::SAME_FUNCTION;
use super::programs::{ProgramCount, ProgramRuns};
use super::shapes::{self, ChangeSource, ShapeChange};

/// One function that was compiled, or that ran as several programs.
#[engine::row(measured)]
#[derive(Default)]
pub struct CompiledFunction {
    /// Name in the program (`train_step`), else of the module, else `(unknown)`.
    #[column]
    pub function: String,
    /// XLA module, if recorded (`jit_train_step`).
    #[column]
    pub module: Option<String>,
    /// Number of its compilations in the window.
    #[column("Compiled")]
    pub compilations: u64,
    /// How many of these were recompilations: all if it ran before in the capture, otherwise all but one.
    #[column("Again", inferred)]
    pub recompilations: u64,
    /// Programs that the persistent cache had; `None` if that is not recorded.
    #[column]
    pub cache_hits: Option<u64>,
    /// Programs that it had not; `None` if that is not recorded.
    #[column]
    pub cache_misses: Option<u64>,
    /// Calls in the whole capture; `None` if calls are not recorded.
    #[column]
    pub calls: Option<u64>,
    /// Its programs that ran in the whole capture, by their first execution.
    #[column("Programs (runs)", with = Self::programs_and_runs)]
    pub programs: Vec<ProgramCount>,
    /// Union over threads of its tracing, lowering, compiling and loading.
    #[column("Time", with = |function| function.first_ps.map(|_| function.wall_ps))]
    pub wall_ps: Picos,
    /// `wall_ps` as a multiple of the median length of steps that do not compile.
    #[column("In steps", derived, with = |function| function.first_ps.and(function.wall_steps))]
    pub wall_steps: Option<f64>,
    /// The part of `wall_ps` in which no device ran a program; `None` without devices.
    #[column("No device ran")]
    pub exposed_ps: Option<Picos>,
    /// Longest single compilation (compile phase only).
    #[column(with = |function| (function.compilations > 0).then_some(function.longest_ps))]
    pub longest_ps: Picos,
    /// Begin of the first phase; `None` if none was captured.
    #[column("First at")]
    pub first_ps: Option<Timestamp>,
    /// Begin of the last compilation.
    #[column("Last at")]
    pub last_ps: Option<Timestamp>,
    /// Share of ops that the first two programs have in common.
    pub ops_alike_percent: Option<Percent>,
    /// Source of `changes`.
    pub changed_in: Option<ChangeSource>,
    /// Differences between its first two programs, or with its first recompilation.
    #[column(inferred, id = "changed", with = |function| ShapeChange::summary(&function.changes))]
    pub changes: Vec<ShapeChange>,
}

impl CompiledFunction {
    fn programs_and_runs(&self) -> Cell {
        let runs = self
            .programs
            .iter()
            .map(|run| format!("{} ({})", run.program, run.executions));
        Cell::text(joined(runs, ", ")).non_empty()
    }
}

/// All functions, longest first.
pub(super) fn functions(
    around: &CompilationContext<'_>,
    groups: &[EventGroup<'_>],
    compilations: &[Compilation],
) -> Vec<CompiledFunction> {
    let by_function = grouped(groups.iter().map(|group| (&*group.function, group)));
    let compiled = grouped(
        compilations
            .iter()
            .map(|compilation| (&*compilation.function, compilation)),
    );
    let mut out: Vec<CompiledFunction> = by_function
        .into_iter()
        .map(|(function, groups)| {
            let compilations = compiled
                .get(function)
                .map(Vec::as_slice)
                .unwrap_or_default();
            row(around, function, &groups, compilations)
        })
        .collect();
    let known: Vec<String> = out.iter().filter_map(|row| row.module.clone()).collect();
    let others = around
        .programs
        .modules()
        .into_iter()
        .filter(|module| !known.iter().any(|known| known == module));
    out.extend(others.filter_map(|module| variants(around, module)));
    out.sort_by(|a, b| {
        b.wall_ps
            .cmp(&a.wall_ps)
            .then(b.programs.len().cmp(&a.programs.len()))
            .then_with(|| a.function.cmp(&b.function))
    });
    out
}

fn row(
    around: &CompilationContext<'_>,
    function: &str,
    groups: &[&EventGroup<'_>],
    compilations: &[&Compilation],
) -> CompiledFunction {
    let events = groups
        .iter()
        .flat_map(|group| &group.events)
        .map(|event| event.range);
    let all: IntervalSet = events.collect::<Vec<TimeRange>>().into_iter().collect();
    let module = groups.iter().find_map(|group| around.module_of(group));
    let programs = module
        .as_deref()
        .map(|module| around.programs.of(module))
        .unwrap_or_default();
    let changed = compilations
        .iter()
        .find(|compilation| !compilation.changes.is_empty());
    let uses: Vec<CacheUse> = groups
        .iter()
        .filter_map(|group| around.cache_use(group))
        .collect();
    let used = |what| {
        let count = uses.iter().filter(|used| **used == what).count();
        (!uses.is_empty()).then_some(count as u64)
    };
    CompiledFunction {
        function: function.to_owned(),
        cache_hits: used(CacheUse::Hit),
        cache_misses: used(CacheUse::Miss),
        compilations: compilations.len() as u64,
        recompilations: compilations
            .iter()
            .filter(|compilation| compilation.again.is_some())
            .count() as u64,
        calls: around.calls.get(function).map(|calls| calls.len() as u64),
        programs: programs.iter().map(ProgramRuns::count).collect(),
        wall_ps: all.measure(),
        exposed_ps: exposed(around.running.as_ref(), &all),
        longest_ps: compilations
            .iter()
            .map(|compilation| compilation.compile_ps)
            .max()
            .unwrap_or_default(),
        wall_steps: around
            .steps
            .usual_ps
            .and_then(|usual| all.measure().fraction_of(usual)),
        first_ps: all.ranges().first().map(|range| range.start),
        last_ps: compilations.last().map(|compilation| compilation.start_ps),
        ops_alike_percent: compilations
            .iter()
            .find_map(|compilation| compilation.ops_alike_percent),
        changed_in: changed.and_then(|compilation| compilation.changed_in),
        changes: changed
            .map(|compilation| compilation.changes.clone())
            .unwrap_or_default(),
        module,
    }
}

/// A function that ran as several programs, which were all compiled before the capture.
fn variants(around: &CompilationContext<'_>, module: &str) -> Option<CompiledFunction> {
    let programs = around.programs.of(module);
    let [first, second, ..] = programs else {
        return None;
    };
    let ids = (first.program?, second.program?);
    let alike = around
        .ops
        .similarity(&around.cx, ids.0, ids.1)
        .filter(|&share| share >= SAME_FUNCTION)?;
    let changed = shapes::between_programs(&around.cx, &around.ops, ids.0, ids.1);
    Some(CompiledFunction {
        function: module.strip_prefix("jit_").unwrap_or(module).to_owned(),
        module: Some(module.to_owned()),
        programs: programs.iter().map(ProgramRuns::count).collect(),
        ops_alike_percent: Some(Percent(100.0 * alike)),
        changed_in: changed.as_ref().map(|(source, _)| *source),
        changes: changed.map(|(_, changes)| changes).unwrap_or_default(),
        ..CompiledFunction::default()
    })
}
