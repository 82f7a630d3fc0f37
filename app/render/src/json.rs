//! Documents as JSON: complete, exact and deterministic.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::iter;
use std::rc::Rc;

use crate::prelude::*;
use analysis::engine::json_text::{JsonText, TruncatedList};
use analysis::math::parallel;
use analysis::{ANALYSES, Environment, Options, facts};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, json_schema};
use serde::Serialize;
use serde_json::{Value, json};
use trace_model::{ImportLog, MemoryUse};

use crate::{InputFile, ReportSection};

/// Fields may be added to this version, but never changed or removed.
pub const SCHEMA: &str = "systole.report/3";

/// The result of `systole analyze`. The name of a number ends with its unit (`_ps`, `_bytes`, `_percent`, `_per_second`
/// …), or a field `unit` stands beside it; numbers without a unit are counts, ordinals and ratios. null means "not
/// recorded in this capture".
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Report")]
struct WrittenReport<'a> {
    /// Name and number of this format.
    schema: &'static str,
    /// The program that wrote it.
    tool: ToolVersion,
    /// The files that were read; of two programs those of the first one first.
    input: Vec<InputFile>,
    /// What the run was built from and where it ran, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<Environment>,
    /// The scope of the reports.
    scope: Scope,
    /// The assumptions.
    options: &'a Options,
    /// The size of the trace.
    trace: TraceSize,
    /// What was lost or repaired on import.
    import: ImportFacts<'a>,
    /// The reports by the id of their analysis.
    reports: serde_json::Map<String, Value>,
    /// The result of the gates, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    gates: Option<&'a GatesReport>,
    /// The comparison with the baseline, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Comparison>")]
    comparison: Option<()>,
    /// Whether lists were truncated; `--top` sets their maximum length.
    truncated: bool,
    /// The truncated lists with their original lengths.
    truncated_lists: Vec<TruncatedList>,
}

/// The program that wrote a document.
#[derive(Serialize, JsonSchema)]
pub(super) struct ToolVersion {
    /// Name of the program.
    name: &'static str,
    /// Its version.
    version: &'static str,
}

impl ToolVersion {
    pub(super) const THIS: Self = Self {
        name: "systole",
        version: env!("CARGO_PKG_VERSION"),
    };
}

/// The size of a trace.
#[derive(Serialize, JsonSchema)]
struct TraceSize {
    /// What produced its times, if they were not measured: `SIMULATED by ASTRA-sim`.
    badge: Option<String>,
    /// Slices of all tracks.
    slices: u64,
    /// Tracks.
    tracks: usize,
    /// From the first event to the end of the last.
    duration_ps: i64,
    /// Memory use of the model.
    memory: MemoryUse,
}

/// What was lost or repaired on import.
#[derive(Serialize, JsonSchema)]
struct ImportFacts<'a> {
    /// Events, files and damaged parts of files that were lost: of a part all events, at least `skipped_bytes` of its issue.
    lost: u64,
    /// By kind, with examples.
    issues: &'a ImportLog,
}

/// Reports that are written side by side.
const AT_ONCE: usize = 4;

/// The JSON of a document in pieces that follow each other, each written when it is asked for: long reports need not be in
/// memory together. Lists have at most `top` entries, or all if it is 0.
///
/// # Errors
///
/// As serde: a value that JSON cannot represent.
pub fn document(
    document: &Document,
    top: usize,
) -> serde_json::Result<impl Iterator<Item = serde_json::Result<String>>> {
    let model = document.session.model();
    let gated = document.gated.as_ref().filter(|gated| gated.are_set);
    let comparison = gated.and_then(|gated| gated.comparison.as_ref());
    let frame = WrittenReport {
        schema: SCHEMA,
        tool: ToolVersion::THIS,
        input: document.inputs(),
        environment: facts::environment(&document.session.context(document.scope)),
        scope: document.scope,
        options: document.session.options(),
        trace: TraceSize {
            badge: model.badge(),
            slices: model.recorded_slices(),
            tracks: model.tracks().len(),
            duration_ps: model.extent().dur().ps(),
            memory: model.memory_use(),
        },
        import: ImportFacts {
            lost: model.import_log().lost(),
            issues: model.import_log(),
        },
        reports: serde_json::Map::new(),
        gates: gated.map(|gated| &gated.report),
        comparison: comparison.map(|_| ()),
        truncated: false,
        truncated_lists: Vec::new(),
    };
    let around = serde_json::to_string_pretty(&frame)?;
    let (before, after) = parted(&around, "reports", "{}");
    let (begin, after) = (format!("{before}{{"), after.to_owned());
    let sections = sections(document);
    let is_empty = sections.is_empty();
    let cuts = Rc::new(RefCell::new(Vec::new()));
    let all_cuts = Rc::clone(&cuts);
    let slices = model.slice_count();
    let some = move |some: Vec<_>| {
        parallel::map(&some, slices, |&(index, section)| {
            let separator = if index > 0 { "," } else { "" };
            written(section, JsonText::after(separator.to_owned(), top))
        })
    };
    let text = move |section: serde_json::Result<JsonText>| {
        let (text, cut) = section?.finish();
        cuts.borrow_mut().extend(cut);
        Ok(text)
    };
    let end = move || {
        let mut out = JsonText::after(if is_empty { "}" } else { "\n  }" }.to_owned(), top);
        let (before, after) = match comparison {
            Some(comparison) => {
                let (before, after) = parted(&after, "comparison", "null");
                out.raw(before);
                out.value(comparison, &["comparison"])?;
                parted(after, "truncated", FOLLOWING)
            }
            None => parted(&after, "truncated", FOLLOWING),
        };
        out.raw(before);
        let (text, cut) = out.finish();
        let mut cuts = all_cuts.take();
        cuts.extend(cut);
        // In the order in which reports are shown, the comparison last.
        let place = |cut: &TruncatedList| {
            let is_of = |section: &ReportSection| {
                cut.path.starts_with(&format!("/reports/{}/", section.id))
            };
            let place = document.sections().iter().position(is_of);
            place.unwrap_or(usize::MAX)
        };
        cuts.sort_by_key(place);
        end(text, &cuts, after)
    };
    Ok(iter::once(Ok(begin))
        .chain(sections.into_iter().flat_map(some).map(text))
        .chain(iter::once_with(end)))
}

