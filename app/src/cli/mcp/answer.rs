//! Answers of tools: tables and text, of which a bounded part is sent.

use analysis::{Cell, Metric, Table};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::common::failure::Failure;

/// Room for the cursor and the counts.
const SPARE: usize = 80;

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
#[derive(Debug, Serialize, JsonSchema)]
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
    /// Lines of text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Tables. null is a missing value, never 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<AnswerTable>,
    /// Rows and lines of the whole answer.
    pub total: usize,
    /// How many of them are here.
    pub shown: usize,
    /// Whether more follow.
    pub truncated: bool,
    /// Call the tool again with the same arguments and this cursor to get what follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A part of a table.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AnswerTable {
    /// Its name.
    pub id: String,
    /// Its heading.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The columns.
    pub columns: Vec<AnswerColumn>,
    /// The rows, each as long as `columns`; fractions have six digits.
    pub rows: Vec<Vec<Value>>,
    /// Rows of the whole table.
    pub total_rows: usize,
    /// What the figures refer to, and what is left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A column.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AnswerColumn {
    /// Its name, which ends in its unit.
    pub id: String,
    /// Unit of the values; without for texts and pure numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Where the values come from: measured, recorded, compiler, derived, assumed, inferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<&'static str>,
}

/// The whole answer, before a part is chosen.
#[derive(Debug, Default)]
pub struct AnswerContent {
    pub trace: Option<String>,
    pub times_from: Option<String>,
    pub statement: Option<String>,
    pub lines: Vec<String>,
    pub tables: Vec<AnswerTable>,
}

impl AnswerContent {
    /// Adds a table.
    pub fn with(mut self, table: AnswerTable) -> Self {
        self.tables.push(table);
        self
    }

    /// Adds the tables of a report.
    pub fn with_tables(mut self, tables: impl IntoIterator<Item = Table>) -> Self {
        self.tables.extend(tables.into_iter().map(AnswerTable::from));
        self
    }

    /// Adds lines of text.
    pub fn with_text(mut self, text: &str) -> Self {
        self.lines.extend(text.lines().map(|line| analysis::shortened(line, LINE)));
        self
    }

    /// The part after the first `from` lines and rows that has at most `most` bytes as JSON, but at least one row.
    pub fn part(self, from: usize, most: usize) -> Result<ToolAnswer, Failure> {
        let total = self.lines.len() + self.tables.iter().map(|table| table.rows.len()).sum::<usize>();
        if from > total {
            return Err(Failure::Usage(format!("cursor {from}: the answer has only {total} rows")));
        }
        let mut answer = ToolAnswer {
            trace: self.trace,
            times_from: self.times_from,
            statement: self.statement,
            text: None,
            tables: Vec::new(),
            total,
            shown: 0,
            truncated: false,
            cursor: None,
        };
        let mut left = Room(most.saturating_sub(bytes(&answer) + SPARE));
        let lines = self.lines.len();
        let texts: Vec<String> = self.lines.into_iter().skip(from).collect();
        let fitting = texts.iter().take_while(|line| left.takes(bytes(line))).count();
        let fitting = if fitting == 0 { texts.len().min(1) } else { fitting };
        let mut is_full = fitting < texts.len();
        if fitting > 0 {
            answer.text = Some(texts[..fitting].join("\n"));
            answer.shown = fitting;
        }
        let mut before = lines;
        for table in self.tables {
            let (start, rows) = (from.saturating_sub(before), table.rows.len());
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
        answer.truncated = next < total;
        answer.cursor = answer.truncated.then(|| next.to_string());
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
}

/// The rows of a table that fit, and whether these are all.
fn part_of(table: AnswerTable, start: usize, left: &mut Room, is_first: bool) -> (Option<AnswerTable>, bool) {
    let head = AnswerTable { rows: Vec::new(), ..table };
    if !left.takes(bytes(&head)) && !is_first {
        return (None, false);
    }
    let rows: Vec<_> = table.rows.into_iter().skip(start).collect();
    let fitting = rows.iter().take_while(|row| left.takes(bytes(row) + 1)).count();
    let fitting = if fitting == 0 && is_first { rows.len().min(1) } else { fitting };
    if fitting == 0 && !rows.is_empty() {
        return (None, false);
    }
    let has_all = fitting == rows.len();
    (Some(AnswerTable { rows: rows.into_iter().take(fitting).collect(), ..head }), has_all)
}

fn bytes(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(usize::MAX, |text| text.len())
}

/// A cell as JSON; a missing one is null.
fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Missing => Value::Null,
        Cell::Text(text) => json!(analysis::shortened(text, CELL)),
        Cell::Int(number) => json!(number),
        Cell::Float(number) => rounded(*number),
    }
}

