//! Asks every rule, prices what it found by playing the run again, ranks, and sees to
//! it that what the verdict names is answered.

mod answers;
mod limit;
mod outside;
mod parts;
mod priced;
mod same;

use facts::Framework;
use facts::prelude::*;
use run_reports::summary::targets::Targets;
use run_reports::summary::verdict::RunVerdict;

use super::finding::{Finding, PossibleSaving};
use super::report::{
    CannotTell, Hint, HintOp, HintSeverity, HintsReport, Remedy, SavingBy, Suppressed,
};
use super::rule::Rule;
use super::{CountedDevices, HintFacts, NoFinding, Page};
use crate::what_if::Scenario;
use limit::{Loop, vary};
use priced::{PricedFinding, RowByOp};

/// A rule and what it found.
type Found = (&'static Rule, Finding);

/// Savings below this share of a step are not worth a hint.
const WORTHWHILE: Percent = Percent(0.5);
/// Ops listed with a hint.
const OPS_LISTED: usize = 20;
/// Places listed with a hint.
const SPOTS_LISTED: usize = 5;

pub(super) fn run(facts: &HintFacts<'_>, rules: &[&'static Rule]) -> Result<HintsReport> {
    facts.cx.require_times()?;
    let step = facts.step()?;
    let mut report = HintsReport {
        of: step.of.clone(),
        step_ps: step.ps,
        is_above_median: facts.steps().is_some_and(|steps| vary(&steps)),
        sums_over: sums_over(facts),
        ..HintsReport::default()
    };
    let rows = rows_by_op(facts);
    let whole = Picos::from_ps(step.ps as i64);
    let (findings, unwanted) = ask(facts, rules, &rows, &mut report)?;
    let replays = findings
        .iter()
        .filter_map(|(_, finding)| match &finding.saving {
            PossibleSaving::Replay { changes, .. } => Some(changes.as_slice()),
            _ => None,
        });
    facts.play(&replays.collect::<Vec<_>>());
    let priced: Vec<PricedFinding> = findings
        .into_iter()
        .map(|(rule, finding)| price(facts, rule, finding, whole))
        .collect();
    let (mut priced, mut small): (Vec<_>, Vec<_>) = priced.into_iter().partition(|hint| {
        !hint.finding.is_last_resort
            && hint.saving.is_none_or(|saving| {
                share_of_step(saving, step.ps).is_none_or(|part| part >= WORTHWHILE)
            })
    });
    let verdict = facts.report::<RunVerdict>()?;
    let whole_loop = Loop::of(facts)?;
    // The verdict is about the whole window: what it names may lie outside the steps, where a hint on them saves nothing.
    let is_of_loop = |id| {
        whole_loop
            .as_ref()
            .is_none_or(|all| all.has(id, WORTHWHILE))
    };
    answers::keep_answers(&verdict, &mut priced, &mut small, is_of_loop, &rows);
    report.quiet.extend(small.iter().map(|hint| hint.rule.id));
    report.quiet.sort_unstable();
    let saving = |id| answers::saving_about(&verdict, id, &priced, &rows);
    report.limit = whole_loop.and_then(|all| all.limit(saving));
    let of_loop = report.limit.as_ref().map(|limit| limit.id);
    let is_of_steps = !matches!(facts.cx.scope, Scope::Range(_))
        && facts.steps().is_some_and(|steps| steps.has_steps());
    let leading = if is_of_steps {
        of_loop.or(verdict.leading())
    } else {
        verdict.leading().or(of_loop)
    };
    answers::rank(&mut priced, |finding| {
        leading.is_some_and(|id| answers::is_about(&verdict, id, finding, &rows))
    });
    let targets = facts.report::<Targets>();
    let targets = targets.as_ref().map_or(&[][..], |report| &report.targets);
    report.unanswered = answers::unanswered(targets, &verdict, &priced, &small, &unwanted, &rows);
    let overlaps = same::overlaps(&priced);
    let leaders = same::same_savings(facts, &priced, &overlaps);
    give_way(&mut priced);
    combine(facts, &priced, &overlaps, &mut report)?;
    (report.combined, report.not_combined) = counted(&priced, &leaders);
    report.hints = merged(priced, overlaps, &leaders, |hint, overlaps_with| {
        hint_of(facts, hint, overlaps_with, step.ps, &rows)
    });
    Ok(report)
}