/// The JSON Schema, without references, of a file whose field `schema` says what it is.
pub fn file_schema<T: JsonSchema>(schema: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|all| all.inline_subschemas = true);
    let generator = settings.for_serialize().into_generator();
    let mut whole = generator.into_root_schema_for::<T>().to_value();
    name_file(&mut whole, schema);
    whole
}

/// Says of which files this is the schema: those whose field `schema` is this one.
pub(super) fn name_file(whole: &mut Value, schema: &str) {
    whole["$id"] = format!("urn:{}", schema.replacen('.', ":", 1)).into();
    whole["title"] = schema.into();
    whole["properties"]["schema"] = json!({ "const": schema });
}

/// The placeholder after the name of the field `truncated`, written before it is known whether lists were truncated.
pub(super) const FOLLOWING: &str = "false,\n  \"truncated_lists\": []";

/// The text before and after the value of a top-level field: nested names are indented further, and a string contains
/// no line break.
pub(super) fn parted<'a>(text: &'a str, name: &str, value: &str) -> (&'a str, &'a str) {
    let before = format!("\n  \"{name}\": ");
    text.split_once(&format!("{before}{value}"))
        .map_or((text, ""), |(start, rest)| {
            (text.get(..start.len() + before.len()).unwrap_or(text), rest)
        })
}

/// Fills in which lists were truncated and ends the document.
pub(super) fn end(
    mut text: String,
    cuts: &[TruncatedList],
    after: &str,
) -> serde_json::Result<String> {
    text += if cuts.is_empty() { "false" } else { "true" };
    text += ",\n  \"truncated_lists\": ";
    let mut out = JsonText::after(text, 0);
    out.value(cuts, &["truncated_lists"])?;
    out.raw(after);
    out.raw("\n");
    Ok(out.finish().0)
}

/// The reports by the id of their analysis, each with its number, as many at a time as are written side by side.
fn sections(document: &Document) -> Vec<Vec<(usize, &ReportSection)>> {
    let sections: BTreeMap<_, _> = document
        .sections()
        .iter()
        .map(|section| (section.id, section))
        .collect();
    let sections: Vec<_> = sections.into_values().enumerate().collect();
    sections.chunks(AT_ONCE).map(<[_]>::to_vec).collect()
}

/// A report with its key.
fn written(section: &ReportSection, mut out: JsonText) -> serde_json::Result<JsonText> {
    out.raw(&format!(
        "\n    {}: {{\n      \"title\": {},\n      ",
        json!(section.id),
        json!(section.title)
    ));
    match &section.result {
        Ok(report) => {
            out.raw("\"report\": ");
            report.write_json(&mut out, &["reports", section.id, "report"])?;
        }
        Err(why) => out.raw(&format!("\"not_applicable\": {}", json!(why.to_string()))),
    }
    out.raw("\n    }");
    Ok(out)
}

/// The JSON Schema of [`document`], generated from the types.
pub fn schema() -> Value {
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
    let mut whole = generator
        .into_root_schema_for::<WrittenReport<'_>>()
        .to_value();
    name_file(&mut whole, SCHEMA);
    // `whatif` writes the same document with a report of its own.
    whole["properties"]["reports"] = serde_json::json!({
        "description": "The reports by the id of their analysis.",
        "type": "object",
        "properties": sections,
    });
    whole
}

/// A generator of schemas for serialization, not deserialization.
pub(super) fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
}
