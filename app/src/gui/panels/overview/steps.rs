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
    let note = report.time.as_ref().map_or_else(String::new, |time| match time.count {
        1 => format!("one complete step: {}", shown(time.median)),
        n => format!("median {} over {n} steps, {} to {}", shown(time.median), shown(time.min), shown(time.max)),
    });
    section_ui(ui, "Steps", &note);
    plot_ui(ui, report, out);
    ui.add(egui::Label::new(RichText::new(format!("From: {}", report.marker)).small().weak()).truncate())
        .on_hover_text(report.why.join("\n"));
}

fn shown(ps: f64) -> Picos {
    Picos::from_ps(ps as i64)
}

/// How step times become heights: by their logarithm where the longest would
/// flatten all others.
#[derive(Clone, Copy)]
enum Heights {
    Linear,
    /// Decades above this one (log10 of picoseconds).
    Log(f64),
}

impl Heights {
    fn of(steps: &[Step]) -> Self {
        let times = || steps.iter().map(|step| step.time_ps.max(1));
        let (least, most) = (times().min().unwrap_or(1), times().max().unwrap_or(1));
        if most / least >= 20 { Self::Log((least as f64).log10().floor()) } else { Self::Linear }
    }

    fn height(self, ps: f64) -> f64 {
        match self {
            Self::Linear => ps,
            Self::Log(floor) => (ps.max(1.0).log10() - floor).max(0.02),
        }
    }

    /// Distance of the axis' marks: two or three of them, at round numbers.
    fn mark_step(self, top: f64) -> f64 {
        match self {
            Self::Log(_) => 1.0,
            Self::Linear => {
                let wanted = (top / 3.0).max(1.0);
                let power = 10_f64.powf(wanted.log10().floor());
                [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|&step| step >= wanted).unwrap_or(wanted)
            }
        }
    }

    fn label(self, height: f64) -> String {
        match self {
            Self::Linear if height == 0.0 => "0".to_owned(),
            Self::Linear => Picos::from_ps(height as i64).to_string(),
            Self::Log(_) if height.fract() != 0.0 => String::new(),
            Self::Log(floor) => decade(floor + height),
        }
    }
}

/// `1 ms` for 9: a power of ten of picoseconds in its unit.
fn decade(power: f64) -> String {
    const UNITS: [&str; 5] = ["ps", "ns", "µs", "ms", "s"];
    let power = power.clamp(0.0, 18.0) as usize;
    let unit = (power / 3).min(UNITS.len() - 1);
    format!("{} {}", 10_u64.pow((power - unit * 3) as u32), UNITS[unit])
}

fn plot_ui(ui: &mut Ui, report: &StepsReport, out: &mut Vec<ViewCommand>) {
    let theme = Theme::current(ui);
    let heights = Heights::of(&report.steps);
    let bars = report.steps.iter().map(|step| {
        let color = if step.is_partial || step.is_warmup {
            theme.text_weak.gamma_multiply(0.5)
        } else if step.is_outlier || step.compile_ps > 0 {
            theme.warning
        } else {
            theme.accent
        };
        let height = heights.height(step.time_ps as f64);
        Bar::new(f64::from(step.number), height).width(0.9).fill(color).stroke(egui::Stroke::NONE)
    });
    let chart = BarChart::new("steps", bars.collect()).allow_hover(false);
    let top = report.steps.iter().map(|step| heights.height(step.time_ps as f64)).fold(0.0, f64::max);
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
        .include_y(top * 1.08)
        .y_axis_min_width(52.0)
        .y_axis_formatter(move |mark, _| heights.label(mark.value))
        .x_axis_formatter(|mark, _| if mark.value.fract() == 0.0 { format!("{}", mark.value) } else { String::new() });
    let step = heights.mark_step(top);
    let plot = plot.y_grid_spacer(move |input| {
        let (from, to) = input.bounds;
        let marks = ((from / step).ceil() as i64)..=((to / step).floor() as i64);
        marks.map(|at| egui_plot::GridMark { value: at as f64 * step, step_size: step }).collect()
    });
    let shown = plot.show(ui, |plot| {
        plot.bar_chart(chart);
        if let Some(time) = &report.time {
            let line = HLine::new("median", heights.height(time.median)).color(theme.text_weak);
            plot.hline(line.style(LineStyle::dashed_dense()).allow_hover(false));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_carry_their_unit() {
        assert_eq!(decade(9.0), "1 ms");
        assert_eq!(decade(11.0), "100 ms");
        assert_eq!(decade(13.0), "10 s");
        assert_eq!(decade(0.0), "1 ps");
    }

    #[test]
    fn marks_are_round_and_few() {
        for top in [1.0, 9.7e9, 58.69e9, 1.0e12] {
            let step = Heights::Linear.mark_step(top);
            assert!((1.0..=3.0).contains(&(top / step).max(1.0)), "{top}: {step}");
        }
        assert!((Heights::Linear.mark_step(58.69e9) - 20e9).abs() < 1.0);
    }
}
