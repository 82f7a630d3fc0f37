//! The roofline: operations per second against operations per byte, both by their
//! logarithm.

use analysis::bound::BoundBy;
use analysis::roofline::{IciRoof, Point, Roofline, RooflineReport};
use analysis::{OpGroup, Scope, Unit};

use super::Look;
use super::drawing::{Anchor, Drawing, width_of};
use crate::render::number::value;
use crate::view::palette::{Palette, Rgb};
use crate::view::trace::OpenTrace;

/// Space for the axis.
const LEFT: f32 = 84.0;
/// Space for title and legend.
const TOP: f32 = 58.0;
/// Space below the plot.
const BOTTOM: f32 = 44.0;

/// What the ceilings of links are of, since the axis is not theirs.
pub const OF_ICI: &str = "per byte over ICI, not HBM";
/// The same at length.
pub const ABOUT_ICI: &str = "Dashed: FLOP/s that links between chips allow, per byte that goes over them. \
    The axis counts bytes of HBM, which links do not limit: compare no op with these lines.";

/// Ops, program and roofs. The error says why there is none.
pub fn roofline(trace: &OpenTrace, look: Look) -> Result<Drawing, String> {
    let report = trace.session.report::<Roofline>(Scope::WholeTrace).map_err(|error| error.to_string())?;
    let palette = look.palette();
    let place = |point: &Point| {
        let log = |value: Option<f64>| value.filter(|value| *value > 0.0).map(f64::log10);
        Some((log(point.flops_per_hbm_byte)?, log(point.flops_per_second)?))
    };
    let dots: Vec<(&Point, (f64, f64))> = report.ops.iter().filter_map(|op| Some((op, place(op)?))).collect();
    let peak = report.peaks.flops.map_or(14.0, |peak| peak.per_second.log10());
    let ridge =
        report.ridges.iter().find(|ridge| ridge.memory == BoundBy::Hbm).map_or(2.0, |r| r.flops_per_byte.log10());
    let x_range = (
        dots.iter().map(|dot| dot.1.0).fold(-1.0, f64::min).max(-3.0).floor(),
        dots.iter().map(|dot| dot.1.0).fold(ridge + 1.0, f64::max).min(ridge + 3.0),
    );
    let y_range = (dots.iter().map(|dot| dot.1.1).fold(peak - 3.0, f64::min).max(peak - 6.0).floor(), peak + 0.4);
    let (width, height) = (look.width - LEFT - 16.0, look.height - TOP - BOTTOM);
    let axes = Axes { x: x_range, y: y_range, width, height };
    let (x_of, y_of) = (|x: f64| axes.x_of(x), |y: f64| axes.y_of(y));

    let mut drawing = Drawing::new(look.width, look.height, palette.panel);
    let device = report.peaks.device_type.as_deref().unwrap_or("device");
    let title = format!("{}: roofline of one {device}", trace.name());
    drawing.fitted(12.0, 18.0, look.width - 24.0, 13.0, palette.text_strong, &title);
    let mut x = LEFT;
    for group in OpGroup::ALL.into_iter().filter(|group| dots.iter().any(|dot| dot.0.group == *group)) {
        drawing.rect(x, 34.0, 10.0, 10.0, palette.group(group), "");
        drawing.text(x + 15.0, 39.0, Anchor::Start, 11.0, palette.text_weak, group.title());
        x += 29.0 + width_of(group.title(), 11.0);
    }
    if report.ici.is_some() {
        drawing.rect(x, 38.0, 10.0, 2.0, palette.group(OpGroup::Collective), ABOUT_ICI);
        drawing.text(x + 15.0, 39.0, Anchor::Start, 11.0, palette.text_weak, &format!("dashed: {OF_ICI}"));
    }
    drawing.rect(LEFT, TOP, width, height, palette.canvas, "");
    for decade in x_range.0.ceil() as i32..=x_range.1.floor() as i32 {
        let x = x_of(f64::from(decade));
        drawing.line((x, TOP), (x, TOP + height), palette.grid, 1.0);
        let text = value(10_f64.powi(decade), Unit::None);
        drawing.text(x, TOP + height + 13.0, Anchor::Middle, 11.0, palette.text_weak, &text);
    }
    for decade in y_range.0.ceil() as i32..=y_range.1.floor() as i32 {
        let y = y_of(f64::from(decade));
        drawing.line((LEFT, y), (LEFT + width, y), palette.grid, 1.0);
        let text = value(10_f64.powi(decade), Unit::FlopPerSecond);
        drawing.text(LEFT - 8.0, y, Anchor::End, 11.0, palette.text_weak, &text);
    }
    let below = TOP + height + 31.0;
    drawing.text(LEFT + width / 2.0, below, Anchor::Middle, 11.0, palette.text, "FLOP per byte of HBM traffic");

    drawing.begin_clip(LEFT, TOP, width, height);
    ceilings(&mut drawing, &report, &axes, palette);
    for (op, (x, y)) in dots.iter().rev() {
        let share = op.self_of_op_time_percent;
        // Drawn no larger than this, so that one op does not cover the others.
        let radius = 2.0 + (share.unwrap_or(1.0).clamp(0.0, 40.0).sqrt() * 1.8) as f32;
        let title = format!(
            "{}: {}, {} of op time",
            op.name,
            value(op.flops_per_second.unwrap_or(f64::NAN), Unit::FlopPerSecond),
            share.map_or_else(|| "an unknown share".to_owned(), |share| value(share, Unit::Percent))
        );
        drawing.circle(x_of(*x), y_of(*y), radius, palette.group(op.group), palette.canvas, &title);
    }
    if let Some((x, y)) = place(&report.program) {
        drawing.circle(x_of(x), y_of(y), 6.0, palette.text_strong, palette.canvas, "Program");
        drawing.text(x_of(x) + 10.0, y_of(y), Anchor::Start, 11.0, palette.text_strong, "program");
    }
    drawing.end_clip();
    Ok(drawing)
}

