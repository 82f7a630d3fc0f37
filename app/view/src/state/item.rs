//! An entry of the list of tracks.

use trace_model::{GroupId, TrackId};

/// An entry of the list of tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TreeItem {
    /// The heading of a group.
    Group(GroupId),
    /// A track with slices or counter samples.
    Track(TrackId),
}
