//! What differs between the programs of two runs.
//!
//! Each compilation numbers names anew, and moves ids, frames of the stack and paths of kernels, so instructions are matched
//! by what they do (see [`hlo::ProgramMatch`]). What is inside fusions and reductions belongs to the instruction that runs it.

use engine::number;
use facts::prelude::*;
use facts::{
    ARE_SUMS, EnvironmentChange, EnvironmentSide, environment, environment_changes,
    environment_table,
};
use hlo::{InstructionId, ProgramMatch, ScheduleDifference};

use super::contents::{ContentSum, PeakMemory, ProgramContents};
use super::differences::{ChangedParts, change, types};
use super::sums::{ProgramSum, REMATERIALIZED};
use super::{HloOp, OPS_ALONE, ProgramOrigin, TimedProgram};

/// How an instruction differs.
#[engine::titled]
pub enum Difference {
    /// Other shapes or operands.
    Changed,
    /// A fusion of the first program, whose work several instructions of the second do.
    Split,
    /// A fusion of the second program, which does the work of several instructions of the first.
    Joined,
    /// Only the first program has it.
    OnlyFirst,
    /// Only the second program has it.
    OnlySecond,
}

/// What differs between two programs.
#[engine::reported]
pub struct ProgramDiff {
    /// The first program.
    pub first: String,
    /// The second program.
    pub second: String,
    /// In what they were built or compiled differently, as far as that is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<EnvironmentChange>,
    /// Instructions that both have, perhaps under other names.
    pub same: usize,
    /// The others: those with most self time first, then by bytes.
    pub rows: Vec<DifferenceRow>,
    /// What the programs consist of, side by side.
    pub sums: Vec<ProgramSum>,
    /// The order of execution, in words.
    pub order: String,
    /// Instructions that both have and that run in another order; absent if it is unknown.
    pub moved: Option<usize>,
    /// Peak memory of both, in words.
    pub peak: String,
    /// Peak memory of the second program minus that of the first; absent if one is unknown.
    pub peak_change_bytes: Option<i64>,
    /// What to know when reading it.
    pub notes: Vec<String>,
}

/// An instruction that differs.
#[engine::row(recorded)]
pub struct DifferenceRow {
    /// How.
    #[column]
    pub difference: Difference,
    /// What changed, in words; of instructions that only one program has the type and sizes of their result.
    pub what: Option<String>,
    /// In the first program.
    #[column("First", id = "name", with = |row| row.first.as_ref().map(|op| &op.name))]
    pub first: Option<HloOp>,
    /// In the second program.
    #[column(with = |row| row.second.as_ref().map(|op| &op.name))]
    #[column(id = "opcode", with = |row| row.any().map(|op| &op.opcode))]
    #[column(id = "what", with = |row| row.what.clone())]
    #[column(derived, id = "bytes", with = |row| row.any().and_then(|op| op.bytes))]
    #[column(id = "source", with = |row| row.any().map(|op| &op.source))]
    #[column("Self time, first", measured, id = "first_self_time_ps", with = |row| row.first.as_ref().and_then(|op| op.self_time_ps))]
    #[column("Self time, second", measured, id = "second_self_time_ps", with = |row| row.second.as_ref().and_then(|op| op.self_time_ps))]
    #[column("Framework name", id = "op_name", with = |row| row.any().map(|op| &op.framework_name))]
    pub second: Option<HloOp>,
}

impl DifferenceRow {
    /// The larger self time of both.
    fn time_ps(&self) -> Option<Picos> {
        [&self.first, &self.second]
            .into_iter()
            .flatten()
            .filter_map(|op| op.self_time_ps)
            .max()
    }

    /// One of both, the second where there is one.
    pub fn any(&self) -> Option<&HloOp> {
        self.second.as_ref().or(self.first.as_ref())
    }
}

