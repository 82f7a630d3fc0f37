//! Tables as aligned text.

use crate::prelude::*;
pub use analysis::shortened;

use crate::layout::{padded, wrapped};

/// Space between columns.
const GAP: usize = 2;
/// Minimum width of texts.
const MIN_TEXT: usize = 16;
/// Minimum width of texts if there is very little room.
const LEAST_TEXT: usize = 6;
/// Minimum width of a column of sentences; a narrower one stands below its rows.
const MIN_SENTENCE: usize = 30;
/// The name of a row is cut for sentences beside it only if it is longer.
const MOST_NAME: usize = 48;
/// Words of a sentence: fewer are a name or a number with its unit.
const LEAST_WORDS: usize = 4;
/// A table, its notes below.
pub fn table(table: &Table, layout: &TextLayout) -> String {
    let mut text = layout.bold_lines(0, &table.title);
    if table.rows.is_empty() {
        text += "  (no rows)\n";
    } else {
        text += &body(table, layout);
    }
    for note in table
        .mark()
        .into_iter()
        .chain(table.notes.iter().map(String::as_str))
    {
        text += &layout.dim_lines(2, note);
    }
    text
}

/// Heading and rows without title and notes, indented by two.
pub fn body(table: &Table, layout: &TextLayout) -> String {
    let table = &*table.for_people();
    let shown = if layout.top == 0 {
        table.rows.len()
    } else {
        table.rows.len().min(layout.top)
    };
    let mut columns: Vec<TextColumn> = table
        .columns
        .iter()
        .enumerate()
        .map(|(index, _)| TextColumn::new(table, index, shown))
        .collect();
    let width = layout.width.saturating_sub(2);
    let below = sentences_below(&mut columns, width);
    let dropped = fit(&mut columns, width);
    let mut text = String::new();
    let heading: Vec<_> = columns
        .iter()
        .map(|column| column.heading.clone())
        .collect();
    let _ = writeln!(
        text,
        "  {}",
        layout.style.dim(line(&columns, &heading).trim_end())
    );
    for row in 0..shown {
        for cells in lines_of_row(&columns, row) {
            let _ = writeln!(text, "  {}", line(&columns, &cells).trim_end());
        }
        for column in &below {
            let cell = &column.cells[row];
            if !["", "–"].contains(&cell.as_str()) {
                text += &layout.plain_lines(6, &format!("{}: {cell}", column.heading));
            }
        }
    }
    let hidden = table.rows.len() - shown;
    if hidden > 0 {
        let more = if hidden == 1 {
            "1 more row".to_owned()
        } else {
            format!("{hidden} more rows")
        };
        let _ = writeln!(
            text,
            "  {}",
            layout.style.dim(&format!("… {more}; --top 0 shows all"))
        );
    }
    if !dropped.is_empty() {
        let more = format!(
            "columns that do not fit: {}; see --format csv",
            dropped.join(", ")
        );
        text += &layout.dim_lines(2, &more);
    }
    text
}

struct TextColumn {
    heading: String,
    cells: Vec<String>,
    right: bool,
    /// Whether cells are sentences, of which none is cut.
    has_sentences: bool,
    width: usize,
    /// Minimum width.
    min: usize,
    /// Whether all shown rows are missing, empty or zero.
    is_void: bool,
    /// Index of the column in its table.
    place: usize,
}

impl TextColumn {
    fn new(table: &Table, index: usize, shown: usize) -> Self {
        let spec = &table.columns[index];
        let cell = |row: &Vec<Cell>| {
            row.get(index).map_or_else(String::new, |cell| {
                printable(&number::in_column(cell, spec))
            })
        };
        let cells: Vec<_> = table.rows[..shown].iter().map(cell).collect();
        let is_number =
            |row: &Vec<Cell>| matches!(row.get(index), Some(Cell::Int(_) | Cell::Float(_)));
        let right = spec.unit != Unit::None || table.rows.iter().any(is_number);
        let heading = spec.heading();
        let heading_width = heading.width();
        let width = cells
            .iter()
            .map(|cell| cell.width())
            .max()
            .unwrap_or(0)
            .max(heading_width);
        // Code, shapes and signatures are no sentences, however many words they have.
        let is_sentence = |cell: &String| {
            cell.width() > MIN_SENTENCE
                && cell.split(' ').count() >= LEAST_WORDS
                && ![" = ", "[", "::"].iter().any(|code| cell.contains(code))
        };
        // The first column names the row.
        let has_sentences = !right && index > 0 && cells.iter().any(is_sentence);
        let min = match (right, has_sentences) {
            (true, _) => width,
            (_, true) => MIN_SENTENCE,
            _ => MIN_TEXT.max(heading_width).min(width),
        };
        let says_nothing = |row: &Vec<Cell>| match row.get(index) {
            Some(Cell::Text(text)) => text.is_empty(),
            Some(Cell::Int(number)) => *number == 0,
            Some(Cell::Float(number)) => *number == 0.0,
            Some(Cell::Missing) | None => true,
        };
        // A zero beside the number of the other side says something.
        let is_side = ["Base", "Cand"].contains(&spec.title);
        let is_void = !is_side && table.rows[..shown].iter().all(says_nothing);
        Self {
            heading,
            cells,
            right,
            has_sentences,
            width,
            min,
            is_void,
            place: index,
        }
    }
}

