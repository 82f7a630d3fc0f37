//! The overview: verdict, data quality, utilization, first hints, steps, device time, most expensive ops.

mod breakdown;
mod environment;
mod headline;
mod top_ops;

use egui::{RichText, Ui};

use super::chip::chip_ui;
use super::context::{PanelContext, section_ui};
use super::steps;
use crate::AppCommand;
use crate::theme;
use view::state::ViewCommand;
use view::timeline::tree::group_digits;

/// State of the overview between frames.
#[derive(Default)]
pub struct OverviewState {
    steps: steps::StepsState,
    ops: top_ops::TopOps,
}

impl OverviewState {
    /// Forgets what was made of reports, because new ones replace them.
    pub fn forget_made(&mut self) {
        self.ops.forget_made();
    }
}

pub fn overview_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    made: &mut OverviewState,
    commands: &mut Vec<AppCommand>,
    out: &mut Vec<ViewCommand>,
) {
    ui.add_space(6.0);
    headline::verdict_ui(ui, context);
    environment::health_ui(ui, context, out);
    headline::figures_ui(ui, context);
    chip_ui(ui, context, commands);
    environment::hints_ui(ui, context, out);
    steps::steps_ui(ui, context, &mut made.steps, out);
    breakdown::breakdown_ui(ui, context);
    top_ops::top_ops_ui(ui, context, &mut made.ops, out);
    environment::environment_ui(ui, context);
    issues_ui(ui, context);
}

fn issues_ui(ui: &mut Ui, context: PanelContext<'_>) {
    let issues = context.trace.model.import_log().counts();
    if issues.is_empty() {
        return;
    }
    section_ui(ui, "Messages from opening the file", "");
    for issue in issues {
        let text = format!("{} × {}", group_digits(issue.count), issue.kind.explain());
        let color = match issue.kind.severity() {
            trace_model::Severity::Loss => theme::current(ui).warning,
            _ => theme::current(ui).text_weak,
        };
        ui.label(RichText::new(text).small().color(color))
            .on_hover_text(issue.examples.join("\n"));
    }
}
