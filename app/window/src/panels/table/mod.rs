//! A table of a report; only visible rows are laid out.

mod cell_text;
mod cells;
mod columns;

use crate::panels::prelude::*;
use regex_lite::RegexBuilder;

pub use self::cell_text::PAD;
use self::cell_text::{is_text, number_of};
use self::cells::cells_ui;
pub use self::cells::write_cell;
use self::columns::{ColumnNeed, ShownColumns, needs};
use super::copy::row_menu;
use super::follow::ScrollToSelection;
use super::number::shown;

/// Height of a row.
pub(super) const ROW: f32 = 20.0;

/// How a table is sorted and filtered.
#[derive(Default)]
pub struct SortedTable {
    /// Only rows that contain this are shown.
    pub filter: String,
    /// Sort column, and whether the largest comes first; `None` for the order of the report.
    by: Option<(usize, bool)>,
    chosen: Option<usize>,
    /// Whether columns without room are shown, too, and scrolled to.
    pub all_columns: bool,
    /// How many columns have no room.
    left_out: usize,
    offset_x: f32,
    follow: ScrollToSelection,
    made: Option<PreparedTable>,
}

/// Rows, order and widths prepared for a table, with the settings they were prepared for.
struct PreparedTable {
    filter: String,
    by: Option<(usize, bool)>,
    rows: usize,
    times: TimeFormat,
    order: Vec<u32>,
    needs: Vec<ColumnNeed>,
}

impl SortedTable {
    /// Number of rows shown; unknown before the first frame.
    pub fn shown(&self) -> Option<usize> {
        self.made.as_ref().map(|made| made.order.len())
    }

    /// Number of columns without room in the last frame.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Forgets the prepared rows, because another table replaces this one.
    pub fn forget(&mut self) {
        (self.made, self.chosen) = (None, None);
    }

    fn make(&mut self, ui: &Ui, table: &Table) {
        let times = times::format();
        let same = |made: &PreparedTable| {
            made.filter == self.filter
                && made.by == self.by
                && made.rows == table.rows.len()
                && made.times == times
        };
        if self.made.as_ref().is_some_and(same) {
            return;
        }
        let order = order(table, &self.filter, self.by);
        let needs = match self.made.take() {
            Some(made) if made.rows == table.rows.len() && made.times == times => made.needs,
            _ => needs(ui, table),
        };
        self.made = Some(PreparedTable {
            filter: self.filter.clone(),
            by: self.by,
            rows: table.rows.len(),
            times,
            order,
            needs,
        });
    }
}

/// Indices of the shown rows, sorted. Missing cells always come last.
fn order(table: &Table, filter: &str, by: Option<(usize, bool)>) -> Vec<u32> {
    let matches = matcher(filter);
    let holds = |row: &[Cell]| {
        row.iter().any(|cell| match cell {
            Cell::Text(text) => matches(text),
            Cell::Int(number) => matches(&number.to_string()),
            Cell::Float(_) | Cell::Missing => false,
        })
    };
    let mut order: Vec<u32> = table
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| filter.is_empty() || holds(row))
        .map(|(number, _)| number as u32)
        .collect();
    if let Some((column, descending)) = by {
        let cell = |row: u32| {
            table
                .rows
                .get(row as usize)
                .and_then(|row| row.get(column))
                .unwrap_or(&Cell::Missing)
        };
        order.sort_by(|&a, &b| {
            let (a, b) = (cell(a), cell(b));
            match (number_of(a), number_of(b), a, b) {
                (Some(a), Some(b), ..) => {
                    if descending {
                        b.total_cmp(&a)
                    } else {
                        a.total_cmp(&b)
                    }
                }
                (_, _, Cell::Text(a), Cell::Text(b)) => {
                    if descending {
                        b.cmp(a)
                    } else {
                        a.cmp(b)
                    }
                }
                (_, _, a, b) => (*a == Cell::Missing).cmp(&(*b == Cell::Missing)),
            }
        });
    }
    order
}

