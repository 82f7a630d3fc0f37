//! The time of every step as a plot, stacked by part.

use analysis::facts::steps::{Step, StepsReport};
use analysis::reports::steps::step_parts::{StepPart, StepParts};
use analysis::reports::steps::step_times::Steps;
use analysis::{OpGroup, Percent};
use egui::{Align2, Rect, RichText, Role, Sense, Ui, WidgetInfo};
use egui_plot::{Bar as PlotBar, BarChart, HLine, LineStyle, Plot, PlotPoint, Text};
use trace_model::Picos;

use super::context::section_ui;
use super::context::{PanelContext, computing_ui, reason_ui};
use super::legend::swatch_ui;
use crate::theme::{self, Theme, readable_on, small_font};
use crate::timeline::elide::elided;
use crate::times::{self, time};
use view::state::{ReportScope, ViewCommand};
use view::timeline::bands::{StepBar, StepBars, group_of};
use view::words::capitalised;

/// Height of the plot.
const HEIGHT: f32 = 150.0;

/// State derived from the reports.
#[derive(Default)]
pub struct StepsState {
    bars: Option<StepBars>,
    is_divided: bool,
}

/// Step times in trace order; a click shows the step and limits the reports to it.
pub fn steps_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    made: &mut StepsState,
    out: &mut Vec<ViewCommand>,
) {
    let report = match context.whole.get::<Steps>() {
        Ok(Some(report)) if !report.steps.is_empty() => report,
        Ok(Some(report)) => {
            section_ui(ui, "Steps", "");
            ui.weak("No steps were found.");
            for reason in &report.why {
                ui.label(RichText::new(reason).small().weak());
            }
            return;
        }
        Ok(None) => {
            section_ui(ui, "Steps", "");
            return computing_ui(ui);
        }
        Err(reason) => {
            section_ui(ui, "Steps", "");
            return reason_ui(ui, reason);
        }
    };
    let shown = |ps: f64| time(Picos::from_ps(ps as i64));
    let note = report
        .time
        .as_ref()
        .map_or_else(String::new, |time| match time.count {
            1 => format!("one complete step: {}", shown(time.median)),
            n => format!(
                "median {} over {n} steps, {} to {}",
                shown(time.median),
                shown(time.min),
                shown(time.max)
            ),
        });
    section_ui(ui, "Steps", &note);
    let divided = context.whole.get::<StepParts>().ok().flatten();
    if made.bars.is_none() || made.is_divided != divided.is_some() {
        *made = StepsState {
            bars: Some(StepBars::new(report, divided)),
            is_divided: divided.is_some(),
        };
    }
    let Some(bars) = &made.bars else { return };
    match &bars.bars[..] {
        [only] => one_step_ui(ui, report, only, out),
        _ => plot_ui(ui, report, bars, out),
    }
    legend_ui(ui, &bars.bars);
    if bars.each > 1 {
        let text = format!(
            "Each bar is the mean of {} steps; the line above it is the longest of them.",
            bars.each
        );
        ui.label(RichText::new(text).small().weak());
    }
    ui.add(
        egui::Label::new(
            RichText::new(format!("From: {}", report.marker))
                .small()
                .weak(),
        )
        .truncate(),
    )
    .on_hover_text(report.why.join("\n"));
}

/// Names of the parts that occur.
fn legend_ui(ui: &mut Ui, bars: &[StepBar]) {
    let theme = theme::current(ui);
    ui.horizontal_wrapped(|ui| {
        for part in StepPart::ALL {
            if bars
                .iter()
                .any(|bar| bar.parts.iter().any(|&(other, _)| other == part))
            {
                swatch_ui(ui, theme.group(group_of(part)), part.title());
            }
        }
    });
}

/// Distance between axis marks: two or three marks at round numbers.
fn mark_step(top: f64) -> f64 {
    let wanted = (top / 3.0).max(1.0);
    let power = 10_f64.powf(wanted.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|m| m * power)
        .into_iter()
        .find(|&step| step >= wanted)
        .unwrap_or(wanted)
}

