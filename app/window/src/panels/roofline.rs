//! The roofline plot: operations per second against operations per byte of HBM traffic, both logarithmic; one ceiling
//! per memory, one point per op.

use analysis::hardware::limits::BoundBy;
use analysis::reports::ops::roofline::{Roofline, RooflinePoint, RooflineReport};
use analysis::{OpGroup, Percent, Unit};
use egui::{Align2, Color32, Rangef, RichText, Ui, Vec2b};
use egui_plot::{AxisHints, Line, LineStyle, MarkerShape, PlotPoint, Points, Text};

use super::context::{PanelContext, computing_ui};
use super::number::number;
use crate::theme::{self, Theme, small_font};
use crate::times;
use view::panels::roofline::{
    ABOUT_ICI, OF_ICI, PlotRange, RooflineCeiling, RooflineRoof, ceilings, name_places, place,
};
use view::panels::target::RowTarget;
use view::state::ViewCommand;
use view::timeline::tree::group_digits;

/// Ops with a smaller share of op time are drawn small.
const SMALL: Percent = Percent(1.0);
/// Maximum distance of the pointer to a point, in screen points.
const REACH: f32 = 14.0;

/// State of the plot.
#[derive(Default)]
pub struct RooflinePlot {
    hide_small: bool,
}

/// The plot with its controls; the table follows below.
#[expect(
    clippy::too_many_lines,
    reason = "the parts of a plot, from back to front"
)]
pub fn roofline_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    memory: &mut RooflinePlot,
    out: &mut Vec<ViewCommand>,
) {
    let report = match context.reports.get::<Roofline>() {
        Ok(Some(report)) => report,
        Ok(None) => return computing_ui(ui),
        // The table below says why.
        Err(_) => return,
    };
    head_ui(ui, report, memory);
    let points: Vec<PlacedPoint<'_>> = report.ops.iter().filter_map(PlacedPoint::of).collect();
    let points: Vec<PlacedPoint<'_>> = points
        .into_iter()
        .filter(|dot| !(memory.hide_small && dot.is_small()))
        .collect();
    let own = own_of(context, report);
    let height = (ui.available_height() * 0.48).clamp(200.0, 460.0);
    let theme = theme::current(ui);
    let sums = [Some(&report.program), report.average_step.as_ref()]
        .into_iter()
        .flatten()
        .filter_map(place);
    let range = PlotRange::of(report, points.iter().map(|dot| (dot.x, dot.y)).chain(sums));
    let plot = egui_plot::Plot::new("roofline")
        .height(height)
        .allow_scroll(false)
        .custom_x_axes(vec![x_axis(range.x.1)])
        .y_axis_label("FLOP/s of one device")
        .y_axis_formatter(|mark, _| decade(mark.value, "FLOP/s"))
        .show_grid(false)
        .x_grid_spacer(decades)
        .y_grid_spacer(decades)
        .y_axis_min_width(64.0)
        .show_x(false)
        .show_y(false)
        .auto_bounds(Vec2b::TRUE)
        .include_x(range.x.0)
        .include_x(range.x.1)
        .include_y(range.y.0)
        .include_y(range.y.1);
    let shown = plot.show(ui, |plot| {
        grid(plot, range, theme);
        draw_ceilings(plot, report, range, theme);
        for dot in points.iter().rev() {
            let marker = Points::new("", vec![[dot.x, dot.y]])
                .radius(dot.radius())
                .shape(MarkerShape::Circle)
                .filled(true)
                .color(theme.group(dot.point.group).gamma_multiply(0.85))
                .allow_hover(false);
            plot.points(marker);
        }
        for (point, shape, color) in [
            (
                Some(&report.program),
                MarkerShape::Diamond,
                theme.text_strong,
            ),
            (
                report.average_step.as_ref(),
                MarkerShape::Square,
                theme.accent,
            ),
        ] {
            if let Some(dot) = point.and_then(PlacedPoint::of) {
                let marker = Points::new("", vec![[dot.x, dot.y]])
                    .radius(6.0)
                    .shape(shape);
                plot.points(marker.filled(true).color(color).allow_hover(false));
            }
        }
        let near = plot.response().hover_pos().and_then(|pointer| {
            let all = points
                .iter()
                .copied()
                .chain(PlacedPoint::of(&report.program));
            let all = all.chain(report.average_step.as_ref().and_then(PlacedPoint::of));
            let distance = |dot: &PlacedPoint<'_>| {
                plot.screen_from_plot(PlotPoint::new(dot.x, dot.y))
                    .distance(pointer)
            };
            all.min_by(|a, b| distance(a).total_cmp(&distance(b)))
                .filter(|dot| distance(dot) < REACH)
        });
        for (dot, color) in own
            .into_iter()
            .map(|dot| (dot, theme.selection))
            .chain(near.map(|dot| (dot, theme.text)))
        {
            let ring = Points::new("", vec![[dot.x, dot.y]])
                .radius(dot.radius() + 4.0)
                .filled(false);
            plot.points(ring.color(color).allow_hover(false));
        }
        if let Some(dot) = near {
            let line =
                Line::new("", vec![[dot.x, range.y.0], [dot.x, dot.roof()]]).color(theme.text_weak);
            plot.line(line.style(LineStyle::dotted_dense()).allow_hover(false));
        }
        near
    });
    let response = shown.response;
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, "Roofline plot"));
    let Some(dot) = shown.inner else { return };
    if response.clicked()
        && let Some(target) =
            RowTarget::named(context.trace, &dot.point.name, Some(&dot.point.program))
    {
        out.extend(target.commands(context.trace));
    }
    response.on_hover_ui_at_pointer(|ui| point_ui(ui, dot.point));
}

