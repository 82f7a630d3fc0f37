//! How far the capture can be trusted, in whole sentences.

use analysis::reports::summary::doctor::Doctor;
use egui::{RichText, Ui};
use trace_model::Severity;

use super::context::PanelContext;
use super::hints::badge;
use crate::theme;

/// The findings, the worst first; the tables follow below.
pub fn health_ui(ui: &mut Ui, context: PanelContext<'_>) {
    let Ok(Some(doctor)) = context.whole.get::<Doctor>() else {
        return;
    };
    let theme = theme::current(ui);
    if doctor.findings.is_empty() {
        ui.label(RichText::new("No known problem was found.").strong());
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
                ui.add(egui::Label::new(&finding.message).wrap());
                for text in [finding.evidence.as_str(), finding.cure]
                    .into_iter()
                    .filter(|text| !text.is_empty())
                {
                    ui.add(
                        egui::Label::new(RichText::new(text).small().color(theme.text_weak)).wrap(),
                    );
                }
            });
        });
        ui.add_space(3.0);
    }
    ui.separator();
}
