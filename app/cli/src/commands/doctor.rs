//! `systole doctor`: the data quality of a trace.

use super::prelude::*;
use analysis::Tabular as _;
use analysis::reports::summary::doctor::{CaptureRow, CaptureRows};

use render::DocumentView;
use session::CaptureSize;

/// Id of the analysis.
const DOCTOR: &str = "doctor";

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub input: TraceRequest,
    /// What the bytes of the capture hold, how many steps fit into a file, and what to leave out
    #[arg(long, conflicts_with_all = ["output", "table"])]
    pub size: bool,
    /// Which rows and counters devices can record, by which option or flag, and which of them are here
    #[arg(long, conflicts_with_all = ["output", "table", "size"])]
    pub rows: bool,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub force: ForceArgs,
}

pub fn run(args: &DoctorArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let guard = output::check(&args.output, args.input.files(), args.force.force)?;
    // Its document says how much memory the whole model takes.
    let open = if args.size || args.rows {
        Session::open_for_reports
    } else {
        Session::open
    };
    let session = loading::open_for(&args.output, &args.input, open, stderr)?;
    if args.size {
        return size(&session, args, stderr);
    }
    if args.rows {
        return rows(&session, args, stderr);
    }
    let document = Document::new(&session, Scope::WholeTrace, &[DOCTOR], DocumentView::Doctor);
    output::write(&document, &args.output, &guard, stderr)?;
    Ok(args.output.outcome(document.doubt()))
}

/// Where the bytes of the files went.
fn size(session: &Session, args: &DoctorArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let path = &args.input.path;
    let size = CaptureSize::of(session, &Progress::new())
        .map_err(|error| RequestError::import(error, path))?;
    let size = size.ok_or_else(|| {
        let why = "only files of the XLA profiler (*.xplane.pb) have parts";
        RequestError::DoesNotApply(format!("{why}: {}", path.display()))
    })?;
    let table = size.tables().swap_remove(0);
    let text = |table: &Table| {
        let style = stderr.stdout_style();
        let layout = terminal::whole_tables(style);
        let lines = size
            .statements
            .iter()
            .map(|sentence| layout.plain_lines(0, sentence));
        format!(
            "{}\n{}{}",
            lines.collect::<String>(),
            table::table(&table.without(&["option", "lost"]), &layout),
            layout.lines(
                0,
                "How to leave each part out, and what is lost by it: --format md",
                str::to_owned
            )
        )
    };
    let json = || json!({"schema": SIZE_SCHEMA, "size": size});
    let output = &args.output;
    let answer = Answer::list("size", table, text, json)
        .with_cells(output.csv.cells())
        .with_markdown(|table| format!("{}\n\n{table}", size.statements.join("\n\n")));
    output::print_as(output.format, &(output.format.answer)(answer))
}

/// What devices can record, and what of it is here.
fn rows(session: &Session, args: &DoctorArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    if session.model().tensor_cores().is_empty() && session.options().chip().is_none() {
        let why = "no TPU is in this capture, so it has no rows of TPUs; --device-spec CHIP lists those that a chip can have";
        let path = args.input.path.display();
        return Err(RequestError::DoesNotApply(format!("{why}: {path}")));
    }
    let rows = CaptureRows::of(session.model(), session.options());
    let table = rows.tables().swap_remove(0);
    let layout = terminal::whole_tables(stderr.stdout_style());
    let text = |table: &Table| {
        let missing: String = rows
            .rows
            .iter()
            .filter_map(CaptureRow::remedy)
            .map(|row| layout.plain_lines(2, &row))
            .collect();
        let table = table::table(&table.without(&["by", "since"]), &layout);
        format!("{table}\nWhat is not here is recorded by\n{missing}")
    };
    let json = || json!({"schema": ROWS_SCHEMA, "rows": rows});
    let output = &args.output;
    let text = output::list(output.format, output.csv.cells(), "rows", table, text, json);
    output::print_as(output.format, &text)
}

/// The names of the formats and their versions.
const SIZE_SCHEMA: &str = "systole.size/1";
const ROWS_SCHEMA: &str = "systole.rows/1";
