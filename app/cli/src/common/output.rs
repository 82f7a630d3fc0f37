//! Writes documents to stdout and to files.

use std::borrow::Cow;
use std::io::{self, BufWriter, StdoutLock, Write as _};

use crate::prelude::*;
use importers::is_remote;

use crate::common::args::OutputArgs;

use crate::common::answer::Answer;
use crate::common::formats::{
    DocumentFormat, FormatContent, OutputFormat, Pieces, ReportFormat, one_piece,
};
use crate::common::outcome::CommandOutcome;
use crate::common::stderr::{Stderr, harmless, without_orders};
use crate::common::terminal;
use crate::common::values::STANDARD;
use render::USUAL_ROWS;
use request::places::check_place;
use session::files::{is_same, make_directory, write_file, write_with};

/// Rejects impossible outputs before the work starts, and those that would destroy something: the files that are read, and
/// unless `force` those that this program did not write.
pub fn check(
    output: &OutputArgs,
    read: impl IntoIterator<Item = PathBuf>,
    force: bool,
) -> Result<OutputGuard> {
    let guard = OutputGuard::new(read, force);
    if output.output.iter().filter(|file| file.is_stdout()).count() > 1 {
        return Err(RequestError::Usage(
            "-o: only one format can go to standard output".to_owned(),
        ));
    }
    let mut formats = output
        .output
        .iter()
        .map(|file| file.format)
        .chain([output.format.0]);
    if output.table.is_some() && !formats.any(ReportFormat::is_rows) {
        return Err(RequestError::Usage(
            "--table is for --format csv or ndjson, and for -o csv=PATH".to_owned(),
        ));
    }
    let files: Vec<_> = output
        .output
        .iter()
        .filter(|file| !file.is_stdout())
        .collect();
    for (index, file) in files.iter().enumerate() {
        if let Some(twice) = files[..index]
            .iter()
            .find(|other| is_same(&other.path, &file.path))
        {
            let (one, other) = (twice.path.display(), file.path.display());
            return Err(RequestError::Usage(format!(
                "-o: {one} and {other} are one file: name another one"
            )));
        }
        if !file.format.is_table() {
            check_file(&file.path, &guard)?;
        } else if !is_directory(&file.path) {
            check_place(&file.path)?;
            // Whose a table is, its headings tell when it is written.
            guard.check_input(&file.path).map_err(RequestError::Usage)?;
        } else if !file.path.is_dir() {
            check_place(&without_slash(&file.path))?;
        }
    }
    Ok(guard)
}

