//! The overview: what limits the run, first hints, figures that matter, data quality, steps, device time, most expensive ops.

mod breakdown;
mod environment;
mod headline;
mod to_do;
mod top_ops;

use crate::panels::tabs::prelude::*;

use crate::panels::chip::chip_ui;
use crate::panels::steps;

pub const TAB: Tab = Tab {
    id: "overview",
    title: "Overview",
    reports: Some(&["verdict", "targets", "utilization", "devices"]),
    also: &["hints", "steps", "overlap", "ops", "balance"],
    of_whole: &["doctor", "steps", "step_parts", "balance"],
    icon: "frame 0.05 0.05 0.42 0.6; frame 0.05 0.75 0.42 0.95; frame 0.58 0.05 0.95 0.25; \
           frame 0.58 0.4 0.95 0.95",
    why_empty: |_, _, _| Ok(None),
    panel: |_| Box::new(OverviewState::default()),
    ..TABLES
};

/// State of the overview between frames.
#[derive(Default)]
struct OverviewState {
    steps: steps::StepsState,
    ops: top_ops::TopOps,
}

impl TabPanel for OverviewState {
    fn forget_made(&mut self) {
        self.ops.forget_made();
    }

    fn ui(&mut self, ui: &mut Ui, tab: TabContent<'_>) {
        tab.view_ui(
            ui,
            |ui,
             TabContent {
                 context, out, view, ..
             }| {
                let context = *context;
                ui.add_space(6.0);
                headline::limit_ui(ui, context, view);
                to_do::to_do_ui(ui, context, view);
                headline::figures_ui(ui, context);
                environment::health_ui(ui, context, view);
                chip_ui(ui, context, out);
                steps::steps_ui(ui, context, &mut self.steps, view);
                breakdown::breakdown_ui(ui, context);
                top_ops::top_ops_ui(ui, context, &mut self.ops, view);
                environment::environment_ui(ui, context);
                issues_ui(ui, context);
            },
        );
    }
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
