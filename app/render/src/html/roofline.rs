//! The roofline as inline SVG: operations per second over operations per byte of HBM.

use analysis::reports::ops::roofline::{Roofline, RooflinePoint};
use analysis::{OpGroup, Unit};
use maud::{Markup, PreEscaped, html};
use unicode_width::UnicodeWidthStr as _;

use super::pictures::Fixed;
use super::style::color_of;
use crate::Document;
use session::number;
use view::panels::roofline::{
    PlotPlace, PlotRange, RooflineCeiling, RooflineRoof, ceilings, place,
};

/// Size of the chart and its margins, in its own units.
const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 92.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 44.0;
/// Maximum number of ops drawn.
const MOST: usize = 200;
/// Number of labelled ops, if there is room.
const NAMED: usize = 3;
/// Maximum length of a label.
const LETTERS: usize = 30;
/// Size of a character and of a line of text, on a phone.
const LETTER: f64 = 7.5;
const LINE: f64 = 16.0;

/// Ops, ceilings, axes and legend. Nothing if no op has work, traffic and time.
pub fn roofline(document: &Document) -> Markup {
    let Ok(report) = document.session.report::<Roofline>(document.scope) else {
        return PreEscaped::default();
    };
    let points: Vec<(&RooflinePoint, PlotPlace)> = report
        .ops
        .iter()
        .filter_map(|point| Some((point, place(point)?)))
        .take(MOST)
        .collect();
    if points.is_empty() {
        return PreEscaped::default();
    }
    let range = PlotRange::of(&report, points.iter().map(|point| point.1));
    let ceilings = ceilings(&report, range);
    let circles: Vec<OpCircle<'_>> = points
        .iter()
        .map(|&(point, spot)| OpCircle::of(point, spot, range))
        .collect();
    let groups = OpGroup::ALL
        .into_iter()
        .filter(|group| points.iter().any(|(point, _)| point.group == *group));
    html! {
        div.scroll {
            svg.plot viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label="Roofline" {
                (axes(range))
                @for ceiling in &ceilings { (roof(range, ceiling)) }
                // The largest lie below the others.
                @for circle in &circles { (circle.drawn()) }
                (names(range, &ceilings, &circles[..circles.len().min(NAMED)]))
            }
        }
        ul.key {
            @for group in groups {
                li { i.round style={ "background:var(--p" (color_of(group)) ")" } {} (group.title()) }
            }
        }
        p.cap {
            "One device. Both axes are logarithmic; the area of a circle grows with its share of op time. Dashed: what links between chips allow per byte sent over them; do not compare ops with these lines."
            @match report.ops.len() - points.len() {
                0 => {}
                1 => { " 1 op is not shown: it has no known work or traffic, or takes the least time." }
                n => { " " (n) " ops are not shown: they have no known work or traffic, or take the least time." }
            }
        }
    }
}

/// An op, where it is drawn.
struct OpCircle<'a> {
    point: &'a RooflinePoint,
    x: f64,
    y: f64,
    radius: f64,
}

impl<'a> OpCircle<'a> {
    fn of(point: &'a RooflinePoint, spot: PlotPlace, range: PlotRange) -> Self {
        let radius = 2.0
            + point
                .self_of_op_time_percent
                .map_or(1.0, |share| share.0)
                .clamp(0.0, 40.0)
                .sqrt()
                * 1.8;
        Self {
            point,
            x: x_of(range, spot.0),
            y: y_of(range, spot.1),
            radius,
        }
    }

    fn drawn(&self) -> Markup {
        let point = self.point;
        let value = |value: Option<f64>, unit| number::value(value.unwrap_or(f64::NAN), unit);
        let share = point.self_of_op_time_percent;
        let share = share.map_or_else(
            || "an unknown share".to_owned(),
            |share| number::value(share.0, Unit::Percent),
        );
        html! {
            circle cx=(Fixed(self.x, 1)) cy=(Fixed(self.y, 1)) r=(Fixed(self.radius, 1))
                fill={ "var(--p" (color_of(point.group)) ")" } fill-opacity=".75" stroke="var(--bg)" {
                title {
                    (*point.name) ": " (value(point.flops_per_second, Unit::FlopPerSecond)) " at "
                    (value(point.flops_per_hbm_byte, Unit::FlopPerByte)) ", " (share) " of op time"
                }
            }
        }
    }
}

