//! The roofline as a plot: operations per second against operations per byte of HBM
//! traffic, both by their logarithm; ceilings of each memory; a point an op.

use analysis::bound::BoundBy;
use analysis::roofline::{IciRoof, Point, Roofline, RooflineReport};
use analysis::{OpGroup, Unit};
use egui::{Align2, Color32, RichText, Ui, Vec2b};
use egui_plot::{Line, LineStyle, MarkerShape, PlotPoint, PlotPoints, Points, Text};

use super::dock::{Sight, computing_ui};
use super::number::number;
use crate::gui::theme::Theme;
use crate::picture::{ABOUT_ICI, OF_ICI};
use crate::view::state::ViewCommand;
use crate::view::target::Target;

/// Ops with less of the op time than this are drawn small.
const SMALL_PERCENT: f64 = 1.0;
/// How near the pointer must be to a point, in points of the screen.
const REACH: f32 = 14.0;

/// What is shown.
#[derive(Default)]
pub struct Plot {
    hide_small: bool,
}

/// The plot with its controls; the table follows below.
pub fn roofline_ui(ui: &mut Ui, sight: Sight<'_>, memory: &mut Plot, out: &mut Vec<ViewCommand>) {
    let report = match sight.reports.get::<Roofline>() {
        Ok(Some(report)) => report,
        Ok(None) => return computing_ui(ui),
        // The table below says why.
        Err(_) => return,
    };
    head_ui(ui, report, memory);
    let points: Vec<Dot<'_>> = report.ops.iter().filter_map(Dot::of).collect();
    let points: Vec<Dot<'_>> = points.into_iter().filter(|dot| !(memory.hide_small && dot.is_small())).collect();
    let height = (ui.available_height() * 0.48).clamp(200.0, 460.0);
    let theme = Theme::current(ui);
    let range = Range::of(report, &points);
    let plot = egui_plot::Plot::new("roofline")
        .height(height)
        .allow_scroll(false)
        .x_axis_label("FLOP per byte of HBM traffic")
        .y_axis_label("FLOP/s of one device")
        .x_axis_formatter(|mark, _| decade(mark.value, ""))
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
            (Some(&report.program), MarkerShape::Diamond, theme.text_strong),
            (report.average_step.as_ref(), MarkerShape::Square, theme.accent),
        ] {
            if let Some(dot) = point.and_then(Dot::of) {
                let marker = Points::new("", vec![[dot.x, dot.y]]).radius(6.0).shape(shape);
                plot.points(marker.filled(true).color(color).allow_hover(false));
            }
        }
        let near = plot.response().hover_pos().and_then(|pointer| {
            let all = points.iter().copied().chain(Dot::of(&report.program));
            let all = all.chain(report.average_step.as_ref().and_then(Dot::of));
            let distance = |dot: &Dot<'_>| plot.screen_from_plot(PlotPoint::new(dot.x, dot.y)).distance(pointer);
            all.min_by(|a, b| distance(a).total_cmp(&distance(b))).filter(|dot| distance(dot) < REACH)
        });
        if let Some(dot) = near {
            let ring = Points::new("", vec![[dot.x, dot.y]]).radius(dot.radius() + 4.0).filled(false);
            plot.points(ring.color(theme.selection).allow_hover(false));
            let line = Line::new("", vec![[dot.x, range.y.0], [dot.x, dot.roof()]]).color(theme.text_weak);
            plot.line(line.style(LineStyle::dotted_dense()).allow_hover(false));
        }
        near
    });
    let response = shown.response;
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, "Roofline plot"));
    let Some(dot) = shown.inner else { return };
    if response.clicked()
        && let Some(target) = Target::named(sight.trace, &dot.point.name, Some(&dot.point.program))
    {
        out.extend(target.commands(&sight.trace.model));
    }
    response.on_hover_ui_at_pointer(|ui| point_ui(ui, dot.point));
}

fn head_ui(ui: &mut Ui, report: &RooflineReport, memory: &mut Plot) {
    ui.horizontal_wrapped(|ui| {
        let name = report.peaks.device_type.clone().unwrap_or_else(|| "device".to_owned());
        ui.label(RichText::new(name).strong());
        for ridge in report.ridges.iter().filter(|ridge| ridge.memory == BoundBy::Hbm) {
            let text = format!("ridge at {}", number(ridge.flops_per_byte, Unit::FlopPerByte));
            ui.label(RichText::new(text).small().weak())
                .on_hover_text("Below it HBM bandwidth limits, above it compute");
        }
        ui.checkbox(&mut memory.hide_small, RichText::new("hide ops below 1 % of op time").small());
    });
    ui.horizontal_wrapped(|ui| {
        let theme = Theme::current(ui);
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
            ui.label(RichText::new(format!("dashed: {OF_ICI}")).small().color(color)).on_hover_text(ABOUT_ICI);
        }
    });
}

