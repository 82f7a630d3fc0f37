//! Writes documents to stdout and to files.

use std::io::{self, Write as _};
use std::path::Path;

use super::Talk;
use super::args::{FileFormat, OutputArgs, OutputFile};
use super::failure::Failure;
use crate::files::{directory_of, write_file};
use crate::render::{self, Document, Layout, Style};

/// Width of text that does not go to a terminal.
const FILE_WIDTH: usize = 100;
/// Narrower than this, lines break anyway.
const MIN_WIDTH: usize = 60;
/// Wider tables are harder to read, not easier.
const MAX_WIDTH: usize = 140;

/// Refuses output files that cannot be, before an hour of work.
pub fn check(output: &OutputArgs) -> Result<(), Failure> {
    output.output.iter().try_for_each(|OutputFile { path, .. }| check_file(path))
}

/// The same of one file.
pub fn check_file(path: &Path) -> Result<(), Failure> {
    let refused = |kind, why| Err(Failure::Write { error: io::Error::new(kind, why), path: path.to_owned() });
    if !directory_of(path).is_dir() {
        return refused(io::ErrorKind::NotFound, "the directory does not exist");
    }
    if path.is_dir() {
        return refused(io::ErrorKind::IsADirectory, "this is a directory");
    }
    Ok(())
}

/// Writes the files first, so that a closed pipe does not cost them.
pub fn write(document: &Document, output: &OutputArgs, talk: &Talk) -> Result<(), Failure> {
    write_as(output, talk, |format, layout| rendered(document, format, layout))
}

/// The same of anything that can be rendered in each format.
pub fn write_as(
    output: &OutputArgs,
    talk: &Talk,
    rendered: impl Fn(FileFormat, &Layout) -> Result<String, Failure>,
) -> Result<(), Failure> {
    for OutputFile { format, path } in &output.output {
        let layout = layout_of(output, FILE_WIDTH, Style::PLAIN);
        let text = rendered(*format, &layout)?;
        write_file(path, &text).map_err(|error| Failure::Write { error, path: path.clone() })?;
        talk.detail(&format!("wrote {}", path.display()));
    }
    let style = if talk.color_out { Style::COLOR } else { Style::PLAIN };
    let layout = layout_of(output, width(), style);
    let format = FileFormat::from(output.format);
    let text = rendered(format, &layout)?;
    print(&if format == FileFormat::Text { super::without_orders(&text) } else { text })
}

/// Columns of stdout.
pub fn width() -> usize {
    terminal_size::terminal_size().map_or(FILE_WIDTH, |(width, _)| usize::from(width.0)).clamp(MIN_WIDTH, MAX_WIDTH)
}

/// People see the first rows; programs get everything that a program can be expected to take.
fn layout_of(output: &OutputArgs, width: usize, style: Style) -> Layout {
    const ROWS: usize = 10;
    const ENTRIES: usize = 10_000;
    Layout { width, top: output.top.unwrap_or(ROWS), entries: output.top.unwrap_or(ENTRIES), style }
}

fn rendered(document: &Document, format: FileFormat, layout: &Layout) -> Result<String, Failure> {
    let internal = |error: serde_json::Error| Failure::Internal(error.to_string());
    Ok(match format {
        FileFormat::Text => render::text::document(document, layout),
        FileFormat::Json => render::json::document(document, layout.entries).map_err(internal)?,
        FileFormat::Csv => render::csv::document(document),
        FileFormat::Md => render::md::document(document, layout),
        FileFormat::Junit => match &document.gated {
            Some(gated) => {
                let runs = std::slice::from_ref(&gated.run);
                render::junit::junit(&gated.report, runs, gated.comparison.as_ref())
            }
            None => return Err(only_judged("junit")),
        },
        FileFormat::Sarif => match &document.gated {
            Some(_) => render::sarif::of(document).map_err(internal)?,
            None => return Err(only_judged("sarif")),
        },
        FileFormat::Html => match &document.gated {
            Some(gated) => render::html::page(document, gated),
            None => return Err(only_judged("html")),
        },
    })
}

/// Some formats are about what only two commands know.
fn only_judged(format: &str) -> Failure {
    Failure::Usage(format!("{format} is written by systole analyze and systole compare"))
}

/// Prints data. A reader that has seen enough (`| head`) is success.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Stdout(error)),
        _ => Ok(()),
    }
}
