//! Hints and gates that did not pass as SARIF 2.1.0, which code hosts show beside the source.
//!
//! A location is the source line that the compiler recorded for the first op of a hint, if the working directory has
//! that file; paths are relative to it, never absolute. Other results are located at the trace.

mod places;

use std::collections::BTreeMap;

use crate::prelude::*;
use analysis::compare::{OpChange, signed};
use analysis::expect::{ExpectReport, JudgedExpectation, Verdict};
use analysis::gates::{AlikeGates, Gate};
use analysis::hints::{Hint, HintSeverity, Hints, HintsReport, rules};
use serde_json::{Value, json};

use crate::comparison::ComparedRuns;
use places::{location, location_of, trace_in};

/// The rule for slower ops in a comparison.
const SLOWER: &str = "op-slower";
/// The rule for gates that could not be judged.
const UNCLEAR: &str = "inconclusive";
/// The rule for expectations.
const EXPECTATION: &str = "expectation";
/// GitHub's limit of results per run; the results left out are counted.
const MOST_RESULTS: usize = 5_000;

/// SARIF of a document: its hints, and its gates that did not pass.
pub fn of(document: &Document) -> serde_json::Result<String> {
    let hints = document.session.report::<Hints>(document.scope).ok();
    let gates = document
        .gated
        .as_ref()
        .filter(|gated| gated.are_set)
        .map(|gated| &gated.report);
    let below = std::env::current_dir().ok();
    let gated = document.gated.as_ref();
    let run = gated.map(|gated| gated.run.title()).into_iter().collect();
    let base = gated
        .and_then(|gated| gated.comparison.as_ref())
        .map(|comparison| comparison.base.runs.clone());
    let badge = document.session.model().badge();
    let runs = JudgedRuns {
        run,
        base: base.unwrap_or_default(),
        badge,
    };
    sarif(
        hints.as_deref(),
        gates,
        &runs,
        &trace_of(document, below.as_deref()),
        below.as_deref(),
    )
}

/// The file that a document is about, below the working directory.
fn trace_of(document: &Document, below: Option<&Path>) -> String {
    let file = document
        .session
        .model()
        .sources()
        .first()
        .and_then(|source| source.path.as_deref());
    let file = file.or(document.session.path()).and_then(Path::to_str);
    trace_in(file.unwrap_or("trace"), below)
}

/// SARIF of expectations that are not met.
pub fn of_expectations(document: &Document, report: &ExpectReport) -> serde_json::Result<String> {
    let below = std::env::current_dir().ok();
    let trace = trace_of(document, below.as_deref());
    let result = |row: &JudgedExpectation| {
        let sources = row
            .instructions
            .iter()
            .filter_map(|op| op.source.as_deref());
        let ops: Vec<&str> = row
            .instructions
            .iter()
            .take(5)
            .map(|op| &*op.name)
            .collect();
        json!({
            "ruleId": EXPECTATION,
            "level": "error",
            "message": { "text": message(&format!("{}: {}", row.name, row.message)) },
            "locations": [location_of(sources, &trace, below.as_deref())],
            "properties": { "ops": ops },
            "partialFingerprints": { "expectation/v1": row.name },
        })
    };
    let badge = document.session.model().badge();
    let results = report.with(Verdict::NotMet).map(result).collect();
    log(
        results,
        &JudgedRuns {
            badge,
            ..JudgedRuns::default()
        },
    )
}

/// The runs that the results are about, with their paths.
#[derive(Default)]
pub struct JudgedRuns {
    /// The judged runs.
    pub run: Vec<String>,
    /// The runs they are compared with.
    pub base: Vec<String>,
    /// What produced the times of the judged runs, if they were not measured.
    pub badge: Option<String>,
}