/// Compares a program with one of another run, or of the same.
///
/// # Errors
///
/// A capture holds nothing of its program.
pub fn diff(
    first: (&Context<'_>, ProgramId),
    second: (&Context<'_>, ProgramId),
) -> Result<ProgramDiff> {
    let a = TimedProgram::of(first.0, first.1)?;
    let b = TimedProgram::of(second.0, second.1)?;
    let modules = [&*a.module, &*b.module];
    let matched = ProgramMatch::of(modules[0], modules[1]);
    let contents = [
        ProgramContents::in_capture(first.0, first.1, modules[0]),
        ProgramContents::in_capture(second.0, second.1, modules[1]),
    ];
    let are_ops = [&a, &b].map(|it| it.origin == ProgramOrigin::OpTexts);
    let mut parts = ChangedParts::default();
    let rows = rows(&matched, [&a, &b], &mut parts);
    let unheld = Err("the capture does not hold it".to_owned());
    let peak_of = |side: usize| {
        if are_ops[side] {
            &unheld
        } else {
            &contents[side].peak
        }
    };
    let (peak, peak_change_bytes) = peaks([peak_of(0), peak_of(1)]);
    let mut notes = notes(&a, &b);
    notes.extend(not_compared(&matched, are_ops));
    if are_ops == [false, false] {
        // Sums of a part of a program are unknown in any case.
        let whole = contents.iter().filter(|it| !it.is_cut);
        notes.extend(
            whole
                .flat_map(ProgramContents::doubts)
                .collect::<BTreeSet<_>>(),
        );
    }
    let side = |cx: &Context<'_>| EnvironmentSide::new(environment(cx).into_iter().collect(), []);
    Ok(ProgramDiff {
        environment: environment_changes(side(first.0), side(second.0)),
        first: titled((first.0, &a), (second.0, &b)),
        second: titled((second.0, &b), (first.0, &a)),
        same: matched.pairs.iter().filter(|pair| pair.is_same).count(),
        rows,
        sums: sums(&contents, are_ops, &matched, &parts),
        order: order(
            matched.order,
            modules.map(hlo::HloModule::is_scheduled),
            are_ops,
        ),
        moved: matched.order.map(|order| order.moved),
        peak,
        peak_change_bytes,
        notes,
    })
}

/// What differs, the longest first.
fn rows(
    matched: &ProgramMatch,
    [a, b]: [&TimedProgram; 2],
    parts: &mut ChangedParts,
) -> Vec<DifferenceRow> {
    let modules = [&*a.module, &*b.module];
    let mut rows = Vec::new();
    for &pair in matched.pairs.iter().filter(|pair| !pair.is_same) {
        rows.push(DifferenceRow {
            difference: Difference::Changed,
            what: change(modules, pair, parts),
            first: op(a, pair.first),
            second: op(b, pair.second),
        });
    }
    let only = |difference, program: &TimedProgram, id: InstructionId| {
        let op = op(program, id);
        let shape = program
            .module
            .instruction(id)
            .and_then(|it| it.shape.as_deref());
        let is_first = difference == Difference::OnlyFirst;
        DifferenceRow {
            difference,
            what: shape.map(types),
            first: op.clone().filter(|_| is_first),
            second: op.filter(|_| !is_first),
        }
    };
    rows.extend(divided_fusions(matched, a, b));
    let only_a = matched.only_first.iter();
    rows.extend(only_a.map(|&id| only(Difference::OnlyFirst, a, id)));
    let only_b = matched.only_second.iter();
    rows.extend(only_b.map(|&id| only(Difference::OnlySecond, b, id)));
    rows.sort_by(|x, y| {
        let bytes = |row: &DifferenceRow| row.any().and_then(|op| op.bytes);
        let name = |row: &DifferenceRow| row.any().map(|op| op.name.clone());
        let rest = || (x.difference, name(x)).cmp(&(y.difference, name(y)));
        y.time_ps()
            .cmp(&x.time_ps())
            .then_with(|| is_plumbing(x).cmp(&is_plumbing(y)))
            .then_with(|| bytes(y).cmp(&bytes(x)))
            .then_with(rest)
    });
    rows
}

/// Most names that a difference lists.
const NAMED: usize = 4;

fn op(program: &TimedProgram, id: InstructionId) -> Option<HloOp> {
    program.module.instruction(id).map(|it| program.op(it))
}

/// Fusions that were split or joined.
fn divided_fusions<'a>(
    matched: &'a ProgramMatch,
    first: &'a TimedProgram,
    second: &'a TimedProgram,
) -> impl Iterator<Item = DifferenceRow> + 'a {
    let split = matched.split.iter().map(move |one| {
        let (parts, count, names) = together(second, &one.parts);
        DifferenceRow {
            difference: Difference::Split,
            what: Some(format!("split in {count}: {names}")),
            first: op(first, one.whole),
            second: parts,
        }
    });
    let joined = matched.joined.iter().map(move |one| {
        let (parts, count, names) = together(first, &one.parts);
        DifferenceRow {
            difference: Difference::Joined,
            what: Some(format!("{count} joined: {names}")),
            first: parts,
            second: op(second, one.whole),
        }
    });
    split.chain(joined)
}

