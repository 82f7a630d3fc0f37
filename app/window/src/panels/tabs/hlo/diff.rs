//! What differs between the programs of two open runs.

use crate::panels::tabs::prelude::*;
use analysis::reports::hlo::{HloOp, ProgramDiff, chosen, diff};
use analysis::{AnalysisError, Tabular as _};

use crate::panels::table::{RowReactions, SortedTable};
use crate::panels::tables::one_table_ui;

/// Compares a program with that of its name in the other run; `side` is that of the first session.
pub fn diff_of(
    (ours, other): (&Session, &Session),
    scope: Scope,
    program: ProgramId,
    side: TraceSide,
) -> Result<(ProgramDiff, Table), String> {
    let message = |error: AnalysisError| error.to_string();
    let (ours, other) = (ours.context(scope), other.context(Scope::WholeTrace));
    let name = ours.model.str(ours.model.program(program).name).to_owned();
    let title = ours.model.program_title(program);
    // A program compiled anew has another number, but mostly the same name.
    let theirs = chosen(&other, Some(&title))
        .or_else(|_| chosen(&other, Some(&name)))
        .map_err(message)?;
    let theirs = *theirs
        .first()
        .ok_or_else(|| format!("the other run has no program {name}"))?;
    let (first, second) = ((&ours, program), (&other, theirs));
    let compared = if side == TraceSide::A {
        diff(first, second)
    } else {
        diff(second, first)
    }
    .map_err(message)?;
    let mut table = compared
        .tables()
        .into_iter()
        .next()
        .ok_or("nothing differs")?;
    for column in &mut table.columns {
        column.title = match column.id {
            "name" => "In A",
            "second" => "In B",
            "first_self_time_ps" => "Self time, A",
            "second_self_time_ps" => "Self time, B",
            _ => column.title,
        };
    }
    for cell in table.rows.iter_mut().filter_map(|row| row.first_mut()) {
        match cell {
            Cell::Text(text) if *text == "only first" => *cell = Cell::text("only A"),
            Cell::Text(text) if *text == "only second" => *cell = Cell::text("only B"),
            _ => {}
        }
    }
    Ok((compared, table))
}

/// The differences; returns the instruction of this side in the row that was clicked.
pub fn diff_ui<'a>(
    ui: &mut Ui,
    (compared, table): (&'a ProgramDiff, &Table),
    side: TraceSide,
    sorted: &mut SortedTable,
    out: &mut AppCommands,
) -> Option<&'a HloOp> {
    ui.horizontal_wrapped(|ui| {
        ui.strong(format!("A: {}  ·  B: {}", compared.first, compared.second));
        ui.weak(compared.statement());
    });
    if compared.rows.is_empty() {
        return None;
    }
    let own_op = |row: usize| {
        let row = compared.rows.get(row)?;
        if side == TraceSide::A {
            row.first.as_ref()
        } else {
            row.second.as_ref()
        }
    };
    one_table_ui(
        ui,
        table,
        sorted,
        RowReactions::clicks(&|row| own_op(row).is_some()),
        out,
    )
    .and_then(own_op)
}
