//! Hints and failed gates as SARIF 2.1.0, which code hosts show beside the source.
//!
//! A location is the source line that the compiler recorded for the first op of a hint, if the working directory has
//! that file; paths are relative to it, never absolute. Other results are located at the trace.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use analysis::compare::{OpChange, signed};
use analysis::expect::{ExpectReport, JudgedExpectation, Verdict};
use analysis::gates::{Gate, GateLevel, GatesReport, Status};
use analysis::hints::{Hint, HintSeverity, Hints, HintsReport, rules};
use serde_json::{Value, json};

use crate::Document;
use crate::comparison::ComparedRuns;

/// The rule for slower ops in a comparison.
const SLOWER: &str = "op-slower";
/// The rule for expectations.
const EXPECTATION: &str = "expectation";
/// GitHub's limit of results per run; the results left out are counted.
const MOST_RESULTS: usize = 5_000;

/// SARIF of a document: its hints, and its failed gates.
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
    let sources = document.session.model().sources();
    let file = sources.first().and_then(|source| source.path.as_deref());
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

/// SARIF of a comparison: failed gates, and slower ops.
pub fn of_comparison(compared: &ComparedRuns<'_>) -> serde_json::Result<String> {
    let below = std::env::current_dir().ok();
    let file = compared
        .cand
        .first()
        .and_then(|run| run.inputs.first()?.path.as_deref());
    let trace = file.or(compared.trace.to_str()).unwrap_or("trace");
    let trace = trace_in(trace, below.as_deref());
    let mut results = failed(compared.gates, &trace);
    let classes = std::iter::once(compared.comparison).chain(&compared.comparison.classes);
    // Compared with a prediction, nothing became slower.
    let classes = classes.filter(|class| class.prediction.is_none());
    let slower = classes
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
    let mut results = failed(gates, trace);
    results.extend(
        hints
            .iter()
            .flat_map(|report| &report.hints)
            .map(|hint| hint_result(hint, trace, below)),
    );
    log(results, runs)
}

fn failed(gates: Option<&GatesReport>, trace: &str) -> Vec<Value> {
    let failed = gates
        .into_iter()
        .flat_map(|gates| &gates.gates)
        .filter(|gate| gate.status == Status::Fail);
    failed.map(|gate| gate_result(gate, trace)).collect()
}

fn log(mut results: Vec<Value>, runs: &JudgedRuns) -> serde_json::Result<String> {
    let left_out = results.len().saturating_sub(MOST_RESULTS);
    results.truncate(MOST_RESULTS);
    let rules = rules_of(&results);
    let places: BTreeMap<&str, usize> = rules
        .iter()
        .enumerate()
        .filter_map(|(at, rule)| Some((rule["id"].as_str()?, at)))
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
        "message": { "text": message(&format!("{}: {} {}", hint.title, hint.statement, hint.action)) },
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

/// The first source that is a file of the project, else the trace.
fn location_of<'a>(
    mut sources: impl Iterator<Item = &'a str>,
    trace: &str,
    below: Option<&Path>,
) -> Value {
    let found = sources.find_map(|source| {
        let (file, line) = file_and_line(source)?;
        Some(location(&source_in(file, below?)?, Some(line)))
    });
    found.unwrap_or_else(|| location(trace, None))
}

fn location(uri: &str, line: Option<u32>) -> Value {
    let mut physical = json!({ "artifactLocation": { "uri": uri_of(uri) } });
    if let Some(line) = line {
        physical["region"] = json!({ "startLine": line });
    }
    json!({ "physicalLocation": physical })
}

/// File and line of `a/model.py:12`, also with a column.
fn file_and_line(source: &str) -> Option<(&str, u32)> {
    let (head, last) = source.rsplit_once(':')?;
    let last = last.parse::<u32>().ok()?;
    match head
        .rsplit_once(':')
        .map(|(file, line)| (file, line.parse::<u32>()))
    {
        Some((file, Ok(line))) if line > 0 => Some((file, line)),
        _ => (last > 0 && !head.is_empty()).then_some((head, last)),
    }
}