/// SARIF of a comparison: gates that did not pass, and slower ops.
pub fn of_comparison(compared: &ComparedRuns<'_>) -> serde_json::Result<String> {
    let below = std::env::current_dir().ok();
    let file = compared
        .cand
        .first()
        .and_then(|run| run.inputs.first()?.path.as_deref());
    let trace = file.or(compared.trace.to_str()).unwrap_or("trace");
    let trace = trace_in(trace, below.as_deref());
    let mut results = not_passed(compared.gates, &trace);
    let classes = std::iter::once(compared.comparison).chain(&compared.comparison.classes);
    // Compared with a prediction, nothing became slower.
    let slower = classes
        .filter(|class| class.prediction.is_none())
        .flat_map(|class| &class.ops)
        .filter(|op| op.verdict() == "slower");
    results.extend(slower.map(|op| op_result(op, &trace, below.as_deref())));
    let (base, cand) = (&compared.comparison.base, &compared.comparison.cand);
    let badge = compared.cand.first().and_then(|run| run.facts.badge());
    log(
        results,
        &JudgedRuns {
            run: cand.runs.clone(),
            base: base.runs.clone(),
            badge,
        },
    )
}

/// The SARIF document. `trace` is the location of results without a source.
pub fn sarif(
    hints: Option<&HintsReport>,
    gates: Option<&GatesReport>,
    runs: &JudgedRuns,
    trace: &str,
    below: Option<&Path>,
) -> serde_json::Result<String> {
    let mut results = not_passed(gates, trace);
    results.extend(
        hints
            .iter()
            .flat_map(|report| &report.hints)
            .map(|hint| hint_result(hint, trace, below)),
    );
    log(results, runs)
}

/// The gates that failed, and once for each reason those that could not be judged: no result would mean that they passed.
fn not_passed(gates: Option<&GatesReport>, trace: &str) -> Vec<Value> {
    let of_gates = |gates: &GatesReport| {
        let all = gates.gates.iter();
        let failed = all
            .filter(|gate| gate.status == Status::Fail)
            .map(|gate| gate_result(gate, trace));
        let alike = gates.alike().into_iter();
        let unclear = alike
            .filter(|alike| alike.first.status == Status::Inconclusive)
            .map(|alike| unclear_result(&alike, trace));
        failed.chain(unclear).collect::<Vec<_>>()
    };
    gates.into_iter().flat_map(of_gates).collect()
}

fn log(mut results: Vec<Value>, runs: &JudgedRuns) -> serde_json::Result<String> {
    let left_out = results.len().saturating_sub(MOST_RESULTS);
    results.truncate(MOST_RESULTS);
    let rules = rules_of(&results);
    let places: BTreeMap<&str, usize> = rules
        .iter()
        .enumerate()
        .filter_map(|(index, rule)| Some((rule["id"].as_str()?, index)))
        .collect();
    for result in &mut results {
        let place = result["ruleId"]
            .as_str()
            .and_then(|id| places.get(id))
            .copied();
        result["ruleIndex"] = json!(place);
    }
    let below = std::env::current_dir().ok();
    let path = |path: &str| trace_in(path, below.as_deref());
    let title = |run: &String| {
        let saved = run.strip_suffix(')');
        match saved.and_then(|run| run.split_once(" (saved in ")) {
            Some((run, file)) => format!("{} (saved in {})", path(run), path(file)),
            None => path(run),
        }
    };
    let inside = |runs: &[String]| runs.iter().map(title).collect::<Vec<_>>();
    let run = json!({
        "tool": { "driver": {
            "name": "systole",
            "version": env!("CARGO_PKG_VERSION"),
            "rules": rules,
        }},
        "columnKind": "utf16CodeUnits",
        "properties": {
            "resultsLeftOut": left_out,
            "runs": inside(&runs.run),
            "baselines": inside(&runs.base),
            "timesFrom": runs.badge,
        },
        "results": results,
    });
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    });
    Ok(serde_json::to_string_pretty(&log)? + "\n")
}

