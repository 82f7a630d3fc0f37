//! Trace data from inside custom calls: pipeline scopes and counters.

use facts::prelude::*;
use facts::{TimeWindow, self_time_segments};
use trace_model::CounterSeries;

/// Data recorded inside the executions of one op, on all cores.
#[derive(Debug, Default)]
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
    /// Time of the executions that have any event on a line, by the name of the line.
    pub line_times: BTreeMap<String, Picos>,
    /// By line and name. Scopes are those of [`STAGES`].
    pub parts: BTreeMap<(String, String), PartSums>,
}

/// What stages are called beside the names of lines.
pub(super) const STAGES: &str = "stages";

/// A stage, an LLO op or a source line, without what is inside it.
#[derive(Debug, Default)]
pub(super) struct PartSums {
    pub occurrences: u64,
    pub own: Picos,
    /// By series.
    pub units: BTreeMap<(String, String), UnitSums>,
}

/// One series while a part runs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UnitSums {
    /// Σ value × time, value·ps.
    pub weighted: f64,
    /// Time with a sample.
    pub held: Picos,
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
    pub fn merge(&mut self, other: &Self) {
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
            counter.max = if first {
                sums.max
            } else {
                counter.max.max(sums.max)
            };
            counter.weighted += sums.weighted;
            counter.held += sums.held;
            counter.time += sums.time;
        }
        for (line, time) in &other.line_times {
            *self.line_times.entry(line.clone()).or_default() += *time;
        }
        for (name, sums) in &other.parts {
            let part = self.parts.entry(name.clone()).or_default();
            part.occurrences += sums.occurrences;
            part.own += sums.own;
            for (series, sums) in &sums.units {
                let unit = part.units.entry(series.clone()).or_default();
                unit.weighted += sums.weighted;
                unit.held += sums.held;
            }
        }
    }

    /// Divides one execution among the events of a line, and the samples of the series among these. `shift` leads from
    /// the clock of the events to the timeline, which is that of the samples.
    fn add_parts(
        &mut self,
        line: &str,
        (call, shift): (TimeRange, Picos),
        events: &[(TimeRange, SliceRef<'_>)],
        series: &[((String, String), &CounterSeries)],
    ) {
        let clipped = clipped(call, events);
        if clipped.is_empty() {
            return;
        }
        *self.line_times.entry(line.to_owned()).or_default() += call.dur();
        for (_, event) in &clipped {
            self.parts
                .entry((line.to_owned(), stage_name(event.name()).to_owned()))
                .or_default()
                .occurrences += 1;
        }
        for (range, event) in own_times(&clipped) {
            let part = self
                .parts
                .entry((line.to_owned(), stage_name(event.name()).to_owned()))
                .or_default();
            part.own += range.dur();
            let on_timeline = TimeRange::at(range.start + shift, range.dur());
            for (name, series) in series {
                for (sample, value) in series.samples_in(on_timeline) {
                    let unit = part.units.entry(name.clone()).or_default();
                    unit.held += sample.dur();
                    unit.weighted += value * sample.dur().as_ps_f64();
                }
            }
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
        let clipped = clipped(call, scopes);
        if clipped.is_empty() {
            return;
        }
        self.executions += 1;
        self.time += call.dur();
        let mut rest = call.dur();
        for (range, scope) in own_times(&clipped) {
            rest -= range.dur();
            self.stages
                .entry(stage_name(scope.name()).to_owned())
                .or_default()
                .own += range.dur();
        }
        self.outside += rest;
        let by_name = grouped(
            clipped
                .iter()
                .map(|&(range, scope)| (stage_name(scope.name()), range)),
        );
        for (name, ranges) in &by_name {
            let stage = self.stages.entry((*name).to_owned()).or_default();
            stage.occurrences += ranges.len() as u64;
            stage.total += ranges.iter().copied().collect::<IntervalSet>().measure();
        }
        let waits = [WAIT_IN, WAIT_OUT]
            .into_iter()
            .filter_map(|name| by_name.get(name))
            .flatten()
            .copied();
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
            .or_insert_with(|| CounterSums {
                max: f64::NEG_INFINITY,
                ..CounterSums::default()
            });
        sums.time += call.dur();
        for (part, value) in samples {
            sums.held += part.dur();
            sums.weighted += value * part.dur().as_ps_f64();
            sums.max = sums.max.max(value);
        }
    }
}

type Events<'a> = Vec<(TimeRange, SliceRef<'a>)>;

/// The parts of events during an execution. Markers without length take no time and are left out.
fn clipped<'a>(call: TimeRange, events: &[(TimeRange, SliceRef<'a>)]) -> Events<'a> {
    let inside = events
        .iter()
        .filter_map(|&(range, event)| Some((range.intersect(call)?, event)));
    inside.filter(|(range, _)| !range.is_empty()).collect()
}

/// When each of nested events is the innermost.
fn own_times<'a>(events: &[(TimeRange, SliceRef<'a>)]) -> Events<'a> {
    // Segments carry the index in the list instead of a row of the model.
    let spans = events
        .iter()
        .enumerate()
        .map(|(i, &(range, _))| SelfTimeSegment {
            range,
            slice: SliceId::from_index(i),
            class: OpClass::default(),
        });
    self_time_segments(spans.collect())
        .into_iter()
        .filter_map(|segment| Some((segment.range, events.get(segment.slice.index())?.1)))
        .collect()
}

/// Whether a line of a core divides kernels: not markers, flags and utilization.
fn is_inside_kernels(name: &str) -> bool {
    matches!(name, "Source Lines" | "LLO Ops" | "Pallas Primitives")
        || name.ends_with(" Instructions")
}

