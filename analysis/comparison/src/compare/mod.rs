//! Compares two runs: what changed, whether it is more than noise, and where the time went.
//!
//! ```text
//! trace ──► Summary ─┐
//! file  ──► Summary ─┴─► differences ─► steps: median, range, test ─► ops: matched, added up
//! ```
//!
//! - First the differences that decide whether runs are comparable ([`comparable`]); "not comparable" is a valid
//!   result.
//! - Steady steps of each class that both sides have (`classes.rs`), the class with the most time first, each step on
//!   its slowest core. Every metric has its median, the 95 % confidence interval of the median, the change, and the
//!   rank sum test ([`rank_test`](math::rank_test)); `~` marks a change that is not more than noise.
//!   Successive steps are correlated, so tests and intervals allow for that ([`resample`]),
//!   and a change must exceed the variation between steps of the same run (A/A).
//! - Ops matched by their properties (`matching.rs`), with Holm's correction over all tests.
//! - The change of the step, attributed to ops and idle time so that the parts add up. It uses the interquartile mean
//!   step: unlike medians, means add up, and the middle half excludes outliers.
//!
//! Steps of one run show how steady that run is, not how much another run of the same program would differ. That
//! takes several runs on each side.

mod attribution;
mod attribution_table;
mod better;
mod brief;
mod cause_lines;
mod causes;
mod change;
mod change_point;
mod change_rows;
mod classes;
mod collect;
pub mod comparable;
mod comparison;
mod environment;
mod headline;
mod idle;
mod likeness;
mod matching;
mod metrics;
mod odd_devices;
mod op_times;
mod pool;
mod predicted;
mod programs;
mod repeated;
mod run_loop;
mod run_spread;
mod run_values;
mod saved;
mod several;
mod summary;
mod table;
#[cfg(test)]
#[expect(clippy::float_cmp, reason = "whole picoseconds are exact")]
mod tests;
mod times;
mod traffic;
mod uses;
mod verdict_words;
mod why;
mod work;

use facts::prelude::*;
use math::{parallel, resample};
use trace_model::{Caveat, kept};

use collect::NO_STEPS;
use pool::PooledRuns;

pub use attribution::{Attribution, OpChange};
pub use better::Better;
pub use cause_lines::{CauseChain, CauseLine};
pub use change::{ChangeVerdict, ENOUGH_RUNS, MetricChange, ShiftEstimate, TestOptions};
pub use change_point::{ChangePoint, FEWEST_RUNS, RunLevels};
pub use classes::{MatchedClasses, matched_classes};
pub use collect::tool;
pub use comparable::{RunDifference, Weight, other_series};
pub use comparison::{
    BoundSides, CompareBrief, CompareOptions, Comparison, ComparisonSide, PredictedOp,
    PredictionError, SeriesChange, ValueChange,
};
pub use facts::EnvironmentChange;
pub use matching::{MatchedBy, Matching, OpPair};
pub use metrics::{METRICS, MetricScope, SummaryMetric};
pub use predicted::are_computed;
pub use programs::ProgramComparison;
pub use repeated::{fingerprints, is_same_capture, on_both_sides, without_repeated};
pub(crate) use run_loop::compilations_in_loop;
pub use run_loop::{LOOP_COMPILATIONS, LOOP_STEP, LoopChange, SLOW_SHARE, signed};
pub(crate) use run_spread::{RunSpread, assumed_limit_percent};
pub(crate) use run_values::KnownValue;
pub use saved::SummaryError;
pub use several::{RUNS_SCHEMA, WrittenRuns, from_json, is_meant, to_json};
pub use summary::{
    ClassTimes, HealthFact, OpTimes, ProgramFacts, RestTimes, RunValue, SCHEMA, StepFacts,
    StepSeries, Summary, SummaryFacts, SummaryInput, thinned,
};
pub(crate) use table::word_of_change;
pub use uses::{GroupChange, TimesOfSides, UseChange};
pub use verdict_words::doubt;
pub use why::{WHY_ROWS, WhyRow};

/// Why runs that differ are not one side of a comparison.
const UNLIKE_RUNS: &str = "the runs of one side are not alike: no number stands for both";

