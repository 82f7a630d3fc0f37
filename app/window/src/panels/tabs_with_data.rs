//! Which tabs have something to show for a trace.

use egui::Rect;
use importers::Progress;

use analysis::Scope;
use analysis::reports::hlo;
use analysis::reports::ops::op_stats::Ops;

use crate::jobs::{JobAnswer, WakeUi, Worker};
use session::Session;
use view::state::tabs::{HLO, MORE, QUERY, SOURCE, TABS, reports_of};

/// A tab without data and the reason.
pub type TabWithoutData = (&'static str, String);

/// Finds the tabs that a trace has no data for.
pub struct TabsWithData {
    job: Worker<(), Vec<TabWithoutData>>,
    left_out: Vec<TabWithoutData>,
    pub rail: Rect,
}

impl TabsWithData {
    /// Nothing is known yet.
    pub fn new(wake: WakeUi) -> Self {
        Self {
            job: Worker::new("tabs with data", wake),
            left_out: Vec::new(),
            rail: Rect::NOTHING,
        }
    }

    /// Looks at the reports of all tabs; repeated requests cost nothing.
    pub fn ask(&mut self, session: &Session) {
        if matches!(self.job.memo(), JobAnswer::Empty) {
            let session = session.clone();
            self.job
                .ask((), move |progress| without_data(&session, progress));
        }
    }

    /// Takes the result over.
    pub fn poll(&mut self) {
        self.job.poll();
    }

    /// Whether nothing is being computed.
    pub fn is_settled(&self) -> bool {
        !self.job.memo().is_running()
    }

    /// The tabs that the rail leaves out. While the pointer is there, nothing moves.
    pub fn left_out(&mut self, is_at_rail: bool) -> &[TabWithoutData] {
        if let JobAnswer::Ready(found) = self.job.memo()
            && self.left_out.len() != found.len()
            && !is_at_rail
        {
            self.left_out.clone_from(found);
        }
        &self.left_out
    }
}

/// The tabs whose reports all have no rows for a trace, each with the reason that its first report gives.
fn without_data(session: &Session, progress: &Progress) -> Result<Vec<TabWithoutData>, String> {
    let mut without = Vec::new();
    let tabs = TABS.iter().map(|tab| tab.id).chain([MORE]);
    // These tabs show more than their tables.
    for tab in tabs.filter(|tab| !["overview", "hints", "health", QUERY].contains(tab)) {
        let mut reason = None;
        let mut has_data =
            tab == HLO && hlo::programs(&session.context(Scope::WholeTrace)).can_be_read();
        if tab == SOURCE {
            has_data = session.model().ops().iter().any(|op| op.source.is_some())
                || session
                    .report::<Ops>(Scope::WholeTrace)
                    .is_ok_and(|ops| ops.rows.iter().any(|row| row.source.is_some()));
        }
        for id in reports_of(tab) {
            progress.check().map_err(|error| error.to_string())?;
            match session.report_by_id(id, Scope::WholeTrace) {
                Ok(report) => {
                    has_data |= report.tables().iter().any(|table| !table.rows.is_empty());
                }
                Err(error) => reason = reason.or(Some(error.to_string())),
            }
            if has_data {
                break;
            }
        }
        if !has_data {
            if tab == HLO {
                reason =
                    Some("the capture holds no program and no op with its HLO text".to_owned());
            }
            if tab == SOURCE {
                reason = Some("the capture records no source of any op".to_owned());
            }
            without.push((
                tab,
                reason.unwrap_or_else(|| "all its tables are empty".to_owned()),
            ));
        }
    }
    Ok(without)
}
