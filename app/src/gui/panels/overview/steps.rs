//! The time of every step, as a plot.

use analysis::steps::{Step, StepsReport};
use egui::{RichText, Ui};
use egui_plot::{Bar, BarChart, HLine, LineStyle, Plot};
use trace_model::{Picos, TimeRange};

use super::{Answer, section_ui};
use crate::gui::state::ViewCommand;
use crate::gui::theme::Theme;

/// Step times in the order of the trace; a click shows the step.
pub fn steps_ui(ui: &mut Ui, report: &Answer<StepsReport>, out: &mut Vec<ViewCommand>) {
    let report = match report {
        Ok(report) if !report.steps.is_empty() => report,
        Ok(report) => {
            section_ui(ui, "Steps", "");
            ui.weak("No steps were found.");
            for reason in &report.why {
                ui.label(RichText::new(reason).small().weak());
            }
            return;
        }
        Err(reason) => {
            section_ui(ui, "Steps", "");
            return drop(ui.weak(reason));
        }
    };
    let note = report.time.as_ref().map_or_else(String::new, |time| {
        let median = Picos::from_ps(time.median as i64);
        format!("median {median} over {} steps, {} to {}", time.count, shown(time.min), shown(time.max))
    });
    section_ui(ui, "Steps", &note);
    plot_ui(ui, report, out);
    ui.add(egui::Label::new(RichText::new(format!("From: {}", report.marker)).small().weak()).truncate())
        .on_hover_text(report.why.join("\n"));
}

fn shown(ps: f64) -> Picos {
    Picos::from_ps(ps as i64)
}

fn plot_ui(ui: &mut Ui, report: &StepsReport, out: &mut Vec<ViewCommand>) {
    let theme = Theme::current(ui);
    let longest = report.steps.iter().map(|step| step.time_ps).max().unwrap_or(1).max(1);
    let bars = report.steps.iter().map(|step| {
        let color = if step.is_partial || step.is_warmup {
            theme.text_weak.gamma_multiply(0.5)
        } else if step.is_outlier || step.compile_ps > 0 {
            theme.warning
        } else {
            theme.accent
        };
        Bar::new(f64::from(step.number), step.time_ps as f64).width(0.9).fill(color).stroke(egui::Stroke::NONE)
    });
    let chart = BarChart::new("steps", bars.collect()).allow_hover(false);
    let plot = Plot::new("step times")
        .height(110.0)
        .allow_zoom(false)
        .allow_drag(false)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .allow_axis_zoom_drag(false)
        .show_x(false)
        .show_y(false)
        .show_grid([false, true])
        .include_y(longest as f64 * 1.05)
        .y_axis_formatter(|mark, _| axis_label(mark.value))
        .x_axis_formatter(|mark, _| if mark.value.fract() == 0.0 { format!("{}", mark.value) } else { String::new() });
    let shown = plot.show(ui, |plot| {
        plot.bar_chart(chart);
        if let Some(time) = &report.time {
            let line = HLine::new("median", time.median).color(theme.text_weak).style(LineStyle::dashed_dense());
            plot.hline(line.allow_hover(false));
        }
        plot.pointer_coordinate().map(|at| at.x.round() as i64)
    });
    let step = shown.inner.and_then(|x| report.steps.iter().find(|step| i64::from(step.number) == x));
    let response = shown.response;
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, "Step times"));
    let Some(step) = step else { return };
    if response.clicked()
        && let Some(range) = range_of(step)
    {
        out.push(ViewCommand::Show(range));
    }
    response.on_hover_ui_at_pointer(|ui| step_ui(ui, step));
}

fn step_ui(ui: &mut Ui, step: &Step) {
    ui.label(RichText::new(format!("Step {}", step.number)).strong());
    ui.label(Picos::from_ps(step.time_ps).to_string());
    if step.compile_ps > 0 {
        ui.label(format!("compiling meanwhile: {}", Picos::from_ps(step.compile_ps)));
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
    ui.weak("Click to show it");
}

fn range_of(step: &Step) -> Option<TimeRange> {
    step.spans.iter().map(|span| span.range).reduce(TimeRange::hull)
}

fn axis_label(ps: f64) -> String {
    if ps == 0.0 { "0".to_owned() } else { Picos::from_ps(ps as i64).to_string() }
}
