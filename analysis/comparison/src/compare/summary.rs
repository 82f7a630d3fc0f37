//! A summary of a run: the data for comparisons, small enough to be committed with the code.
//! Both sides of a comparison are summaries, of a trace or read from a file, so that a saved one can stand for either side.
//! Times are those of the **critical core** of each step, which takes longest (of equal ones it waits least for the others),
//! by the clock that timed its ops: on that core all parts add up to the step.

use std::borrow::Cow;

use device_reports::StepPart;
use engine::Environment;
use facts::prelude::*;
use run_reports::hlo::ProgramPart;
use serde::Deserialize;
use trace_model::Caveat;

use super::better::Better;

/// Fields may be added under the same number, never changed or removed.
pub const SCHEMA: &str = "systole.summary/1";

/// Where steps come from, if none were found.
pub(super) const WHOLE_CAPTURE: &str = "whole-capture";

/// A run, small enough to be committed as a baseline.
#[engine::reported]
#[derive(Default, Deserialize)]
pub struct Summary {
    /// `systole.summary/1`
    pub schema: String,
    /// Name and version of the program that wrote it.
    #[serde(default)]
    pub tool: String,
    /// The trace files that it was made from.
    #[serde(default)]
    pub inputs: Vec<SummaryInput>,
    /// The file that it was read from, if it was saved.
    #[serde(skip)]
    pub saved_in: Option<String>,
    /// What must be alike for a comparison.
    pub facts: SummaryFacts,
    /// The steps that the values come from.
    pub steps: StepFacts,
    /// Values of each step.
    #[serde(default)]
    pub series: Vec<StepSeries>,
    /// Values of each step of the loop: steps of all classes, in time order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loop_series: Vec<StepSeries>,
    /// Values of the whole run.
    #[serde(default)]
    pub values: Vec<RunValue>,
    /// Ops of the steps, most time first.
    #[serde(default)]
    pub ops: Vec<OpTimes>,
    /// Remaining time of the steps, by part: ops that are not listed, and idle time.
    #[serde(default)]
    pub rest: Vec<RestTimes>,
    /// Ops that are not listed.
    #[serde(default)]
    pub ops_not_listed: usize,
    /// Steps of the other classes, most time first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassTimes>,
    /// Number of smaller classes that are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub classes_not_listed: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Steps of one other class, with the fields of a summary.
#[engine::reported]
#[derive(Default, Deserialize)]
pub struct ClassTimes {
    /// Programs with device time in these steps, most first.
    #[serde(default)]
    pub programs: Vec<ProgramFacts>,
    pub steps: StepFacts,
    /// Values of each step.
    #[serde(default)]
    pub series: Vec<StepSeries>,
    /// Their ops, most time first.
    #[serde(default)]
    pub ops: Vec<OpTimes>,
    /// Remaining time of the steps.
    #[serde(default)]
    pub rest: Vec<RestTimes>,
    /// Ops that are not listed.
    #[serde(default)]
    pub ops_not_listed: usize,
}

/// A file of the run.
#[engine::reported]
#[derive(Default, Deserialize)]
pub struct SummaryInput {
    /// Name without directories.
    pub name: String,
    /// Path as it was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Format that it was read as.
    #[serde(default)]
    pub format: String,
    /// What identifies the bytes on disk: the algorithm, and the hash in hexadecimal digits. Older summaries have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// SHA-256 of the bytes on disk, if it was asked for.
    pub sha256: Option<String>,
}

/// What must be alike for a comparison; null if the capture does not tell.
#[engine::reported]
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct SummaryFacts {
    /// `TPU v6 Lite`.
    pub device_type: Option<String>,
    /// Number of `TensorCore`s.
    pub devices: usize,
    /// Number of hosts that recorded anything.
    pub hosts: usize,
    /// The grid of chips, if the user gave one.
    pub topology: Option<String>,
    /// Formats of the files.
    pub formats: Vec<String>,
    /// The simulator or model that computed the times, if they were not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulator: Option<String>,
    /// Whether this is a cost model.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_predicted: bool,
    /// Other caveats about such times.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<Caveat>,
    /// The file that defines the model, as far as the sources of its ops tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_file: Option<String>,
    /// Element types of the weights of matrix products, most time first: `bf16, s8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<String>,
    /// Counted steps of the device that runs fewest of them, and of the one that runs most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_steps: Option<[usize; 2]>,
    /// The devices that work so much longer than the others that these wait for them, and by how many percent of the
    /// work of the median one; `None` where devices cannot be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stragglers: Option<BTreeMap<String, f64>>,
    /// Versions of software and flags of compilers that the files record, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<String, String>,
    /// What it was built from and where it ran, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// Programs with device time, most first.
    pub programs: Vec<ProgramFacts>,
    /// Whether these are programs that were not run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_program: bool,
    /// Events and files lost on import.
    pub lost: u64,
    /// Sessions that are far apart in time and whose files are read as one run: no number is of one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions_apart: Option<u64>,
    /// Problems of the capture.
    pub health: Vec<HealthFact>,
}

#[engine::reported]
#[derive(Default, Deserialize)]
pub struct ProgramFacts {
    /// Name without the id.
    pub name: String,
    /// The id from the compiler, a fingerprint of the program, in decimal.
    pub id: Option<String>,
    /// Distinct ops that ran.
    #[serde(default)]
    pub ops: usize,
    /// Device time in a step of the summary, mean over the middle half of the steps.
    #[serde(default)]
    pub time_ps: f64,
    /// Whether it is not compiled yet: partitioning and fusions come later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_lowered: bool,
    /// Whether its values are still to be divided among devices.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unpartitioned: bool,
    /// What it consists of; empty unless the run holds the whole program and it is one of those with most time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<ProgramPart>,
}

/// A problem of a capture.
#[engine::reported]
#[derive(Default, Deserialize)]
pub struct HealthFact {
    /// `Q03`.
    pub id: String,
    pub severity: String,
    /// One sentence.
    pub message: String,
}

/// Which steps a summary is about.
#[engine::reported]
#[derive(Default, Deserialize)]
pub struct StepFacts {
    /// Where steps come from; `whole-capture` if none were found.
    #[serde(alias = "rung")]
    pub source: String,
    /// The marker of steps.
    #[serde(default)]
    pub marker: String,
    /// The programs or functions that the steps run.
    #[serde(default)]
    pub class: String,
    /// Number of steps used: the steady ones of the class with the most time.
    pub counted: usize,
    /// Number of other steps.
    #[serde(default)]
    pub left_out: usize,
    /// Numbers of the steps, in time order, as far as they are kept.
    #[serde(default)]
    pub numbers: Vec<u32>,
    /// Interquartile mean of the step times on the critical core.
    #[serde(default)]
    pub middle_ps: f64,
    /// Why there are no steps, if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_none: Option<String>,
}

/// A value for every step.
#[engine::reported]
#[derive(Deserialize)]
pub struct StepSeries {
    /// Stable name with its unit: `step.time_ps`.
    pub id: String,
    /// Display name.
    pub title: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Whether lower or higher values are better.
    #[serde(default)]
    pub better: Better,
    /// In the order of the steps, as far as they are kept.
    pub values: Vec<f64>,
}

/// A value of the whole run.
#[engine::reported]
#[derive(Deserialize)]
pub struct RunValue {
    /// Stable name with its unit.
    pub id: String,
    /// Display name.
    pub title: String,
    /// Unit of the value.
    pub unit: Unit,
    /// Whether lower or higher values are better.
    #[serde(default)]
    pub better: Better,
    /// `None` if it is unknown.
    pub value: Option<f64>,
    /// Whether it is only a lower bound; the note says why. Older summaries do not tell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_lower_bound: bool,
    /// Its reference: the interval, or the meaning of 100 %.
    #[serde(default)]
    pub of: String,
    /// Provenance of the value.
    pub provenance: Provenance,
    /// Why it is missing, or only a lower bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// An op of the steps.
#[engine::reported]
#[derive(Deserialize)]
pub struct OpTimes {
    /// Index into the programs; `None` for slices of no program.
    pub program: Option<usize>,
    /// Instruction name.
    pub name: String,
    #[serde(default)]
    pub category: String,
    /// The part of the step that its time belongs to.
    pub part: StepPart,
    /// Whether it is communication between devices.
    #[serde(default)]
    pub is_collective: bool,
    /// Shape of its result, without layout.
    pub shape: Option<String>,
    /// `file:line`.
    pub source: Option<String>,
    /// Provenance in the framework.
    pub framework: Option<String>,
    /// Types and sizes of its first operands, without layout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operands: Option<String>,
    /// Its rank in the step, by the time of its first execution: 0, 1, 2 …
    pub place: u32,
    /// Executions in a step, mean.
    pub runs: f64,
    /// Time in a step in which it is the innermost op, or the collective in flight while no op runs. Mean over the
    /// steps in the middle half of step times; the means of all ops, of the unlisted ops and of idle time add up to
    /// the mean of these steps.
    pub middle_ps: f64,
    /// The time of `middle_ps` in each sampled step, in the order of these steps.
    pub values: Vec<f64>,
}

/// Time of the steps in ops that are not listed.
#[engine::reported]
#[derive(Deserialize)]
pub struct RestTimes {
    /// The part of the step.
    pub part: StepPart,
    /// Shape of the results of these ops, without layout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// What the host did meanwhile, if the part is idle time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Time in a step, mean over the middle half of the steps; with the ops it adds up to that of the steps.
    pub middle_ps: f64,
}

impl Summary {
    /// A series of the main class or of the loop.
    pub fn series(&self, id: &str) -> Option<&StepSeries> {
        self.series
            .iter()
            .chain(&self.loop_series)
            .find(|series| series.id == id)
    }

