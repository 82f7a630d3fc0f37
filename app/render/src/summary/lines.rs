//! Headline numbers: steps, utilization, compilation, data quality.

use std::fmt::Write as _;

use analysis::facts::steps::StepsReport;
use analysis::hardware::peaks::Peaks;
use analysis::reports::communication::overlap::{Overlap, OverlapReport};
use analysis::reports::host::compile::{Compile, CompileReport};
use analysis::reports::ops::op_stats::{CoreOps, Ops};
use analysis::reports::steps::step_times::Steps;
use analysis::reports::summary::targets::{TargetColor, TargetsReport};
use analysis::reports::summary::utilization::Utilization;
use analysis::{AnalysisError, Unit, counted};
use trace_model::{Picos, Severity};

use crate::table::shortened;
use crate::{Document, TextLayout};
use session::number;
use view::overview::{KeyFigure, Overview};

/// The window named in titles; the denominator then says just "window".
const WINDOW: &str = "first op to last";

/// Widths of the columns.
const TITLE: usize = 25;
const VALUE: usize = 11;
/// With less room, the denominator goes to the next line.
const LEAST_REMARK: usize = 24;

/// Steps, utilization and compilation.
pub fn headlines(document: &Document, overview: &Overview, layout: &TextLayout) -> String {
    let session = &document.session;
    let mut text = String::new();
    if let Ok(steps) = session.report::<Steps>(document.scope) {
        text.push_str(&entry("Steps", &steps_line(&steps), layout));
    }
    if let Ok(overlap) = session.report::<Overlap>(document.scope)
        && let Some(line) = communication(&overlap)
    {
        text.push_str(&entry("Comm", &line, layout));
    }
    // The targets state that nothing was compiled.
    if let Ok(compile) = session.report::<Compile>(document.scope)
        && compile.wall_ps.is_some()
    {
        text.push_str(&entry("Compile", &compile_line(&compile), layout));
    }
    if let Some(report) = &overview.targets {
        text.push_str(&entry("Targets", &targets(report), layout));
    }
    match session.report::<Utilization>(document.scope) {
        Ok(_) => {
            let ops = session.report::<Ops>(document.scope).ok();
            let cores = ops
                .as_ref()
                .map(|ops| ops.cores.as_slice())
                .unwrap_or_default();
            text.push_str(&utilization(
                session.model().badge().as_deref(),
                &overview.utilization,
                &peaks(cores),
                layout,
            ));
        }
        Err(AnalysisError::NotApplicable(why)) => text.push_str(&entry("Devices", &why, layout)),
        Err(_) => {}
    }
    text
}

/// One clause per target; targets without data share one.
fn targets(report: &TargetsReport) -> String {
    let judged = report
        .targets
        .iter()
        .filter(|target| !matches!(target.light, TargetColor::Unknown | TargetColor::NotJudged));
    let judged = judged.filter_map(|target| {
        let value = KeyFigure::of_target(target).text(number::value)?;
        Some(format!(
            "{} {value} {} (target: {})",
            target.short,
            target.light.title(),
            target.goal()
        ))
    });
    let mut clauses: Vec<String> = judged.collect();
    for light in [TargetColor::NotJudged, TargetColor::Unknown] {
        let names: Vec<_> = report
            .targets
            .iter()
            .filter(|target| target.light == light)
            .map(|target| target.short)
            .collect();
        if !names.is_empty() {
            clauses.push(format!("{} {}", names.join(", "), light.title()));
        }
    }
    clauses.join("; ")
}

/// Compilation time and its phases.
fn compile_line(report: &CompileReport) -> String {
    let phases = [
        ("compiler", report.compile_ps),
        ("lowering", report.lower_ps),
        ("tracing", report.trace_ps),
        ("loading", report.load_ps),
    ];
    let part = |(name, time): (&str, Option<i64>)| {
        let time = time.filter(|&time| time > 0)?;
        Some(format!("{name} {}", Picos::from_ps(time)))
    };
    let parts: Vec<_> = phases.into_iter().filter_map(part).collect();
    if parts.is_empty() {
        report.statement.clone()
    } else {
        format!("{}: {}", report.statement, parts.join(", "))
    }
}

