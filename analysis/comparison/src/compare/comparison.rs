//! The result of a comparison.

use facts::prelude::*;
use serde::{Serialize, Serializer};

use super::MatchedBy;
use super::attribution::{Attribution, OpChange};
use super::better::Better;
use super::cause_lines::CauseChain;
use super::change::{MetricChange, TestOptions};
use super::comparable::RunDifference;
use super::programs::ProgramComparison;
use super::run_loop::LoopChange;
use super::summary::Summary;
use facts::EnvironmentChange;
use run_reports::hlo::ProgramDiff;

/// Options of a comparison.
#[engine::reported]
#[derive(Default)]
pub struct CompareOptions {
    /// When a difference counts.
    pub test: TestOptions,
    /// Differences ([`super::comparable::IDS`]) that prevent a comparison.
    pub require: Vec<String>,
    /// Whether to compare runs that are not comparable.
    pub force: bool,
}

/// Result of comparing a prediction with a measurement.
#[engine::reported]
pub struct PredictionError {
    /// The simulator or model that made the prediction.
    pub simulator: String,
    /// The first side is the prediction.
    pub is_base: bool,
    /// Predicted median step time.
    pub predicted_ps: f64,
    /// Measured median step time.
    pub measured_ps: f64,
    /// Measured ÷ predicted.
    pub ratio: Option<f64>,
    /// Error of the step, in percent of the measured time.
    pub error_percent: Option<Percent>,
    /// Sum of the absolute errors of all ops, in percent of their measured time.
    pub op_error_percent: Option<Percent>,
    /// Whether small ops are only known as a sum, in which errors can cancel, so that the error may be larger.
    pub op_error_is_at_least: bool,
    /// Ops sorted by the missed time: the most optimistic predictions first.
    pub ops: Vec<PredictedOp>,
}

/// An op as predicted and as measured: medians of its time in a step.
#[engine::row(derived)]
#[derive(Default)]
pub struct PredictedOp {
    /// Name in the measurement, if the op was measured.
    #[column(id = "op", with = Self::both_names)]
    pub name: String,
    /// Name in the prediction, if it differs.
    pub predicted_name: Option<String>,
    /// `None` if the model has no such op, or gives it no time.
    #[column(predicted)]
    pub predicted_ps: Option<f64>,
    /// `None` if it was never measured.
    #[column(measured)]
    pub measured_ps: Option<f64>,
    /// Measured ÷ predicted, for ops on both sides.
    #[column]
    pub ratio: Option<f64>,
    /// Measured − predicted.
    #[column]
    pub missed_ps: f64,
    /// Why the two count as the same op.
    #[column("Model is", id = "verdict", with = Self::verdict)]
    #[column(id = "matched")]
    pub how: Option<MatchedBy>,
    /// Category.
    #[column]
    pub category: String,
    /// Program; empty for time that belongs to no op.
    #[column]
    pub program: String,
}

