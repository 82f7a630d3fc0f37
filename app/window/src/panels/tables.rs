//! The tables of the reports of a tab: one at a time, sortable, filterable, exportable; a click on a row goes to the
//! timeline.

use std::borrow::Cow;

use super::prelude::*;

use super::context::reason_ui;
use super::controls::with_controls;
use super::copy::csv_ui;
use super::table::{ROW, RowReactions, SortedTable, table_ui};
use crate::reports::title_of;
use render::table::shortened;

/// Reports whose first table is a summary, with the table to open instead.
const FIRST: [(&str, usize); 2] = [("ops", 1), ("steps", 1)];

/// Which table of each tab is open, and how tables are sorted.
#[derive(Default)]
pub struct TableBrowser {
    /// By tab: the report and the table that the user chose.
    open: BTreeMap<&'static str, (&'static str, usize)>,
    /// By report and table.
    sorted: BTreeMap<(&'static str, usize), SortedTable>,
    /// The tab that must scroll to its tables.
    pub wanted: Option<&'static str>,
}

impl TableBrowser {
    /// Forgets prepared tables, because new reports replace them; the user's choices stay.
    pub fn forget_made(&mut self) {
        self.sorted.values_mut().for_each(SortedTable::forget);
    }

    /// Opens the table of a report that comes first; returns its number.
    pub fn show(&mut self, tab: &'static str, report: &'static str) -> usize {
        let number = table_of(report);
        self.open.insert(tab, (report, number));
        number
    }

    /// Opens a table with only the rows that hold `text`.
    pub fn find(&mut self, tab: &'static str, report: &'static str, text: &str) {
        let number = self.show(tab, report);
        text.clone_into(&mut self.sorted.entry((report, number)).or_default().filter);
    }
}

/// What a tab shows first: the first report that can have an answer, with its detailed table.
fn first_of(
    reports: &[&'static str],
    may_answer: impl Fn(&str) -> bool,
) -> Option<(&'static str, usize)> {
    let first = reports
        .iter()
        .find(|id| may_answer(id))
        .or(reports.first())?;
    Some((first, table_of(first)))
}

/// The table of a report that is opened first.
fn table_of(report: &str) -> usize {
    FIRST
        .iter()
        .find(|(id, _)| *id == report)
        .map_or(0, |&(_, number)| number)
}

/// Height of a table that shares a tab with other content.
const AMONG_OTHERS: f32 = 420.0;

/// The tables of a tab, given by its id and those of its reports.
pub fn tables_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    (tab, reports): (&'static str, &[&'static str]),
    browser: &mut TableBrowser,
    out: &mut AppCommands,
    view: &mut ViewCommands,
) {
    let Some(first) = first_of(reports, |id| context.reports.by_id(id).is_ok()) else {
        return;
    };
    let (id, number) = browser.open.get(tab).copied().unwrap_or(first);
    let mut chosen = (id, number);
    chooser_ui(ui, context, (tab, reports), &mut chosen);
    if chosen != (id, number) {
        browser.open.insert(tab, chosen);
    }
    let (id, number) = chosen;
    let answer = match context.reports.by_id(id) {
        Ok(Some(answer)) => answer,
        Ok(None) => return computing_ui(ui),
        Err(reason) => return nothing_ui(ui, id, reason),
    };
    let Some(table) = answer.tables.get(number).or(answer.tables.first()) else {
        return nothing_ui(ui, id, "This report has no tables for this trace.");
    };
    let sorted = browser.sorted.entry((id, number)).or_default();
    let selected_name = context.selected().map(SliceRef::name);
    let is_marked = |row: &[Cell]| {
        selected_name.is_some_and(|selected_name| {
            row.iter()
                .take(3)
                .any(|cell| matches!(cell, Cell::Text(text) if text == selected_name))
        })
    };
    let selected = context.state.place.selection;
    trace_table_ui(
        ui,
        context,
        table,
        sorted,
        (selected, &is_marked),
        out,
        view,
    );
}

