//! What the user looks at in one trace: plain data, changed only by
//! [`ViewState::apply`]. Nothing here knows egui, so every habit of the app can be
//! tested without a window.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use trace_model::{GroupId, LabelId, Picos, SliceId, SliceRef, TimeRange, Timestamp, TraceModel, TrackId};

use super::history::History;
use super::timeline::viewport::Viewport;

/// How much of the view a slice takes when one navigates to it.
const FOCUS_SPAN: f64 = 2.5;

/// What colours of slices mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColorBy {
    /// What kind of work the hardware does.
    #[default]
    Category,
    /// The name, without trailing numbers.
    Name,
}

/// A neighbour of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// The one before in its lane.
    Previous,
    /// The one after in its lane.
    Next,
    /// The one around it.
    Parent,
    /// The first one inside it.
    Child,
}

/// A part of the window that can be hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Panel {
    /// Headline numbers and tables, at the right.
    Overview,
    /// The selected slice, at the bottom.
    Details,
    /// The list of keys.
    Help,
    /// The search box.
    Search,
}

/// A wish to change what is seen of the open trace.
#[derive(Clone, Debug, PartialEq)]
pub enum ViewCommand {
    /// Move right by this share of the width.
    Pan(f64),
    /// Shrink the visible span by `factor`, keeping the time at `anchor`.
    Zoom {
        /// Above 1 to see less.
        factor: f64,
        /// Share of the width that stays in place.
        anchor: f64,
    },
    /// Pan, zoom or scroll ended: the next one is a new entry of the history.
    EndGesture,
    /// Show exactly this.
    Show(TimeRange),
    /// Show the whole trace.
    Fit,
    /// Show the mark; else the selection with its surroundings, and again: only it;
    /// without either: all.
    Focus,
    /// Scroll so that this many points lie above the top.
    ScrollTo(f32),
    /// Scroll so that the wish to see a slice is fulfilled.
    Revealed(f32),
    /// Select a slice.
    Select(SliceId),
    /// Select a slice and show it.
    GoTo(SliceId),
    /// Select a neighbour of the selected slice.
    Step(Neighbour),
    /// Select what the arrows of the selected slice lead to (or come from).
    FollowFlow(bool),
    /// Mark a range of time, to measure it and to zoom to it.
    Mark(TimeRange),
    /// Select nothing and mark nothing.
    Deselect,
    /// Fold or unfold a host, device, core or process.
    FoldGroup(GroupId, bool),
    /// Show only the top lane of a track, or all.
    FoldTrack(TrackId, bool),
    /// Fold or unfold everything.
    FoldAll(bool),
    /// Show or hide a part of the window.
    ShowPanel(Panel, bool),
    /// Choose what colours mean.
    Color(ColorBy),
    /// Make the column of names this wide.
    LabelWidth(f32),
    /// Search for this text.
    Search(String),
    /// Back to where the view was.
    Undo,
    /// Forth again.
    Redo,
}

/// Where one looks: what undo brings back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// Visible part of the time axis.
    pub time: Viewport,
    /// Points above the top of the tracks.
    pub scroll: f32,
    /// The selected slice.
    pub selection: Option<SliceId>,
    /// The marked range.
    pub mark: Option<TimeRange>,
}

/// What the user looks at in one trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ViewState {
    /// Where.
    pub place: Place,
    /// Hosts, devices, cores and processes whose content is hidden.
    pub folded_groups: BTreeSet<GroupId>,
    /// Tracks of which only the top lane is shown.
    pub folded_tracks: BTreeSet<TrackId>,
    /// Parts of the window that are open.
    pub panels: BTreeSet<Panel>,
    /// What colours mean.
    pub color_by: ColorBy,
    /// Width of the column of names.
    pub label_width: f32,
    /// What is searched for; empty for nothing.
    pub search: String,
    /// A slice whose row is to be scrolled into sight.
    #[serde(skip)]
    pub reveal: Option<SliceId>,
    #[serde(skip)]
    history: History,
}

