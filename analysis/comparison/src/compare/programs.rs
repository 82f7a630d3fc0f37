//! What the programs of runs consist of, and in what they differ.
//!
//! Sums of the whole program say what op times cannot: work that was added inside of fusions, other types, memory. They are
//! known where the run holds the program itself.

use std::fmt::Write as _;

use engine::number;
use facts::prelude::*;
use hardware::ici::CollectiveKind;
use run_reports::hlo::{ProgramContents, ProgramPart, ProgramSum, programs};

use super::run_values::KnownValue;
use super::summary::{ProgramFacts, RunValue, Summary};

/// Programs that are read: those with most time.
const MOST_PROGRAMS: usize = 4;
/// Sums that are named in the sentence.
const NAMED: usize = 3;

/// The programs with the most time of two runs.
#[engine::reported]
pub struct ProgramComparison {
    /// Name in the first run.
    pub base: String,
    /// Name in the second run.
    pub cand: String,
    /// Their sums side by side, those that are equal, too.
    pub sums: Vec<ProgramSum>,
}

/// Adds to the first programs what they consist of, as far as the run holds them whole.
pub(super) fn add_parts(cx: &Context<'_>, programs: &mut [ProgramFacts]) {
    for facts in programs.iter_mut().take(MOST_PROGRAMS) {
        let is_it = |id: &ProgramId| {
            let program = cx.model.program(*id);
            let id = program.id.map(|id| id.to_string());
            cx.model.str(program.name) == facts.name && id == facts.id
        };
        let program = cx.model.program_ids().find(is_it);
        let Some((program, module)) = program.and_then(|id| Some((id, cx.hlo(id).ok()?))) else {
            continue;
        };
        // Half a program has no sums.
        if module.cut.is_none() {
            facts.is_lowered = cx.model.has_programs_only() && !module.is_scheduled();
            facts.is_unpartitioned = facts.is_lowered && module.is_unpartitioned();
            facts.parts = ProgramContents::in_capture(cx, program, &module).parts();
        }
    }
}

/// The programs of a trace without times, the largest first.
pub(super) fn without_times(cx: &Context<'_>) -> Vec<ProgramFacts> {
    let facts = programs(cx).rows.into_iter().map(|row| {
        let program = cx.model.program(row.id);
        ProgramFacts {
            name: cx.model.str(program.name).to_owned(),
            id: program.id.map(|id| id.to_string()),
            ..ProgramFacts::default()
        }
    });
    facts.collect()
}

/// Numbers of the program with the most time, for budgets without a TPU. Of collectives there are the kinds that it has,
/// and all together: see [`Summary::run_value`].
pub(super) fn values(programs: &[ProgramFacts]) -> Vec<RunValue> {
    let Some(program) = programs.first().filter(|program| !program.parts.is_empty()) else {
        return Vec::new();
    };
    let kind = |part: &ProgramPart| CollectiveKind::from_opcode(part.what.split(" among ").next()?);
    let begins = |begin: &str| -> Vec<&ProgramPart> {
        program
            .parts
            .iter()
            .filter(|part| part.what.starts_with(begin))
            .collect()
    };
    let collectives: Vec<&ProgramPart> = program
        .parts
        .iter()
        .filter(|part| kind(part).is_some())
        .collect();
    let mut kinds = grouped(
        collectives
            .iter()
            .filter_map(|&part| Some((kind(part)?.name(), part))),
    );
    kinds.insert("all", collectives);
    let value = |metric, parts: &[&ProgramPart], number| program.value(metric, parts, number);
    let mut out = vec![
        value("program.flops", &begins("FLOPs"), PartNumber::Flops),
        value(
            "program.traffic_bytes",
            &begins("traffic of main"),
            PartNumber::Bytes,
        ),
        value(
            "program.peak_memory_bytes",
            &begins("peak memory"),
            PartNumber::Bytes,
        ),
        value("program.fusions", &begins("fusions"), PartNumber::Count),
        value(
            "program.custom_calls",
            &begins("custom calls"),
            PartNumber::Count,
        ),
        value(
            "program.rematerialized",
            &begins("rematerialized"),
            PartNumber::Count,
        ),
    ];
    for (kind, parts) in kinds {
        for (metric, number) in [
            ("program.collectives.*.count", PartNumber::Executions),
            ("program.collectives.*_bytes", PartNumber::Bytes),
        ] {
            out.push(value(metric, &parts, number).of_kind(kind));
        }
    }
    out
}

/// What is summed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartNumber {
    Flops,
    /// Instructions in the text, however often they run.
    Count,
    Executions,
    Bytes,
}

