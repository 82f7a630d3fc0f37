//! Steps: where they are, how long they take, which ones stand out.
//!
//! The `ladder` finds them; this report says which rung held and why. All times
//! are on the timeline, because annotations, steps and compilation have no other
//! clock. Step time is the span of the slowest core (`XProf`'s definition), the
//! interval is from its begin to the begin of the next step.

mod host;
mod ladder;
mod programs;
#[cfg(test)]
mod tests;

use serde::Serialize;
use trace_model::{GroupId, GroupKind, Picos, TimeRange, TraceModel};

pub use ladder::Rung;

use crate::compile::Compile;
use crate::intervals::IntervalSet;
use crate::report::{Cell, Column, Provenance, Table, Tabular, Unit};
use crate::stats::{OUTLIER_Z, Stats, modified_z};
use crate::{Analysis, AnalysisError, Context, Scope};

/// The step analysis.
pub struct Steps;

impl Analysis for Steps {
    type Report = StepsReport;
    const ID: &'static str = "steps";
    const TITLE: &'static str = "Steps";

    fn run(cx: &Context<'_>) -> Result<StepsReport, AnalysisError> {
        if cx.scope == Scope::WholeTrace {
            return Ok(whole(cx));
        }
        let mut report = cx.scoped(Scope::WholeTrace).report::<Self>()?.as_ref().clone();
        match cx.scope {
            Scope::WholeTrace => {}
            Scope::Range(range) => report.steps.retain(|step| step.range().is_some_and(|r| range.contains(r.start))),
            Scope::Steps { first, last } => report.steps.retain(|step| (first..=last).contains(&step.number)),
        }
        report.summarise();
        Ok(report)
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Its number, by which `--steps` selects it.
    pub number: u32,
    /// As recorded.
    pub label: String,
    /// Begin on the first core, on the timeline.
    pub start_ps: i64,
    /// Longest span over the cores, by the clock that timed their ops.
    pub time_ps: i64,
    /// From begin to the begin of the next step, on the slowest core, by the same clock; `None` for the last.
    pub interval_ps: Option<i64>,
    /// The core (or host) with the longest span, where several took part.
    pub slowest: Option<String>,
    /// Compilation on the host meanwhile.
    pub compile_ps: i64,
    /// It is not complete in the capture: left out of the statistics.
    pub is_partial: bool,
    /// It is one of the first steps that the options leave out.
    pub is_warmup: bool,
    /// It took unusually long: modified z above 3.5 and more than 1.3 × the median.
    pub is_outlier: bool,
    /// Its span on each core or host.
    pub spans: Vec<StepSpan>,
}

/// A step on one core or host.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepSpan {
    /// Which core or host.
    pub group: GroupId,
    /// From when to when, on the timeline.
    pub range: TimeRange,
    /// The same by the clock that timed its ops; what step times are taken from.
    pub measured: TimeRange,
}

impl Step {
    /// From the first begin to the last end; `None` without spans.
    pub fn range(&self) -> Option<TimeRange> {
        self.spans.iter().map(|span| span.range).reduce(TimeRange::hull)
    }
}

/// What the step analysis found.
#[derive(Clone, Debug, Serialize)]
pub struct StepsReport {
    /// Which evidence the steps come from.
    pub rung: Rung,
    /// What marks a step: a program, an annotation, the line.
    pub marker: String,
    /// Why this rung: the rungs above it and what they lacked, then itself.
    pub why: Vec<String>,
    /// All steps in time order.
    pub steps: Vec<Step>,
    /// Of `time_ps` over complete steps after warm-up.
    pub time: Option<Stats>,
    /// Of `interval_ps` over the same steps.
    pub interval: Option<Stats>,
    /// How many steps the statistics leave out as partial or warm-up.
    pub left_out: usize,
}

/// How much longer than the median a step must take to be called slow.
const OUTLIER_RATIO: f64 = 1.3;
/// Differences below this share of the median are no spread.
const SPREAD_FLOOR: f64 = 0.005;

impl StepsReport {
    /// Whether steps were found, rather than the whole capture taken for one.
    pub fn has_steps(&self) -> bool {
        self.rung != Rung::WholeCapture
    }

    /// Steps `first` to `last` as a range of the timeline.
    pub fn range_of(&self, first: u32, last: u32) -> Option<TimeRange> {
        self.selected(first, last).filter_map(Step::range).reduce(TimeRange::hull)
    }

