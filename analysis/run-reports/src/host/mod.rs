//! Reports on the host: what it does while devices run or wait.

pub mod clocks;
pub mod compile;
pub mod dispatch;
pub mod gaps;
pub mod input;
pub mod serving;

use engine::Options;
use trace_model::HostEventUse;

/// What these reports read of events on host threads with this name, in captures without devices.
pub fn host_event_use(name: &str, options: &Options) -> HostEventUse {
    if compile::needs_others(name) {
        HostEventUse::WithOthers
    } else if serving::may_serve(name, options) {
        HostEventUse::Each
    } else {
        HostEventUse::Count
    }
}
