//! Formats of profilers.

pub mod trace_event;
pub mod xplane;