/// A text, or a regular expression between slashes; an invalid expression matches as text.
fn matcher(filter: &str) -> Box<dyn Fn(&str) -> bool> {
    let regex = filter
        .strip_prefix('/')
        .and_then(|rest| rest.strip_suffix('/'))
        .filter(|regex| !regex.is_empty());
    let regex = regex.and_then(|regex| {
        RegexBuilder::new(regex)
            .case_insensitive(true)
            .size_limit(1 << 20)
            .build()
            .ok()
    });
    if let Some(regex) = regex {
        return Box::new(move |text| regex.is_match(text));
    }
    let wanted = filter.to_lowercase();
    Box::new(move |text| text.to_lowercase().contains(&wanted))
}

/// How rows of a table react to selection and clicks.
#[derive(Clone, Copy)]
pub struct RowReactions<'a> {
    /// The selected slice. When it changes, the first row about it is scrolled into view.
    pub selected: Option<SliceId>,
    /// Whether a row is about the selection.
    pub is_marked: &'a dyn Fn(&[Cell]) -> bool,
    /// Whether a click on this row does something.
    pub leads: &'a dyn Fn(usize) -> bool,
}

impl<'a> RowReactions<'a> {
    /// A click does something, and no row is about the selection.
    pub fn clicks(leads: &'a dyn Fn(usize) -> bool) -> Self {
        Self {
            selected: None,
            is_marked: &|_| false,
            leads,
        }
    }
}

/// Shows `table` in `height` points; returns the row that was clicked.
pub fn table_ui(
    ui: &mut Ui,
    table: &Table,
    sorted: &mut SortedTable,
    height: f32,
    about: RowReactions<'_>,
) -> Option<usize> {
    sorted.make(ui, table);
    let Some(made) = &sorted.made else {
        return None;
    };
    let room = ui.available_width() - 12.0;
    let by = sorted.by.map(|(column, _)| column);
    let fitted = ShownColumns::fitting(table, &made.needs, room, by);
    sorted.left_out = table.columns.len() - fitted.0.len();
    let columns = if sorted.all_columns && sorted.left_out > 0 {
        ShownColumns::all(table, &made.needs, room)
    } else {
        fitted
    };
    let total = columns.width();
    let heading = heading_ui(ui, table, &columns, sorted.by, sorted.offset_x);
    let mut clicked = None;
    let theme = theme::current(ui);
    let row_of = |_| {
        let is_own = |&number: &u32| {
            table
                .rows
                .get(number as usize)
                .is_some_and(|row| (about.is_marked)(row))
        };
        made.order.iter().position(is_own)
    };
    let mut area = ScrollArea::both()
        .id_salt(("table", table.id, &table.title))
        .max_height((height - ROW).max(ROW * 3.0))
        .auto_shrink([false, true]);
    if let Some(offset) = sorted.follow.offset(about.selected, row_of, ROW) {
        area = area.vertical_scroll_offset(offset);
    }
    let rows = ui.scope(|ui| {
        // Must be set before the scroll area computes row heights, which include the spacing.
        ui.spacing_mut().item_spacing = vec2(0.0, 0.0);
        // The scroll bar lies below the last row, not on it.
        let spare = usize::from(total > ui.available_width());
        area.show_rows(ui, ROW, made.order.len() + spare, |ui, range| {
            let range = range.start..range.end.min(made.order.len());
            sorted
                .follow
                .saw(&range, ui.max_rect().top(), ui.clip_rect(), ROW);
            for number in made.order.get(range).unwrap_or_default() {
                let index = *number as usize;
                let Some(row) = table.rows.get(index) else {
                    continue;
                };
                // Only the visible part can be clicked; the middle of a wide row may be outside of it.
                let (id, rect) = ui.allocate_space(vec2(total, ROW));
                let response = ui.interact(rect.intersect(ui.clip_rect()), id, Sense::click());
                let name = row
                    .first()
                    .map(|cell| shown(cell, Unit::None))
                    .unwrap_or_default();
                response.labeled(Role::Button, format_args!("Row {name}"));
                let fill = if sorted.chosen == Some(index) || (about.is_marked)(row) {
                    theme.accent.gamma_multiply(0.22)
                } else if response.hovered() {
                    theme.raised
                } else {
                    Color32::TRANSPARENT
                };
                ui.painter().rect_filled(rect, 0.0, fill);
                if response.hovered() && (about.leads)(index) {
                    ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
                }
                if response.clicked() {
                    clicked = Some(index);
                }
                row_menu(&response, || Some((table, row)));
                cells_ui(ui, table, row, rect, &columns);
            }
        })
    });
    sorted.offset_x = rows.inner.state.clamped_offset().x;
    sorted.by = heading;
    if clicked.is_some() {
        sorted.chosen = clicked;
    }
    clicked
}

