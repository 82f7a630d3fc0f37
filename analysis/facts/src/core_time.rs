//! Divides the time of a core among its ops.
//!
//! Ops nest (a `while` contains the ops of its body), so summing them counts time twice. Here every instant belongs to
//! the innermost running op, so the time of an op excludes that of its children:
//!
//! ```text
//! ops       WWWWWWWWWWWWWWWW....
//!             AAAA   BBBB
//! segments  WW AAAA WWW BBBB WW  idle
//! ```
//!
//! Segments never overlap, so the segments and the idle time add up exactly to the window. All times are on the clock
//! that timed the ops.

use engine::prelude::*;

use crate::category::OpClass;
use crate::op_scan::op_scan;
use crate::window::{self, TimeWindow};

pub use crate::segments::{Segments, SelfTimeSegment, self_time_segments};

/// The time of one core within a window.
#[derive(Clone, Debug)]
pub struct CoreTime {
    pub core: GroupId,
    pub window: TimeWindow,
    /// In time order, disjoint, inside `window.measured`.
    pub segments: Segments,
}

pub(crate) fn core_time(cx: &Context<'_>, core: GroupId) -> Result<Option<CoreTime>> {
    let window = window::window(cx, core)?;
    Ok(window.map(|window| CoreTime::of(cx, core, window)))
}

impl CoreTime {
    /// The part in a window: an op that runs only outside it is never innermost inside.
    fn of(cx: &Context<'_>, core: GroupId, window: TimeWindow) -> Self {
        Self {
            core,
            window,
            segments: op_scan(cx, core).segments_within(window.measured),
        }
    }

    /// The spans in which an op of the wanted kind was the innermost one.
    pub fn when(&self, wanted: impl Fn(OpClass) -> bool) -> IntervalSet {
        self.segments
            .iter()
            .filter(|segment| wanted(segment.class))
            .map(|segment| segment.range)
            .collect()
    }

    /// Time in which an op of the wanted kind was the innermost one.
    pub(crate) fn time(&self, wanted: impl Fn(OpClass) -> bool) -> Picos {
        self.segments
            .iter()
            .filter(|segment| wanted(segment.class))
            .map(|segment| segment.range.dur())
            .sum()
    }

    /// Time in which any op ran.
    pub fn busy_time(&self) -> Picos {
        self.time(|_| true)
    }
}

#[cfg(test)]
mod tests {
    use engine::{Options, ReportCache, Scope};
    use sample_traces::text_trace;

    use super::*;
    use crate::TraceFacts as _;

    #[test]
    fn segments_and_idle_time_fill_the_window() {
        let model = text_trace(
            "
            ops : WWWWWWWW..ccCC
                : .ff.gg..
            W = while.1 [while]
            f = fusion.1 [loop fusion]
            g = fusion.2 [loop fusion]
            c = copy-done.1 [copy-done]
            C = copy.1 [copy]
            ",
        );
        let (options, reports) = (Options::default(), ReportCache::default());
        let cx = Context {
            model: &model,
            scope: Scope::WholeTrace,
            options: &options,
            reports: &reports,
        };
        let time = cx.core_time(model.tensor_cores()[0]).unwrap().unwrap();
        assert_eq!(time.window.dur().ps(), 14_000);
        assert_eq!((time.window.dur() - time.busy_time()).ps(), 2_000);
        assert_eq!(time.time(OpClass::may_have_inner_ops).ps(), 4_000);
        assert_eq!(time.time(OpClass::is_compute).ps(), 6_000);
        assert_eq!(time.time(OpClass::is_done).ps(), 2_000);
    }
}