impl ViewState {
    /// The whole trace in sight, nothing selected.
    pub fn new(model: &TraceModel) -> Self {
        let place = Place { time: Viewport::fit(model.extent()), scroll: 0.0, selection: None, mark: None };
        Self {
            place,
            folded_groups: BTreeSet::new(),
            folded_tracks: BTreeSet::new(),
            panels: BTreeSet::from([Panel::Overview]),
            color_by: ColorBy::default(),
            label_width: 250.0,
            search: String::new(),
            reveal: None,
            history: History::default(),
        }
    }

    /// Whether a part of the window is open.
    pub fn shows(&self, panel: Panel) -> bool {
        self.panels.contains(&panel)
    }

    /// Whether the view is being moved by hand, so that it must follow at once
    /// instead of gliding.
    pub fn in_gesture(&self) -> bool {
        self.history.in_gesture()
    }

    /// Whether there is a place to go back to.
    pub fn can_undo(&self) -> bool {
        self.history.can_undo()
    }

    /// Whether there is a place to go forth to.
    pub fn can_redo(&self) -> bool {
        self.history.can_redo()
    }

    /// The only way to change anything.
    pub fn apply(&mut self, command: &ViewCommand, model: &TraceModel) {
        use ViewCommand as C;
        match command {
            C::Pan(_) | C::Zoom { .. } | C::ScrollTo(_) => self.history.gesture(self.place),
            C::Show(_) | C::Fit | C::Focus | C::GoTo(_) => self.history.jump(self.place),
            C::EndGesture => self.history.end_gesture(),
            _ => {}
        }
        let extent = model.extent();
        match command {
            C::Pan(share) => self.place.time = self.place.time.panned(*share).clamped(extent),
            C::Zoom { factor, anchor } => self.place.time = self.place.time.zoomed(*factor, *anchor).clamped(extent),
            C::Show(range) => self.place.time = Viewport::of(*range).clamped(extent),
            C::Fit => self.place.time = Viewport::fit(extent),
            C::Focus => self.focus(model),
            C::ScrollTo(points) => self.place.scroll = points.max(0.0),
            C::Revealed(points) => {
                self.place.scroll = points.max(0.0);
                self.reveal = None;
            }
            C::Select(slice) => {
                self.select(*slice);
                self.place.mark = None;
            }
            C::GoTo(slice) => {
                self.select(*slice);
                self.reveal = Some(*slice);
                self.place.time = focused(model, *slice, FOCUS_SPAN).clamped(extent);
            }
            C::Step(neighbour) => self.step(*neighbour, model),
            C::FollowFlow(forth) => self.follow_flow(*forth, model),
            C::Mark(range) => self.place.mark = (!range.is_empty()).then_some(*range),
            C::Deselect => (self.place.selection, self.place.mark) = (None, None),
            C::FoldGroup(group, fold) => set(&mut self.folded_groups, *group, *fold),
            C::FoldTrack(track, fold) => set(&mut self.folded_tracks, *track, *fold),
            C::FoldAll(fold) => {
                self.folded_tracks.clear();
                self.folded_groups.clear();
                if *fold {
                    self.folded_tracks.extend(model.track_ids().filter(|&id| model.lanes(id).len() > 1));
                    // The top groups stay open: an empty window is no overview.
                    self.folded_groups.extend(model.group_ids().filter(|&id| model.group(id).parent.is_some()));
                }
            }
            C::ShowPanel(panel, show) => set(&mut self.panels, *panel, *show),
            C::Color(by) => self.color_by = *by,
            C::LabelWidth(width) => self.label_width = width.clamp(80.0, 600.0),
            C::Search(text) => self.search.clone_from(text),
            C::Undo => self.place = self.history.undo(self.place).unwrap_or(self.place),
            C::Redo => self.place = self.history.redo(self.place).unwrap_or(self.place),
            C::EndGesture => {}
        }
    }

    fn select(&mut self, slice: SliceId) {
        self.place.selection = Some(slice);
        self.panels.insert(Panel::Details);
    }

