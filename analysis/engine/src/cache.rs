//! A cache that computes each report once.

use std::any::Any;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use web_time::Instant;

use super::once::FactCache;
use crate::{AnalysisError, Result, Scope};
use trace_model::locked;

type ReportSlot = Arc<OnceLock<Result<Arc<dyn Any + Send + Sync>>>>;

/// Reports of one trace, by analysis and scope. Two threads that request the same report share one computation: the
/// second one waits. Analyses may request reports of each other, but not in a cycle.
///
/// Analyses may use rayon, but a rayon task must not request a report: a thread that waits for its own tasks runs other
/// tasks meanwhile, and could end up waiting for itself.
///
/// In a browser the same holds for frames: they are drawn while an analysis pauses, so they look at reports that are there
/// ([`trace_model::may_pause`]) and must not request one.
#[derive(Debug, Default)]
pub struct ReportCache {
    slots: Mutex<HashMap<(&'static str, Scope), ReportSlot>>,
    costs: Mutex<Vec<ReportCost>>,
    cancelled: Mutex<HashSet<Scope>>,
    is_stopped: AtomicBool,
    /// Number of reports that are being computed.
    running: AtomicU32,
    counter: Option<CheckCounter>,
    pub(super) facts: FactCache,
}

/// How often [`ReportCache::check`] was called, and the call that stops everything; 0 for none.
#[derive(Debug)]
struct CheckCounter {
    checks: AtomicU64,
    last: u64,
}

/// Counts a report while it is being computed, until it ends or panics.
struct RunningReport<'a>(&'a AtomicU32);

