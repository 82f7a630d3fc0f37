//! The scope of the reports.

use crate::prelude::*;
use analysis::Scope;
use analysis::facts::Step;

/// The part of the trace that reports cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReportScope {
    /// The whole trace.
    #[default]
    Capture,
    /// A marked range of time.
    Range(TimeRange),
    /// Steps `first` to `last`, both included, as numbered by the step analysis.
    Steps {
        /// First step.
        first: u32,
        /// Last step.
        last: u32,
    },
}

impl ReportScope {
    pub fn step(number: u32) -> Self {
        Self::Steps {
            first: number,
            last: number,
        }
    }

    /// The first to the last steady step: complete and not warm-up. `None` without any.
    pub fn steady(report: &StepsReport) -> Option<Self> {
        let mut counted = steady_steps(report);
        let first = counted.next()?.number;
        Some(Self::Steps {
            first,
            last: counted.next_back().map_or(first, |step| step.number),
        })
    }

    /// The longest steady step. `None` if there is only one.
    pub fn slowest(report: &StepsReport) -> Option<Self> {
        steady_steps(report).nth(1)?;
        steady_steps(report)
            .max_by_key(|step| step.time_ps)
            .map(|step| Self::step(step.number))
    }
}

fn steady_steps(report: &StepsReport) -> impl DoubleEndedIterator<Item = &Step> {
    let is_steady = |step: &&Step| !(step.is_partial || step.is_warmup);
    report.steps.iter().filter(is_steady)
}

impl From<ReportScope> for Scope {
    fn from(scope: ReportScope) -> Self {
        match scope {
            ReportScope::Capture => Self::WholeTrace,
            ReportScope::Range(range) => Self::Range(range),
            ReportScope::Steps { first, last } => Self::Steps { first, last },
        }
    }
}

#[cfg(test)]
mod tests {
    use analysis::Options;
    use analysis::reports::Steps;
    use sample_traces::text_trace;

    use super::*;
    use session::Session;

    #[test]
    fn steady_and_slowest_use_only_counted_steps() {
        let picture = "
            @device TPU v5e
            modules: AAABBBBBCCCDDD
            A = jit_step(1)
            B = jit_step(1)
            C = jit_step(1)
            D = jit_step(1)";
        let options = Options {
            warmup_steps: 1,
            ..Options::default()
        };
        let session = Session::from_model(text_trace(picture), options);
        let report = session.report::<Steps>(Scope::WholeTrace).unwrap();
        let numbers: Vec<u32> = report.steps.iter().map(|step| step.number).collect();
        assert_eq!(numbers.len(), 4, "{numbers:?}");
        assert!(report.steps[3].is_partial);
        assert_eq!(
            ReportScope::steady(&report),
            Some(ReportScope::Steps {
                first: numbers[1],
                last: numbers[2]
            }),
            "without the warm-up, and without the last one, whose end is not in the capture"
        );
        assert_eq!(
            ReportScope::slowest(&report),
            Some(ReportScope::step(numbers[1]))
        );
    }
}
