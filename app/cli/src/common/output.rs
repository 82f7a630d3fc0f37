//! Writes documents to stdout and to files.

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write as _};
use std::path::Path;

use importers::is_remote;

use crate::common::args::OutputArgs;

use crate::common::stderr::{Stderr, harmless, without_orders};
use crate::common::terminal;
use crate::common::values::{FileFormat, STANDARD};
use render::{AnsiStyle, Document, NamedTable, TextLayout, csv, ndjson};
use request::RequestError;
use request::places::check_place;
use session::files::{MARKDOWN_MARK, OutputGuard, TEXT_MARK, is_same, make_directory, write_file};

/// Rejects impossible outputs before the work starts, and those that would destroy something.
pub fn check(output: &OutputArgs, guard: &OutputGuard) -> Result<(), RequestError> {
    if output.output.iter().filter(|file| file.is_stdout()).count() > 1 {
        return Err(RequestError::Usage(
            "-o: only one format can go to standard output".to_owned(),
        ));
    }
    let names_table = |format| matches!(format, FileFormat::Csv | FileFormat::Ndjson);
    let formats = output
        .output
        .iter()
        .map(|file| file.format)
        .chain([output.format.into()]);
    if output.table.is_some() && !formats.clone().any(names_table) {
        return Err(RequestError::Usage(
            "--table is for --format csv or ndjson, and for -o csv=PATH".to_owned(),
        ));
    }
    let files: Vec<_> = output
        .output
        .iter()
        .filter(|file| !file.is_stdout())
        .collect();
    for (at, file) in files.iter().enumerate() {
        if let Some(twice) = files[..at]
            .iter()
            .find(|other| is_same(&other.path, &file.path))
        {
            let (one, other) = (twice.path.display(), file.path.display());
            return Err(RequestError::Usage(format!(
                "-o: {one} and {other} are one file: name another one"
            )));
        }
        match file.format {
            FileFormat::Csv if file.path.is_dir() => {}
            FileFormat::Csv if is_directory(&file.path) => check_place(&without_slash(&file.path))?,
            // Whose a table is, its headings tell when it is written.
            FileFormat::Csv => {
                check_place(&file.path)?;
                guard.check_input(&file.path).map_err(RequestError::Usage)?;
            }
            _ => check_file(&file.path, guard)?,
        }
    }
    Ok(())
}

/// Rejects a file that cannot or must not be written; `-` is accepted.
pub fn check_file(path: &Path, guard: &OutputGuard) -> Result<(), RequestError> {
    check_place(path)?;
    if path.as_os_str() == STANDARD {
        Ok(())
    } else {
        guard.check(path).map_err(RequestError::Usage)
    }
}

/// Whether a path means a directory: it is one, or ends with a separator.
fn is_directory(path: &Path) -> bool {
    path.is_dir()
        || path
            .as_os_str()
            .to_string_lossy()
            .ends_with(['/', std::path::MAIN_SEPARATOR])
}

fn without_slash(path: &Path) -> std::path::PathBuf {
    if is_remote(path) {
        return path.to_owned();
    }
    path.components().collect()
}

/// Content that can be written in every format.
pub trait Writable {
    /// Renders it in a format other than CSV and NDJSON.
    fn rendered(&self, format: FileFormat, layout: &TextLayout) -> Result<String, RequestError>;
    /// All tables, each with the id of its report.
    fn tables(&self) -> Vec<NamedTable>;
    /// Reports without an answer, with the reasons.
    fn not_applicable(&self) -> Vec<(&str, String)>;
}

