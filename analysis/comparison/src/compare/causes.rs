//! From what differs in the environment to the instructions that moved, their source line and the milliseconds: a line
//! for each group of ops.

use facts::prelude::*;

use super::attribution::{Attribution, OpChange};
use super::cause_lines::{BETWEEN, CauseChain, CauseLine};
use super::change::{ChangeVerdict, ShiftEstimate};
use super::comparison::Comparison;
use super::uses::{GroupChange, TimesOfSides, UseChange, change_of};

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
    if compared.step_time()?.finding == ChangeVerdict::Noise || compared.prediction.is_some() {
        return None;
    }
    let known: Vec<String> = compared
        .environment
        .iter()
        .filter(|change| change.is_known())
        .map(facts::EnvironmentChange::in_words)
        .collect();
    let candidate = candidate(&known);
    let lines: Vec<CauseLine> = moved(attribution)
        .into_iter()
        .map(|(one, group)| line(one, group, &compared.ops, candidate.as_deref()))
        .collect();
    if lines.is_empty() {
        return None;
    }
    let explained: f64 = lines.iter().map(|line| line.change_ps).sum();
    let unexplained = change_of(explained, attribution.change_ps);
    let groups = attribution.uses.iter().flat_map(|one| &one.groups);
    let moved: f64 = groups.map(|group| group.times.change_ps.abs()).sum();
    Some(CauseChain {
        note: note(compared, known.len()),
        candidates: known,
        lines,
        unexplained_ps: unexplained,
        unexplained_percent: Percent::ratio(unexplained.abs(), moved),
        moved_ps: moved,
    })
}

/// The groups that moved most in the direction of the step or against it.
fn moved(attribution: &Attribution) -> Vec<(&UseChange, &GroupChange)> {
    let mut groups: Vec<(&UseChange, &GroupChange)> = attribution
        .uses
        .iter()
        .flat_map(|one| one.groups.iter().map(move |group| (one, group)))
        .collect();
    let size = |group: &GroupChange| group.times.change_ps.abs();
    let all: f64 = groups.iter().map(|(_, group)| size(group)).sum();
    groups.retain(|(_, group)| size(group) >= (WORTH_A_LINE * all).max(0.5));
    largest_number_first(
        &mut groups,
        |(_, group)| size(group),
        |(_, group)| &group.name,
    );
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
    let instructions = match instructions(&counted_with(one, group, ops), &group.times) {
        Some(text) if one.id.title() == group.name || text.contains(&group.name) => text,
        Some(text) => format!("{text} ({})", group.name),
        None if one.id.title() == group.name => group.name.clone(),
        None => format!("{}: {}", one.id.title(), group.name),
    };
    let line = CauseLine {
        text: String::new(),
        instructions,
        source: group.file(),
        change_ps: group.times.change_ps,
    };
    let moved = line.moved();
    CauseLine {
        text: joined(candidate.into_iter().chain([&*moved]), BETWEEN),
        ..line
    }
}

/// An op as its group counts it: a side on which it does something else is that of another group.
struct CountedOp<'a> {
    op: &'a OpChange,
    base: Option<&'a str>,
    cand: Option<&'a str>,
    change_ps: f64,
}

/// The ops of a group, largest change first.
fn counted_with<'a>(
    one: &UseChange,
    group: &GroupChange,
    ops: &'a [OpChange],
) -> Vec<CountedOp<'a>> {
    let counted = |op: &'a OpChange| {
        let (is_before, is_after) = op.is_counted_with(one.id, &group.name);
        let base = op.base_name.as_deref().filter(|_| is_before);
        let cand = op.cand_name.as_deref().filter(|_| is_after);
        let time = |side: Option<ShiftEstimate>| side.map_or(0.0, |side| side.median);
        let change_ps = match (is_before, is_after) {
            (true, true) => op.change_ps,
            (true, false) => -time(op.change.base),
            (false, _) => time(op.change.cand),
        };
        (base.is_some() || cand.is_some()).then_some(CountedOp {
            op,
            base,
            cand,
            change_ps,
        })
    };
    let mut ops: Vec<CountedOp<'_>> = ops.iter().filter_map(counted).collect();
    ops.sort_by(|a, b| b.change_ps.abs().total_cmp(&a.change_ps.abs()));
    ops
}

