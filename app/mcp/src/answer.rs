//! Answers of tools: tables and text, of which a bounded part is sent.

use analysis::{Cell, Table};
use request::{RequestError, Result};
use serde::Serialize;
use serde_json::{Value, json};

/// Room for the cursor and the counts, and for the line of text beside the answer but its statement.
const SPARE: usize = 200;

/// Bytes of an answer unless a call asks for others.
pub const USUAL_BYTES: u32 = 20_000;
/// The least and the most that a call can ask for.
pub const LEAST_BYTES: u32 = 2_000;
pub const MOST_BYTES: u32 = 1_000_000;
/// Letters of a text in a cell.
const CELL: usize = 600;
/// Letters of a line of text.
const LINE: usize = 2_000;

/// An answer: tables, or text, or both.
#[derive(Debug, Serialize)]
pub struct ToolAnswer {
    /// The trace that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// What computed the times if they were not measured: a simulator or a cost model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times_from: Option<String>,
    /// The answer in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    /// Arguments that change nothing, and what else to know of the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Lines of text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Tables. null is a missing value, never 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<AnswerTable>,
    /// Rows and lines of the whole answer, with those that its tables leave out.
    pub total: usize,
    /// Whether there are at least so many: a query was cut at its limit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub total_is_at_least: bool,
    /// How many of them are here.
    pub shown: usize,
    /// Whether some are missing: those that follow, or those that a table leaves out, as its notes say.
    pub truncated: bool,
    /// Call the tool again with the same arguments and this cursor to get what follows; nothing follows without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A part of a table.
#[derive(Debug, Serialize)]
pub struct AnswerTable {
    /// Its name.
    pub id: String,
    /// Its heading.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    pub columns: Vec<AnswerColumn>,
    /// The rows, each as long as `columns`; fractions have six digits.
    pub rows: Vec<Vec<Value>>,
    /// Rows of the whole table.
    pub total_rows: usize,
    /// What the figures refer to, and what is left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct AnswerColumn {
    /// Its name, which ends in its unit.
    pub id: String,
    /// Unit of the values; without for texts and pure numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Where the values come from: measured, simulated, predicted, recorded, compiler, derived, assumed, inferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<&'static str>,
}

/// The whole answer, before a part is chosen.
#[derive(Debug, Default)]
pub struct AnswerContent {
    pub trace: Option<String>,
    pub times_from: Option<String>,
    pub statement: Option<String>,
    pub notes: Vec<String>,
    pub lines: Vec<String>,
    pub tables: Vec<AnswerTable>,
    /// Rows of the whole answer before those that are here: of an answer of one table that is computed by parts.
    pub before: usize,
    /// Rows of the whole answer after those that are here.
    pub after: usize,
    /// Whether more may follow, which were not counted.
    pub is_cut: bool,
}

impl AnswerContent {
    pub fn with(mut self, table: AnswerTable) -> Self {
        self.tables.push(table);
        self
    }

    /// Adds the tables of a report.
    pub fn with_tables(mut self, tables: impl IntoIterator<Item = Table>) -> Self {
        self.tables
            .extend(tables.into_iter().map(AnswerTable::from));
        self
    }

    /// Adds lines of text.
    pub fn with_text(mut self, text: &str) -> Self {
        self.lines
            .extend(text.lines().map(|line| analysis::shortened(line, LINE)));
        self
    }

    /// The part after the first `from` lines and rows that has at most `most` bytes as JSON, with the line of text beside it. If
    /// one row alone has more, its texts are shortened.
    pub fn part(self, from: usize, most: usize) -> Result<ToolAnswer> {
        let rows = self.tables.iter().map(|table| table.rows.len());
        let here = self.lines.len() + rows.sum::<usize>();
        let end = self.before + here + self.after;
        // Brief tables leave rows out that no part has.
        let all = self.tables.iter().map(|table| table.total_rows);
        let total = end.max(self.lines.len() + all.sum::<usize>());
        if from > end {
            let why = format!("cursor {from}: the answer has only {end} rows");
            return Err(RequestError::Usage(why));
        }
        let skipped = from - self.before.min(from);
        let shortened = |text: String| analysis::shortened(&text, CELL);
        let mut answer = ToolAnswer {
            trace: self.trace.map(shortened),
            times_from: self.times_from,
            statement: self.statement.map(shortened),
            notes: self.notes.into_iter().map(shortened).collect(),
            text: None,
            tables: Vec::new(),
            total,
            total_is_at_least: self.is_cut,
            shown: 0,
            truncated: false,
            cursor: None,
        };
        let beside = bytes(&answer.statement) + SPARE;
        let mut left = Room(most.saturating_sub(bytes(&answer) + beside));
        let lines = self.lines.len();
        let mut texts: Vec<String> = self.lines.into_iter().skip(skipped).collect();
        let mut fitting = texts
            .iter()
            .take_while(|line| left.takes(bytes(line)))
            .count();
        if let Some(line) = texts.first_mut().filter(|_| fitting == 0)
            && let Some(shorter) = left.narrowed(|width| analysis::shortened(line, width))
        {
            (*line, fitting) = (shorter, 1);
        }
        let mut is_full = fitting < texts.len();
        if fitting > 0 {
            answer.text = Some(texts[..fitting].join("\n"));
            answer.shown = fitting;
        }
        let mut before = lines;
        for table in self.tables {
            let (start, rows) = (skipped.saturating_sub(before), table.rows.len());
            before += rows;
            if is_full || start > rows || (start == rows && rows > 0) {
                continue;
            }
            let (part, has_all) = part_of(table, start, &mut left, answer.shown == 0);
            is_full = !has_all;
            answer.shown += part.as_ref().map_or(0, |part| part.rows.len());
            answer.tables.extend(part);
        }
        let next = from + answer.shown;
        if answer.shown == 0 && skipped < here {
            let why = format!(
                "max_bytes: no row of the answer fits into {most} bytes; ask for fewer columns or more bytes"
            );
            return Err(RequestError::Usage(why));
        }
        answer.truncated = next < end || end < total;
        answer.cursor = (next < end).then(|| next.to_string());
        Ok(answer)
    }
}

/// How many bytes are left.
struct Room(usize);

impl Room {
    fn takes(&mut self, bytes: usize) -> bool {
        let fits = self.0 >= bytes;
        if fits {
            self.0 -= bytes;
        }
        fits
    }