/// Several instructions as one: the first of them with the sums of all, and their number and names.
fn together(program: &TimedProgram, ids: &[InstructionId]) -> (Option<HloOp>, String, String) {
    let ops: Vec<HloOp> = ids.iter().filter_map(|&id| op(program, id)).collect();
    let names: Vec<&str> = ops.iter().map(|op| &*op.name).collect();
    let count = counted(ops.len(), "instruction");
    let names = engine::listed_to(&names, NAMED);
    let sum = ops.first().map(|first| HloOp {
        bytes: ops
            .iter()
            .try_fold(0_u64, |sum, op| Some(sum.saturating_add(op.bytes?))),
        self_time_ps: ops.iter().map(|op| op.self_time_ps).sum(),
        // Of the first alone these would say nothing.
        occurrences: None,
        self_of_op_time_percent: None,
        exposed_ps: None,
        ops: ops.iter().flat_map(|op| op.ops.clone()).collect(),
        ..first.clone()
    });
    (sum, count, names)
}

/// The name of a program, with that of its file where only the file tells it from the other one.
fn titled(
    (cx, own): (&Context<'_>, &TimedProgram),
    (other_cx, other): (&Context<'_>, &TimedProgram),
) -> String {
    let [file, other_file] =
        [cx, other_cx].map(|cx| cx.model.sources().first().map(|source| &source.name));
    match file {
        Some(file) if own.title == other.title && Some(file) != other_file => {
            format!("{} ({file})", own.title)
        }
        _ => own.title.clone(),
    }
}

/// What to know of both programs, and where their texts end.
fn notes(first: &TimedProgram, second: &TimedProgram) -> Vec<String> {
    let of = |program: &TimedProgram| {
        let known = number::count(program.module.instructions.len() as f64);
        let cut = program
            .module
            .cut
            .as_ref()
            .map(|place| format!("the text ends {place}; {known} instructions are known."));
        let are_ops = program.origin == ProgramOrigin::OpTexts;
        cut.or_else(|| are_ops.then(|| format!("the capture does not hold it; {OPS_ALONE}")))
    };
    match (of(first), of(second)) {
        (Some(first), Some(second)) if first == second => vec![format!("Both programs: {first}")],
        (first, second) => {
            let first = first.map(|said| format!("First program: {said}"));
            let second = second.map(|said| format!("Second program: {said}"));
            first.into_iter().chain(second).collect()
        }
    }
}

/// Opcodes that do no work: other instructions are shown before them.
fn is_plumbing(row: &DifferenceRow) -> bool {
    let words = [
        "parameter",
        "tuple",
        "get-tuple-element",
        "bitcast",
        "constant",
    ];
    row.any().is_some_and(|op| words.contains(&&*op.opcode))
}

/// The order of execution, in words.
fn order(
    difference: Option<ScheduleDifference>,
    is_scheduled: [bool; 2],
    are_ops: [bool; 2],
) -> String {
    let count = |count: usize| number::count(count as f64);
    match difference {
        Some(ScheduleDifference { compared: 0, .. }) => {
            "Schedule: no instruction that does work is in both programs.".to_owned()
        }
        Some(ScheduleDifference { compared, moved: 0 }) => {
            let both = counted(compared, "instruction");
            let run = if compared == 1 { "runs" } else { "run" };
            format!("Schedule: the {both} that both have {run} in the same order.")
        }
        Some(ScheduleDifference { compared, moved }) => format!(
            "Schedule: {} of {} that both have run at another place.",
            count(moved),
            counted(compared, "instruction")
        ),
        None => {
            let why = match (are_ops, is_scheduled) {
                ([true, true], _) => "the captures hold neither program",
                ([true, false], _) => "the capture does not hold the first program",
                ([false, true], _) => "the capture does not hold the second program",
                (_, [false, false]) => "both programs are not scheduled",
                (_, [false, true]) => "the first program is not scheduled",
                _ => "the second program is not scheduled",
            };
            format!("Schedule: unknown, because {why}.")
        }
    }
}

/// All sums that one of both programs has.
fn sums(
    contents: &[ProgramContents; 2],
    are_ops: [bool; 2],
    matched: &ProgramMatch,
    changed: &ChangedParts,
) -> Vec<ProgramSum> {
    let [first, second] = contents;
    let mut out = ProgramSum::between(&first.parts(), &second.parts());
    if let Some(row) = out.iter_mut().find(|row| row.what == REMATERIALIZED) {
        // Only names and scopes tell, and these are not compared of what both programs have.
        let is_in = |sum: &ContentSum, only: &[InstructionId]| {
            sum.ids.iter().any(|id| only.binary_search(id).is_ok())
        };
        row.differs &= is_in(&first.rematerialized, &matched.only_first)
            || is_in(&second.rematerialized, &matched.only_second);
    }
    // Two texts that both end too early are compared by what they hold.
    if first.is_cut != second.is_cut {
        for row in &mut out {
            row.without_what_is_cut(first.is_cut);
        }
    }
    // Two lists of ops by what ops alone tell.
    let are_unlike = are_ops != [true, true];
    for (_, is_first) in are_ops.into_iter().zip([true, false]).filter(|it| it.0) {
        for row in out.iter_mut().filter(|row| are_unlike || !row.is_of_ops()) {
            row.without_what_is_cut(is_first);
        }
    }
    for (what, count) in [
        ("other layouts", changed.layouts),
        ("other memory spaces", changed.memory_spaces),
        ("other shardings", changed.shardings),
    ] {
        if count > 0 {
            out.push(ProgramSum::changed(what, count));
        }
    }
    out
}

/// Peak memory of both, in words, and its change.
fn peaks(peaks: [&Result<PeakMemory, String>; 2]) -> (String, Option<i64>) {
    match peaks {
        [Ok(first), Ok(second)] if first.is_planned == second.is_planned => {
            let change = i64::try_from(i128::from(second.bytes) - i128::from(first.bytes)).ok();
            let said = if change == Some(0) {
                format!("the same, {}", number::bytes(first.bytes))
            } else {
                let sign = if second.bytes > first.bytes { "+" } else { "-" };
                let from = number::bytes(first.bytes); let to = number::bytes(second.bytes);
                let by = number::bytes(first.bytes.abs_diff(second.bytes));
                format!("{from} → {to} ({sign}{by})")
            };
            (format!("Peak memory: {said}; {}.", first.how()), change)
        }
        [Ok(_), Ok(_)] => (
            "Peak memory: only one program has the compiler's plan, so that both cannot be compared.".to_owned(),
            None,
        ),
        [Err(why), Err(other)] if why == other => {
            (format!("Peak memory: unknown of both programs: {why}."), None)
        }
        [Err(why), Err(other)] => (
            format!("Peak memory: unknown of the first program: {why}; of the second: {other}."),
            None,
        ),
        [Err(why), _] => (format!("Peak memory: unknown of the first program: {why}."), None),
        [_, Err(why)] => (format!("Peak memory: unknown of the second program: {why}."), None),
    }
}

/// What was not compared.
fn not_compared(matched: &ProgramMatch, are_ops: [bool; 2]) -> Vec<String> {
    let mut out = Vec::new();
    if matched.kernels_otherwise > 0 {
        out.push(format!(
            "{} with another serialized kernel, which is not compared: it holds paths and line numbers.",
            counted(matched.kernels_otherwise, "custom call")
        ));
    }
    let others = matched.configured_otherwise - matched.kernels_otherwise;
    if others > 0 {
        out.push(format!(
            "{} of the same content with other tiles or cost estimates, which are not compared.",
            counted(others, "instruction")
        ));
    }
    if !matched.is_complete {
        let how = if are_ops == [false, false] {
            "One program is a text, one serialized"
        } else {
            "One program is known by the lines of its ops alone"
        };
        out.push(format!(
            "{how}: attributes that these spell in different ways are not compared."
        ));
    }
    out
}

impl ProgramDiff {
    /// `123 instructions are the same, 0 differ`
    pub fn statement(&self) -> String {
        let same = self.same;
        let differ = self.rows.len();
        format!(
            "{} {} the same, {} {}",
            number::count(same as f64),
            if same == 1 {
                "instruction is"
            } else {
                "instructions are"
            },
            number::count(differ as f64),
            if differ == 1 { "differs" } else { "differ" }
        )
    }
}

impl ProgramDiff {
    /// The tables of the programs themselves.
    pub fn own_tables(&self) -> Vec<Table> {
        let title = format!("{}: {} and {}", self.statement(), self.first, self.second);
        let table = Table::of("program_diff", title, &self.rows)
            .remaining()
            .note(&self.order)
            .note(&self.peak)
            .notes(self.notes.clone());
        let has_times = self.rows.iter().any(|row| row.time_ps().is_some());
        let table = if has_times {
            table.note(ARE_SUMS)
        } else {
            table
        };
        vec![table.build(), ProgramSum::table(&self.sums)]
    }
}

impl Tabular for ProgramDiff {
    fn tables(&self) -> Vec<Table> {
        environment_table(&self.environment)
            .into_iter()
            .chain(self.own_tables())
            .collect()
    }
}