/// `ep_initialize_3` is `ep_initialize`: the number is that of the pipeline.
fn stage_name(scope: &str) -> &str {
    match scope.rsplit_once('_') {
        Some((stem, number))
            if scope.starts_with("ep_") && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            stem
        }
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
    let unit = series
        .unit()
        .map(|unit| model.str(unit))
        .unwrap_or_default();
    matches!(unit, "% util" | "fills" | "spills")
        || NAMES.contains(&model.str(model.track(series.track()).name))
}

/// Scopes and counters inside the executions of `wanted` ops. Takes almost no time if the trace has neither.
pub(super) fn collect(
    cx: &Context<'_>,
    wanted: &BTreeSet<OpId>,
) -> Result<BTreeMap<OpId, KernelInside>> {
    let mut by_op: BTreeMap<OpId, KernelInside> = BTreeMap::new();
    for core in cx.tensor_cores() {
        let recorded = RecordedCalls::on(cx.model, core);
        if recorded.is_empty() {
            continue;
        }
        let Some(window) = cx.window(core)? else {
            continue;
        };
        for call in cx.model.slices_of_kind(core, TrackKind::Ops) {
            let Some(op) = call.op().filter(|op| wanted.contains(op)) else {
                continue;
            };
            let Some(on_timeline) = call.range().intersect(window.range) else {
                continue;
            };
            let inside = by_op.entry(op).or_default();
            if let Some(part) = recorded.scopes.part_of(call, window) {
                inside.add_scopes(part, recorded.scopes.during(call));
            }
            for line in std::iter::once(&recorded.scopes).chain(&recorded.lines) {
                let Some(part) = line.part_of(call, window) else {
                    continue;
                };
                let shift = call.start() - line.range_of(call).start;
                inside.add_parts(
                    &line.name,
                    (part, shift),
                    line.during(call),
                    &recorded.series,
                );
            }
            for (name, series) in &recorded.series {
                inside.add_counter(name, series, on_timeline);
            }
        }
    }
    Ok(by_op)
}

/// Data of one core other than ops.
struct RecordedCalls<'a> {
    scopes: RecordedLine<'a>,
    lines: Vec<RecordedLine<'a>>,
    /// Name, unit, samples.
    series: Vec<((String, String), &'a CounterSeries)>,
}

/// A line of a core.
struct RecordedLine<'a> {
    name: String,
    /// Sorted by start, by one clock.
    events: Events<'a>,
    /// Whether that is the clock of the device.
    by_device: bool,
}

impl<'a> RecordedLine<'a> {
    fn new(name: &str, slices: Vec<SliceRef<'a>>, ops_by_device: bool) -> Self {
        // Containment needs a single clock: the device's only if all events have it.
        let by_device = ops_by_device
            && !slices.is_empty()
            && slices.iter().all(|event| event.device_range().is_some());
        let range = |event: SliceRef<'a>| {
            if by_device {
                event.measured_range()
            } else {
                event.range()
            }
        };
        let mut events: Events<'a> = slices
            .into_iter()
            .map(|event| (range(event), event))
            .collect();
        events.sort_by_key(|&(range, event)| (range.start, Reverse(range.end), event.id()));
        Self {
            name: name.to_owned(),
            events,
            by_device,
        }
    }

    fn range_of(&self, call: SliceRef<'_>) -> TimeRange {
        if self.by_device {
            call.measured_range()
        } else {
            call.range()
        }
    }

    /// The part of a call that lies in a window.
    fn part_of(&self, call: SliceRef<'_>, window: TimeWindow) -> Option<TimeRange> {
        self.range_of(call).intersect(if self.by_device {
            window.measured
        } else {
            window.range
        })
    }

    /// The events that start during a call.
    fn during(&self, call: SliceRef<'_>) -> &[(TimeRange, SliceRef<'a>)] {
        let range = self.range_of(call);
        let from = self
            .events
            .partition_point(|(event, _)| event.start < range.start);
        let until =
            from + self.events[from..].partition_point(|(event, _)| event.start < range.end);
        &self.events[from..until]
    }
}

impl<'a> RecordedCalls<'a> {
    fn on(model: &'a TraceModel, core: GroupId) -> Self {
        let by_device = model
            .slices_of_kind(core, TrackKind::Ops)
            .next()
            .is_some_and(|op| op.device_range().is_some());
        let scopes = RecordedLine::new(
            STAGES,
            model
                .slices_of_kind(core, TrackKind::DeviceScopes)
                .collect(),
            by_device,
        );
        let named = model
            .tracks_of(core)
            .into_iter()
            .map(|track| (track, model.str(model.track(track).name)));
        let lines = named
            .filter(|(track, name)| {
                model.track(*track).kind == TrackKind::LowLevel && is_inside_kernels(name)
            })
            .map(|(track, name)| {
                RecordedLine::new(name, model.slices_on(track).collect(), by_device)
            })
            .filter(|line| !line.events.is_empty());
        let text = |id| model.str(id).to_owned();
        let series = model
            .counters()
            .iter()
            .filter(|series| model.track(series.track()).group == core && is_llo(model, series));
        let series = series.map(|series| {
            let name = text(model.track(series.track()).name);
            ((name, series.unit().map(text).unwrap_or_default()), series)
        });
        Self {
            scopes,
            lines: lines.collect(),
            series: series.collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.scopes.events.is_empty() && self.lines.is_empty() && self.series.is_empty()
    }
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
