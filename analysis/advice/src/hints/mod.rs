//! What to do next, and what it is worth.
//!
//! A [`Rule`] looks for one thing and answers with a [`Finding`], with nothing, or with the reason why it cannot tell.
//! What a fix could save is found by playing the recorded run again without the cause ([`crate::what_if`]), so that a
//! transfer that something else would bring to light is not sold as a gain, and all hints together are played at once
//! rather than added up.
//!
//! Hints are ordered by saving × confidence, behind those about what limits the loop ([`LoopLimit`]); what is to be known
//! of the capture itself comes last.
//! A hint that explains another one's finding ([`Finding::explains`]: few rows are why a matmul is bound by HBM) comes
//! before it. Savings below half a percent of a step are not mentioned, unless the verdict names what they are about.
//! Whatever the verdict names has a hint, or stands in [`HintsReport::unanswered`] with the reason. Rules that save the
//! very same time are one hint with several remedies. After all of them comes what [`run_reports::summary::doctor`] says
//! of the capture itself, as far as it changes what numbers mean.
//!
//! Savings are per step and what follows it, a mean over the counted steps: what a run saves is their sum.
//!
//! Of what the catalogue of hints asks for, no format that is read records: the size of lazy graphs in operations (a
//! part of K39; the time of their syncs is used instead), and which intermediates a fusion would spare (K13 therefore
//! names no saving).
//!
//! To add a rule: one function in the file of its theme under `rules`, one line in its list there, one page under
//! `docs/hints` of the repository.

mod async_collectives;
mod devices;
mod engine;
mod facts;
mod finding;
mod limit;
mod page;
mod report;
mod rule;
mod rules;

use ::facts::prelude::*;

use finding::short_name;

pub use devices::CountedDevices;
pub use facts::{HintFacts, OpSelection, StepTime};
pub use finding::{Finding, FindingPlace, HintEvidence, NoFinding, PossibleSaving, RuleResult};
pub use limit::{LoopLimit, OutsideLoop, TimePart};
pub use page::{Page, SECTIONS};
pub use report::{
    CannotTell, Hint, HintOp, HintSeverity, HintsReport, Remedy, SavingBy, Suppressed, Unanswered,
};
pub use rule::{Confidence, Rule};
pub use rules::rules;

/// The analysis `hints`.
pub struct Hints;

impl Analysis for Hints {
    type Report = HintsReport;
    const ID: &str = "hints";
    const TITLE: &str = "What to do";

    fn run(cx: &Context<'_>) -> Result<HintsReport> {
        engine::run(&HintFacts::new(cx), rules())
    }
}

/// The rule called `id`, in any case.
pub fn rule(id: &str) -> Option<&'static Rule> {
    rules()
        .iter()
        .copied()
        .find(|rule| rule.id.eq_ignore_ascii_case(id))
}