/// Marks up to the end of what is drawn: the label of a later one would be cut off at the edge.
fn x_axis(end: f64) -> AxisHints<'static> {
    let label = move |mark: egui_plot::GridMark, _: &_| {
        if mark.value > end {
            String::new()
        } else {
            decade(mark.value, "")
        }
    };
    let axis = AxisHints::new_x()
        .label("FLOP per byte of HBM traffic")
        .formatter(label);
    // Decades are narrow, so labels may be close to each other.
    axis.label_spacing(Rangef::new(14.0, 20.0))
}

/// The point of the selected op.
fn own_of<'a>(context: PanelContext<'_>, report: &'a RooflineReport) -> Option<PlacedPoint<'a>> {
    let model = &context.trace.model;
    let op = model.op(model.slice(context.state.place.selection?).op()?);
    let program = op
        .program
        .map(|program| model.program_title(program))
        .unwrap_or_default();
    let name = model.str(op.name);
    report
        .ops
        .iter()
        .find(|point| *point.name == *name && *point.program == *program)
        .and_then(PlacedPoint::of)
}

fn head_ui(ui: &mut Ui, report: &RooflineReport, memory: &mut RooflinePlot) {
    ui.horizontal_wrapped(|ui| {
        let name = report
            .peaks
            .device_type
            .clone()
            .unwrap_or_else(|| "device".to_owned());
        ui.label(RichText::new(name).strong());
        for ridge in report
            .ridges
            .iter()
            .filter(|ridge| ridge.memory == BoundBy::Hbm)
        {
            let text = format!(
                "ridge point at {}",
                number(ridge.flops_per_byte, Unit::FlopPerByte)
            );
            ui.label(RichText::new(text).small().weak()).on_hover_text(
                "Below the ridge point HBM bandwidth is the limit, above it compute",
            );
        }
        ui.checkbox(
            &mut memory.hide_small,
            RichText::new("hide ops below 1 % of op time").small(),
        );
    });
    ui.horizontal_wrapped(|ui| {
        let theme = theme::current(ui);
        let occurs = |group: &OpGroup| report.ops.iter().any(|point| point.group == *group);
        for group in OpGroup::ALL.into_iter().filter(occurs) {
            super::legend::swatch_ui(ui, theme.group(group), group.title());
        }
        super::legend::swatch_ui(ui, theme.text_strong, "program (diamond)");
        if report.average_step.is_some() {
            super::legend::swatch_ui(ui, theme.accent, "average step (square)");
        }
        if report.ici.is_some() {
            let color = theme.group(OpGroup::Collective);
            ui.label(
                RichText::new(format!("dashed: {OF_ICI}"))
                    .small()
                    .color(color),
            )
            .on_hover_text(ABOUT_ICI);
        }
    });
}

/// An op and its position in the plot.
#[derive(Clone, Copy)]
struct PlacedPoint<'a> {
    point: &'a RooflinePoint,
    x: f64,
    y: f64,
}

impl<'a> PlacedPoint<'a> {
    fn of(point: &'a RooflinePoint) -> Option<Self> {
        place(point).map(|(x, y)| Self { point, x, y })
    }

    fn is_small(&self) -> bool {
        self.point
            .self_of_op_time_percent
            .is_some_and(|share| share < SMALL)
    }

    /// The radius; the area is proportional to the share of op time.
    fn radius(&self) -> f32 {
        let share = self
            .point
            .self_of_op_time_percent
            .map_or(10.0, |share| share.0)
            .clamp(0.0, 40.0);
        2.0 + (share.sqrt() * 1.6) as f32
    }

    /// The limit at its intensity.
    fn roof(&self) -> f64 {
        self.point
            .attainable_flops_per_second
            .filter(|roof| *roof > 0.0)
            .map_or(self.y, f64::log10)
    }
}

