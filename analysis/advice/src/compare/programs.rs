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
        if let Some(id) = cx.model.program_ids().find(is_it) {
            facts.parts = parts(cx, id);
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

fn parts(cx: &Context<'_>, program: ProgramId) -> Vec<ProgramPart> {
    match cx.hlo(program) {
        // Half a program has no sums.
        Ok(module) if module.cut.is_none() => {
            ProgramContents::in_capture(cx, program, &module).parts()
        }
        _ => Vec::new(),
    }
}

/// Numbers of the program with the most time, for budgets without a TPU.
pub(super) fn values(programs: &[ProgramFacts]) -> Vec<RunValue> {
    let Some(program) = programs.first().filter(|program| !program.parts.is_empty()) else {
        return Vec::new();
    };
    let of = format!("an execution of {}", program.name);
    let sum = |begin: &str, part: fn(&ProgramPart) -> Option<u64>| {
        let parts = program.parts.iter();
        let mut parts = parts.filter(|part| part.what.starts_with(begin));
        parts.try_fold(0_u64, |sum, next| Some(sum.saturating_add(part(next)?)))
    };
    let value = |metric: &str, value: Option<u64>| {
        let value = value.map(|value| value as f64);
        RunValue::of(metric, value, &*of, Provenance::StaticCost)
    };
    let mut out: Vec<RunValue> = [
        ("program.flops", sum("FLOPs", |it| it.count)),
        (
            "program.traffic_bytes",
            sum("traffic of main", |it| it.bytes),
        ),
        (
            "program.peak_memory_bytes",
            sum("peak memory", |it| it.bytes),
        ),
        ("program.fusions", sum("fusions of kind", |it| it.count)),
        (
            "program.custom_calls",
            sum("custom calls of", |it| it.count),
        ),
        (
            "program.rematerialized",
            sum("rematerialized", |it| it.count),
        ),
    ]
    .map(|(metric, found)| value(metric, found))
    .into();
    for name in COLLECTIVES {
        let is_one = |part: &&ProgramPart| {
            let kind = part.what.split(" among ").next();
            let kind = kind.and_then(CollectiveKind::from_opcode);
            kind.is_some_and(|kind| name == ALL || kind.name() == name)
        };
        let own: Vec<&ProgramPart> = program.parts.iter().filter(is_one).collect();
        let bytes = own
            .iter()
            .try_fold(0_u64, |sum, part| Some(sum.saturating_add(part.bytes?)));
        let count = own.iter().filter_map(|part| part.executions).sum();
        for (metric, found) in [
            ("program.collectives.*.count", Some(count)),
            ("program.collectives.*_bytes", bytes),
        ] {
            out.push(value(metric, found).of_kind(name));
        }
    }
    out
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
        let all = super::table::listed(&named);
        (!named.is_empty()).then(|| format!("their programs differ in {all}"))
    }
}
