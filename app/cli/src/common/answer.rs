//! Answers that are no documents: lists and single results, of which each format takes its part.

use crate::prelude::*;

type Words<'a> = Box<dyn FnOnce(&[NamedTable]) -> String + 'a>;

/// An answer that any format can show.
pub struct Answer<'a> {
    /// Formats with one table have `main`, or the first.
    pub tables: Vec<NamedTable>,
    pub main: &'static str,
    pub cells: CsvCells,
    /// What a terminal shows.
    pub text: Words<'a>,
    /// Everything.
    pub json: Box<dyn FnOnce() -> Value + 'a>,
    /// Rows that are no rows of the tables.
    pub rows: Option<Vec<Value>>,
    /// Around the tables in Markdown.
    pub markdown: Box<dyn FnOnce(String) -> String + 'a>,
}

impl<'a> Answer<'a> {
    pub fn new(
        tables: Vec<NamedTable>,
        text: impl FnOnce(&[NamedTable]) -> String + 'a,
        json: impl FnOnce() -> Value + 'a,
    ) -> Self {
        Self {
            tables,
            main: "",
            cells: CsvCells::Exact,
            text: Box::new(text),
            json: Box::new(json),
            rows: None,
            markdown: Box::new(|tables| tables),
        }
    }

    /// One table.
    pub fn list(
        report: &'static str,
        table: Table,
        text: impl FnOnce(&Table) -> String + 'a,
        json: impl FnOnce() -> Value + 'a,
    ) -> Self {
        let text = |tables: &[NamedTable]| match tables {
            [] => String::new(),
            [first, ..] => text(&first.table),
        };
        Self::new(vec![NamedTable { report, table }], text, json)
    }

    #[must_use]
    pub fn with_cells(self, cells: CsvCells) -> Self {
        Self { cells, ..self }
    }

    #[must_use]
    pub fn with_rows(self, rows: Vec<Value>) -> Self {
        let rows = Some(rows);
        Self { rows, ..self }
    }

    #[must_use]
    pub fn with_markdown(self, markdown: impl FnOnce(String) -> String + 'a) -> Self {
        let markdown = Box::new(markdown);
        Self { markdown, ..self }
    }
}
