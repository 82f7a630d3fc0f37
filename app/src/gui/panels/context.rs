//! Shared by all panels: the data that they can read, headings, and the placeholder while a report is computed.

use egui::{RichText, Ui};

use crate::gui::reports::ReportJobs;
use crate::view::state::ViewState;
use crate::view::timeline::trace::OpenTrace;

/// Everything that a panel can read.
#[derive(Clone, Copy)]
pub struct PanelContext<'a> {
    /// The trace.
    pub trace: &'a OpenTrace,
    /// The state of the view.
    pub state: &'a ViewState,
    /// Reports about the selected scope.
    pub reports: &'a ReportJobs,
    /// Reports about the whole trace.
    pub whole: &'a ReportJobs,
    /// The open tab of the side that is drawn.
    pub tab: &'a str,
}

/// A heading with its spacing and a remark beside it.
pub fn section_ui(ui: &mut Ui, title: &str, note: &str) {
    ui.add_space(12.0);
    ui.horizontal(|ui| {
        ui.label(RichText::new(title).size(14.0).strong());
        if !note.is_empty() {
            ui.add(egui::Label::new(RichText::new(note).small().weak()).truncate());
        }
    });
}

/// Shown while a report is being computed.
pub fn computing_ui(ui: &mut Ui) {
    ui.horizontal(|ui| {
        ui.spinner();
        ui.weak("Computing …");
    });
}
