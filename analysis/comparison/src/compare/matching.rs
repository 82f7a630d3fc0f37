//! Matches the ops of two runs.
//!
//! The compiler numbers ops anew in each build: `fusion.12` of one build may be `fusion.31` in the next, and a
//! different op may now be called `fusion.12`. So the name alone counts only within the same program. Otherwise ops
//! are matched by their properties, the strictest criterion first; each [`MatchedBy`] is one pass over the unmatched
//! ops.
//!
//! ```text
//! base   fusion.1 [a]  dot.2 [b]  fusion.3 [a]   fusion.4 [c]       [x]: category, shape, provenance
//! cand   fusion.1 [c]  fusion.2 [a]  dot.9 [b]  fusion.5 [a]
//!        fusion.1↔fusion.2, dot.2↔dot.9, fusion.3↔fusion.5, fusion.4↔fusion.1
//! ```
//!
//! If several ops are alike (the layers of a model), they keep their order; if their counts differ, each is matched
//! with the op whose neighbours and position fit best.

use std::borrow::Cow;
use std::collections::VecDeque;

use facts::prelude::*;
use trace_model::without_number;

use super::summary::{OpTimes, ProgramFacts, Summary};
use super::work::{OpPurpose, numbers_replaced, result_dims};

/// Why two ops count as the same.
#[engine::titled]
pub enum MatchedBy {
    /// They have one name in one compiled program.
    SameProgram,
    /// Name, category, shape and provenance agree.
    Same,
    /// All agree except the number in the name.
    Renumbered,
    /// All but the name agrees.
    Renamed,
    /// All but the shape agree.
    Reshaped = "other shape",
    /// Name and category agree, except for numbers inside the name (`kernel_256_512`).
    Retuned = "different numbers in name",
    /// Name and category agree; the provenance differs or is unknown.
    SameName = "by name",
    /// Name, category and sizes agree; the element type differs.
    Retyped = "other element type",
    /// The category and the provenance agree.
    SameOrigin = "by origin",
    /// Both compute matrix products, or communicate alike, with results of the same sizes: a kernel for a fusion.
    SameWork,
    /// Category, shape and a neighbour agree.
    Neighbours = "by neighbours",
}

impl MatchedBy {
    /// Confidence, at most 1; lower if several ops are alike and their counts differ.
    pub(crate) fn confidence(self) -> f64 {
        match self {
            Self::SameProgram => 1.0,
            Self::Same => 0.98,
            Self::Renumbered => 0.9,
            Self::Renamed => 0.75,
            Self::Reshaped => 0.7,
            Self::Retuned => 0.65,
            Self::SameName => 0.6,
            Self::Retyped => 0.55,
            Self::SameOrigin => 0.5,
            Self::SameWork => 0.45,
            Self::Neighbours => 0.4,
        }
    }
}

/// A pair of matched ops, as indices into the ops of their summaries.
#[derive(Clone, Copy, Debug)]
pub struct OpPair {
    /// Index in the first summary.
    pub base: usize,
    /// Index in the second summary.
    pub cand: usize,
    /// The reason for the match.
    pub how: MatchedBy,
    /// Confidence, from 0 to 1.
    pub confidence: f64,
}

/// The matched pairs, and the ops that exist on one side only.
#[derive(Debug, Default)]
pub struct Matching {
    /// Matched pairs, sorted by the index in the first summary.
    pub pairs: Vec<OpPair>,
    /// Indices of ops that exist only in the first summary.
    pub base_only: Vec<usize>,
    /// Indices of ops that exist only in the second summary.
    pub cand_only: Vec<usize>,
}

/// Properties by which an op of one side is matched.
struct OpIdentity<'a> {
    op: &'a OpTimes,
    /// Index of the pair of programs; unmatched programs have their own.
    program: usize,
    /// Whether the program is the same on both sides, by the compiler's fingerprint.
    is_same_program: bool,
    /// The name without the number at its end.
    unnumbered: &'a str,
    /// The stem with `#` in place of numbers inside it, if it has any.
    skeleton: Option<Cow<'a, str>>,
    /// Sizes of the result, whatever its type.
    dims: Option<String>,
    /// What it does, where that identifies an op together with its sizes.
    work: Option<String>,
    before: NeighbourKey<'a>,
    after: NeighbourKey<'a>,
    /// Position in the step: 0 for the first op, 1 for the last.
    place: f64,
}

