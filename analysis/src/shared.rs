//! What several analyses need of a trace, found out once, whoever asks first.
//!
//! Nothing here depends on options.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use trace_model::{GroupId, TimeRange, TrackId};

use crate::category::OpClasses;
use crate::core_time::CoreTime;
use crate::gaps::HostEvents;
use crate::hlo::HloCache;
use crate::host_class::HostClasses;
use crate::ops::Basis;
use crate::{AnalysisError, Context, Scope, Window};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Programs; see [`Context::hlo`].
    pub hlo: HloCache,
    classes: OnceLock<Arc<OpClasses>>,
    host_classes: OnceLock<HostClasses>,
    /// See [`crate::ops`].
    pub op_basis: OnceLock<Arc<Basis>>,
    /// See [`crate::gaps`].
    pub host_events: OnceLock<HostEvents>,
    spans: Mutex<HashMap<TrackId, Spans>>,
    /// What each core recorded; each window of a step asks for it.
    extents: Mutex<HashMap<GroupId, Option<Window>>>,
    core_times: Mutex<HashMap<(GroupId, Scope), CoreTimeSlot>>,
    kept: Mutex<Kept>,
}

/// See [`Context::core_time`]. Nobody waits here for a report that waits for this one:
/// steps do not ask for times of cores. A part asks for the whole, never the other way.
type CoreTimeSlot = Arc<Mutex<Weak<CoreTime>>>;

/// Times of cores take as much memory as their ops. They live as long as someone uses
/// them, and while many reports are computed as long as these are.
#[derive(Debug, Default)]
struct Kept {
    keepers: usize,
    times: Vec<Arc<CoreTime>>,
}

/// While it lives, times of cores are found out once.
pub(crate) struct Keeper<'a>(&'a Shared);

impl Drop for Keeper<'_> {
    fn drop(&mut self) {
        let mut kept = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.keepers -= 1;
        if kept.keepers == 0 {
            kept.times = Vec::new();
        }
    }
}

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

    /// The time of `core` in `scope`, found out by `find` where nobody has it, given
    /// that of the whole trace where somebody has that.
    pub fn core_time(
        &self,
        core: GroupId,
        scope: Scope,
        find: impl FnOnce(Option<&CoreTime>) -> Result<Option<CoreTime>, AnalysisError>,
    ) -> Result<Option<Arc<CoreTime>>, AnalysisError> {
        let slot = self.core_time_slot(core, scope);
        // Who asks at the same time waits here instead of doing the same.
        let mut known = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(time) = known.upgrade() {
            return Ok(Some(time));
        }
        let whole = (scope != Scope::WholeTrace).then(|| self.core_time_slot(core, Scope::WholeTrace));
        let whole = whole.and_then(|whole| whole.lock().unwrap_or_else(PoisonError::into_inner).upgrade());
        let Some(time) = find(whole.as_deref())?.map(Arc::new) else { return Ok(None) };
        *known = Arc::downgrade(&time);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // A part is cut out of the whole again faster than it is worth its memory.
        if kept.keepers > 0 && whole.is_none() {
            kept.times.push(Arc::clone(&time));
        }
        Ok(Some(time))
    }

    fn core_time_slot(&self, core: GroupId, scope: Scope) -> CoreTimeSlot {
        let mut slots = self.core_times.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry((core, scope)).or_default())
    }

    /// Keeps times of cores until the answer goes.
    pub fn keep_core_times(&self) -> Keeper<'_> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).keepers += 1;
        Keeper(self)
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
    pub fn classes(&self) -> &'a Arc<OpClasses> {
        let find = || OpClasses::with_programs(self.model, |program| self.hlo_for_now(program).ok());
        self.reports.shared.classes.get_or_init(|| Arc::new(find()))
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
