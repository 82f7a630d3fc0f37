//! The input of an analysis: a trace, a scope, the options, and the reports computed so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use trace_model::{GroupId, GroupKind, TraceModel};

use super::{Analysis, AnalysisEntry, AnalysisError, Fact, Options, Report, ReportCache, Scope};
use crate::hardware::ici::Network;
use crate::hardware::peaks::Peaks;

/// Number of slices from which on a second thread is worth its cost.
const WORTH_A_THREAD: usize = 1_000;

/// The input of an analysis.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The trace.
    pub model: &'a TraceModel,
    /// The part of the trace to report on.
    pub scope: Scope,
    /// The user's assumptions.
    pub options: &'a Options,
    /// Reports computed so far.
    pub reports: &'a ReportCache,
}

impl<'a> Context<'a> {
    /// The report of another analysis in the same scope.
    ///
    /// # Errors
    ///
    /// That analysis does not apply to this trace and scope.
    pub fn report<A: Analysis>(&self) -> Result<Arc<A::Report>, AnalysisError> {
        self.reports.get::<A>(self)
    }

    /// A fact of the whole trace.
    pub(crate) fn fact<F: Fact>(&self) -> &'a F {
        self.reports.facts.get(self)
    }

    /// The reports of `entries`, in their order, several at a time.
    pub fn reports_of(&self, entries: &[&AnalysisEntry]) -> Vec<Result<Arc<dyn Report>, AnalysisError>> {
        let next = AtomicUsize::new(0);
        let work = || {
            // Take entries from both ends: the first ones summarize others, and alone would make one thread compute all
            // of them while the others wait.
            let taken = || {
                let nth = next.fetch_add(1, Ordering::Relaxed);
                let at = if nth.is_multiple_of(2) { nth / 2 } else { entries.len().checked_sub(1 + nth / 2)? };
                entries.get(at).filter(|_| nth < entries.len())
            };
            while let Some(entry) = taken() {
                // Errors are cached like reports.
                let _ = (entry.run)(self);
            }
        };
        let cores = rayon::current_num_threads();
        // Some threads wait for a report that another one computes. In small traces everything is finished before a
        // second thread has started.
        let is_worth_it = cores > 1 && self.model.slice_count() > WORTH_A_THREAD;
        let threads = if is_worth_it { (2 * cores).min(entries.len()) } else { 1 };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // If no thread can be started, this one computes all.
                let _ = Builder::new().name("analysis".to_owned()).spawn_scoped(scope, work);
            }
            work();
        });
        entries.iter().map(|entry| (entry.run)(self)).collect()
    }

    /// The same context with another scope.
    pub(crate) fn scoped(&self, scope: Scope) -> Context<'a> {
        Context { scope, ..*self }
    }

    /// The peaks to use for a core.
    pub(crate) fn peaks(&self, core: GroupId) -> Peaks {
        let mut peaks = Peaks::choose(self.model.group(core).device.as_ref(), self.options.chip());
        if self.model.simulator().is_some() {
            peaks.are_configured();
        }
        peaks
    }

    /// The links between the devices.
    pub(crate) fn network(&self) -> Option<Network> {
        let cores = self.tensor_cores();
        let devices = cores.iter().filter_map(|&core| self.model.group(core).device.as_ref());
        Network::of(devices, self.options.chip(), self.options.topology.clone())
    }

    /// The `TensorCore` devices that the options select.
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
