//! `systole schema`: JSON Schemas of the published formats.

use std::borrow::Cow;

use super::prelude::*;
use analysis::Provenance;
use analysis::compare::Better;
use analysis::expect::Expectation;
use analysis::reports::StepPart;
use serde_json::Map;

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
    fn text(self) -> serde_json::Result<Cow<'static, str>> {
        Ok(match self {
            Self::Summary => pretty(&summary()?)?.into(),
            Self::Runs => runs()?.into(),
            Self::Comparison => comparison::schema()?.into(),
            Self::Report => json::schema()?.into(),
            Self::History => history()?.into(),
            Self::Budget => budget()?.into(),
            Self::Environment => pretty(&json::environment_schema())?.into(),
        })
    }
}

fn pretty(schema: &Value) -> serde_json::Result<String> {
    serde_json::to_string_pretty(schema).map(|text| text + "\n")
}

/// Removes what only the schema of a whole file has.
fn unnamed(schema: &mut Value) {
    let fields = schema.as_object_mut();
    if let Some(fields) = fields {
        fields.retain(|name, _| !["$schema", "$id", "title"].contains(&name.as_str()));
    }
}

/// Replaces the names of types, where values of them are, by their schemas.
fn with_types(schema: &mut Value) {
    let named = match schema.get("$ref").and_then(Value::as_str) {
        Some("Unit") => json::inline_schema::<Unit>(),
        Some("Better") => json::inline_schema::<Better>(),
        Some("Provenance") => json::inline_schema::<Provenance>(),
        Some("StepPart") => json::inline_schema::<StepPart>(),
        _ => {
            let fields = schema.as_object_mut().into_iter();
            return fields.flat_map(Map::values_mut).for_each(with_types);
        }
    };
    *schema = named;
    unnamed(schema);
}

/// The schema of a summary, which contains an environment.
fn summary() -> serde_json::Result<Value> {
    let mut schema: Value =
        serde_json::from_str(include_str!("../../schemas/summary.schema.json"))?;
    with_types(&mut schema);
    let mut environment = json::environment_schema();
    unnamed(&mut environment);
    environment["properties"]["schema"] = json!({ "type": "string" });
    schema["properties"]["facts"]["properties"]["environment"] = environment;
    Ok(schema)
}

/// The schema of several summaries.
fn runs() -> serde_json::Result<String> {
    let mut schema: Value = serde_json::from_str(include_str!("../../schemas/runs.schema.json"))?;
    let mut one = summary()?;
    unnamed(&mut one);
    schema["properties"]["runs"]["items"] = one;
    pretty(&schema)
}

/// The schema of a line of the history, which contains a summary.
fn history() -> serde_json::Result<String> {
    let mut schema: Value =
        serde_json::from_str(include_str!("../../schemas/history.schema.json"))?;
    schema["properties"]["summary"] = summary()?;
    pretty(&schema)
}

/// The schema of systole.toml, which may contain expectations.
fn budget() -> serde_json::Result<String> {
    let mut schema: Value = serde_json::from_str(include_str!("../../schemas/budget.schema.json"))?;
    let mut expectation = Value::Object(request::schema_of::<Expectation>());
    expectation["required"] = json!(["name"]);
    expectation["additionalProperties"] = json!(false);
    schema["properties"]["expect"] = json!({ "type": "array", "items": expectation });
    pretty(&schema)
}

pub fn run(args: &SchemaArgs) -> Result<CommandOutcome> {
    let text = args.what.text()?;
    output::print(&text)?;
    Ok(CommandOutcome::Done)
}