    /// What is made for the greatest of some widths at which it fits.
    fn narrowed<T: Serialize>(&mut self, of_width: impl Fn(usize) -> T) -> Option<T> {
        const WIDTHS: [usize; 4] = [400, 100, 20, 4];
        WIDTHS
            .into_iter()
            .map(of_width)
            .find(|one| self.takes(bytes(one) + 1))
    }
}

/// The rows of a table that fit, and whether these are all.
fn part_of(
    table: AnswerTable,
    start: usize,
    left: &mut Room,
    is_first: bool,
) -> (Option<AnswerTable>, bool) {
    let mut head = AnswerTable {
        rows: Vec::new(),
        ..table
    };
    if !left.takes(bytes(&head)) {
        head.notes.clear();
        if !is_first || !left.takes(bytes(&head)) {
            return (None, false);
        }
    }
    let mut rows: Vec<_> = table.rows.into_iter().skip(start).collect();
    let mut fitting = rows
        .iter()
        .take_while(|row| left.takes(bytes(row) + 1))
        .count();
    if let Some(row) = rows.first_mut().filter(|_| fitting == 0 && is_first)
        && let Some(shorter) = left.narrowed(|width| {
            row.iter()
                .map(|cell| narrow(cell, width))
                .collect::<Vec<_>>()
        })
    {
        (*row, fitting) = (shorter, 1);
    }
    if fitting == 0 && !rows.is_empty() {
        return (None, false);
    }
    let has_all = fitting == rows.len();
    (
        Some(AnswerTable {
            rows: rows.into_iter().take(fitting).collect(),
            ..head
        }),
        has_all,
    )
}

/// A cell whose text is at most `width` letters wide.
fn narrow(cell: &Value, width: usize) -> Value {
    let text = cell.as_str().map(|text| analysis::shortened(text, width));
    text.map_or_else(|| cell.clone(), Value::String)
}

fn bytes(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(usize::MAX, |text| text.len())
}

/// A cell as JSON; a missing one is null, and code keeps its lines.
fn value(cell: &Cell) -> Value {
    let is_clean = |line: &str| line.chars().all(analysis::is_printable);
    match cell {
        Cell::Missing => Value::Null,
        Cell::Text(text) if text.len() <= CELL && text.lines().all(is_clean) => json!(text),
        Cell::Text(text) => json!(analysis::shortened(text, CELL)),
        Cell::Int(number) => json!(number),
        Cell::Float(number) => rounded(*number),
    }
}

/// A number with six digits.
pub fn rounded(number: f64) -> Value {
    if number.is_finite() {
        json!(format!("{number:.5e}").parse::<f64>().unwrap_or(number))
    } else {
        Value::Null
    }
}

impl From<Table> for AnswerTable {
    fn from(table: Table) -> Self {
        let table = table.without_unused_marks();
        let unit = |unit: analysis::Unit| {
            let name = serde_json::to_value(unit).ok()?;
            name.as_str()
                .filter(|name| *name != "none")
                .map(str::to_owned)
        };
        let is_number = |index: usize| {
            table
                .rows
                .iter()
                .any(|row| matches!(row.get(index), Some(Cell::Int(_) | Cell::Float(_))))
        };
        let columns = table
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| AnswerColumn {
                id: column.id.to_owned(),
                unit: unit(column.unit),
                provenance: is_number(index).then(|| column.provenance.title()),
            });
        Self {
            id: table.id.to_owned(),
            title: table.title.clone(),
            columns: columns.collect(),
            total_rows: table.rows.len(),
            rows: table
                .rows
                .iter()
                .map(|row| row.iter().map(value).collect())
                .collect(),
            notes: table
                .mark()
                .map(str::to_owned)
                .into_iter()
                .chain(table.notes.iter().cloned())
                .collect(),
        }
    }
}

