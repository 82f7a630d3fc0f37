//! What was lost or mended while the trace was opened.

use egui::{Label, RichText, ScrollArea, Ui};
use trace_model::{IssueCount, Severity};

use super::overview::section_ui;
use crate::gui::theme::Theme;
use crate::view::trace::OpenTrace;
use crate::view::tree::group_digits;

const MOST_HEIGHT: f32 = 240.0;

/// Every kind of issue with its examples; says so where there is none.
pub fn import_log_ui(ui: &mut Ui, trace: &OpenTrace) {
    let theme = Theme::current(ui);
    section_ui(ui, "Import log", trace.name().as_str());
    let issues = trace.model.import_log().counts();
    if issues.is_empty() {
        ui.label(RichText::new("Nothing was lost, nothing was mended.").color(theme.text_weak));
    }
    // Tables follow: a long log must leave them room.
    let area = ScrollArea::vertical().id_salt("import log").max_height(MOST_HEIGHT);
    area.show(ui, |ui| issues.iter().for_each(|issue| issue_ui(ui, issue)));
    ui.add_space(8.0);
}

fn issue_ui(ui: &mut Ui, issue: &IssueCount) {
    let theme = Theme::current(ui);
    let color = match issue.kind.severity() {
        Severity::Loss => theme.error,
        Severity::Warning => theme.warning,
        Severity::Info => theme.text,
    };
    let text = format!("{} × {}", group_digits(issue.count), issue.kind.explain());
    ui.add(Label::new(RichText::new(text).color(color)).wrap()).on_hover_text(issue.kind.id());
    for example in &issue.examples {
        ui.indent(issue.kind.id(), |ui| {
            ui.add(Label::new(RichText::new(example).small().color(theme.text_weak)).wrap());
        });
    }
}
