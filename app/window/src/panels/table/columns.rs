//! Which columns of a table are shown, and how wide they are: a number is never cut, and what has no room is left out.

use crate::panels::prelude::*;
use analysis::Column;

use super::cell_text::{CELL_FONT, PAD, is_text, signed};

/// Rows whose texts determine the width of a column. All numbers do.
const SAMPLE: usize = 200;
/// A text takes no more than this, unless there is room.
const MOST_TEXT: f32 = 300.0;
/// Texts may be shortened to this, so that more columns have room: the first, which names the row, and others.
const LEAST_TEXT: [f32; 2] = [110.0, 90.0];
/// Texts may be shortened to this, so that all columns have room.
const SHORTEST_TEXT: f32 = 64.0;
/// Width of the narrowest column.
const LEAST: f32 = 46.0;

/// What a column needs.
#[derive(Clone, Copy)]
pub(super) struct ColumnNeed {
    /// The width for its heading and cells.
    width: f32,
    /// Whether a cell has a value.
    has_values: bool,
}

/// What each column needs.
pub(super) fn needs(ui: &Ui, table: &Table) -> Vec<ColumnNeed> {
    let width = |font: &FontId, text: &str| {
        ui.fonts_mut(|fonts| {
            text.chars()
                .map(|c| fonts.glyph_width(font, c))
                .sum::<f32>()
        })
    };
    let (small, font) = (small_font(), FontId::proportional(CELL_FONT));
    let needed = |(index, column): (usize, &Column)| {
        let rows = if is_text(column) { SAMPLE } else { usize::MAX };
        let cells = table
            .rows
            .iter()
            .take(rows)
            .filter_map(|row| row.get(index));
        let width_of = |cell: &Cell| width(&font, &signed(column, cell));
        let heading = width(&small, &column.heading());
        let widest = cells.map(width_of).fold(heading, f32::max);
        // Rounded up: positions of letters are.
        let needed = (widest + 2.0 * PAD + 2.0).ceil().max(LEAST);
        let most = if is_text(column) {
            MOST_TEXT
        } else {
            f32::INFINITY
        };
        let is_value = |row: &Vec<Cell>| row.get(index).is_some_and(|cell| *cell != Cell::Missing);
        ColumnNeed {
            width: needed.min(most),
            has_values: table.rows.iter().any(is_value),
        }
    };
    table.columns.iter().enumerate().map(needed).collect()
}

/// The shown columns, by their places in the table, with their widths.
pub(super) struct ShownColumns(pub(super) Vec<(usize, f32)>);

impl ShownColumns {
    /// All columns; the first text takes the room that is left. Texts are shortened if then no column has to be scrolled
    /// to.
    pub(super) fn all(table: &Table, needs: &[ColumnNeed], room: f32) -> Self {
        let mut kept = widths(needs);
        let least = |&(at, width): &(usize, f32)| match table.columns.get(at) {
            Some(column) if is_text(column) => width.min(SHORTEST_TEXT),
            _ => width,
        };
        if kept.iter().map(least).sum::<f32>() <= room {
            shorten(&mut kept, least, room);
        }
        Self(kept).filling(table, room)
    }

    /// The columns that have room: tables list the most important first. The first and the one that rows are sorted by
    /// always have. Those without values make room before a text is shortened.
    pub(super) fn fitting(
        table: &Table,
        needs: &[ColumnNeed],
        room: f32,
        by: Option<usize>,
    ) -> Self {
        let is_text_at = |index: usize| table.columns.get(index).is_some_and(is_text);
        let least = |&(index, width): &(usize, f32)| match index {
            _ if !is_text_at(index) => width,
            0 => width.min(LEAST_TEXT[0]),
            _ => width.min(LEAST_TEXT[1]),
        };
        let mut kept = widths(needs);
        let width = |kept: &[(usize, f32)]| kept.iter().map(|&(_, width)| width).sum::<f32>();
        while width(&kept) > room {
            let is_empty = |&(index, _): &(usize, f32)| {
                index > 0 && Some(index) != by && !needs[index].has_values
            };
            let Some(empty) = kept.iter().rposition(is_empty) else {
                break;
            };
            kept.remove(empty);
        }
        while kept.iter().map(least).sum::<f32>() > room {
            let spare = kept
                .iter()
                .rposition(|&(index, _)| index > 0 && Some(index) != by);
            let Some(spare) = spare else { break };
            kept.remove(spare);
        }
        shorten(&mut kept, least, room);
        Self(kept).filling(table, room)
    }