/// Mean over devices and steps: communication, and its exposed part.
fn communication(report: &OverlapReport) -> Option<String> {
    let summary = &report.summary;
    let (all, exposed) = report.mean_comm()?;
    let of = report
        .sums_over
        .title(["in each step on each device", "on each device"]);
    let mut text = format!("{all} of communication {of} (mean), {exposed} exposed");
    match summary.overlap_ratio_percent {
        Some(hidden) => {
            let _ = write!(
                text,
                ", {} hidden behind compute",
                number::value(hidden.0, Unit::Percent)
            );
        }
        None => text.push_str(", hidden part unknown"),
    }
    let kinds: Vec<_> = kinds(report);
    let _ = write!(
        text,
        "; {}: {}",
        number::counted(summary.collectives, "collective"),
        kinds.join(", ")
    );
    Some(text)
}

/// `12 all-reduce`, the most time first.
fn kinds(report: &OverlapReport) -> Vec<String> {
    let mut sums: Vec<(&str, u64, Picos)> = Vec::new();
    for row in report.transfers.iter().filter(|row| row.is_collective) {
        match sums.iter_mut().find(|(kind, ..)| *kind == row.kind) {
            Some((_, count, time)) => {
                *count += row.occurrences;
                *time += row.time_ps;
            }
            None => sums.push((&row.kind, row.occurrences, row.time_ps)),
        }
    }
    sums.sort_by_key(|&(kind, _, time)| (std::cmp::Reverse(time), kind));
    sums.into_iter()
        .map(|(kind, count, _)| format!("{count} {kind}"))
        .collect()
}

