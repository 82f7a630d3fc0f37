//! `systole schema`: what the JSON that other programs read looks like.

use clap::{Args, ValueEnum};

use super::failure::{Failure, Outcome};
use super::output;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Of what
    #[arg(value_enum)]
    pub what: SchemaArg,
}

/// Published formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaArg {
    /// `systole summarize`: a baseline.
    Summary,
    /// `systole summarize` of several runs.
    Runs,
    /// `systole compare --format json`.
    Comparison,
    /// `systole analyze --format json`.
    Report,
    /// A line of `--history`.
    History,
    /// The file of budgets, systole.toml, as JSON.
    Budget,
}

impl SchemaArg {
    /// The JSON Schema.
    pub fn text(self) -> &'static str {
        match self {
            Self::Summary => include_str!("../../schemas/summary.schema.json"),
            Self::Runs => include_str!("../../schemas/runs.schema.json"),
            Self::Comparison => include_str!("../../schemas/comparison.schema.json"),
            Self::Report => include_str!("../../schemas/report.schema.json"),
            Self::History => include_str!("../../schemas/history.schema.json"),
            Self::Budget => include_str!("../../schemas/budget.schema.json"),
        }
    }
}

/// Runs the command.
pub fn run(args: &SchemaArgs) -> Result<Outcome, Failure> {
    output::print(args.what.text())?;
    Ok(Outcome::Done)
}
