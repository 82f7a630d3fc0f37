//! `systole doctor`: the data quality of a trace.

use analysis::{Scope, Table, Tabular as _};
use clap::Args;
use importers::Progress;
use serde_json::json;

use crate::common::args::{ForceArgs, OutputArgs};
use crate::common::outcome::CommandOutcome;
use crate::common::stderr::Stderr;
use crate::common::values::OutputFormat;
use crate::common::{loading, output, terminal};
use render::{Document, DocumentView, NamedTable, table};
use request::{RequestError, TraceRequest, checks};
use session::files::OutputGuard;
use session::{CaptureSize, Session};

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
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub force: ForceArgs,
}

pub fn run(args: &DoctorArgs, stderr: &Stderr) -> Result<CommandOutcome, RequestError> {
    let guard = OutputGuard::new(args.input.files(), args.force.force);
    output::check(&args.output, &guard)?;
    let session = loading::open_for(&args.output, &args.input, stderr)?;
    checks::check_devices(&session, &args.input.assume.values.device)?;
    if args.size {
        return size(&session, args, stderr);
    }
    let document = Document::new(&session, Scope::WholeTrace, &[DOCTOR], DocumentView::Doctor);
    output::write(&document, &args.output, &guard, stderr)?;
    Ok(args.output.outcome(document.doubt()))
}

/// Where the bytes of the files went.
fn size(
    session: &Session,
    args: &DoctorArgs,
    stderr: &Stderr,
) -> Result<CommandOutcome, RequestError> {
    let path = &args.input.path;
    let found = CaptureSize::of(session, &Progress::new());
    let found = found.map_err(|error| RequestError::import(error, path))?;
    let size = found.ok_or_else(|| {
        let why = "only files of the XLA profiler (*.xplane.pb) have parts";
        RequestError::DoesNotApply(format!("{why}: {}", path.display()))
    })?;
    let table = NamedTable {
        report: "size",
        table: size.tables().swap_remove(0),
    };
    let text = |table: &Table| {
        let style = stderr.stdout_style();
        let layout = terminal::whole_tables(style);
        let lines = size.statements.iter();
        let lines = lines.map(|sentence| layout.plain_lines(0, sentence));
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
    let mut text = output::list(output.format, output.csv.cells(), table, text, json);
    if output.format == OutputFormat::Md {
        text = format!("{}\n\n{text}", size.statements.join("\n\n"));
    }
    output::print_as(output.format, &text)?;
    Ok(CommandOutcome::Done)
}

/// The name of the format and its version.
const SIZE_SCHEMA: &str = "systole.size/1";
