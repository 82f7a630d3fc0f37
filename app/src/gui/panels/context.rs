//! What every panel can use: what there is to look at, headings, and what is said while it is computed.

use egui::{RichText, Ui};

use crate::gui::reports::ReportJobs;
use crate::view::state::ViewState;
use crate::view::timeline::trace::OpenTrace;

/// Everything that a panel may look at.
#[derive(Clone, Copy)]
pub struct PanelContext<'a> {
    /// The trace.
    pub trace: &'a OpenTrace,
    /// What is seen of it.
    pub state: &'a ViewState,
    /// What is known of the part of it that is chosen.
    pub reports: &'a ReportJobs,
    /// What is known of all of it.
    pub whole: &'a ReportJobs,
    /// The open tab, of the two sides that of the one that is drawn.
    pub tab: &'a str,
}

/// A heading with the space that it needs, and what is known about it beside it.
pub fn section_ui(ui: &mut Ui, title: &str, note: &str) {
    ui.add_space(12.0);
    ui.horizontal(|ui| {
        ui.label(RichText::new(title).size(14.0).strong());
        if !note.is_empty() {
            ui.add(egui::Label::new(RichText::new(note).small().weak()).truncate());
        }
    });
}

/// What is said while a report is on its way.
pub fn computing_ui(ui: &mut Ui) {
    ui.horizontal(|ui| {
        ui.spinner();
        ui.weak("Computing …");
    });
}