    /// The same on one core. Where steps come from the host, a device runs them at
    /// the host's times, as well as the alignment of the clocks allows.
    pub fn range_on(&self, model: &TraceModel, core: GroupId, first: u32, last: u32) -> Option<TimeRange> {
        let spans = self.selected(first, last).flat_map(|step| &step.spans);
        let own = spans.filter(|span| span.group == core).map(|span| span.range).reduce(TimeRange::hull);
        let by_host = self.rung == Rung::HostAnnotations || !is_core(model, core);
        own.or_else(|| if by_host { self.range_of(first, last) } else { None })
    }

    fn selected(&self, first: u32, last: u32) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| (first..=last).contains(&step.number))
    }

    /// Steps that the statistics count.
    pub fn counted(&self) -> impl Iterator<Item = &Step> {
        let all_left_out = self.steps.iter().all(|step| step.is_partial || step.is_warmup);
        self.steps.iter().filter(move |step| all_left_out || !(step.is_partial || step.is_warmup))
    }

    /// Steps that took unusually long, slowest first.
    pub fn outliers(&self) -> Vec<&Step> {
        let mut slow: Vec<&Step> = self.steps.iter().filter(|step| step.is_outlier).collect();
        slow.sort_by_key(|step| (std::cmp::Reverse(step.time_ps), step.number));
        slow
    }

    fn summarise(&mut self) {
        let times: Vec<f64> = self.counted().map(|step| step.time_ps as f64).collect();
        let intervals: Vec<f64> = self.counted().filter_map(|step| step.interval_ps).map(|ps| ps as f64).collect();
        self.left_out = self.steps.len() - times.len();
        self.time = Stats::of(&times);
        self.interval = Stats::of(&intervals);
    }

    /// Marks slow steps: against all, warm-up included, so that it is seen.
    fn mark_outliers(&mut self) {
        let times: Vec<f64> = self.steps.iter().map(|step| step.time_ps as f64).collect();
        let Some(stats) = Stats::of(&times).filter(|stats| stats.count >= 3) else { return };
        let z = modified_z(&times, SPREAD_FLOOR * stats.median);
        for ((step, z), time) in self.steps.iter_mut().zip(z).zip(times) {
            step.is_outlier = z > OUTLIER_Z && time > OUTLIER_RATIO * stats.median;
        }
    }
}

fn is_core(model: &TraceModel, group: GroupId) -> bool {
    matches!(model.group(group).kind, GroupKind::TensorCore { .. } | GroupKind::Gpu { .. })
}

fn whole(cx: &Context<'_>) -> StepsReport {
    let model = cx.model;
    let found = ladder::find(model, &ladder::devices(model, cx.tensor_cores()));
    // Compilation does not ask for steps in this scope, so the two do not wait for each other.
    let compile = cx.report::<Compile>().ok();
    let compiling = compile.as_ref().map(|report| report.intervals.clone()).unwrap_or_default();
    let raw = &found.steps;
    let numbered = raw.windows(2).all(|pair| pair[0].number < pair[1].number) && raw.iter().all(|s| s.number.is_some());
    let mut warmup_left = cx.options.warmup_steps;
    let steps = raw.iter().enumerate().map(|(k, raw_step)| {
        let is_warmup = !raw_step.is_partial && warmup_left > 0;
        warmup_left -= u32::from(is_warmup);
        let number = raw_step.number.filter(|_| numbered).unwrap_or(k as u32);
        step(cx, raw_step, raw.get(k + 1), number, is_warmup, &compiling)
    });
    let steps = steps.collect();
    let mut report = StepsReport {
        rung: found.rung,
        marker: found.marker,
        why: found.why,
        steps,
        time: None,
        interval: None,
        left_out: 0,
    };
    report.mark_outliers();
    report.summarise();
    report
}

