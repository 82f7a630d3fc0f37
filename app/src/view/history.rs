//! Places that were looked at, for undo and redo of the view.
//!
//! A jump is one entry. A gesture (many small pans, zooms and scrolls) is one
//! entry too, from its first movement to [`History::end_gesture`].

use super::state::Place;

/// How many places are kept.
const KEPT: usize = 100;

/// Where the view was, and where it was before it went back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    past: Vec<Place>,
    future: Vec<Place>,
    in_gesture: bool,
}

impl History {
    /// A jump away from `from`.
    pub fn jump(&mut self, from: Place) {
        self.in_gesture = false;
        self.push(from);
    }

    /// A small movement away from `from`.
    pub fn gesture(&mut self, from: Place) {
        if !self.in_gesture {
            self.push(from);
            self.in_gesture = true;
        }
    }

    /// The hand has left the mouse.
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

    /// Whether there is a place to go forth to.
    pub fn can_redo(&self) -> bool {
        !self.future.is_empty()
    }

    /// Leaves `from` for the place before.
    pub fn undo(&mut self, from: Place) -> Option<Place> {
        self.in_gesture = false;
        let place = self.past.pop()?;
        self.future.push(from);
        Some(place)
    }

    /// Leaves `from` for the place that undo came from.
    pub fn redo(&mut self, from: Place) -> Option<Place> {
        self.in_gesture = false;
        let place = self.future.pop()?;
        self.past.push(from);
        Some(place)
    }

    fn push(&mut self, place: Place) {
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