impl AnswerTable {
    /// A table of texts.
    pub fn of_texts<const N: usize>(
        id: &str,
        columns: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> Self {
        Self::of_values(
            id,
            columns,
            rows.into_iter().map(|row| row.map(|text| json!(text))),
        )
    }

    /// A table of texts and numbers.
    pub fn of_values<const N: usize>(
        id: &str,
        columns: [&str; N],
        rows: impl IntoIterator<Item = [Value; N]>,
    ) -> Self {
        let column = |id: &str| AnswerColumn {
            id: id.to_owned(),
            unit: None,
            provenance: None,
        };
        let rows: Vec<Vec<Value>> = rows
            .into_iter()
            .map(|row| row.iter().map(|cell| narrow(cell, CELL)).collect())
            .collect();
        Self {
            id: id.to_owned(),
            title: String::new(),
            columns: columns.into_iter().map(column).collect(),
            total_rows: rows.len(),
            rows,
            notes: Vec::new(),
        }
    }

    /// Sets the unit of a column, and where its values come from.
    pub fn in_unit(mut self, column: &str, unit: &str, provenance: &'static str) -> Self {
        for one in self.columns.iter_mut().filter(|one| one.id == column) {
            (one.unit, one.provenance) = (Some(unit.to_owned()), Some(provenance));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(lines: usize, rows: &[usize]) -> AnswerContent {
        let table = |(at, &rows): (usize, &usize)| {
            let name = |row| [format!("name of row {row}"), "x".repeat(row % 50)];
            AnswerTable::of_texts(&format!("t{at}"), ["name", "letters"], (0..rows).map(name))
        };
        let lines = (0..lines).map(|line| format!("line {line}")).collect();
        AnswerContent {
            lines,
            tables: rows.iter().enumerate().map(table).collect(),
            ..AnswerContent::default()
        }
    }

    #[test]
    fn the_parts_of_an_answer_make_the_whole() {
        for (lines, rows) in [
            (0, &[300, 0, 40][..]),
            (500, &[10]),
            (0, &[]),
            (3, &[1, 1, 1, 200]),
        ] {
            let (mut from, mut seen_lines, mut seen_rows, mut parts) = (0, 0, 0, 0);
            loop {
                let answer = content(lines, rows).part(from, 2_000).unwrap();
                let size = serde_json::to_string(&answer).unwrap().len();
                assert!(size <= 2_000, "{size}");
                seen_lines += answer.text.as_ref().map_or(0, |text| text.lines().count());
                seen_rows += answer
                    .tables
                    .iter()
                    .map(|table| table.rows.len())
                    .sum::<usize>();
                parts += 1;
                assert_eq!(answer.truncated, answer.cursor.is_some());
                let Some(cursor) = answer.cursor else { break };
                from = cursor.parse().unwrap();
            }
            assert_eq!(
                (seen_lines, seen_rows),
                (lines, rows.iter().sum()),
                "in {parts} parts"
            );
        }
        assert!(content(0, &[3]).part(4, 2_000).is_err());
    }

    /// An answer that is computed by parts has only some rows at hand.
    #[test]
    fn a_part_of_an_answer_knows_its_place_in_the_whole() {
        let part = |from| {
            AnswerContent {
                before: from,
                after: 100 - from - 3,
                ..content(0, &[3])
            }
            .part(from, 2_000)
        };
        let middle = part(40).unwrap();
        assert_eq!(
            (middle.total, middle.shown, middle.cursor.as_deref()),
            (100, 3, Some("43"))
        );
        let last = part(97).unwrap();
        assert_eq!(
            (last.total, last.truncated, last.cursor),
            (100, false, None)
        );
    }

    #[test]
    fn a_row_that_is_too_long_is_shortened_or_refused() {
        let wide = |columns: usize, letters: usize| {
            let mut table = AnswerTable::of_texts::<0>("t", [], []);
            table.columns = vec![
                AnswerColumn {
                    id: "c".to_owned(),
                    unit: None,
                    provenance: None
                };
                columns
            ];
            table.rows = vec![vec![json!("ä".repeat(letters)); columns]; 2];
            AnswerContent::default().with(table).part(0, 2_000)
        };
        for (columns, letters) in [(1, 600), (20, 600), (50, 600)] {
            let answer = wide(columns, letters).unwrap();
            let size = serde_json::to_string(&answer).unwrap().len();
            assert!(size <= 2_000 && answer.truncated, "{columns}: {size}");
        }
        let refused = wide(1000, 600).unwrap_err().to_string();
        assert!(refused.contains("fewer columns"), "{refused}");
        let long = AnswerContent::default()
            .with_text(&"ä".repeat(5_000))
            .part(0, 2_000)
            .unwrap();
        assert!(serde_json::to_string(&long).unwrap().len() <= 2_000);
    }
}
