//! What differs between the programs of two runs.
//!
//! Names of instructions are numbered anew in each compilation, so an instruction is the same if its opcode, shape,
//! framework name and the opcodes and shapes of its operands are: of several alike, those with the same name, then in
//! the order of the program. Of what is left, instructions with the same opcode and framework name are changed ones.

use std::collections::{BTreeMap, VecDeque};

use engine::{AnalysisError, Context, Table, Tabular};
use facts::sum_over::ARE_SUMS;
use hlo::Instruction;
use trace_model::{Picos, ProgramId};

use super::{HloOp, TimedProgram};

/// How an instruction differs.
#[engine::titled]
pub enum Difference {
    /// Other shapes or operands.
    Changed = "changed",
    /// Only the first program has it.
    OnlyFirst = "only first",
    /// Only the second program has it.
    OnlySecond = "only second",
}

/// What differs between two programs.
#[engine::reported]
pub struct ProgramDiff {
    /// The first program.
    pub first: String,
    /// The second program.
    pub second: String,
    /// Instructions that both have, perhaps under other names.
    pub same: usize,
    /// The others: those with most self time first.
    pub rows: Vec<DifferenceRow>,
    /// What to know when reading it.
    pub notes: Vec<String>,
}

/// An instruction that differs.
#[engine::row(recorded)]
pub struct DifferenceRow {
    /// How.
    #[column("Difference")]
    pub difference: Difference,
    /// In the first program.
    #[column("First", id = "name", with = |row| row.first.as_ref().map(|op| &op.name))]
    pub first: Option<HloOp>,
    /// In the second program.
    #[column("Second", with = |row| row.second.as_ref().map(|op| &op.name))]
    #[column("Opcode", id = "opcode", with = |row| row.any().map(|op| &op.opcode))]
    #[column("Shape, first", id = "first_shape", with = |row| row.first.as_ref().map(|op| &op.shape))]
    #[column("Shape, second", id = "second_shape", with = |row| row.second.as_ref().map(|op| &op.shape))]
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
) -> Result<ProgramDiff, AnalysisError> {
    let (a, b) = (
        TimedProgram::of(first.0, first.1)?,
        TimedProgram::of(second.0, second.1)?,
    );
    let mut open = [all(&a), all(&b)];
    let mut same = 0;
    for key in [exact as fn(&TimedProgram, &Instruction) -> String, alike] {
        let found = pairs(&mut open, [&a, &b], key);
        same += found.len();
    }
    let changed = pairs(&mut open, [&a, &b], related);
    let op = |program: &TimedProgram, at: usize| {
        program.module.instructions.get(at).map(|it| program.op(it))
    };
    let row = |difference, first, second| DifferenceRow {
        difference,
        first,
        second,
    };
    let mut rows: Vec<DifferenceRow> = changed
        .into_iter()
        .map(|(x, y)| row(Difference::Changed, op(&a, x), op(&b, y)))
        .collect();
    let [only_a, only_b] = open;
    rows.extend(
        only_a
            .into_iter()
            .map(|x| row(Difference::OnlyFirst, op(&a, x), None)),
    );
    rows.extend(
        only_b
            .into_iter()
            .map(|y| row(Difference::OnlySecond, None, op(&b, y))),
    );
    rows.sort_by(|x, y| {
        let rest = || {
            (x.difference, x.any().map(|op| &op.name))
                .cmp(&(y.difference, y.any().map(|op| &op.name)))
        };
        y.time_ps().cmp(&x.time_ps()).then_with(rest)
    });
    let notes = [a.notes, b.notes].concat();
    Ok(ProgramDiff {
        first: a.title,
        second: b.title,
        same,
        rows,
        notes,
    })
}

fn all(program: &TimedProgram) -> Vec<usize> {
    (0..program.module.instructions.len()).collect()
}

/// Pairs instructions with equal keys in their order, and removes them from both lists.
fn pairs(
    open: &mut [Vec<usize>; 2],
    programs: [&TimedProgram; 2],
    key: fn(&TimedProgram, &Instruction) -> String,
) -> Vec<(usize, usize)> {
    let [a, b] = open;
    let of = |program: &TimedProgram, at: usize| {
        program
            .module
            .instructions
            .get(at)
            .map(|it| key(program, it))
    };
    let mut waiting: BTreeMap<String, VecDeque<usize>> = BTreeMap::new();
    for &at in b.iter() {
        if let Some(key) = of(programs[1], at) {
            waiting.entry(key).or_default().push_back(at);
        }
    }
    let mut found = Vec::new();
    a.retain(|&at| {
        let other = of(programs[0], at).and_then(|key| waiting.get_mut(&key)?.pop_front());
        found.extend(other.map(|other| (at, other)));
        other.is_none()
    });
    let mut left: Vec<usize> = waiting.into_values().flatten().collect();
    left.sort_unstable();
    *b = left;
    found
}

fn exact(program: &TimedProgram, instruction: &Instruction) -> String {
    format!("{}|{}", instruction.name, alike(program, instruction))
}

fn alike(program: &TimedProgram, instruction: &Instruction) -> String {
    let shape = |it: &Instruction| {
        it.shape
            .as_ref()
            .map_or_else(String::new, ToString::to_string)
    };
    let operands: Vec<String> = program
        .module
        .operands(instruction)
        .map(|it| format!("{} {}", it.opcode, shape(it)))
        .collect();
    format!(
        "{}|{}|{}",
        related(program, instruction),
        shape(instruction),
        operands.join(",")
    )
}

fn related(_program: &TimedProgram, instruction: &Instruction) -> String {
    format!("{}|{}", instruction.opcode, instruction.op_name)
}

impl Tabular for ProgramDiff {
    fn tables(&self) -> Vec<Table> {
        let title = format!(
            "{} and {}: {} instructions are the same",
            self.first, self.second, self.same
        );
        let table = Table::of("program_diff", title, &self.rows)
            .remaining()
            .note(ARE_SUMS)
            .notes(self.notes.clone());
        vec![table.build()]
    }
}