fn plot_ui(ui: &mut Ui, report: &StepsReport, made: &StepBars, out: &mut Vec<ViewCommand>) {
    let theme = theme::current(ui);
    let StepBars { bars, cut, .. } = made;
    let top = cut.ps() as f64;
    let step = mark_step(top);
    let plot = Plot::new("step times")
        .height(HEIGHT)
        .allow_zoom(false)
        .allow_drag(false)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .allow_axis_zoom_drag(false)
        .show_x(false)
        .show_y(false)
        .show_grid([false, true])
        .include_y(0.0)
        .include_y(top * 1.12)
        .y_axis_min_width(52.0)
        .y_axis_formatter(move |mark, _| {
            times::format().tick(
                Picos::from_ps(mark.value as i64),
                Picos::from_ps(step as i64),
            )
        })
        .x_axis_formatter(|mark, _| {
            if mark.value.fract() == 0.0 {
                format!("{}", mark.value)
            } else {
                String::new()
            }
        })
        .y_grid_spacer(move |input| {
            let (from, to) = input.bounds;
            let marks = ((from / step).ceil() as i64)..=((to / step).floor() as i64);
            marks
                .map(|at| egui_plot::GridMark {
                    value: at as f64 * step,
                    step_size: step,
                })
                .collect()
        });
    let shown = plot.show(ui, |plot| {
        for chart in charts(made, theme) {
            plot.bar_chart(chart);
        }
        for bar in bars.iter().filter(|bar| bar.time > *cut) {
            let text = RichText::new(time(bar.time)).small().color(theme.warning);
            let at = PlotPoint::new(bar.middle(), top * 1.01);
            plot.text(Text::new("cut", at, text).anchor(Align2::CENTER_BOTTOM));
        }
        if let Some(time) = &report.time {
            let line = HLine::new("median", time.median).color(theme.text_weak);
            plot.hline(line.style(LineStyle::dashed_dense()).allow_hover(false));
        }
        plot.pointer_coordinate().map(|at| at.x.round() as i64)
    });
    let number = shown.inner;
    let near = |x: i64| {
        bars.iter()
            .find(|bar| (i64::from(bar.steps.0)..=i64::from(bar.steps.1)).contains(&x))
    };
    let bar = number.and_then(near);
    let step = bar.and_then(|bar| {
        report
            .steps
            .iter()
            .find(|step| step.number == bar.longest.0)
    });
    let response = shown.response;
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, "Step times"));
    let Some(step) = step else { return };
    if response.clicked()
        && let Some(range) = step.range()
    {
        out.push(ViewCommand::Show(range));
        out.push(ViewCommand::Scope(ReportScope::step(step.number)));
    }
    response.on_hover_ui_at_pointer(|ui| step_ui(ui, step, bar));
}

/// The only step as a horizontal bar of its parts.
fn one_step_ui(ui: &mut Ui, report: &StepsReport, bar: &StepBar, out: &mut Vec<ViewCommand>) {
    const BAR: f32 = 26.0;
    let theme = theme::current(ui);
    let Some(step) = report
        .steps
        .iter()
        .find(|step| step.number == bar.longest.0)
    else {
        return;
    };
    let (rect, response) =
        ui.allocate_exact_size(egui::vec2(ui.available_width(), BAR), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, "Step times"));
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 3.0, theme.group(OpGroup::Idle));
    let mut left = rect.left();
    let plain = [(None, bar.time)];
    let parts = bar
        .parts
        .iter()
        .map(|&(part, part_time)| (Some(part), part_time));
    let parts: Vec<_> = if bar.parts.is_empty() {
        plain.to_vec()
    } else {
        parts.collect()
    };
    for (part, part_time) in parts {
        let share = part_time
            .fraction_of(bar.time)
            .unwrap_or_default()
            .clamp(0.0, 1.0);
        let right = (left + rect.width() * share as f32).min(rect.right());
        let fill = part.map_or(theme.accent, |part| theme.group(group_of(part)));
        let own = Rect::from_x_y_ranges(left..=right, rect.y_range());
        painter.rect_filled(own, 2.0, fill);
        let whole = || format!("{}: {}", bar.title(), time(bar.time));
        let text = part.map_or_else(whole, |part| {
            format!("{} {:.1}", part.title(), Percent(share * 100.0))
        });
        let at = own.left_center() + egui::vec2(6.0, 0.0);
        elided(
            &painter,
            at,
            Align2::LEFT_CENTER,
            &text,
            own.width() - 10.0,
            &small_font(),
            readable_on(fill),
        );
        left = right;
    }
    if response.clicked()
        && let Some(range) = step.range()
    {
        out.push(ViewCommand::Show(range));
        out.push(ViewCommand::Scope(ReportScope::step(step.number)));
    }
    response.on_hover_ui_at_pointer(|ui| step_ui(ui, step, Some(bar)));
}

