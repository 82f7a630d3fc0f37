//! Charts as inline SVG.

use std::collections::BTreeMap;

use crate::prelude::*;
use analysis::compare::{WhyRow, thinned};
use analysis::hints::{LoopLimit, TimePart};
use analysis::math::stats::median;
use analysis::reports::{Roofline, StepPart, Steps};
use analysis::{OpGroup, TraceFacts as _};
use maud::{Markup, PreEscaped, html};
use trace_model::{ClassSums, LabelId, LaneMipmap, TimeRange, TrackId, TrackKind};

use super::style::color_of;
use crate::pictures::svg;
use crate::summary;
use view::charts::roofline::RooflineChart;
use view::charts::stacked_bar::{StackedBar, role_of_use};
use view::charts::steps::{StepBars, StepsChart};
use view::charts::waterfall::Waterfall;
use view::charts::{Chart as _, ChartFrame, ChartSwatch};
use view::drawing::MarkerKind;
use view::palette::ColorKey;
use view::time_format::TimeFormat;

/// Width of a chart in its own units.
pub(super) const WIDTH: f32 = 800.0;

/// A drawing, with a description for screen readers.
fn painted(label: &str, drawing: &Drawing) -> Markup {
    let (width, height) = drawing.size;
    let id = label.replace(' ', "-");
    let shapes = PreEscaped(svg::shapes(drawing, &id, color_of));
    html! { svg viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(label) { (shapes) } }
}

/// A drawing with texts: on a phone it is wider than the screen and scrolls.
pub(super) fn plotted(label: &str, drawing: &Drawing) -> Markup {
    html! { div.scroll.plot { (painted(label, drawing)) } }
}

pub(super) fn key(swatches: &[ChartSwatch]) -> Markup {
    html! {
        ul.key {
            @for swatch in swatches {
                li { i style={ "background:" (color_of(swatch.ink)) } {} (swatch.title) }
            }
        }
    }
}

fn frame(height: f32) -> ChartFrame {
    ChartFrame {
        width: WIDTH,
        height,
        // That of a phone: wide screens have smaller letters in the same places.
        font: 14.0,
        times: TimeFormat::default(),
        has_titles: true,
    }
}

/// A time that was computed.
fn time(ps: f64) -> Picos {
    Picos::rounded(ps)
}

/// What limits the loop, and what else its time goes to, as a bar with the shares of the sentence.
pub fn uses(limit: &LoopLimit) -> Markup {
    let swatch = |part: &TimePart| {
        let words = summary::part_in_words(part, &limit.parts, limit.of_ps);
        ChartSwatch::new(role_of_use(part.id), words)
    };
    let swatches: Vec<ChartSwatch> = limit.parts.iter().map(swatch).collect();
    let titles = swatches.iter().map(|one| &*one.title);
    let width = |part: &TimePart| 100.0 * part.time_ps / limit.of_ps.max(1.0);
    html! {
        div.uses role="img" aria-label=(joined(titles, ", ")) {
            @for (part, swatch) in limit.parts.iter().zip(&swatches) {
                i title=(swatch.title) style=(format_args!("width:{:.2}%;background:{}", width(part), color_of(swatch.ink))) {}
            }
        }
        (key(&swatches))
    }
}

/// What the times of a run are of, in short and in full: a step, or the capture where there are no steps.
pub(super) fn unit_of(run: &Summary) -> [&'static str; 2] {
    if run.has_steps() {
        [
            "a step",
            "the interquartile mean step, on the slowest device",
        ]
    } else {
        ["the capture", "the capture, on the slowest device"]
    }
}

/// The parts of the interquartile mean step as a bar, with the numbers below.
pub fn breakdown(run: &Summary) -> Markup {
    let parts = run.parts();
    let whole: f64 = parts.iter().map(|(_, time)| time).sum();
    if whole <= 0.0 {
        return PreEscaped::default();
    }
    let parts: Vec<(StepPart, i64)> = parts
        .iter()
        .map(|(part, ps)| (*part, time(*ps).ps()))
        .collect();
    let bar = StackedBar::of_step(&parts, time(whole).ps());
    let frame = frame(34.0);
    html! {
        (painted(&format!("Parts of {}", unit_of(run)[0]), &bar.draw(&frame)))
        (key(&bar.legend(&frame)))
        p.dim { "Of " (unit_of(run)[1]) ": " (time(whole)) "." }
    }
}