    fn filling(mut self, table: &Table, room: f32) -> Self {
        let spare = room - self.width();
        let is_first_text =
            |column: &&mut (usize, f32)| table.columns.get(column.0).is_some_and(is_text);
        if let Some(first) = self.0.iter_mut().find(is_first_text) {
            first.1 += spare.max(0.0);
        }
        self
    }

    pub(super) fn width(&self) -> f32 {
        self.0.iter().map(|&(_, width)| width).sum()
    }
}

/// Shortens texts until the columns have room, the last first.
fn shorten(columns: &mut [(usize, f32)], least: impl Fn(&(usize, f32)) -> f32, room: f32) {
    let mut missing = columns.iter().map(|&(_, width)| width).sum::<f32>() - room;
    for column in columns.iter_mut().rev() {
        let less = (column.1 - least(column)).min(missing).max(0.0);
        (column.1, missing) = (column.1 - less, missing - less);
    }
}

/// The columns, by their places in the table, with the widths that they need.
fn widths(needs: &[ColumnNeed]) -> Vec<(usize, f32)> {
    needs.iter().map(|need| need.width).enumerate().collect()
}

#[cfg(test)]
mod tests {
    use analysis::Unit;

    use super::*;

    #[test]
    fn columns_without_room_are_left_out_and_no_number_is_cut() {
        let table = Table::of("t", "", [("a", 1_i64, 2_i64, 3_i64)])
            .measured("name", "name", Unit::None, |row| row.0)
            .measured("x", "x", Unit::Count, |row| row.1)
            .measured("y", "y", Unit::Count, |row| row.2)
            .measured("z", "z", Unit::Count, |row| row.3)
            .build();
        let needs = [200.0, 80.0, 90.0, 70.0].map(|width| ColumnNeed {
            width,
            has_values: true,
        });
        let fitting = |room, by| ShownColumns::fitting(&table, &needs, room, by).0;
        let all = [(0, 260.0), (1, 80.0), (2, 90.0), (3, 70.0)];
        assert_eq!(fitting(500.0, None), all, "the text takes what is left");
        assert_eq!(
            fitting(356.0, None),
            [(0, 116.0), (1, 80.0), (2, 90.0), (3, 70.0)],
            "the text is shortened first"
        );
        assert_eq!(fitting(305.0, None), [(0, 135.0), (1, 80.0), (2, 90.0)]);
        assert_eq!(
            fitting(270.0, Some(3)),
            [(0, 120.0), (1, 80.0), (3, 70.0)],
            "the one that rows are sorted by stays"
        );
        assert_eq!(fitting(50.0, None), [(0, 110.0)]);
        let all = |room| ShownColumns::all(&table, &needs, room).0[0];
        assert_eq!(all(310.0), (0, 70.0), "shortened more than left out");
        assert_eq!(all(300.0), (0, 200.0), "has to be scrolled anyway");
        let mut needs = needs;
        needs[1].has_values = false;
        let fitted = ShownColumns::fitting(&table, &needs, 360.0, None).0;
        let whole = [(0, 200.0), (2, 90.0), (3, 70.0)];
        assert_eq!(fitted, whole, "what has no values makes room");
        let fitted = ShownColumns::fitting(&table, &needs, 440.0, None).0;
        assert_eq!(fitted.len(), 4, "there is room for all");
    }
}
