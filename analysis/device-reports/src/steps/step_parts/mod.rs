//! The parts of each step, and why some steps take longer.
//!
//! Every step of every core is divided into [`StepPart`]s that add up to it exactly, by
//! the clock that timed the ops. The critical core of a step is the one that takes
//! longest. Where collectives make several cores take equally long, it is the one that
//! waits least for the others: they wait for it. Slow steps are compared with the median
//! step of their class, part by part and op by op.

mod explain;
mod host;
mod parts;
mod table;
#[cfg(test)]
mod tests;

use facts::StepSource;
use facts::device_shift::shifted;
use facts::prelude::*;
use facts::steps::StepClass;
use math::stats::{mean, median};

use crate::communication::overlap::CoreTraffic;
use crate::steps::step_times::Steps;
use explain::StepOpTimes;

pub use explain::{Explanation, HostChange, PartChange, StepOpChange};
pub use host::HostPhase;
pub use parts::{StepPart, TimeByPart};

pub use explain::MOST_EXPLAINED;

/// The analysis of steps by parts.
pub struct StepParts;

impl Analysis for StepParts {
    type Report = StepPartsReport;
    const ID: &str = "step_parts";
    const TITLE: &str = "Step time breakdown";

    fn run(cx: &Context<'_>) -> Result<StepPartsReport> {
        let steps = cx.report::<Steps>()?;
        if !steps.has_steps() {
            let why = match cx.model.simulator() {
                Some(_) => "no steps were found: the whole simulated run counts as one",
                None => {
                    "no steps were found; wrap the loop body in jax.profiler.StepTraceAnnotation"
                }
            };
            return Err(why.into());
        }
        if steps.is_cut() {
            let why =
                "the file ends in these steps: what the rest of their time went to is unknown";
            return Err(why.into());
        }
        if cx.scope == Scope::WholeTrace {
            return whole(cx, &steps);
        }
        let mut report = cx.whole().report::<Self>()?.as_ref().clone();
        let chosen: BTreeSet<u32> = steps.steps.iter().map(|step| step.number).collect();
        report.steps.retain(|step| chosen.contains(&step.step));
        // Where no step but incomplete ones were chosen, these count.
        let counted: BTreeSet<u32> = steps.counted().map(|step| step.number).collect();
        for step in &mut report.steps {
            step.is_counted = counted.contains(&step.step);
        }
        report.slow.retain(|slow| chosen.contains(&slow.step));
        report.slow_not_explained = steps.outliers().len().saturating_sub(report.slow.len());
        report.classes = of_classes(&steps, &report.steps);
        Ok(report)
    }
}

/// The parts of the steps.
#[engine::reported]
pub struct StepPartsReport {
    /// Steps in time order; those without ops on any core are absent.
    pub steps: Vec<DividedStep>,
    /// Classes of steps in the order of the step analysis, where they have divided steps.
    pub classes: Vec<ClassParts>,
    /// Slow steps, slowest first, at most [`MOST_EXPLAINED`].
    pub slow: Vec<Explanation>,
    /// Slow steps beyond these.
    pub slow_not_explained: usize,
}

/// One step.
#[engine::row(measured)]
pub struct DividedStep {
    /// Its number.
    #[column(unit = None)]
    pub step: u32,
    /// Its class (`A`, `B` …).
    #[column]
    pub class: Arc<str>,
    /// Whether the statistics count it.
    pub is_counted: bool,
    /// Index into `cores` of the critical one.
    pub critical: usize,
    /// Every core that recorded ops.
    pub cores: Vec<CoreParts>,
}

/// One step on one core.
#[engine::row(measured)]
pub struct CoreParts {
    /// Which device.
    pub group: GroupId,
    /// Its name.
    #[column("Device")]
    pub core: Arc<str>,
    /// Length of the step on it, by the clock that timed its ops: the sum of its parts.
    #[column]
    pub time_ps: Picos,
    /// The parts.
    #[schemars(with = "BTreeMap<String, i64>")]
    #[column(nested)]
    pub parts: TimeByPart,
}

