//! The input of an analysis: a trace, a scope, the options, and the reports computed so far.

use hardware::ici::Network;
use hardware::peaks::Peaks;
use trace_model::{Caveat, GroupId, GroupKind, TraceModel};

use super::cache::ReportCache;
use super::{Options, Result, Scope};

/// Why nothing is said of times that are placeholders.
const PLACEHOLDER_TIMES: &str =
    "times are placeholders: the file gives the order of nodes, not their durations";

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
    /// This context with another scope.
    pub fn scoped(&self, scope: Scope) -> Context<'a> {
        Context { scope, ..*self }
    }

    /// This context for the whole trace.
    pub fn whole(&self) -> Context<'a> {
        self.scoped(Scope::WholeTrace)
    }

    /// The peaks to use for a core.
    pub fn peaks(&self, core: GroupId) -> Peaks {
        let mut peaks = Peaks::choose(self.model.group(core).device.as_ref(), self.options.chip());
        if self.model.simulator().is_some() {
            peaks.mark_configured();
        }
        peaks
    }

    /// An error if the lengths of ops are made up: nothing that a time decides can be told.
    ///
    /// # Errors
    ///
    /// Times are placeholders.
    pub fn require_times(&self) -> Result<()> {
        if self.model.has_caveat(Caveat::PlaceholderTimes) {
            return Err(PLACEHOLDER_TIMES.into());
        }
        Ok(())
    }

    /// The links between the devices.
    pub fn network(&self) -> Option<Network> {
        let cores = self.tensor_cores();
        let devices = cores
            .iter()
            .filter_map(|&core| self.model.group(core).device.as_ref());
        Network::of(devices, self.options.chip(), self.options.topology.clone())
    }

    /// The `TensorCore` devices that the options select; without a selection those whose events the file holds to the end,
    /// if there are any.
    pub fn tensor_cores(&self) -> Vec<GroupId> {
        let wanted = &self.options.devices;
        let mut cores = self.model.tensor_cores();
        let is_whole = |core: &GroupId| !self.model.group(*core).is_cut;
        if wanted.is_empty() && cores.iter().any(is_whole) {
            cores.retain(is_whole);
        }
        cores.retain(|&core| match self.model.group(core).kind {
            GroupKind::TensorCore { ordinal } => wanted.is_empty() || wanted.contains(&ordinal),
            _ => false,
        });
        cores
    }
}