/// What rules find, and apart from it what the user does not want to see; those that find nothing are listed in the report.
fn ask(
    facts: &HintFacts<'_>,
    rules: &[&'static Rule],
    rows: &RowByOp<'_>,
    report: &mut HintsReport,
) -> Result<(Vec<Found>, Vec<Found>)> {
    let mut findings = Vec::new();
    let mut unwanted = Vec::new();
    let answers = facts.cx.side_by_side(rules.len(), |nth| {
        trace_model::may_pause();
        (rules[nth].check)(facts)
    });
    for (&rule, answer) in rules.iter().zip(answers) {
        match answer {
            Err(NoFinding::CannotTell(AnalysisError::NotApplicable(reason))) => {
                report.cannot_tell.push(CannotTell {
                    id: rule.id,
                    title: rule.title,
                    reason,
                });
            }
            Err(NoFinding::CannotTell(error)) => return Err(error),
            Err(NoFinding::Nothing) => report.quiet.push(rule.id),
            Ok(mut finding) => {
                for seen in &mut finding.evidence {
                    seen.provenance = seen.provenance.in_trace(facts.cx.model);
                }
                match suppressed(facts, rule, &finding, rows) {
                    Some(reason) => {
                        report.suppressed.push(Suppressed {
                            id: rule.id,
                            title: rule.title,
                            reason,
                        });
                        unwanted.push((rule, finding));
                    }
                    None => findings.push((rule, finding)),
                }
            }
        }
    }
    Ok((findings, unwanted))
}

/// Leaves one of two hints uncombined if each costs what the other saves: the one that saves less.
fn give_way(priced: &mut [PricedFinding]) {
    let saves: BTreeMap<&str, Picos> = priced
        .iter()
        .filter_map(|hint| Some((hint.rule.id, hint.saving?)))
        .collect();
    for hint in priced {
        let other = hint
            .finding
            .trades_with
            .and_then(|id| Some((*saves.get(id)?, id)));
        let saving = hint.saving.unwrap_or_default();
        let id = hint.rule.id;
        hint.gives_way = other.is_some_and(|(more, by)| (saving, by) < (more, id));
    }
}

/// One hint for each time that is saved: what other rules say of the same time are
/// further remedies of it.
fn merged(
    priced: Vec<PricedFinding>,
    overlaps: Vec<Vec<&'static str>>,
    leaders: &[Option<usize>],
    hint_of: impl Fn(PricedFinding, Vec<&'static str>) -> Hint,
) -> Vec<Hint> {
    let ids: Vec<&'static str> = priced.iter().map(|hint| hint.rule.id).collect();
    let leading = |id: &&'static str| {
        ids.iter()
            .zip(leaders)
            .any(|(id_of_rule, leader)| id_of_rule == id && leader.is_none())
    };
    let mut hints: Vec<Hint> = Vec::new();
    for ((hint, overlaps_with), leader) in priced.into_iter().zip(overlaps).zip(leaders) {
        let leader = leader.and_then(|leader| ids.get(leader));
        match leader.and_then(|id| hints.iter_mut().find(|hint| hint.id == *id)) {
            Some(first) => {
                let mut remedy = Remedy::from(hint_of(hint, Vec::new()));
                remedy
                    .code
                    .take_if(|code| first.code.as_ref() == Some(code));
                let action = without_common(&first.action, &remedy.action).to_owned();
                remedy.action = action;
                first.also.push(remedy);
            }
            None => hints.push(hint_of(
                hint,
                overlaps_with.into_iter().filter(leading).collect(),
            )),
        }
    }
    hints
}

/// Advice without the sentences that it begins with as `first` does.
fn without_common<'a>(first: &str, action: &'a str) -> &'a str {
    let same = action
        .bytes()
        .zip(first.bytes())
        .take_while(|(action, first)| action == first)
        .count();
    let sentences = action.get(..same).and_then(|same| same.rfind(". "));
    sentences
        .and_then(|end| action.get(end + 2..))
        .unwrap_or(action)
}

/// What times of ops are sums over.
fn sums_over(facts: &HintFacts<'_>) -> SumOver {
    let devices = facts.devices().ok();
    SumOver {
        are_busy: devices.is_some_and(|devices| devices.are_busy),
        ..SumOver::of(facts.cx, devices.map_or(0, CountedDevices::count))
    }
}

fn rows_by_op<'a>(facts: &'a HintFacts<'_>) -> RowByOp<'a> {
    let rows = facts.ops().into_iter().flat_map(|ops| ops.rows.iter());
    rows.filter_map(|row| Some((row.op?, row))).collect()
}

