//! The statement and the tables of a comparison.

use super::prelude::*;
use analysis::compare::{Comparison, WHY_ROWS};

use super::table::{RowReactions, SortedTable};
use super::tables::one_table_ui;
use super::widgets::sentence_ui;
use analysis::sentence;
use view::charts::Chart as _;
use view::charts::waterfall::{self, Waterfall};
use view::compare::TraceCorrespondence;

/// The table shown first: why the step changed.
const FIRST: &str = "why";

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
        out: &mut AppCommands,
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
        brief_ui(ui, &compared.comparison);
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
            .selected_text(RichText::new(&shown).strong())
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
        let names = |cell: &Cell| matches!(cell, Cell::Text(text) if selected.is_some_and(|name| is_named(text, name)));
        let is_marked = |row: &[Cell]| row.first().is_some_and(names);
        let sorted = self.sorted.entry(table.id).or_default();
        if table.id == FIRST {
            waterfall_ui(ui, &compared.comparison);
        }
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

/// What to read first: whether the work is the same, the conclusion, the step, where to look, what to record.
fn brief_ui(ui: &mut Ui, comparison: &Comparison) {
    let brief = &comparison.brief;
    if comparison.prediction.is_some() || !comparison.is_comparable {
        sentence_ui(ui, &sentence(&comparison.statement), RichText::strong);
        return;
    }
    let look = brief.look_first.as_ref();
    let look = look.map(|what| format!("look first at {what}"));
    let said = [
        (Some(&brief.work), true),
        (brief.differ.as_ref(), false),
        (brief.conclusion.as_ref(), true),
        (brief.step.as_ref(), brief.conclusion.is_none()),
        (brief.of_loop.as_ref(), false),
        (look.as_ref(), false),
        (brief.record_next.as_ref(), false),
    ];
    for (text, is_strong) in said {
        let paint = if is_strong {
            RichText::strong
        } else {
            |text| text
        };
        if let Some(text) = text {
            sentence_ui(ui, &sentence(text), paint);
        }
    }
}

/// The rows of the first table as bars that add up.
fn waterfall_ui(ui: &mut Ui, comparison: &Comparison) {
    let Some(attribution) = &comparison.attribution else {
        return;
    };
    let rows = attribution.why(WHY_ROWS);
    let chart = Waterfall { rows: &rows };
    let size = vec2(ui.available_width() - 8.0, chart.height());
    let (response, row) = chart_ui(
        ui,
        (size, Sense::hover()),
        "Why the step changed",
        |frame| chart.draw(frame),
    );
    if let Some(row) = row.and_then(|row| rows.get(row)) {
        response.on_hover_text(waterfall::title_of(row));
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
        FIRST => {
            let rows = comparison
                .attribution
                .as_ref()
                .map(|one| one.why(WHY_ROWS))
                .unwrap_or_default();
            comparison
                .ops
                .iter()
                .enumerate()
                .filter(|(_, op)| rows.get(row).is_some_and(|row| row.has(op)))
                .map(|(index, _)| index)
                .collect()
        }
        _ => Vec::new(),
    }
}
