//! Gates as `JUnit` XML: a suite for the run, a test case for each gate. Failed gates are failures (at level `warn`:
//! passed, with a note), inconclusive ones are skipped. Properties contain the runs and the metrics. Only elements and
//! attributes of Jenkins' schema (`junit-10.xsd`) are used, which has no count of skipped cases on `testsuites`.

use std::borrow::Cow;

use crate::prelude::*;
use analysis::compare::RunValue;
use analysis::expect::ExpectReport;
use analysis::gates::Gate;
use analysis::math::stats::median;

use session::xml::escaped;

/// Gates on runs.
pub fn junit(gates: &GatesReport, runs: &[Summary], comparison: Option<&Comparison>) -> String {
    let names: Vec<String> = runs.iter().map(Summary::title).collect();
    suite(gates, &names, &properties(runs, comparison))
}

/// Expectations on what a document is about.
pub fn of_expectations(document: &Document, report: &ExpectReport) -> String {
    let files = document.inputs().into_iter();
    let names: Vec<String> = files.map(|file| file.path.unwrap_or(file.name)).collect();
    suite(&report.gates(), &names, &[])
}

fn suite(gates: &GatesReport, names: &[String], properties: &[(String, String)]) -> String {
    let count = |status: Status| {
        let counts = |gate: &&Gate| {
            gate.status == status && (status != Status::Fail || gate.level == GateLevel::Error)
        };
        gates.gates.iter().filter(counts).count()
    };
    let numbers = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"0\"",
        gates.gates.len(),
        count(Status::Fail)
    );
    let skipped = count(Status::Inconclusive);
    let name = if names.is_empty() {
        "run".to_owned()
    } else {
        names.join(", ")
    };
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites name=\"systole\" {numbers}>");
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{}\" {numbers} skipped=\"{skipped}\">",
        escaped(&name)
    );
    xml += "    <properties>\n";
    for (name, value) in properties {
        let _ = writeln!(
            xml,
            "      <property name=\"{}\" value=\"{}\"/>",
            escaped(name),
            escaped(value)
        );
    }
    xml += "    </properties>\n";
    for gate in &gates.gates {
        case(&mut xml, gate);
    }
    let _ = writeln!(
        xml,
        "    <system-out>{}</system-out>",
        escaped(&gates.statement)
    );
    xml += "  </testsuite>\n</testsuites>\n";
    xml
}

fn case(xml: &mut String, gate: &Gate) {
    let (name, message) = (escaped(&gate.name()), escaped(&gate.message));
    let _ = write!(
        xml,
        "    <testcase classname=\"systole.{}\" name=\"{name}\"",
        gate.kind
    );
    let _ = match (gate.status, gate.level) {
        (Status::Fail, GateLevel::Error) => {
            writeln!(
                xml,
                ">\n      <failure type=\"{}\" message=\"{message}\"/>\n    </testcase>",
                gate.kind
            )
        }
        (Status::Fail, _) => writeln!(
            xml,
            ">\n      <system-out>warning: {message}</system-out>\n    </testcase>"
        ),
        (Status::Inconclusive, _) => writeln!(
            xml,
            ">\n      <skipped message=\"{message}\"/>\n    </testcase>"
        ),
        (Status::Pass, _) => writeln!(
            xml,
            ">\n      <system-out>{message}</system-out>\n    </testcase>"
        ),
    };
}

/// Properties of the suite. With several runs, medians are over all their steps, or over the runs.
fn properties(runs: &[Summary], comparison: Option<&Comparison>) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let Some(first) = runs.first() else {
        return out;
    };
    out.extend(runs.iter().map(|run| ("run".to_owned(), run.title())));
    let base = comparison
        .into_iter()
        .flat_map(|comparison| &comparison.base.runs);
    out.extend(base.map(|run| ("baseline".to_owned(), run.clone())));
    out.extend(
        first
            .facts
            .badge()
            .map(|badge| ("times from".to_owned(), badge)),
    );
    for series in &first.series {
        let all: Vec<f64> = runs
            .iter()
            .filter_map(|run| run.step_values(&series.id))
            .flat_map(Cow::into_owned)
            .collect();
        out.extend(
            median(&all).map(|median| (format!("{} (median)", series.id), median.to_string())),
        );
    }
    for RunValue { id, .. } in &first.values {
        let all = || runs.iter().filter_map(|run| run.value(id));
        let known: Vec<f64> = all().filter_map(|value| value.value).collect();
        let name = if all().any(|value| value.is_lower_bound) {
            format!("{id} (at least)")
        } else {
            id.clone()
        };
        out.extend(median(&known).map(|number| (name, number.to_string())));
    }
    out.extend(
        comparison.map(|comparison| ("comparison".to_owned(), comparison.statement.clone())),
    );
    out
}
