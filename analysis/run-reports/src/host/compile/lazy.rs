//! Lazy tensors of `PyTorch`/XLA: graphs are compiled when the values of tensors are needed.
//!
//! ```text
//! StepMarker [SyncLiveTensorsGraph [SyncTensorsGraphInternal [XLAGraphExecutor::Compile]]]
//! loss.item()                      [SyncTensorsGraphInternal ][…::TransferFromDevice]
//! ```
//!
//! Event names and limits are those of `PyTorch`/XLA (`torch_xla/csrc`, and its metrics analysis: compilations and
//! transfers per step, longest compilation and execution). A value above a limit is reported without a judgement.

use facts::compile_events::LazyRole;
use facts::compile_events::ancestors;
use facts::prelude::*;
use trace_model::time::PS_PER_S;

use super::event_grouping::graph_hash;

/// Limits above which `PyTorch`/XLA's own analysis prints a warning.
const PER_STEP: f64 = 0.5;
/// Number of first steps that compilations per step leave out.
const WARMUP_STEPS: u64 = 10;
const LONGEST_COMPILE: Picos = Picos::from_ps(300 * PS_PER_S);
const LONGEST_EXECUTE: Picos = Picos::from_ps(30 * PS_PER_S);
/// A sync that takes this long contains more than one step.
const LONGEST_SYNC: Picos = Picos::from_ps(30 * PS_PER_S);

/// A number about lazy tensors, with its limit.
#[engine::row(measured)]
pub struct LazyFact {
    /// Stable name.
    pub id: &'static str,
    /// Display name.
    #[column("What", id = "fact")]
    pub title: &'static str,
    /// The number; `None` if the capture does not show it.
    #[column(id = "number", with = |fact| fact.value.filter(|_| !fact.is_time()))]
    #[column(id = "time_ps", with = |fact| fact.value.filter(|_| fact.is_time()))]
    pub value: Option<f64>,
    /// Unit of the value and the limit.
    pub unit: Unit,
    /// Above this the program loses time.
    #[column(with = Self::limit_text)]
    pub limit: Option<f64>,
    /// One sentence, if the limit is exceeded.
    #[column("Above its limit", derived, id = "above_limit")]
    pub statement: Option<String>,
}

impl LazyFact {
    fn is_time(&self) -> bool {
        self.unit == Unit::Picoseconds
    }

    fn limit_text(&self) -> Option<String> {
        let limit = self.limit?;
        Some(if self.is_time() {
            Picos::from_ps(limit as i64).to_string()
        } else {
            limit.to_string()
        })
    }
}

/// A graph, by the hash of its operations.
#[engine::row(measured)]
#[derive(Default)]
pub struct LazyGraph {
    /// Its hash, if recorded.
    #[column("Graph hash")]
    pub hash: Option<String>,
    /// Number of its compilations.
    #[column("Compiled")]
    pub compilations: u64,
    /// Time of all its compilations.
    #[column]
    pub time_ps: Picos,
    /// The longest compilation.
    #[column]
    pub longest_ps: Picos,
    /// Number of steps that had ended when it was first compiled.
    #[column("Steps before the first")]
    pub after_steps: u64,
}

/// Numbers and graphs of lazy tensors in the window.
#[engine::reported]
pub struct LazyTensors {
    /// The numbers.
    pub facts: Vec<LazyFact>,
    /// Graphs that were compiled, longest first.
    pub graphs: Vec<LazyGraph>,
}

#[derive(Default)]
struct LazyCounts {
    number: u64,
    total: Picos,
    longest: Picos,
}

impl LazyCounts {
    fn of<'a>(slices: impl IntoIterator<Item = &'a SliceRef<'a>>) -> Self {
        let mut out = Self::default();
        for slice in slices {
            out.number += 1;
            out.total += slice.dur();
            out.longest = out.longest.max(slice.dur());
        }
        out
    }
}

