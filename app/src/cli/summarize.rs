//! `systole summarize`: what a comparison needs of a run, as a file to commit.

use std::path::PathBuf;

use analysis::Scope;
use clap::Args;

use super::Talk;
use super::args::{Format, InputArgs};
use super::compare::summary_of;
use super::failure::{Failure, Outcome};
use super::{analyze, loading, output};

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct SummarizeArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// Write it to this file instead of stdout (`json=base.json` is the same as `base.json`)
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Ops to list, those of most time; the others are added up
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub ops: usize,
    /// Steps in which the time of each op is kept, evenly spread
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub op_steps: usize,
}

/// Runs the command.
pub fn run(args: &SummarizeArgs, talk: &Talk) -> Result<Outcome, Failure> {
    let path = args.output.as_deref().map(|path| match path.to_str().and_then(|text| text.strip_prefix("json=")) {
        Some(rest) => PathBuf::from(rest),
        None => path.to_owned(),
    });
    if let Some(path) = &path {
        output::check_file(path)?;
    }
    let session = loading::open(&args.input, Format::Json, talk)?;
    analyze::check_devices(&session, &args.input.assume.device)?;
    let summary = summary_of(&session, Scope::WholeTrace)?.shortened(args.ops, args.op_steps);
    let text = summary.to_json().map_err(|error| Failure::Internal(error.to_string()))?;
    match path {
        Some(path) => crate::files::write_file(&path, &text).map_err(|error| Failure::Write { error, path })?,
        None => output::print(&text)?,
    }
    Ok(Outcome::Done)
}