    fn focus(&mut self, model: &TraceModel) {
        if let Some(mark) = self.place.mark {
            self.place.time = Viewport::of(mark).clamped(model.extent());
            return;
        }
        let Some(slice) = self.place.selection else {
            self.place.time = Viewport::fit(model.extent());
            return;
        };
        let around = focused(model, slice, FOCUS_SPAN).clamped(model.extent());
        let near = (self.place.time.span_ps() / around.span_ps() - 1.0).abs() < 1e-6
            && (self.place.time.start_after(around.start()) - around.start_after(around.start())).abs()
                < around.span_ps() * 1e-6;
        self.place.time = if near { focused(model, slice, 1.0) } else { around };
        self.reveal = Some(slice);
    }

    fn follow_flow(&mut self, forth: bool, model: &TraceModel) {
        let Some(selected) = self.place.selection else { return };
        let end = if forth {
            model.flows_from(selected).first().map(|flow| flow.to)
        } else {
            model.flows_to(selected).next().map(|flow| flow.from)
        };
        if let Some(end) = end {
            self.show_selected(end, model);
        }
    }

    fn show_selected(&mut self, slice: SliceId, model: &TraceModel) {
        self.select(slice);
        self.reveal = Some(slice);
        self.place.time = self.place.time.revealing(model.slice(slice).range());
    }

    fn step(&mut self, neighbour: Neighbour, model: &TraceModel) {
        let slice = match self.place.selection {
            Some(selected) => neighbour_of(model, selected, neighbour),
            None => first_visible(model, &self.place.time),
        };
        if let Some(slice) = slice {
            self.show_selected(slice, model);
        }
    }
}

/// The slice in the middle of `span` times its own length.
fn focused(model: &TraceModel, slice: SliceId, span: f64) -> Viewport {
    let range = model.slice(slice).range();
    if range.is_empty() {
        // An instant has no length of its own: 1 µs of its surroundings.
        let half = Picos::from_ps(500_000);
        return Viewport::of(TimeRange::new(range.start - half, range.start + half));
    }
    Viewport::of(range).zoomed(1.0 / span, 0.5)
}

fn neighbour_of(model: &TraceModel, selected: SliceId, neighbour: Neighbour) -> Option<SliceId> {
    let lane = model.lane_of(selected);
    let rows = model.lane_rows(lane);
    match neighbour {
        Neighbour::Previous => (selected.index() > rows.start).then(|| SliceId::from_index(selected.index() - 1)),
        Neighbour::Next => (selected.index() + 1 < rows.end).then(|| SliceId::from_index(selected.index() + 1)),
        Neighbour::Parent => model.slice(selected).parent().map(SliceRef::id),
        Neighbour::Child => model.slice(selected).children().next().map(SliceRef::id),
    }
}

/// Where stepping starts when nothing is selected: the first slice in sight.
fn first_visible(model: &TraceModel, time: &Viewport) -> Option<SliceId> {
    let from: Timestamp = time.start();
    model
        .all_lanes()
        .iter()
        .filter_map(|lane| model.slices_in(lane, time.range()).find(|slice| slice.start() >= from))
        .min_by_key(|slice| (slice.start(), slice.id()))
        .map(SliceRef::id)
}

/// The longest execution of a label; what a table row leads to.
pub fn longest_of_label(model: &TraceModel, label: LabelId) -> Option<SliceId> {
    model
        .all_slices()
        .filter(|slice| slice.label_id() == label)
        .max_by_key(|slice| (slice.dur(), std::cmp::Reverse(slice.id())))
        .map(SliceRef::id)
}

