//! Reports of an open trace, each computed in the background when first looked at.

use std::cell::OnceCell;
use std::sync::Mutex;
use std::task::Poll;

use crate::prelude::*;
use analysis::hints::Hints;
use analysis::{ANALYSES, Analysis, Report};

use crate::jobs::{JobAnswer, WakeUi, Worker};
use crate::times;
use view::overview::{Overview, ReportSource};

/// A report and its tables.
pub struct ShownReport {
    pub report: Arc<dyn Report>,
    pub tables: Vec<Table>,
}

/// A report: ready, not ready yet (`None`), or the reason why there is none.
pub type ReportState<'a, T> = Result<Option<&'a T>, &'a str>;

/// The reports about one scope.
pub struct ReportJobs {
    session: Session,
    scope: Scope,
    /// The chosen scope, for jobs that end after another one was chosen.
    wanted: Arc<Mutex<Scope>>,
    wake: WakeUi,
    slots: BTreeMap<&'static str, Worker<Scope, ShownReport>>,
    overview: OnceCell<Overview>,
}

impl ReportJobs {
    /// No reports yet; the scope is the whole trace.
    pub fn new(session: Session, wake: WakeUi) -> Self {
        Self {
            session,
            scope: Scope::WholeTrace,
            wanted: Arc::default(),
            wake,
            slots: BTreeMap::new(),
            overview: OnceCell::new(),
        }
    }

    /// Changes the scope. Old reports stay visible until the new ones are ready.
    pub fn set_scope(&mut self, scope: Scope) {
        if scope == self.scope {
            return;
        }
        *locked(&self.wanted) = scope;
        if self.scope != Scope::WholeTrace {
            self.session.cancel(self.scope);
        }
        self.session.resume(scope);
        self.scope = scope;
        self.overview.take();
        if scope == Scope::WholeTrace {
            self.slots.clear();
        }
    }

    /// Requests a report; repeated requests cost nothing.
    pub fn want(&mut self, id: &'static str) {
        let wake = &self.wake;
        let worker = self
            .slots
            .entry(id)
            .or_insert_with(|| Worker::new(id, wake));
        let scope = self.scope;
        if worker.key() != Some(&scope) {
            let (session, wanted) = (self.session.clone(), Arc::clone(&self.wanted));
            worker.ask(scope, move |_| {
                let report = session
                    .report_by_id(id, scope)
                    .map_err(|error| error.to_string());
                // The scope has changed in the meantime: the result for the old one is dropped.
                let is_wanted = *locked(&wanted) == scope;
                if scope != Scope::WholeTrace && !is_wanted {
                    session.forget(scope);
                }
                let report = report?;
                let tables = report
                    .tables()
                    .iter()
                    .map(|table| table.for_people().into_owned())
                    .collect();
                Ok(ShownReport { report, tables })
            });
        }
    }

    /// Takes finished reports over; returns whether there were any.
    pub fn poll(&mut self) -> bool {
        let mut any = false;
        for worker in self.slots.values_mut() {
            any |= worker.poll();
        }
        if any {
            self.overview.take();
        }
        any
    }

    /// Whether nothing is being computed.
    pub fn is_settled(&self) -> bool {
        self.slots.values().all(|worker| !worker.is_running())
    }

    /// The first screen, as far as its reports are ready.
    pub fn overview(&self) -> &Overview {
        self.overview
            .get_or_init(|| Overview::of(self, &self.session, self.scope == Scope::WholeTrace))
    }

    /// What limits the run, in one sentence. Pending until the hints are known, whose sentence would replace another one.
    pub fn limit(&self) -> Poll<Option<String>> {
        match self.get::<Hints>() {
            Ok(None) => Poll::Pending,
            _ => Poll::Ready(self.overview().limit(times::time)),
        }
    }

    pub fn by_id(&self, id: &str) -> ReportState<'_, ShownReport> {
        match self.slots.get(id).map(Worker::memo) {
            Some(JobAnswer::Failed { error, .. }) => Err(error),
            Some(memo) => Ok(memo.latest()),
            None => Ok(None),
        }
    }

    /// A report by its type.
    pub fn get<A: Analysis>(&self) -> ReportState<'_, A::Report> {
        let answer = self.by_id(A::ID)?;
        Ok(answer.and_then(|answer| answer.report.as_any().downcast_ref()))
    }

    /// A report that is computed.
    pub fn ready<A: Analysis>(&self) -> Option<&A::Report> {
        self.get::<A>().ok().flatten()
    }
}

impl ReportSource for ReportJobs {
    fn with<A: Analysis, T>(&self, make: impl FnOnce(&A::Report) -> T) -> Option<T> {
        self.ready::<A>().map(make)
    }
}

/// Display name of an analysis.
pub fn title_of(id: &str) -> &'static str {
    ANALYSES
        .iter()
        .find(|entry| entry.id == id)
        .map_or("Report", |entry| entry.title)
}

#[cfg(test)]
mod tests {
    use analysis::Options;
    use sample_traces::text_trace;

    use super::*;

    #[test]
    fn the_limit_of_the_run_waits_for_the_hints() {
        let trace = text_trace("@column 1us\nops: AAAABBBB\n");
        let session = Session::from_model(trace, Options::default());
        let mut reports = ReportJobs::new(session, Arc::new(|| {}));
        let until_settled = |reports: &mut ReportJobs| {
            while !reports.is_settled() {
                reports.poll();
                std::thread::yield_now();
            }
        };
        reports.want("verdict");
        until_settled(&mut reports);
        assert!(
            reports
                .ready::<analysis::reports::summary::verdict::RunVerdict>()
                .is_some()
        );
        assert!(reports.overview().limit(times::time).is_some());
        assert_eq!(reports.limit(), Poll::Pending);
        reports.want(Hints::ID);
        until_settled(&mut reports);
        assert!(matches!(reports.limit(), Poll::Ready(Some(_))));
    }
}
