//! What several analyses need of a trace, found out once, whoever asks first.
//!
//! Nothing here depends on options.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use trace_model::{GroupId, TimeRange, TrackId};

use crate::category::OpClasses;
use crate::core_time::CoreTime;
use crate::gaps::Activity;
use crate::hlo::HloCache;
use crate::host_class::HostClasses;
use crate::ops::TextCosts;
use crate::{AnalysisError, Context, Scope, Window};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Programs; see [`Context::hlo`].
    pub hlo: HloCache,
    classes: OnceLock<OpClasses>,
    host_classes: OnceLock<HostClasses>,
    /// See [`crate::ops`].
    pub op_texts: OnceLock<Vec<TextCosts>>,
    /// See [`crate::gaps`].
    pub activity: OnceLock<Activity>,
    spans: Mutex<HashMap<TrackId, Spans>>,
    /// What each core recorded; each window of a step asks for it.
    extents: Mutex<HashMap<GroupId, Option<Window>>>,
    core_times: Mutex<VecDeque<(Scope, HashMap<GroupId, CoreTimeSlot>)>>,
}

/// Filled by the first who needs it; see [`Context::core_time`].
type CoreTimeSlot = Arc<OnceLock<Result<Option<Arc<CoreTime>>, AnalysisError>>>;

/// The times of cores are kept for so many scopes, the newest ones: they are as many
/// as ops were executed, and analyses look at the whole and at the steady steps.
const SCOPES_KEPT: usize = 2;

impl Shared {
    /// The extent of `core`, found out by `find` where it is not known yet.
    pub fn extent(&self, core: GroupId, find: impl FnOnce() -> Option<Window>) -> Option<Window> {
        let known = || self.extents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&extent) = known().get(&core) {
            return extent;
        }
        let extent = find();
        known().insert(core, extent);
        extent
    }

    /// Where the time of `core` in `scope` belongs.
    pub fn core_time(&self, core: GroupId, scope: Scope) -> CoreTimeSlot {
        let mut kept = self.core_times.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, cores)) = kept.iter_mut().find(|(own, _)| *own == scope) {
            return Arc::clone(cores.entry(core).or_default());
        }
        if kept.len() == SCOPES_KEPT {
            kept.pop_front();
        }
        let slot = CoreTimeSlot::default();
        kept.push_back((scope, HashMap::from([(core, Arc::clone(&slot))])));
        slot
    }
}

/// From the first slice of a track to the end of the last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spans {
    /// On the timeline.
    pub range: Option<TimeRange>,
    /// Those that the device's clock timed, by that clock.
    pub timed: Option<TimeRange>,
    /// The others, on the timeline.
    pub untimed: Option<TimeRange>,
}

impl<'a> Context<'a> {
    /// What kind of work each op of the trace is.
    pub fn classes(&self) -> &'a OpClasses {
        self.reports.shared.classes.get_or_init(|| OpClasses::new(self.model))
    }

    /// What kind of work each event of a host is.
    pub fn host_classes(&self) -> &'a HostClasses {
        self.reports.shared.host_classes.get_or_init(|| HostClasses::new(self.model))
    }

    pub(crate) fn spans(&self, track: TrackId) -> Spans {
        let known = || self.reports.shared.spans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&spans) = known().get(&track) {
            return spans;
        }
        let mut spans = Spans::default();
        for slice in self.model.slices_on(track) {
            let shown = slice.range();
            spans.range = hull(spans.range, Some(shown));
            match slice.device_range() {
                Some(device) => spans.timed = hull(spans.timed, Some(device)),
                None => spans.untimed = hull(spans.untimed, Some(shown)),
            }
        }
        known().insert(track, spans);
        spans
    }
}

impl Spans {
    /// Both tracks.
    pub fn hull(self, other: Self) -> Self {
        Self {
            range: hull(self.range, other.range),
            timed: hull(self.timed, other.timed),
            untimed: hull(self.untimed, other.untimed),
        }
    }
}

fn hull(a: Option<TimeRange>, b: Option<TimeRange>) -> Option<TimeRange> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.hull(b)),
        (a, b) => a.or(b),
    }
}
