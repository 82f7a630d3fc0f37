//! Rows that no file records: what can be switched on, and what a query found.

use crate::prelude::*;

use super::ViewState;

/// A kind of rows that can be switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DerivedRows {
    /// The critical path of each step, above the devices.
    CriticalPath,
    /// The scopes of the framework around the ops of each device.
    Scopes,
    /// The source lines of the ops of each device.
    Sources,
}

impl DerivedRows {
    /// All of them with their names.
    pub const ALL: [(Self, &'static str); 3] = [
        (Self::CriticalPath, "Critical path"),
        (Self::Scopes, "Rows of scopes"),
        (Self::Sources, "Rows of source lines"),
    ];
}

/// A track that is derived from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DerivedTrack {
    /// The critical paths of all steps.
    CriticalPath,
    /// The scopes of the ops of a device.
    Scopes(GroupId),
    /// The source lines of the ops of a device.
    Sources(GroupId),
    /// The rows of a query, by its number in [`ViewState::queries`].
    Query(usize),
}

impl DerivedRows {
    /// The id of the action that switches them.
    pub fn action(self) -> &'static str {
        match self {
            Self::CriticalPath => "critical-path",
            Self::Scopes => "rows-of-scopes",
            Self::Sources => "rows-of-source-lines",
        }
    }
}

impl DerivedTrack {
    /// The kind of rows that it belongs to; `None` for queries.
    pub fn rows(self) -> Option<DerivedRows> {
        match self {
            Self::CriticalPath => Some(DerivedRows::CriticalPath),
            Self::Scopes(_) => Some(DerivedRows::Scopes),
            Self::Sources(_) => Some(DerivedRows::Sources),
            Self::Query(_) => None,
        }
    }
}

/// A query whose rows are a track.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryTrack {
    /// The name of the track.
    pub title: String,
    /// SQL over the tables of the whole trace.
    pub sql: String,
}

impl ViewState {
    /// Switches rows on or off.
    pub(super) fn show_rows(&mut self, rows: DerivedRows, show: bool) {
        super::set(&mut self.derived, rows, show);
    }

    /// Whether a derived track is off.
    pub(super) fn lacks(&self, track: DerivedTrack) -> bool {
        match track {
            DerivedTrack::Query(number) => number >= self.queries.len(),
            _ => track
                .rows()
                .is_none_or(|rows| !self.derived.contains(&rows)),
        }
    }

    /// Leaves a derived track out: rows of devices are off on all devices.
    pub(super) fn leave_out(&mut self, track: DerivedTrack) {
        match (track, track.rows()) {
            (DerivedTrack::Query(number), _) if number < self.queries.len() => {
                self.queries.remove(number);
            }
            (_, Some(rows)) => self.show_rows(rows, false),
            _ => {}
        }
    }

    /// Adds the rows of a query as a track, unless they are one.
    pub(super) fn add_query(&mut self, query: &QueryTrack) -> DerivedTrack {
        let known = self
            .queries
            .iter()
            .position(|known_query| known_query == query);
        let number = known.unwrap_or(self.queries.len());
        if known.is_none() {
            self.queries.push(query.clone());
        }
        DerivedTrack::Query(number)
    }
}
