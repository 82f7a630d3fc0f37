//! What a row of the list of tracks stands for.

use trace_model::{GroupId, TrackId};

/// What a row stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TreeItem {
    /// The heading of a group.
    Group(GroupId),
    /// A track with slices or counter samples.
    Track(TrackId),
}