/// A point with a place.
#[derive(Clone, Copy)]
struct Dot<'a> {
    point: &'a Point,
    x: f64,
    y: f64,
}

impl<'a> Dot<'a> {
    fn of(point: &'a Point) -> Option<Self> {
        let place = |value: Option<f64>| value.filter(|value| *value > 0.0).map(f64::log10);
        Some(Self { point, x: place(point.flops_per_hbm_byte)?, y: place(point.flops_per_second)? })
    }

    fn is_small(&self) -> bool {
        self.point.self_of_op_time_percent.is_some_and(|share| share < SMALL_PERCENT)
    }

    /// By its share of the time: area, not length.
    fn radius(&self) -> f32 {
        let share = self.point.self_of_op_time_percent.unwrap_or(10.0).clamp(0.0, 40.0);
        2.0 + (share.sqrt() * 1.6) as f32
    }

    /// What it could reach.
    fn roof(&self) -> f64 {
        self.point.attainable_flops_per_second.filter(|roof| *roof > 0.0).map_or(self.y, f64::log10)
    }
}

/// What is in sight, in decades.
#[derive(Clone, Copy)]
struct Range {
    x: (f64, f64),
    y: (f64, f64),
}

impl Range {
    fn of(report: &RooflineReport, points: &[Dot<'_>]) -> Self {
        let ridge = report.ridges.iter().map(|ridge| ridge.flops_per_byte.log10()).fold(2.0, f64::max);
        let peak = report.peaks.flops.map_or(14.0, |peak| peak.per_second.log10());
        // Ops of next to no work would push all others into a corner.
        let left = points.iter().map(|dot| dot.x).fold(0.0, f64::min).max(-3.0);
        let right = points.iter().map(|dot| dot.x).fold(ridge + 1.0, f64::max).min(ridge + 3.0);
        let low = points.iter().map(|dot| dot.y).fold(peak - 3.0, f64::min).max(peak - 6.0);
        Self { x: (left.floor(), right), y: (low.floor(), peak + 0.4) }
    }
}

/// What something allows.
struct Ceiling {
    name: String,
    line: Vec<PlotPoint>,
    color: Color32,
    style: LineStyle,
}

/// The roof of each memory: a slope up to the flat roof of compute.
fn ceilings(report: &RooflineReport, range: Range, theme: &Theme) -> Vec<Ceiling> {
    let mut all = Vec::new();
    let flat = report.peaks.flops.map(|peak| peak.per_second.log10());
    if let (Some(flat), Some(peak)) = (flat, report.peaks.flops) {
        let ridge = report.ridges.iter().find(|ridge| ridge.memory == BoundBy::Hbm);
        let from = ridge.map_or(range.x.0, |ridge| ridge.flops_per_byte.log10());
        let name = format!("{} peak", number(peak.per_second, Unit::FlopPerSecond));
        let line = vec![PlotPoint::new(from, flat), PlotPoint::new(range.x.1, flat)];
        all.push(Ceiling { name, line, color: theme.text, style: LineStyle::Solid });
    }
    for limit in BoundBy::ALL.into_iter().filter(|limit| *limit != BoundBy::Compute) {
        let Some(peak) = limit.peak(&report.peaks) else { continue };
        let slope = peak.per_second.log10();
        // Other memories have their own bytes: their slopes lie where HBM's would with the same traffic.
        let top = flat.unwrap_or(range.y.1);
        let from = range.x.0.max(range.y.0 - slope);
        // Reading and writing lie near each other.
        let is_write = matches!(limit, BoundBy::VmemWrite | BoundBy::CmemWrite);
        let from = if is_write { from + (top - slope - from) * 0.25 } else { from };
        let line = vec![PlotPoint::new(from, slope + from), PlotPoint::new(top - slope, top)];
        let color = if limit == BoundBy::Hbm { theme.text } else { theme.text_weak.gamma_multiply(0.6) };
        let name = format!("{} {}", limit.title(), number(peak.per_second, Unit::BytesPerSecond));
        all.push(Ceiling { name, line, color, style: LineStyle::Solid });
    }
    // Links have bytes of their own too, those that leave the device, and few of HBM's do.
    let color = theme.group(OpGroup::Collective);
    for (title, peak) in report.ici.iter().flat_map(IciRoof::ceilings) {
        let slope = peak.log10();
        let (top, from) = (flat.unwrap_or(range.y.1), range.x.0.max(range.y.0 - slope));
        let end = (top - slope).min(range.x.1);
        let line = vec![PlotPoint::new(from, slope + from), PlotPoint::new(end, slope + end)];
        let name = format!("{title} {} {OF_ICI}", number(peak, Unit::BytesPerSecond));
        all.push(Ceiling { name, line, color, style: LineStyle::dashed_loose() });
    }
    all
}

/// Ceilings, and over all of them their names.
fn draw_ceilings(plot: &mut egui_plot::PlotUi<'_>, report: &RooflineReport, range: Range, theme: &Theme) {
    let ceilings = ceilings(report, range, theme);
    for Ceiling { line, color, style, .. } in &ceilings {
        let line = Line::new("", PlotPoints::Owned(line.clone())).color(*color).style(*style).width(2.0);
        plot.line(line.allow_hover(false));
    }
    for Ceiling { name, line: ceiling, color, .. } in ceilings {
        // Slopes come together at the top: their names stand where they begin.
        let is_flat = ceiling.first().zip(ceiling.last()).is_some_and(|(a, b)| (a.y - b.y).abs() < 1e-9);
        let (at, anchor) = if is_flat {
            (ceiling.last().copied(), Align2::RIGHT_BOTTOM)
        } else {
            // Below the line, which leaves it to the right; a little up, to be inside of the plot.
            let start = ceiling.first().map(|start| PlotPoint::new(start.x + 0.25, start.y + 0.25));
            (start, Align2::LEFT_TOP)
        };
        if let Some(at) = at {
            // The next slope may run below it.
            let ground = if is_flat { Color32::TRANSPARENT } else { theme.canvas };
            let text = RichText::new(name).small().color(color).background_color(ground);
            plot.text(Text::new("", at, text).anchor(anchor));
        }
    }
}

/// Faint lines at the decades: the ceilings are what matters.
fn grid(plot: &mut egui_plot::PlotUi<'_>, range: Range, theme: &Theme) {
    let decades = |(from, to): (f64, f64)| (from.ceil() as i32..=to.ceil() as i32).map(f64::from);
    let vertical = decades(range.x).map(|x| vec![[x, range.y.0], [x, range.y.1]]);
    let horizontal = decades(range.y).map(|y| vec![[range.x.0, y], [range.x.1, y]]);
    for line in vertical.chain(horizontal) {
        plot.line(Line::new("", line).color(theme.edge).width(0.5).allow_hover(false));
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the plot asks so")]
fn decades(input: egui_plot::GridInput) -> Vec<egui_plot::GridMark> {
    let (from, to) = input.bounds;
    let marks = (from.ceil() as i64)..=(to.floor() as i64);
    marks.take(60).map(|at| egui_plot::GridMark { value: at as f64, step_size: 1.0 }).collect()
}

/// `12` as `1 TFLOP/s`.
fn decade(exponent: f64, unit: &str) -> String {
    const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    if exponent.fract().abs() > 1e-6 {
        return String::new();
    }
    let exponent = exponent.round() as i32;
    if unit.is_empty() {
        return if exponent.abs() <= 3 { format!("{}", 10_f64.powi(exponent)) } else { format!("1e{exponent}") };
    }
    let prefix = exponent.div_euclid(3);
    let head = 10_i64.pow(exponent.rem_euclid(3) as u32);
    match usize::try_from(prefix).ok().and_then(|at| PREFIXES.get(at)) {
        Some(prefix) => format!("{head} {prefix}{unit}"),
        None => format!("1e{exponent}"),
    }
}

fn point_ui(ui: &mut Ui, point: &Point) {
    ui.label(RichText::new(&point.name).strong());
    if !point.program.is_empty() {
        ui.weak(format!("{} · {}", point.group.title(), point.program));
    }
    for (title, value, unit) in [
        ("achieved", point.flops_per_second, Unit::FlopPerSecond),
        ("of peak FLOP/s", point.flops_percent, Unit::Percent),
        ("HBM", point.hbm_bytes_per_second, Unit::BytesPerSecond),
        ("of peak HBM", point.hbm_percent, Unit::Percent),
        ("intensity", point.flops_per_hbm_byte, Unit::FlopPerByte),
        ("of the roofline", point.efficiency_percent, Unit::Percent),
        ("time", Some(point.time_ps as f64), Unit::Picoseconds),
        ("least time", point.ideal_time_ps, Unit::Picoseconds),
    ] {
        if let Some(value) = value {
            ui.label(format!("{title}: {}", number(value, unit)));
        }
    }
    if let Some(bound) = point.bound_by {
        ui.label(format!("bound by {}", bound.title()));
    }
    ui.weak("Work: by the compiler's cost model. Time: measured. Click to show it.");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_carry_their_unit() {
        assert_eq!(decade(12.0, "FLOP/s"), "1 TFLOP/s");
        assert_eq!(decade(14.0, "FLOP/s"), "100 TFLOP/s");
        assert_eq!(decade(2.0, ""), "100");
        assert_eq!(decade(0.5, ""), "");
    }
}
