//! The formats of reports and comparisons. To add one: a file in `app/render`, and an entry of [`REPORT_FORMATS`].

use std::ops::Deref;
use std::str::FromStr;
use std::sync::LazyLock;

use clap::builder::PossibleValue;
use serde::{Serialize, Serializer};
use serde_json::Map;

use crate::common::answer::Answer;
use crate::common::values::STANDARD;
use crate::prelude::*;
use analysis::gates::GatesReport;
use render::comparison::ComparedRuns;
use render::{GatedDocument, comparison, html, json, junit, md, sarif, text};
use session::files::{MARKDOWN_MARK, TEXT_MARK};

/// A format of reports and comparisons.
#[derive(Debug)]
pub struct ReportFormat {
    /// As in `-o NAME=PATH`.
    pub name: &'static str,
    pub content: FormatContent,
    /// What tells a file of this format from one that a person wrote; other formats have a mark of their own.
    pub mark: Option<&'static str>,
    /// Whether it judges a run, and not only shows reports.
    pub judges: bool,
    /// What `--format` says of it, if it takes it.
    pub about: Option<&'static str>,
    /// Whether it is for people at a terminal: it names itself what was lost.
    pub is_text: bool,
    /// Writes an answer that is no document.
    pub answer: fn(Answer<'_>) -> String,
    /// Writes one value, if it is a format of values.
    pub value: Option<fn(&Value) -> String>,
}

/// What a file of a format holds.
#[derive(Debug)]
pub enum FormatContent {
    /// One table, or a directory with all of them.
    Table,
    /// The rows of all tables, or of one.
    Rows,
    /// The whole report.
    Document(DocumentFormat),
}

/// Pieces of a text, each written when it is asked for.
pub type Pieces<'a> = Box<dyn Iterator<Item = serde_json::Result<String>> + 'a>;

/// A text as one piece.
pub fn one_piece(text: String) -> Pieces<'static> {
    Box::new(std::iter::once(Ok(text)))
}

/// How reports and comparisons are written.
#[derive(Debug)]
pub struct DocumentFormat {
    pub report: for<'a> fn(&'a Document, &TextLayout) -> Result<Pieces<'a>>,
    pub comparison: fn(&ComparedRuns<'_>, &TextLayout) -> Result<String>,
}

impl ReportFormat {
    /// Whether the fingerprint of the input is in it, or in the summary that is judged for it.
    pub fn identifies_input(&self) -> bool {
        self.judges || self.name == "json"
    }

    /// Whether a file has one table.
    pub fn is_table(&self) -> bool {
        matches!(self.content, FormatContent::Table)
    }

    /// Whether it has rows of tables and nothing else.
    pub fn is_rows(&self) -> bool {
        !matches!(self.content, FormatContent::Document(_))
    }
}

/// What most formats have in common.
const PLAIN: ReportFormat = ReportFormat {
    name: "",
    content: FormatContent::Rows,
    mark: None,
    judges: false,
    about: None,
    is_text: false,
    answer: |answer| pretty(&(answer.json)()),
    value: None,
};

/// A document whose first words say what it is: who is given a large one looks at its beginning.
struct NamedDocument<'a>(&'a Map<String, Value>);

impl Serialize for NamedDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_name = |(name, _): &(&String, _)| *name == "schema";
        let (name, rest): (Vec<_>, Vec<_>) = self.0.iter().partition(is_name);
        serializer.collect_map(name.into_iter().chain(rest))
    }
}

