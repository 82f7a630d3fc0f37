//! What cells say, and the room that they take.

use crate::prelude::*;
use analysis::{CellKind, Column};

use crate::panels::number::shown;

/// Size of the texts of cells.
pub(super) const CELL_FONT: f32 = 12.0;
/// Space beside the text of a cell.
pub const PAD: f32 = 4.0;

pub(super) fn number_of(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Int(number) => Some(*number as f64),
        Cell::Float(number) => Some(*number),
        Cell::Text(_) | Cell::Missing => None,
    }
}

pub(super) fn is_text(column: &Column) -> bool {
    column.unit == Unit::None && !matches!(column.kind, CellKind::Int | CellKind::Float)
}

pub(super) fn is_change(column: &Column) -> bool {
    column.id.starts_with("change")
}

/// The text of a cell; changes get a sign, also positive ones.
pub(super) fn signed(column: &Column, cell: &Cell) -> String {
    let text = shown(cell, column.unit);
    let is_more = is_change(column) && number_of(cell).is_some_and(|number| number > 0.0);
    if is_more { format!("+{text}") } else { text }
}