fn steps_line(report: &StepsReport) -> String {
    let Some(time) = report.time.filter(|_| report.has_steps()) else {
        return format!("{}; {}", report.source.title(), report.why.join("; "));
    };
    let length = |ps: f64| Picos::from_ps(ps.round() as i64).to_string();
    let mut text = format!(
        "{}, median {} (least {}, most {}",
        counted(time.count, "step"),
        length(time.median),
        length(time.min),
        length(time.max)
    );
    if let Some(cv) = time.cv_percent {
        let _ = write!(text, ", std dev {}", number::value(cv, Unit::Percent));
    }
    let _ = write!(text, ") — {}", report.source.title());
    if !report.marker.is_empty() {
        let _ = write!(text, ": {}", report.marker);
    }
    let slow = report.outliers();
    if !slow.is_empty() {
        let name = |step: &&analysis::facts::steps::Step| {
            let compiles = if step.mostly_compiles() {
                " compiling"
            } else {
                ""
            };
            format!("{} ({}{compiles})", step.number, step.time_ps)
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

/// Aligned columns: title, value, denominator, provenance. Metrics that are missing for the same reason share a line.
/// Peaks are listed once, below.
fn utilization(
    badge: Option<&str>,
    figures: &[KeyFigure],
    peaks: &[(Peaks, usize)],
    layout: &TextLayout,
) -> String {
    let first = peaks
        .first()
        .map(|(peaks, _)| peaks.clone())
        .unwrap_or_default();
    let (flops, hbm) = (first.flops_text(), first.hbm_text());
    let mut text = String::new();
    let mut missing: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut bounds: Vec<(&str, Vec<&str>)> = Vec::new();
    let values: Vec<Option<String>> = figures
        .iter()
        .map(|figure| figure.text(number::value))
        .collect();
    let column = values
        .iter()
        .flatten()
        .map(String::len)
        .fold(VALUE, usize::max);
    for (figure, value) in figures.iter().zip(values) {
        let title = figure.title;
        let Some(value) = value else {
            let why = figure
                .note
                .as_deref()
                .unwrap_or("not recorded in this capture");
            add_title(&mut missing, why, title);
            continue;
        };
        if figure.is_lower_bound {
            add_title(
                &mut bounds,
                figure.note.as_deref().unwrap_or_default(),
                title,
            );
        }
        let of = figure
            .of
            .replace(&flops, "peak FLOP/s")
            .replace(&hbm, "peak HBM");
        let of = if title.ends_with(WINDOW) {
            of.replacen(WINDOW, "window", 1)
        } else {
            of
        };
        let remark = format!("of {of} [{}]", figure.provenance.title_in(badge));
        let room = layout.width.saturating_sub(TITLE + column + 2);
        if room >= LEAST_REMARK {
            let remark = shortened(&remark, room);
            let _ = writeln!(
                text,
                "{title:<TITLE$}{value:>column$}  {}",
                layout.style.dim(&remark)
            );
        } else {
            let _ = writeln!(text, "{title:<TITLE$}{value:>column$}");
            text.push_str(&layout.lines(2, &remark, |line| layout.style.dim(line)));
        }
    }
    let mut below = String::new();
    for (own, devices) in peaks
        .iter()
        .filter(|(own, _)| own.flops.is_some() || own.hbm.is_some())
    {
        let mut line = format!("{}; {}", own.flops_text(), own.hbm_text());
        if peaks.len() > 1 {
            let kind = own.device_type.as_deref().unwrap_or("TPU");
            line = format!("{devices} × {kind}: {line}");
        }
        below.push_str(&entry("Peaks", &line, layout));
    }
    for (why, titles) in bounds {
        below.push_str(&entry(
            "At least",
            &format!(
                "{}: {}",
                titles.join(", "),
                why.replace("a lower bound: ", "")
            ),
            layout,
        ));
    }
    for (why, titles) in missing {
        let line = format!("{} {}: {why}", number::MISSING, titles.join(", "));
        below.push_str(&entry("No data", &line, layout));
    }
    text + &below
}

/// Adds the title of a figure to those with the same remark.
fn add_title<'a>(list: &mut Vec<(&'a str, Vec<&'a str>)>, remark: &'a str, title: &'a str) {
    match list.iter_mut().find(|(own, _)| *own == remark) {
        Some((_, titles)) => titles.push(title),
        None => list.push((remark, vec![title])),
    }
}

/// Peaks of each kind of device, with the number of devices.
fn peaks(cores: &[CoreOps]) -> Vec<(Peaks, usize)> {
    let mut kinds: Vec<(Peaks, usize)> = Vec::new();
    for core in cores {
        match kinds.iter_mut().find(|(peaks, _)| *peaks == core.peaks) {
            Some((_, devices)) => *devices += 1,
            None => kinds.push((core.peaks.clone(), 1)),
        }
    }
    kinds
}

/// Warnings about data quality; the details are in `systole doctor`.
pub fn health(document: &Document, overview: &Overview, layout: &TextLayout) -> String {
    let mut text = String::new();
    for finding in &overview.health {
        let heading = if finding.severity == Severity::Loss {
            "Lost"
        } else {
            "Caution"
        };
        text.push_str(&entry(
            heading,
            &format!("{} ({})", finding.message, finding.id),
            layout,
        ));
    }
    let sources = document.session.model().sources();
    let mut cannot: Vec<&str> = sources
        .iter()
        .flat_map(|source| source.cannot_know.iter().copied())
        .collect();
    cannot.sort_unstable();
    cannot.dedup();
    if !cannot.is_empty() {
        let line = format!("does not record {}", cannot.join(", "));
        text.push_str(&entry("Format", &line, layout));
    }
    text
}

/// A heading and the lines beside and below it.
fn entry(heading: &str, body: &str, layout: &TextLayout) -> String {
    const HEADING: usize = 10;
    let pad = " ".repeat(HEADING.saturating_sub(heading.len()));
    layout.beside(
        &format!("{}{pad}", layout.style.bold(heading)),
        HEADING,
        body,
    )
}