/// The rules that have results, by id.
fn rules_of(results: &[Value]) -> Vec<Value> {
    let ids: std::collections::BTreeSet<&str> = results
        .iter()
        .filter_map(|result| result["ruleId"].as_str())
        .collect();
    let rule = |id: &str| {
        let (title, help) = match id {
            "budget" => (
                "A number exceeds its budget",
                "Budgets are set in systole.toml.".to_owned(),
            ),
            "regression" => (
                "A number is worse than the baseline's",
                "Regressions are set in systole.toml.".to_owned(),
            ),
            UNCLEAR => (
                "Gates could not be judged",
                "The message has the reason; systole analyze --strict fails then.".to_owned(),
            ),
            EXPECTATION => (
                "An expectation is not met",
                "Expectations of programs and profiles: systole expect.".to_owned(),
            ),
            SLOWER => (
                "An op became slower",
                "By more than noise, compared with the baseline: systole compare.".to_owned(),
            ),
            id => (
                rules()
                    .iter()
                    .find(|rule| rule.id == id)
                    .map_or("A hint", |rule| rule.title),
                format!("Why and how: systole explain {id}"),
            ),
        };
        json!({
            "id": id,
            "shortDescription": { "text": title },
            "help": { "text": help },
            "defaultConfiguration": { "level": "warning" },
        })
    };
    ids.into_iter().map(rule).collect()
}

fn gate_result(gate: &Gate, trace: &str) -> Value {
    let level = if gate.level == GateLevel::Error {
        "error"
    } else {
        "warning"
    };
    json!({
        "ruleId": gate.kind,
        "level": level,
        "message": { "text": message(&gate.message) },
        "locations": [location(trace, None)],
        "partialFingerprints": { "gate/v1": gate.name() },
    })
}

fn unclear_result(alike: &AlikeGates<'_>, trace: &str) -> Value {
    json!({
        "ruleId": UNCLEAR,
        "level": "note",
        "message": { "text": message(&format!("Inconclusive: {}", alike.text())) },
        "locations": [location(trace, None)],
        "partialFingerprints": { "gate/v1": alike.first.name() },
    })
}

fn hint_result(hint: &Hint, trace: &str, below: Option<&Path>) -> Value {
    let level = match hint.severity {
        HintSeverity::Critical | HintSeverity::High => "warning",
        HintSeverity::Medium | HintSeverity::Low | HintSeverity::Health => "note",
    };
    let place = location_of(
        hint.ops.iter().filter_map(|op| op.source.as_deref()),
        trace,
        below,
    );
    let ops: Vec<&str> = hint.ops.iter().take(5).map(|op| op.name.as_str()).collect();
    json!({
        "ruleId": hint.id,
        "level": level,
        "message": { "text": message(&format!("{} {}", sentence(&hint.statement), sentence(&hint.action))) },
        "locations": [place],
        "properties": { "ops": ops, "savingPs": hint.saving_ps },
        "partialFingerprints": { "hint/v1": format!("{} {}", hint.id, ops.first().copied().unwrap_or_default()) },
    })
}

/// A slower op of a comparison.
fn op_result(op: &OpChange, trace: &str, below: Option<&Path>) -> Value {
    let percent = op.change.change_percent;
    let percent = percent.map_or_else(String::new, |percent| format!(" ({percent:+.2})"));
    let change = signed(op.change.change.unwrap_or(0.0));
    let text = format!(
        "{} takes {change}{percent} in a step, more than noise.",
        op.name()
    );
    json!({
        "ruleId": SLOWER,
        "level": "note",
        "message": { "text": message(&text) },
        "locations": [location_of(op.source.as_deref().into_iter(), trace, below)],
        "properties": { "changePs": op.change.change },
        "partialFingerprints": { "op/v1": format!("{} {}", op.program, op.cand_name.as_deref().unwrap_or_default()) },
    })
}

/// Escapes a message: braces would be placeholders and brackets links (SARIF 2.1.0, 3.11.5 and 3.11.6).
fn message(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '{' | '}' => out.extend([c, c]),
            '[' | ']' | '\\' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_escape_placeholders_and_links() {
        assert_eq!(
            message(r"f32[8]{1,0} [x](http://y) \"),
            r"f32\[8\]{{1,0}} \[x\](http://y) \\"
        );
    }
}
