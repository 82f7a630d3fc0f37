//! A run of a synthetic program.

use super::clock::SyntheticStepTimes;
use super::expected::ExpectedNumbers;
use super::program::SyntheticProgram;
use super::spec::TrainingSpec;

/// Said in every place that has room for it.
pub(super) const REMARK: &str = "synthetic: computed by sample-traces, not measured";

/// A synthetic run.
#[derive(Debug)]
pub struct SyntheticRun {
    /// What was asked for.
    pub spec: TrainingSpec,
    /// Compiled programs; the first is the usual one.
    pub programs: Vec<SyntheticProgram>,
    /// When each step happens.
    pub steps: Vec<SyntheticStepTimes>,
    /// What the analyses must answer.
    pub expected: ExpectedNumbers,
}
