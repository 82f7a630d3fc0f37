//! Charts as inline SVG.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use analysis::compare::{Summary, thinned};
use analysis::math::stats::median;
use analysis::reports::steps::step_parts::StepPart;
use analysis::reports::steps::step_times::Steps;
use analysis::{Percent, TraceFacts as _};
use maud::{Markup, PreEscaped, Render, html};
use trace_model::{ClassSums, LabelId, LaneMipmap, Picos, TimeRange, TrackId, TrackKind};

use super::style::color;
use crate::Document;

/// Width of a chart in its own units.
const WIDTH: f64 = 800.0;

/// A number of a picture, with this many decimals.
pub struct Fixed(pub f64, pub usize);

impl Render for Fixed {
    fn render_to(&self, buffer: &mut String) {
        format_args!("{:.*}", self.1, self.0).render_to(buffer);
    }
}

/// A picture of a given height, with a description for screen readers.
fn picture(height: f64, label: &str, content: &Markup) -> Markup {
    html! { svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(label) { (content) } }
}

/// A time that was computed.
fn time(ps: f64) -> Picos {
    Picos::from_ps(ps.round() as i64)
}

/// The parts of the interquartile mean step as a bar, with the numbers below.
pub fn breakdown(run: &Summary) -> Markup {
    let parts = run.parts();
    let whole: f64 = parts.iter().map(|(_, time)| time).sum();
    if whole <= 0.0 {
        return PreEscaped::default();
    }
    let mut x = 0.0;
    let mut boxes = Vec::new();
    for (part, ps) in &parts {
        let text = format!(
            "{} {}, {}",
            part.title(),
            Percent(100.0 * ps / whole),
            time(*ps)
        );
        boxes.push((x, WIDTH * ps / whole, color(*part), text));
        x += WIDTH * ps / whole;
    }
    let bars = html! {
        @for (x, width, color, text) in &boxes {
            rect x=(Fixed(*x, 2)) y="0" width=(Fixed(*width, 2)) height="34" fill={ "var(--p" (color) ")" } { title { (text) } }
        }
    };
    html! {
        (picture(34.0, "Parts of a step", &bars))
        ul.key {
            @for (.., color, text) in &boxes { li { i style={ "background:var(--p" (color) ")" } {} (text) } }
        }
        p.dim { "Of the interquartile mean step (" (time(whole)) "), on the slowest device of each step." }
    }
}

/// The time of each steady step.
pub fn steps(run: &Summary) -> Markup {
    const HEIGHT: f64 = 120.0;
    const TOP: f64 = 2.0;
    const MOST: usize = 400;
    let Some(series) = run
        .series("step.time_ps")
        .filter(|series| series.values.len() > 1)
    else {
        return PreEscaped::default();
    };
    let numbers: Vec<f64> = run
        .steps
        .numbers
        .iter()
        .map(|&number| f64::from(number))
        .collect();
    let (values, numbers) = (thinned(&series.values, MOST), thinned(&numbers, MOST));
    let (most, middle) = (
        series.values.iter().copied().fold(0.0, f64::max),
        median(&series.values).unwrap_or(0.0),
    );
    if most <= 0.0 {
        return PreEscaped::default();
    }
    let slot = WIDTH / values.len() as f64;
    let y = |value: f64| TOP + (HEIGHT - TOP) * (1.0 - value / most);
    let bars = html! {
        @for (at, &value) in values.iter().enumerate() {
            rect x=(Fixed(at as f64 * slot, 2)) y=(Fixed(y(value), 2)) width=(Fixed((slot * 0.85).max(0.5), 2))
                height=(Fixed(HEIGHT - y(value), 2)) fill="var(--p0)" {
                title { @if let Some(number) = numbers.get(at) { "step " (number) ": " } (time(value)) }
            }
        }
        line.axis x1="0" x2=(WIDTH) y1=(Fixed(y(middle), 2)) y2=(Fixed(y(middle), 2)) stroke-dasharray="4 4" {}
    };
    html! {
        (picture(HEIGHT, "Time of each step", &bars))
        p.cap { "median " (time(middle)) " (line), slowest " (time(most)) }
        @if values.len() < run.steps.counted {
            p.dim { (values.len()) " of " (run.steps.counted) " steady steps, evenly spread." }
        }
    }
}

