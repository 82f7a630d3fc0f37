//! `systole schema`: JSON Schemas of the published formats.

use super::prelude::*;
use analysis::Environment;
use analysis::compare::{self, Summary, WrittenRuns};
use analysis::engine::environment::RUN_SCHEMA;
use request::SettingsFile;
use request::history_file::{self, HistoryLine};

use render::{comparison, json};

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Format to describe
    #[arg(value_enum)]
    pub what: SchemaArg,
}

/// Published formats.
#[derive(Clone, Copy, Debug, ValueEnum)]
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
    /// systole.run.json beside a profile: versions, flags, code.
    Environment,
    /// The file of budgets, systole.toml, as JSON.
    Budget,
}

impl SchemaArg {
    /// The JSON Schema.
    fn schema(self) -> Value {
        match self {
            Self::Summary => json::file_schema::<Summary>(compare::SCHEMA),
            Self::Runs => json::file_schema::<WrittenRuns<'_>>(compare::RUNS_SCHEMA),
            Self::Comparison => comparison::schema(),
            Self::Report => json::schema(),
            Self::History => json::file_schema::<HistoryLine>(history_file::SCHEMA),
            Self::Budget => budget(),
            Self::Environment => json::file_schema::<Environment>(RUN_SCHEMA),
        }
    }
}

/// The schema of systole.toml, which has no field that says what it is.
fn budget() -> Value {
    let mut schema = Value::Object(SettingsFile::schema());
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["$id"] = "urn:systole:budget/1".into();
    schema["title"] = "systole.toml".into();
    schema["additionalProperties"] = false.into();
    schema
}

pub fn run(args: &SchemaArgs) -> Result<CommandOutcome> {
    output::print(&(serde_json::to_string_pretty(&args.what.schema())? + "\n"))?;
    Ok(CommandOutcome::Done)
}
