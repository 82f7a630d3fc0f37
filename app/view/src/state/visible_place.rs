//! Commands about the visible place.

use crate::prelude::*;

use super::TreeItem;
use super::command::{Panel, ViewCommand};
use super::place::{first_view, focused};
use super::scope::ReportScope;
use super::{FOCUS_SPAN, ViewState};
use crate::viewport::Viewport;

impl ViewState {
    /// Applies commands about the visible place; false for others.
    #[expect(clippy::too_many_lines, reason = "one branch for each command")]
    pub(super) fn moves(&mut self, command: &ViewCommand, model: &TraceModel) -> bool {
        use ViewCommand as C;
        let extent = model.extent();
        match command {
            C::Pan(share) => self.place.time = self.place.time.panned(*share).clamped(extent),
            C::Zoom { factor, anchor } => {
                self.place.time = self.place.time.zoomed(*factor, *anchor).clamped(extent);
            }
            C::Show(range) => self.place.time = Viewport::of(*range).clamped(extent),
            C::Look { time, .. } => self.place.time = *time,
            C::Center(time) => {
                let middle = self.place.time.time_at(0.5);
                let share = (*time - middle).as_ps_f64() / self.place.time.span_ps();
                self.place.time = self.place.time.panned(share).clamped(extent);
            }
            C::RevealTrack(track) => self.reveal_track = Some(TreeItem::Track(*track)),
            C::ShowAround(range) => {
                self.place.time = Viewport::of(*range)
                    .zoomed(1.0 / FOCUS_SPAN, 0.5)
                    .clamped(extent);
            }
            C::Fit => {
                let first = first_view(model);
                self.place.time = if self.place.time == first {
                    Viewport::fit(extent)
                } else {
                    first
                };
            }
            C::Focus => self.focus(model),
            C::ScrollTo(points) => self.place.scroll = points.max(0.0),
            C::Revealed(points) => {
                self.place.scroll = points.max(0.0);
                (self.reveal, self.reveal_track) = (None, None);
            }
            C::Select(slice) => {
                // The drawer that opens must not cover the slice.
                self.reveal = Some(*slice)
                    .filter(|_| !self.shows(Panel::Details))
                    .or(self.reveal);
                self.select(*slice);
                self.unmark();
            }
            C::GoTo(slice) => {
                self.select(*slice);
                self.reveal = Some(*slice);
                self.place.time = focused(model, *slice, FOCUS_SPAN).clamped(extent);
            }
            C::Reveal(slice) => {
                self.select(*slice);
                self.reveal = Some(*slice);
                self.unmark();
            }
            C::Step(neighbour) => self.step(*neighbour, model),
            C::FollowFlow(forth) => self.follow_flow(*forth, model),
            C::CycleFlow(forth) => {
                self.flow = if *forth {
                    self.flow + 1
                } else {
                    self.flow.saturating_sub(1)
                }
            }
            C::Mark(range, tracks) | C::MarkAs(range, tracks, _) => {
                self.place.mark = (!range.is_empty()).then_some(*range);
                self.mark_note = match command {
                    C::MarkAs(_, _, note) if self.place.mark.is_some() => note.as_str().into(),
                    _ => Arc::default(),
                };
                if *self.mark_tracks != *tracks {
                    self.mark_tracks = Arc::new(tracks.clone());
                }
                self.panels.insert(Panel::Details);
            }
            C::MarkAll => {
                self.mark_note = Arc::default();
                self.place.mark = Some(extent).filter(|range| !range.is_empty());
                self.mark_tracks = Arc::default();
                self.scope = ReportScope::Capture;
                self.panels.insert(Panel::Details);
            }
            C::Deselect => {
                (self.place.selection, self.highlighted) = (None, None);
                self.unmark();
                self.isolate &= !self.search.is_empty();
                // There is nothing left to say in it.
                self.panels.remove(&Panel::Details);
            }
            C::Undo | C::Redo => {
                let seen = self.seen();
                let other = if *command == C::Undo {
                    self.history.undo(seen)
                } else {
                    self.history.redo(seen)
                };
                if let Some(other) = other {
                    let follows = self
                        .place
                        .mark
                        .is_some_and(|mark| self.scope == ReportScope::Range(mark));
                    self.place = other.place;
                    (self.mark_tracks, self.mark_note) = (other.mark_tracks, other.mark_note);
                    if follows {
                        self.scope_to_mark();
                    }
                    self.reveal = None;
                }
            }
            C::EndGesture => {}
            _ => return false,
        }
        true
    }
}
