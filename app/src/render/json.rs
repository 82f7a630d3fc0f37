//! Documents as JSON: everything, exactly, and the same on every run.

use serde_json::{Map, Value, json};

use super::Document;

/// Fields may be added under the same number, never changed or removed.
pub const SCHEMA: &str = "systole.report/1";

/// The JSON of a document.
pub fn document(document: &Document) -> serde_json::Result<String> {
    let model = document.session.model();
    let mut reports = Map::new();
    for section in document.sections() {
        let report = match &section.result {
            Ok(report) => json!({ "title": section.title, "report": report.json() }),
            Err(why) => json!({ "title": section.title, "not_applicable": why.to_string() }),
        };
        reports.insert(section.id.to_owned(), report);
    }
    let mut value = json!({
        "schema": SCHEMA,
        "tool": { "name": "systole", "version": env!("CARGO_PKG_VERSION") },
        "input": serde_json::to_value(document.inputs())?,
        "scope": serde_json::to_value(document.scope)?,
        "options": serde_json::to_value(document.session.options())?,
        "trace": {
            "slices": model.slice_count(),
            "tracks": model.tracks().len(),
            "duration_ps": model.extent().dur().ps(),
            "memory": serde_json::to_value(model.memory_use())?,
        },
        "import": {
            "lost": model.import_log().lost(),
            "issues": serde_json::to_value(model.import_log())?,
        },
        "reports": Value::Object(reports),
    });
    if let Some(gated) = document.gated.as_ref().filter(|gated| gated.are_set) {
        value["gates"] = serde_json::to_value(&gated.report)?;
        value["comparison"] = serde_json::to_value(&gated.comparison)?;
    }
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}