/// One chart per part, so that each has its colour.
fn charts(made: &StepBars, theme: &Theme) -> Vec<BarChart> {
    let (cut, width) = (made.cut, 0.86 * made.each as f64);
    let mut by_part: Vec<Vec<PlotBar>> = StepPart::ALL.iter().map(|_| Vec::new()).collect();
    let mut plain = Vec::new();
    for bar in &made.bars {
        let x = bar.middle();
        let dim = if bar.is_counted { 1.0 } else { 0.45 };
        if bar.parts.is_empty() {
            let fill = theme.accent.gamma_multiply(dim);
            plain.push(
                PlotBar::new(x, bar.time.min(cut).ps() as f64)
                    .width(width)
                    .fill(fill)
                    .stroke(egui::Stroke::NONE),
            );
        }
        let mut from = Picos::ZERO;
        for &(part, part_time) in &bar.parts {
            let to = (from + part_time).min(cut);
            if to > from {
                let fill = theme.group(group_of(part)).gamma_multiply(dim);
                let piece = PlotBar::new(x, (to - from).ps() as f64)
                    .base_offset(from.ps() as f64)
                    .width(width);
                if let Some(at) = StepPart::ALL.iter().position(|other| *other == part) {
                    by_part[at].push(piece.fill(fill).stroke(egui::Stroke::NONE));
                }
            }
            from = to;
        }
    }
    by_part.push(plain);
    let line = cut.ps() as f64 * 0.01;
    let several = made.bars.iter().filter(|bar| bar.steps.0 < bar.steps.1);
    let longest = several.map(|bar| {
        let mark = PlotBar::new(bar.middle(), line)
            .base_offset(bar.longest.1.min(cut).ps() as f64 - line)
            .width(width);
        mark.fill(theme.text_weak).stroke(egui::Stroke::NONE)
    });
    by_part.push(longest.collect());
    let charts = by_part.into_iter().filter(|bars| !bars.is_empty());
    charts
        .map(|bars| BarChart::new("steps", bars).allow_hover(false))
        .collect()
}

fn step_ui(ui: &mut Ui, step: &Step, bar: Option<&StepBar>) {
    if let Some(bar) = bar {
        let is_mean = bar.steps.0 < bar.steps.1;
        let title = if is_mean {
            bar.title()
        } else {
            format!("Step {}", step.label)
        };
        ui.label(RichText::new(title).strong());
        ui.label(time(bar.time));
        for &(part, part_time) in &bar.parts {
            let share = Percent(part_time.ps() as f64 * 100.0 / (bar.time.ps().max(1) as f64));
            ui.label(format!(
                "{}: {} ({share:.1})",
                part.title(),
                time(part_time)
            ));
        }
        if is_mean {
            ui.label(format!(
                "The longest is step {}: {}",
                step.label,
                time(step.time_ps)
            ));
        }
    }
    if let Some(slowest) = &step.slowest {
        ui.weak(format!("longest on {slowest}"));
    }
    if step.compile_ps > Picos::ZERO {
        ui.label(format!(
            "compiling at the same time: {}",
            time(step.compile_ps)
        ));
    }
    for (is, text) in [
        (step.is_partial, "not complete in the capture"),
        (step.is_warmup, "warm-up: left out of the statistics"),
        (step.is_outlier, "unusually long"),
    ] {
        if is {
            ui.label(text);
        }
    }
    let origin = capitalised(&times::origin());
    ui.weak(format!(
        "{origin}. Parts: on the core that took longest, of the step's time. Click to show it, and to let the reports be \
         about it."
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_marks_are_few_round_numbers() {
        for top in [1.0, 9.7e9, 58.69e9, 1.0e12] {
            let step = mark_step(top);
            assert!(
                (1.0..=3.0).contains(&(top / step).max(1.0)),
                "{top}: {step}"
            );
        }
        assert!((mark_step(58.69e9) - 20e9).abs() < 1.0);
    }
}
