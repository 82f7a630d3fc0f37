//! The roofline: operations per second against operations per byte, both by their
//! logarithm.

use analysis::reports::ops::roofline::{Roofline, RooflinePoint};
use analysis::{OpGroup, Unit};

use super::PictureStyle;
use super::drawing::{Anchor, Drawing, width_of};
use session::number::value;
use view::palette::{Palette, Rgb};
use view::panels::roofline::{
    ABOUT_ICI, OF_ICI, PlotPlace, PlotRange, RooflineCeiling, RooflineRoof, ceilings, name_places,
    place,
};
use view::state::ReportScope;
use view::timeline::trace::OpenTrace;

/// Space for the axis.
const LEFT: f32 = 84.0;
/// Space for title and legend.
const TOP: f32 = 58.0;
/// Space below the plot.
const BOTTOM: f32 = 44.0;

/// Ops, program and roofs. The error says why there is none.
#[expect(
    clippy::too_many_lines,
    reason = "the parts of a picture, from back to front"
)]
pub fn roofline(
    trace: &OpenTrace,
    scope: ReportScope,
    look: PictureStyle,
) -> Result<Drawing, String> {
    let report = trace
        .session
        .report::<Roofline>(scope.into())
        .map_err(|error| error.to_string())?;
    let palette = look.palette();
    let dots: Vec<(&RooflinePoint, PlotPlace)> = report
        .ops
        .iter()
        .filter_map(|op| Some((op, place(op)?)))
        .collect();
    let sums = [Some(&report.program), report.average_step.as_ref()]
        .into_iter()
        .flatten()
        .filter_map(place);
    let range @ PlotRange {
        x: x_range,
        y: y_range,
    } = PlotRange::of(&report, dots.iter().map(|dot| dot.1).chain(sums));
    let (width, height) = (look.width - LEFT - 16.0, look.height - TOP - BOTTOM);
    let axes = RooflineAxes {
        x: x_range,
        y: y_range,
        width,
        height,
    };
    let (x_of, y_of) = (|x: f64| axes.x_of(x), |y: f64| axes.y_of(y));

    let mut drawing = Drawing::new(look.width, look.height, palette.panel);
    let device = report.peaks.device_type.as_deref().unwrap_or("device");
    let part = match scope {
        ReportScope::Capture => String::new(),
        ReportScope::Range(range) => {
            format!(", {} from {}", range.dur(), range.start.since_origin())
        }
        ReportScope::Steps { first, last } if first == last => format!(", step {first}"),
        ReportScope::Steps { first, last } => format!(", steps {first} to {last}"),
    };
    let title = format!("{}: roofline of one {device}{part}", trace.title());
    drawing.fitted(
        12.0,
        18.0,
        look.width - 24.0,
        13.0,
        palette.text_strong,
        &title,
    );
    let mut x = LEFT;
    for group in OpGroup::ALL
        .into_iter()
        .filter(|group| dots.iter().any(|dot| dot.0.group == *group))
    {
        drawing.rect(x, 34.0, 10.0, 10.0, palette.group(group), "");
        drawing.text(
            x + 15.0,
            39.0,
            Anchor::Start,
            11.0,
            palette.text_weak,
            group.title(),
        );
        x += 29.0 + width_of(group.title(), 11.0);
    }
    if report.ici.is_some() {
        drawing.rect(
            x,
            38.0,
            10.0,
            2.0,
            palette.group(OpGroup::Collective),
            ABOUT_ICI,
        );
        drawing.text(
            x + 15.0,
            39.0,
            Anchor::Start,
            11.0,
            palette.text_weak,
            &format!("dashed: {OF_ICI}"),
        );
    }
    drawing.rect(LEFT, TOP, width, height, palette.canvas, "");
    for decade in x_range.0.ceil() as i32..=x_range.1.floor() as i32 {
        let x = x_of(f64::from(decade));
        drawing.line((x, TOP), (x, TOP + height), palette.grid, 1.0);
        let text = value(10_f64.powi(decade), Unit::None);
        drawing.text(
            x,
            TOP + height + 13.0,
            Anchor::Middle,
            11.0,
            palette.text_weak,
            &text,
        );
    }
    for decade in y_range.0.ceil() as i32..=y_range.1.floor() as i32 {
        let y = y_of(f64::from(decade));
        drawing.line((LEFT, y), (LEFT + width, y), palette.grid, 1.0);
        let text = value(10_f64.powi(decade), Unit::FlopPerSecond);
        drawing.text(LEFT - 8.0, y, Anchor::End, 11.0, palette.text_weak, &text);
    }
    let below = TOP + height + 31.0;
    drawing.text(
        LEFT + width / 2.0,
        below,
        Anchor::Middle,
        11.0,
        palette.text,
        "FLOP per byte of HBM traffic",
    );

    drawing.begin_clip(LEFT, TOP, width, height);
    draw_ceilings(&mut drawing, &ceilings(&report, range), &axes, palette);
    for (op, (x, y)) in dots.iter().rev() {
        let share = op.self_of_op_time_percent.map(|share| share.0);
        // Drawn no larger than this, so that one op does not cover the others.
        let radius = 2.0 + (share.unwrap_or(1.0).clamp(0.0, 40.0).sqrt() * 1.8) as f32;
        let title = format!(
            "{}: {}, {} of op time",
            op.name,
            value(op.flops_per_second.unwrap_or(f64::NAN), Unit::FlopPerSecond),
            share.map_or_else(
                || "an unknown share".to_owned(),
                |share| value(share, Unit::Percent)
            )
        );
        drawing.circle(
            x_of(*x),
            y_of(*y),
            radius,
            palette.group(op.group),
            palette.canvas,
            &title,
        );
    }
    for (point, title, color, anchor, aside) in [
        (
            Some(&report.program),
            "program",
            palette.text_strong,
            Anchor::Start,
            10.0,
        ),
        // The points often overlap; their names must not.
        (
            report.average_step.as_ref(),
            "average step",
            palette.accent,
            Anchor::End,
            -10.0,
        ),
    ] {
        if let Some((x, y)) = point.and_then(place) {
            let width = width_of(title, 11.0) + 4.0;
            let left = x_of(x)
                + if anchor == Anchor::End {
                    aside + 2.0 - width
                } else {
                    aside - 2.0
                };
            drawing.rect(left, y_of(y) - 7.0, width, 14.0, palette.canvas, "");
            drawing.circle(x_of(x), y_of(y), 6.0, color, palette.canvas, title);
            drawing.text(x_of(x) + aside, y_of(y), anchor, 11.0, color, title);
        }
    }
    drawing.end_clip();
    Ok(drawing)
}

