//! `systole doctor`: the data quality of a trace.

use analysis::Scope;
use clap::Args;

use crate::common::args::{ForceArgs, OutputArgs};
use crate::common::outcome::CommandOutcome;
use crate::common::stderr::Stderr;
use crate::common::{loading, output};
use render::{Document, DocumentView};
use request::{RequestError, TraceRequest, checks};
use session::files::OutputGuard;

/// Id of the analysis.
const DOCTOR: &str = "doctor";

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub input: TraceRequest,
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
    let document = Document::new(&session, Scope::WholeTrace, &[DOCTOR], DocumentView::Doctor);
    output::write(&document, &args.output, &guard, stderr)?;
    Ok(args.output.outcome(document.doubt()))
}
