//! Trace data from inside custom calls: pipeline scopes and counters.

use std::collections::{BTreeMap, BTreeSet};

use trace_model::{CounterSeries, GroupId, OpId, Picos, SliceId, SliceRef, TimeRange, TraceModel, TrackKind};

use crate::engine::{AnalysisError, Context};
use crate::facts::TraceFacts as _;
use crate::facts::category::OpClass;
use crate::facts::core_time::{SelfTimeSegment, self_time_segments};
use crate::math::intervals::IntervalSet;

/// Data recorded inside the executions of one op, on all cores.
#[derive(Clone, Debug, Default)]
pub(super) struct KernelInside {
    /// Number of executions with scopes.
    pub executions: u64,
    /// Their time, by the clock of the scopes.
    pub time: Picos,
    /// By name of the scope.
    pub stages: BTreeMap<String, StageSums>,
    /// Time in no scope.
    pub outside: Picos,
    /// Time waiting for input or output blocks.
    pub dma_wait: Picos,
    /// By series.
    pub counters: BTreeMap<(String, String), CounterSums>,
}

/// One scope of a kernel.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StageSums {
    pub occurrences: u64,
    /// Time including scopes inside.
    pub total: Picos,
    /// Time excluding scopes inside.
    pub own: Picos,
}

/// One series over the executions of a kernel.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CounterSums {
    /// Σ value × time, value·ps.
    pub weighted: f64,
    /// Time with a sample.
    pub held: Picos,
    /// Time of the executions that have any sample.
    pub time: Picos,
    pub max: f64,
}

const WAIT_IN: &str = "ep_wait_in";
const WAIT_OUT: &str = "ep_wait_out";