fn step(
    cx: &Context<'_>,
    raw: &ladder::RawStep,
    next: Option<&ladder::RawStep>,
    number: u32,
    is_warmup: bool,
    compiling: &IntervalSet,
) -> Step {
    let model = cx.model;
    let span = |&(group, range): &(GroupId, TimeRange)| StepSpan { group, range, measured: cx.shifted(group, range) };
    let spans: Vec<StepSpan> = raw.spans.iter().map(span).collect();
    let slowest = spans.iter().min_by_key(|span| std::cmp::Reverse(span.measured.dur())).copied();
    let interval = slowest.and_then(|slowest| {
        let following = next?.spans.iter().find(|(group, _)| *group == slowest.group).map(span)?;
        Some((following.measured.start - slowest.measured.start).ps())
    });
    let hull = raw.spans.iter().map(|(_, range)| *range).reduce(TimeRange::hull).unwrap_or_default();
    Step {
        number,
        label: raw.label.clone(),
        start_ps: hull.start.ps(),
        time_ps: slowest.map_or(0, |span| span.measured.dur().ps()),
        interval_ps: interval,
        slowest: slowest.filter(|_| spans.len() > 1).map(|span| model.str(model.group(span.group).name).to_owned()),
        compile_ps: compiling.measure_in(hull).ps(),
        is_partial: raw.is_partial,
        is_warmup,
        is_outlier: false,
        spans,
    }
}

impl Tabular for StepsReport {
    fn tables(&self) -> Vec<Table> {
        let column = |id, title, unit| Column { id, title, unit, provenance: self.provenance() };
        let mut notes = vec![format!("Steps are {}: {}.", self.rung.title(), self.why.join("; "))];
        if self.left_out > 0 {
            notes.push(format!("{} of {} steps are left out as partial or warm-up.", self.left_out, self.steps.len()));
        }
        let statistics = [("step time", self.time), ("begin to begin", self.interval)];
        let rows = statistics.iter().filter_map(|(what, stats)| {
            let stats = (*stats)?;
            let mut row = vec![Cell::text(*what), Cell::count(stats.count as u64)];
            row.extend([stats.mean, stats.median, stats.min, stats.max].map(Cell::Float));
            row.extend([Cell::maybe(stats.stddev), Cell::maybe(stats.cv_percent)]);
            Some(row)
        });
        let summary = Table {
            id: "step_time",
            title: "Step time".to_owned(),
            columns: vec![
                column("what", "What", Unit::None),
                column("steps", "Steps", Unit::Count),
                column("mean_ps", "Mean", Unit::Picoseconds),
                column("median_ps", "Median", Unit::Picoseconds),
                column("min_ps", "Min", Unit::Picoseconds),
                column("max_ps", "Max", Unit::Picoseconds),
                column("stddev_ps", "Std dev", Unit::Picoseconds),
                column("cv_percent", "Std dev of mean", Unit::Percent),
            ],
            rows: rows.collect(),
            notes,
        };
        let rows = self.steps.iter().map(|step| {
            vec![
                Cell::count(u64::from(step.number)),
                Cell::text(step.label.clone()),
                Cell::time(Picos::from_ps(step.start_ps)),
                Cell::time(Picos::from_ps(step.time_ps)),
                step.interval_ps.map_or(Cell::Missing, Cell::Int),
                Cell::time(Picos::from_ps(step.compile_ps)),
                step.slowest.clone().map_or(Cell::Missing, Cell::Text),
                Cell::text(remark(step)),
            ]
        });
        let list = Table {
            id: "steps",
            title: "Each step".to_owned(),
            columns: vec![
                column("step", "Step", Unit::None),
                column("label", "Recorded as", Unit::None),
                column("start_ps", "Begin", Unit::Picoseconds),
                column("time_ps", "Time", Unit::Picoseconds),
                column("interval_ps", "Begin to begin", Unit::Picoseconds),
                column("compile_ps", "Compiling", Unit::Picoseconds),
                column("slowest", "Slowest", Unit::None),
                column("remark", "Remark", Unit::None),
            ],
            rows: rows.collect(),
            notes: vec!["Time is the longest span over the cores, by the clock that timed their ops.".to_owned()],
        };
        vec![summary, list]
    }
}

fn remark(step: &Step) -> String {
    let marks = [(step.is_partial, "partial"), (step.is_warmup, "warm-up"), (step.is_outlier, "slow")];
    let mut words: Vec<&str> = marks.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
    if step.is_outlier && step.compile_ps * 2 > step.time_ps {
        words.push("compiles");
    }
    words.join(", ")
}

impl StepsReport {
    fn provenance(&self) -> Provenance {
        match self.rung {
            Rung::StepsLine | Rung::HostAnnotations => Provenance::Measured,
            Rung::Modules | Rung::WholeCapture => Provenance::Inferred,
        }
    }
}