/// Rejects a file that cannot or must not be written; `-` is accepted.
pub fn check_file(path: &Path, guard: &OutputGuard) -> Result<()> {
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

fn without_slash(path: &Path) -> PathBuf {
    if is_remote(path) {
        return path.to_owned();
    }
    path.components().collect()
}

/// Content that can be written in every format.
pub trait Writable {
    /// The whole content.
    fn rendered(&self, format: &DocumentFormat, layout: &TextLayout) -> Result<Pieces<'_>>;
    /// All tables, each with the id of its report.
    fn tables(&self) -> Vec<NamedTable>;
    /// Reports without an answer, with the reasons.
    fn not_applicable(&self) -> Vec<(&str, String)>;
    /// Rows of each table in texts, unless the user says how many.
    fn usual_rows(&self) -> usize {
        USUAL_ROWS
    }
}

/// Writes the files before stdout, so that a closed pipe does not prevent them.
pub fn write(
    document: &impl Writable,
    output: &OutputArgs,
    guard: &OutputGuard,
    stderr: &Stderr,
) -> Result<()> {
    for file in output.output.iter().filter(|file| !file.is_stdout()) {
        let layout = layout_of(document, output, terminal::DEFAULT_WIDTH, AnsiStyle::PLAIN);
        let path = &file.path;
        if file.format.is_table() && is_directory(path) {
            write_tables(document, output, path, guard)?;
        } else if file.format.is_table() {
            write_table(
                csv::one(
                    &document.tables(),
                    output.table.as_deref(),
                    &document.not_applicable(),
                )
                .map_err(RequestError::Usage)?,
                output,
                path,
                guard,
            )?;
        } else {
            let text = text_of(document, file.format, output, &layout)?;
            let mark = file.format.mark.map(|mark| Ok(format!("\n{mark}\n")));
            let mut pieces = text.chain(mark);
            write_with(path, |file| -> io::Result<()> {
                pieces.try_for_each(|piece| file.write_all(piece?.as_bytes()))
            })
            .map_err(RequestError::write(path))?;
        }
        stderr.detail(&format!("wrote {}", path.display()));
    }
    let is_csv =
        output.format.is_table() || output.output.iter().any(|file| file.format.is_table());
    if output.csv.spreadsheet && !is_csv {
        stderr.warn("--spreadsheet changes nothing: it is for CSV");
    }
    let style = stderr.stdout_style();
    let layout = layout_of(document, output, terminal::width(), style);
    let format = output
        .output
        .iter()
        .find(|file| file.is_stdout())
        .map_or(output.format.0, |file| file.format);
    let text = text_of(document, format, output, &layout)?;
    let is_text = format.is_text;
    let mut printer = Printer::to_stdout();
    printer.is_terminal &= !is_text;
    for piece in text {
        let piece = piece?;
        let piece = if is_text {
            for_terminals(&piece)
        } else {
            piece
        };
        if !printer.print(&piece) {
            break;
        }
    }
    printer.finish()
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
pub fn print_text(text: &str) -> Result<()> {
    send(&for_terminals(text))
}

/// Prints what a command composed in one of the formats, which is then done.
pub fn print_as(format: OutputFormat, text: &str) -> Result<CommandOutcome> {
    if format.is_text {
        print_text(text)?;
    } else {
        print(text)?;
    }
    Ok(CommandOutcome::Done)
}

/// A list in one of the formats: what is not text or JSON is its table.
pub fn list(
    format: OutputFormat,
    cells: CsvCells,
    report: &'static str,
    table: Table,
    text: impl FnOnce(&Table) -> String,
    json: impl FnOnce() -> Value,
) -> String {
    (format.answer)(Answer::list(report, table, text, json).with_cells(cells))
}

/// Prints lines without colours that contain names from files as they are.
pub fn print_names(text: &str) -> Result<()> {
    send(&for_terminals(&harmless(text)))
}

/// The layout: text shows the first rows, other formats have high limits.
fn layout_of(
    document: &impl Writable,
    output: &OutputArgs,
    width: usize,
    style: AnsiStyle,
) -> TextLayout {
    const ENTRIES: usize = 10_000;
    TextLayout {
        width,
        top: output.top.unwrap_or(document.usual_rows()),
        entries: output.top.unwrap_or(ENTRIES),
        style,
    }
}

fn text_of<'a>(
    document: &'a impl Writable,
    format: &ReportFormat,
    output: &OutputArgs,
    layout: &TextLayout,
) -> Result<Pieces<'a>> {
    let rows = output.top.unwrap_or(0);
    let wanted = output.table.as_deref();
    match &format.content {
        FormatContent::Table => {
            let tables = document.tables();
            let one = csv::one(&tables, wanted, &document.not_applicable())
                .map_err(RequestError::Usage)?;
            Ok(one_piece(csv::csv(&one.table, rows, output.csv.cells())))
        }
        FormatContent::Rows => {
            let tables = document.tables();
            let missing = document.not_applicable();
            let chosen = csv::chosen(&tables, wanted, &missing).map_err(RequestError::Usage)?;
            let lines = ndjson::lines(&chosen, &missing, rows);
            Ok(one_piece(lines))
        }
        FormatContent::Document(format) => document.rendered(format, layout),
    }
}

/// Writes every table as a separate file.
fn write_tables(
    document: &impl Writable,
    output: &OutputArgs,
    directory: &Path,
    guard: &OutputGuard,
) -> Result<()> {
    let failed = RequestError::write(directory);
    if !directory.is_dir() {
        make_directory(&without_slash(directory)).map_err(failed)?;
    }
    let tables = document.tables();
    let missing = document.not_applicable();
    let chosen = csv::chosen(&tables, output.table.as_deref(), &missing);
    for one in chosen.map_err(RequestError::Usage)? {
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
) -> Result<()> {
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
pub fn write_to(path: &Path, text: &str) -> Result<()> {
    if path.as_os_str() == STANDARD {
        return print(text);
    }
    write_file(path, text).map_err(RequestError::write(path))
}

impl Writable for Document {
    fn rendered(&self, format: &DocumentFormat, layout: &TextLayout) -> Result<Pieces<'_>> {
        (format.report)(self, layout)
    }

    fn tables(&self) -> Vec<NamedTable> {
        csv::tables(self)
    }

    fn usual_rows(&self) -> usize {
        self.usual_rows
    }

    fn not_applicable(&self) -> Vec<(&str, String)> {
        self.sections()
            .iter()
            .filter_map(|section| Some((section.id, section.result.as_ref().err()?.to_string())))
            .collect()
    }
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
    pub fn finish(mut self) -> Result<()> {
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
pub fn print(text: &str) -> Result<()> {
    let mut printer = Printer::to_stdout();
    printer.print(text);
    printer.finish()
}

fn send(text: &str) -> Result<()> {
    let mut printer = Printer {
        is_terminal: false,
        ..Printer::to_stdout()
    };
    printer.print(text);
    printer.finish()
}
