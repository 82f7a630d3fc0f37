//! `systole events`: events by name, category, track, time, step or length, as a list or in groups.

use super::prelude::*;
use analysis::{Cell, Column, Report};
use serde_json::Map;

use crate::common::output::Printer;
use request::{EventAnswer, EventQuestion, EventsRequest};
use session::events::{EventPage, EventTotals};

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct EventsArgs {
    #[command(flatten)]
    pub input: TraceRequest,
    #[command(flatten)]
    pub question: EventsRequest,
    #[command(flatten)]
    pub scope: PartRequest,
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub format: OutputFormat,
    #[command(flatten)]
    pub csv: CsvArgs,
}

/// The answer for a reader, with a note that says how many rows are shown.
fn report(mut answer: EventAnswer, EventPage { offset, limit }: EventPage) -> Arc<dyn Report> {
    let (total, next) = answer.extent();
    let beyond = beyond(offset, total, matches!(answer, EventAnswer::List(_)));
    let count = |number: usize| analysis::number::count(number as f64);
    let (what, table) = match &mut answer {
        EventAnswer::List(list) => ("events", &mut list.events),
        EventAnswer::Totals(totals) => ("groups", &mut totals.groups),
    };
    let (shown, all) = (count(table.rows.len()), count(total));
    let note = match (beyond, next) {
        (Some(beyond), _) => Some(beyond),
        (None, Some(next)) => Some(format!(
            "{shown} of {all} {what} are shown; {}",
            continues(next, limit)
        )),
        (None, None) if table.rows.len() < total => {
            Some(format!("{shown} of {all} {what} are shown"))
        }
        // The heading says that there is none, or one.
        (None, None) => (total > 1).then(|| format!("all {all} {what} are shown")),
    };
    table.notes.splice(0..0, note);
    match answer {
        EventAnswer::List(list) => Arc::new(list),
        EventAnswer::Totals(totals) => Arc::new(totals),
    }
}

/// What to say if the part that was asked for is beyond the last row.
fn beyond(offset: usize, total: usize, is_list: bool) -> Option<String> {
    let (what, verb) = match (is_list, total) {
        (true, 1) => ("event", "matches"),
        (true, _) => ("events", "match"),
        (false, 1) => ("group", "matches"),
        (false, _) => ("groups", "match"),
    };
    let [total_in_words, offset_in_words] =
        [total, offset].map(|number| analysis::number::count(number as f64));
    let is_beyond = total > 0 && offset >= total;
    is_beyond.then(|| {
        format!("{total_in_words} {what} {verb}: --offset {offset_in_words} is past the last one")
    })
}

/// How to get what follows.
fn continues(next: usize, limit: usize) -> String {
    let all = if limit > 0 {
        ", --limit 0 shows all"
    } else {
        ""
    };
    format!("--offset {next} continues{all}")
}

pub fn run(args: &EventsArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    args.question.check()?;
    let session = loading::open(&args.input, Session::open, args.format, stderr)?;
    let scope = checks::check_part(&session, &args.scope)?;
    let (devices, page) = (&args.input.assume.values.device, args.question.page());
    let question = || EventQuestion::new(&session, &args.question, scope, devices);
    match args.format {
        format if format.is_rows() && args.question.group_by.is_empty() => {
            let question = question()?;
            let answer = question.find(&|| true);
            let next = |shown| answer.next(shown);
            print(
                args,
                &answer.columns(),
                answer.rows(),
                (answer.total, &next),
                stderr,
            )?;
        }
        format if format.is_rows() => {
            let EventTotals { total, groups, .. } = question()?.totals(&|| true);
            let next = |shown| page.next(shown, total);
            print(
                args,
                &groups.columns,
                groups.rows.into_iter(),
                (total, &next),
                stderr,
            )?;
        }
        format => {
            let report = report(question()?.answer(&|| true), page);
            let all = OutputArgs {
                format,
                top: Some(0),
                csv: args.csv,
                ..OutputArgs::default()
            };
            output::write(
                &Document::of(&session, scope, ("events", "Events"), Ok(report)),
                &all,
                &OutputGuard::default(),
                stderr,
            )?;
        }
    }
    Ok(CommandOutcome::Done)
}

/// Prints rows as they come, as CSV or as an object for each; what is left out is counted.
fn print(
    args: &EventsArgs,
    columns: &[Column],
    rows: impl Iterator<Item = Vec<Cell>>,
    (total, next): (usize, &dyn Fn(usize) -> Option<usize>),
    stderr: &Stderr,
) -> Result<()> {
    let (is_csv, cells, page) = (
        args.format.is_table(),
        args.csv.cells(),
        args.question.page(),
    );
    if let Some(beyond) = beyond(page.offset, total, args.question.group_by.is_empty()) {
        stderr.warn(&beyond);
    }
    let mut printer = Printer::to_stdout();
    if is_csv {
        printer.print(&csv::record(columns.iter().map(|column| column.id)));
    }
    let mut shown = 0;
    for row in rows {
        let line = if is_csv {
            csv::row(&row, cells)
        } else {
            line(columns, &row)
        };
        if !printer.takes(&line) {
            break;
        }
        shown += 1;
    }
    let next = next(shown);
    if let Some(next) = next.filter(|_| !is_csv) {
        printer.print(&format!(
            "{}\n",
            json!({"truncated": true, "total": total, "next_offset": next})
        ));
    }
    printer.finish()?;
    if let Some(next) = next.filter(|_| is_csv) {
        stderr.warn(&format!(
            "{shown} of {total} rows; {}",
            continues(next, page.limit)
        ));
    }
    Ok(())
}

/// A line with an object for a row.
fn line(columns: &[Column], row: &[Cell]) -> String {
    let fields = columns
        .iter()
        .zip(row)
        .map(|(column, cell)| (column.id.to_owned(), json!(cell)));
    format!("{}\n", Value::Object(fields.collect::<Map<_, _>>()))
}
