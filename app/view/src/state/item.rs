//! An entry of the list of tracks.

use crate::prelude::*;

use super::derived::DerivedTrack;

/// An entry of the list of tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TreeItem {
    /// The heading of a group.
    Group(GroupId),
    /// A track with slices or counter samples.
    Track(TrackId),
    /// A track that is derived from others.
    Derived(DerivedTrack),
}

impl TreeItem {
    /// The derived track that it is.
    pub fn derived(self) -> Option<DerivedTrack> {
        match self {
            Self::Derived(track) => Some(track),
            Self::Group(_) | Self::Track(_) => None,
        }
    }
}