impl<'a> RunningReport<'a> {
    fn begin(count: &'a AtomicU32) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for RunningReport<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The cost of computing a report.
#[derive(Clone, Copy, Debug)]
pub struct ReportCost {
    /// Id of the analysis.
    pub id: &'static str,
    /// Scope of the report.
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
        locked(&self.costs).clone()
    }

    /// Drops the reports of a scope. Facts stay, and so does a report that is being computed, for those who wait for it.
    pub fn forget(&self, scope: Scope) {
        locked(&self.slots).retain(|&(_, of), _| of != scope);
        locked(&self.costs).retain(|cost| cost.scope != scope);
    }

    /// Drops the reports of an analysis in every scope, as [`Self::forget`] does those of a scope.
    pub fn forget_analysis(&self, id: &str) {
        locked(&self.slots).retain(|&(of, _), _| of != id);
    }

    /// Stops the analyses of a scope: they end within a few milliseconds, with [`AnalysisError::Cancelled`]. Reports of
    /// the scope are dropped. Facts and reports of other scopes are completed.
    pub fn cancel(&self, scope: Scope) {
        locked(&self.cancelled).insert(scope);
        self.forget(scope);
    }

    /// Allows reports of a scope again after [`Self::cancel`].
    pub fn resume(&self, scope: Scope) {
        if locked(&self.cancelled).remove(&scope) {
            // The errors of those that were cancelled.
            self.forget(scope);
        }
    }

    /// Stops all analyses for ever, those of facts included. What they have found of a part of the trace stays here and
    /// is never used: others begin with a new cache.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Whether [`Self::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// A cache for tests of cancellation: it counts the checks, loops check more often, and the check with the number
    /// `last` stops everything.
    pub fn counting_checks(last: u64) -> Self {
        Self {
            counter: Some(CheckCounter {
                checks: AtomicU64::new(0),
                last,
            }),
            ..Self::default()
        }
    }

    /// How often [`Self::check`] was called, if that is counted.
    pub fn checks(&self) -> Option<u64> {
        self.counter
            .as_ref()
            .map(|counter| counter.checks.load(Ordering::Relaxed))
    }

    /// Whether a report is being computed.
    pub fn is_busy(&self) -> bool {
        self.running.load(Ordering::Relaxed) > 0
    }

    /// To be called every few milliseconds.
    ///
    /// # Errors
    ///
    /// After [`Self::cancel`] and [`Self::stop`].
    pub fn check(&self, scope: Scope) -> Result<()> {
        trace_model::may_pause();
        if let Some(counter) = &self.counter
            && (1..=counter.checks.fetch_add(1, Ordering::Relaxed) + 1).contains(&counter.last)
        {
            self.stop();
        }
        let is_cancelled = self.is_stopped() || locked(&self.cancelled).contains(&scope);
        if is_cancelled {
            Err(AnalysisError::Cancelled)
        } else {
            Ok(())
        }
    }

    fn compute<R: Any + Send + Sync>(
        &self,
        id: &'static str,
        scope: Scope,
        run: impl FnOnce() -> Result<R>,
    ) -> Result<Arc<dyn Any + Send + Sync>> {
        let (began, outer) = (Instant::now(), INNER.take());
        let running = RunningReport::begin(&self.running);
        let result = self.check(scope).and_then(|()| run());
        // A report of a part of the trace is none.
        let result = self
            .check(scope)
            .and(result)
            .map(|report| Arc::new(report) as _);
        drop(running);
        let took = began.elapsed();
        let cost = ReportCost {
            id,
            scope,
            own: took.saturating_sub(INNER.replace(outer + took)),
        };
        locked(&self.costs).push(cost);
        result
    }

    /// The report of the analysis `id` in a scope, computed by `run` on first use.
    pub(super) fn get<R: Any + Send + Sync>(
        &self,
        id: &'static str,
        scope: Scope,
        run: impl FnOnce() -> Result<R>,
    ) -> Result<Arc<R>> {
        let slot = {
            let mut slots = locked(&self.slots);
            Arc::clone(slots.entry((id, scope)).or_default())
        };
        let stored = slot.get_or_init(|| self.compute(id, scope, run)).clone()?;
        // The key holds the analysis' id: only a duplicate id could fail here.
        stored.downcast().map_err(|_report| {
            AnalysisError::NotApplicable(format!("two analyses are called {id:?}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(cache: &ReportCache, scope: Scope, value: u32) -> Result<u32> {
        cache
            .get("number", scope, || Ok(value))
            .map(|number| *number)
    }

    #[test]
    fn cancelled_scope_has_no_reports_until_it_is_resumed() {
        let (cache, step) = (ReportCache::default(), Scope::Steps { first: 1, last: 1 });
        assert_eq!(number(&cache, step, 1), Ok(1));
        cache.cancel(step);
        assert_eq!(number(&cache, step, 2), Err(AnalysisError::Cancelled));
        assert_eq!(
            number(&cache, Scope::WholeTrace, 3),
            Ok(3),
            "other scopes go on"
        );
        cache.resume(step);
        assert_eq!(
            number(&cache, step, 4),
            Ok(4),
            "neither the old report nor the error is kept"
        );
        cache.resume(step);
        assert_eq!(
            number(&cache, step, 5),
            Ok(4),
            "nothing was cancelled: the report is kept"
        );
    }

    #[test]
    fn forgotten_analysis_is_computed_again_in_every_scope() {
        let (cache, step) = (ReportCache::default(), Scope::Steps { first: 1, last: 1 });
        for scope in [Scope::WholeTrace, step] {
            assert_eq!(number(&cache, scope, 1), Ok(1));
        }
        cache.forget_analysis("another");
        assert_eq!(number(&cache, step, 2), Ok(1));
        cache.forget_analysis("number");
        for scope in [Scope::WholeTrace, step] {
            assert_eq!(number(&cache, scope, 3), Ok(3));
        }
    }

    #[test]
    fn analysis_ends_when_its_scope_is_cancelled_while_it_runs() {
        let (cache, scope) = (ReportCache::default(), Scope::WholeTrace);
        let outer = cache.get("outer", scope, || {
            cache.cancel(scope);
            number(&cache, scope, 1)
        });
        assert_eq!(outer, Err(AnalysisError::Cancelled));
    }

    #[test]
    fn stopped_cache_has_no_more_reports() {
        let (cache, scope) = (ReportCache::default(), Scope::WholeTrace);
        let outer = cache.get("outer", scope, || {
            assert!(cache.is_busy());
            cache.stop();
            Ok(1_u32)
        });
        assert_eq!(
            outer.err(),
            Some(AnalysisError::Cancelled),
            "it may know a part of the trace only"
        );
        assert_eq!(
            number(&cache, Scope::Steps { first: 1, last: 1 }, 2),
            Err(AnalysisError::Cancelled)
        );
        assert!(cache.is_stopped() && !cache.is_busy());
    }
}
