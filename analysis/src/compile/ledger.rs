//! Which functions were compiled, how often, and which of them again.

use std::collections::BTreeMap;

use serde::Serialize;
use trace_model::{ArgValue, LabelId, SliceRef, TimeRange, Timestamp, TraceModel, TrackKind};

use super::CompileEvent;
use crate::host_class::{HostClass, pjit_function};
use crate::intervals::IntervalSet;

/// One function that was compiled.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompiledFunction {
    /// Name in the program (`train_step`), else of the module, else `(unknown)`.
    pub function: String,
    /// XLA module, where recorded (`jit_train_step`).
    pub module: Option<String>,
    /// How often it was compiled in the window.
    pub compilations: u64,
    /// How many of these were not its first compilation: all where it ran before
    /// in the capture, else all but one.
    pub recompilations: u64,
    /// Union over threads of its tracing, lowering, compiling and loading.
    pub wall_ps: i64,
    /// Longest single compilation (compile phase only).
    pub longest_ps: i64,
    /// Begin of the first.
    pub first_ps: i64,
    /// Begin of the last.
    pub last_ps: i64,
}

/// Name of what cannot be attributed.
const UNKNOWN: &str = "(unknown)";

#[derive(Default)]
struct Entry {
    /// Compile phase, by thread and begin; overlapping ones are the same compilation.
    compiles: Vec<TimeRange>,
    all: Vec<TimeRange>,
    module: Option<String>,
}

/// The functions by time, and how many compilations there were.
pub(super) fn ledger(model: &TraceModel, events: &[CompileEvent<'_>]) -> (Vec<CompiledFunction>, u64) {
    let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
    let mut orphans = Vec::new();
    for event in events {
        match function_around(event.slice) {
            Some(function) => {
                let entry = entries.entry(function.to_owned()).or_default();
                entry.all.push(event.range);
                if event.class == HostClass::Compile {
                    entry.compiles.push(event.range);
                    entry.module = entry.module.take().or_else(|| module_of(event.slice));
                }
            }
            None => orphans.push(event),
        }
    }
    // A worker's event overlaps the one of the thread that waits for it: the same compilation.
    let attributed: IntervalSet = entries.values().flat_map(|entry| &entry.all).copied().collect();
    for event in orphans {
        if attributed.measure_in(event.range) > trace_model::Picos::ZERO {
            continue;
        }
        let module = (event.class == HostClass::Compile).then(|| module_of(event.slice)).flatten();
        let entry = entries.entry(module.clone().unwrap_or_else(|| UNKNOWN.to_owned())).or_default();
        entry.all.push(event.range);
        if event.class == HostClass::Compile && is_entry_point(event.slice.name()) {
            entry.compiles.push(event.range);
        }
        entry.module = entry.module.take().or(module);
    }
    let first_runs = first_runs(model, &entries);
    let mut functions: Vec<CompiledFunction> =
        entries.into_iter().map(|(name, entry)| finish(name, entry, &first_runs)).collect();
    functions.sort_by(|a, b| b.wall_ps.cmp(&a.wall_ps).then_with(|| a.function.cmp(&b.function)));
    let compilations = functions.iter().map(|function| function.compilations).sum();
    (functions, compilations)
}

/// Whether an event is a whole compilation rather than a part of one that a pool
/// thread runs on its own (`XLA::TPU lowering and optimization`).
fn is_entry_point(name: &str) -> bool {
    name.starts_with("backend_compile") || (name.contains("Compile") && !name.starts_with("XLA::"))
}

fn finish(function: String, entry: Entry, first_runs: &BTreeMap<String, Timestamp>) -> CompiledFunction {
    let compiles: IntervalSet = entry.compiles.into_iter().collect();
    let all: IntervalSet = entry.all.into_iter().collect();
    let compilations = compiles.ranges().len() as u64;
    let begin = |range: Option<&TimeRange>| range.map_or(0, |range| range.start.ps());
    // An execution that ended before anything was compiled used an older program.
    let first = all.ranges().first().map(|range| range.start);
    let ran_before = first.zip(first_runs.get(&function)).is_some_and(|(first, &ended)| ended <= first);
    CompiledFunction {
        recompilations: if ran_before { compilations } else { compilations.saturating_sub(1) },
        function,
        module: entry.module,
        compilations,
        wall_ps: all.measure().ps(),
        longest_ps: compiles.ranges().iter().map(|range| range.dur().ps()).max().unwrap_or(0),
        first_ps: begin(all.ranges().first()),
        last_ps: begin(all.ranges().last()),
    }
}

/// When the first call of each function in the ledger ended.
fn first_runs(model: &TraceModel, entries: &BTreeMap<String, Entry>) -> BTreeMap<String, Timestamp> {
    let calls = |label: LabelId| {
        let name = pjit_function(model.str(model.label(label).name))?;
        entries.get_key_value(name).map(|(name, _)| name.as_str())
    };
    let mut by_label: BTreeMap<LabelId, Option<&str>> = BTreeMap::new();
    let mut first: BTreeMap<String, Timestamp> = BTreeMap::new();
    if entries.is_empty() {
        return first;
    }
    for track in model.track_ids().filter(|&track| model.track(track).kind == TrackKind::HostThread) {
        for slice in model.slices_on(track) {
            let function = *by_label.entry(slice.label_id()).or_insert_with(|| calls(slice.label_id()));
            if let Some(function) = function {
                let end = slice.range().end;
                let earliest = first.entry(function.to_owned()).or_insert(end);
                *earliest = end.min(*earliest);
            }
        }
    }
    first
}

/// The function whose call led to this event: the innermost `PjitFunction(f)` around it.
fn function_around(slice: SliceRef<'_>) -> Option<&str> {
    std::iter::successors(Some(slice), |slice| slice.parent()).find_map(|slice| pjit_function(slice.name()))
}

/// The module that an event says to compile, in its name, its arguments or those
/// of the events directly inside.
fn module_of(slice: SliceRef<'_>) -> Option<String> {
    let named = |slice: SliceRef<'_>| {
        let suffix = slice.name().split_once('#')?.1.split_once("module=")?.1;
        suffix.split([',', '#']).next().map(str::to_owned)
    };
    let argued = |slice: SliceRef<'_>| {
        let args = slice.args().ok()?;
        let module = args.into_iter().find(|arg| matches!(arg.name.as_str(), "module" | "hlo_module" | "name"))?;
        match module.value {
            ArgValue::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    };
    let inside = slice
        .children()
        .take(MAX_INSIDE)
        .flat_map(|child| std::iter::once(child).chain(child.children().take(MAX_INSIDE)));
    std::iter::once(slice).chain(inside).find_map(|slice| named(slice).or_else(|| argued(slice)))
}

/// How many events inside are asked for the module.
const MAX_INSIDE: usize = 4;