/// The row of the headings, with a line below it.
pub fn heading_row_ui(ui: &mut Ui) -> (Rect, Painter) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::hover());
    let painter = ui.painter_at(rect);
    painter.hline(
        rect.x_range(),
        rect.bottom() - 0.5,
        (1.0, theme::current(ui).edge),
    );
    (rect, painter)
}

/// The headings; returns the new order after a click.
fn heading_ui(
    ui: &mut Ui,
    table: &Table,
    columns: &ShownColumns,
    by: Option<(usize, bool)>,
    offset_x: f32,
) -> Option<(usize, bool)> {
    let theme = theme::current(ui);
    let (rect, painter) = heading_row_ui(ui);
    let mut wanted = by;
    let mut x = rect.left() - offset_x;
    for &(index, width) in &columns.0 {
        let Some(column) = table.columns.get(index) else {
            continue;
        };
        let cell = Rect::from_x_y_ranges(x..=x + width, rect.y_range());
        x += width;
        let visible = cell.intersect(rect);
        if visible.width() <= 0.0 {
            continue;
        }
        let response = ui.interact(
            visible,
            ui.scope_id().with(("heading", table.id, index)),
            Sense::click(),
        );
        response.labeled(Role::Button, format_args!("Sort by {}", column.title));
        let order = by
            .filter(|(column, _)| *column == index)
            .map(|(_, descending)| descending);
        let color = if response.hovered() || order.is_some() {
            theme.text_strong
        } else {
            theme.text_weak
        };
        let clipped = painter.with_clip_rect(visible);
        write_cell(
            &clipped,
            cell,
            &column.heading(),
            is_text(column),
            &small_font(),
            color,
        );
        if let Some(descending) = order {
            order_mark(&clipped, cell, descending, theme.accent);
        }
        let hint = format!(
            "{}: {}\nClick to sort",
            column.id,
            times::provenance(column.provenance)
        );
        if response.on_hover_text(hint).clicked() {
            wanted = match by {
                Some((column, first))
                    if column == index && first != is_text(&table.columns[index]) =>
                {
                    Some((index, !first))
                }
                Some((column, _)) if column == index => None,
                // Numbers: the largest first. Texts: by the alphabet.
                _ => Some((index, !is_text(column))),
            };
        }
    }
    wanted
}

/// A line at the edge of a heading: at the bottom for descending order, else at the top.
pub fn order_mark(painter: &Painter, cell: Rect, descending: bool, color: Color32) {
    let y = if descending {
        cell.bottom() - 1.0
    } else {
        cell.top() + 1.0
    };
    painter.hline(cell.left() + 2.0..=cell.right() - 2.0, y, (2.0, color));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table::of(
            "t",
            "",
            [
                ("b", Some(5_i64)),
                ("A1", None),
                ("c", Some(7)),
                ("a2", Some(6)),
            ],
        )
        .measured("name", "name", Unit::None, |(name, _)| name)
        .measured("time_ps", "time_ps", Unit::Picoseconds, |(_, time)| time)
        .build()
    }

    #[test]
    fn rows_are_sorted_and_filtered() {
        let table = table();
        assert_eq!(order(&table, "", None), [0, 1, 2, 3]);
        assert_eq!(order(&table, "", Some((1, true))), [2, 3, 0, 1]);
        assert_eq!(
            order(&table, "", Some((1, false))),
            [0, 3, 2, 1],
            "what is missing stays last"
        );
        assert_eq!(order(&table, "", Some((0, false))), [1, 3, 0, 2]);
        assert_eq!(order(&table, "a", None), [1, 3]);
        assert_eq!(order(&table, r"/^a\d$/", Some((0, true))), [3, 1]);
        assert_eq!(
            order(&table, "/(/", None),
            Vec::<u32>::new(),
            "no pattern: a text that nothing holds"
        );
    }
}