/// Compares `cand` with `base`: one run or several on each side, each capture once.
pub fn compare(base: &[Summary], cand: &[Summary], options: &CompareOptions) -> Comparison {
    let [(base, repeated), (cand, again)] = [base, cand].map(without_repeated);
    let base = &*base;
    let cand = &*cand;
    let mut options = options.clone();
    options.test.are_computed = are_computed(base.iter().chain(cand));
    let options = &options;
    let pairs = classes::classes(base, cand);
    let main = pairs.matched.first();
    let (first, second) = main.map_or((base, cand), |main| (&*main.base, &*main.cand));
    let mut differences = match (first.first(), second.first()) {
        (Some(first), Some(second)) => comparable::differences(first, second, &options.require),
        _ => Vec::new(),
    };
    let simulator = predicted::simulator(base, cand);
    if let Some(simulator) = simulator {
        predicted::weigh(&mut differences, simulator, &options.require);
    }
    differences.extend(unlike_side("base_runs", "base", base, &options.require));
    differences.extend(unlike_side("cand_runs", "cand", cand, &options.require));
    let incomparable = differences
        .iter()
        .any(|difference| difference.weight == Weight::Incomparable);
    let mut out = Comparison::empty(first, second, options);
    out.unknown = first
        .first()
        .zip(second.first())
        .map(|(a, b)| comparable::unknown(a, b))
        .unwrap_or_default();
    out.is_comparable = !(incomparable && !options.force
        || base.is_empty()
        || cand.is_empty()
        || out.base.is_untimed
        || out.cand.is_untimed);
    out.differences = differences;
    out.environment = environment::changes(base, cand);
    if out.is_comparable {
        out.fill(first, second);
        out.loop_change = out.of_loop(base, cand);
        out.program = programs::comparison(first, second);
        out.values = value_changes(base, cand, options);
        out.classes = pairs
            .matched
            .iter()
            .skip(1)
            .map(|class| of_class(&class.base, &class.cand, options))
            .collect();
        out.notes.extend(unmatched(base, cand, &pairs));
        out.prediction = simulator.and_then(|simulator| predicted::of(&out, simulator));
    }
    out.notes
        .extend([repeated, again, on_both_sides(base, cand)].concat());
    out.statement = match &out.prediction {
        Some(prediction) => prediction.statement(),
        None => headline::statement(&out),
    };
    out.causes = causes::chain(&out);
    out.brief = CompareBrief::of(&out, first, second);
    out
}

/// The first difference that keeps several runs from being taken together as one side.
pub fn unlike(runs: &[Summary], require: &[String]) -> Option<RunDifference> {
    let (first, others) = runs.split_first()?;
    let mut differing = others
        .iter()
        .flat_map(|other| comparable::differences(first, other, require))
        .filter(|one| one.weight == Weight::Incomparable);
    differing.next()
}

/// The same as a difference of a comparison.
fn unlike_side(
    id: &'static str,
    side: &str,
    runs: &[Summary],
    require: &[String],
) -> Option<RunDifference> {
    let difference = unlike(runs, require)?;
    Some(RunDifference {
        id,
        title: kept(&format!("{} within {side}", difference.title)),
        why: UNLIKE_RUNS,
        ..difference
    })
}

/// The classes of steps that are not compared, with reasons.
fn unmatched(base: &[Summary], cand: &[Summary], pairs: &classes::ClassPairing<'_>) -> Vec<String> {
    let left = |runs: &[Summary]| runs.first().map_or(0, |run| run.classes_not_listed);
    let mut notes = Vec::new();
    let sides = [
        ("base", base, &pairs.base_only, "cand", cand),
        ("cand", cand, &pairs.cand_only, "base", base),
    ];
    for (side, runs, alone, other, others) in sides {
        notes.extend(alone.iter().map(|steps| {
            let count = if steps.counted == 1 { "step" } else { "steps" };
            let among = if left(others) > 0 {
                format!(", as far as {other} lists its own")
            } else {
                String::new()
            };
            format!(
                "only {side} has steady steps of {} ({} {count}){among}",
                steps.class, steps.counted
            )
        }));
        if left(runs) > 0 {
            notes.push(format!(
                "{} more classes of steps of {side} are not compared: they take least time",
                left(runs)
            ));
        }
    }
    notes
}

/// The steps of one more class.
fn of_class(base: &[Summary], cand: &[Summary], options: &CompareOptions) -> Comparison {
    let mut out = Comparison::empty(base, cand, options);
    out.is_comparable = true;
    out.fill(base, cand);
    out.statement = headline::statement(&out);
    out
}

impl Comparison {
    fn empty(base: &[Summary], cand: &[Summary], options: &CompareOptions) -> Self {
        Self {
            base: side(base),
            cand: side(cand),
            options: options.clone(),
            ..Self::default()
        }
    }

    /// Differences because of which the runs did not do the same work.
    pub fn other_work(&self) -> impl Iterator<Item = &RunDifference> {
        self.differences
            .iter()
            .filter(|difference| difference.is_other_work())
    }

