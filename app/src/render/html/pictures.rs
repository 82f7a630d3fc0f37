//! Pictures as inline SVG, drawn from the numbers of a run.

use std::fmt::Write as _;

use analysis::Percent;
use analysis::compare::{Summary, thinned};
use analysis::math::stats::median;
use analysis::reports::steps::step_parts::StepPart;
use analysis::reports::steps::step_times::Steps;
use trace_model::{LaneMipmap, Picos, TimeRange, TrackKind};

use super::super::Document;
use super::super::junit::escaped;
use super::style::color;
use analysis::TraceFacts as _;

/// Units of a picture from left to right.
const WIDTH: f64 = 800.0;

/// The parts of the mean step, which add up to it, as a bar with its numbers below.
pub fn breakdown(run: &Summary) -> String {
    let parts = run.parts();
    let whole: f64 = parts.iter().map(|(_, time)| time).sum();
    if whole <= 0.0 {
        return String::new();
    }
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} 34\" role=\"img\" aria-label=\"Parts of a step\">");
    let mut x = 0.0;
    let mut key = String::from("<ul class=key>");
    for (part, time) in &parts {
        let width = WIDTH * time / whole;
        let share =
            format!("{} {}, {}", part.title(), Percent(100.0 * time / whole), Picos::from_ps(time.round() as i64));
        let fill = format!("var(--p{})", color(*part));
        let _ = write!(
            svg,
            "<rect x=\"{x:.2}\" y=\"0\" width=\"{width:.2}\" height=\"34\" fill=\"{fill}\"><title>{}</title></rect>",
            escaped(&share)
        );
        let _ = write!(key, "<li><i style=\"background:{fill}\"></i>{}</li>", escaped(&share));
        x += width;
    }
    format!(
        "{svg}</svg>\n{key}</ul>\n<p class=dim>Of the mean step of the middle half ({}), on the slowest device of each step.</p>\n",
        Picos::from_ps(whole.round() as i64)
    )
}

/// The time of each steady step.
pub fn steps(run: &Summary) -> String {
    const HEIGHT: f64 = 120.0;
    const TOP: f64 = 2.0;
    const MOST: usize = 400;
    let Some(series) = run.series("step.time_ps").filter(|series| series.values.len() > 1) else {
        return String::new();
    };
    let numbers: Vec<f64> = run.steps.numbers.iter().map(|&number| f64::from(number)).collect();
    let (values, numbers) = (thinned(&series.values, MOST), thinned(&numbers, MOST));
    let (most, middle) = (series.values.iter().copied().fold(0.0, f64::max), median(&series.values).unwrap_or(0.0));
    if most <= 0.0 {
        return String::new();
    }
    let slot = WIDTH / values.len() as f64;
    let y = |value: f64| TOP + (HEIGHT - TOP) * (1.0 - value / most);
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"Time of each step\">");
    for (at, value) in values.iter().enumerate() {
        let number = numbers.get(at).map_or(String::new(), |number| format!("step {number}: "));
        let _ = write!(
            svg,
            "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"var(--p0)\"><title>{number}{}</title></rect>",
            at as f64 * slot,
            y(*value),
            (slot * 0.85).max(0.5),
            HEIGHT - y(*value),
            Picos::from_ps(value.round() as i64)
        );
    }
    let _ = writeln!(
        svg,
        "<line class=axis x1=\"0\" x2=\"{WIDTH}\" y1=\"{0:.2}\" y2=\"{0:.2}\" stroke-dasharray=\"4 4\"/></svg><p class=cap>median {1} (line), slowest {2}</p>",
        y(middle),
        Picos::from_ps(middle.round() as i64),
        Picos::from_ps(most.round() as i64)
    );
    if values.len() < run.steps.counted {
        let shown = values.len();
        let _ = writeln!(svg, "<p class=dim>{shown} of {} steady steps, evenly spread.</p>", run.steps.counted);
    }
    svg
}