fn set<T: Ord>(members: &mut BTreeSet<T>, member: T, present: bool) {
    if present {
        members.insert(member);
    } else {
        members.remove(&member);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_model::{GroupKind, SliceSpec, TraceBuilder, TrackKind};

    /// One track: `a` 0..1000 holds `b` 100..200 and `c` 300..400; then `d` 2000..2000.
    fn model() -> TraceModel {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let track = builder.track(host, TrackKind::Ops, 1, "ops");
        for (name, start, end) in [("a", 0, 1_000), ("b", 100, 200), ("c", 300, 400), ("d", 2_000, 2_000)] {
            let label = builder.label(name, None);
            let range = TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
            builder.add_slice(track, SliceSpec::new(range, label));
        }
        builder.finish()
    }

    fn named(model: &TraceModel, name: &str) -> SliceId {
        model.all_slices().find(|slice| slice.name() == name).unwrap().id()
    }

    fn selected<'a>(state: &ViewState, model: &'a TraceModel) -> &'a str {
        model.slice(state.place.selection.unwrap()).name()
    }

    #[test]
    fn a_new_view_shows_everything() {
        let model = model();
        let state = ViewState::new(&model);
        assert!(state.place.time.range().encloses(model.extent()));
        assert!(!state.can_undo());
    }

    #[test]
    fn one_gesture_is_one_step_of_the_history() {
        let model = model();
        let mut state = ViewState::new(&model);
        let home = state.place;
        for _ in 0..10 {
            state.apply(&ViewCommand::Zoom { factor: 1.1, anchor: 0.5 }, &model);
            state.apply(&ViewCommand::Pan(0.01), &model);
        }
        assert!(state.in_gesture());
        state.apply(&ViewCommand::EndGesture, &model);
        let zoomed = state.place;
        state.apply(&ViewCommand::Fit, &model);
        state.apply(&ViewCommand::Undo, &model);
        assert_eq!(state.place, zoomed);
        state.apply(&ViewCommand::Undo, &model);
        assert_eq!(state.place, home);
        state.apply(&ViewCommand::Redo, &model);
        assert_eq!(state.place, zoomed);
        // A new way replaces the old way forth.
        state.apply(&ViewCommand::Fit, &model);
        assert!(!state.can_redo());
    }

    #[test]
    fn focus_shows_the_surroundings_first_and_then_the_slice_alone() {
        let model = model();
        let mut state = ViewState::new(&model);
        state.apply(&ViewCommand::Select(named(&model, "c")), &model);
        state.apply(&ViewCommand::Focus, &model);
        assert!((state.place.time.span_ps() - 250.0).abs() < 1e-6);
        state.apply(&ViewCommand::Focus, &model);
        assert!((state.place.time.span_ps() - 100.0).abs() < 1e-6);
        assert_eq!(state.place.time.start().ps(), 300);
        state.apply(&ViewCommand::Deselect, &model);
        state.apply(&ViewCommand::Focus, &model);
        assert!(state.place.time.range().encloses(model.extent()));
    }

    #[test]
    fn stepping_walks_the_lane_and_the_nesting() {
        let model = model();
        let mut state = ViewState::new(&model);
        state.apply(&ViewCommand::Step(Neighbour::Next), &model);
        assert_eq!(selected(&state, &model), "a");
        assert!(state.shows(Panel::Details));
        for (step, name) in [
            (Neighbour::Child, "b"),
            (Neighbour::Next, "c"),
            (Neighbour::Next, "c"),
            (Neighbour::Previous, "b"),
            (Neighbour::Parent, "a"),
            (Neighbour::Next, "d"),
        ] {
            state.apply(&ViewCommand::Step(step), &model);
            assert_eq!(selected(&state, &model), name, "{step:?}");
        }
    }

    #[test]
    fn an_instant_can_be_visited() {
        let model = model();
        let mut state = ViewState::new(&model);
        state.apply(&ViewCommand::GoTo(named(&model, "d")), &model);
        assert!(state.place.time.range().contains(Timestamp::from_ps(2_000)));
        assert_eq!(state.reveal, Some(named(&model, "d")));
    }

    #[test]
    fn the_state_survives_serialisation() {
        let model = model();
        let mut state = ViewState::new(&model);
        state.apply(&ViewCommand::Select(named(&model, "c")), &model);
        state.apply(&ViewCommand::FoldAll(true), &model);
        let text = serde_json::to_string(&state).unwrap();
        let back: ViewState = serde_json::from_str(&text).unwrap();
        assert_eq!(back.place, state.place);
        assert_eq!(back.folded_tracks, state.folded_tracks);
        assert_eq!(state.folded_tracks.len(), 1);
    }
}