fn pretty(value: &Value) -> String {
    let named = value.as_object().map(NamedDocument);
    let text = named.map(|named| serde_json::to_string_pretty(&named).expect("a value is JSON"));
    text.unwrap_or_else(|| format!("{value:#}")) + "\n"
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

const TEXT: ReportFormat = ReportFormat {
    name: "text",
    content: FormatContent::Document(DocumentFormat {
        report: |document, layout| Ok(one_piece(text::document(document, layout))),
        comparison: |runs, layout| Ok(comparison::text(runs, layout)),
    }),
    mark: Some(TEXT_MARK),
    about: Some("For reading on a terminal"),
    is_text: true,
    answer: |answer| (answer.text)(&answer.tables),
    ..PLAIN
};

const JSON: ReportFormat = ReportFormat {
    name: "json",
    content: FormatContent::Document(DocumentFormat {
        report: |document, layout| Ok(Box::new(json::document(document, layout.entries)?)),
        comparison: |runs, layout| Ok(comparison::json(runs, layout.entries)?),
    }),
    about: Some("Everything, for programs"),
    value: Some(pretty),
    ..PLAIN
};

pub const REPORT_FORMATS: &[ReportFormat] = &[
    TEXT,
    JSON,
    ReportFormat {
        name: "ndjson",
        about: Some("A line of JSON for each row of each table"),
        answer: |answer| match answer.rows {
            Some(rows) => rows.iter().map(line).collect(),
            None => ndjson::lines(&answer.tables.iter().collect::<Vec<_>>(), &[], 0),
        },
        value: Some(line),
        ..PLAIN
    },
    ReportFormat {
        name: "csv",
        content: FormatContent::Table,
        about: Some("One table, for spreadsheets"),
        answer: |answer| {
            let main = answer.tables.iter().find(|one| one.table.id == answer.main);
            let one = main.or(answer.tables.first());
            one.map_or_else(String::new, |one| csv::csv(&one.table, 0, answer.cells))
        },
        ..PLAIN
    },
    ReportFormat {
        name: "md",
        content: FormatContent::Document(DocumentFormat {
            report: |document, layout| Ok(one_piece(md::document(document, layout))),
            comparison: |runs, layout| Ok(comparison::markdown(runs, layout)),
        }),
        mark: Some(MARKDOWN_MARK),
        about: Some("Tables, for pull requests"),
        answer: |answer| {
            let tables = answer.tables.iter();
            (answer.markdown)(
                tables
                    .map(|one| markdown::markdown(&one.table, 0))
                    .collect(),
            )
        },
        ..PLAIN
    },
    ReportFormat {
        name: "junit",
        content: FormatContent::Document(DocumentFormat {
            report: |document, _| {
                if let Some(expected) = &document.expected {
                    return Ok(one_piece(junit::of_expectations(document, expected)));
                }
                let gated = gated(document, "junit")?;
                let runs = std::slice::from_ref(&gated.run);
                let all = gated.comparison.as_ref();
                Ok(one_piece(junit::junit(&gated.report, runs, all)))
            },
            comparison: |runs, _| {
                let none = GatesReport::default();
                let report = runs.gates.unwrap_or(&none);
                Ok(junit::junit(report, runs.cand, Some(runs.comparison)))
            },
        }),
        judges: true,
        ..PLAIN
    },
    ReportFormat {
        name: "sarif",
        content: FormatContent::Document(DocumentFormat {
            report: |document, _| {
                if let Some(expected) = &document.expected {
                    return Ok(one_piece(sarif::of_expectations(document, expected)?));
                }
                gated(document, "sarif")?;
                Ok(one_piece(sarif::of(document)?))
            },
            comparison: |runs, _| Ok(sarif::of_comparison(runs)?),
        }),
        judges: true,
        ..PLAIN
    },
    ReportFormat {
        name: "html",
        content: FormatContent::Document(DocumentFormat {
            report: |document, _| {
                if document.has_no_run() {
                    return Ok(one_piece(html::tables_page(document)));
                }
                Ok(one_piece(html::page(document, gated(document, "html")?)))
            },
            comparison: |runs, _| Ok(html::comparison::page(runs)),
        }),
        judges: true,
        ..PLAIN
    },
];

/// The format with this name.
pub fn format_named(name: &str) -> Option<&'static ReportFormat> {
    REPORT_FORMATS.iter().find(|format| format.name == name)
}

/// A format of stdout.
#[derive(Clone, Copy, Debug)]
pub struct OutputFormat(pub &'static ReportFormat);

impl OutputFormat {
    pub const TEXT: Self = Self(&TEXT);
    pub const JSON: Self = Self(&JSON);
}

impl Default for OutputFormat {
    fn default() -> Self {
        Self::TEXT
    }
}

impl Deref for OutputFormat {
    type Target = ReportFormat;
    fn deref(&self) -> &ReportFormat {
        self.0
    }
}

impl ValueEnum for OutputFormat {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<OutputFormat>> = LazyLock::new(|| {
            let printed = REPORT_FORMATS
                .iter()
                .filter(|format| format.about.is_some());
            printed.map(OutputFormat).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name).help(self.about?))
    }
}

fn gated<'a>(document: &'a Document, format: &str) -> Result<&'a GatedDocument> {
    document.gated.as_ref().ok_or_else(|| {
        RequestError::Usage(format!(
            "{format} is written by systole analyze and systole compare"
        ))
    })
}

/// `json=report.json`, `json=-`, `csv=tables/`
#[derive(Clone, Debug)]
pub struct OutputFile {
    pub format: &'static ReportFormat,
    pub path: PathBuf,
}

impl OutputFile {
    /// Whether it goes to stdout.
    pub fn is_stdout(&self) -> bool {
        self.path.as_os_str() == STANDARD
    }
}

impl FromStr for OutputFile {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "write FORMAT=PATH with one of the formats {}, not {text:?}",
                joined(REPORT_FORMATS.iter().map(|format| format.name), ", ")
            )
        };
        let (format, name) = text.split_once('=').ok_or_else(wrong)?;
        let format = format_named(format).ok_or_else(wrong)?;
        let path = PathBuf::from(name);
        if name.is_empty() || path.file_name().is_none() && !format.is_table() {
            return Err(wrong());
        }
        Ok(Self { format, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_output_format_and_file() {
        for (text, format, path) in [
            ("json=a=b", "json", "a=b"),
            ("csv=tables/", "csv", "tables/"),
        ] {
            let file: OutputFile = text.parse().unwrap();
            assert_eq!((file.format.name, file.path), (format, path.into()));
        }
        assert!("json=-".parse::<OutputFile>().unwrap().is_stdout());
        for wrong in ["json", "xml=a", "json=", "=a", "json=dir/.."] {
            assert!(wrong.parse::<OutputFile>().is_err(), "{wrong}");
        }
    }
}
