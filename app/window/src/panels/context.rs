//! Shared by all panels: the data that they can read, headings, and the placeholder while a report is computed.

use crate::prelude::*;
use analysis::Analysis;

use super::controls::with_controls;
use super::widgets::{ResponseExt as _, remark_ui, sentence_ui};
use crate::jobs::JobAnswer;
use crate::reports::ReportJobs;
use crate::theme::{self, readable_on};
use view::compare::TraceCorrespondence;
use view::panels::source::SourcePrefix;
use view::search::SearchResults;

/// Everything that a panel can read.
#[derive(Clone, Copy)]
pub struct PanelContext<'a> {
    pub trace: &'a OpenTrace,
    pub state: &'a ViewState,
    /// Reports about the selected scope.
    pub reports: &'a ReportJobs,
    /// Reports about the whole trace.
    pub whole: &'a ReportJobs,
    pub search: &'a JobAnswer<Arc<SearchResults>>,
    /// Where source files are that the capture names elsewhere.
    pub prefixes: &'a [SourcePrefix],
    /// The other run, while two are compared.
    pub other: Option<OtherRun<'a>>,
}

/// The run that a trace is compared with.
#[derive(Clone, Copy)]
pub struct OtherRun<'a> {
    pub trace: &'a OpenTrace,
    /// The side of the trace that panels show.
    pub side: TraceSide,
    /// What is known about both.
    pub compared: &'a JobAnswer<TraceCorrespondence>,
}

impl<'a> PanelContext<'a> {
    /// A report; where there is none, says why.
    pub fn report_ui<A: Analysis>(self, ui: &mut Ui) -> Option<&'a A::Report> {
        match self.reports.get::<A>() {
            Ok(Some(report)) => return Some(report),
            Ok(None) => computing_ui(ui),
            Err(reason) => reason_ui(ui, reason),
        }
        None
    }

    /// The selected slice.
    pub fn selected(self) -> Option<SliceRef<'a>> {
        let slice = self.state.place.selection?;
        Some(self.trace.model.slice(slice))
    }

    /// The op of the selected slice.
    pub fn selected_op(self) -> Option<OpId> {
        self.selected()?.op()
    }

    /// What self times of ops are sums over: `sums over 8 devices and 4 steps`; `None` until it is known.
    pub fn sums_over(&self) -> Option<String> {
        let ops = self.reports.ready::<Ops>()?;
        Some(format!("sums over {}", ops.sums_over.text()))
    }

    /// The changes of ops between two compared runs.
    pub fn changes(&self) -> Option<OpChanges<'a>> {
        let other = self.other?;
        Some(OpChanges {
            side: other.side,
            compared: other.compared.latest()?,
        })
    }
}

/// The changes of ops between two runs.
#[derive(Clone, Copy)]
pub struct OpChanges<'a> {
    side: TraceSide,
    compared: &'a TraceCorrespondence,
}

impl OpChanges<'_> {
    /// The time in a step of A and of B of an op that both have.
    pub fn of_op(&self, op: OpId) -> Option<(f64, f64)> {
        let row = self.compared.partners.row_of_op(self.side, op)?;
        let change = &self.compared.comparison.ops.get(row)?.change;
        Some((change.base?.median, change.cand?.median))
    }
}

/// The letter of the run that a panel is about, while two are open.
pub fn side_ui(ui: &mut Ui, context: PanelContext<'_>) {
    let Some(other) = context.other else { return };
    let (name, path) = (other.side.name(), context.trace.path.display());
    let text = RichText::new(format!(" {name} ")).small().strong();
    let theme = theme::current(ui);
    let badge = text
        .background_color(theme.accent)
        .color(readable_on(theme.accent));
    let label = ui.add(Label::new(badge));
    label.labeled(
        Role::Label,
        format_args!("About {name}: {}", context.trace.name()),
    );
    label.on_hover_text(format!("About {name}: {path}"));
}

/// A heading with its spacing and a remark beside it, which goes on below where it does not fit.
pub fn section_ui(ui: &mut Ui, title: &str, note: &str) -> Response {
    ui.add_space(12.0);
    let shown = ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(title).size(14.0).strong());
        if !note.is_empty() {
            remark_ui(ui, note);
        }
    });
    shown.response
}

/// Why there is no report, as a sentence.
pub fn reason_ui(ui: &mut Ui, reason: &str) {
    sentence_ui(ui, &capitalised(&with_controls(reason)), RichText::weak);
}

/// Shown while a report is being computed.
pub fn computing_ui(ui: &mut Ui) {
    ui.horizontal(|ui| {
        ui.spinner();
        ui.weak("Computing …");
    });
}
