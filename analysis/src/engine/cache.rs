//! A cache that computes each report once.

use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::once::FactCache;
use crate::engine::{AnalysisError, Scope};

type ReportSlot = Arc<OnceLock<Result<Arc<dyn Any + Send + Sync>, AnalysisError>>>;

/// Reports of one trace, by analysis and scope. Two threads that request the same report share one computation: the
/// second one waits. Analyses may request reports of each other, but not in a cycle.
///
/// Analyses may use rayon, but a rayon task must not request a report: a thread that waits for its own tasks runs other
/// tasks meanwhile, and could end up waiting for itself.
#[derive(Debug, Default)]
pub struct ReportCache {
    slots: Mutex<HashMap<(&'static str, Scope), ReportSlot>>,
    costs: Mutex<Vec<ReportCost>>,
    pub(super) facts: FactCache,
}

/// The cost of computing a report.
#[derive(Clone, Copy, Debug)]
pub struct ReportCost {
    /// Of the analysis.
    pub id: &'static str,
    /// Of the report.
    pub scope: Scope,
    /// Wall time, without the time of the reports that it requested.
    pub own: Duration,
}

thread_local! {
    /// Time spent on nested reports that were computed on this thread.
    static INNER: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

impl ReportCache {
    /// Costs of all reports computed so far, in order of completion.
    pub fn costs(&self) -> Vec<ReportCost> {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Drops the reports of a scope. Facts stay, and so does a report that is being computed, for those who wait for it.
    pub fn forget(&self, scope: Scope) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).retain(|&(_, of), _| of != scope);
        self.costs.lock().unwrap_or_else(PoisonError::into_inner).retain(|cost| cost.scope != scope);
    }

    fn compute<R: Any + Send + Sync>(
        &self,
        id: &'static str,
        scope: Scope,
        run: impl FnOnce() -> Result<R, AnalysisError>,
    ) -> Result<Arc<dyn Any + Send + Sync>, AnalysisError> {
        let (began, outer) = (Instant::now(), INNER.take());
        let result = run().map(|report| Arc::new(report) as _);
        let took = began.elapsed();
        let cost = ReportCost { id, scope, own: took.saturating_sub(INNER.replace(outer + took)) };
        self.costs.lock().unwrap_or_else(PoisonError::into_inner).push(cost);
        result
    }

    /// The report of the analysis `id` in a scope, computed by `run` on first use.
    pub(super) fn get<R: Any + Send + Sync>(
        &self,
        id: &'static str,
        scope: Scope,
        run: impl FnOnce() -> Result<R, AnalysisError>,
    ) -> Result<Arc<R>, AnalysisError> {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(slots.entry((id, scope)).or_default())
        };
        let stored = slot.get_or_init(|| self.compute(id, scope, run)).clone()?;
        // The key holds the analysis' id: only a duplicate id could fail here.
        stored.downcast().map_err(|_report| AnalysisError::NotApplicable(format!("two analyses are called {id:?}")))
    }
}
