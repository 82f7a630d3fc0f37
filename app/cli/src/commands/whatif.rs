//! `systole whatif`: replays the recorded run with changed durations.

use super::prelude::*;
use analysis::AnalysisError;

use request::WhatIfRequest;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct WhatifArgs {
    #[command(flatten)]
    pub changes: WhatIfRequest,
    #[command(flatten)]
    pub input: TraceRequest,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub scope: PartRequest,
}

pub fn run(args: &WhatifArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let guard = output::check(&args.output, args.input.files(), args.force.force)?;
    let open = Session::open_for_reports;
    let session = loading::open_for(&args.output, &args.input, open, stderr)?;
    let scope = checks::check_part(&session, &args.scope)?;
    let result = answers::prediction(&session, scope, &args.changes)?;
    let failed = result.as_ref().err().map(AnalysisError::to_string);
    let document = Document::of(&session, scope, ("whatif", "What if"), result);
    output::write(&document, &args.output, &guard, stderr)?;
    Ok(failed.map_or(CommandOutcome::Done, CommandOutcome::Inconclusive))
}