/// The counted steps of a class.
#[engine::reported]
pub struct ClassParts {
    /// `A`, `B` …
    pub class: String,
    /// The programs of its steps.
    pub title: String,
    /// Steps that are counted.
    pub steps: usize,
    /// Mean time on the critical core.
    pub time_ps: f64,
    /// The median of these times.
    pub median_ps: f64,
    /// Its parts.
    pub parts: Vec<PartTimes>,
}

/// A part of the steps of a class.
#[engine::reported]
#[derive(Copy)]
pub struct PartTimes {
    /// Which part.
    pub part: StepPart,
    /// Mean on the critical core of each step; all parts add up to the mean time.
    pub mean_ps: f64,
    /// Median; medians need not add up.
    pub median_ps: f64,
    /// Mean over all cores of all steps.
    pub cores_mean_ps: f64,
}

impl StepPartsReport {
    /// A part of a counted step and the whole step: means over all cores; `None` without counted steps.
    pub fn cores_mean(&self, part: StepPart) -> Option<(f64, f64)> {
        let steps = self.classes.iter().map(|class| class.steps).sum::<usize>();
        let mean = |is_meant: &dyn Fn(&PartTimes) -> bool| {
            let of_class = |class: &ClassParts| {
                let parts = class.parts.iter().filter(|row| is_meant(row));
                class.steps as f64 * parts.map(|row| row.cores_mean_ps).sum::<f64>()
            };
            self.classes.iter().map(of_class).sum::<f64>() / steps as f64
        };
        (steps > 0).then(|| (mean(&|row| row.part == part), mean(&|_| true)))
    }
}

impl DividedStep {
    /// The core that the length of the step depends on.
    pub fn critical(&self) -> Option<&CoreParts> {
        self.cores.get(self.critical)
    }

    /// The parts of all cores together.
    pub(crate) fn sum(&self) -> TimeByPart {
        self.cores
            .iter()
            .fold(TimeByPart::default(), |sum, core| sum.plus(&core.parts))
    }
}

fn whole(cx: &Context<'_>, steps: &StepsReport) -> Result<StepPartsReport> {
    let classes = cx.classes();
    let mut op_times = StepOpTimes::wanted(steps);
    let mut divided: Vec<Vec<CoreParts>> = vec![Vec::new(); steps.steps.len()];
    for core in cx.tensor_cores() {
        let Some(traffic) =
            CoreTraffic::of(cx, classes, core)?.filter(|traffic| !traffic.time.segments.is_empty())
        else {
            continue;
        };
        let name = Arc::<str>::from(cx.model.device_name(core));
        let mut spans = spans_on(cx, steps, core);
        let is_cut = |step: &Step| step.cut_on.contains(&core);
        spans.retain(|&(index, _)| !steps.steps.get(index).is_some_and(is_cut));
        let ranges: Vec<TimeRange> = spans.iter().map(|&(_, range)| range).collect();
        let parts = parts::divide(
            traffic.time.segments.iter(),
            &traffic.in_flight_without_ops(),
            &ranges,
        );
        for ((index, range), parts) in spans.into_iter().zip(parts) {
            let (Some(step), Some(cores)) = (steps.steps.get(index), divided.get_mut(index)) else {
                continue;
            };
            op_times.collect(cx.model, &traffic.time, step.number, range, &parts);
            cores.push(CoreParts {
                group: core,
                core: name.clone(),
                time_ps: range.dur(),
                parts,
            });
        }
    }
    let counted: BTreeSet<u32> = steps.counted().map(|step| step.number).collect();
    let letters: Vec<Arc<str>> = steps
        .classes
        .iter()
        .map(|class| class.id.as_str().into())
        .collect();
    let step = |(step, cores): (&Step, Vec<CoreParts>)| {
        let critical = critical(&cores)?;
        let is_counted = counted.contains(&step.number);
        let class = letters.get(step.class).cloned().unwrap_or_default();
        Some(DividedStep {
            step: step.number,
            class,
            is_counted,
            critical,
            cores,
        })
    };
    let divided: Vec<DividedStep> = steps.steps.iter().zip(divided).filter_map(step).collect();
    let slow = op_times.explain(cx, steps);
    if divided.is_empty() && slow.is_empty() {
        let why = "no TPU device recorded ops in these steps, and none of them is slow";
        return Err(why.into());
    }
    let slow_not_explained = steps.outliers().len().saturating_sub(slow.len());
    Ok(StepPartsReport {
        classes: of_classes(steps, &divided),
        steps: divided,
        slow,
        slow_not_explained,
    })
}