impl ProgramFacts {
    fn value(&self, metric: &str, parts: &[&ProgramPart], number: PartNumber) -> RunValue {
        let mut of = format!("an execution of {}", self.name);
        if let Some(how) = parts.iter().find_map(|part| part.how.as_deref()) {
            let _ = write!(of, ", {how}");
        }
        let mut value = RunValue::of(metric, None, of, Provenance::StaticCost);
        let is_least = number != PartNumber::Count && parts.iter().any(|part| part.is_least);
        if self.is_unpartitioned && number == PartNumber::Flops {
            let why = "it is of all devices together: the program is not partitioned yet";
            value.note = Some(why.to_owned());
            return value;
        }
        // FLOPs are those of the text; the rest is up to the compiler.
        if self.is_lowered && number != PartNumber::Flops {
            let why = "the program is not compiled: partitioning and fusions come later";
            value.note = Some(why.to_owned());
        } else if is_least {
            let why = "it is a lower limit: a loop of unknown length counts once";
            value.note = Some(why.to_owned());
        } else {
            let mut numbers = parts.iter().map(|part| match number {
                PartNumber::Flops | PartNumber::Count => part.count,
                PartNumber::Executions => part.executions,
                PartNumber::Bytes => part.bytes,
            });
            let sum = numbers.try_fold(0_u64, |sum, part| Some(sum.saturating_add(part?)));
            value.value = sum.map(|sum| sum as f64);
        }
        value
    }
}

impl Summary {
    /// The number of a whole run, or why it is not known; `None` if nothing is said of it. Kinds of collectives that a
    /// compiled program does not have are 0, whatever its loops do.
    pub(crate) fn run_value(&self, id: &str) -> Option<Result<KnownValue<'_>, &str>> {
        if let Some(value) = self.value(id) {
            return Some(value.known());
        }
        let rest = id.strip_prefix("program.collectives.")?;
        let kind = rest
            .strip_suffix(".count")
            .or_else(|| rest.strip_suffix("_bytes"))?;
        CollectiveKind::from_opcode(kind).filter(|known| known.name() == kind)?;
        let all = self.value("program.collectives.all.count")?;
        let is_lowered = self.facts.programs.first()?.is_lowered;
        let why = || all.note.as_deref().unwrap_or("the program is not compiled");
        Some(if is_lowered {
            Err(why())
        } else {
            Ok(KnownValue::exact(0.0))
        })
    }
}

/// The programs with the most time; `None` unless both runs hold theirs.
pub(super) fn comparison(base: &[Summary], cand: &[Summary]) -> Option<ProgramComparison> {
    let main = |runs: &[Summary]| {
        let first = runs.first()?.facts.programs.first()?.clone();
        (!first.parts.is_empty()).then_some(first)
    };
    let base = main(base)?;
    let cand = main(cand)?;
    // What the compiler makes of a program is no difference of two.
    if base.is_lowered != cand.is_lowered {
        return None;
    }
    Some(ProgramComparison {
        sums: ProgramSum::between(&base.parts, &cand.parts),
        base: base.name,
        cand: cand.name,
    })
}

impl ProgramComparison {
    /// `their programs differ in FLOPs (1.2 TFLOP ↔ 1.4 TFLOP) and 2 more sums`; `None` if no sum differs.
    pub(super) fn clause(&self) -> Option<String> {
        let differing: Vec<&ProgramSum> = self.sums.iter().filter(|sum| sum.differs).collect();
        let named = differing.iter().take(NAMED).map(|sum| {
            let text = |count: Option<u64>, bytes: Option<u64>| match (count, bytes) {
                (Some(count), Some(bytes)) => {
                    format!("{}, {}", number::count(count as f64), number::bytes(bytes))
                }
                (Some(count), None) => number::count(count as f64),
                (None, Some(bytes)) => number::bytes(bytes),
                (None, None) => "unknown".to_owned(),
            };
            let mut texts = [
                text(sum.first, sum.first_bytes),
                text(sum.second, sum.second_bytes),
            ];
            let executions = sum.first_executions.zip(sum.second_executions);
            let bytes = sum.first_bytes.zip(sum.second_bytes);
            if let Some((base, cand)) =
                executions.filter(|(base, cand)| texts[0] == texts[1] && base != cand)
            {
                // The same instructions in loops of other lengths.
                texts = [base, cand].map(|count| counted(count, "execution"));
            } else if let Some((base, cand)) = bytes.filter(|_| texts[0] == texts[1]) {
                texts = [base, cand].map(|bytes| format!("{bytes} bytes"));
            }
            let [base, cand] = texts;
            let least = if sum.is_least { "at least " } else { "" };
            format!("{} ({least}{base} ↔ {least}{cand})", sum.what)
        });
        let mut named: Vec<String> = named.collect();
        let more = differing.len().saturating_sub(named.len());
        if more > 0 {
            named.push(counted(more, "more sum"));
        }
        let all = engine::listed(&named);
        (!named.is_empty()).then(|| format!("their programs differ in {all}"))
    }
}
