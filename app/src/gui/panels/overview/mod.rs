//! What limits this program, at one glance: verdict, utilization, where the
//! device's time goes, steps, the most expensive ops; then every other report.

mod breakdown;
mod headline;
mod steps;
mod top_ops;

use std::sync::Arc;

use analysis::busy::Devices;
use analysis::ops::{Ops, OpsReport};
use analysis::steps::{Steps, StepsReport};
use analysis::utilization::{Utilization, UtilizationReport};
use analysis::verdict::{Verdict, VerdictReport};
use analysis::{ANALYSES, Analysis as _, AnalysisEntry, Report, Scope};
use egui::{CollapsingHeader, RichText, ScrollArea, Ui};

use super::table::table_ui;
use crate::gui::jobs::Memo;
use crate::gui::state::ViewCommand;
use crate::gui::theme::Theme;
use crate::gui::timeline::tree::group_digits;
use crate::gui::trace::OpenTrace;
use crate::session::Session;

/// A report, or why there is none.
type Answer<T> = Result<Arc<T>, String>;

/// What the panel shows; computed in the background.
pub struct Overview {
    verdict: Answer<VerdictReport>,
    utilization: Answer<UtilizationReport>,
    ops: Answer<OpsReport>,
    steps: Answer<StepsReport>,
    /// All others, shown as the tables that they consist of.
    others: Vec<(&'static str, Answer<dyn Report>)>,
}

impl Overview {
    /// Asks every analysis.
    pub fn compute(session: &Session) -> Self {
        let context = session.context(Scope::WholeTrace);
        let run = |entry: &AnalysisEntry| (entry.run)(&context).map_err(|error| error.to_string());
        let shown = [Verdict::ID, Utilization::ID, Ops::ID, Steps::ID, Devices::ID];
        let others = ANALYSES.iter().filter(|entry| !shown.contains(&entry.id));
        Self {
            verdict: context.report::<Verdict>().map_err(|error| error.to_string()),
            utilization: context.report::<Utilization>().map_err(|error| error.to_string()),
            ops: context.report::<Ops>().map_err(|error| error.to_string()),
            steps: context.report::<Steps>().map_err(|error| error.to_string()),
            others: others.map(|entry| (entry.title, run(entry))).collect(),
        }
    }
}

/// The panel at the right.
pub fn overview_ui(ui: &mut Ui, trace: &OpenTrace, overview: &Memo<Overview>, out: &mut Vec<ViewCommand>) {
    ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
        ui.add_space(6.0);
        match overview {
            Memo::Failed { error, .. } => drop(ui.label(error)),
            Memo::Empty | Memo::Running { previous: None } => {
                ui.horizontal(|ui| {
                    ui.spinner();
                    ui.weak("Computing the numbers …");
                });
            }
            Memo::Ready(overview) | Memo::Running { previous: Some(overview) } => {
                headline::verdict_ui(ui, &overview.verdict, trace);
                headline::metrics_ui(ui, &overview.utilization);
                breakdown::breakdown_ui(ui, &overview.ops);
                steps::steps_ui(ui, &overview.steps, out);
                top_ops::top_ops_ui(ui, trace, &overview.ops, out);
                others_ui(ui, overview);
            }
        }
        issues_ui(ui, trace);
        ui.add_space(12.0);
    });
}

/// A heading with the space that it needs, and what is known about it beside it.
fn section_ui(ui: &mut Ui, title: &str, note: &str) {
    ui.add_space(12.0);
    ui.horizontal(|ui| {
        ui.label(RichText::new(title).size(14.0).strong());
        if !note.is_empty() {
            ui.add(egui::Label::new(RichText::new(note).small().weak()).truncate());
        }
    });
}

fn others_ui(ui: &mut Ui, overview: &Overview) {
    ui.add_space(12.0);
    for (title, report) in &overview.others {
        CollapsingHeader::new(RichText::new(*title).strong()).show(ui, |ui| match report {
            Err(reason) => drop(ui.weak(reason)),
            Ok(report) => {
                for table in report.tables() {
                    ui.label(RichText::new(&table.title).small().strong());
                    if table.rows.is_empty() {
                        ui.weak("nothing");
                    } else {
                        let columns: Vec<usize> = (0..table.columns.len().min(4)).collect();
                        table_ui(ui, &table, &columns, 12);
                    }
                    for note in &table.notes {
                        ui.label(RichText::new(note).small().weak());
                    }
                    ui.add_space(6.0);
                }
            }
        });
    }
}

fn issues_ui(ui: &mut Ui, trace: &OpenTrace) {
    let issues = trace.model.import_log().counts();
    if issues.is_empty() {
        return;
    }
    section_ui(ui, "Noticed while opening", "");
    for issue in issues {
        let text = format!("{} × {}", group_digits(issue.count), issue.kind.explain());
        let color = match issue.kind.severity() {
            trace_model::Severity::Loss => Theme::current(ui).warning,
            _ => Theme::current(ui).text_weak,
        };
        ui.label(RichText::new(text).small().color(color)).on_hover_text(issue.examples.join("\n"));
    }
}
