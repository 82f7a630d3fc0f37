//! Headline numbers: steps, utilization, compilation, health.

use std::fmt::Write as _;

use analysis::compile::Compile;
use analysis::ops::Ops;
use analysis::peaks::Peaks;
use analysis::steps::{Steps, StepsReport};
use analysis::utilization::Utilization;
use analysis::{AnalysisError, Metric, Provenance, Unit};
use trace_model::{IssueKind, Picos, Severity};

use super::super::table::shortened;
use super::super::{Document, Layout, number};
use super::entry;

/// What the screen shows of utilization, in this order.
const METRICS: &[&str] = &[
    "mfu_window_percent",
    "flops_util_capture_percent",
    "mxu_util_on_mxu_ops_percent",
    "mxu_hw_percent",
    "hbm_util_window_percent",
    "hbm_util_busy_percent",
];

/// Columns of the metrics.
const TITLE: usize = 38;
const VALUE: usize = 12;

/// Steps, utilization and compilation.
pub fn headlines(document: &Document, layout: &Layout) -> String {
    let session = &document.session;
    let (style, width) = (layout.style, layout.width);
    let mut text = String::new();
    if let Ok(steps) = session.report::<Steps>(document.scope) {
        text.push_str(&entry("Steps", &steps_line(&steps), style, width));
    }
    if let Ok(compile) = session.report::<Compile>(document.scope) {
        text.push_str(&entry("Compile", &compile.statement, style, width));
    }
    match session.report::<Utilization>(document.scope) {
        Ok(report) => {
            let shown = METRICS.iter().filter_map(|id| report.metric(id));
            let peaks = session.report::<Ops>(document.scope).map(|ops| ops.peaks.clone()).unwrap_or_default();
            text.push_str(&metrics(shown, &peaks, layout));
        }
        Err(AnalysisError::NotApplicable(why)) => text.push_str(&entry("Devices", &why, style, width)),
        Err(_) => {}
    }
    text
}

fn steps_line(report: &StepsReport) -> String {
    let Some(time) = report.time.filter(|_| report.has_steps()) else {
        return format!("{}; {}", report.rung.title(), report.why.join("; "));
    };
    let length = |ps: f64| Picos::from_ps(ps.round() as i64).to_string();
    let mut text = format!(
        "{} {}, median {} (least {}, most {}",
        time.count,
        if time.count == 1 { "step" } else { "steps" },
        length(time.median),
        length(time.min),
        length(time.max)
    );
    if let Some(cv) = time.cv_percent {
        let _ = write!(text, ", std dev {}", number::value(cv, Unit::Percent));
    }
    let _ = write!(text, ") — {}", report.rung.title());
    if !report.marker.is_empty() {
        let _ = write!(text, ": {}", report.marker);
    }
    let slow = report.outliers();
    if !slow.is_empty() {
        let name = |step: &&analysis::steps::Step| {
            let compiles = if step.compile_ps * 2 > step.time_ps { " compiling" } else { "" };
            format!("{} ({}{compiles})", step.number, Picos::from_ps(step.time_ps))
        };
        let shown: Vec<_> = slow.iter().take(5).map(name).collect();
        let more = if slow.len() > shown.len() { " …" } else { "" };
        let _ = write!(text, "; slow: {}{more}", shown.join(", "));
    }
    if report.left_out > 0 {
        let _ = write!(text, "; {} partial or warm-up left out", report.left_out);
    }
    text
}

/// Aligned: title, value, denominator, provenance. What is missing says why. Peaks
/// are the same for all and said once, below.
fn metrics<'a>(metrics: impl Iterator<Item = &'a Metric>, peaks: &Peaks, layout: &Layout) -> String {
    let (flops, hbm) = (peaks.flops_text(), peaks.hbm_text());
    let mut text = String::new();
    for metric in metrics {
        let value = metric.value.map_or(number::MISSING.to_owned(), |value| number::value(value, metric.unit));
        let remark = match (&metric.value, &metric.note) {
            (None, Some(why)) => why.clone(),
            (None, None) => "not recorded".to_owned(),
            (Some(_), _) => {
                let of = metric.of.replace(&flops, "peak FLOP/s").replace(&hbm, "peak HBM");
                format!("of {of} [{}]", provenance(metric.provenance))
            }
        };
        let remark = shortened(&remark, layout.width.saturating_sub(TITLE + VALUE + 2));
        let _ = writeln!(text, "{:<TITLE$}{value:>VALUE$}  {}", metric.title, layout.style.dim(&remark));
    }
    text.push_str(&entry("Peaks", &format!("{flops}; {hbm}"), layout.style, layout.width));
    text
}

fn provenance(provenance: Provenance) -> &'static str {
    match provenance {
        Provenance::Measured => "measured",
        Provenance::Profile => "profile",
        Provenance::StaticCost => "compiler",
        Provenance::Derived => "derived",
        Provenance::Inferred => "inferred",
    }
}

/// What was lost or mended, and what the format cannot tell.
pub fn health(document: &Document, layout: &Layout) -> String {
    let (style, width) = (layout.style, layout.width);
    let model = document.session.model();
    let mut text = String::new();
    for issue in model.import_log().counts() {
        let line = format!("{} ({}×)", issue.kind.explain(), number::value(issue.count as f64, Unit::Count));
        match issue.kind.severity() {
            Severity::Loss => text.push_str(&entry("Lost", &style.bad(&line), style, width)),
            // One screen: what was merely mended is the doctor's to tell, except where it moves things.
            Severity::Warning if issue.kind == IssueKind::HostsNotAligned => {
                text.push_str(&entry("Warning", &style.warn(&line), style, width));
            }
            Severity::Warning | Severity::Info => {}
        }
    }
    let mut cannot: Vec<&str> = model.sources().iter().flat_map(|source| source.cannot_know.iter().copied()).collect();
    cannot.sort_unstable();
    cannot.dedup();
    if !cannot.is_empty() {
        let line = format!("this format does not record {}", cannot.join(", "));
        text.push_str(&entry("Unknown", &style.dim(&line), style, width));
    }
    text
}
