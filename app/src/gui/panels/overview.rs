//! Headline numbers and tables of the whole trace.

use std::sync::Arc;

use analysis::{ANALYSES, Report, Scope};
use egui::{Grid, RichText, ScrollArea, Ui};

use super::table::table_ui;
use crate::gui::jobs::Memo;
use crate::gui::state::ViewCommand;
use crate::gui::theme::Theme;
use crate::gui::timeline::tree::group_digits;
use crate::gui::trace::OpenTrace;
use crate::session::Session;

type Answer = Result<Arc<dyn Report>, String>;

/// What the panel shows; computed in the background.
pub struct Overview {
    reports: Vec<(&'static str, Answer)>,
}

impl Overview {
    /// Asks every analysis.
    pub fn compute(session: &Session) -> Self {
        let context = session.context(Scope::WholeTrace);
        let run = |entry: &analysis::AnalysisEntry| (entry.run)(&context).map_err(|error| error.to_string());
        Self { reports: ANALYSES.iter().map(|entry| (entry.title, run(entry))).collect() }
    }
}

/// The panel at the right.
pub fn overview_ui(ui: &mut Ui, trace: &OpenTrace, overview: &Memo<Overview>, out: &mut Vec<ViewCommand>) {
    ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
        ui.add_space(6.0);
        facts_ui(ui, trace);
        match overview {
            Memo::Failed { error, .. } => drop(ui.label(error)),
            Memo::Empty | Memo::Running { previous: None } => drop(ui.weak("computing …")),
            Memo::Ready(overview) | Memo::Running { previous: Some(overview) } => reports_ui(ui, overview, out),
        }
        issues_ui(ui, trace);
    });
}

fn facts_ui(ui: &mut Ui, trace: &OpenTrace) {
    let model = &trace.model;
    Grid::new("facts").num_columns(2).spacing([14.0, 3.0]).show(ui, |ui| {
        let mut row = |title: &str, value: String| {
            ui.label(RichText::new(title).color(Theme::current(ui).text_weak));
            ui.label(value);
            ui.end_row();
        };
        row("Duration", model.extent().dur().to_string());
        row("Slices", group_digits(model.slice_count() as u64));
        let devices = model.tensor_cores();
        if !devices.is_empty() {
            let kind = devices.iter().find_map(|&id| model.group(id).device.as_ref()?.type_name.clone());
            row("Devices", format!("{} × {}", devices.len(), kind.unwrap_or_else(|| "TPU of unknown type".to_owned())));
        }
    });
    ui.add_space(8.0);
}

fn reports_ui(ui: &mut Ui, overview: &Overview, _out: &mut Vec<ViewCommand>) {
    for (title, report) in &overview.reports {
        match report {
            Err(reason) => {
                ui.label(RichText::new(*title).strong());
                ui.weak(reason);
            }
            Ok(report) => {
                for table in report.tables() {
                    ui.label(RichText::new(&table.title).strong());
                    let columns: Vec<usize> = (0..table.columns.len().min(4)).collect();
                    table_ui(ui, &table, &columns, 12);
                    ui.add_space(8.0);
                }
            }
        }
    }
}

fn issues_ui(ui: &mut Ui, trace: &OpenTrace) {
    let issues = trace.model.import_log().counts();
    if issues.is_empty() {
        return;
    }
    ui.add_space(8.0);
    ui.label(RichText::new("Noticed while opening").strong());
    for issue in issues {
        ui.horizontal_wrapped(|ui| {
            ui.label(group_digits(issue.count));
            ui.weak(issue.kind.explain()).on_hover_text(issue.examples.join("\n"));
        });
    }
}
