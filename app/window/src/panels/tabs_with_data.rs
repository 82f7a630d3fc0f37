//! Which tabs have something to show for a trace.

use super::prelude::*;

use super::tabs::{TABS, reports_of, tab::Tab};

/// A tab without data and the reason.
pub type TabWithoutData = (&'static Tab, String);

/// Finds the tabs that a trace has no data for.
pub struct TabsWithData {
    job: Worker<(), Vec<TabWithoutData>>,
}

impl TabsWithData {
    /// Nothing is known yet.
    pub fn new(wake: &WakeUi) -> Self {
        Self {
            job: Worker::new("tabs with data", wake),
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
        !self.job.is_running()
    }

    /// The tabs that are known to have nothing to show.
    pub fn without(&self) -> &[TabWithoutData] {
        self.job.memo().latest().map_or(&[], Vec::as_slice)
    }
}

/// The tabs that have nothing to show for a trace, each with the reason.
fn without_data(session: &Session, progress: &Progress) -> Result<Vec<TabWithoutData>, String> {
    let mut without = Vec::new();
    for tab in TABS {
        let reason = (tab.why_empty)(&reports_of(tab), session, progress)?;
        without.extend(reason.map(|reason| (tab, reason)));
    }
    Ok(without)
}