fn suppressed(
    facts: &HintFacts<'_>,
    rule: &Rule,
    finding: &Finding,
    rows: &RowByOp<'_>,
) -> Option<String> {
    let ops: Vec<(&str, Option<&str>)> = finding
        .ops
        .iter()
        .filter_map(|op| rows.get(op))
        .map(|row| (&*row.name, row.source.as_deref()))
        .collect();
    let by = facts
        .cx
        .options
        .hints
        .suppressions
        .iter()
        .find(|suppression| suppression.covers(rule.id, &ops))?;
    Some(by.reason.clone())
}

/// No hint saves more than the whole step.
fn price(
    facts: &HintFacts<'_>,
    rule: &'static Rule,
    finding: Finding,
    whole: Picos,
) -> PricedFinding {
    let mut unbounded = Picos::ZERO;
    let (saving, by) = match &finding.saving {
        PossibleSaving::Replay { changes, at_most } => match facts.saving(changes) {
            Ok(saving) => {
                unbounded = saving.clamped();
                (
                    Some(at_most.map_or(unbounded, |most| unbounded.min(most.clamped()))),
                    SavingBy::Replay,
                )
            }
            Err(_) => (*at_most, SavingBy::Formula),
        },
        PossibleSaving::PerStep(saving) => (Some(saving.clamped()), SavingBy::Formula),
        PossibleSaving::Once { .. } => (None, SavingBy::Formula),
        PossibleSaving::Nothing | PossibleSaving::Unknown => (None, SavingBy::Unknown),
    };
    let saving = saving.map(|saving| saving.min(whole));
    let once = if let PossibleSaving::Once { time, .. } = finding.saving {
        Some(time.clamped())
    } else {
        None
    };
    let by = if saving.or(once).is_none() {
        SavingBy::Unknown
    } else {
        by
    };
    PricedFinding {
        rule,
        finding,
        saving,
        once,
        unbounded,
        by,
        gives_way: false,
    }
}

/// Its share of a step.
fn share_of_step(saving: Picos, step_ps: f64) -> Option<Percent> {
    Percent::ratio(saving.as_ps_f64(), step_ps)
}

/// The hints whose changes are played together, and the others that save time in a step.
fn counted(
    priced: &[PricedFinding],
    leaders: &[Option<usize>],
) -> (Vec<&'static str>, Vec<&'static str>) {
    let leading = |place: usize| leaders.get(place).copied().flatten().unwrap_or(place);
    let hints = (0..priced.len()).filter(|&place| leading(place) == place);
    let saves = hints.filter(|&place| priced[place].saving.is_some());
    let (played, others): (Vec<usize>, Vec<usize>) = saves.partition(|&place| {
        let mut remedies = (0..priced.len()).filter(|&other| leading(other) == place);
        remedies.any(|other| priced[other].combined().is_some())
    });
    let ids = |places: Vec<usize>| places.iter().map(|&place| priced[place].rule.id).collect();
    (ids(played), ids(others))
}