/// Why the step changed, as bars that add up.
pub fn waterfall(rows: &[WhyRow]) -> Markup {
    let chart = Waterfall { rows };
    let frame = frame(chart.height());
    html! {
        (plotted("Why the step changed", &chart.draw(&frame)))
        (key(&chart.legend(&frame)))
    }
}

/// The time of each steady step.
pub fn steps(run: &Summary) -> Markup {
    const MOST: usize = 400;
    let Some(series) = run
        .series("step.time_ps")
        .filter(|series| series.values.len() > 1)
    else {
        return PreEscaped::default();
    };
    let numbers: Vec<f64> = run.steps.numbers.iter().map(|&one| one.into()).collect();
    let (values, numbers) = (thinned(&series.values, MOST), thinned(&numbers, MOST));
    let most = series.values.iter().copied().fold(0.0, f64::max);
    let median_ps = median(&series.values);
    if most <= 0.0 {
        return PreEscaped::default();
    }
    let times = numbers.iter().zip(&values);
    let bars = StepBars::of_times(times.map(|(&number, &ps)| (number as u32, time(ps).ps())));
    let chart = StepsChart {
        bars: &bars,
        median_ps,
    };
    html! {
        (plotted("Time of each step", &chart.draw(&frame(180.0))))
        p.cap { "median " (time(median_ps.unwrap_or(0.0))) " (line), slowest " (time(most)) }
        @if values.len() < run.steps.counted {
            p.dim { (values.len()) " of " (run.steps.counted) " steady steps, evenly spread." }
        }
    }
}