/// How a neighbour is compared.
type NeighbourKey<'a> = (&'a str, &'a str, &'a str);

type MatchKey<'a> = (usize, [&'a str; 5], NeighbourKey<'a>, NeighbourKey<'a>);

/// The key on which two ops must agree; `None` if an op lacks a property of it.
type KeyOf = for<'a> fn(&'a OpIdentity<'a>) -> Option<MatchKey<'a>>;

const ANY: NeighbourKey<'static> = ("", "", "");

/// The passes, strictest first, with their keys; `None` if an op lacks a property of the key.
#[rustfmt::skip]
const PASSES: &[(MatchedBy, KeyOf)] = &[
    (MatchedBy::SameProgram, |s| s.is_same_program.then_some((s.program, [&s.op.name, "", "", "", ""], ANY, ANY))),
    (MatchedBy::Same, |s| known(s, [&s.op.name, &s.op.category, s.shape(), s.framework(), s.source()])),
    (MatchedBy::Same, |s| known(s, [&s.op.name, &s.op.category, s.shape(), s.framework(), ""])),
    (MatchedBy::Renumbered, |s| known(s, [s.unnumbered, &s.op.category, s.shape(), s.framework(), s.source()])),
    (MatchedBy::Renumbered, |s| known(s, [s.unnumbered, &s.op.category, s.shape(), s.framework(), ""])),
    (MatchedBy::Renamed, |s| known(s, ["", &s.op.category, s.shape(), s.framework(), ""])),
    (MatchedBy::Reshaped, |s| known(s, [s.unnumbered, &s.op.category, "", s.framework(), ""])),
    (MatchedBy::Retuned, |s| Some((s.program, [s.skeleton.as_deref()?, &s.op.category, "", "", ""], ANY, ANY))),
    (MatchedBy::Renumbered, |s| {
        Some((s.program, [s.unnumbered, &s.op.category, s.shape(), s.op.operands.as_deref()?, ""], ANY, ANY))
    }),
    (MatchedBy::SameName, |s| Some((s.program, [&s.op.name, &s.op.category, s.shape(), "", ""], ANY, ANY))),
    (MatchedBy::Retyped, |s| Some((s.program, [s.unnumbered, &s.op.category, s.dims.as_deref()?, "", ""], ANY, ANY))),
    (MatchedBy::SameOrigin, |s| known(s, ["", &s.op.category, "", s.framework(), ""])),
    (MatchedBy::SameWork, |s| Some((s.program, [s.work.as_deref()?, s.dims.as_deref()?, "", "", ""], ANY, ANY))),
    (MatchedBy::Neighbours, |s| beside(s, s.before, s.after)),
    (MatchedBy::Neighbours, |s| beside(s, s.before, ANY)),
    (MatchedBy::Neighbours, |s| beside(s, ANY, s.after)),
];

/// A key with a provenance; without a provenance it would match anything.
fn known<'a>(subject: &'a OpIdentity<'a>, texts: [&'a str; 5]) -> Option<MatchKey<'a>> {
    let [.., framework, source] = texts;
    (!framework.is_empty() || !source.is_empty()).then_some((subject.program, texts, ANY, ANY))
}

fn beside<'a>(
    subject: &'a OpIdentity<'a>,
    before: NeighbourKey<'a>,
    after: NeighbourKey<'a>,
) -> Option<MatchKey<'a>> {
    let texts = ["", subject.op.category.as_str(), subject.shape(), "", ""];
    (before != ANY || after != ANY).then_some((subject.program, texts, before, after))
}

