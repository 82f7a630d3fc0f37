//! Formats of profilers.

#![allow(
    rustdoc::private_intra_doc_links,
    reason = "part of the program, not a library for others"
)]

pub mod trace_event;
pub mod xplane;
