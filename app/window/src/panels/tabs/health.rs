//! How far the capture can be trusted, in whole sentences.

use super::prelude::*;
use analysis::reports::Doctor;
use trace_model::Severity;

use super::hints::badge;
use crate::panels::controls::with_controls;

pub const TAB: Tab = Tab {
    id: "health",
    title: "Health",
    reports: Some(&["doctor", "clocks"]),
    subject: TabSubject::Capture,
    icon: "line 0 0.55 0.28 0.55 0.42 0.15 0.6 0.9 0.72 0.55 1 0.55",
    why_empty: |_, _, _| Ok(None),
    panel: |_| Box::new(Findings),
    ..TABLES
};

struct Findings;

impl TabPanel for Findings {
    fn ui(&mut self, ui: &mut Ui, mut tab: TabContent<'_>) {
        ScrollArea::vertical()
            .id_salt("findings")
            .auto_shrink([false, true])
            .max_height(ui.available_height() * 0.5)
            .show(ui, |ui| findings_ui(ui, tab.context));
        tab.tables_ui(ui);
    }
}

/// The findings, the worst first; the tables follow below.
fn findings_ui(ui: &mut Ui, context: PanelContext<'_>) {
    let Some(doctor) = context.whole.ready::<Doctor>() else {
        return;
    };
    let theme = theme::current(ui);
    if doctor.findings.is_empty() {
        ui.strong(doctor.nothing_found());
    }
    if let Some(which) = doctor.not_applicable {
        ui.add(Label::new(remark(which)).wrap());
    }
    for finding in &doctor.findings {
        let (word, color) = match finding.severity {
            Severity::Loss => ("loss", theme.error),
            Severity::Info => ("info", theme.edge),
            Severity::Warning => ("warning", theme.warning),
        };
        ui.horizontal_top(|ui| {
            badge(ui, word, color);
            ui.vertical(|ui| {
                ui.add(Label::new(&*with_controls(&finding.message)).wrap());
                for text in [finding.evidence.as_str(), finding.cure]
                    .into_iter()
                    .filter(|text| !text.is_empty())
                {
                    ui.add(Label::new(remark(with_controls(text))).wrap());
                }
            });
        });
        ui.add_space(3.0);
    }
    ui.separator();
}
