//! From what differs in the environment to the instructions that moved, their source line and the milliseconds: a line
//! for each group of ops.

use engine::{Percent, counted};

use super::attribution::{Attribution, OpChange};
use super::cause_lines::{CauseChain, CauseLine};
use super::change::ChangeVerdict;
use super::comparison::Comparison;
use super::run_loop::signed;
use super::uses::{GroupChange, UseChange};

/// Lines at most.
const CAUSES: usize = 5;
/// Smallest part of the change that gets a line.
const WORTH_A_LINE: f64 = 0.05;
const NUMBERS: [&str; 10] = [
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
];

/// `None` if the step did not change, or its ops are not known.
pub(super) fn chain(compared: &Comparison) -> Option<CauseChain> {
    let attribution = compared.attribution.as_ref()?;
    let finding = compared.step_time()?.finding;
    if finding == ChangeVerdict::Noise || compared.prediction.is_some() {
        return None;
    }
    let known = compared
        .environment
        .iter()
        .filter(|change| change.is_known());
    let known: Vec<String> = known.map(facts::EnvironmentChange::in_words).collect();
    let candidate = candidate(&known);
    let lines: Vec<CauseLine> = moved(attribution)
        .into_iter()
        .map(|(one, group)| line(one, group, &compared.ops, candidate.as_deref()))
        .collect();
    if lines.is_empty() {
        return None;
    }
    let change = attribution.change_ps;
    let unexplained = change - lines.iter().map(|line| line.change_ps).sum::<f64>();
    Some(CauseChain {
        note: note(compared, known.len()),
        candidates: known,
        lines,
        unexplained_ps: unexplained,
        unexplained_percent: (change != 0.0).then(|| Percent(100.0 * (unexplained / change).abs())),
    })
}

/// The groups that moved most in the direction of the step or against it.
fn moved(attribution: &Attribution) -> Vec<(&UseChange, &GroupChange)> {
    let groups = attribution.uses.iter();
    let mut groups: Vec<(&UseChange, &GroupChange)> = groups
        .flat_map(|one| one.groups.iter().map(move |group| (one, group)))
        .collect();
    let size = |group: &GroupChange| group.times.change_ps.abs();
    let all: f64 = groups.iter().map(|(_, group)| size(group)).sum();
    groups.retain(|(_, group)| size(group) >= (WORTH_A_LINE * all).max(0.5));
    groups.sort_by(|a, b| {
        size(b.1)
            .total_cmp(&size(a.1))
            .then_with(|| a.1.name.cmp(&b.1.name))
    });
    groups.truncate(CAUSES);
    groups
}

/// What begins each line: `libtpu 0.0.24 → 0.0.25`; of several differences no line can name the right one.
fn candidate(known: &[String]) -> Option<String> {
    match known {
        [] => None,
        [only] => Some(only.clone()),
        several => Some(format!("one of {} differences", several.len())),
    }
}

fn line(
    one: &UseChange,
    group: &GroupChange,
    ops: &[OpChange],
    candidate: Option<&str>,
) -> CauseLine {
    let ops: Vec<&OpChange> = ops
        .iter()
        .filter(|op| op.time_use == one.id && op.group == group.name)
        .collect();
    let instructions = match instructions(&ops) {
        Some(text) if one.id.title() == group.name || text.contains(&group.name) => text,
        Some(text) => format!("{text} ({})", group.name),
        None if one.id.title() == group.name => group.name.clone(),
        None => format!("{}: {}", one.id.title(), group.name),
    };
    let source = group
        .source
        .as_deref()
        .and_then(|source| source.rsplit('/').next());
    let source = source.map(str::to_owned);
    let change_ps = group.times.change_ps;
    let parts = [
        candidate.map(str::to_owned),
        Some(instructions.clone()),
        source.clone(),
        Some(signed(change_ps)),
    ];
    let parts = parts.into_iter().flatten();
    CauseLine {
        text: trace_model::joined(parts, " · "),
        instructions,
        source,
        change_ps,
    }
}

