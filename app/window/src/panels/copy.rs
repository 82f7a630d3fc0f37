//! Copies displayed content as text.

use super::prelude::*;

use crate::TextToSave;
use render::csv::{csv, exact};

/// A context menu that copies a text.
pub fn text_menu(response: &Response, text: impl FnOnce() -> String) {
    response.context_menu(|ui| {
        if ui.button("Copy").clicked() {
            ui.ctx().copy_text(text());
            ui.close();
        }
    });
}

/// A context menu that copies a table row or one of its values, unrounded. The row is looked up only when the menu
/// opens.
pub fn row_menu<'a>(response: &Response, row: impl FnOnce() -> Option<(&'a Table, &'a [Cell])>) {
    response.context_menu(|ui| {
        if let Some((table, row)) = row() {
            row_ui(ui, table, row);
        }
    });
}

/// A context menu for a row that is not part of a displayed table, which is made only when the menu opens.
pub fn made_row_menu(response: &Response, table: impl FnOnce() -> Table) {
    response.context_menu(|ui| {
        let table = table();
        if let Some(row) = table.rows.first() {
            row_ui(ui, &table, row);
        }
    });
}

fn row_ui(ui: &mut Ui, table: &Table, row: &[Cell]) {
    if ui.button("Copy row").clicked() {
        ui.ctx().copy_text(joined(row.iter().map(exact), "\t"));
        ui.close();
    }
    ui.separator();
    ScrollArea::vertical().max_height(320.0).show(ui, |ui| {
        for (column, cell) in table
            .columns
            .iter()
            .zip(row)
            .filter(|(_, cell)| **cell != Cell::Missing)
        {
            let text: String = exact(cell).chars().take(60).collect();
            if ui.button(format!("Copy {}: {text}", column.id)).clicked() {
                ui.ctx().copy_text(exact(cell));
                ui.close();
            }
        }
    });
}

/// Right-aligned buttons that save or copy all rows of a table as CSV; the table is made only on a click.
pub fn csv_ui(ui: &mut Ui, name: &str, table: impl Fn() -> Option<Table>, out: &mut AppCommands) {
    let text = || table().map(|table| csv(&table, 0, render::CsvCells::Exact));
    if ui
        .small_button("Save CSV…")
        .on_hover_text("All rows, exact values")
        .clicked()
        && let Some(text) = text()
    {
        out.push(AppCommand::Save(TextToSave {
            name: format!("{name}.csv"),
            text,
        }));
    }
    if ui
        .small_button("Copy CSV")
        .on_hover_text("All rows, exact values")
        .clicked()
        && let Some(text) = text()
    {
        ui.ctx().copy_text(text);
    }
}