/// The ops of a few devices in up to three steps in the middle of the capture.
pub fn timeline(document: &Document) -> Markup {
    const DEVICES: usize = 4;
    let model = document.session.model();
    let range = shown(document);
    let cores = model.tensor_cores();
    if cores.is_empty() || range.dur() <= Picos::ZERO {
        return PreEscaped::default();
    }
    let tracks = cores
        .iter()
        .take(DEVICES)
        .filter_map(|&core| Some((core, model.track_of_kind(core, TrackKind::Ops)?)));
    let pictures = tracks.map(|(core, track)| (core, lanes(document, track, range)));
    html! {
        @for (core, (height, ops)) in pictures.filter(|(_, (height, _))| *height > 0.0) {
            p.cap { (model.str(model.group(core).name)) }
            (picture(height, "Ops over time", &ops))
        }
        p.dim {
            (range.dur()) " of the timeline"
            @match cores.len().saturating_sub(DEVICES) {
                0 => {}
                1 => { "; 1 more device is not shown" }
                more => { "; " (more) " more devices are not shown" }
            }
            ". Colours as above, stacked by their share of the time of each column."
        }
    }
}

/// The ops of a track in its first lanes, and how high they are: of each column, the share of its time that each part
/// takes, and over them the ops that are wide enough to point at.
fn lanes(document: &Document, track: TrackId, range: TimeRange) -> (f64, Markup) {
    const DEPTHS: usize = 2;
    const ROW: f64 = 16.0;
    const COLUMNS: i64 = WIDTH as i64;
    const LONG: i64 = 6;
    let model = document.session.model();
    let cx = document.session.context(document.scope);
    let classes = cx.classes();
    let length = range.dur().ps();
    let part_of = |op| color(StepPart::of(&classes.class_of(op)));
    let by_label: Vec<u8> = model
        .labels()
        .iter()
        .map(|label| part_of(label.op) as u8)
        .collect();
    let class_of = |label: LabelId| by_label.get(label.index()).copied().unwrap_or_default();
    let x = |ps: i64| (WIDTH * (ps - range.start.ps()) as f64 / length as f64).clamp(0.0, WIDTH);
    let at = |column: i64| {
        let ps = i128::from(length) * i128::from(column) / i128::from(COLUMNS);
        range.start + Picos::from_ps(i64::try_from(ps).unwrap_or(length))
    };
    let (mut y, mut ops) = (0.0, String::new());
    for lane in model.lanes(track).iter().take(DEPTHS) {
        let sums = ClassSums::build(model, lane, class_of);
        let mut paths: BTreeMap<u8, String> = BTreeMap::new();
        let mut column = 0;
        sums.between(
            model,
            lane,
            class_of,
            (0..=COLUMNS).map(at),
            |covered, _| {
                let (mut bottom, whole) = (
                    y + ROW - 2.0,
                    (at(column + 1) - at(column)).ps().max(1) as f64,
                );
                for (&class, &ps) in sums
                    .classes()
                    .iter()
                    .zip(covered)
                    .filter(|(_, ps)| **ps > 0)
                {
                    let height = (ROW - 2.0) * ps as f64 / whole;
                    bottom -= height;
                    // Writing to a string cannot fail.
                    let _ = write!(
                        paths.entry(class).or_default(),
                        "M{column} {bottom:.2}h1v{height:.2}h-1z"
                    );
                }
                column += 1;
            },
        );
        let mut long = Vec::new();
        let least = Picos::from_ps(length / COLUMNS * LONG);
        LaneMipmap::build(model, lane).long_slices(model, lane, range, least, &mut long);
        html! {
            @for (class, path) in &paths { path d=(path) fill={ "var(--p" (class) ")" } {} }
            @for slice in long.into_iter().map(|slice| model.slice(slice)) {
                @let (from, to) = (x(slice.start().ps()).ceil(), x(slice.range().end.ps()).floor());
                rect x=(from) y=(Fixed(y, 1)) width=(to - from) height=(Fixed(ROW - 2.0, 1))
                    fill={ "var(--p" (part_of(slice.op())) ")" } {
                    title { (slice.name()) ", " (slice.measured_dur()) }
                }
            }
        }
        .render_to(&mut ops);
        y += if ops.is_empty() { 0.0 } else { ROW };
    }
    (y, PreEscaped(ops))
}

