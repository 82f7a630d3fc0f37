//! Events by name, category, track, time, step and length: a list of them, or their times in groups.
//!
//! Both read the table of slices ([`crate::tables`]): a window and tracks are found by its index, patterns are tested
//! once for each distinct text, and of a list only the wanted rows are kept.

mod filter;
mod list;
mod pattern;
mod totals;

pub use filter::{EventFilter, EventTables};
pub use list::{EventList, EventOrder, FoundEvents, ListedColumn, find};
pub use pattern::NamePattern;
pub use totals::{EventTotals, GroupKey, TotalOrder, totals};

/// How much of an answer is wanted.
#[derive(Clone, Copy, Debug)]
pub struct EventPage {
    /// Rows to leave out at the start.
    pub offset: usize,
    /// Most rows; 0 for all.
    pub limit: usize,
}

impl EventPage {
    /// How many rows must be known in order; `None` for all.
    fn reach(self) -> Option<usize> {
        (self.limit > 0).then(|| self.offset.saturating_add(self.limit))
    }

    /// The first row after this part, if there are more.
    pub fn next(self, shown: usize, total: usize) -> Option<usize> {
        let next = self.offset.saturating_add(shown);
        (shown > 0 && next < total).then_some(next)
    }
}
