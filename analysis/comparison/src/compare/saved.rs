//! Summaries as JSON, and what makes a saved one unusable.

use super::summary::{SCHEMA, Summary};

/// Why a file is not a summary.
#[derive(Debug, thiserror::Error)]
pub enum SummaryError {
    /// Not JSON, or with other fields.
    #[error("this is not a summary of a run: {0}")]
    Json(#[from] serde_json::Error),
    /// A different version.
    #[error("this is {0:?}, and this program reads {SCHEMA:?}")]
    Schema(String),
    /// Impossible values.
    #[error("this summary contradicts itself: {0}")]
    Broken(&'static str),
}

/// Longest plausible step time: more than a hundred days.
const MOST_PS: f64 = 9e18;

/// Maximum number of values per step, programs or ops in a saved summary.
const MOST_VALUES: usize = 4096;
const MOST_PROGRAMS: usize = 10_000;
const MOST_OPS: usize = 1_000_000;
const MOST_CLASSES: usize = 64;

impl Summary {
    /// Whether a file that starts like this is a summary.
    pub(crate) fn is_meant(head: &[u8]) -> bool {
        let text = String::from_utf8_lossy(head);
        text.trim_start().starts_with('{') && text.contains("\"systole.summary/")
    }

    /// Reads a saved summary and rejects one that cannot be compared.
    ///
    /// # Errors
    ///
    /// The text is not JSON, not a summary, or has another version.
    pub fn from_json(text: &str) -> Result<Self, SummaryError> {
        let summary: Self = serde_json::from_str(text)?;
        if summary.schema != SCHEMA {
            return Err(SummaryError::Schema(summary.schema));
        }
        if summary.classes.len() > MOST_CLASSES {
            return Err(SummaryError::Broken("a list or a count is out of range"));
        }
        for class in 1..=summary.classes.len() {
            summary.of_class(class).check()?;
        }
        summary.check()?;
        Ok(summary)
    }

    /// Rejects steps that cannot be compared.
    fn check(&self) -> Result<(), SummaryError> {
        let finite = |value: &f64| value.is_finite() && value.abs() < MOST_PS;
        let programs = self.facts.programs.len();
        let all_series = || self.series.iter().chain(&self.loop_series);
        if self
            .ops
            .iter()
            .any(|op| op.program.is_some_and(|program| program >= programs))
        {
            return Err(SummaryError::Broken(
                "an op belongs to a program that is not listed",
            ));
        }
        let steps = self.ops.first().map_or(0, |op| op.values.len());
        let counts = [self.steps.counted, self.ops_not_listed];
        if steps > MOST_VALUES
            || self.ops.iter().any(|op| op.values.len() != steps)
            || all_series().any(|series| series.values.len() > MOST_VALUES)
            || programs > MOST_PROGRAMS
            || self.ops.len() > MOST_OPS
            || counts
                .into_iter()
                .any(|count| u32::try_from(count).is_err())
        {
            return Err(SummaryError::Broken("a list or a count is out of range"));
        }
        let of_ops = self
            .ops
            .iter()
            .flat_map(|op| op.values.iter().chain([&op.middle_ps, &op.runs]));
        let mut numbers = of_ops
            .chain(all_series().flat_map(|series| &series.values))
            .chain(self.rest.iter().map(|rest| &rest.middle_ps))
            .chain([&self.steps.middle_ps]);
        if !numbers.all(finite) {
            return Err(SummaryError::Broken("a number is out of range"));
        }
        Ok(())
    }

    /// The JSON to save, deterministic for a run.
    ///
    /// # Errors
    ///
    /// A value cannot be represented in JSON; this does not happen for a valid summary.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}
