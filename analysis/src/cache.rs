//! Each report is computed once, whoever asks.

use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use schemars::{Schema, SchemaGenerator};
use trace_model::{GroupId, GroupKind, TraceModel};

use crate::fact::{Fact, FactCache};
use crate::ici::Network;
use crate::peaks::Peaks;
use crate::report::Report;
use crate::{Analysis, AnalysisError, Options, Scope};

/// Slices from which on it pays to start a thread.
const WORTH_A_THREAD: usize = 1_000;

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
    facts: FactCache,
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

    fn get<A: Analysis>(&self, cx: &Context<'_>) -> Result<Arc<A::Report>, AnalysisError> {
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

/// What an analysis sees.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The trace.
    pub model: &'a TraceModel,
    /// Which part of it.
    pub scope: Scope,
    /// Under which assumptions.
    pub options: &'a Options,
    /// Reports computed so far.
    pub reports: &'a ReportCache,
}

impl<'a> Context<'a> {
    /// The report of another analysis in the same scope.
    pub fn report<A: Analysis>(&self) -> Result<Arc<A::Report>, AnalysisError> {
        self.reports.get::<A>(self)
    }

    /// A fact of the whole trace.
    pub fn fact<F: Fact>(&self) -> &'a F {
        self.reports.facts.get(self)
    }

    /// The reports of `entries`, in their order, several at a time.
    pub fn reports_of(&self, entries: &[&AnalysisEntry]) -> Vec<Result<Arc<dyn Report>, AnalysisError>> {
        let next = AtomicUsize::new(0);
        let work = || {
            // From both ends: what comes first in a report sums others up, and would make
            // one thread compute them one after the other while the rest waits.
            let taken = || {
                let nth = next.fetch_add(1, Ordering::Relaxed);
                let at = if nth.is_multiple_of(2) { nth / 2 } else { entries.len().checked_sub(1 + nth / 2)? };
                entries.get(at).filter(|_| nth < entries.len())
            };
            while let Some(entry) = taken() {
                // An error is kept like a report.
                let _ = (entry.run)(self);
            }
        };
        let cores = rayon::current_num_threads();
        // Some threads wait for a report that another one computes. Of a few slices
        // everything is computed before another thread is there.
        let is_worth_it = cores > 1 && self.model.slice_count() > WORTH_A_THREAD;
        let threads = if is_worth_it { (2 * cores).min(entries.len()) } else { 1 };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // Without another thread this one does all.
                let _ = Builder::new().name("analysis".to_owned()).spawn_scoped(scope, work);
            }
            work();
        });
        entries.iter().map(|entry| (entry.run)(self)).collect()
    }

    /// The same context with another scope.
    pub fn scoped(&self, scope: Scope) -> Context<'a> {
        Context { scope, ..*self }
    }

    /// The peaks to use for a core.
    pub fn peaks(&self, core: GroupId) -> Peaks {
        let mut peaks = Peaks::choose(self.model.group(core).device.as_ref(), self.options.chip());
        if self.model.simulator().is_some() {
            peaks.are_configured();
        }
        peaks
    }

    /// The links between the devices.
    pub fn network(&self) -> Option<Network> {
        let cores = self.tensor_cores();
        let devices = cores.iter().filter_map(|&core| self.model.group(core).device.as_ref());
        Network::of(devices, self.options.chip(), self.options.topology.clone())
    }

    /// The `TensorCore` devices that the options ask for.
    pub fn tensor_cores(&self) -> Vec<GroupId> {
        let wanted = &self.options.devices;
        let mut cores = self.model.tensor_cores();
        cores.retain(|&core| match self.model.group(core).kind {
            GroupKind::TensorCore { ordinal } => wanted.is_empty() || wanted.contains(&ordinal),
            _ => false,
        });
        cores
    }
}

/// An analysis without its types, for lists.
pub struct AnalysisEntry {
    /// Stable name.
    pub id: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Computes the report, or takes it from the cache.
    pub run: fn(&Context<'_>) -> Result<Arc<dyn Report>, AnalysisError>,
    /// What the report looks like as JSON.
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
