//! The formats of reports and comparisons. To add one: a file in `app/render`, and an entry of [`REPORT_FORMATS`].

use std::str::FromStr;

use clap::ValueEnum as _;

use crate::common::values::{OutputFormat, STANDARD};
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
}

/// What most formats have in common.
const PLAIN: ReportFormat = ReportFormat {
    name: "",
    content: FormatContent::Rows,
    mark: None,
    judges: false,
};

pub const REPORT_FORMATS: &[ReportFormat] = &[
    ReportFormat {
        name: "text",
        content: FormatContent::Document(DocumentFormat {
            report: |document, layout| Ok(one_piece(text::document(document, layout))),
            comparison: |runs, layout| Ok(comparison::text(runs, layout)),
        }),
        mark: Some(TEXT_MARK),
        ..PLAIN
    },
    ReportFormat {
        name: "json",
        content: FormatContent::Document(DocumentFormat {
            report: |document, layout| Ok(Box::new(json::document(document, layout.entries)?)),
            comparison: |runs, layout| Ok(comparison::json(runs, layout.entries)?),
        }),
        ..PLAIN
    },
    ReportFormat {
        name: "ndjson",
        ..PLAIN
    },
    ReportFormat {
        name: "csv",
        content: FormatContent::Table,
        ..PLAIN
    },
    ReportFormat {
        name: "md",
        content: FormatContent::Document(DocumentFormat {
            report: |document, layout| Ok(one_piece(md::document(document, layout))),
            comparison: |runs, layout| Ok(comparison::markdown(runs, layout)),
        }),
        mark: Some(MARKDOWN_MARK),
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

/// The format of what is printed.
///
/// # Panics
/// If a value of `--format` is missing among the formats of reports: a mistake in the program.
pub fn printed(format: OutputFormat) -> &'static ReportFormat {
    let value = format.to_possible_value();
    value
        .and_then(|value| format_named(value.get_name()))
        .expect("every format that can be printed is a format of reports")
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
