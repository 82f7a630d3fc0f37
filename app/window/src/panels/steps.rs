//! The time of every step as a plot, stacked by part.

use super::prelude::*;
use analysis::facts::Step;
use analysis::reports::StepParts;

use super::context::reason_ui;
use super::legend::chart_legend_ui;
use crate::drawing::frame;
use crate::times::time_ps;
use view::charts::steps::{StepBar, StepBars, StepsChart};
use view::charts::{Chart as _, ChartFrame};
use view::overview::steps_in_words;
use view::timeline::bands::short_name;

/// Height of the plot.
const HEIGHT: f32 = 150.0;
/// Height of the bar of a single step.
const BAR: f32 = 26.0;

/// State derived from the reports.
#[derive(Default)]
pub struct StepsState {
    bars: Option<StepBars>,
    is_divided: bool,
}

/// Why there are no steps.
fn why_ui(ui: &mut Ui, report: &StepsReport) {
    for reason in &report.why {
        ui.label(remark(reason));
    }
}

/// Step times in trace order; a click shows the step and limits the reports to it.
pub fn steps_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    made: &mut StepsState,
    out: &mut ViewCommands,
) {
    let report = match context.whole.get::<Steps>() {
        Ok(Some(report)) if !report.steps.is_empty() => report,
        Ok(Some(report)) => {
            section_ui(ui, "Steps", "");
            ui.weak("No steps were found.");
            return why_ui(ui, report);
        }
        Ok(None) => {
            section_ui(ui, "Steps", "");
            computing_ui(ui);
            return ui.add_space(HEIGHT);
        }
        Err(reason) => {
            section_ui(ui, "Steps", "");
            return reason_ui(ui, reason);
        }
    };
    if report.has_steps() {
        let note = report.time.map_or_else(String::new, |steps| {
            steps_in_words(&steps, "complete step", time)
        });
        section_ui(ui, "Steps", &note);
    } else {
        section_ui(ui, "Steps", "the whole capture counts as one");
        why_ui(ui, report);
    }
    let divided = context.whole.get::<StepParts>().ok().flatten();
    if made.bars.is_none() || made.is_divided != divided.is_some() {
        *made = StepsState {
            bars: Some(StepBars::new(report, divided)),
            is_divided: divided.is_some(),
        };
    }
    let Some(bars) = &made.bars else { return };
    if matches!(&bars.bars[..], [only] if only.parts.is_empty()) {
        // All of a step without parts: the bar would say nothing.
        return;
    }
    let height = if bars.bars.len() == 1 { BAR } else { HEIGHT };
    let size = vec2(ui.available_width(), height);
    let chart = StepsChart {
        bars,
        median_ps: report.time.as_ref().map(|time| time.median),
    };
    let draw = |frame: &ChartFrame| chart.draw(frame);
    let (response, number) = chart_ui(ui, (size, Sense::click()), "Step times", draw);
    chart_legend_ui(ui, &chart.legend(&frame(size)));
    bar_ui(
        response,
        report,
        number.and_then(|index| bars.bars.get(index)),
        out,
    );
    // The sentence about the run is of the mean device: a bar says of which it is.
    let has_parts = bars.bars.iter().any(|bar| !bar.parts.is_empty());
    let is_slowest = has_parts && report.steps.iter().any(|step| step.slowest.is_some());
    let mut about = String::new();
    if bars.each > 1 {
        about = format!(
            "Each bar is the mean of {} steps; the line above it is the longest of them. ",
            bars.each
        );
    }
    if is_slowest {
        about += "Parts: of the device that takes longest in the step.";
    }
    if !about.is_empty() {
        ui.label(remark(about));
    }
    ui.add(
        Label::new(remark(format!("From: {}", report.marker)))
            .truncate()
            .show_tooltip_when_elided(false),
    )
    .on_hover_text(report.why.join("\n"));
}

/// What a click on a bar does, and what the pointer shows.
fn bar_ui(response: Response, report: &StepsReport, bar: Option<&StepBar>, out: &mut ViewCommands) {
    let longest = |bar: &StepBar| {
        let mut steps = report.steps.iter();
        steps.find(|step| step.number == bar.longest.0)
    };
    let Some(step) = bar.and_then(longest) else {
        return;
    };
    if response.clicked()
        && let Some(range) = step.range()
    {
        out.push(ViewCommand::Show(range));
        out.push(ViewCommand::Scope(ReportScope::step(step.number)));
    }
    response.on_hover_ui_at_pointer(|ui| step_ui(ui, step, bar));
}

fn step_ui(ui: &mut Ui, step: &Step, bar: Option<&StepBar>) {
    if let Some(bar) = bar {
        let is_mean = bar.steps.0 < bar.steps.1;
        let title = if is_mean {
            bar.title()
        } else {
            format!("Step {}", short_name(&step.label, step.number))
        };
        ui.strong(title);
        ui.label(time_ps(bar.time_ps));
        for &(part, part_time) in &bar.parts {
            let share = Percent(part_time as f64 * 100.0 / (bar.time_ps.max(1) as f64));
            ui.label(format!(
                "{}: {} ({share:.1})",
                part.title(),
                time_ps(part_time)
            ));
        }
        if is_mean {
            ui.label(format!(
                "The longest is step {}: {}",
                short_name(&step.label, step.number),
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
