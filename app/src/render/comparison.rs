//! Two runs side by side, in every format.

use std::fmt::Write as _;

use analysis::Tabular as _;
use analysis::compare::{Comparison, Weight};
use serde_json::{Map, Value, json};

use super::table::{table, wrapped};
use super::{Layout, csv, md};

/// Fields may be added under the same number, never changed or removed.
pub const SCHEMA: &str = "systole.comparison/1";

/// For a terminal.
pub fn text(comparison: &Comparison, layout: &Layout) -> String {
    let mut text = String::new();
    for line in wrapped(&capitalised(&comparison.statement), layout.width) {
        text.push_str(&layout.style.bold(&line));
        text.push('\n');
    }
    text.push('\n');
    text.push_str(&differences(comparison, layout));
    // The first table is that of the differences.
    for one in comparison.tables().iter().skip(1) {
        text.push('\n');
        text.push_str(&table(one, layout));
    }
    text
}

/// In sentences: as a table they would have to be cut.
fn differences(comparison: &Comparison, layout: &Layout) -> String {
    const INDENT: &str = "    ";
    let mut text = format!("{}\n", layout.style.bold("What the runs differ in"));
    for (name, side) in [("base", &comparison.base), ("cand", &comparison.cand)] {
        let steps = if side.steps == 1 { "step" } else { "steps" };
        let line = format!("{name}: {}, {} steady {steps}", side.runs.join(", "), side.steps);
        for line in wrapped(&line, layout.width.saturating_sub(INDENT.len())) {
            let _ = writeln!(text, "  {line}");
        }
    }
    for found in &comparison.differences {
        let weight = match found.weight {
            Weight::Bars => layout.style.bad(found.weight.title()),
            Weight::Care => layout.style.warn(found.weight.title()),
            Weight::Note => layout.style.dim(found.weight.title()),
        };
        let _ = writeln!(text, "  {}: {weight}", found.title);
        let sides = format!("{} ↔ {}", found.base, found.cand);
        for line in wrapped(&sides, layout.width.saturating_sub(INDENT.len())) {
            let _ = writeln!(text, "{INDENT}{line}");
        }
        for line in wrapped(found.why, layout.width.saturating_sub(INDENT.len())) {
            let _ = writeln!(text, "{INDENT}{}", layout.style.dim(&line));
        }
    }
    if comparison.differences.is_empty() {
        text.push_str("  nothing: devices, programs, shapes, steps and formats agree\n");
    }
    text
}

/// For pull requests.
pub fn markdown(comparison: &Comparison, layout: &Layout) -> String {
    let mut text = format!("# Comparison\n\n**{}**\n", md::escaped(&capitalised(&comparison.statement)));
    for one in comparison.tables() {
        text.push_str(&md::markdown(&one, layout.top));
    }
    text
}

/// For spreadsheets.
pub fn comma_separated(comparison: &Comparison) -> String {
    let tables: Vec<_> = comparison.tables().into_iter().map(|table| ("compare", table)).collect();
    csv::several(&tables)
}

/// For programs.
pub fn json(comparison: &Comparison) -> serde_json::Result<String> {
    let mut whole = Map::new();
    whole.insert("schema".to_owned(), json!(SCHEMA));
    whole.insert("tool".to_owned(), json!({ "name": "systole", "version": env!("CARGO_PKG_VERSION") }));
    if let Value::Object(fields) = serde_json::to_value(comparison)? {
        whole.extend(fields);
    }
    Ok(serde_json::to_string_pretty(&whole)? + "\n")
}

/// With a capital letter.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
