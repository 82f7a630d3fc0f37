//! The roofline as inline SVG: operations per second over operations per byte of HBM.

use std::fmt::Write as _;

use analysis::reports::ops::roofline::{Point, Roofline};
use analysis::{OpGroup, Unit};

use super::super::junit::escaped;
use super::super::{Document, number};
use super::style::color_of;
use crate::view::roofline::{Ceiling, Place, Range, Roof, ceilings, place};

/// Units of the picture, and of its margins.
const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 92.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 44.0;
/// Ops that are drawn.
const MOST: usize = 200;
/// Ops of most time that have a name.
const NAMED: usize = 3;

/// Ops, the roofs above them, axes and a legend. Nothing where no op has work, traffic and time.
pub fn roofline(document: &Document) -> String {
    let Ok(report) = document.session.report::<Roofline>(document.scope) else { return String::new() };
    let points: Vec<(&Point, Place)> =
        report.ops.iter().filter_map(|point| Some((point, place(point)?))).take(MOST).collect();
    if points.is_empty() {
        return String::new();
    }
    let range = Range::of(&report, points.iter().map(|point| point.1));
    let mut svg = format!(
        "<div class=scroll><svg class=plot viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"Roofline\">"
    );
    axes(&mut svg, range);
    for ceiling in ceilings(&report, range) {
        roof(&mut svg, range, &ceiling);
    }
    // The largest lie below the others.
    for (at, (point, spot)) in points.iter().enumerate() {
        let share = point.self_of_op_time_percent;
        let radius = 2.0 + share.unwrap_or(1.0).clamp(0.0, 40.0).sqrt() * 1.8;
        let title = format!(
            "{}: {} at {}, {} of op time",
            point.name,
            number::value(point.flops_per_second.unwrap_or(f64::NAN), Unit::FlopPerSecond),
            number::value(point.flops_per_hbm_byte.unwrap_or(f64::NAN), Unit::FlopPerByte),
            share.map_or_else(|| "an unknown share".to_owned(), |share| number::value(share, Unit::Percent))
        );
        let (x, y) = (x_of(range, spot.0), y_of(range, spot.1));
        let _ = write!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"var(--p{})\" fill-opacity=\".75\" stroke=\"var(--bg)\"><title>{}</title></circle>",
            color_of(point.group),
            escaped(&title)
        );
        if at < NAMED {
            // To the side that has room.
            let (x, anchor) = if x > WIDTH * 0.6 { (x - radius - 4.0, "end") } else { (x + radius + 4.0, "start") };
            let _ = write!(
                svg,
                "<text class=halo x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
                y + 4.0,
                escaped(&point.name)
            );
        }
    }
    svg.push_str("</svg></div>\n<ul class=key>");
    for group in OpGroup::ALL.into_iter().filter(|group| points.iter().any(|(point, _)| point.group == *group)) {
        let color = color_of(group);
        let _ =
            write!(svg, "<li><i class=round style=\"background:var(--p{color})\"></i>{}</li>", escaped(group.title()));
    }
    let left_out = report.ops.len() - points.len();
    let left_out = match left_out {
        0 => String::new(),
        n => format!(" {n} ops are not shown: they have no known work or traffic, or take the least time."),
    };
    let _ = writeln!(
        svg,
        "</ul>\n<p class=cap>One device. Both axes are logarithmic; the area of a circle grows with its share of op time. \
         Dashed: what links between chips allow per byte that goes over them, which no op here is to be compared with.{left_out}</p>"
    );
    svg
}

fn x_of(range: Range, decade: f64) -> f64 {
    LEFT + (WIDTH - LEFT - RIGHT) * ((decade - range.x.0) / (range.x.1 - range.x.0)).clamp(0.0, 1.0)
}

fn y_of(range: Range, decade: f64) -> f64 {
    TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - ((decade - range.y.0) / (range.y.1 - range.y.0)).clamp(0.0, 1.0))
}

/// `100 TFLOP/s`: powers of ten need no decimals.
fn power_of_ten(decade: i32, unit: Unit) -> String {
    let text = number::value(10_f64.powi(decade), unit);
    let (digits, rest) = text.split_once(' ').map_or((text.as_str(), ""), |(digits, rest)| (digits, rest));
    let digits = if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
    format!("{digits} {rest}").trim_end().to_owned()
}

/// A line and a number at each power of ten, and what they are of.
fn axes(svg: &mut String, range: Range) {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    for decade in range.x.0.ceil() as i32..=range.x.1.floor() as i32 {
        let x = x_of(range, f64::from(decade));
        let text = power_of_ten(decade, Unit::None);
        let _ = write!(
            svg,
            "<line class=axis x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/><text class=dim x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
            bottom + 15.0
        );
    }
    for decade in range.y.0.ceil() as i32..=range.y.1.floor() as i32 {
        let y = y_of(range, f64::from(decade));
        let text = power_of_ten(decade, Unit::FlopPerSecond);
        let _ = write!(
            svg,
            "<line class=axis x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=dim x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }
    let _ = write!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">FLOP per byte of HBM traffic</text>",
        f64::midpoint(LEFT, right),
        HEIGHT - 8.0
    );
}

fn roof(svg: &mut String, range: Range, Ceiling { name, from, to, roof }: &Ceiling) {
    let (x1, y1, x2, y2) = (x_of(range, from.0), y_of(range, from.1), x_of(range, to.0), y_of(range, to.1));
    let (color, width, dashes) = match roof {
        Roof::Compute | Roof::Hbm => ("var(--fg)".to_owned(), 2.0, ""),
        Roof::Memory => ("var(--dim)".to_owned(), 1.0, ""),
        Roof::Links => (format!("var(--p{})", color_of(OpGroup::Collective)), 1.2, " stroke-dasharray=\"6 4\""),
    };
    let _ = write!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" style=\"stroke:{color};stroke-width:{width}\"{dashes}/>"
    );
    // A slope is named where it begins; the flat roof where it ends.
    let (x, y, anchor) =
        if *roof == Roof::Compute { (x2 - 4.0, y2 - 6.0, "end") } else { (x1 + 8.0, y1 - 2.0, "start") };
    let _ = write!(
        svg,
        "<text class=\"halo dim\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
        escaped(name)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_ten_have_no_decimals() {
        assert_eq!(power_of_ten(14, Unit::FlopPerSecond), "100 TFLOP/s");
        assert_eq!(power_of_ten(-1, Unit::None), "0.1");
        assert_eq!(power_of_ten(3, Unit::None), "1000");
    }
}