fn shown(document: &Document) -> TimeRange {
    let whole = document.session.model().extent();
    let Ok(steps) = document.session.report::<Steps>(document.scope) else {
        return whole;
    };
    let counted: Vec<_> = steps.counted().collect();
    let from = (counted.len() / 2).saturating_sub(1);
    let chosen = counted
        .iter()
        .skip(from)
        .take(3)
        .filter_map(|step| step.range());
    chosen.reduce(TimeRange::hull).unwrap_or(whole)
}

/// The time of each steady step of both sides, as dots and squares, with the medians.
pub fn both(base: &[Summary], cand: &[Summary]) -> Markup {
    const HEIGHT: f64 = 180.0;
    const MOST: usize = 300;
    let values = |runs: &[Summary]| -> Vec<f64> {
        runs.iter()
            .filter_map(|run| run.series("step.time_ps"))
            .flat_map(|s| s.values.clone())
            .collect()
    };
    let (first, second) = (values(base), values(cand));
    let extent = |values: &[f64]| {
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        values.iter().fold(ends, |(low, high), &value| {
            (low.min(value), high.max(value))
        })
    };
    let (low, high) = extent(&[&first[..], &second[..]].concat());
    if first.len().max(second.len()) < 2 || high <= low {
        return PreEscaped::default();
    }
    let room = 0.08 * (high - low);
    let y = |value: f64| HEIGHT * (1.0 - (value - low + room) / (high - low + 2.0 * room));
    let sides = [("base", &first, 0, false), ("cand", &second, 3, true)];
    let sides: Vec<_> = sides
        .into_iter()
        .filter_map(|side| Some((side, median(side.1)?)))
        .collect();
    let dots = html! {
        @for &((name, values, color, is_square), middle) in &sides {
            @let dots = thinned(values, MOST);
            @let slot = WIDTH / dots.len().max(1) as f64;
            @let fill = format!("var(--p{color})");
            @for (at, value) in dots.iter().enumerate() {
                @let (x, y) = ((at as f64 + 0.5) * slot, y(*value));
                @let title = html! { title { (name) ": " (time(*value)) } };
                @if is_square {
                    rect x=(Fixed(x - 2.5, 1)) y=(Fixed(y - 2.5, 1)) width="5" height="5" fill=(fill) { (title) }
                } @else {
                    circle cx=(Fixed(x, 1)) cy=(Fixed(y, 1)) r="3" fill=(fill) { (title) }
                }
            }
            line x1="0" x2=(WIDTH) y1=(Fixed(y(middle), 1)) y2=(Fixed(y(middle), 1)) style={ "stroke:" (fill) }
                stroke-dasharray=(if is_square { "8 4" } else { "2 3" }) {}
        }
    };
    html! {
        (picture(HEIGHT, "Time of each step on both sides", &dots))
        ul.key {
            @for &((name, values, color, is_square), middle) in &sides {
                @let (low, high) = extent(values);
                li {
                    i class=[(!is_square).then_some("round")] style={ "background:var(--p" (color) ")" } {}
                    (name) ": " (values.len()) " steps, median " (time(middle)) ", " (time(low)) " to " (time(high))
                }
            }
        }
        p.dim {
            "Steady steps from left to right, of many at most " (MOST) " spread evenly; lines are medians of all. The axis \
             does not begin at 0."
        }
    }
}