/// Draws the ceilings with their names on top.
fn draw_ceilings(
    plot: &mut egui_plot::PlotUi<'_>,
    report: &RooflineReport,
    range: PlotRange,
    theme: &Theme,
) {
    let ceilings = ceilings(report, range);
    let color = |roof| match roof {
        RooflineRoof::Compute | RooflineRoof::Hbm => theme.text,
        RooflineRoof::Memory => theme.text_weak.gamma_multiply(0.6),
        RooflineRoof::Links => theme.group(OpGroup::Collective),
    };
    for RooflineCeiling { from, to, roof, .. } in &ceilings {
        let style = if *roof == RooflineRoof::Links {
            LineStyle::dashed_loose()
        } else {
            LineStyle::Solid
        };
        let line = Line::new("", vec![[from.0, from.1], [to.0, to.1]])
            .color(color(*roof))
            .style(style)
            .width(2.0);
        plot.line(line.allow_hover(false));
    }
    let decade = plot.transform().dpos_dvalue();
    let size = |name: &str| {
        let width = plot.ctx().fonts_mut(|fonts| {
            name.chars()
                .map(|c| fonts.glyph_width(&small_font(), c))
                .sum::<f32>()
        });
        (
            f64::from(width + 6.0) / decade[0].abs(),
            16.0 / decade[1].abs(),
        )
    };
    let places = name_places(&ceilings, range.x.1, size);
    for (ceiling, at) in ceilings.into_iter().zip(places) {
        let Some(at) = at else { continue };
        let (anchor, ground, above) = if ceiling.roof == RooflineRoof::Compute {
            // Clear of its own line.
            (
                Align2::RIGHT_BOTTOM,
                Color32::TRANSPARENT,
                4.0 / decade[1].abs(),
            )
        } else {
            // The next slope may run below it.
            (Align2::LEFT_TOP, theme.canvas, 0.0)
        };
        let text = RichText::new(ceiling.name)
            .small()
            .color(color(ceiling.roof))
            .background_color(ground);
        plot.text(Text::new("", PlotPoint::new(at.0, at.1 + above), text).anchor(anchor));
    }
}

/// Faint lines at the decades.
fn grid(plot: &mut egui_plot::PlotUi<'_>, range: PlotRange, theme: &Theme) {
    let decades = |(from, to): (f64, f64)| (from.ceil() as i32..=to.floor() as i32).map(f64::from);
    let vertical = decades(range.x).map(|x| vec![[x, range.y.0], [x, range.y.1]]);
    let horizontal = decades(range.y).map(|y| vec![[range.x.0, y], [range.x.1, y]]);
    for line in vertical.chain(horizontal) {
        plot.line(
            Line::new("", line)
                .color(theme.edge)
                .width(0.5)
                .allow_hover(false),
        );
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the plot asks so")]
fn decades(input: egui_plot::GridInput) -> Vec<egui_plot::GridMark> {
    let (from, to) = input.bounds;
    let marks = (from.ceil() as i64)..=(to.floor() as i64);
    marks
        .take(60)
        .map(|at| egui_plot::GridMark {
            value: at as f64,
            step_size: 1.0,
        })
        .collect()
}

/// `12` as `1 TFLOP/s`.
fn decade(exponent: f64, unit: &str) -> String {
    const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    if exponent.fract().abs() > 1e-6 {
        return String::new();
    }
    let exponent = exponent.round() as i32;
    if unit.is_empty() {
        return match exponent {
            0..=6 => group_digits(10_u64.pow(exponent.unsigned_abs())),
            -3..0 => format!("{}", 10_f64.powi(exponent)),
            _ => format!("1e{exponent}"),
        };
    }
    let prefix = exponent.div_euclid(3);
    let head = 10_i64.pow(exponent.rem_euclid(3) as u32);
    match usize::try_from(prefix).ok().and_then(|at| PREFIXES.get(at)) {
        Some(prefix) => format!("{head} {prefix}{unit}"),
        None => format!("1e{exponent}"),
    }
}

fn point_ui(ui: &mut Ui, point: &RooflinePoint) {
    ui.label(RichText::new(&*point.name).strong());
    if !point.program.is_empty() {
        ui.weak(format!("{} · {}", point.group.title(), point.program));
    }
    let share = |share: Option<Percent>| share.map(|share| share.0);
    for (title, value, unit) in [
        ("achieved", point.flops_per_second, Unit::FlopPerSecond),
        ("of peak FLOP/s", share(point.flops_percent), Unit::Percent),
        ("HBM", point.hbm_bytes_per_second, Unit::BytesPerSecond),
        ("of peak HBM", share(point.hbm_percent), Unit::Percent),
        ("intensity", point.flops_per_hbm_byte, Unit::FlopPerByte),
        (
            "of the roofline",
            share(point.efficiency_percent),
            Unit::Percent,
        ),
        ("time", Some(point.time_ps.ps() as f64), Unit::Picoseconds),
        ("least time", point.ideal_time_ps, Unit::Picoseconds),
    ] {
        if let Some(value) = value {
            ui.label(format!("{title}: {}", number(value, unit)));
        }
    }
    if let Some(bound) = point.bound_by {
        ui.label(format!("bound by {}", bound.title()));
    }
    ui.weak(format!(
        "Work: by the compiler's cost model. Time: {}. Click to show it.",
        times::origin()
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decade_ticks_have_units() {
        assert_eq!(decade(12.0, "FLOP/s"), "1 TFLOP/s");
        assert_eq!(decade(14.0, "FLOP/s"), "100 TFLOP/s");
        assert_eq!(decade(2.0, ""), "100");
        assert_eq!(
            [decade(4.0, ""), decade(-1.0, ""), decade(7.0, "")],
            ["10,000", "0.1", "1e7"]
        );
        assert_eq!(decade(0.5, ""), "");
    }
}