impl<'a> OpIdentity<'a> {
    fn shape(&self) -> &'a str {
        self.op.shape.as_deref().unwrap_or_default()
    }
    fn framework(&self) -> &'a str {
        self.op.framework.as_deref().unwrap_or_default()
    }
    fn source(&self) -> &'a str {
        self.op.source.as_deref().unwrap_or_default()
    }
}

/// Matches the ops of two runs.
pub(crate) fn match_ops(base: &Summary, cand: &Summary) -> Matching {
    let [of_base, of_cand] = pair_programs(base, cand);
    let base_subjects = subjects(base, &of_base);
    let cand_subjects = subjects(cand, &of_cand);
    let mut base_left: Vec<usize> = (0..base_subjects.len()).collect();
    let mut cand_left: Vec<usize> = (0..cand_subjects.len()).collect();
    // In program order, so that similar ops are matched in order.
    base_left.sort_by_key(|&i| (base.ops[i].place, i));
    cand_left.sort_by_key(|&i| (cand.ops[i].place, i));
    let mut pairs = Vec::new();
    for (how, key) in PASSES {
        let mut groups: BTreeMap<MatchKey<'_>, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        for &index in &base_left {
            if let Some(key) = key(&base_subjects[index]) {
                groups.entry(key).or_default().0.push(index);
            }
        }
        for &index in &cand_left {
            if let Some(group) = key(&cand_subjects[index]).and_then(|key| groups.get_mut(&key)) {
                group.1.push(index);
            }
        }
        let before = pairs.len();
        for (first, second) in groups.values() {
            let certainty = if first.len() == second.len() {
                1.0
            } else {
                0.8
            };
            let aligned = align(first, second, &base_subjects, &cand_subjects);
            let confidence = how.confidence() * certainty;
            pairs.extend(aligned.into_iter().map(|(base, cand)| OpPair {
                base,
                cand,
                how: *how,
                confidence,
            }));
        }
        let mut done = [&base_subjects, &cand_subjects].map(|side| vec![false; side.len()]);
        for pair in &pairs[before..] {
            done[0][pair.base] = true;
            done[1][pair.cand] = true;
        }
        base_left.retain(|&index| !done[0][index]);
        cand_left.retain(|&index| !done[1][index]);
    }
    pairs.sort_by_key(|pair| pair.base);
    Matching {
        pairs,
        base_only: base_left,
        cand_only: cand_left,
    }
}

/// The index of the pair of a program, and whether both are the same by their fingerprints.
type ProgramPair = (usize, bool);

/// For each program of either side its pair: by fingerprint, then by name, then by size. 0 is for ops without a program.
fn pair_programs(base: &Summary, cand: &Summary) -> [Vec<ProgramPair>; 2] {
    type Rule = for<'a> fn(&'a ProgramFacts) -> Option<(&'a str, &'a str)>;
    const RULES: [Rule; 3] = [
        |p| Some((p.id.as_deref()?, &p.name)),
        |p| Some(("", &p.name)),
        |_| Some(("", "")),
    ];
    let [first, second] = [base, cand].map(|run| &run.facts.programs);
    let mut paired = [first, second].map(|programs| vec![None::<ProgramPair>; programs.len()]);
    let mut number = 1;
    for (rule, key) in RULES.into_iter().enumerate() {
        let mut free: BTreeMap<(&str, &str), VecDeque<usize>> = BTreeMap::new();
        for (j, program) in second
            .iter()
            .enumerate()
            .filter(|(j, _)| paired[1][*j].is_none())
        {
            if let Some(key) = key(program) {
                free.entry(key).or_default().push_back(j);
            }
        }
        for (i, program) in first.iter().enumerate() {
            let alike = key(program)
                .filter(|_| paired[0][i].is_none())
                .and_then(|key| free.get_mut(&key));
            let Some(j) = alike.and_then(VecDeque::pop_front) else {
                continue;
            };
            let pair = Some((number, rule == 0));
            (paired[0][i], paired[1][j]) = (pair, pair);
            number += 1;
        }
    }
    let mut pair_or_unpaired = |slot: Option<ProgramPair>| {
        slot.unwrap_or_else(|| {
            number += 1;
            (number, false)
        })
    };
    paired.map(|side| side.into_iter().map(&mut pair_or_unpaired).collect())
}

