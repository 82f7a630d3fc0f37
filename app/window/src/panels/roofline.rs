//! The roofline plot with its controls.

use super::prelude::*;
use analysis::hardware::limits::BoundBy;
use analysis::reports::{Roofline, RooflinePoint, RooflineReport};

use super::legend::chart_legend_ui;
use crate::drawing::{self, frame, zoomed_ui};
use view::charts::Chart as _;
use view::charts::roofline::{RooflineChart, RooflineMark};
use view::drawing::PlotArea;

/// Ops with a smaller share of op time can be hidden.
const SMALL: Percent = Percent(1.0);

/// State of the plot.
#[derive(Default)]
pub struct RooflinePlot {
    hide_small: bool,
}

/// The plot with its controls; the table follows below.
pub fn roofline_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    memory: &mut RooflinePlot,
    out: &mut ViewCommands,
) {
    let report = match context.reports.get::<Roofline>() {
        Ok(Some(report)) => report,
        Ok(None) => return computing_ui(ui),
        // The table below says why.
        Err(_) => return,
    };
    head_ui(ui, report, memory);
    let is_small = |op: &RooflinePoint| {
        let share = op.self_of_op_time_percent;
        share.is_some_and(|share| share < SMALL)
    };
    let ops = report.ops.iter();
    let mut chart = RooflineChart::of(
        report,
        ops.filter(|op| !(memory.hide_small && is_small(op))),
    );
    chart_legend_ui(ui, &chart.legend(&frame(vec2(0.0, 0.0))));
    let size = vec2(
        ui.available_width(),
        (ui.available_height() * 0.48).clamp(200.0, 460.0),
    );
    let (rect, canvas) = ui.allocate_exact_size(size, Sense::hover());
    canvas.labeled(Role::Canvas, "Roofline plot");
    let frame = frame(size);
    let (response, range) = zoomed_ui(ui, "roofline", rect, chart.area(&frame));
    chart.range = range;
    let (drawn, area) = (chart.draw(&frame), chart.area(&frame));
    drawing::paint(&ui.painter_at(rect), rect.min, &drawn, theme::current(ui));
    let pointer = response.hover_pos().map(|pos| pos - rect.min);
    let number = pointer.and_then(|pos| drawn.number_at((pos.x, pos.y)));
    let near = number.and_then(|number| chart.marks.get(number));
    marked_ui(ui, rect, &area, own_of(context, &chart), near);
    let Some(mark) = near else { return };
    if response.clicked()
        && let Some(target) =
            RowTarget::named(context.trace, &mark.point.name, Some(&mark.point.program))
    {
        out.extend(target.commands(context.trace));
    }
    response.on_hover_ui_at_pointer(|ui| point_ui(ui, mark.point));
}

/// Rings around the selected op and around what is below the pointer, with a line to its limit.
fn marked_ui(
    ui: &Ui,
    rect: Rect,
    area: &PlotArea,
    selected: Option<&RooflineMark<'_>>,
    near: Option<&RooflineMark<'_>>,
) {
    let theme = theme::current(ui);
    let center = |place| {
        let (x, y) = area.point(place);
        rect.min + vec2(x, y)
    };
    let plot = Rect::from_min_size(
        rect.min + vec2(area.left, area.top),
        vec2(area.width, area.height),
    );
    let painter = ui.painter_at(plot);
    let rings = [(selected, theme.selection), (near, theme.text)];
    for (mark, color) in rings
        .into_iter()
        .filter_map(|(mark, color)| Some((mark?, color)))
    {
        let stroke = Stroke::new(1.5, color);
        painter.circle_stroke(center(mark.place), mark.radius + 4.0, stroke);
    }
    if let Some(mark) = near {
        let (x, y) = mark.place;
        // The limit at its intensity.
        let roof = mark.point.attainable_flops_per_second;
        let roof = roof.filter(|roof| *roof > 0.0).map_or(y, f64::log10);
        let line = [center((x, area.range.y.0)), center((x, roof))];
        painter.extend(Shape::dotted_line(&line, theme.text_weak, 4.0, 1.0));
    }
}

/// The mark of the selected op.
fn own_of<'a, 'r>(
    context: PanelContext<'_>,
    chart: &'a RooflineChart<'r>,
) -> Option<&'a RooflineMark<'r>> {
    let model = &context.trace.model;
    let op = model.op(context.selected_op()?);
    let program = op
        .program
        .map(|program| model.program_title(program))
        .unwrap_or_default();
    let name = model.str(op.name);
    chart
        .ops()
        .find(|mark| *mark.point.name == *name && *mark.point.program == *program)
}

fn head_ui(ui: &mut Ui, report: &RooflineReport, memory: &mut RooflinePlot) {
    ui.horizontal_wrapped(|ui| {
        let name = report
            .peaks
            .device_type
            .clone()
            .unwrap_or_else(|| "device".to_owned());
        ui.strong(name);
        for ridge in report
            .ridges
            .iter()
            .filter(|ridge| ridge.memory == BoundBy::Hbm)
        {
            let text = format!(
                "ridge point at {}",
                number(ridge.flops_per_byte, Unit::FlopPerByte)
            );
            ui.label(remark(text)).on_hover_text(
                "Below the ridge point HBM bandwidth is the limit, above it compute",
            );
        }
        check_box(
            ui,
            &mut memory.hide_small,
            RichText::new("hide ops below 1 % of op time").small(),
        );
    });
}

fn point_ui(ui: &mut Ui, point: &RooflinePoint) {
    ui.strong(&*point.name);
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
        (
            "time (sum)",
            Some(point.time_ps.as_ps_f64()),
            Unit::Picoseconds,
        ),
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
