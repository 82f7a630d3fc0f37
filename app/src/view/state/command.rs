//! What a user can want of the view.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trace_model::{GroupId, LabelId, SliceId, TimeRange, TrackId};

use super::ViewState;
use super::place::Neighbour;
use super::scope::ReportScope;
use crate::view::palette::Preset;
use crate::view::state::TreeItem;
use crate::view::viewport::Viewport;

/// What colours of slices mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColorBy {
    /// What kind of work the hardware does.
    #[default]
    Category,
    /// The name, without trailing numbers.
    Name,
    /// The program that the op belongs to.
    Module,
    /// How near the op comes to what the hardware could do.
    Efficiency,
    /// How the op's time differs from that of the trace it is compared with.
    Change,
}

impl ColorBy {
    /// All, with a word for each.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Category, "kind of work"),
        (Self::Name, "name"),
        (Self::Module, "program"),
        (Self::Efficiency, "roofline"),
        (Self::Change, "change"),
    ];
}

/// A part of the window that can be hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Panel {
    /// Reports, at the right.
    Reports,
    /// The selected slice or area, at the bottom.
    Details,
    /// The list of keys.
    Help,
    /// The search box.
    Search,
    /// The list of everything that can be done.
    Palette,
    /// The dialog to change keys.
    Keys,
    /// Notes.
    Notes,
}

/// Something that is drawn besides the tracks, and can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TimelineLayer {
    /// Lines at the ruler's marks.
    Grid,
    /// The whole trace above the ruler.
    Minimap,
    /// Steps across all tracks.
    Steps,
    /// Arrows of the selected slice.
    Arrows,
}

impl TimelineLayer {
    /// All, with a word for each.
    pub const ALL: [(Self, &'static str); 4] =
        [(Self::Grid, "Grid"), (Self::Minimap, "Minimap"), (Self::Steps, "Steps"), (Self::Arrows, "Arrows")];
}

/// What dragging with the left button does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MouseMode {
    /// Selects an area: a range of time on the tracks that are touched.
    #[default]
    Select,
    /// Moves the view.
    Pan,
    /// Up and down zooms.
    Zoom,
    /// Marks a range of time on all tracks.
    Time,
}

impl MouseMode {
    /// All, in the order of their keys, with a word for each.
    pub const ALL: [(Self, &'static str); 4] =
        [(Self::Select, "Select"), (Self::Pan, "Pan"), (Self::Zoom, "Zoom"), (Self::Time, "Time")];
}

/// Slices to highlight while all others are dim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HighlightedLabels {
    /// What they are, for people.
    pub title: String,
    /// Their labels; shared, because they are asked for in every frame.
    pub labels: Arc<BTreeSet<LabelId>>,
}

impl HighlightedLabels {
    /// On slices of these labels.
    pub fn new(title: impl Into<String>, labels: impl IntoIterator<Item = LabelId>) -> Self {
        Self { title: title.into(), labels: Arc::new(labels.into_iter().collect()) }
    }
}

/// Something to remember about a range of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When.
    pub range: TimeRange,
    /// What.
    pub text: String,
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
    /// Show this part, because the view of a linked trace moved there.
    Look {
        /// What to show.
        time: Viewport,
        /// Whether that view is being moved by hand.
        in_gesture: bool,
    },
    /// Show this with its surroundings.
    ShowAround(TimeRange),
    /// Show what the devices do; the whole trace where that is what is shown, or next to all of it.
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
    /// Select a slice and scroll to its row; the visible time stays.
    Reveal(SliceId),
    /// Select a neighbour of the selected slice.
    Step(Neighbour),
    /// Select what the arrows of the selected slice lead to (or come from).
    FollowFlow(bool),
    /// The next (or previous) of several arrows to follow.
    CycleFlow(bool),
    /// Mark a range of time on these tracks, to measure it and to zoom to it; on all
    /// tracks where there are none.
    Mark(TimeRange, BTreeSet<TrackId>),
    /// Mark the whole trace.
    MarkAll,
    /// Mark the time of the selected slice, and keep it as a note where set.
    MarkSelection(bool),
    /// Select nothing and mark nothing.
    Deselect,
    /// Fold or unfold a host, device, core or process.
    FoldGroup(GroupId, bool),
    /// Show only the top lane of a track, or all.
    FoldTrack(TrackId, bool),
    /// Fold or unfold everything.
    FoldAll(bool),
    /// Keep a track in sight, above the others.
    Pin(TrackId, bool),
    /// Leave a track or group out.
    Hide(TreeItem, bool),
    /// Leave nothing out.
    ShowAllTracks,
    /// Move a track or group by so many places among its siblings.
    Move(TreeItem, i32),
    /// Show only tracks whose name, or that of a group around them, holds this.
    FilterTracks(String),
    /// Show or hide a part of the window.
    ShowPanel(Panel, bool),
    /// Let reports be about this part of the trace.
    Scope(ReportScope),
    /// Let reports be about what is marked.
    ScopeToMark,
    /// Show these reports.
    ShowTab(String),
    /// Move these reports below the timeline, or back to its right.
    MoveTab {
        /// Which.
        tab: String,
        /// Below.
        below: bool,
    },
    /// Give reports most of the window, or a column.
    WideReports(bool),
    /// Draw or leave out.
    ShowLayer(TimelineLayer, bool),
    /// Choose what dragging does.
    Mouse(MouseMode),
    /// Choose what colours mean.
    Color(ColorBy),
    /// Choose which colours there are.
    Paint(Preset),
    /// Make the column of names this wide.
    LabelWidth(f32),
    /// Search for this text.
    Search(String),
    /// Highlight some slices, or stop highlighting.
    Highlight(Option<HighlightedLabels>),
    /// Draw only what was found or highlighted.
    Isolate(bool),
    /// Keep a note.
    AddNote(Note),
    /// Change what a note says.
    EditNote(usize, String),
    /// Forget a note.
    RemoveNote(usize),
    /// Back to where the view was.
    Undo,
    /// Forth again.
    Redo,
    /// Take over a whole view, as it was saved.
    Restore(Box<ViewState>),
}