    fn of_loop(&self, base: &[Summary], cand: &[Summary]) -> Option<LoopChange> {
        let step = self.step_time().and_then(|step| step.change);
        let uses = self.attribution.as_ref().map_or(&[][..], |all| &all.uses);
        let compared = [&self.base, &self.cand].map(|side| (side.steps, &*side.class));
        LoopChange::of(base, cand, step.unwrap_or(0.0), uses, compared)
    }

    fn fill(&mut self, base: &[Summary], cand: &[Summary]) {
        let steps = steps_kept(base, cand);
        let first = PooledRuns::of(base, steps);
        let second = PooledRuns::of(cand, steps);
        self.steps = series_changes(&first, &second, &self.options);
        let divided = attribution::divide(&first, &second, &self.options.test);
        (self.attribution, self.ops) = (divided.attribution, divided.ops);
        let numbers = |runs: &[Summary]| {
            runs.first()
                .map(|run| run.steps.numbers.clone())
                .unwrap_or_default()
        };
        self.aligned_steps = numbers(base).into_iter().zip(numbers(cand)).collect();
        self.notes = notes(self, &first, &second);
    }
}

/// A shortened summary has the times of ops for some of its steps only. If the other side has a full summary with as
/// many steps, the same steps of it are used.
fn steps_kept(base: &[Summary], cand: &[Summary]) -> usize {
    let counted = |run: &Summary| run.steps.counted;
    let all = || base.iter().chain(cand);
    let alike = all().all(|run| Some(counted(run)) == base.first().map(counted));
    let least = all().map(pool::sampled_steps).filter(|&n| n > 0).min();
    if alike {
        least.unwrap_or(usize::MAX)
    } else {
        usize::MAX
    }
}

/// Whether none of them was run.
pub(crate) fn are_programs(runs: &[Summary]) -> bool {
    !runs.is_empty() && runs.iter().all(|run| run.facts.is_program)
}

fn side(runs: &[Summary]) -> ComparisonSide {
    let has_steps = runs.iter().any(|run| run.steps.counted > 0);
    ComparisonSide {
        all_warmup: runs
            .iter()
            .find_map(|run| run.steps.why_none.clone())
            .filter(|why| !has_steps && why != NO_STEPS),
        runs: runs.iter().map(Summary::title).collect(),
        steps: runs.iter().map(|run| run.steps.counted).sum(),
        class: runs
            .first()
            .map(|run| run.steps.class.clone())
            .unwrap_or_default(),
        middle_ps: runs.iter().map(|run| run.steps.middle_ps).sum::<f64>()
            / runs.len().max(1) as f64,
        are_programs: are_programs(runs),
        is_untimed: runs
            .iter()
            .any(|run| run.facts.caveats.contains(&Caveat::PlaceholderTimes)),
        lost: runs.iter().map(|run| run.facts.lost).sum(),
    }
}

/// In the order of the first side, followed by ids that only the second side has.
fn ids<'a>(lists: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    lists.filter(|id| seen.insert(*id)).collect()
}

fn series_changes(
    base: &PooledRuns<'_>,
    cand: &PooledRuns<'_>,
    options: &CompareOptions,
) -> Vec<SeriesChange> {
    let effect = pool::effect_ps(base, &options.test);
    let names = base
        .runs
        .iter()
        .chain(cand.runs)
        .flat_map(|run| &run.series)
        .map(|series| series.id.as_str());
    let change = |&id: &&str| {
        let facts = base.series_facts(id).or_else(|| cand.series_facts(id))?;
        let sides = (base.series(id, usize::MAX), cand.series(id, usize::MAX));
        let effect = if facts.unit == Unit::Picoseconds {
            effect
        } else {
            options.test.min_effect_percent
        };
        Some(SeriesChange {
            id: id.to_owned(),
            title: facts.title.clone(),
            unit: facts.unit,
            better: facts.better,
            change: MetricChange::of_runs(&sides.0, &sides.1, effect, &options.test),
        })
    };
    let ids = ids(names);
    let work = ids.len()
        * resample::work(ids.first().map_or(0, |id| {
            base.series(id, usize::MAX).iter().map(Vec::len).sum()
        }));
    let changes = parallel::map(&ids, work, change);
    changes.into_iter().flatten().collect()
}