    /// The values of a series. A part of the step in which the run spends no time is zero in every step, provided
    /// that its steps were divided into parts.
    pub fn step_values(&self, id: &str) -> Option<Cow<'_, [f64]>> {
        if let Some(series) = self.series(id) {
            return Some(Cow::Borrowed(&series.values));
        }
        let is_part = id
            .strip_prefix("step.")
            .is_some_and(|id| StepPart::ALL.iter().any(|part| part.id() == id));
        if !is_part || !self.is_divided() {
            return None;
        }
        Some(Cow::Owned(vec![
            0.0;
            self.series("step.time_ps")?.values.len()
        ]))
    }

    /// Whether its steps were divided into ops, so that missing parts are zero.
    pub(crate) fn is_divided(&self) -> bool {
        self.series("step.idle_percent").is_some()
    }

    /// The interquartile mean step by part; the parts add up to it. Empty if the steps were not divided.
    pub fn parts(&self) -> Vec<(StepPart, f64)> {
        let of = |part: StepPart| {
            let ops = self
                .ops
                .iter()
                .filter(|op| op.part == part)
                .map(|op| op.middle_ps);
            let rest = self
                .rest
                .iter()
                .filter(|rest| rest.part == part)
                .map(|rest| rest.middle_ps);
            (part, ops.chain(rest).sum::<f64>())
        };
        StepPart::ALL
            .map(of)
            .into_iter()
            .filter(|(_, time)| *time > 0.0)
            .collect()
    }