/// The ops of a few devices in up to three steps in the middle of the capture.
pub fn timeline(document: &Document) -> String {
    const DEVICES: usize = 4;
    const DEPTHS: usize = 2;
    const ROW: f64 = 16.0;
    let model = document.session.model();
    let cx = document.session.context(document.scope);
    let classes = cx.classes();
    let range = shown(document);
    let (cores, length) = (model.tensor_cores(), range.dur().ps());
    if cores.is_empty() || length <= 0 {
        return String::new();
    }
    let mut body = String::new();
    for &core in cores.iter().take(DEVICES) {
        let (mut picture, mut y) = (String::new(), 0.0);
        let Some(track) = model.track_of_kind(core, TrackKind::Ops) else { continue };
        for lane in model.lanes(track).iter().take(DEPTHS) {
            let mut items = Vec::new();
            let resolution = Picos::from_ps(length / WIDTH as i64);
            LaneMipmap::build(model, lane).query(model, lane, range, resolution, &mut items);
            for item in items {
                let slice = model.slice(item.representative);
                let x = |ps: i64| (WIDTH * (ps - range.start.ps()) as f64 / length as f64).clamp(0.0, WIDTH);
                let (from, to) = (x(item.range.start.ps()), x(item.range.end.ps()));
                let part = StepPart::of(&classes.class_of(slice.op()));
                let more = if item.count > 1 { format!(" and {} more", item.count - 1) } else { String::new() };
                let _ = write!(
                    picture,
                    "<rect x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"var(--p{})\"><title>{}{more}, {}</title></rect>",
                    (to - from).max(0.4),
                    ROW - 2.0,
                    color(part),
                    escaped(slice.name()),
                    slice.measured_dur()
                );
            }
            y += if picture.is_empty() { 0.0 } else { ROW };
        }
        if picture.is_empty() {
            continue;
        }
        let name = escaped(model.str(model.group(core).name));
        let _ = writeln!(
            body,
            "<p class=cap>{name}</p><svg viewBox=\"0 0 {WIDTH} {y:.0}\" role=\"img\" aria-label=\"Ops over time\">{picture}</svg>"
        );
    }
    let more = cores.len().saturating_sub(DEVICES);
    let more = match more {
        0 => String::new(),
        1 => "; 1 more device is not shown".to_owned(),
        more => format!("; {more} more devices are not shown"),
    };
    format!("{body}<p class=dim>{} of the timeline{more}. Colours as above.</p>\n", range.dur())
}

fn shown(document: &Document) -> TimeRange {
    let whole = document.session.model().extent();
    let Ok(steps) = document.session.report::<Steps>(document.scope) else { return whole };
    let counted: Vec<_> = steps.counted().collect();
    let from = (counted.len() / 2).saturating_sub(1);
    let chosen = counted.iter().skip(from).take(3).filter_map(|step| step.range());
    chosen.reduce(TimeRange::hull).unwrap_or(whole)
}

/// The time of each steady step of both sides, as dots and squares, from the first to
/// the last of each, with their medians.
pub fn both(base: &[Summary], cand: &[Summary]) -> String {
    const HEIGHT: f64 = 180.0;
    const MOST: usize = 300;
    let values = |runs: &[Summary]| -> Vec<f64> {
        runs.iter().filter_map(|run| run.series("step.time_ps")).flat_map(|s| s.values.clone()).collect()
    };
    let (first, second) = (values(base), values(cand));
    let all = || first.iter().chain(&second).copied();
    let (low, high) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    if first.len().max(second.len()) < 2 || high <= low {
        return String::new();
    }
    let room = 0.08 * (high - low);
    let y = |value: f64| HEIGHT * (1.0 - (value - low + room) / (high - low + 2.0 * room));
    let mut svg =
        format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"Time of each step on both sides\">");
    let mut key = String::from("<ul class=key>");
    for (name, values, color, is_square) in [("base", &first, 0, false), ("cand", &second, 3, true)] {
        let Some(middle) = median(values) else { continue };
        let dots = thinned(values, MOST);
        let slot = WIDTH / dots.len().max(1) as f64;
        for (at, value) in dots.iter().enumerate() {
            let (x, y) = ((at as f64 + 0.5) * slot, y(*value));
            let title = format!("{name}: {}", Picos::from_ps(value.round() as i64));
            let _ = if is_square {
                write!(
                    svg,
                    "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"5\" height=\"5\" fill=\"var(--p{color})\"><title>{title}</title></rect>",
                    x - 2.5,
                    y - 2.5
                )
            } else {
                write!(
                    svg,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"var(--p{color})\"><title>{title}</title></circle>"
                )
            };
        }
        let dashes = if is_square { "8 4" } else { "2 3" };
        let _ = write!(
            svg,
            "<line x1=\"0\" x2=\"{WIDTH}\" y1=\"{0:.1}\" y2=\"{0:.1}\" style=\"stroke:var(--p{color})\" stroke-dasharray=\"{dashes}\"/>",
            y(middle)
        );
        let shape = if is_square { "<i" } else { "<i class=round" };
        let _ = write!(
            key,
            "<li>{shape} style=\"background:var(--p{color})\"></i>{name}: {} steps, median {}, {} to {}</li>",
            values.len(),
            Picos::from_ps(middle.round() as i64),
            Picos::from_ps(values.iter().copied().fold(f64::INFINITY, f64::min).round() as i64),
            Picos::from_ps(values.iter().copied().fold(0.0, f64::max).round() as i64),
        );
    }
    format!(
        "{svg}</svg>\n{key}</ul>\n<p class=dim>Steady steps from left to right, of many at most {MOST} spread evenly; lines are medians of all. The axis does not begin at 0.</p>\n"
    )
}
