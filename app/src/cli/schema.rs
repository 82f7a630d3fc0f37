//! `systole schema`: what the JSON that other programs read looks like.

use std::borrow::Cow;

use clap::{Args, ValueEnum};

use super::failure::{Failure, Outcome};
use super::output;
use crate::render::{comparison, json};

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
    fn text(self) -> serde_json::Result<Cow<'static, str>> {
        Ok(match self {
            Self::Summary => include_str!("../../schemas/summary.schema.json").into(),
            Self::Runs => include_str!("../../schemas/runs.schema.json").into(),
            Self::Comparison => comparison::schema()?.into(),
            Self::Report => json::schema()?.into(),
            Self::History => include_str!("../../schemas/history.schema.json").into(),
            Self::Budget => include_str!("../../schemas/budget.schema.json").into(),
        })
    }
}

/// Runs the command.
pub fn run(args: &SchemaArgs) -> Result<Outcome, Failure> {
    let text = args.what.text().map_err(|error| Failure::Internal(error.to_string()))?;
    output::print(&text)?;
    Ok(Outcome::Done)
}