/// A number with six digits.
pub fn rounded(number: f64) -> Value {
    if number.is_finite() { json!(format!("{number:.5e}").parse::<f64>().unwrap_or(number)) } else { Value::Null }
}

impl From<Table> for AnswerTable {
    fn from(table: Table) -> Self {
        let unit = |unit: analysis::Unit| {
            let name = serde_json::to_value(unit).ok()?;
            name.as_str().filter(|name| *name != "none").map(str::to_owned)
        };
        let is_number =
            |at: usize| table.rows.iter().any(|row| matches!(row.get(at), Some(Cell::Int(_) | Cell::Float(_))));
        let columns = table.columns.iter().enumerate().map(|(at, column)| AnswerColumn {
            id: column.id.to_owned(),
            unit: unit(column.unit),
            provenance: is_number(at).then(|| column.provenance.title()),
        });
        Self {
            id: table.id.to_owned(),
            title: table.title.clone(),
            columns: columns.collect(),
            total_rows: table.rows.len(),
            rows: table.rows.iter().map(|row| row.iter().map(value).collect()).collect(),
            notes: table.mark().map(str::to_owned).into_iter().chain(table.notes.iter().cloned()).collect(),
        }
    }
}

impl AnswerTable {
    /// A table of texts.
    pub fn of_texts<const N: usize>(id: &str, columns: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> Self {
        let column = |id: &str| AnswerColumn { id: id.to_owned(), unit: None, provenance: None };
        let rows: Vec<Vec<Value>> =
            rows.into_iter().map(|row| row.map(|text| json!(analysis::shortened(&text, CELL))).to_vec()).collect();
        Self {
            id: id.to_owned(),
            title: String::new(),
            columns: columns.into_iter().map(column).collect(),
            total_rows: rows.len(),
            rows,
            notes: Vec::new(),
        }
    }

    /// Figures with their unit, denominator and provenance.
    pub fn of_figures(id: &str, figures: impl IntoIterator<Item = Metric>) -> Self {
        let row = |figure: Metric| {
            vec![
                json!(figure.title),
                figure.value.map_or(Value::Null, rounded),
                json!(figure.unit),
                json!(figure.of),
                json!(figure.provenance.title()),
                json!(figure.note),
            ]
        };
        let mut table = Self::of_texts(id, ["figure", "value", "unit", "of", "provenance", "note"], []);
        table.rows = figures.into_iter().map(row).collect();
        table.total_rows = table.rows.len();
        table
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
        AnswerContent { lines, tables: rows.iter().enumerate().map(table).collect(), ..AnswerContent::default() }
    }

    #[test]
    fn the_parts_of_an_answer_make_the_whole() {
        for (lines, rows) in [(0, &[300, 0, 40][..]), (500, &[10]), (0, &[]), (3, &[1, 1, 1, 200])] {
            let (mut from, mut seen_lines, mut seen_rows, mut parts) = (0, 0, 0, 0);
            loop {
                let answer = content(lines, rows).part(from, 2_000).unwrap();
                let size = serde_json::to_string(&answer).unwrap().len();
                assert!(size <= 2_000, "{size}");
                seen_lines += answer.text.as_ref().map_or(0, |text| text.lines().count());
                seen_rows += answer.tables.iter().map(|table| table.rows.len()).sum::<usize>();
                parts += 1;
                assert_eq!(answer.truncated, answer.cursor.is_some());
                let Some(cursor) = answer.cursor else { break };
                from = cursor.parse().unwrap();
            }
            assert_eq!((seen_lines, seen_rows), (lines, rows.iter().sum()), "in {parts} parts");
        }
        assert!(content(0, &[3]).part(4, 2_000).is_err());
    }
}
