//! What several analyses need of a trace, found out once, whoever asks first.
//!
//! Everything here depends on the trace alone: not on scope, not on options.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use trace_model::{GroupId, TimeRange, TrackId};

use crate::category::OpClasses;
use crate::gaps::Activity;
use crate::hlo::HloCache;
use crate::host_class::HostClasses;
use crate::ops::TextCosts;
use crate::{Context, Window};

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
