//! `systole kernels`: custom kernels and what they do inside.

use clap::Args;

use crate::common::args::{ForceArgs, OutputArgs};
use crate::common::outcome::CommandOutcome;
use crate::common::stderr::Stderr;
use crate::common::{loading, output};
use render::{Document, DocumentView};
use request::{PartRequest, RequestError, TraceRequest, checks};
use session::files::OutputGuard;

/// Ids of the analyses: those of the tab *Kernels*.
const KERNELS: [&str; 3] = ["kernels", "hardware_counters", "sparse_cores"];

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct KernelsArgs {
    #[command(flatten)]
    pub input: TraceRequest,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub scope: PartRequest,
}

pub fn run(args: &KernelsArgs, stderr: &Stderr) -> Result<CommandOutcome, RequestError> {
    let guard = OutputGuard::new(args.input.files(), args.force.force);
    output::check(&args.output, &guard)?;
    let session = loading::open_for(&args.output, &args.input, stderr)?;
    checks::check_scope(&session, &args.input, &args.scope)?;
    let document = Document::new(&session, args.scope.scope(), &KERNELS, DocumentView::Tables);
    output::write(&document, &args.output, &guard, stderr)?;
    Ok(args.output.outcome(document.doubt()))
}