/// Escapes a message: braces would be placeholders and brackets links (SARIF 2.1.0, 3.11.5 and 3.11.6).
pub(super) fn message(text: &str) -> String {
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

/// The trace as a path below the working directory, else its name.
pub(super) fn trace_in(trace: &str, below: Option<&Path>) -> String {
    let path = Path::new(trace);
    let inside = below
        .and_then(|root| path.strip_prefix(root).ok())
        .unwrap_or(path);
    let is_below = inside
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let shown = if is_below {
        Some(inside)
    } else {
        inside.file_name().map(Path::new)
    };
    shown
        .and_then(Path::to_str)
        .filter(|path| !path.is_empty())
        .unwrap_or("trace")
        .to_owned()
}

/// Longer paths are not looked up.
const MOST_PARTS: usize = 64;

/// The path of a source file below `root`. The program may have run elsewhere, so the longest suffix of the recorded
/// path that exists is used; other files are not part of the project.
pub(super) fn source_in(file: &str, root: &Path) -> Option<String> {
    let mut parts: Vec<&OsStr> = Vec::new();
    for part in Path::new(file).components() {
        match part {
            Component::Normal(name) => parts.push(name),
            Component::ParentDir => return None,
            _ => {}
        }
    }
    if parts.len() > MOST_PARTS {
        return None;
    }
    let below = |end: PathBuf| {
        let is_there = root.join(&end).is_file();
        is_there.then(|| end.to_str().map(str::to_owned))?
    };
    if let Ok(inside) = Path::new(file).strip_prefix(root) {
        return below(inside.to_owned());
    }
    // A file name without directories can belong to many files: it counts below a directory of the root's name.
    (0..parts.len()).find_map(|from| {
        let before = from.checked_sub(1).and_then(|at| parts.get(at).copied());
        let is_alone = from > 0 && from + 1 == parts.len() && before != root.file_name();
        below(parts.get(from..)?.iter().collect()).filter(|_| !is_alone)
    })
}

/// A relative path as a URI reference (RFC 3986).
pub(super) fn uri_of(path: &str) -> String {
    use std::fmt::Write as _;
    let mut uri = String::new();
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'/'
            | b'-'
            | b'_'
            | b'.'
            | b'~'
            | b'@'
            | b'+' => {
                uri.push(char::from(byte));
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_locations_have_files_and_lines() {
        assert_eq!(file_and_line("a/b.py:12"), Some(("a/b.py", 12)));
        assert_eq!(file_and_line("a/b.py:12:7"), Some(("a/b.py", 12)));
        for wrong in ["a/b.py", ":3", "a:0", "a:b", ""] {
            assert_eq!(file_and_line(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn paths_are_relative() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("src")).unwrap();
        std::fs::write(dir.path().join("src/a.py"), "").unwrap();
        std::fs::write(dir.path().join("setup.py"), "").unwrap();
        let inside = dir.path().join("src/a.py");
        let beside = dir.path().join("setup.py");
        let name = dir.path().file_name().unwrap().to_str().unwrap();
        for (file, expected) in [
            (inside.to_str().unwrap(), Some("src/a.py")),
            (beside.to_str().unwrap(), Some("setup.py")),
            (&format!("/home/me/{name}/setup.py"), Some("setup.py")),
            ("src/a.py", Some("src/a.py")),
            // On the profiled machine, the project was in another directory.
            ("/home/me/project/src/a.py", Some("src/a.py")),
            ("/usr/lib/python3/b.py", None),
            // Every project has one.
            ("/usr/lib/python3/setup.py", None),
            ("setup.py", Some("setup.py")),
            (&"a/".repeat(100_000), None),
            ("../src/a.py", None),
            ("/", None),
        ] {
            assert_eq!(source_in(file, dir.path()).as_deref(), expected, "{file}");
        }
        let trace = |path| trace_in(path, Some(Path::new("/w")));
        assert_eq!(trace("/w/runs/t.pb"), "runs/t.pb");
        assert_eq!(
            [
                trace("/x/t.pb"),
                trace("../t.pb"),
                trace("t.pb"),
                trace("/")
            ],
            ["t.pb", "t.pb", "t.pb", "trace"]
        );
    }

    #[test]
    fn messages_escape_placeholders_and_links() {
        assert_eq!(
            message(r"f32[8]{1,0} [x](http://y) \"),
            r"f32\[8\]{{1,0}} \[x\](http://y) \\"
        );
    }

    #[test]
    fn any_path_becomes_a_valid_uri() {
        assert_eq!(uri_of("a b/ü\".py"), "a%20b/%C3%BC%22.py");
    }
}