/// What the hints with a replay save together, at most: their changes played at once, but of hints with a bound no more
/// than it allows on top of what the others save; and never less than one of them alone.
fn combine(
    facts: &HintFacts<'_>,
    priced: &[PricedFinding],
    overlaps: &[Vec<&'static str>],
    report: &mut HintsReport,
) -> Result<()> {
    let changes = |wanted: fn(&PricedFinding) -> bool| -> Vec<Scenario> {
        priced
            .iter()
            .filter(|hint| wanted(hint))
            .filter_map(PricedFinding::combined)
            .flatten()
            .cloned()
            .collect()
    };
    let all = changes(|_| true);
    if all.is_empty() {
        return Ok(());
    }
    let free = changes(|hint| !hint.is_bounded());
    let all = Scenario::merged(&all);
    let free = Scenario::merged(&free);
    facts.play(&[&all, &free]);
    let free = if free.is_empty() {
        Picos::ZERO
    } else {
        facts.saving(&free)?.clamped()
    };
    let together = facts
        .saving(&all)?
        .clamped()
        .min(free + bounded(priced, overlaps));
    let largest = priced
        .iter()
        .filter(|hint| hint.combined().is_some())
        .filter_map(|hint| hint.saving)
        .max()
        .unwrap_or_default();
    let saving = together
        .max(largest)
        .min(Picos::from_ps(report.step_ps as i64));
    report.combined_saving_ps = Some(saving);
    report.combined_saving_percent = share_of_step(saving, report.step_ps);
    Ok(())
}

/// What the hints with a bound save at most: of those about the same time the one that saves most.
fn bounded(priced: &[PricedFinding], overlaps: &[Vec<&'static str>]) -> Picos {
    let mut left: Vec<(&PricedFinding, &Vec<&'static str>)> = priced
        .iter()
        .zip(overlaps)
        .filter(|(hint, _)| hint.is_bounded() && !hint.gives_way)
        .collect();
    let mut sum = Picos::ZERO;
    while let Some((most, others)) = left.iter().max_by_key(|(hint, _)| hint.saving).copied() {
        sum += most.saving.unwrap_or_default();
        left.retain(|(hint, _)| hint.rule.id != most.rule.id && !others.contains(&hint.rule.id));
    }
    sum
}

/// What was played, with what bounds its saving.
fn changes_of(priced: &PricedFinding, step_ps: f64) -> Vec<Scenario> {
    let mut changes = priced.played().unwrap_or_default().to_vec();
    if let Some(saving) = priced
        .saving
        .filter(|_| priced.is_bounded() && !changes.is_empty())
    {
        changes.push(Scenario::StepAtLeast(step_ps - saving.as_ps_f64()));
    }
    changes
}

/// The first of what a rule advises for just this capture, if it is a sentence of at most two lines.
fn brief_of(advice: &str) -> Option<String> {
    const MOST: usize = 190;
    let first = advice.split_inclusive(". ").next()?.trim_end();
    (first.len() <= MOST).then(|| first.to_owned())
}

/// What to do: what a rule advises for just this capture, and of its page what that leaves.
fn action_of(finding: &Finding, page: &Page, framework: Framework) -> String {
    debug_assert!(
        finding.leaves_out.iter().all(|begin| page.says(begin)),
        "no sentence begins so: {:?}",
        finding.leaves_out
    );
    let of_page = page.action_without(framework, &finding.leaves_out);
    let both = [finding.advice.as_str(), of_page.as_str()];
    joined(both.iter().filter(|text| !text.is_empty()), " ")
}

fn hint_of(
    facts: &HintFacts<'_>,
    priced: PricedFinding,
    overlaps_with: Vec<&'static str>,
    step_ps: f64,
    rows: &RowByOp<'_>,
) -> Hint {
    let changes = changes_of(&priced, step_ps);
    let PricedFinding {
        rule,
        finding,
        saving,
        once,
        by,
        ..
    } = priced;
    let saving_percent = saving.and_then(|saving| share_of_step(saving, step_ps));
    let once_percent = if let PossibleSaving::Once { percent, .. } = finding.saving {
        Some(percent)
    } else {
        None
    };
    let page = Page(rule.page);
    let ops = finding
        .ops
        .iter()
        .filter_map(|op| rows.get(op).map(|row| (op, row)));
    let all_ops = ops.clone().map(|(&op, _)| op).collect();
    let ops = ops.take(OPS_LISTED).map(|(&op, row)| HintOp {
        name: row.name.to_string(),
        program: row.program.to_string(),
        source: row.source.as_deref().map(str::to_owned),
        self_time_ps: facts
            .devices()
            .map_or(row.self_time_ps, |devices| devices.self_time(row)),
        op,
    });
    Hint {
        id: rule.id,
        title: rule.title,
        severity: if rule.is_health() {
            HintSeverity::Health
        } else {
            HintSeverity::of(saving_percent.or(once_percent)).believed(rule.confidence)
        },
        confidence: rule.confidence,
        action: action_of(&finding, &page, facts.framework),
        statement: finding.statement,
        evidence: finding.evidence,
        saving_ps: saving,
        saving_percent,
        saved_by: finding.saved_by.filter(|_| saving.is_some()),
        once_ps: once,
        saving_by: by,
        changes,
        trades_with: finding.trades_with,
        brief: brief_of(&finding.advice).unwrap_or_else(|| page.brief()),
        code: finding
            .code
            .or_else(|| page.code(facts.framework).map(str::to_owned))
            .filter(|code| !code.is_empty()),
        ops: ops.collect(),
        all_ops,
        overlaps_with,
        also: Vec::new(),
        spots: finding.spots.into_iter().take(SPOTS_LISTED).collect(),
    }
}