/// Positions of numbers on the logarithmic axes.
struct RooflineAxes {
    x: (f64, f64),
    y: (f64, f64),
    width: f32,
    height: f32,
}

impl RooflineAxes {
    fn x_of(&self, x: f64) -> f32 {
        LEFT + ((x - self.x.0) / (self.x.1 - self.x.0)) as f32 * self.width
    }

    fn y_of(&self, y: f64) -> f32 {
        TOP + self.height - ((y - self.y.0) / (self.y.1 - self.y.0)) as f32 * self.height
    }
}

/// The roofs of memories, links and matrix units, with their names on top.
fn draw_ceilings(
    drawing: &mut Drawing,
    ceilings: &[RooflineCeiling],
    axes: &RooflineAxes,
    palette: &Palette<Rgb>,
) {
    let color = |roof| match roof {
        RooflineRoof::Compute | RooflineRoof::Hbm => palette.text,
        RooflineRoof::Memory => palette.text_weak,
        RooflineRoof::Links => palette.group(OpGroup::Collective),
    };
    let at = |(x, y): PlotPlace| (axes.x_of(x), axes.y_of(y));
    for RooflineCeiling { from, to, roof, .. } in ceilings {
        match roof {
            RooflineRoof::Links => dashed(drawing, at(*from), at(*to), color(*roof)),
            RooflineRoof::Memory => drawing.line(at(*from), at(*to), color(*roof), 1.0),
            RooflineRoof::Compute | RooflineRoof::Hbm => {
                drawing.line(at(*from), at(*to), color(*roof), 2.0);
            }
        }
    }
    let decade = (
        axes.width / (axes.x.1 - axes.x.0) as f32,
        axes.height / (axes.y.1 - axes.y.0) as f32,
    );
    let size = |name: &str| {
        (
            f64::from((width_of(name, 11.0) + 8.0) / decade.0),
            f64::from(18.0 / decade.1),
        )
    };
    for (ceiling, place) in ceilings.iter().zip(name_places(ceilings, axes.x.1, size)) {
        let (name, color) = (ceiling.name.as_str(), color(ceiling.roof));
        let Some((x, y)) = place.map(at) else {
            continue;
        };
        if ceiling.roof == RooflineRoof::Compute {
            drawing.text(x - 6.0, y - 9.0, Anchor::End, 11.0, color, name);
        } else {
            // The next slope may run below it.
            drawing.rect(
                x + 2.0,
                y + 2.0,
                width_of(name, 11.0) + 4.0,
                14.0,
                palette.canvas,
                "",
            );
            drawing.text(x + 4.0, y + 9.0, Anchor::Start, 11.0, color, name);
        }
    }
}

fn dashed(drawing: &mut Drawing, from: (f32, f32), to: (f32, f32), color: Rgb) {
    const DASH: f32 = 10.0;
    let (x, y) = (to.0 - from.0, to.1 - from.1);
    let count = (x.hypot(y) / DASH).clamp(1.0, 400.0) as u16;
    let at = |dash: f32| {
        (
            from.0 + x * dash / f32::from(count),
            from.1 + y * dash / f32::from(count),
        )
    };
    for dash in 0..count {
        drawing.line(at(f32::from(dash)), at(f32::from(dash) + 0.55), color, 1.2);
    }
}
