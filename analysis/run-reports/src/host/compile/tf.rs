//! Functions of TensorFlow: how often a call had to trace its Python again.
//!
//! Calls record their mode in the argument `tf_function_call` (`eager`, `concrete`, `traced-xla`, `notTraced-nonXla`
//! …) and how often the function has been traced so far in `tracing_count`. As in XProf, the time of a call excludes
//! functions called inside it, and eager and traced calls are expensive.

use facts::compile_events::ancestors;
use facts::host_class::stripped;
use facts::prelude::*;

use super::annotations::reading_order;
use super::arguments::{decorations, plain_text};

/// XProf highlights functions that spend at least this share of their time in expensive calls.
const EXPENSIVE: Percent = Percent(20.0);

/// Calls of one kind.
#[engine::reported]
#[derive(Copy, Default)]
pub struct CallKind {
    /// Number of calls.
    pub calls: u64,
    /// Their time, excluding functions called inside.
    pub self_ps: Picos,
}

/// One function.
#[engine::row(measured)]
#[derive(Default)]
pub struct TfFunction {
    /// Its name.
    #[column]
    #[column(id = "calls", unit = Count, with = |function| function.all().calls)]
    #[column(id = "self_time_ps", with = |function| function.all().self_ps)]
    pub function: String,
    /// Calls that traced Python first.
    #[column(recorded, unit = Count, with = |function| function.traced.calls)]
    #[column("in", id = "traced_ps", with = |function| function.traced.self_ps)]
    pub traced: CallKind,
    /// Calls that ran op by op.
    #[column(recorded, unit = Count, with = |function| function.eager.calls)]
    #[column("in", id = "eager_ps", with = |function| function.eager.self_ps)]
    pub eager: CallKind,
    /// Calls that used an existing graph.
    pub not_traced: CallKind,
    /// Calls of a graph with fixed arguments.
    pub concrete: CallKind,
    /// Calls whose graph XLA compiled.
    #[column("By XLA", recorded)]
    pub xla_calls: u64,
    /// How often it was traced since the program started, by the last call.
    #[column("Traced so far", recorded)]
    pub tracing_count: Option<u64>,
    /// Time of eager and traced calls as a share of all calls.
    #[column("Traced or eager, of self time", derived)]
    pub expensive_percent: Option<Percent>,
    /// Whether `expensive_percent` is at least 20 %.
    #[column(derived, id = "remark", with = |function| function.is_expensive.then_some("expensive"))]
    pub is_expensive: bool,
}