/// Ops, ceilings, axes and legend. Nothing if no op has work, traffic and time.
pub fn roofline(document: &Document) -> Markup {
    const MOST: usize = 200;
    let Ok(report) = document.session.report::<Roofline>(document.scope) else {
        return PreEscaped::default();
    };
    let chart = RooflineChart::of(&report, report.ops.iter().take(MOST));
    let shown = chart.ops().count();
    if shown == 0 {
        return PreEscaped::default();
    }
    let frame = frame(380.0);
    html! {
        (plotted("Roofline", &chart.draw(&frame)))
        (key(&chart.legend(&frame)))
        p.cap {
            "One device. Both axes are logarithmic; the area of a circle grows with its share of op time. Dashed: what links between chips allow per byte sent over them; do not compare ops with these lines."
            @match report.ops.len() - shown {
                0 => {}
                1 => { " 1 op is not shown: it has no known work or traffic, or takes the least time." }
                n => { " " (n) " ops are not shown: they have no known work or traffic, or take the least time." }
            }
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
    let pictures = cores
        .iter()
        .take(DEVICES)
        .filter_map(|&core| Some((core, model.track_of_kind(core, TrackKind::Ops)?)))
        .map(|(core, track)| (core, lanes(document, track, range)));
    html! {
        @for (core, ops) in pictures.filter(|(_, ops)| !ops.shapes.is_empty()) {
            p.cap { (model.device_name(core)) }
            (painted("Ops over time", &ops))
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

/// The ops of a track in its first lanes: of each column, the share of its time that each part takes, and over them the
/// ops that are wide enough to point at.
fn lanes(document: &Document, track: TrackId, range: TimeRange) -> Drawing {
    const DEPTHS: usize = 2;
    const ROW: f32 = 16.0;
    const BAR: f32 = ROW - 2.0;
    const COLUMNS: i64 = WIDTH as i64;
    const LONG: i64 = 6;
    let model = document.session.model();
    let cx = document.session.context(document.scope);
    let classes = cx.classes();
    let length = range.dur().ps();
    let key_of = |op| ColorKey::of_group(StepPart::of(&classes.class_of(op)).group());
    let by_label: Vec<u8> = model
        .labels()
        .iter()
        .map(|label| key_of(label.op).0)
        .collect();
    let class_of = |label: LabelId| by_label.get(label.index()).copied().unwrap_or_default();
    let x = |ps: i64| {
        (WIDTH * ((ps - range.start.ps()) as f64 / length as f64) as f32).clamp(0.0, WIDTH)
    };
    let time_at = |column: i64| {
        let ps = i128::from(length) * i128::from(column) / i128::from(COLUMNS);
        range.start + Picos::from_ps(i64::try_from(ps).unwrap_or(length))
    };
    let mut drawing = Drawing::new(WIDTH, 0.0, ColorRole::Panel);
    for lane in model.lanes(track).iter().take(DEPTHS) {
        let y = drawing.size.1;
        let sums = ClassSums::build(model, lane, class_of);
        let mut bars: BTreeMap<u8, Vec<_>> = BTreeMap::new();
        let mut column = 0;
        sums.between(
            model,
            lane,
            class_of,
            (0..=COLUMNS).map(time_at),
            |covered, _| {
                let mut bottom = y + BAR;
                let whole = (time_at(column + 1) - time_at(column)).ps().max(1);
                let classes = sums.classes().iter().zip(covered);
                for (&class, &ps) in classes.filter(|(_, ps)| **ps > 0) {
                    let height = BAR * (ps as f64 / whole as f64) as f32;
                    bottom -= height;
                    let bar = ((column as f32, bottom), (1.0, height));
                    bars.entry(class).or_default().push(bar);
                }
                column += 1;
            },
        );
        for (class, bars) in bars {
            drawing.bars(bars, ColorRole::Slice(ColorKey(class)));
        }
        let mut long = Vec::new();
        let least = Picos::from_ps(length / COLUMNS * LONG);
        LaneMipmap::build(model, lane).long_slices(model, lane, range, least, &mut long);
        for slice in long.into_iter().map(|slice| model.slice(slice)) {
            let (from, to) = (
                x(slice.start().ps()).ceil(),
                x(slice.range().end.ps()).floor(),
            );
            let title = format!("{}, {}", slice.name(), slice.measured_dur());
            drawing.rect(
                from,
                y,
                to - from,
                BAR,
                ColorRole::Slice(key_of(slice.op())),
                &title,
            );
        }
        if !drawing.shapes.is_empty() {
            drawing.size.1 += ROW;
        }
    }
    drawing
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
    const HEIGHT: f32 = 180.0;
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
    let y = |value: f64| HEIGHT * (1.0 - (value - low + room) / (high - low + 2.0 * room)) as f32;
    let sides = [
        (
            "base",
            &first,
            ColorRole::group(OpGroup::MatMul),
            MarkerKind::Circle,
        ),
        (
            "cand",
            &second,
            ColorRole::group(OpGroup::Collective),
            MarkerKind::Square,
        ),
    ];
    let sides: Vec<_> = sides
        .into_iter()
        .filter_map(|side| Some((side, median(side.1)?)))
        .collect();
    let mut drawing = Drawing::new(WIDTH, HEIGHT, ColorRole::Panel);
    for &((name, values, role, kind), middle) in &sides {
        let dots = thinned(values, MOST);
        let slot = WIDTH / dots.len().max(1) as f32;
        for (index, &value) in dots.iter().enumerate() {
            let title = format!("{name}: {}", time(value));
            drawing.marker(
                kind,
                ((index as f32 + 0.5) * slot, y(value)),
                3.0,
                role,
                title,
            );
        }
        drawing.dashed_line((0.0, y(middle)), (WIDTH, y(middle)), role);
    }
    let swatch = |&((name, values, role, _), middle): &((&str, &Vec<f64>, ColorRole, _), f64)| {
        let (low, high) = extent(values);
        let (count, middle) = (values.len(), time(middle));
        let title = format!(
            "{name}: {count} steps, median {middle}, {} to {}",
            time(low),
            time(high)
        );
        ChartSwatch::new(role, title)
    };
    html! {
        (painted("Time of each step on both sides", &drawing))
        (key(&sides.iter().map(swatch).collect::<Vec<_>>()))
        p.dim {
            "Steady steps from left to right, of many at most " (MOST) " spread evenly; lines are medians of all. The axis \
             does not begin at 0."
        }
    }
}
