//! The links between chips: what they look like and how long a collective needs.
//!
//! A slice is a grid of chips. Each chip has a link to the next one in both
//! directions of every axis; an axis *wraps* where its ends are linked too. From
//! the pattern, the size and the axes follow the bytes that the busiest link
//! carries, and from them a time ([`expected_time`]). What a capture does not tell
//! is not guessed: every arrangement of the participants that the generation
//! allows is a [`Layout`], and the answer is the range over all of them.

mod expected;
mod layout;
mod topology;

pub use expected::{Expected, HOP_SECONDS, LinkRate, expected_time, link_seconds};
pub use layout::{Layout, layouts};
pub use topology::{Axis, Topology, TopologyError};

use crate::category::CollectiveKind;
use crate::chips::Chip;

/// How long a collective of `n` devices should take on a generation of chips:
/// [`expected_time`] over all [`layouts`]. `None` where the speed of the links is
/// not published, where the participants can be on one chip, and for patterns
/// whose time does not follow from sizes.
pub fn time_on(kind: CollectiveKind, bytes: u64, n: u64, chip: &Chip, topology: Option<&Topology>) -> Option<Expected> {
    expected_time(kind, bytes, &layouts(n, chip, topology), LinkRate::of(chip)?)
}