/// Whether a row is about the selected slice.
type IsMarked<'a> = &'a dyn Fn(&[Cell]) -> bool;

/// A table whose rows lead to slices, times and steps; some are about the selected slice.
pub fn trace_table_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    table: &Table,
    sorted: &mut SortedTable,
    (selected, is_marked): (Option<SliceId>, IsMarked<'_>),
    out: &mut AppCommands,
    view: &mut ViewCommands,
) {
    let steps = context.whole.ready::<Steps>();
    let target = |row: usize| {
        let cells = table.rows.get(row)?;
        RowTarget::of_row(context.trace, steps, table, cells)
    };
    let about = RowReactions {
        selected,
        is_marked,
        leads: &|row| target(row).is_some(),
    };
    if let Some(row) = one_table_ui(ui, table, sorted, about, out)
        && let Some(target) = target(row)
    {
        view.extend(target.commands(context.trace));
    }
}

/// The part of a table's room that its notes take at most.
const MOST_NOTES: f32 = 0.15;

/// A table with its filter, notes and export buttons; returns the clicked row.
pub fn one_table_ui(
    ui: &mut Ui,
    table: &Table,
    sorted: &mut SortedTable,
    about: RowReactions<'_>,
    out: &mut AppCommands,
) -> Option<usize> {
    head_ui(ui, table, sorted, out);
    if table.rows.is_empty() {
        ui.weak("No rows.");
    }
    let notes: Vec<Cow<'_, str>> = table
        .notes
        .iter()
        .map(String::as_str)
        .chain(table.mark())
        .map(with_controls)
        .collect();
    // Inside a scroll area the available height is unlimited.
    let room = ui.available_height();
    let room = if room.is_finite() { room } else { AMONG_OTHERS };
    // Below a short table there is room for all of them.
    let spare = room - (table.rows.len() as f32 + 3.0) * ROW;
    let notes_height = height_of(ui, &notes).min(spare.max(MOST_NOTES * room));
    let height = (room - notes_height).max(120.0);
    let clicked = table_ui(ui, table, sorted, height, about);
    notes_ui(ui, table.id, &notes, notes_height);
    clicked
}

/// The height of notes in whole sentences, one below the other.
fn height_of(ui: &Ui, notes: &[Cow<'_, str>]) -> f32 {
    let (gap, width) = (ui.spacing().item_spacing.y, ui.available_width() - 12.0);
    let height = |note: &Cow<'_, str>| {
        let text = ui
            .painter()
            .layout(note.to_string(), small_font(), Color32::PLACEHOLDER, width);
        text.size().y + gap
    };
    notes.iter().map(height).sum::<f32>() + 2.0 * gap
}

/// Notes in whole sentences, which scroll where they have no room.
fn notes_ui(ui: &mut Ui, id: &'static str, notes: &[Cow<'_, str>], height: f32) {
    if notes.is_empty() {
        return;
    }
    let list = ScrollArea::vertical()
        .id_salt(("notes", id))
        .auto_shrink([false, true])
        .max_height(height);
    list.show(ui, |ui| {
        for note in notes {
            remark_ui(ui, note);
        }
    });
}

/// Longer titles of tables are truncated.
const TITLE_CHARS: usize = 60;