fn sum_of(columns: &[TextColumn], of: fn(&TextColumn) -> usize) -> usize {
    let widths = columns.iter().map(|column| of(column) + GAP);
    widths.sum::<usize>().saturating_sub(GAP)
}

/// Takes columns of sentences out, the widest first, until the rest fits: they stand below the rows.
fn sentences_below(columns: &mut Vec<TextColumn>, width: usize) -> Vec<TextColumn> {
    let mut below = Vec::new();
    let needed = |column: &TextColumn| match column.place {
        0 => column.width.min(MOST_NAME),
        _ => column.min,
    };
    while sum_of(columns, needed) > width {
        let sentences = columns.iter().enumerate();
        let widest = sentences
            .filter(|(_, column)| column.has_sentences)
            .max_by_key(|(_, column)| column.width);
        let Some((at, _)) = widest else { break };
        below.push(columns.remove(at));
    }
    below.sort_by_key(|column| column.place);
    below
}

/// The cells of a row, in as many lines as its longest sentence needs.
fn lines_of_row(columns: &[TextColumn], row: usize) -> Vec<Vec<String>> {
    let cells = columns.iter().map(|column| {
        let cell = &column.cells[row];
        if column.has_sentences {
            wrapped(cell, column.width)
        } else {
            vec![cell.clone()]
        }
    });
    let cells: Vec<Vec<String>> = cells.collect();
    let lines = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let line = |nth: usize| {
        let parts = cells.iter().map(|cell| cell.get(nth).cloned());
        parts.map(Option::unwrap_or_default).collect()
    };
    (0..lines).map(line).collect()
}

/// Drops columns until the rest fits with shortened texts: first columns without content, then from the right. Then
/// shortens the widest texts. Returns the headings of the dropped columns.
fn fit(columns: &mut Vec<TextColumn>, width: usize) -> Vec<String> {
    let mut dropped = Vec::new();
    loop {
        let void = columns.iter().rposition(|column| column.is_void);
        let is_wide = |of| columns.len() > 2 && sum_of(columns, of) > width;
        // Texts are shortened only where no column can be spared.
        let narrowed = match void {
            Some(void) if is_wide(|column| column.width) => void,
            None if is_wide(|column| column.min) => columns.len() - 1,
            _ => break,
        };
        let column = columns.remove(narrowed);
        dropped.push((column.place, column.heading));
    }
    dropped.sort_unstable();
    let dropped = dropped.into_iter().map(|(_, heading)| heading).collect();
    while sum_of(columns, |column| column.width) > width {
        let widest = columns
            .iter_mut()
            .filter(|column| column.width > column.min)
            .max_by_key(|column| (column.has_sentences, column.width));
        let Some(column) = widest else { break };
        column.width -= 1;
    }
    // The last two columns are too wide for a narrow terminal: short texts are better than broken lines.
    while sum_of(columns, |column| column.width) > width {
        let texts = columns
            .iter_mut()
            .filter(|column| !column.right && column.width > LEAST_TEXT);
        let Some(column) = texts.max_by_key(|column| column.width) else {
            break;
        };
        column.width -= 1;
    }
    dropped
}