/// Writes the files before stdout, so that a closed pipe does not prevent them.
pub fn write(
    document: &impl Writable,
    output: &OutputArgs,
    guard: &OutputGuard,
    stderr: &Stderr,
) -> Result<(), RequestError> {
    for file in output.output.iter().filter(|file| !file.is_stdout()) {
        let layout = layout_of(output, terminal::DEFAULT_WIDTH, AnsiStyle::PLAIN);
        let path = &file.path;
        if file.format == FileFormat::Csv && is_directory(path) {
            write_tables(document, output, path, guard)?;
        } else if file.format == FileFormat::Csv {
            write_table(
                csv::one(&document.tables(), output.table.as_deref())
                    .map_err(RequestError::Usage)?,
                output,
                path,
                guard,
            )?;
        } else {
            let text = text_of(document, file.format, output, &layout)?;
            let text = match mark_of(file.format) {
                Some(mark) => format!("{text}\n{mark}\n"),
                None => text,
            };
            write_to(path, &text)?;
        }
        stderr.detail(&format!("wrote {}", path.display()));
    }
    let style = if stderr.colors_stdout() {
        AnsiStyle::COLOR
    } else {
        AnsiStyle::PLAIN
    };
    let layout = layout_of(output, terminal::width(), style);
    let format = output
        .output
        .iter()
        .find(|file| file.is_stdout())
        .map_or(output.format.into(), |file| file.format);
    let text = text_of(document, format, output, &layout)?;
    if format == FileFormat::Text {
        print_text(&text)
    } else {
        print(&text)
    }
}

/// What tells a file of this format from one that a person wrote; other formats have a mark of their own.
fn mark_of(format: FileFormat) -> Option<&'static str> {
    match format {
        FileFormat::Text => Some(TEXT_MARK),
        FileFormat::Md => Some(MARKDOWN_MARK),
        _ => None,
    }
}

/// Prepares text for the terminal.
pub fn for_terminals(text: &str) -> String {
    let text = without_orders(text);
    if terminal::has_unicode() {
        text
    } else {
        terminal::ascii(&text)
    }
}

/// Prints text composed by a command, which may contain colours.
pub fn print_text(text: &str) -> Result<(), RequestError> {
    send(&for_terminals(text))
}

/// Prints lines without colours that contain names from files as they are.
pub fn print_names(text: &str) -> Result<(), RequestError> {
    send(&for_terminals(&harmless(text)))
}

/// The layout: text shows the first rows, other formats have high limits.
fn layout_of(output: &OutputArgs, width: usize, style: AnsiStyle) -> TextLayout {
    const ROWS: usize = 10;
    const ENTRIES: usize = 10_000;
    TextLayout {
        width,
        top: output.top.unwrap_or(ROWS),
        entries: output.top.unwrap_or(ENTRIES),
        style,
    }
}

fn text_of(
    document: &impl Writable,
    format: FileFormat,
    output: &OutputArgs,
    layout: &TextLayout,
) -> Result<String, RequestError> {
    let rows = output.top.unwrap_or(0);
    let wanted = output.table.as_deref();
    match format {
        FileFormat::Csv => {
            let tables = document.tables();
            Ok(csv::csv(
                &csv::one(&tables, wanted)
                    .map_err(RequestError::Usage)?
                    .table,
                rows,
                output.csv.cells(),
            ))
        }
        FileFormat::Ndjson => {
            let tables = document.tables();
            let chosen = csv::chosen(&tables, wanted).map_err(RequestError::Usage)?;
            Ok(ndjson::lines(&chosen, &document.not_applicable(), rows))
        }
        format => document.rendered(format, layout),
    }
}

/// Writes every table as a separate file.
fn write_tables(
    document: &impl Writable,
    output: &OutputArgs,
    directory: &Path,
    guard: &OutputGuard,
) -> Result<(), RequestError> {
    let failed = |error| RequestError::Write {
        error,
        path: directory.to_owned(),
    };
    if !directory.is_dir() {
        make_directory(&without_slash(directory)).map_err(failed)?;
    }
    let tables = document.tables();
    for one in csv::chosen(&tables, output.table.as_deref()).map_err(RequestError::Usage)? {
        write_table(
            one,
            output,
            &directory.join(format!("{}.csv", one.name())),
            guard,
        )?;
    }
    Ok(())
}

/// Writes a table, not over one with other columns.
fn write_table(
    one: &NamedTable,
    output: &OutputArgs,
    path: &Path,
    guard: &OutputGuard,
) -> Result<(), RequestError> {
    let headings: Vec<&str> = one.table.columns.iter().map(|column| column.id).collect();
    guard
        .check_table(path, &headings)
        .map_err(RequestError::Usage)?;
    write_to(
        path,
        &csv::csv(&one.table, output.top.unwrap_or(0), output.csv.cells()),
    )
}

