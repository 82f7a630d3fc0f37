//! An area of the timeline, and how its slices are grouped.

use crate::prelude::*;

/// How slices are grouped into rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AreaGrouping {
    #[default]
    Name,
    Category,
    Module,
    Step,
    Track,
}

impl AreaGrouping {
    /// All groupings, with their names.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Name, "name"),
        (Self::Category, "category"),
        (Self::Module, "program"),
        (Self::Step, "step"),
        (Self::Track, "track"),
    ];

    /// Heading of the column of names.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Name => "Name",
            Self::Category => "Category",
            Self::Module => "Program",
            Self::Step => "Step",
            Self::Track => "Track",
        }
    }
}

/// An area, and how to group its slices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedArea {
    pub range: TimeRange,
    /// The tracks; all if empty.
    pub tracks: Arc<BTreeSet<TrackId>>,
    pub pivot: AreaGrouping,
}
