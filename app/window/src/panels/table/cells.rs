//! The cells of a row: their texts, bars and tooltips.

use crate::panels::prelude::*;
use analysis::Column;
use analysis::compare::doubt;

use super::cell_text::{CELL_FONT, PAD, is_change, is_text, number_of, signed};
use super::columns::ShownColumns;

pub(super) fn cells_ui(ui: &Ui, table: &Table, row: &[Cell], rect: Rect, columns: &ShownColumns) {
    let theme = theme::current(ui);
    let font = FontId::proportional(CELL_FONT);
    let clip = ui.clip_rect();
    let pointer = ui
        .input(|i| i.pointer.hover_pos())
        .filter(|pos| rect.contains(*pos) && clip.contains(*pos));
    let mut x = rect.left();
    for &(index, width) in &columns.0 {
        let (Some(column), Some(cell)) = (table.columns.get(index), row.get(index)) else {
            continue;
        };
        let area = Rect::from_x_y_ranges(x..=x + width, rect.y_range());
        x += width;
        if !area.intersects(clip) {
            continue;
        }
        let painter = ui.painter();
        if let (Unit::Percent, Some(value)) = (column.unit, number_of(cell))
            && !is_change(column)
        {
            let share = (value / 100.0).clamp(0.0, 1.0) as f32;
            let bar = area.shrink2(vec2(2.0, 3.0));
            let bar = bar.with_max_x(bar.left() + bar.width() * share);
            painter.rect_filled(bar, 2.0, theme.accent.gamma_multiply(0.18));
        }
        let text = signed(column, cell);
        let color = if *cell == Cell::Missing {
            theme.text_weak
        } else {
            theme.text
        };
        write_cell(painter, area, &text, is_text(column), &font, color);
        if pointer.is_some_and(|pos| area.contains(pos)) {
            let response =
                ui.interact(area, ui.scope_id().with(("cell", table.id)), Sense::hover());
            hover_ui(&response, column, cell, &text);
        }
    }
}

/// Tooltip: details of a number, or the whole of a truncated text.
fn hover_ui(response: &Response, column: &Column, cell: &Cell, text: &str) {
    response.clone().on_hover_ui(|ui| {
        ui.set_max_width(520.0);
        ui.label(remark(column.title));
        ui.label(text);
        match cell {
            Cell::Missing => drop(ui.weak("not recorded in this capture")),
            Cell::Text(text) => drop(doubt(text).map(|doubt| ui.weak(doubt))),
            Cell::Int(number) => drop(ui.weak(format!("{} = {number}", column.id))),
            Cell::Float(number) => drop(ui.weak(format!("{} = {number}", column.id))),
        }
        if !is_text(column) {
            ui.weak(times::provenance(column.provenance));
        }
    });
}

pub fn write_cell(
    painter: &Painter,
    area: Rect,
    text: &str,
    is_text: bool,
    font: &FontId,
    color: Color32,
) {
    let in_sight = painter.clip_rect().x_range().intersection(area.x_range());
    let is_cut = || {
        let text = painter.layout_no_wrap(text.to_owned(), font.clone(), color);
        let end = area.right() - PAD;
        end > in_sight.max || end - text.size().x < in_sight.min
    };
    // Digits at the edge of what is in sight would look like a whole number.
    let (area, text) = if !is_text && in_sight != area.x_range() && is_cut() {
        (Rect::from_x_y_ranges(in_sight, area.y_range()), "…")
    } else {
        (area, text)
    };
    let room = area.width() - 2.0 * PAD;
    let y = area.center().y;
    if is_text {
        elided_name(painter, pos2(area.left() + PAD, y), text, room, font, color);
    } else {
        elided(
            painter,
            pos2(area.right() - PAD, y),
            Align2::RIGHT_CENTER,
            text,
            room,
            font,
            color,
        );
    }
}
