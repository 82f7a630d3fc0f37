//! `systole metrics`: every metric for gates.

use super::prelude::*;
use analysis::compare::{METRICS, SummaryMetric};
use analysis::gates::suffixes;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct MetricsArgs {
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
}

pub fn run(args: &MetricsArgs) -> Result<CommandOutcome> {
    let table = Table::of("metrics", "", METRICS.iter())
        .derived("name", "", Unit::None, |metric| metric.name)
        .derived("summary_id", "", Unit::None, |metric| metric.id)
        .derived("per", "", Unit::None, |metric| metric.per.title())
        .derived("meaning", "", Unit::None, |metric| metric.meaning);
    let answer = Answer::list("metrics", table.build(), |_| text(), json)
        .with_rows(METRICS.iter().map(metric).collect())
        .with_markdown(|_| markdown());
    output::print(&(args.format.answer)(answer))?;
    Ok(CommandOutcome::Done)
}

fn text() -> String {
    let width = METRICS
        .iter()
        .map(|metric| metric.name.len())
        .max()
        .unwrap_or(0);
    let mut text = String::from("Metrics for budgets and regressions in systole.toml\n");
    let mut per = None;
    for metric in METRICS {
        if per != Some(metric.per) {
            per = Some(metric.per);
            let _ = writeln!(text, "\nOne number for each {}", metric.per.title());
        }
        let _ = writeln!(
            text,
            "  {:<width$}  {}{}",
            metric.name,
            metric.meaning,
            also(metric)
        );
    }
    text += "\nOther units are selected by the suffix: ";
    let endings = [("time", Unit::Picoseconds), ("bytes", Unit::Bytes)];
    let endings = endings.map(|(of, unit)| format!("{of} {}", joined(suffixes(unit), " ")));
    let _ = writeln!(text, "{}; shares _pct _share.", endings.join("; "));
    text
}

fn also(metric: &SummaryMetric) -> String {
    if metric.aliases.is_empty() {
        String::new()
    } else {
        format!(" (also {})", metric.aliases.join(", "))
    }
}

fn metric(metric: &SummaryMetric) -> Value {
    json!({
        "name": metric.name,
        "summary_id": metric.id,
        "unit": metric.unit,
        "per": metric.per,
        "aliases": metric.aliases,
        "meaning": metric.meaning,
    })
}

fn json() -> Value {
    json!({ "schema": "systole.metrics/1", "metrics": METRICS.iter().map(metric).collect::<Vec<_>>() })
}

/// The table in docs/compare.md.
fn markdown() -> String {
    let mut text = String::from("| metric | one per | meaning |\n|---|---|---|\n");
    for metric in METRICS {
        let also = if metric.aliases.is_empty() {
            String::new()
        } else {
            format!(" (also `{}`)", metric.aliases.join("`, `"))
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {}{also} |",
            metric.name,
            metric.per.title(),
            metric.meaning
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this test fails, copy the output of `systole metrics --format md` to the docs.
    #[test]
    fn docs_list_the_same_metrics() {
        let docs = include_str!("../../../../docs/compare.md").replace("\r\n", "\n");
        assert!(
            docs.contains(&markdown()),
            "docs/compare.md: put in the output of `systole metrics --format md`"
        );
    }

    #[test]
    fn text_and_json_list_every_metric() {
        let (text, json) = (text(), json().to_string());
        for metric in METRICS {
            let meaning = serde_json::to_string(metric.meaning).unwrap();
            assert!(
                text.contains(metric.name) && json.contains(&meaning),
                "{}",
                metric.name
            );
        }
    }
}