fn subjects<'a>(summary: &'a Summary, programs: &[ProgramPair]) -> Vec<OpIdentity<'a>> {
    let mut order: Vec<usize> = (0..summary.ops.len()).collect();
    order.sort_by_key(|&i| (summary.ops[i].place, i));
    let mut rank = vec![0; order.len()];
    for (place, &index) in order.iter().enumerate() {
        rank[index] = place;
    }
    let look = |place: Option<usize>| {
        let op = place
            .and_then(|place| order.get(place))
            .map(|&index| &summary.ops[index]);
        op.map_or(ANY, |op| {
            (
                without_number(&op.name),
                op.category.as_str(),
                op.shape.as_deref().unwrap_or_default(),
            )
        })
    };
    let subject = |(op, &place): (&'a OpTimes, &usize)| {
        let (program, is_same_program) = op
            .program
            .and_then(|index| programs.get(index))
            .copied()
            .unwrap_or((0, false));
        OpIdentity {
            op,
            program,
            is_same_program,
            unnumbered: without_number(&op.name),
            skeleton: Some(numbers_replaced(without_number(&op.name)))
                .filter(|name| name.contains('#')),
            dims: result_dims(op),
            work: identifying(op),
            before: look(place.checked_sub(1)),
            after: look(Some(place + 1)),
            place: place as f64 / order.len().max(1) as f64,
        }
    };
    summary.ops.iter().zip(&rank).map(subject).collect()
}

/// Matrix products, and collectives by their kind: whoever wrote them, the same sizes mean the same work.
fn identifying(op: &OpTimes) -> Option<String> {
    let OpPurpose { time_use, group } = OpPurpose::of(op);
    match time_use {
        TimeUse::MatMul => Some(time_use.id().to_owned()),
        TimeUse::Collective => Some(group),
        _ => None,
    }
}

/// Work limit for aligning one group; larger groups are matched at even intervals.
const MOST_WORK: usize = 4_000_000;

/// Aligns similar ops in order. If the counts differ, all ops of the smaller group find a partner: the assignment with
/// the lowest total cost and without crossings.
fn align(
    first: &[usize],
    second: &[usize],
    base: &[OpIdentity<'_>],
    cand: &[OpIdentity<'_>],
) -> Vec<(usize, usize)> {
    if first.len() > second.len() {
        let flipped = align(second, first, cand, base);
        return flipped
            .into_iter()
            .map(|(cand, base)| (base, cand))
            .collect();
    }
    let few = first.len();
    let many = second.len();
    if few == many || few.saturating_mul(many) > MOST_WORK {
        let spread = |i: usize| (i * many) / few.max(1);
        return first
            .iter()
            .enumerate()
            .map(|(i, &a)| (a, second[spread(i)]))
            .collect();
    }
    let cost = |i: usize, j: usize| {
        let a = &base[first[i]];
        let b = &cand[second[j]];
        f64::from(u8::from(a.before != b.before) + u8::from(a.after != b.after))
            + (a.place - b.place).abs()
    };
    // best[i][j]: the lowest cost of matching the first i with the first j.
    let width = many + 1;
    let mut best = vec![f64::INFINITY; (few + 1) * width];
    best[..width].fill(0.0);
    for i in 1..=few {
        for j in i..=many {
            let taken = best[(i - 1) * width + j - 1] + cost(i - 1, j - 1);
            best[i * width + j] = taken.min(best[i * width + j - 1]);
        }
    }
    let mut i = few;
    let mut j = many;
    let mut pairs = Vec::with_capacity(few);
    while i > 0 && j > 0 {
        if best[i * width + j] < best[i * width + j - 1] {
            pairs.push((first[i - 1], second[j - 1]));
            i -= 1;
        }
        j -= 1;
    }
    pairs.reverse();
    pairs
}