fn x_of(range: PlotRange, decade: f64) -> f64 {
    LEFT + (WIDTH - LEFT - RIGHT) * ((decade - range.x.0) / (range.x.1 - range.x.0)).clamp(0.0, 1.0)
}

fn y_of(range: PlotRange, decade: f64) -> f64 {
    TOP + (HEIGHT - TOP - BOTTOM)
        * (1.0 - ((decade - range.y.0) / (range.y.1 - range.y.0)).clamp(0.0, 1.0))
}

/// `100 TFLOP/s`: powers of ten need no decimals.
fn power_of_ten(decade: i32, unit: Unit) -> String {
    let text = number::value(10_f64.powi(decade), unit);
    let (digits, rest) = text
        .split_once(' ')
        .map_or((text.as_str(), ""), |(digits, rest)| (digits, rest));
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    };
    format!("{digits} {rest}").trim_end().to_owned()
}

/// Grid lines and numbers at powers of ten, and the titles of the axes.
fn axes(range: PlotRange) -> Markup {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let decades = |(from, to): (f64, f64)| from.ceil() as i32..=to.floor() as i32;
    html! {
        @for decade in decades(range.x) {
            @let x = Fixed(x_of(range, f64::from(decade)), 1);
            line.axis x1=(x) x2=(x) y1=(TOP) y2=(bottom) {}
            text.dim x=(x) y=(Fixed(bottom + 15.0, 1)) text-anchor="middle" { (power_of_ten(decade, Unit::None)) }
        }
        @for decade in decades(range.y) {
            @let y = y_of(range, f64::from(decade));
            line.axis x1=(LEFT) x2=(right) y1=(Fixed(y, 1)) y2=(Fixed(y, 1)) {}
            text.dim x=(Fixed(LEFT - 6.0, 1)) y=(Fixed(y + 4.0, 1)) text-anchor="end" {
                (power_of_ten(decade, Unit::FlopPerSecond))
            }
        }
        text x=(Fixed(f64::midpoint(LEFT, right), 1)) y=(Fixed(HEIGHT - 8.0, 1)) text-anchor="middle" {
            "FLOP per byte of HBM traffic"
        }
    }
}

fn roof(
    range: PlotRange,
    RooflineCeiling {
        name,
        from,
        to,
        roof,
    }: &RooflineCeiling,
) -> Markup {
    let (color, width, dashes) = match roof {
        RooflineRoof::Compute | RooflineRoof::Hbm => ("var(--fg)".to_owned(), 2.0, None),
        RooflineRoof::Memory => ("var(--dim)".to_owned(), 1.0, None),
        RooflineRoof::Links => (
            format!("var(--p{})", color_of(OpGroup::Collective)),
            1.2,
            Some("6 4"),
        ),
    };
    html! {
        line x1=(Fixed(x_of(range, from.0), 1)) y1=(Fixed(y_of(range, from.1), 1)) x2=(Fixed(x_of(range, to.0), 1))
            y2=(Fixed(y_of(range, to.1), 1)) style={ "stroke:" (color) ";stroke-width:" (width) } stroke-dasharray=[dashes] {
            title { (name) }
        }
    }
}

