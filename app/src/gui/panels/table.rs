//! Any table of any report, virtual: only rows in sight are laid out.

use analysis::{Cell, Column, Table, Unit};
use egui::{Align, Layout, RichText, ScrollArea, Sense, Ui, vec2};

use crate::gui::theme::Theme;

/// Height of a row.
const ROW: f32 = 20.0;

/// Shows `table`; returns the row that was clicked.
pub fn table_ui(ui: &mut Ui, table: &Table, columns: &[usize], max_rows: usize) -> Option<usize> {
    let theme = Theme::current(ui);
    let width = ui.available_width();
    let widths = column_widths(table, columns, width);
    let mut clicked = None;
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 0.0;
        for (&index, &width) in columns.iter().zip(&widths) {
            let Some(column) = table.columns.get(index) else { continue };
            let text = RichText::new(column.heading()).small().color(theme.text_weak);
            cell_ui(ui, width, column, |ui| ui.add(egui::Label::new(text).truncate()));
        }
    });
    ScrollArea::vertical().id_salt(table.id).max_height(ROW * max_rows as f32).auto_shrink([false, true]).show_rows(
        ui,
        ROW,
        table.rows.len(),
        |ui, range| {
            ui.spacing_mut().item_spacing = vec2(0.0, 0.0);
            for number in range {
                let Some(row) = table.rows.get(number) else { continue };
                let (rect, response) = ui.allocate_exact_size(vec2(width, ROW), Sense::click());
                if response.hovered() {
                    ui.painter().rect_filled(rect, 2.0, theme.raised);
                }
                let name = row.first().map(|cell| shown(cell, Unit::None)).unwrap_or_default();
                response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Row {name}")));
                if response.on_hover_cursor(egui::CursorIcon::PointingHand).clicked() {
                    clicked = Some(number);
                }
                let mut ui =
                    ui.new_child(egui::UiBuilder::new().max_rect(rect).layout(Layout::left_to_right(Align::Center)));
                ui.spacing_mut().item_spacing.x = 0.0;
                for (&index, &width) in columns.iter().zip(&widths) {
                    if let (Some(column), Some(cell)) = (table.columns.get(index), row.get(index)) {
                        let text = RichText::new(shown(cell, column.unit)).size(12.0);
                        cell_ui(&mut ui, width, column, |ui| {
                            ui.add(egui::Label::new(text).truncate().selectable(false))
                        });
                    }
                }
            }
        },
    );
    clicked
}

fn cell_ui(ui: &mut Ui, width: f32, column: &Column, content: impl FnOnce(&mut Ui) -> egui::Response) {
    let layout = if column.unit == Unit::None {
        Layout::left_to_right(Align::Center)
    } else {
        Layout::right_to_left(Align::Center)
    };
    ui.allocate_ui_with_layout(vec2(width, ROW), layout, |ui| {
        ui.set_width(width);
        ui.spacing_mut().item_spacing.x = 0.0;
        ui.add_space(3.0);
        content(ui);
    });
}

/// Numbers get what they need, texts share the rest.
fn column_widths(table: &Table, columns: &[usize], width: f32) -> Vec<f32> {
    const NUMBER: f32 = 78.0;
    let is_text = |&&index: &&usize| table.columns.get(index).is_some_and(|column| column.unit == Unit::None);
    let texts = columns.iter().filter(is_text).count();
    let numbers = columns.len() - texts;
    let text_width = ((width - NUMBER * numbers as f32) / texts.max(1) as f32).max(60.0);
    columns.iter().map(|index| if is_text(&index) { text_width } else { NUMBER }).collect()
}

/// A cell for people.
pub fn shown(cell: &Cell, unit: Unit) -> String {
    match cell {
        Cell::Missing => "–".to_owned(),
        Cell::Text(text) => text.clone(),
        Cell::Int(value) => number(*value as f64, unit),
        Cell::Float(value) => number(*value, unit),
    }
}

/// A number with its unit, four digits.
pub fn number(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Picoseconds => trace_model::Picos::from_ps(value as i64).to_string(),
        Unit::Percent if value > 0.0 && value < 0.000_05 => "< 0.0001 %".to_owned(),
        Unit::Percent if value != 0.0 && value.abs() < 0.01 => format!("{value:.4} %"),
        Unit::Percent if value.abs() < 1.0 => format!("{value:.2} %"),
        Unit::Percent => format!("{value:.1} %"),
        Unit::Count => crate::gui::timeline::tree::group_digits(value.max(0.0) as u64),
        Unit::Bytes => scaled(value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"]),
        Unit::Flop => scaled(value, 1000.0, &["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"]),
        Unit::FlopPerSecond => {
            scaled(value, 1000.0, &["FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"])
        }
        Unit::BytesPerSecond => scaled(value, 1000.0, &["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]),
        Unit::FlopPerByte => format!("{value:.1} FLOP/B"),
        Unit::None => format!("{value}"),
    }
}

fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value.abs() >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let decimals = match value.abs() {
        _ if unit == 0 => 0,
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$} {}", units.get(unit).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_carry_their_unit() {
        assert_eq!(number(78.26e12, Unit::FlopPerSecond), "78.26 TFLOP/s");
        assert_eq!(number(305.7e9, Unit::BytesPerSecond), "305.7 GB/s");
        assert_eq!(number(1_536.0, Unit::Bytes), "1.500 KiB");
        assert_eq!(number(38.61, Unit::Percent), "38.6 %");
        assert_eq!(number(0.0061, Unit::Percent), "0.0061 %");
        assert_eq!(number(0.0, Unit::Percent), "0.00 %");
        assert_eq!(number(3_430_000.0, Unit::Picoseconds), "3.430 µs");
        assert_eq!(shown(&Cell::Missing, Unit::Percent), "–");
    }
}
