//! What to read of a comparison first, in sentences.

use super::attribution::Attribution;
use super::change::{ChangeVerdict, MetricChange};
use super::comparable::{OPS_OF_PROGRAM, UNKNOWN};
use super::comparison::{CompareBrief, Comparison};
use super::run_loop::LoopChange;
use super::{ProgramComparison, Summary, headline, likeness};
use facts::prelude::*;
use math::rank_test::least_p_of_counts;

/// What shows that the same work was done.
const WORK: [&str; 4] = ["model_file", "shapes", "module_fingerprint", "program_sums"];
/// More runs than this nobody records for one comparison.
const MOST_RUNS: f64 = 30.0;

impl CompareBrief {
    pub(super) fn of(compared: &Comparison, base: &[Summary], cand: &[Summary]) -> Self {
        let alike = match (base.first(), cand.first()) {
            (Some(base), Some(cand)) => likeness::alike(base, cand, &compared.differences),
            _ => Vec::new(),
        };
        let tells_work = alike.iter().any(|(id, _)| WORK.contains(id));
        let alike: Vec<String> = alike.into_iter().map(|(_, text)| text).collect();
        let alike = engine::listed(&alike);
        let differs = |id: &str| {
            compared
                .differences
                .iter()
                .any(|difference| difference.id == id)
        };
        let work = match compared.mismatch() {
            Some(mismatch) if alike.is_empty() => mismatch,
            Some(mismatch) => format!("{mismatch}; alike: {alike}"),
            None if compared.base.are_programs && compared.cand.are_programs => {
                "neither program was run".to_owned()
            }
            // What ran is told by the ops of steady steps.
            None if !tells_work && compared.all_warmup().is_some() => {
                "whether the work is the same is not known: what ran is told by steady steps, and there are none"
                    .to_owned()
            }
            None if differs("memory_traffic") => format!(
                "whether the work is the same is not known: the captures record other memory traffic for the same \
                 program; alike: {alike}"
            ),
            None if differs("device_steps") => {
                format!("not the same work on every device; alike: {alike}")
            }
            None if tells_work => format!("the same work, as far as the captures tell: {alike}"),
            None if compared.program.is_some() => {
                "whether the work is the same is not known: both runs record their programs, but neither shapes nor \
                 sources of what ran"
                    .to_owned()
            }
            None => "whether the work is the same is not known: neither program, nor shapes, nor sources are \
                     recorded in both runs"
                .to_owned(),
        };
        let loss = compared.loss().filter(|loss| !work.contains(loss));
        let attribution = compared
            .attribution
            .as_ref()
            .filter(|_| compared.prediction.is_none());
        let step = compared.step_time();
        Self {
            work: joined([Some(work), loss].into_iter().flatten(), "; "),
            differ: differ(compared),
            step: step.map(|step| headline::median_clause(step, compared)),
            of_loop: compared
                .loop_change
                .as_ref()
                .filter(|change| change.is_more_than_steps())
                .map(LoopChange::clause),
            conclusion: attribution.and_then(Attribution::conclusion),
            look_first: attribution.and_then(Attribution::look_first),
            // What is computed has no noise.
            record_next: step
                .filter(|_| {
                    !base
                        .iter()
                        .chain(cand)
                        .any(|run| run.facts.simulator.is_some())
                })
                .and_then(|step| record_next(step, compared)),
        }
    }
}

/// `they differ in program fingerprint, format (xplane ↔ trace-json)`: what is not in the first sentence.
fn differ(compared: &Comparison) -> Option<String> {
    let said = |id: &str| {
        let mut work = compared.differences.iter();
        work.any(|difference| difference.id == id && difference.is_other_work())
    };
    let texts: Vec<String> = compared
        .differences
        .iter()
        // Versions have a table of their own.
        .filter(|difference| !said(difference.id) && difference.id != "versions")
        .map(|difference| {
            let title = difference.title.to_lowercase();
            if difference.id == "module_fingerprint" && difference.title != OPS_OF_PROGRAM {
                let is_known = |text: &str| !text.starts_with(UNKNOWN);
                if is_known(&difference.base) && is_known(&difference.cand) {
                    title
                } else {
                    format!("{title}, which is not known of both")
                }
            } else {
                format!("{title} ({} ↔ {})", difference.base, difference.cand)
            }
        })
        .collect();
    let runs = (!texts.is_empty()).then(|| format!("they differ in {}", engine::listed(&texts)));
    let said: Vec<String> = [
        runs,
        compared
            .program
            .as_ref()
            .and_then(ProgramComparison::clause),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// What would tell the change of the step from noise.
fn record_next(step: &MetricChange, compared: &Comparison) -> Option<String> {
    let base = step.base.filter(|base| base.median > 0.0)?;
    let cand = step.cand?;
    let of_step = |ps: f64| Percent(100.0 * ps / base.median);
    match step.finding {
        ChangeVerdict::TooFew | ChangeVerdict::Correlated | ChangeVerdict::Untested => {
            Some(record_enough([base.count, cand.count], compared))
        }
        ChangeVerdict::BetweenRuns => {
            let change = step.change?.abs();
            let runs = [&compared.base, &compared.cand].map(|side| side.runs.len().max(1) as f64);
            // The limit falls with the root of the number of runs.
            let limit = step.noise? / change;
            let needed = (2.0 / (1.0 / runs[0] + 1.0 / runs[1]) * limit * limit).floor() + 1.0;
            let needed = if needed <= MOST_RUNS {
                counted(needed.max(2.0) as usize, "run")
            } else {
                format!("more than {MOST_RUNS:.0} runs")
            };
            Some(format!(
                "record {needed} per side, to tell a change of {:.1} from the spread between runs",
                of_step(change)
            ))
        }
        ChangeVerdict::Noise if compared.is_below_effect(step) => None,
        ChangeVerdict::Noise => {
            let noise = step.noise.filter(|noise| *noise > 0.0)?;
            if noise >= base.median {
                return Some(
                    "the steps of a run differ so much that only a change of more than the whole median step would show"
                        .to_owned(),
                );
            }
            Some(format!(
                "record more runs per side to see changes below {:.1} of the step",
                of_step(noise)
            ))
        }
        ChangeVerdict::Changed | ChangeVerdict::OneSided => None,
    }
}

/// What a test needs that could not be made with so many `steps` on both sides.
fn record_enough(steps: [usize; 2], compared: &Comparison) -> String {
    let both = |counts: [usize; 2]| match counts {
        [one, other] if one == other => one.to_string(),
        [one, other] => format!("{one} and {other}"),
    };
    let test = &compared.options.test;
    let level = 100.0 * test.alpha;
    if let Some(runs) = compared.runs_that_decide() {
        let runs = both(runs);
        return format!(
            "record more runs per side: {runs} cannot show a change at a level of {level} %"
        );
    }
    let now = both(steps);
    let [base, cand] = steps;
    if base.min(cand) < test.min_steps {
        return format!(
            "record at least {} per side, to tell changes from noise (now {now})",
            counted(test.min_steps, "steady step")
        );
    }
    if least_p_of_counts(base, cand) > test.alpha {
        return format!(
            "record more steady steps per side: {now} cannot show a change at a level of {level} %"
        );
    }
    format!(
        "record more steady steps per side, to tell changes from noise: {now} are too few, because the times of \
         neighbouring steps are correlated"
    )
}
