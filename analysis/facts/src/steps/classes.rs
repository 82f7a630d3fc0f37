//! Groups steps that do the same work into classes.
//!
//! A run mixes kinds of steps: training and evaluation, prefill and decode, every hundredth step with a checkpoint.
//! Statistics over all of them describe none of them, and an evaluation step is no outlier among training steps.
//! Steps are of one class if they run the same programs (those with at least a twentieth of the step's program time;
//! a compiled program implies its ops) and take about as long:
//!
//! ```text
//! programs   T  T  T  T+E  T  T  T  T+E      T = train_step, E = eval_step
//! class      A  A  A  B    A  A  A  B
//! ```
//!
//! Programs that only one or two steps run (a function compiled again for another shape) make no class of their own:
//! these steps are compared with the others of the same functions. Times split a class only if both sides have many
//! steps and are far apart ([`GAP`]), and never because of steps that compile: rare steps stay outliers.

use engine::prelude::*;
use trace_model::StringId;

use super::marks::top_slices;
use super::programs::function_of;
use super::step::{Step, StepClass};

/// Programs below this share of a step's program time do not define its class.
const WORTH_NOTING: f64 = 0.05;
/// Minimum number of steps of a class.
const FEW: usize = 3;
/// Minimum size of a class as a share of the steps that could be split.
const FEW_SHARE: f64 = 0.05;
/// Ratio of two successive times that splits a class, if neither side spreads as much.
const GAP: f64 = 1.5;

/// The programs that define a step's class.
type ClassPrograms = BTreeSet<StringId>;

/// Sets the class of every step; returns the classes, the one with the most steps first.
pub(super) fn classify(model: &TraceModel, marker: &str, steps: &mut [Step]) -> Vec<StepClass> {
    let by_programs = grouped(
        programs_of(model, steps)
            .into_iter()
            .enumerate()
            .map(|(step, programs)| (programs, step)),
    );
    let mut named_classes: Vec<(String, Vec<usize>)> = Vec::new();
    for (functions, members) in join_rare(model, by_programs) {
        let name = if functions.is_empty() {
            marker.to_owned()
        } else {
            functions
        };
        let sides = split_by_time(steps, members);
        let divided = sides.len() > 1;
        let suffix = |long: bool| if long { ", long" } else { ", short" };
        let named = sides.into_iter().enumerate().map(|(side, members)| {
            (
                format!("{name}{}", if divided { suffix(side > 0) } else { "" }),
                members,
            )
        });
        named_classes.extend(named);
    }
    named_classes.sort_by_key(|(_, members)| (Reverse(members.len()), members.first().copied()));
    let mut classes = Vec::with_capacity(named_classes.len());
    for (class, (title, members)) in named_classes.into_iter().enumerate() {
        for step in &members {
            if let Some(step) = steps.get_mut(*step) {
                step.class = class;
            }
        }
        classes.push(StepClass {
            id: letters(class),
            title,
            steps: members.len(),
            time: None,
            interval: None,
        });
    }
    classes
}

/// `A` … `Z`, `AA`, `AB` …
fn letters(mut number: usize) -> String {
    let mut out = Vec::new();
    loop {
        out.push(b'A' + (number % 26) as u8);
        match (number / 26).checked_sub(1) {
            Some(rest) => number = rest,
            None => break,
        }
    }
    out.iter().rev().map(|&byte| char::from(byte)).collect()
}