/// The tables of all reports of a tab, in one list that drops down.
fn chooser_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    (tab, reports): (&'static str, &[&'static str]),
    chosen: &mut (&'static str, usize),
) {
    let (id, number) = *chosen;
    let title = title_of_table(context, id, number);
    let count: usize = reports
        .iter()
        .map(|id| titles_of(context, id).len().max(1))
        .sum();
    if count < 2 {
        ui.strong(&title);
        return;
    }
    let shown = RichText::new(shortened(&title, TITLE_CHARS)).strong();
    let list = ComboBox::from_id_salt(("tables", tab))
        .selected_text(shown)
        .truncate()
        .height(420.0)
        .width(ui.available_width() - 8.0)
        .show_ui(ui, |ui| {
            for &other in reports {
                let titles = titles_of(context, other);
                if titles.is_empty() {
                    let (hint, open) = match context.reports.by_id(other) {
                        Err(reason) => (reason, other == id),
                        Ok(_) => ("computing", other == id),
                    };
                    let text = RichText::new(title_of(other)).weak();
                    if ui
                        .selectable_label(open, text)
                        .on_hover_text(hint)
                        .clicked()
                    {
                        *chosen = (other, table_of(other));
                    }
                    continue;
                }
                if reports.len() > 1 && titles.len() > 1 {
                    ui.label(remark(title_of(other)));
                }
                for (index, title) in titles.into_iter().enumerate() {
                    let text = shortened(title, TITLE_CHARS);
                    if ui
                        .selectable_label((other, index) == (id, number), text)
                        .on_hover_text(title)
                        .clicked()
                    {
                        *chosen = (other, index);
                    }
                }
            }
        });
    list.response
        .labeled(Role::ComboBox, format_args!("Table: {title}"));
    list.response
        .on_hover_text("Choose another table of this report");
}

/// The titles of the tables of a report; none while there is no report.
fn titles_of<'a>(context: PanelContext<'a>, id: &'static str) -> Vec<&'a str> {
    let Ok(Some(answer)) = context.reports.by_id(id) else {
        return Vec::new();
    };
    let is_alone = answer.tables.len() == 1;
    answer
        .tables
        .iter()
        .map(|table| {
            if is_alone {
                title_of(id)
            } else {
                table.title.as_str()
            }
        })
        .collect()
}

fn title_of_table(context: PanelContext<'_>, id: &'static str, number: usize) -> String {
    let titles = titles_of(context, id);
    (*titles
        .get(number)
        .or(titles.first())
        .unwrap_or(&title_of(id)))
    .to_owned()
}

/// Explains why a report has no answer.
fn nothing_ui(ui: &mut Ui, id: &str, reason: &str) {
    ui.add_space(10.0);
    ui.strong(format!("{}: no data", title_of(id)));
    reason_ui(ui, reason);
}

/// Width of what stands beside the field that filters rows.
const BESIDE_FILTER: f32 = 250.0;

fn head_ui(ui: &mut Ui, table: &Table, sorted: &mut SortedTable, out: &mut AppCommands) {
    ui.horizontal(|ui| {
        let width = (ui.available_width() - BESIDE_FILTER).clamp(80.0, 190.0);
        text_field(ui, &mut sorted.filter, "Filter rows", "Filter rows", width)
            .on_hover_text("A text, or a regular expression: /fusion\\.[0-9]+/");
        let (shown, all) = (sorted.shown().unwrap_or(table.rows.len()), table.rows.len());
        let count = if shown == all {
            counted(all as u64, "row")
        } else {
            format!(
                "{} of {}",
                group_digits(shown as u64),
                group_digits(all as u64)
            )
        };
        ui.label(remark(count));
        at_right(ui, |ui| {
            csv_ui(ui, table.id, || Some(table.clone()), out);
        });
    });
    columns_ui(ui, sorted);
}

/// Shows the columns that have no room, or leaves them out again.
fn columns_ui(ui: &mut Ui, sorted: &mut SortedTable) {
    let left_out = sorted.left_out();
    if left_out == 0 {
        return;
    }
    let text = if sorted.all_columns {
        "Only the columns that have room".to_owned()
    } else {
        counted(left_out as u64, "more column")
    };
    if ui.link(remark(text)).clicked() {
        sorted.all_columns = !sorted.all_columns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tab_opens_on_its_first_applicable_report() {
        let reports = ["steps", "ops", "balance"];
        assert_eq!(
            first_of(&reports, |_| true),
            Some(("steps", 1)),
            "also while it is computed"
        );
        assert_eq!(first_of(&reports, |id| id != "steps"), Some(("ops", 1)));
        assert_eq!(
            first_of(&reports, |_| false),
            Some(("steps", 1)),
            "which says why"
        );
        assert_eq!(first_of(&[], |_| true), None);
    }
}
