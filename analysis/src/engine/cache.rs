//! Each report is computed once, whoever asks.

use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::fact::FactCache;
use crate::engine::{Analysis, AnalysisError, Context, Scope};

type Slot = Arc<OnceLock<Result<Arc<dyn Any + Send + Sync>, AnalysisError>>>;

/// Reports of one trace, by analysis and scope. Two threads that ask for the
/// same report at once share one computation: the second waits for the first.
/// Analyses may ask for each other's reports as long as no two ask for each other.
///
/// Analyses may use rayon, but must not ask for a report in a rayon task: a thread
/// that computes a report and waits for tasks of its own helps out with others
/// meanwhile, and could come to wait for itself.
#[derive(Debug, Default)]
pub struct ReportCache {
    slots: Mutex<HashMap<(&'static str, Scope), Slot>>,
    costs: Mutex<Vec<Cost>>,
    pub(super) facts: FactCache,
}

/// What a report cost to compute.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Of the analysis.
    pub id: &'static str,
    /// Of the report.
    pub scope: Scope,
    /// Wall time, without that of other reports that it asked for first.
    pub own: Duration,
}

thread_local! {
    /// Time that went into reports that were finished while another was computed.
    static INNER: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

impl ReportCache {
    /// What was computed so far, in the order in which it was finished.
    pub fn costs(&self) -> Vec<Cost> {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn compute<A: Analysis>(&self, cx: &Context<'_>) -> Result<Arc<dyn Any + Send + Sync>, AnalysisError> {
        let (began, outer) = (Instant::now(), INNER.take());
        let result = A::run(cx).map(|report| Arc::new(report) as _);
        let took = began.elapsed();
        let cost = Cost { id: A::ID, scope: cx.scope, own: took.saturating_sub(INNER.replace(outer + took)) };
        self.costs.lock().unwrap_or_else(PoisonError::into_inner).push(cost);
        result
    }

    pub(super) fn get<A: Analysis>(&self, cx: &Context<'_>) -> Result<Arc<A::Report>, AnalysisError> {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(slots.entry((A::ID, cx.scope)).or_default())
        };
        let stored = slot.get_or_init(|| self.compute::<A>(cx)).clone()?;
        // The key holds the analysis' id: only a duplicate id could fail here.
        stored
            .downcast()
            .map_err(|_report| AnalysisError::NotApplicable(format!("two analyses are called {:?}", A::ID)))
    }
}
