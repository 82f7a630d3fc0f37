//! A run of a synthetic program.

use super::clock::SyntheticStepTimes;
use super::expected::ExpectedNumbers;
use super::program::SyntheticProgram;
use super::spec::TrainingSpec;

/// Remark stored wherever the format has a place for it.
pub(crate) const REMARK: &str = "synthetic: computed by sample-traces, not measured";

#[derive(Debug)]
pub struct SyntheticRun {
    /// The specification of the run.
    pub spec: TrainingSpec,
    /// Compiled programs; the first is the one of most steps.
    pub programs: Vec<SyntheticProgram>,
    /// Times of each step.
    pub steps: Vec<SyntheticStepTimes>,
    /// Answers that the analyses must give.
    pub expected: ExpectedNumbers,
}
