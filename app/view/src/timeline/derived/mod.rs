//! Tracks that no file records: lanes of slices that are derived from ops, steps or queries.
//!
//! They are found on a thread of their own when their row comes into sight, and are no part of the model: reports, tables and
//! exported files do not know them.

mod lanes;
mod path;
mod query;
mod scopes;

use crate::prelude::*;

pub use lanes::{ColorTimes, DerivedLane, add_time, packed};
pub use path::{PathOfStep, PathsOfSteps, critical_path};
pub use query::{QueryColumns, query_rows};
pub use scopes::{scopes, source_lines};

use crate::palette::ColorKey;
use crate::state::DerivedTrack;

/// A slice of a derived track.
#[derive(Clone, Copy, Debug)]
pub struct DerivedSlice {
    /// Its place on the timeline.
    pub range: TimeRange,
    /// The time that it stands for: measured, self time, or as a query tells it.
    pub time: Picos,
    /// Index of [`DerivedData::names`].
    pub name: u32,
    pub color: ColorKey,
    /// The op that a click selects.
    pub slice: Option<SliceId>,
}

/// What a name in a derived track is.
#[derive(Debug)]
pub struct DerivedName {
    /// For a heading.
    pub whole: Arc<str>,
    /// Where the part begins that is written on a slice.
    pub from: usize,
}

impl DerivedName {
    /// A name that is written as a whole.
    pub fn new(whole: impl Into<Arc<str>>) -> Self {
        Self {
            whole: whole.into(),
            from: 0,
        }
    }

    /// What is written on a slice.
    pub fn short(&self) -> &str {
        self.whole.get(self.from..).unwrap_or(&self.whole)
    }
}

/// What a derived track shows.
#[derive(Debug, Default)]
pub struct DerivedData {
    pub names: Vec<DerivedName>,
    pub lanes: Vec<DerivedLane>,
    /// Values over time instead of lanes, in time order.
    pub values: Vec<(Timestamp, f64)>,
    /// For people: what was left out, or why there is nothing.
    pub note: String,
    /// For the critical path: what it is by step.
    pub paths: PathsOfSteps,
}

impl DerivedData {
    /// Nothing, for a reason.
    pub fn unknown(why: impl Into<String>) -> Self {
        Self {
            note: why.into(),
            ..Self::default()
        }
    }

    /// The lowest and the highest value, extended to include zero.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        let ends = self.values.iter().map(|&(_, value)| value).fold(
            None,
            |ends: Option<(f64, f64)>, value| {
                let (min, max) = ends.unwrap_or((0.0, 0.0));
                Some((min.min(value), max.max(value)))
            },
        )?;
        Some(ends)
    }

    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.lanes.iter().all(|lane| lane.slices().is_empty())
    }

    /// The name of a slice.
    pub fn name(&self, slice: &DerivedSlice) -> Option<&DerivedName> {
        self.names.get(slice.name as usize)
    }
}

/// A slice of a derived track that was found at a point.
#[derive(Clone, Copy, Debug)]
pub struct DerivedHit {
    pub track: DerivedTrack,
    /// The slice, or the longest of several that are too short to be told apart.
    pub slice: DerivedSlice,
    /// How many.
    pub count: u32,
}