/// Where numbers lie, by their logarithm.
struct Axes {
    x: (f64, f64),
    y: (f64, f64),
    width: f32,
    height: f32,
}

impl Axes {
    fn x_of(&self, x: f64) -> f32 {
        LEFT + ((x - self.x.0) / (self.x.1 - self.x.0)) as f32 * self.width
    }

    fn y_of(&self, y: f64) -> f32 {
        TOP + self.height - ((y - self.y.0) / (self.y.1 - self.y.0)) as f32 * self.height
    }
}

/// What HBM, links between chips and the matrix units allow.
fn ceilings(drawing: &mut Drawing, report: &RooflineReport, axes: &Axes, palette: &Palette<Rgb>) {
    let peak = report.peaks.flops.map_or(14.0, |peak| peak.per_second.log10());
    let ridge =
        report.ridges.iter().find(|ridge| ridge.memory == BoundBy::Hbm).map_or(2.0, |r| r.flops_per_byte.log10());
    if let Some(hbm) = report.peaks.hbm {
        let slope = hbm.per_second.log10();
        drawing.line(
            (axes.x_of(axes.x.0), axes.y_of(slope + axes.x.0)),
            (axes.x_of(ridge), axes.y_of(peak)),
            palette.text,
            2.0,
        );
        let text = format!("HBM {}", value(hbm.per_second, Unit::BytesPerSecond));
        let at = f64::midpoint(axes.x.0.max(axes.y.0 - slope), ridge);
        drawing.text(axes.x_of(at) - 8.0, axes.y_of(slope + at) - 6.0, Anchor::End, 11.0, palette.text, &text);
    }
    for (title, rate) in report.ici.iter().flat_map(IciRoof::ceilings) {
        let slope = rate.log10();
        let (from, to) = (axes.x.0.max(axes.y.0 - slope), (peak - slope).min(axes.x.1));
        let color = palette.group(OpGroup::Collective);
        dashed(drawing, (axes.x_of(from), axes.y_of(slope + from)), (axes.x_of(to), axes.y_of(slope + to)), color);
        let at = f64::midpoint(from, to);
        let text = format!("{title} {} {OF_ICI}", value(rate, Unit::BytesPerSecond));
        drawing.text(axes.x_of(at) + 8.0, axes.y_of(slope + at) + 8.0, Anchor::Start, 11.0, palette.text_weak, &text);
    }
    if let Some(flops) = report.peaks.flops {
        drawing.line((axes.x_of(ridge), axes.y_of(peak)), (LEFT + axes.width, axes.y_of(peak)), palette.text, 2.0);
        let text = value(flops.per_second, Unit::FlopPerSecond);
        drawing.text(LEFT + axes.width - 6.0, axes.y_of(peak) - 9.0, Anchor::End, 11.0, palette.text, &text);
    }
}

/// A line of dashes.
fn dashed(drawing: &mut Drawing, from: (f32, f32), to: (f32, f32), color: Rgb) {
    const DASH: f32 = 10.0;
    let (x, y) = (to.0 - from.0, to.1 - from.1);
    let count = (x.hypot(y) / DASH).clamp(1.0, 400.0) as u16;
    let at = |dash: f32| (from.0 + x * dash / f32::from(count), from.1 + y * dash / f32::from(count));
    for dash in 0..count {
        drawing.line(at(f32::from(dash)), at(f32::from(dash) + 0.55), color, 1.2);
    }
}