/// Writes a file; prints it where the path is `-`.
pub fn write_to(path: &Path, text: &str) -> Result<(), RequestError> {
    if path.as_os_str() == STANDARD {
        return print(text);
    }
    write_file(path, text).map_err(|error| RequestError::Write {
        error,
        path: path.to_owned(),
    })
}

impl Writable for Document {
    fn rendered(&self, format: FileFormat, layout: &TextLayout) -> Result<String, RequestError> {
        let gated = |name| self.gated.as_ref().ok_or_else(|| only_judged(name));
        Ok(match format {
            FileFormat::Text | FileFormat::Csv | FileFormat::Ndjson => {
                render::text::document(self, layout)
            }
            FileFormat::Json => render::json::document(self, layout.entries)?,
            FileFormat::Md => render::md::document(self, layout),
            FileFormat::Junit => {
                let gated = gated("junit")?;
                let runs = std::slice::from_ref(&gated.run);
                render::junit::junit(&gated.report, runs, gated.comparison.as_ref())
            }
            FileFormat::Sarif => {
                gated("sarif")?;
                render::sarif::of(self)?
            }
            FileFormat::Html => render::html::page(self, gated("html")?),
        })
    }

    fn tables(&self) -> Vec<NamedTable> {
        csv::tables(self)
    }

    fn not_applicable(&self) -> Vec<(&str, String)> {
        let sections = self.sections().iter();
        sections
            .filter_map(|section| Some((section.id, section.result.as_ref().err()?.to_string())))
            .collect()
    }
}

/// The error for a format that only some commands support.
fn only_judged(format: &str) -> RequestError {
    RequestError::Usage(format!(
        "{format} is written by systole analyze and systole compare"
    ))
}

/// Most bytes of data that is printed piece by piece.
const MOST_PRINTED: usize = 1 << 30;

/// Prints data piece by piece: exact for programs, and where it does not command the terminal if that is what reads it.
pub struct Printer {
    out: BufWriter<StdoutLock<'static>>,
    is_terminal: bool,
    failed: Option<io::Error>,
    bytes: usize,
}

impl Printer {
    /// Nothing is printed yet.
    pub fn to_stdout() -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        Self {
            out: BufWriter::new(stdout.lock()),
            is_terminal,
            failed: None,
            bytes: 0,
        }
    }

    /// Prints a piece; false without printing it if there would be more than a gigabyte, or nobody reads it.
    pub fn takes(&mut self, piece: &str) -> bool {
        self.bytes = self.bytes.saturating_add(piece.len());
        !self.is_full() && self.print(piece)
    }

    /// Whether there was more than fits.
    pub fn is_full(&self) -> bool {
        self.bytes > MOST_PRINTED
    }

    /// Prints a piece in any case; false if nobody reads it.
    pub fn print(&mut self, piece: &str) -> bool {
        if self.failed.is_none() {
            let piece = if self.is_terminal {
                Cow::Owned(harmless(piece))
            } else {
                Cow::Borrowed(piece)
            };
            self.failed = self.out.write_all(piece.as_bytes()).err();
        }
        self.failed.is_none()
    }

    /// Ends; a reader that closes the pipe (`| head`) is not an error.
    pub fn finish(mut self) -> Result<(), RequestError> {
        let ended = self.failed.take().map_or_else(|| self.out.flush(), Err);
        match ended {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(RequestError::Stdout(error))
            }
            _ => Ok(()),
        }
    }
}

/// Prints data as [`Printer`] does.
pub fn print(text: &str) -> Result<(), RequestError> {
    let mut printer = Printer::to_stdout();
    printer.print(text);
    printer.finish()
}

fn send(text: &str) -> Result<(), RequestError> {
    let mut printer = Printer {
        is_terminal: false,
        ..Printer::to_stdout()
    };
    printer.print(text);
    printer.finish()
}