    /// Ops with at most this time may be missing; 0 if all are listed.
    pub(crate) fn listed_from_ps(&self) -> f64 {
        self.ops
            .last()
            .filter(|_| self.ops_not_listed > 0)
            .map_or(0.0, |op| op.middle_ps)
    }

    /// A value of the whole run.
    pub fn value(&self, id: &str) -> Option<&RunValue> {
        self.values.iter().find(|value| value.id == id)
    }

    /// Whether steps were found; otherwise the whole capture counts as one.
    pub fn has_steps(&self) -> bool {
        self.steps.source != WHOLE_CAPTURE
    }

    /// A summary small enough to be committed: the `ops` largest ops, each in `steps` steps; the others are summed.
    /// Means over the middle half are kept.
    pub fn shortened(self, ops: usize, steps: usize) -> Self {
        self.each_class(|class| class.shortened_steps(ops, steps))
            .rounded()
    }

    fn shortened_steps(mut self, ops: usize, steps: usize) -> Self {
        for op in &mut self.ops {
            op.values = thinned(&op.values, steps);
        }
        // Already sorted, most time first.
        let dropped = self.ops.split_off(ops.min(self.ops.len()));
        self.ops_not_listed += dropped.len();
        let mut rest: BTreeMap<_, f64> = BTreeMap::new();
        let before = self
            .rest
            .drain(..)
            .map(|rest| ((rest.part, rest.cause, rest.shape), rest.middle_ps));
        for (key, time) in before.chain(
            dropped
                .into_iter()
                .map(|op| ((op.part, None, op.shape), op.middle_ps)),
        ) {
            *rest.entry(key).or_default() += time;
        }
        self.rest = rest
            .into_iter()
            .map(|((part, cause, shape), middle_ps)| RestTimes {
                part,
                shape,
                cause,
                middle_ps,
            })
            .collect();
        self
    }

    /// Rounds every number to twelve digits, so that any reader gets the same values from JSON and a run equals its
    /// saved summary.
    pub(super) fn rounded(self) -> Self {
        self.each_class(Self::rounded_steps)
    }

    fn rounded_steps(mut self) -> Self {
        let ops = self.ops.iter_mut().flat_map(|op| {
            op.values
                .iter_mut()
                .chain([&mut op.middle_ps, &mut op.runs])
        });
        let series = self
            .series
            .iter_mut()
            .chain(&mut self.loop_series)
            .flat_map(|series| &mut series.values);
        let values = self
            .values
            .iter_mut()
            .filter_map(|value| value.value.as_mut());
        let rest = self.rest.iter_mut().map(|rest| &mut rest.middle_ps);
        let programs = self
            .facts
            .programs
            .iter_mut()
            .map(|program| &mut program.time_ps);
        for number in ops
            .chain(series)
            .chain(values)
            .chain(rest)
            .chain(programs)
            .chain([&mut self.steps.middle_ps])
        {
            *number = twelve_digits(*number);
        }
        self
    }
}

fn twelve_digits(number: f64) -> f64 {
    // Integers below 2^53 are exact.
    let rounded = (number.fract() != 0.0).then(|| format!("{number:.11e}"));
    rounded.map_or(number, |text| text.parse().unwrap_or(number))
}

/// At most `most` of `values`, evenly spaced, in order.
pub fn thinned(values: &[f64], most: usize) -> Vec<f64> {
    let n = values.len();
    let most = most.max(1);
    if n <= most {
        return values.to_vec();
    }
    (0..most)
        .filter_map(|i| values.get(i * n / most).copied())
        .collect()
}