fn value_changes(base: &[Summary], cand: &[Summary], options: &CompareOptions) -> Vec<ValueChange> {
    let names = base
        .iter()
        .chain(cand)
        .flat_map(|run| &run.values)
        .map(|value| value.id.as_str());
    let change = |id: &str| {
        let known = |runs: &[Summary]| -> (Vec<Vec<f64>>, bool) {
            let known: Vec<KnownValue<'_>> = runs
                .iter()
                .filter_map(|run| run.run_value(id)?.ok())
                .collect();
            let is_bound = known.iter().any(|one| one.at_least_because.is_some());
            (known.iter().map(|one| vec![one.value]).collect(), is_bound)
        };
        let ((first, base_bound), (second, cand_bound)) = (known(base), known(cand));
        let bounds = BoundSides {
            base: base_bound,
            cand: cand_bound,
        };
        let facts = base.iter().chain(cand).find_map(|run| run.value(id))?;
        let lacking = base.iter().chain(cand).find_map(|run| {
            let value = run.value(id)?;
            let is_exact = bounds.any() && value.exact().is_some();
            value.note.clone().filter(|_| !is_exact)
        });
        let mut change = match (&first[..], &second[..]) {
            ([] | [_], [] | [_]) => {
                let only = |runs: &[Vec<f64>]| runs.first().and_then(|run| run.first()).copied();
                MetricChange::of_values(only(&first), only(&second))
            }
            _ => MetricChange::of_runs(&first, &second, 0.0, &options.test),
        };
        if bounds.any() {
            change.forget();
        }
        let is_lacking = first.is_empty() || second.is_empty() || bounds.any();
        let note = lacking.filter(|_| is_lacking);
        Some(ValueChange {
            number: SeriesChange {
                id: id.to_owned(),
                title: facts.title.clone(),
                unit: facts.unit,
                better: facts.better,
                change,
            },
            of: facts.of.clone(),
            provenance: facts.provenance,
            bounds,
            note,
        })
    };
    ids(names)
        .into_iter()
        .filter_map(change)
        .filter(|row| {
            let change = &row.number.change;
            change.base.is_some() || change.cand.is_some()
        })
        .collect()
}

fn notes(out: &Comparison, base: &PooledRuns<'_>, cand: &PooledRuns<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let fewest = out.base.steps.min(out.cand.steps);
    let needed = out.options.test.min_steps;
    if fewest < needed {
        let steps = match (out.base.steps, out.cand.steps) {
            (1, 1) => "one steady step per side".to_owned(),
            (base, cand) if base == cand => format!("{base} steady steps per side"),
            (base, cand) => format!("{base} against {}", counted(cand, "steady step")),
        };
        notes.push(format!(
            "{steps}: changes are shown, but telling them from noise needs {needed} per side"
        ));
    }
    let [one, other] = [&out.base, &out.cand].map(|side| side.runs.len());
    if one.min(other) >= ENOUGH_RUNS {
        notes.push(format!(
            "{one} against {other} runs: tests use the medians of runs"
        ));
    }
    if fewest >= needed {
        let assumed = Percent(out.options.test.assumed_spread_percent);
        notes.push(if [one, other] == [1, 1] {
            format!(
                "one run per side does not show how much runs differ: a standard deviation of {assumed:.0} between runs is \
                 assumed, so that a change counts from {limit:.1} on; several runs per side, or a history, show it",
                limit = Percent(assumed_limit_percent())
            )
        } else {
            format!(
                "the spread between runs comes from these {} runs and an assumed standard deviation of {assumed:.0}, which \
                 counts like eight more",
                one + other
            )
        });
        notes.extend(untestable(out));
    }
    let unlisted = base.not_listed() + cand.not_listed();
    if unlisted > 0 {
        notes.push(format!(
            "{unlisted} small ops are known only as a sum, because a saved summary lists only the largest ops"
        ));
    }
    notes
}

/// How many ops could not be tested, and why.
fn untestable(out: &Comparison) -> impl Iterator<Item = String> {
    let of = |is: fn(&MetricChange) -> bool| out.ops.iter().filter(|op| is(&op.change)).count();
    let tested = of(|change| change.p.is_some());
    let what = if out.runs_that_decide().is_some() {
        "runs"
    } else {
        "steps"
    };
    let too_few = if tested > 1 {
        format!("{tested} ops are tested, and {what} are too few for that many")
    } else {
        let level = 100.0 * out.options.test.alpha;
        format!("{what} are too few for a level of {level} %")
    };
    let reasons = [
        (
            of(|change| change.finding == ChangeVerdict::TooFew),
            too_few,
        ),
        (
            of(|change| change.finding == ChangeVerdict::Correlated),
            format!("the times of neighbouring {what} are correlated"),
        ),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0);
    reasons.map(|(count, why)| {
        let ops = counted(count, "op");
        format!("no change of {ops} could be told from chance (?): {why}")
    })
}