/// Functions by their time; empty if there are none.
pub(super) fn functions(model: &TraceModel, window: TimeRange) -> Vec<TfFunction> {
    let labels = function_labels(model);
    let mut calls: BTreeMap<SliceId, (SliceRef<'_>, String, Option<u64>, Picos)> = BTreeMap::new();
    if labels.is_empty() {
        return Vec::new();
    }
    let slices = host_threads(model).flat_map(|track| model.slices_on(track));
    let mut asked: Vec<SliceRef<'_>> = slices
        .filter(|slice| labels.contains(&slice.label_id()) && window.contains(slice.start()))
        .collect();
    asked.sort_by_key(reading_order);
    for slice in asked {
        if let Some((mode, count)) = call_of(slice) {
            calls.insert(slice.id(), (slice, mode, count, slice.dur()));
        }
    }
    let inner: Vec<(SliceId, Picos)> = calls
        .values()
        .filter_map(|(slice, ..)| {
            Some((
                ancestors(*slice)
                    .find(|s| calls.contains_key(&s.id()))?
                    .id(),
                slice.dur(),
            ))
        })
        .collect();
    for (around, time) in inner {
        if let Some((.., self_time)) = calls.get_mut(&around) {
            *self_time = (*self_time - time).clamped();
        }
    }
    let mut functions: BTreeMap<&str, TfFunction> = BTreeMap::new();
    for (slice, mode, count, self_ps) in calls.values() {
        let name = stripped(slice.name());
        let function = functions.entry(name).or_insert_with(|| TfFunction {
            function: name.to_owned(),
            ..TfFunction::default()
        });
        function.add(mode, *count, *self_ps);
    }
    let mut functions: Vec<TfFunction> = functions.into_values().map(TfFunction::finish).collect();
    largest_first(&mut functions, |row| row.all().self_ps, |row| &row.function);
    functions
}

const OF_TENSORFLOW: [&str; 5] = [
    "ExecutorState::Process",
    "FunctionRun",
    "EagerLocalExecute",
    "EagerExecute",
    "EagerKernelExecute",
];

const CALL: &str = "tf_function_call=";

/// Whether events of this name, in a capture of TensorFlow, make any event a call: its arguments say so.
pub fn needs_others(name: &str) -> bool {
    name.contains(CALL) || OF_TENSORFLOW.contains(&stripped(name))
}

/// Labels whose first event is a function call. Only captures with TensorFlow's executor are searched, because this
/// reads the arguments of one event of each label.
fn function_labels(model: &TraceModel) -> BTreeSet<LabelId> {
    let name = |id: LabelId| stripped(model.str(model.label(id).name));
    let is_call = |id: LabelId| model.str(model.label(id).name).contains(CALL);
    let mut labels: BTreeSet<LabelId> = model.label_ids().filter(|&id| is_call(id)).collect();
    if !model
        .label_ids()
        .any(|id| OF_TENSORFLOW.contains(&name(id)))
    {
        return labels;
    }
    let mut firsts: Vec<Option<SliceRef<'_>>> = vec![None; model.labels().len()];
    for slice in host_threads(model).flat_map(|track| model.slices_on(track)) {
        if let Some(first) = firsts.get_mut(slice.label_id().index()) {
            first.get_or_insert(slice);
        }
    }
    let mut firsts: Vec<SliceRef<'_>> = firsts.into_iter().flatten().collect();
    firsts.sort_by_key(reading_order);
    labels.extend(
        firsts
            .into_iter()
            .filter(|&slice| call_of(slice).is_some())
            .map(SliceRef::label_id),
    );
    labels
}

/// Mode and tracing count of a call.
fn call_of(slice: SliceRef<'_>) -> Option<(String, Option<u64>)> {
    let mut values: BTreeMap<String, String> = decorations(slice)
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    for arg in slice.args().unwrap_or_default() {
        if let Some(value) = plain_text(arg.value) {
            values.entry(arg.name).or_insert(value);
        }
    }
    let mode = values.remove("tf_function_call")?;
    let count = values.get("tracing_count");
    Some((mode, count.and_then(|count| count.parse().ok())))
}

impl TfFunction {
    fn add(&mut self, mode: &str, count: Option<u64>, self_ps: Picos) {
        let (kind, compiler) = mode.split_once('-').unwrap_or((mode, ""));
        let kind = match kind {
            "eager" => &mut self.eager,
            "concrete" => &mut self.concrete,
            "traced" => &mut self.traced,
            _ => &mut self.not_traced,
        };
        kind.calls += 1;
        kind.self_ps += self_ps;
        self.xla_calls += u64::from(compiler == "xla");
        self.tracing_count = self.tracing_count.max(count);
    }

    fn all(&self) -> CallKind {
        let kinds = [self.traced, self.not_traced, self.eager, self.concrete];
        CallKind {
            calls: kinds.iter().map(|kind| kind.calls).sum(),
            self_ps: kinds.iter().map(|kind| kind.self_ps).sum(),
        }
    }

    fn finish(mut self) -> Self {
        let expensive = self.traced.self_ps + self.eager.self_ps;
        self.expensive_percent = Percent::of(expensive, self.all().self_ps);
        self.is_expensive = self
            .expensive_percent
            .is_some_and(|share| share >= EXPENSIVE);
        self
    }
}

/// The functions as a table.
pub(super) fn table(functions: &[TfFunction]) -> Table {
    Table::of("tf_functions", "Functions of TensorFlow", functions)
        .remaining()
        .note("At 20 % of self time in traced or eager calls a function is called expensive, as in XProf.")
        .build()
}
