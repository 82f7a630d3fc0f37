//! Analyses: each computes one report.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Builder;

use schemars::{Schema, SchemaGenerator};

use super::error::Result;
use super::{Context, Report, Tabular};

/// Computes one report about a trace.
pub trait Analysis {
    /// The report.
    type Report: Tabular + serde::Serialize + schemars::JsonSchema + Send + Sync + 'static;
    /// Stable name, used on the command line and in JSON.
    const ID: &'static str;
    /// Display name.
    const TITLE: &'static str;
    /// Computes the report in the scope of `cx`.
    ///
    /// # Errors
    ///
    /// The trace lacks what the question is about; the error says what.
    fn run(cx: &Context<'_>) -> Result<Self::Report>;
}

/// An analysis without its types, for the registry.
pub struct AnalysisEntry {
    /// Stable name.
    pub id: &'static str,
    /// Display name.
    pub title: &'static str,
    /// Computes the report or takes it from the cache.
    pub run: fn(&Context<'_>) -> Result<Arc<dyn Report>>,
    /// JSON schema of the report.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

/// The entry of one analysis.
pub const fn entry<A: Analysis>() -> AnalysisEntry {
    AnalysisEntry {
        id: A::ID,
        title: A::TITLE,
        run: |cx| cx.report::<A>().map(|report| report as _),
        schema: SchemaGenerator::subschema_for::<A::Report>,
    }
}

/// Number of slices from which on a second thread is worth its cost.
const WORTH_A_THREAD: usize = 1_000;

/// Reports.
impl Context<'_> {
    /// The report of another analysis in the same scope.
    ///
    /// # Errors
    ///
    /// That analysis does not apply to this trace and scope.
    pub fn report<A: Analysis>(&self) -> Result<Arc<A::Report>> {
        self.reports.get(A::ID, self.scope, || A::run(self))
    }

    /// The reports of `entries`, in their order, several at a time.
    pub fn reports_of(&self, entries: &[&AnalysisEntry]) -> Vec<Result<Arc<dyn Report>>> {
        // From the middle to both ends: the first and the last ones summarise others, and would keep one thread computing
        // those while the others wait for it.
        let middle = entries.len() / 2;
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by_key(|index| index.abs_diff(middle));
        // Errors are cached like reports.
        self.side_by_side(order.len(), |nth| (entries[order[nth]].run)(self).is_ok());
        entries.iter().map(|entry| (entry.run)(self)).collect()
    }

    /// What `find` answers to the numbers below `count`, in their order. Several are asked at a time, on threads of their
    /// own: those of the thread pool must not wait for a report.
    pub fn side_by_side<T: Send + Sync>(
        &self,
        count: usize,
        find: impl Fn(usize) -> T + Sync,
    ) -> Vec<T> {
        let results: Vec<OnceLock<T>> = (0..count).map(|_| OnceLock::new()).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let taken = || {
                results
                    .iter()
                    .enumerate()
                    .nth(next.fetch_add(1, Ordering::Relaxed))
            };
            while let Some((nth, slot)) = taken() {
                slot.get_or_init(|| find(nth));
            }
        };
        let cores = rayon::current_num_threads();
        // Some threads wait for a report that another one computes. In small traces everything is finished before a
        // second thread has started.
        let is_worth_it = cores > 1 && self.model.slice_count() > WORTH_A_THREAD;
        let threads = if is_worth_it {
            (2 * cores).min(count)
        } else {
            1
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // If no thread can be started, this one answers all.
                let _ = Builder::new()
                    .name("analysis".to_owned())
                    .spawn_scoped(scope, work);
            }
            work();
        });
        results
            .into_iter()
            .filter_map(OnceLock::into_inner)
            .collect()
    }
}
