//! Which programs of the devices belong to which phase.

use std::collections::HashMap;

use facts::prelude::*;
use facts::window::counts;

use super::ServingPhase;
use super::annotations::Annotation;
use super::names::phase_of_program;
use crate::host::clocks::Clocks;

/// Programs of one phase.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PhaseSum {
    pub count: u64,
    /// By the clock of the ops, summed over devices.
    pub time: Picos,
}

/// The programs in the scope.
#[derive(Debug, Default)]
pub(super) struct PhasePrograms {
    by_phase: BTreeMap<ServingPhase, PhaseSum>,
    /// Time of all programs.
    pub all: Picos,
}

impl PhasePrograms {
    pub fn find(cx: &Context<'_>, annotations: &[Annotation]) -> Result<Self> {
        let open = |phase| -> IntervalSet {
            annotations
                .iter()
                .filter(|annotation| annotation.phase == phase)
                .map(|annotation| annotation.range)
                .collect()
        };
        let phases =
            [ServingPhase::Prefill, ServingPhase::Decode].map(|phase| (phase, open(phase)));
        let clocks = cx.whole().report::<Clocks>().ok();
        let mut times = Self::default();
        for core in cx.tensor_cores() {
            let Some(window) = cx.window(core)? else {
                continue;
            };
            let pairs = clocks.as_ref().and_then(|clocks| clocks.launches_of(core));
            let launches: HashMap<SliceId, SliceId> = pairs
                .iter()
                .flat_map(|pairs| &pairs.begins)
                .map(|pair| (pair.program, pair.host))
                .collect();
            for (program, on_host) in cx.programs_on_host(core) {
                if !counts(cx, window, program) {
                    continue;
                }
                let time = program.measured_dur();
                times.all += time;
                let launched = launches
                    .get(&program.id())
                    .map_or(on_host.start, |&host| cx.model.slice(host).start());
                if let Some(phase) =
                    phase_of_program(program.name()).or_else(|| only_open(&phases, launched))
                {
                    let sum = times.by_phase.entry(phase).or_default();
                    sum.count += 1;
                    sum.time += time;
                }
            }
        }
        Ok(times)
    }

    pub fn of(&self, phase: ServingPhase) -> Option<PhaseSum> {
        self.by_phase.get(&phase).copied()
    }

    /// Time of the programs of no phase.
    pub fn other(&self) -> Picos {
        (self.all - self.by_phase.values().map(|sum| sum.time).sum()).clamped()
    }
}

/// The phase that is open at an instant, if it is the only one.
fn only_open(phases: &[(ServingPhase, IntervalSet)], time: Timestamp) -> Option<ServingPhase> {
    let contains = |set: &IntervalSet| {
        let begun = set.ranges().partition_point(|range| range.start <= time);
        begun
            .checked_sub(1)
            .and_then(|last| set.ranges().get(last))
            .is_some_and(|range| range.contains(time))
    };
    let mut open = phases
        .iter()
        .filter(|(_, set)| contains(set))
        .map(|(phase, _)| *phase);
    open.next().filter(|_| open.next().is_none())
}
