//! What the verdict names, and which hints answer it: nothing that is called the
//! largest use of time goes without a word on what to do about it, or why there is none.

use facts::prelude::*;
use run_reports::summary::targets::Target;
use run_reports::summary::verdict;

use super::priced::{PricedFinding, RowByOp};
use crate::hints::finding::{Finding, FindingPlace, PossibleSaving};
use crate::hints::report::Unanswered;
use crate::hints::rule::Rule;

/// Ops of a group that a hint is about answer for the group from this share of its time.
const MOST: f64 = 0.5;

/// Whether hints are about what the verdict names: they say so, or most of its ops or
/// of its time are theirs.
fn is_answered<'f>(
    named: &verdict::VerdictFinding,
    hints: impl Iterator<Item = &'f Finding> + Clone,
    rows: &RowByOp<'_>,
) -> bool {
    if hints
        .clone()
        .any(|finding| finding.about.contains(&named.id))
    {
        return true;
    }
    let spots = || {
        hints
            .clone()
            .flat_map(|finding| &finding.spots)
            .map(FindingPlace::range)
    };
    let inside = |range: &TimeRange| {
        spots()
            .filter_map(|spot| spot.intersect(*range))
            .collect::<IntervalSet>()
    };
    let is_most =
        |time: Picos| time > Picos::ZERO && time.as_ps_f64() >= MOST * named.time_ps.as_ps_f64();
    let within = named.ranges.iter().map(|range| inside(range).measure());
    if is_most(within.sum()) {
        return true;
    }
    let ops: BTreeSet<OpId> = hints
        .flat_map(|finding| finding.ops.iter().copied())
        .collect();
    let of_group = ops
        .iter()
        .filter_map(|op| rows.get(op))
        .filter(|row| TimeUse::from(row.group) == named.id);
    is_most(of_group.map(|row| row.self_time_ps).sum())
}

/// What the hints about this use of time save at most, 0 if that is not known; `None` if no hint is about it.
pub(super) fn saving_about(
    verdict: &verdict::VerdictReport,
    id: TimeUse,
    priced: &[PricedFinding],
    rows: &RowByOp<'_>,
) -> Option<Picos> {
    let hints = priced.iter().filter(|hint| !hint.rule.is_health());
    let about = hints.filter(|hint| is_about(verdict, id, &hint.finding, rows));
    about.map(|hint| hint.saving.unwrap_or_default()).max()
}

/// Whether `finding` is about this use of time: it says so, or most of its ops or of its time are its.
pub(super) fn is_about(
    verdict: &verdict::VerdictReport,
    id: TimeUse,
    finding: &Finding,
    rows: &RowByOp<'_>,
) -> bool {
    let mut named = verdict.findings.iter().filter(|named| named.id == id);
    finding.about.contains(&id)
        || named.any(|named| is_answered(named, std::iter::once(finding), rows))
}

/// Keeps hints that save too little, or speak only if nothing better is known, if the verdict names what they are about
/// and no other hint answers, and it `is_of_loop`; the others stay in `small`.
pub(super) fn keep_answers(
    verdict: &verdict::VerdictReport,
    priced: &mut Vec<PricedFinding>,
    small: &mut Vec<PricedFinding>,
    is_of_loop: impl Fn(TimeUse) -> bool,
    rows: &RowByOp<'_>,
) {
    small.sort_by_key(|hint| (Reverse(hint.saving), hint.rule.id));
    let named = verdict.named().filter(|named| !named.id.is_work());
    for named in named.filter(|named| is_of_loop(named.id)) {
        while !is_answered(named, priced.iter().map(|hint| &hint.finding), rows) {
            let is_about = |hint: &PricedFinding| {
                hint.finding.about.contains(&named.id)
                    || hint.finding.ops.iter().any(|op| {
                        rows.get(op)
                            .is_some_and(|row| TimeUse::from(row.group) == named.id)
                    })
            };
            let Some(place) = small.iter().position(is_about) else {
                break;
            };
            priced.push(small.remove(place));
        }
    }
}

