//! Documents as JSON: everything, exactly, and the same on every run.

use std::collections::BTreeMap;

use analysis::compare::Comparison;
use analysis::gates::GatesReport;
use analysis::{ANALYSES, Options, Scope};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema, json_schema};
use serde::Serialize;
use serde_json::Value;
use trace_model::{ImportLog, MemoryUse};

use super::cut::{self, Cut};
use super::{Document, InputFile};

/// Fields may be added under the same number, never changed or removed.
pub const SCHEMA: &str = "systole.report/2";

/// What `systole analyze` found. A number's name ends in its unit (`_ps`, `_bytes`, `_percent`, `_per_second` …) or the
/// number stands beside a field `unit`; numbers without unit are counts, ordinals and ratios. null is "cannot be known
/// from this capture".
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Report")]
struct Written<'a> {
    /// Name and number of this format.
    schema: &'static str,
    /// What wrote it.
    tool: Tool,
    /// The files that were read.
    input: Vec<InputFile>,
    /// Which part of the trace the reports are about.
    scope: Scope,
    /// Under which assumptions.
    options: &'a Options,
    /// How large the trace is.
    trace: TraceFacts,
    /// What reading the files lost or mended.
    import: ImportFacts<'a>,
    /// The reports by the id of their analysis.
    reports: BTreeMap<&'static str, WrittenSection>,
    /// What gates say, where there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    gates: Option<&'a GatesReport>,
    /// Beside the baseline, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Comparison>")]
    comparison: Option<Value>,
    /// Some lists are shorter than they were: `--top` says how long they may be.
    truncated: bool,
    /// Which, and how long they were.
    truncated_lists: Vec<Cut>,
}

/// What wrote a document.
#[derive(Serialize, JsonSchema)]
pub(super) struct Tool {
    /// Name of the program.
    name: &'static str,
    /// Its version.
    version: &'static str,
}

impl Tool {
    /// This program.
    pub(super) const THIS: Self = Self { name: "systole", version: env!("CARGO_PKG_VERSION") };
}

/// How large a trace is.
#[derive(Serialize, JsonSchema)]
struct TraceFacts {
    /// What made its times, where nothing was measured: `SIMULATED by ASTRA-sim`.
    badge: Option<String>,
    /// Slices of all tracks.
    slices: u64,
    /// Tracks.
    tracks: usize,
    /// From the first event to the end of the last.
    duration_ps: i64,
    /// What it takes in memory.
    memory: MemoryUse,
}

/// What reading files lost or mended.
#[derive(Serialize, JsonSchema)]
struct ImportFacts<'a> {
    /// Events or files that were lost.
    lost: u64,
    /// By kind, with examples.
    issues: &'a ImportLog,
}

/// One report, or why there is none.
#[derive(Serialize)]
#[serde(untagged)]
enum WrittenSection {
    Report { title: &'static str, report: Value },
    NotApplicable { title: &'static str, not_applicable: String },
}

impl JsonSchema for WrittenSection {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Section".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}

/// The JSON of a document; lists have at most `top` entries, all where it is 0.
pub fn document(document: &Document, top: usize) -> serde_json::Result<String> {
    let model = document.session.model();
    let mut truncated_lists = Vec::new();
    let mut section = |section: &super::Section| match &section.result {
        Ok(report) => {
            let mut report = report.json();
            cut::lists(&mut report, top, &format!("/reports/{}/report", section.id), &mut truncated_lists);
            WrittenSection::Report { title: section.title, report }
        }
        Err(why) => WrittenSection::NotApplicable { title: section.title, not_applicable: why.to_string() },
    };
    let reports = document.sections().iter().map(|one| (one.id, section(one))).collect();
    let gated = document.gated.as_ref().filter(|gated| gated.are_set);
    let mut comparison = gated.and_then(|gated| gated.comparison.as_ref()).map(serde_json::to_value).transpose()?;
    if let Some(comparison) = &mut comparison {
        cut::lists(comparison, top, "/comparison", &mut truncated_lists);
    }
    let written = Written {
        schema: SCHEMA,
        tool: Tool::THIS,
        input: document.inputs(),
        scope: document.scope,
        options: document.session.options(),
        trace: TraceFacts {
            badge: model.badge(),
            slices: model.slice_count() as u64,
            tracks: model.tracks().len(),
            duration_ps: model.extent().dur().ps(),
            memory: model.memory_use(),
        },
        import: ImportFacts { lost: model.import_log().lost(), issues: model.import_log() },
        reports,
        gates: gated.map(|gated| &gated.report),
        comparison,
        truncated: !truncated_lists.is_empty(),
        truncated_lists,
    };
    Ok(serde_json::to_string_pretty(&written)? + "\n")
}

/// The JSON Schema of [`document`], from the types that are written.
pub fn schema() -> serde_json::Result<String> {
    let mut generator = generator();
    let sections: serde_json::Map<String, Value> = ANALYSES
        .iter()
        .map(|entry| {
            let report = (entry.schema)(&mut generator);
            let section = json_schema!({
                "anyOf": [
                    {
                        "type": "object",
                        "properties": { "title": { "const": entry.title }, "report": report },
                        "required": ["title", "report"],
                    },
                    {
                        "type": "object",
                        "properties": {
                            "title": { "const": entry.title },
                            "not_applicable": { "description": "Why there is no report.", "type": "string" },
                        },
                        "required": ["title", "not_applicable"],
                    },
                ],
            });
            (entry.id.to_owned(), section.to_value())
        })
        .collect();
    let mut whole = generator.into_root_schema_for::<Written<'_>>().to_value();
    whole["$id"] = "urn:systole:report/2".into();
    whole["properties"]["schema"] = serde_json::json!({ "const": SCHEMA });
    // `whatif` writes the same document with a report of its own.
    whole["properties"]["reports"] = serde_json::json!({
        "description": "The reports by the id of their analysis.",
        "type": "object",
        "properties": sections,
    });
    Ok(serde_json::to_string_pretty(&whole)? + "\n")
}

/// As types are written, not as they are read.
pub(super) fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_serialize().into_generator()
}
