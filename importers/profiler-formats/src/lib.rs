//! Formats of profilers.

pub(crate) mod trace_event;
pub(crate) mod xplane;
