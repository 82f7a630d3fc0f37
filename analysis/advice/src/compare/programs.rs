//! What the programs of runs consist of, and in what they differ.
//!
//! Sums of the whole program say what op times cannot: work that was added inside of fusions, other types, memory. They are
//! known where the run holds the program itself.

use device_reports::hlo::{ProgramContents, ProgramPart, ProgramSum, programs};
use engine::{Context, Provenance, counted, number};
use facts::TraceFacts as _;
use hardware::ici::CollectiveKind;
use math::unit::Unit;
use serde::Serialize;
use trace_model::ProgramId;

use super::summary::{ProgramFacts, RunValue, Summary};

/// Programs that are read: those with most time.
const MOST_PROGRAMS: usize = 4;
/// All kinds of collectives together.
const ALL: &str = "all";
/// Kinds of collectives that budgets can name; without any, a program has none of them.
const COLLECTIVES: [&str; 8] = [
    ALL,
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "ragged-all-to-all",
    "collective-permute",
    "collective-broadcast",
];
/// Sums that are named in the sentence.
const NAMED: usize = 3;

/// The programs with the most time of two runs.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
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
            facts.is_lowered = !module.is_scheduled();
            facts.parts = ProgramContents::in_capture(cx, program, &module).parts();
        }
    }
}

/// The programs of a trace without times, the largest first.
pub(super) fn without_times(cx: &Context<'_>) -> Vec<ProgramFacts> {
    let rows = programs(cx).rows.into_iter();
    let facts = rows.map(|row| {
        let program = cx.model.program(row.id);
        ProgramFacts {
            name: cx.model.str(program.name).to_owned(),
            id: program.id.map(|id| id.to_string()),
            ..ProgramFacts::default()
        }
    });
    facts.collect()
}

/// Numbers of the program with the most time, for budgets without a TPU.
pub(super) fn values(programs: &[ProgramFacts]) -> Vec<RunValue> {
    let Some(program) = programs.first().filter(|program| !program.parts.is_empty()) else {
        return Vec::new();
    };
    let of = format!("an execution of {}", program.name);
    let value = |metric: &str, sum: PartSum, is_made_by_compiler: bool| {
        let mut value = RunValue::of(metric, None, &*of, Provenance::StaticCost);
        if is_made_by_compiler && program.is_lowered {
            value.note =
                Some("the program is not compiled: partitioning and fusions come later".to_owned());
        } else if sum.is_least {
            value.note = Some(
                "it is a lower limit: a loop whose length the compiler does not state counts once"
                    .to_owned(),
            );
        } else {
            value.value = sum.sum.map(|sum| sum as f64);
        }
        value
    };
    let begin = |begin: &'static str| move |part: &ProgramPart| part.what.starts_with(begin);
    let count = |part: &ProgramPart| part.count;
    let bytes = |part: &ProgramPart| part.bytes;
    let sum = |is_one: &dyn Fn(&ProgramPart) -> bool, of: fn(&ProgramPart) -> Option<u64>| {
        PartSum::of(program.parts.iter().filter(|part| is_one(part)), of)
    };
    let mut out = vec![
        value("program.flops", sum(&begin("FLOPs"), count), false),
        value(
            "program.traffic_bytes",
            sum(&begin("traffic of main"), bytes),
            true,
        ),
        value(
            "program.peak_memory_bytes",
            sum(&begin("peak memory"), bytes),
            true,
        ),
        value("program.fusions", sum(&begin("fusions"), count), true),
        value(
            "program.custom_calls",
            sum(&begin("custom calls"), count),
            true,
        ),
        value(
            "program.rematerialized",
            sum(&begin("rematerialized"), count),
            true,
        ),
    ];
    for name in COLLECTIVES {
        let is_one = |part: &ProgramPart| {
            let kind = part.what.split(" among ").next();
            let kind = kind.and_then(CollectiveKind::from_opcode);
            kind.is_some_and(|kind| name == ALL || kind.name() == name)
        };
        for (metric, sum) in [
            (
                "program.collectives.*.count",
                sum(&is_one, |part| part.executions),
            ),
            ("program.collectives.*_bytes", sum(&is_one, bytes)),
        ] {
            out.push(value(metric, sum, true).of_kind(name));
        }
    }
    out
}

/// Sum of some parts.
struct PartSum {
    /// `None` if one is unknown.
    sum: Option<u64>,
    is_least: bool,
}

impl PartSum {
    fn of<'a>(
        parts: impl Iterator<Item = &'a ProgramPart>,
        number: fn(&ProgramPart) -> Option<u64>,
    ) -> Self {
        let mut out = Self {
            sum: Some(0),
            is_least: false,
        };
        for part in parts {
            out.is_least |= part.is_least;
            let both = out.sum.zip(number(part));
            out.sum = both.map(|(sum, next)| sum.saturating_add(next));
        }
        out
    }
}

/// The programs with the most time; `None` unless both runs hold theirs.
pub(super) fn comparison(base: &[Summary], cand: &[Summary]) -> Option<ProgramComparison> {
    let main = |runs: &[Summary]| {
        let first = runs.first()?.facts.programs.first()?.clone();
        (!first.parts.is_empty()).then_some(first)
    };
    let (base, cand) = (main(base)?, main(cand)?);
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
                (Some(count), Some(bytes)) => format!(
                    "{}, {}",
                    number::count(count as f64),
                    number::value(bytes as f64, Unit::Bytes)
                ),
                (Some(count), None) => number::count(count as f64),
                (None, Some(bytes)) => number::value(bytes as f64, Unit::Bytes),
                (None, None) => "unknown".to_owned(),
            };
            let [base, cand] = [
                text(sum.first, sum.first_bytes),
                text(sum.second, sum.second_bytes),
            ];
            format!("{} ({base} ↔ {cand})", sum.what)
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
