//! The view of a trace and what to draw of it: state, layout, colours. Independent of widgets and screens, so that
//! exported pictures match the window, and the behaviour can be tested without either.
//!
//! The modules build on each other from the bottom of this list to its top, never the other way:
//!
//! | module | what it holds |
//! |---|---|
//! | [`compare`] | two traces: which times, tracks and ops correspond, how their views follow each other |
//! | [`charts`] | what charts show, for the window and for documents |
//! | [`panels`] | what lists and plots beside the timeline show |
//! | [`search`] | finding slices |
//! | [`timeline`] | an open trace, its list of tracks, and the layout of what is drawn |
//! | [`state`] | what the user looks at, and its history |
//! | [`drawing`] | shapes with colours by role, axes, places of labels |
//! | [`palette`], [`time_format`], [`viewport`], [`in_time`] | colours, times for people, the visible part of the time axis, sorting by time |

#![allow(
    clippy::missing_errors_doc,
    rustdoc::private_intra_doc_links,
    reason = "part of the program, not a library for others"
)]

pub mod charts;
pub mod compare;
pub mod drawing;
pub mod in_time;
pub mod overview;
pub mod palette;
pub mod panels;
pub mod prelude;
pub mod search;
pub mod sessions;
pub mod state;
pub mod time_format;
pub mod timeline;
pub mod viewport;
