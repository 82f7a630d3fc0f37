//! The links between chips, and the time that a collective needs on them.
//!
//! A slice is a grid of chips. Each chip has a link to the next one in both directions of every axis; an axis *wraps*
//! where its ends are linked too. From the pattern, the size and the axes follow the bytes that the busiest link
//! carries, and from them a time (`expected_time`). What a capture does not tell is not guessed: every arrangement of
//! the participants that the generation allows is a [`GroupLayout`], and the answer is the range over all of them. What
//! moves is in `facts::collective_traffic`, whose
//! `CollectiveTraffic::layouts` finds them.

mod expected;
mod kind;
mod layout;
mod network;
mod topology;

pub use expected::{ExpectedTime, HOP_SECONDS, LinkRate, expected_time, link_seconds};
pub use kind::CollectiveKind;
pub use layout::{GroupLayout, layouts, placed};
pub use network::{Network, NetworkFrom};
pub use topology::{Axis, Topology, TopologyError};