fn line(columns: &[TextColumn], cells: &[String]) -> String {
    let mut text = String::new();
    for (column, cell) in columns.iter().zip(cells) {
        let cell = shortened(cell, column.width);
        if column.right {
            text += &" ".repeat(column.width.saturating_sub(cell.width()));
            text += &cell;
        } else {
            text += &padded(&cell, column.width);
        }
        text += &" ".repeat(GAP);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AnsiStyle;

    fn sample() -> Table {
        let rows = [
            ("fusion.1", 3_430_000_i64, Some(38.61)),
            ("a-name-that-is-much-too-long-for-its-column.17", 78, None),
            ("c", 1, Some(0.0)),
        ];
        Table::of("t", "Ops", rows)
            .measured("op", "op", Unit::None, |row| row.0)
            .measured("time_ps", "time", Unit::Picoseconds, |row| row.1)
            .measured("util", "MXU", Unit::Percent, |row| row.2)
            .note("MXU of the peak")
            .build()
    }

    #[test]
    fn numbers_align_right_and_long_names_are_shortened_in_the_middle() {
        let text = table(
            &sample(),
            &TextLayout {
                width: 44,
                top: 2,
                entries: 0,
                style: AnsiStyle::PLAIN,
            },
        );
        let expected = "\
Ops
  op                           time      MXU
  fusion.1                 3.430 µs  38.61 %
  a-name-that-is-…lumn.17     78 ps        –
  … 1 more row; --top 0 shows all
  MXU of the peak
";
        assert_eq!(text, expected);
    }

    #[test]
    fn hidden_columns_are_named() {
        let text = table(
            &sample(),
            &TextLayout {
                width: 30,
                top: 0,
                entries: 0,
                style: AnsiStyle::PLAIN,
            },
        );
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("columns that do not fit: MXU;"), "{text}");
    }

    #[test]
    fn no_sentence_is_cut() {
        let said = "83.6 % of device time waits for copies (copy-done), 96.5 % of op time";
        let table = Table::of(
            "t",
            "Verdict",
            [("wait", said, "device time: 363.7 s of 4")],
        )
        .measured("id", "Finding", Unit::None, |row| row.0)
        .measured("said", "In words", Unit::None, |row| row.1)
        .measured("of", "Of", Unit::None, |row| row.2)
        .build();
        let text = |width| {
            let layout = TextLayout {
                width,
                top: 0,
                entries: 0,
                style: AnsiStyle::PLAIN,
            };
            body(&table, &layout)
        };
        let beside = "
  Finding  In words                                    Of
  wait     83.6 % of device time waits for copies      device time: 363.7 s of 4
           (copy-done), 96.5 % of op time
";
        assert_eq!(text(80), beside[1..]);
        let below = "
  Finding  Of
  wait     device time: 363.7 s of 4
      In words: 83.6 % of device time waits for
      copies (copy-done), 96.5 % of op time
";
        assert_eq!(text(50), below[1..]);
    }

    #[test]
    fn empty_columns_are_hidden_first() {
        let mut table = sample();
        table.rows.iter_mut().for_each(|row| row[1] = Cell::Int(0));
        let layout = TextLayout {
            width: 30,
            top: 0,
            entries: 0,
            style: AnsiStyle::PLAIN,
        };
        let text = super::table(&table, &layout);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("columns that do not fit: time;"), "{text}");
    }

    #[test]
    fn both_sides_of_a_comparison_are_kept() {
        let table = Table::of("t", "Counts", [("Compilations", 0_i64, 1_i64)])
            .measured("what", "What", Unit::None, |row| row.0)
            .measured("base_count", "Base", Unit::Count, |row| row.1)
            .measured("cand_count", "Cand", Unit::Count, |row| row.2)
            .measured("change_count", "Change", Unit::Count, |row| row.2 - row.1)
            .build();
        let layout = TextLayout {
            width: 30,
            top: 0,
            entries: 0,
            style: AnsiStyle::PLAIN,
        };
        let text = super::table(&table, &layout);
        assert!(text.contains("Base  Cand"), "{text}");
    }

    #[test]
    fn shortened_text_keeps_both_ends_without_control_characters() {
        assert_eq!(shortened("abcdefghij", 7), "abcd…ij");
        assert_eq!(shortened("abc", 7), "abc");
        assert_eq!(shortened("a\u{1b}[31mb\n", 20), "a [31mb ");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        // Nine columns: three letters of two, the mark, and one letter more.
        assert_eq!(shortened("模型的第一个操作", 9), "模型的…作");
        assert_eq!(padded("模型", 6), "模型  ");
        let mut table = sample();
        table.rows[0][0] = Cell::text("注意力.1");
        table.rows.truncate(1);
        let text = super::table(
            &table,
            &TextLayout {
                width: 44,
                top: 0,
                entries: 0,
                style: AnsiStyle::PLAIN,
            },
        );
        let ends: Vec<_> = text
            .lines()
            .skip(1)
            .take(2)
            .map(unicode_width::UnicodeWidthStr::width)
            .collect();
        assert_eq!(ends[0], ends[1], "{text}");
    }
}
