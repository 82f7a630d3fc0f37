//! What the facts read of events on host threads, so that an import need not read the others.
//!
//! Only for captures without devices: next to a device, whatever a host does can explain why the device was idle.

use trace_model::HostEventUse;

use crate::compile_events::{CacheRole, LazyRole};
use crate::host_class::{HostClass, classify, is_input_loader};
use crate::steps::is_step_name;

/// What facts, and the reports that use them, read of events with this name.
pub fn host_event_use(name: &str) -> HostEventUse {
    match classify(name) {
        // A compilation is described by the annotations around it and by the events inside it.
        HostClass::Trace | HostClass::Lower | HostClass::Compile | HostClass::Load => {
            HostEventUse::WithOthers
        }
        // Whether a step waits for input depends on what else runs on its thread.
        HostClass::Infeed => HostEventUse::WithOthers,
        _ if is_input_loader(name) || LazyRole::of(name).is_some() => HostEventUse::WithOthers,
        HostClass::User if CacheRole::of(name).is_none() && !is_step_name(name) => {
            HostEventUse::Count
        }
        _ => HostEventUse::Each,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_no_report_names_are_counted() {
        let cases = [
            ("ThreadpoolListener::StartRegion", HostEventUse::Count),
            ("$model.py:3 forward", HostEventUse::Count),
            ("train 7", HostEventUse::Each),
            ("PjitFunction(step)", HostEventUse::Each),
            ("Wait for donation holds", HostEventUse::Each),
            (
                "$compiler.py:12 log_persistent_cache_hit",
                HostEventUse::Each,
            ),
            ("backend_compile", HostEventUse::WithOthers),
            ("IteratorGetNext", HostEventUse::WithOthers),
            ("$builtins next", HostEventUse::WithOthers),
            ("StepMarker", HostEventUse::WithOthers),
        ];
        for (name, wanted) in cases {
            assert_eq!(host_event_use(name), wanted, "{name}");
        }
    }
}