/// What the verdict names and no hint answers, and why.
pub(super) fn unanswered(
    targets: &[Target],
    verdict: &verdict::VerdictReport,
    priced: &[PricedFinding],
    small: &[PricedFinding],
    suppressed: &[(&'static Rule, Finding)],
    rows: &RowByOp<'_>,
) -> Vec<Unanswered> {
    // What saves nothing, such as how work could be measured, is no answer to work that takes most of the time.
    let answers = |named: &verdict::VerdictFinding| {
        let of_work = named.id.is_work();
        let answers = priced.iter().map(|hint| &hint.finding);
        is_answered(
            named,
            answers.filter(|finding| !of_work || saves(finding)),
            rows,
        )
    };
    let open = verdict.named().filter(|named| !answers(named));
    open.map(|named| {
        let by: Vec<&str> = suppressed
            .iter()
            .filter(|(_, finding)| is_answered(named, std::iter::once(finding), rows))
            .map(|(rule, _)| rule.id)
            .collect();
        let saves_little =
            |hint: &PricedFinding| is_answered(named, std::iter::once(&hint.finding), rows);
        let reason = match (by.is_empty(), named.id.is_work()) {
            (false, _) => format!("suppressed: {}", by.join(", ")),
            (true, false) if small.iter().any(saves_little) => {
                "hardly any of it is in the counted steps".to_owned()
            }
            (true, true) if let Some(id) = correction(named, priced, rows) => {
                format!("how well it runs is not known, see {id}")
            }
            (true, true) => {
                let (part, it) = match about_a_part(named, priced, rows) {
                    Some(part) => (part + "; ", "the rest"),
                    None => (String::new(), "it"),
                };
                match target_of(targets, named.id).filter(|it| it.is_missed()) {
                    Some(target) => format!(
                        "{part}no rule knows why {it} misses its target, {} {}",
                        target.short,
                        target.goal()
                    ),
                    None => format!("{part}no rule finds anything wrong with {it}"),
                }
            }
            (true, false) => "no rule knows what to do about it".to_owned(),
        };
        Unanswered {
            id: named.id,
            statement: named.statement.clone(),
            reason,
        }
    })
    .collect()
}

/// Whether what a rule found costs time.
fn saves(finding: &Finding) -> bool {
    !matches!(finding.saving, PossibleSaving::Nothing)
}

/// The hint that saves nothing of what the verdict names, but tells what is not known of it.
fn correction(
    named: &verdict::VerdictFinding,
    priced: &[PricedFinding],
    rows: &RowByOp<'_>,
) -> Option<&'static str> {
    let is_about = |hint: &&PricedFinding| {
        !saves(&hint.finding) && is_answered(named, std::iter::once(&hint.finding), rows)
    };
    priced.iter().find(is_about).map(|hint| hint.rule.id)
}

/// The hints about some of the ops that the verdict names, as a clause.
fn about_a_part(
    named: &verdict::VerdictFinding,
    priced: &[PricedFinding],
    rows: &RowByOp<'_>,
) -> Option<String> {
    let is_named = |op: &OpId| {
        rows.get(op)
            .is_some_and(|row| TimeUse::from(row.group) == named.id)
    };
    let about = priced
        .iter()
        .filter(|hint| saves(&hint.finding) && hint.finding.ops.iter().any(is_named));
    let ids: Vec<&str> = about.map(|hint| hint.rule.id).collect();
    let verb = if ids.len() == 1 { "is" } else { "are" };
    (!ids.is_empty()).then(|| format!("{} {verb} about a part of it", joined(&ids, ", ")))
}

/// The target of the roof below which work of this kind lies.
fn target_of(targets: &[Target], id: TimeUse) -> Option<&Target> {
    let target_id = if id == TimeUse::MatMul { "mxu" } else { "hbm" };
    targets.iter().find(|target| target.id == target_id)
}

/// The best of what `leads` first, then the larger saving, by how sure the rule is. A hint that explains another one's
/// finding comes before it; what only corrects numbers comes last, and after it what is to be known of the capture.
pub(super) fn rank(priced: &mut [PricedFinding], leads: impl Fn(&Finding) -> bool) {
    let score = |hint: &PricedFinding| {
        hint.saving.map_or(0.0, |saving: Picos| {
            saving.as_ps_f64() * hint.rule.confidence.weight()
        })
    };
    let corrects = |hint: &PricedFinding| !saves(&hint.finding);
    let leads = |hint: &PricedFinding| !hint.finding.is_minor && leads(&hint.finding);
    let group = |hint: &PricedFinding| (hint.rule.is_health(), corrects(hint));
    priced.sort_by(|a, b| {
        let saving = group(a)
            .cmp(&group(b))
            .then_with(|| score(b).total_cmp(&score(a)))
            .then_with(|| leads(b).cmp(&leads(a)))
            .then_with(|| b.once.cmp(&a.once))
            .then_with(|| a.finding.is_minor.cmp(&b.finding.is_minor));
        saving.then_with(|| a.rule.id.cmp(b.rule.id))
    });
    if let Some(leading) = priced.iter().position(leads) {
        let leading_group = group(&priced[leading]);
        let first = priced.iter().position(|hint| group(hint) == leading_group);
        priced[first.unwrap_or(leading)..=leading].rotate_right(1);
    }
    for reason in 1..priced.len() {
        let first = (0..reason).find(|&other| explains(&priced[reason].finding, &priced[other]));
        if let Some(first) = first {
            priced[first..=reason].rotate_right(1);
        }
    }
}

/// It says why there is what the other one found: of the same ops, where both are about ops.
fn explains(reason: &Finding, other: &PricedFinding) -> bool {
    let ops = &reason.ops;
    let others = &other.finding.ops;
    let is_about_them =
        ops.is_empty() || others.is_empty() || ops.iter().any(|op| others.contains(op));
    reason.explains.contains(&other.rule.id) && is_about_them
}