impl KernelInside {
    /// Adds another op of the same kernel.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.executions += other.executions;
        self.time += other.time;
        self.outside += other.outside;
        self.dma_wait += other.dma_wait;
        for (name, sums) in &other.stages {
            let stage = self.stages.entry(name.clone()).or_default();
            stage.occurrences += sums.occurrences;
            stage.total += sums.total;
            stage.own += sums.own;
        }
        for (name, sums) in &other.counters {
            let first = !self.counters.contains_key(name);
            let counter = self.counters.entry(name.clone()).or_default();
            counter.max = if first { sums.max } else { counter.max.max(sums.max) };
            counter.weighted += sums.weighted;
            counter.held += sums.held;
            counter.time += sums.time;
        }
    }

    /// Divides one execution among its scopes: each instant belongs to the innermost one, so that the scopes and the
    /// remaining time add up to the execution.
    ///
    /// ```text
    /// call    KKKKKKKKKKKKKKKKKKKK
    /// scopes  .wwwwRRRRRRRRwwRRR..
    ///              ..uu..
    /// own      wwwwRRuuRRRRwwRRR     and the two dots at the ends and one before
    /// ```
    fn add_scopes(&mut self, call: TimeRange, scopes: &[(TimeRange, SliceRef<'_>)]) {
        let clipped = scopes.iter().filter_map(|&(range, scope)| Some((range.intersect(call)?, scope)));
        let clipped: Vec<(TimeRange, SliceRef<'_>)> = clipped.collect();
        if clipped.is_empty() {
            return;
        }
        self.executions += 1;
        self.time += call.dur();
        // Segments carry the index in the list instead of a row of the model.
        let spans = clipped.iter().enumerate().map(|(i, &(range, _))| SelfTimeSegment {
            range,
            slice: SliceId::from_index(i),
            class: OpClass::default(),
        });
        let mut rest = call.dur();
        for segment in self_time_segments(spans.collect()) {
            let Some((_, scope)) = clipped.get(segment.slice.index()) else { continue };
            rest -= segment.range.dur();
            self.stages.entry(stage_name(scope.name()).to_owned()).or_default().own += segment.range.dur();
        }
        self.outside += rest;
        let mut by_name: BTreeMap<&str, Vec<TimeRange>> = BTreeMap::new();
        for &(range, scope) in &clipped {
            by_name.entry(stage_name(scope.name())).or_default().push(range);
        }
        for (name, ranges) in &by_name {
            let stage = self.stages.entry((*name).to_owned()).or_default();
            stage.occurrences += ranges.len() as u64;
            stage.total += ranges.iter().copied().collect::<IntervalSet>().measure();
        }
        let waits = [WAIT_IN, WAIT_OUT].into_iter().filter_map(|name| by_name.get(name)).flatten().copied();
        self.dma_wait += waits.collect::<IntervalSet>().measure();
    }

    /// Samples count for as long as they hold inside the execution: the last sample of a kernel can claim to hold
    /// until an absolute time.
    fn add_counter(&mut self, name: &(String, String), series: &CounterSeries, call: TimeRange) {
        let mut samples = series.samples_in(call).peekable();
        if samples.peek().is_none() {
            return;
        }
        let sums = self
            .counters
            .entry(name.clone())
            .or_insert_with(|| CounterSums { max: f64::NEG_INFINITY, ..CounterSums::default() });
        sums.time += call.dur();
        for (part, value) in samples {
            sums.held += part.dur();
            sums.weighted += value * part.dur().ps() as f64;
            sums.max = sums.max.max(value);
        }
    }
}

/// `ep_initialize_3` is `ep_initialize`: the number is that of the pipeline.
fn stage_name(scope: &str) -> &str {
    match scope.rsplit_once('_') {
        Some((stem, number)) if scope.starts_with("ep_") && number.bytes().all(|b| b.is_ascii_digit()) => stem,
        _ => scope,
    }
}

/// Whether the compiler's schedule of a kernel fills a series, judging by name or unit.
fn is_llo(model: &TraceModel, series: &CounterSeries) -> bool {
    const NAMES: [&str; 9] = [
        "MXU",
        "XLU",
        "Vector ALU",
        "Vector Load",
        "Vector Store",
        "Vector EUP",
        "Scalar ALU",
        "Vector Fills",
        "Vector Spills",
    ];
    let unit = series.unit().map(|unit| model.str(unit)).unwrap_or_default();
    matches!(unit, "% util" | "fills" | "spills") || NAMES.contains(&model.str(model.track(series.track()).name))
}

/// Scopes and counters inside the executions of `wanted` ops. Takes almost no time if the trace has neither.
pub(super) fn collect(
    cx: &Context<'_>,
    wanted: &BTreeSet<OpId>,
) -> Result<BTreeMap<OpId, KernelInside>, AnalysisError> {
    let mut found: BTreeMap<OpId, KernelInside> = BTreeMap::new();
    for core in cx.tensor_cores() {
        let recorded = RecordedCalls::on(cx.model, core);
        if recorded.scopes.is_empty() && recorded.series.is_empty() {
            continue;
        }
        let Some(window) = cx.window(core)? else { continue };
        for call in slices(cx.model, core, TrackKind::Ops) {
            let Some(op) = call.op().filter(|op| wanted.contains(op)) else { continue };
            if !window.contains(call) {
                continue;
            }
            let inside = found.entry(op).or_default();
            let range = recorded.range_of(call);
            let from = recorded.scopes.partition_point(|(scope, _)| scope.start < range.start);
            let until = from + recorded.scopes[from..].partition_point(|(scope, _)| scope.start < range.end);
            inside.add_scopes(range, &recorded.scopes[from..until]);
            for (name, series) in &recorded.series {
                inside.add_counter(name, series, call.range());
            }
        }
    }
    Ok(found)
}

/// Data of one core other than ops.
struct RecordedCalls<'a> {
    /// Sorted by start, by one clock.
    scopes: Vec<(TimeRange, SliceRef<'a>)>,
    /// Whether scopes have the clock of the device.
    by_device: bool,
    /// Name, unit, samples.
    series: Vec<((String, String), &'a CounterSeries)>,
}

impl<'a> RecordedCalls<'a> {
    fn on(model: &'a TraceModel, core: GroupId) -> Self {
        let slices: Vec<SliceRef<'a>> = slices(model, core, TrackKind::DeviceScopes).collect();
        // Containment needs a single clock: the device's only if all scopes have it.
        let by_device = !slices.is_empty()
            && slices.iter().all(|scope| scope.device_range().is_some())
            && self::slices(model, core, TrackKind::Ops).next().is_some_and(|op| op.device_range().is_some());
        let range = |scope: SliceRef<'a>| if by_device { scope.measured_range() } else { scope.range() };
        let mut scopes: Vec<_> = slices.into_iter().map(|scope| (range(scope), scope)).collect();
        scopes.sort_by_key(|&(range, scope)| (range.start, std::cmp::Reverse(range.end), scope.id()));
        let text = |id| model.str(id).to_owned();
        let series =
            model.counters().iter().filter(|series| model.track(series.track()).group == core && is_llo(model, series));
        let named = series.map(|series| {
            let name = text(model.track(series.track()).name);
            ((name, series.unit().map(text).unwrap_or_default()), series)
        });
        Self { scopes, by_device, series: named.collect() }
    }

    fn range_of(&self, call: SliceRef<'_>) -> TimeRange {
        if self.by_device { call.measured_range() } else { call.range() }
    }
}

fn slices(model: &TraceModel, core: GroupId, kind: TrackKind) -> impl Iterator<Item = SliceRef<'_>> {
    let tracks = model.tracks_of(core).into_iter().filter(move |&track| model.track(track).kind == kind);
    tracks.flat_map(move |track| model.slices_on(track))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipelines_are_numbered_and_user_scopes_keep_names() {
        assert_eq!(stage_name("ep_initialize_0"), "ep_initialize");
        assert_eq!(stage_name("ep_wait_in"), "ep_wait_in");
        assert_eq!(stage_name("layer_3"), "layer_3");
    }
}