/// The programs of each step over all cores. An execution belongs to the step that started last before it.
fn programs_of(model: &TraceModel, steps: &[Step]) -> Vec<ClassPrograms> {
    let mut spans: BTreeMap<GroupId, Vec<(Timestamp, Timestamp, usize)>> = BTreeMap::new();
    for (index, step) in steps.iter().enumerate() {
        for span in &step.spans {
            spans
                .entry(span.group)
                .or_default()
                .push((span.range.start, span.range.end, index));
        }
    }
    let mut times: Vec<BTreeMap<StringId, f64>> = vec![BTreeMap::new(); steps.len()];
    for (group, mut spans) in spans {
        spans.sort_unstable();
        let modules = model.tracks_of_kind(group, TrackKind::Modules);
        for run in modules.flat_map(|track| top_slices(model, track)) {
            let after = spans.partition_point(|&(start, ..)| start <= run.start());
            let step = after
                .checked_sub(1)
                .and_then(|index| spans.get(index))
                .filter(|&&(_, end, _)| run.start() < end);
            if let Some(times) = step.and_then(|&(.., step)| times.get_mut(step)) {
                *times.entry(run.label().name).or_default() += run.measured_dur().as_ps_f64();
            }
        }
    }
    let worth_noting = |times: BTreeMap<StringId, f64>| {
        let all: f64 = times.values().sum();
        times
            .into_iter()
            .filter(|&(_, time)| time >= WORTH_NOTING * all)
            .map(|(program, _)| program)
            .collect()
    };
    times.into_iter().map(worth_noting).collect()
}

/// Groups steps by functions and programs; steps with rare programs join the most frequent ones of the same functions.
fn join_rare(
    model: &TraceModel,
    by_programs: BTreeMap<ClassPrograms, Vec<usize>>,
) -> Vec<(String, Vec<usize>)> {
    let mut by_functions: BTreeMap<String, Vec<Vec<usize>>> = BTreeMap::new();
    for (programs, members) in by_programs {
        let functions: BTreeSet<&str> = programs
            .iter()
            .map(|&program| function_of(model.str(program)))
            .collect();
        let functions = functions.into_iter().collect::<Vec<_>>().join(" + ");
        by_functions.entry(functions).or_default().push(members);
    }
    let mut out = Vec::new();
    for (functions, mut sets) in by_functions {
        sets.sort_by_key(|members| Reverse(members.len()));
        let mut kept: Vec<Vec<usize>> = Vec::new();
        for members in sets {
            match kept.first_mut() {
                Some(most) if members.len() < FEW => most.extend(members),
                _ => kept.push(members),
            }
        }
        for mut members in kept {
            members.sort_unstable();
            out.push((functions.clone(), members));
        }
    }
    out
}

/// Splits steps of the same programs at the widest gap between their times, if it is wide enough; steps that compile or
/// are partial go to the nearer side.
fn split_by_time(steps: &[Step], members: Vec<usize>) -> Vec<Vec<usize>> {
    let time = |member: usize| {
        steps
            .get(member)
            .map_or(1.0, |step| step.time_ps.ps().max(1) as f64)
    };
    let mut times: Vec<f64> = members
        .iter()
        .filter(|&&m| {
            steps.get(m).is_some_and(|step| {
                !step.is_partial && step.compile_ps.ps().saturating_mul(10) < step.time_ps.ps()
            })
        })
        .map(|&m| time(m))
        .collect();
    times.sort_by(f64::total_cmp);
    let few = FEW.max((FEW_SHARE * times.len() as f64).ceil() as usize);
    let candidates = (few..times.len().saturating_sub(few - 1)).filter_map(|split| {
        let (low, high) = times.split_at(split);
        let gap = high.first()? / low.last()?;
        let spread = |side: &[f64]| Some(side.last()? / side.first()?);
        (gap >= GAP && spread(low)? < gap && spread(high)? < gap)
            .then_some((gap, (low.last()? * high.first()?).sqrt()))
    });
    match candidates.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((_, limit)) => {
            let (short, long) = members
                .into_iter()
                .partition(|&member| time(member) < limit);
            vec![short, long]
        }
        None => vec![members],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_classes_are_lettered() {
        assert_eq!(
            [0, 25, 26, 27, 701, 702].map(letters),
            ["A", "Z", "AA", "AB", "ZZ", "AAA"]
        );
    }
}