/// An op whose time changes by less than this share of it takes the time it took.
const UNCHANGED: f64 = 0.05;
/// Parts of an op also write and read what the whole kept on the chip, which takes several times its time at most.
const TIMES_OF_WHOLE: f64 = 4.0;

/// What became of the instructions of a group; `None` if there are none.
fn instructions(ops: &[CountedOp<'_>], times: &TimesOfSides) -> Option<String> {
    let names = |of: fn(&CountedOp<'_>) -> bool| -> Vec<&str> {
        let ops = ops.iter().filter(|op| of(op));
        ops.filter_map(|op| op.cand.or(op.base)).collect()
    };
    let new = names(|op| op.base.is_none());
    let gone = names(|op| op.cand.is_none());
    let pairs: Vec<&CountedOp<'_>> = ops
        .iter()
        .filter(|op| op.base.is_some() && op.cand.is_some())
        .collect();
    // An op that takes the time it took was neither split nor joined: what has no counterpart beside it is new or gone.
    let is_kept = |op: &&CountedOp<'_>| {
        let base = op.op.change.base.filter(|_| op.op.shapes.is_none());
        base.is_some_and(|base| op.change_ps.abs() <= UNCHANGED * base.median)
    };
    let least = times.base_ps.min(times.cand_ps);
    let most = times.base_ps.max(times.cand_ps);
    let is_divided = most <= TIMES_OF_WHOLE * least && !pairs.iter().any(is_kept);
    let base: Vec<&str> = ops.iter().filter_map(|op| op.base).collect();
    let cand: Vec<&str> = ops.iter().filter_map(|op| op.cand).collect();
    Some(match (&base[..], &cand[..]) {
        ([], []) => return None,
        ([only], [_, _, ..]) if is_divided => format!("{only} split in {}", number(cand.len())),
        ([_, _, ..], [only]) if is_divided => {
            format!("{} ops joined in {only}", number(base.len()))
        }
        _ => {
            let named = |names: &[&str], what: &str| {
                let first = names.first()?;
                let more = match names.len() {
                    1 => String::new(),
                    count => format!(" and {} more", number(count - 1)),
                };
                Some(format!("{first}{more} {what}"))
            };
            let is_alone = new.is_empty() && gone.is_empty();
            let of_pairs: f64 = pairs.iter().map(|op| op.change_ps).sum();
            let is_told = is_alone || of_pairs.abs() >= UNCHANGED * times.change_ps.abs();
            let all = [
                named(&new, "new"),
                named(&gone, "gone"),
                changed(&pairs).filter(|_| is_told),
            ];
            joined(all.into_iter().flatten(), ", ")
        }
    })
}

fn number(count: usize) -> String {
    NUMBERS
        .get(count)
        .map_or_else(|| count.to_string(), |word| (*word).to_owned())
}

/// `fusion.1 slower and 2 more ops`: those that both sides have, largest change first.
fn changed(pairs: &[&CountedOp<'_>]) -> Option<String> {
    let op = pairs.first()?.op;
    let runs = op
        .base_runs
        .zip(op.cand_runs)
        .filter(|(base, cand)| (base.round() - cand.round()).abs() > 0.5)
        .map(|(base, cand)| format!(", {base:.0} → {cand:.0} executions a step"));
    let shapes = op
        .shapes
        .as_ref()
        .map(|(base, cand)| format!(", {base} → {cand}"));
    let others = match pairs.len() {
        1 => String::new(),
        count => format!(" and {}", counted(count - 1, "more op")),
    };
    let what = if op.change_ps > 0.0 {
        "slower"
    } else {
        "faster"
    };
    let changed = runs.or(shapes).unwrap_or_else(|| format!(" {what}"));
    Some(format!("{}{changed}{others}", op.name()))
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