/// The comparison of two runs, or of several runs on each side.
#[derive(Debug, Serialize, schemars::JsonSchema, Default)]
pub struct Comparison {
    /// The headline.
    pub statement: String,
    /// What to read first, sentence by sentence.
    pub brief: CompareBrief,
    /// The first side.
    pub base: ComparisonSide,
    /// The second side.
    pub cand: ComparisonSide,
    /// In what the environments of the runs differ: versions, flags, code. Absent if that is not known of either side.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<EnvironmentChange>,
    /// Their differences, most important first.
    pub differences: Vec<RunDifference>,
    /// What should be the same in both runs and is not known of both: `programs`, `shapes` …
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<&'static str>,
    /// Whether numbers can be compared.
    pub is_comparable: bool,
    /// The time from the first step to the end of the last, of all classes of steps together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_change: Option<LoopChange>,
    /// Numbers of each step.
    pub steps: Vec<SeriesChange>,
    /// How the change of the step is distributed.
    pub attribution: Option<Attribution>,
    /// Why the step changed, from the environment to the milliseconds. Absent if it did not change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub causes: Option<CauseChain>,
    /// Ops, sorted by the size of their change.
    pub ops: Vec<OpChange>,
    /// In what the programs with the most time differ. Absent unless both runs hold theirs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramComparison>,
    /// The instructions of two programs that were not run, and in what they differ. Absent where these were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program_diff: Option<ProgramDiff>,
    /// Numbers with one value per run, so their variation is unknown.
    pub values: Vec<ValueChange>,
    /// Pairs of steps with the same position: the first steady step of the first run on each side, the second of
    /// both, and so on.
    #[serde(serialize_with = "step_pairs")]
    #[schemars(with = "Vec<StepPair>")]
    pub aligned_steps: Vec<(u32, u32)>,
    /// Error of the prediction, if one side is simulated and the other measured.
    pub prediction: Option<PredictionError>,
    /// Comparisons of other classes that both sides have, most time first: the same without numbers of whole runs.
    pub classes: Vec<Self>,
    /// When a difference counts.
    pub options: CompareOptions,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// The sentences to read first, without full stop, in the order of reading.
#[engine::reported]
#[derive(Default)]
pub struct CompareBrief {
    /// Whether the runs did the same work, and what is alike.
    pub work: String,
    /// In what else they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differ: Option<String>,
    /// The median step, and whether its change is more than noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The time of the loop, where that is more than the steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_loop: Option<String>,
    /// What changed, from the parts of the mean step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<String>,
    /// The ops that take more time than before, most first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub look_first: Option<String>,
    /// What to record next time to tell the change from noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_next: Option<String>,
}

/// One side of a comparison.
#[engine::reported]
#[derive(Default)]
pub struct ComparisonSide {
    /// The runs with their paths ([`super::Summary::title`]).
    pub runs: Vec<String>,
    /// Steady steps of all runs.
    pub steps: usize,
    /// The programs or functions that its steps run.
    pub class: String,
    /// Mean step of the middle half.
    pub middle_ps: f64,
    /// Its runs are programs that were not run.
    #[serde(skip)]
    pub are_programs: bool,
    /// A run of it has made-up lengths.
    #[serde(skip)]
    pub(super) is_untimed: bool,
    /// Events and files that were lost when its runs were read.
    #[serde(skip)]
    pub(super) lost: u64,
    /// Why no run has a steady step, if all steps are excluded as warm-up, or have no times.
    #[serde(skip)]
    pub(super) all_warmup: Option<String>,
}

impl ComparisonSide {
    /// `29 steady steps`
    pub(super) fn steps_in_words(&self) -> String {
        if self.are_programs || self.is_untimed {
            "without times".to_owned()
        } else {
            counted(self.steps, "steady step")
        }
    }

    /// `4 × TPU v6 Lite · 29 steady steps`, of the runs of this side.
    pub fn about(&self, runs: &[Summary]) -> String {
        let steps = self.steps_in_words();
        let facts = runs.first().map(|run| &run.facts);
        let Some(facts) = facts.filter(|facts| facts.devices > 0) else {
            return steps;
        };
        let unknown = match facts.simulator {
            Some(_) => "device of unknown type",
            None => "TPU of unknown type",
        };
        let kind = facts.device_type.as_deref().unwrap_or(unknown);
        format!("{} × {kind} · {steps}", facts.devices)
    }
}

/// A number on two sides.
#[engine::reported]
pub struct SeriesChange {
    /// Stable name with its unit.
    pub id: String,
    /// Display name.
    pub title: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Whether lower or higher values are better.
    pub better: Better,
    /// How it changed.
    #[serde(flatten)]
    pub change: MetricChange,
}

/// A number of the whole run on two sides.
#[engine::reported]
pub struct ValueChange {
    /// The number and how it changed.
    #[serde(flatten)]
    pub number: SeriesChange,
    /// Its reference in the first run: the interval, or the meaning of 100 %.
    pub of: String,
    /// Provenance of the value.
    pub provenance: Provenance,
    /// Whether the value of each side is only a lower bound: its change is not known then.
    #[serde(flatten)]
    pub bounds: BoundSides,
    /// Why a side does not have it, or only a lower bound.
    pub note: Option<String>,
}

/// Sides of which only a lower bound is known.
#[engine::reported]
#[derive(Copy, Default)]
pub struct BoundSides {
    /// Whether that is so of the first side.
    #[serde(
        rename = "base_is_lower_bound",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub base: bool,
    /// Whether that is so of the second side.
    #[serde(
        rename = "cand_is_lower_bound",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub cand: bool,
}

impl BoundSides {
    /// Whether that is so of any side.
    pub(crate) fn any(self) -> bool {
        self.base || self.cand
    }
}

/// A pair of steps, one of each side of a comparison.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct StepPair {
    /// Number of the step of the first side.
    base: u32,
    /// Number of the step of the second side.
    cand: u32,
}

/// Pairs of steps as [`StepPair`].
pub(super) fn step_pairs<S: Serializer>(pairs: &[(u32, u32)], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(pairs.iter().map(|&(base, cand)| StepPair { base, cand }))
}
