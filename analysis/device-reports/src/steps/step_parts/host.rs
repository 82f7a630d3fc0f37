//! What the host did during a step, every instant once.
//!
//! Several threads work at a time, and their events nest. So that times add up, an
//! instant belongs to the first of these that any thread is in: compiling, lowering,
//! tracing, loading, feeding input, moving data, dispatching, waiting. Everything is
//! by the host's clock and compared only with the host's own doing in another step.

use facts::host_class::HostClasses;
use facts::prelude::*;
use facts::steps::on_host;

/// A host activity, in order of precedence.
#[engine::titled]
pub enum HostPhase {
    /// `StableHLO` to executable.
    Compiling,
    /// Jaxpr to `StableHLO`.
    Lowering,
    /// Python to jaxpr.
    Tracing,
    /// Looking for or loading a program.
    Loading = "loading programs",
    /// Producing or feeding input.
    Input = "feeding input",
    /// Between host and device, either way.
    Transfer = "transferring",
    /// Handing work to a device.
    Dispatch = "dispatching",
    /// Waiting for a device.
    Waiting = "waiting for devices",
    /// None of these.
    Other = "other host work or none",
}

impl HostPhase {
    fn of(class: HostClass) -> Option<Self> {
        Some(match class {
            HostClass::Compile => Self::Compiling,
            HostClass::Lower => Self::Lowering,
            HostClass::Trace => Self::Tracing,
            HostClass::Cache | HostClass::Load => Self::Loading,
            HostClass::Infeed | HostClass::Outfeed => Self::Input,
            HostClass::HostToDevice | HostClass::DeviceToHost => Self::Transfer,
            HostClass::Dispatch => Self::Dispatch,
            HostClass::Wait => Self::Waiting,
            HostClass::Lazy | HostClass::User => return None,
        })
    }
}

/// Determines the activity of host threads.
pub(super) struct HostPhases<'a> {
    cx: Context<'a>,
    classes: &'a HostClasses,
    threads: Vec<TrackId>,
}

impl<'a> HostPhases<'a> {
    pub fn new(cx: &Context<'a>) -> Self {
        let model = cx.model;
        Self {
            cx: *cx,
            classes: cx.host_classes(),
            threads: host_threads(model).collect(),
        }
    }

    /// The time of each phase in a step, by the host's clock; they add up to its
    /// length there. `None` without host threads.
    pub fn within(&self, step: &Step) -> Option<Vec<(HostPhase, Picos)>> {
        let model = self.cx.model;
        let range = on_host(&self.cx, &step.spans)?;
        let mut events: [Vec<TimeRange>; HostPhase::ALL.len()] = Default::default();
        for lane in self.threads.iter().flat_map(|&track| model.lanes(track)) {
            for slice in model.slices_in(lane, range) {
                let phase = HostPhase::of(self.classes.class(slice.label_id()));
                if let Some((phase, part)) = phase.zip(slice.range().intersect(range)) {
                    events[phase as usize].push(part);
                }
            }
        }
        let mut before = IntervalSet::new();
        let mut left = range.dur();
        let mut out = Vec::new();
        for (phase, events) in HostPhase::ALL.into_iter().zip(events) {
            let phase_set: IntervalSet = events.into_iter().collect();
            let time = if phase == HostPhase::Other {
                left
            } else {
                phase_set.subtract(&before).measure()
            };
            before = before.union(&phase_set);
            left -= time;
            out.push((phase, time));
        }
        (!self.threads.is_empty()).then_some(out)
    }
}