/// Names of the roofs, then of ops, from the largest on. One that would cover another is left out.
fn names(range: PlotRange, ceilings: &[RooflineCeiling], ops: &[OpCircle<'_>]) -> Markup {
    const TRIES: u32 = 16;
    let circles = ops
        .iter()
        .map(|&OpCircle { x, y, radius, .. }| [x - radius, y - radius, x + radius, y + radius]);
    let mut names = PlacedNames {
        taken: circles.collect(),
    };
    let roofs = ceilings.iter().map(
        |RooflineCeiling {
             name,
             from,
             to,
             roof,
         }| {
            let ((x1, y1), (x2, y2)) = (
                (x_of(range, from.0), y_of(range, from.1)),
                (x_of(range, to.0), y_of(range, to.1)),
            );
            // Slopes rise away from a name below their left end; the flat roof has its name at the right end.
            let places = (0..=TRIES)
                .map(|step| f64::from(step) / f64::from(TRIES))
                .map(|share| match roof {
                    RooflineRoof::Compute => (x2 - 4.0 - share * (x2 - x1), y2 - 6.0, "end"),
                    RooflineRoof::Hbm | RooflineRoof::Memory | RooflineRoof::Links => (
                        x1 + 6.0 + share * (x2 - x1),
                        y1 + 14.0 + share * (y2 - y1),
                        "start",
                    ),
                });
            ("halo dim", name.clone(), places.collect::<Vec<_>>())
        },
    );
    let ops = ops.iter().map(
        |&OpCircle {
             x,
             y,
             radius,
             point,
         }| {
            let places = [
                (x + radius + 4.0, y + 4.0, "start"),
                (x - radius - 4.0, y + 4.0, "end"),
                (x, y - radius - 6.0, "start"),
                (x, y + radius + LINE, "start"),
                (x, y - radius - 6.0, "end"),
                (x, y + radius + LINE, "end"),
            ];
            ("halo", shortened(&point.name), places.to_vec())
        },
    );
    html! { @for (class, name, places) in roofs.chain(ops) { (names.write(class, &name, places)) } }
}

/// Areas of the labels: left, top, right and bottom of each.
struct PlacedNames {
    taken: Vec<[f64; 4]>,
}

impl PlacedNames {
    /// Writes `text` at the first of `places` that is free and inside the plot.
    fn write(
        &mut self,
        class: &str,
        text: &str,
        places: impl IntoIterator<Item = (f64, f64, &'static str)>,
    ) -> Markup {
        let width = text.width() as f64 * LETTER;
        let is_free = |[left, top, right, bottom]: [f64; 4]| {
            let is_inside =
                left >= LEFT && right <= WIDTH - RIGHT && top >= TOP && bottom <= HEIGHT - BOTTOM;
            let covers = |other: &[f64; 4]| {
                left < other[2] && other[0] < right && top < other[3] && other[1] < bottom
            };
            is_inside && !self.taken.iter().any(covers)
        };
        let found = places.into_iter().find_map(|(x, y, anchor)| {
            let left = if anchor == "end" { x - width } else { x };
            let area = [left, y - 0.75 * LINE, left + width, y + 0.25 * LINE];
            is_free(area).then_some((x, y, anchor, area))
        });
        self.taken.extend(found.map(|(.., area)| area));
        html! {
            @if let Some((x, y, anchor, _)) = found {
                text class=(class) x=(Fixed(x, 1)) y=(Fixed(y, 1)) text-anchor=(anchor) { (text) }
            }
        }
    }
}

/// The beginning and the end of a name; the end distinguishes ops.
fn shortened(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    match letters.len().checked_sub(LETTERS) {
        None | Some(0) => name.to_owned(),
        Some(_) => {
            let (head, tail) = letters.split_at(LETTERS / 2);
            let tail = tail
                .iter()
                .skip(tail.len().saturating_sub(LETTERS - LETTERS / 2 - 1));
            head.iter().chain(&['…']).chain(tail).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_overlap_neither_each_other_nor_the_margins() {
        let mut names = PlacedNames { taken: Vec::new() };
        let at = |x: f64, y: f64| [(x, y, "start"), (x, y, "end"), (x, y + LINE, "start")];
        let svg = [
            names.write("halo", "first", at(200.0, 100.0)),
            names.write("halo", "second", at(205.0, 101.0)),
            names.write("halo", "third", at(WIDTH - 12.0, 100.0)),
            names.write(
                "halo",
                &shortened(&"long".repeat(50)),
                [(WIDTH / 2.0, HEIGHT, "start")],
            ),
        ];
        let svg = svg.map(PreEscaped::into_string).concat();
        let places: Vec<&str> = svg
            .split("<text ")
            .skip(1)
            .map(|text| text.split('>').next().unwrap())
            .collect();
        assert_eq!(
            places,
            [
                "class=\"halo\" x=\"200.0\" y=\"100.0\" text-anchor=\"start\"",
                "class=\"halo\" x=\"205.0\" y=\"117.0\" text-anchor=\"start\"",
                "class=\"halo\" x=\"788.0\" y=\"100.0\" text-anchor=\"end\"",
            ],
            "{svg}"
        );
    }

    #[test]
    fn long_names_keep_both_ends() {
        let name = format!("{}.17", "fusion_".repeat(30));
        let short = shortened(&name);
        assert_eq!(
            (
                short.chars().count(),
                short.starts_with("fusion_fusion_"),
                short.ends_with("n_.17")
            ),
            (30, true, true)
        );
        assert_eq!(shortened("fusion.17"), "fusion.17");
    }

    #[test]
    fn powers_of_ten_have_no_decimals() {
        assert_eq!(power_of_ten(14, Unit::FlopPerSecond), "100 TFLOP/s");
        assert_eq!(power_of_ten(-1, Unit::None), "0.1");
        assert_eq!(power_of_ten(3, Unit::None), "1000");
    }
}