/// Cores whose steps differ by less than this part take equally long.
const EQUALLY_LONG: f64 = 0.001;
/// From this part of the step on that it waits less than the longest core, this one waits for it.
const WAITS_LESS: f64 = 0.01;

/// The index of the critical core; of equal ones the first.
fn critical(cores: &[CoreParts]) -> Option<usize> {
    let longest = (0..cores.len()).min_by_key(|&i| Reverse(cores[i].time_ps))?;
    let step = cores[longest].time_ps.as_ps_f64();
    let wait = |i: usize| cores[i].parts.get(StepPart::ExposedComm);
    let least = (0..cores.len())
        .filter(|&i| cores[i].time_ps.as_ps_f64() >= step * (1.0 - EQUALLY_LONG))
        .min_by_key(|&i| wait(i))?;
    let less = (wait(longest) - wait(least)).as_ps_f64();
    Some(if less >= step * WAITS_LESS {
        least
    } else {
        longest
    })
}

/// The range of each step on a core, by the clock of its ops. Steps from the host have the host's times on the core.
pub fn spans_on(
    whole: &Context<'_>,
    steps: &StepsReport,
    core: GroupId,
) -> Vec<(usize, TimeRange)> {
    let on_core = |(index, step): (usize, &Step)| {
        let own_span = step.span_on(core).map(|span| span.measured);
        let by_host = || {
            step.range()
                .filter(|_| steps.source == StepSource::HostAnnotations)
        };
        Some((
            index,
            own_span.or_else(|| by_host().map(|range| shifted(whole.model, core, range)))?,
        ))
    };
    steps.steps.iter().enumerate().filter_map(on_core).collect()
}

fn of_classes(steps: &StepsReport, divided: &[DividedStep]) -> Vec<ClassParts> {
    let by_class = grouped(
        divided
            .iter()
            .filter(|step| step.is_counted)
            .map(|step| (&*step.class, step)),
    );
    let class = |class: &StepClass| {
        let members = by_class.get(class.id.as_str())?;
        let critical: Vec<&CoreParts> = members.iter().filter_map(|step| step.critical()).collect();
        let mean = |values: &[f64]| mean(values).unwrap_or_default();
        let cores: f64 = members.iter().map(|step| step.cores.len() as f64).sum();
        let all = members
            .iter()
            .fold(TimeByPart::default(), |sum, step| sum.plus(&step.sum()));
        let part = |part: StepPart| {
            let values: Vec<f64> = critical
                .iter()
                .map(|core| core.parts.get(part).as_ps_f64())
                .collect();
            let median_ps = median(&values).unwrap_or_default();
            PartTimes {
                part,
                mean_ps: mean(&values),
                median_ps,
                cores_mean_ps: all.get(part).as_ps_f64() / cores,
            }
        };
        let times: Vec<f64> = critical
            .iter()
            .map(|core| core.time_ps.as_ps_f64())
            .collect();
        Some(ClassParts {
            class: class.id.clone(),
            title: class.title.clone(),
            steps: members.len(),
            time_ps: mean(&times),
            median_ps: median(&times).unwrap_or_default(),
            parts: StepPart::ALL.map(part).to_vec(),
        })
    };
    steps.classes.iter().filter_map(class).collect()
}