impl LazyTensors {
    /// `None` if there are no lazy tensors.
    pub(super) fn new(events: &[(LazyRole, SliceRef<'_>)]) -> Option<Self> {
        let of = |role| {
            events
                .iter()
                .filter(move |(of_event, _)| *of_event == role)
                .map(|(_, slice)| slice)
        };
        // `StepMarker` alone can also be the name of a user's annotation.
        if events.iter().all(|(role, _)| *role == LazyRole::Step) {
            return None;
        }
        let role_of = |slice: SliceRef<'_>| LazyRole::of(slice.name());
        let syncs: Vec<&SliceRef<'_>> = of(LazyRole::Sync)
            .filter(|slice| !ancestors(**slice).any(|s| role_of(s) == Some(LazyRole::Sync)))
            .collect();
        let sync = LazyCounts::of(syncs.iter().copied());
        let early = LazyCounts::of(
            syncs
                .iter()
                .copied()
                .filter(|slice| !ancestors(**slice).any(|s| role_of(s) == Some(LazyRole::Step))),
        );
        let [steps, compile, execute, fetch, dynamo, schedule] = [
            LazyRole::Step,
            LazyRole::Compile,
            LazyRole::Execute,
            LazyRole::Fetch,
            LazyRole::Dynamo,
            LazyRole::Schedule,
        ]
        .map(|role| LazyCounts::of(of(role)));
        let mut ends: Vec<_> = of(LazyRole::Step).map(|slice| slice.range().end).collect();
        ends.sort_unstable();
        let graphs = graphs(of(LazyRole::Compile), &ends);
        let late = of(LazyRole::Compile)
            .filter(|slice| ended(&ends, slice) >= WARMUP_STEPS)
            .count();
        let per_step =
            |number: u64| (steps.number > 0).then(|| number as f64 / steps.number as f64);
        let warm_steps = steps.number.saturating_sub(WARMUP_STEPS);
        let marked = steps.number;
        let warm = |value: Option<f64>| value.filter(|_| warm_steps > 0);
        let mut facts = vec![count("step_markers", "Step markers", marked)];
        if marked == 0 && dynamo.number == 0 && sync.number > 0 {
            facts[0].statement = Some(format!(
                "{} graphs ran and no step was marked (mark_step)",
                sync.number
            ));
        }
        facts.extend([
            count("graphs_compiled", "Different graphs compiled", graphs.len() as u64),
            count("compilations", "Compilations", compile.number),
            limited("compilations_per_step", "Compilations per step", warm(per_step(compile.number)), || {
                format!("{} compilations during {marked} steps", compile.number)
            }),
            limited(
                "late_compilations_per_step",
                "… after step 10",
                warm(Some(late as f64 / warm_steps as f64)),
                || format!("{late} compilations in the {warm_steps} steps after the first {WARMUP_STEPS}"),
            ),
            count("executions", "Graphs queued", schedule.number + dynamo.number),
            limited("early_syncs_per_step", "Syncs outside step markers, per step", per_step(early.number), || {
                format!(
                    "{} times a graph was cut before the end of the step (a value was asked for), {} in all",
                    early.number, early.total
                )
            }),
            limited("fetches_per_step", "Transfers from the device per step", per_step(fetch.number), || {
                format!("{} transfers from the device during {marked} steps, {} in all", fetch.number, fetch.total)
            }),
            longest("longest_compile_ps", "Longest compilation", &compile, LONGEST_COMPILE),
            longest("longest_execute_ps", "Longest execution", &execute, LONGEST_EXECUTE),
            longest("longest_sync_ps", "Longest sync", &sync, LONGEST_SYNC),
        ]);
        Some(Self { facts, graphs })
    }

    /// The numbers and the graphs.
    pub(super) fn tables(&self) -> Vec<Table> {
        let facts = Table::of("lazy_tensors", "Lazy tensors (PyTorch/XLA)", &self.facts)
            .remaining()
            .note("Limits are those of PyTorch/XLA's own metrics analysis.")
            .build();
        let graphs = Table::of("lazy_graphs", "Compiled graphs (PyTorch/XLA)", &self.graphs)
            .remaining()
            .build();
        vec![facts, graphs]
    }
}

/// Number of steps that had ended when `slice` started.
fn ended(ends: &[Timestamp], slice: &SliceRef<'_>) -> u64 {
    ends.partition_point(|&end| end <= slice.start()) as u64
}

fn graphs<'a>(
    compiles: impl Iterator<Item = &'a SliceRef<'a>>,
    ends: &[Timestamp],
) -> Vec<LazyGraph> {
    let mut by_hash: BTreeMap<Option<String>, LazyGraph> = BTreeMap::new();
    for slice in compiles {
        let hash = graph_hash(*slice);
        let after_steps = ended(ends, slice);
        let entry = by_hash.entry(hash.clone());
        let graph = entry.or_insert(LazyGraph {
            hash,
            after_steps,
            ..LazyGraph::default()
        });
        graph.compilations += 1;
        graph.time_ps += slice.dur();
        graph.longest_ps = graph.longest_ps.max(slice.dur());
        graph.after_steps = graph.after_steps.min(after_steps);
    }
    let mut graphs: Vec<LazyGraph> = by_hash.into_values().collect();
    largest_first(&mut graphs, |row| row.time_ps, |row| &row.hash);
    graphs
}

fn count(id: &'static str, title: &'static str, number: u64) -> LazyFact {
    LazyFact {
        id,
        title,
        value: Some(number as f64),
        unit: Unit::Count,
        limit: None,
        statement: None,
    }
}

fn limited(
    id: &'static str,
    title: &'static str,
    value: Option<f64>,
    statement: impl Fn() -> String,
) -> LazyFact {
    let is_above = value.is_some_and(|value| value > PER_STEP);
    LazyFact {
        value,
        limit: Some(PER_STEP),
        statement: is_above.then(statement),
        ..count(id, title, 0)
    }
}

fn longest(id: &'static str, title: &'static str, counts: &LazyCounts, limit: Picos) -> LazyFact {
    let value = (counts.number > 0).then_some(counts.longest);
    let statement = value
        .filter(|&value| value > limit)
        .map(|value| format!("{} took {value}", title.to_lowercase()));
    LazyFact {
        value: value.map(Picos::as_ps_f64),
        unit: Unit::Picoseconds,
        limit: Some(limit.as_ps_f64()),
        statement,
        ..count(id, title, 0)
    }
}
