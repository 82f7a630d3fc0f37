//! History of visible places, for undo and redo of the view.
//!
//! A jump is one entry. A gesture (many small pans, zooms and scrolls) is one entry too, from its first movement to
//! [`ViewHistory::end_gesture`].

use crate::prelude::*;

use super::place::ViewPlace;

/// Maximum number of entries.
const KEPT: usize = 100;

/// Everything that undo restores.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEntry {
    pub place: ViewPlace,
    /// Tracks of its mark; shared, because a view is cloned with its history.
    pub mark_tracks: Arc<BTreeSet<TrackId>>,
    /// What its mark is of.
    pub mark_note: Arc<str>,
}

/// The places before and after the current one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ViewHistory {
    past: Vec<HistoryEntry>,
    future: Vec<HistoryEntry>,
    in_gesture: bool,
}

impl ViewHistory {
    /// A jump away from `from`.
    pub fn jump(&mut self, from: HistoryEntry) {
        self.in_gesture = false;
        self.push(from);
    }

    /// A small movement away from `from`.
    pub fn gesture(&mut self, from: HistoryEntry) {
        if !self.in_gesture {
            self.push(from);
            self.in_gesture = true;
        }
    }

    pub fn end_gesture(&mut self) {
        self.in_gesture = false;
    }

    /// Whether a gesture is under way.
    pub fn in_gesture(&self) -> bool {
        self.in_gesture
    }

    /// Whether there is a place to go back to.
    pub fn can_undo(&self) -> bool {
        !self.past.is_empty()
    }

    /// Whether there is a place to go forward to.
    pub fn can_redo(&self) -> bool {
        !self.future.is_empty()
    }

    /// Leaves `from` for the place before.
    pub fn undo(&mut self, from: HistoryEntry) -> Option<HistoryEntry> {
        self.in_gesture = false;
        let place = self.past.pop()?;
        self.future.push(from);
        Some(place)
    }

    /// Leaves `from` for the place that undo came from.
    pub fn redo(&mut self, from: HistoryEntry) -> Option<HistoryEntry> {
        self.in_gesture = false;
        let place = self.future.pop()?;
        self.past.push(from);
        Some(place)
    }

    fn push(&mut self, place: HistoryEntry) {
        self.future.clear();
        if self.past.last() == Some(&place) {
            return;
        }
        if self.past.len() == KEPT {
            self.past.remove(0);
        }
        self.past.push(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::viewport::Viewport;

    #[test]
    fn cloned_marks_share_their_tracks() {
        let mark_tracks = Arc::new(BTreeSet::new());
        let mut history = ViewHistory::default();
        let place = ViewPlace {
            time: Viewport::default(),
            scroll: 0.0,
            selection: None,
            mark: None,
        };
        history.jump(HistoryEntry {
            place,
            mark_tracks: Arc::clone(&mark_tracks),
            mark_note: Arc::default(),
        });
        let copy = history.clone();
        assert_eq!(Arc::strong_count(&mark_tracks), 3);
        assert_eq!(copy, history);
    }
}
