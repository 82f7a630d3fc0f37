//! The statement and the tables of a comparison.

use std::collections::BTreeMap;

use analysis::compare::Comparison;
use analysis::{Cell, Table};
use egui::{ComboBox, RichText, Role, Ui};

use super::context::computing_ui;
use super::table::{RowReactions, SortedTable};
use super::tables::one_table_ui;
use super::widgets::ResponseExt as _;
use crate::command::{AppCommand, ComparisonCommand};
use crate::jobs::JobAnswer;
use view::compare::{TraceCorrespondence, family_rows};
use view::words::capitalised;

/// The table shown first: where the time changed.
const FIRST: &str = "attribution";

/// Which table is open, and how tables are sorted.
#[derive(Default)]
pub struct ComparisonTables {
    open: Option<&'static str>,
    sorted: BTreeMap<&'static str, SortedTable>,
}

impl ComparisonTables {
    /// Forgets the state of all tables, because they are replaced.
    pub fn forget(&mut self) {
        self.sorted.values_mut().for_each(SortedTable::forget);
    }

    /// Draws the tab; rows about the op `selected` are marked.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        memo: &JobAnswer<TraceCorrespondence>,
        selected: Option<&str>,
        out: &mut Vec<AppCommand>,
    ) {
        let compared = match memo {
            JobAnswer::Ready(compared) => compared,
            JobAnswer::Failed { error, .. } => {
                ui.strong("The traces cannot be compared");
                ui.weak(capitalised(error));
                return;
            }
            _ => return computing_ui(ui),
        };
        ui.strong(capitalised(&compared.comparison.statement));
        ui.add_space(4.0);
        let has = |id: &str| compared.tables.iter().any(|table| table.id == id);
        let start = if has(FIRST) {
            FIRST
        } else {
            compared.tables.first().map_or(FIRST, |table| table.id)
        };
        let open = self.open.filter(|id| has(id)).unwrap_or(start);
        let title = |table: &Table| format!("{} ({})", table.title, table.rows.len());
        let shown = compared
            .tables
            .iter()
            .find(|table| table.id == open)
            .map(title)
            .unwrap_or_default();
        let list = ComboBox::from_id_salt("tables of the comparison")
            .selected_text(RichText::new(&shown).strong());
        let list = list
            .truncate()
            .width(ui.available_width() - 8.0)
            .height(420.0)
            .show_ui(ui, |ui| {
                for table in &compared.tables {
                    if ui
                        .selectable_label(table.id == open, title(table))
                        .clicked()
                    {
                        self.open = Some(table.id);
                    }
                }
            });
        list.response
            .labeled(Role::ComboBox, format_args!("Table: {shown}"));
        let Some(table) = compared.tables.iter().find(|table| table.id == open) else {
            return;
        };
        let names = |cell: &Cell| matches!(cell, Cell::Text(text) if selected.is_some_and(|own| is_named(text, own)));
        let is_marked = |row: &[Cell]| row.first().is_some_and(names);
        let sorted = self.sorted.entry(table.id).or_default();
        let ops = |row: usize| ops_of(&compared.comparison, table, row);
        let about = RowReactions {
            selected: None,
            is_marked: &is_marked,
            leads: &|row| !ops(row).is_empty(),
        };
        if let Some(row) = one_table_ui(ui, table, sorted, about, out) {
            let ops = ops(row);
            if !ops.is_empty() {
                out.push(ComparisonCommand::ShowOps(ops).into());
            }
        }
    }
}

/// Whether a cell names an op, alone or as `before → after`.
fn is_named(text: &str, op: &str) -> bool {
    text == op || text.split(" → ").any(|name| name == op)
}

/// The rows of the comparison that a table row is about.
fn ops_of(comparison: &Comparison, table: &Table, row: usize) -> Vec<usize> {
    match table.id {
        "ops" => vec![row],
        // The first row is the whole step.
        "attribution" => row
            .checked_sub(1)
            .map(|row| family_rows(comparison, row))
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}