/// An op whose time changes by less than this share of it takes the time it took.
const UNCHANGED: f64 = 0.05;

/// What became of the instructions of a group; `None` if there are none.
fn instructions(ops: &[&OpChange]) -> Option<String> {
    let base: Vec<&str> = ops
        .iter()
        .filter_map(|op| op.base_name.as_deref())
        .collect();
    let cand: Vec<&str> = ops
        .iter()
        .filter_map(|op| op.cand_name.as_deref())
        .collect();
    // Sorted by change: the first moved most.
    let first = ops.first()?;
    let number = |count: usize| {
        NUMBERS
            .get(count)
            .map_or_else(|| count.to_string(), |word| (*word).to_owned())
    };
    let more = |names: &[&str]| match names.len() {
        0 | 1 => String::new(),
        count => format!(" and {} more", number(count - 1)),
    };
    // An op that takes the time it took was neither split nor joined: what has no counterpart beside it is new or gone.
    let is_kept = |op: &&OpChange| {
        let base = op.base_name.as_ref().and(op.change.base);
        let pair = base.filter(|_| op.cand_name.is_some() && op.shapes.is_none());
        pair.is_some_and(|base| op.change_ps.abs() <= UNCHANGED * base.median)
    };
    let has_kept = ops.iter().any(is_kept);
    let alone = ops.iter().filter(|op| op.cand_name.is_none());
    let gone: Vec<&str> = alone.filter_map(|op| op.base_name.as_deref()).collect();
    let alone = ops.iter().filter(|op| op.base_name.is_none());
    let new: Vec<&str> = alone.filter_map(|op| op.cand_name.as_deref()).collect();
    let text = match (&base[..], &cand[..]) {
        _ if has_kept && (!gone.is_empty() || !new.is_empty()) => {
            let named = |names: &[&str], what: &str| {
                let first = names.first()?;
                Some(format!("{first}{} {what}", more(names)))
            };
            let both = [named(&new, "new"), named(&gone, "gone")];
            trace_model::joined(both.into_iter().flatten(), ", ")
        }
        ([only], [_, _, ..]) => format!("{only} split in {}", number(cand.len())),
        ([_, _, ..], [only]) => format!("{} ops joined in {only}", number(base.len())),
        ([], [first, ..]) => format!("{first}{} new", more(&cand)),
        ([first, ..], []) => format!("{first}{} gone", more(&base)),
        _ => {
            let runs = first.base_runs.zip(first.cand_runs);
            let runs = runs.filter(|(base, cand)| (base.round() - cand.round()).abs() > 0.5);
            let runs =
                runs.map(|(base, cand)| format!(", {base:.0} → {cand:.0} executions a step"));
            let shapes = first
                .shapes
                .as_ref()
                .map(|(base, cand)| format!(", {base} → {cand}"));
            let others = match ops.len() {
                1 => String::new(),
                count => format!(" and {}", counted(count - 1, "more op")),
            };
            let what = if first.change_ps > 0.0 {
                "slower"
            } else {
                "faster"
            };
            let changed = runs.or(shapes).unwrap_or_else(|| format!(" {what}"));
            format!("{}{changed}{others}", first.name())
        }
    };
    Some(text)
}

/// An environment that differs may be the cause, and need not be.
fn note(compared: &Comparison, known: usize) -> String {
    let is_same_program = !compared.unknown.contains(&"programs")
        && !compared
            .differences
            .iter()
            .any(|one| ["program", "module_fingerprint"].contains(&one.id));
    let program = if is_same_program {
        "; the program has the same fingerprint in both runs, so that what changed is how it was run"
    } else {
        ""
    };
    match known {
        0 if compared.environment.is_empty() => {
            format!("no difference of the environment is known to have caused it{program}")
        }
        0 => format!("no difference of the environment is known of both runs{program}"),
        1 => format!(
            "the difference of the environment is a candidate: it is the only one that is known, but what is not recorded \
             may differ too{program}"
        ),
        _ => format!(
            "the {known} differences of the environment are candidates: two runs do not tell which of them moved the \
             time{program}"
        ),
    }
}
