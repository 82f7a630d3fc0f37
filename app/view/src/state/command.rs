//! The commands that change a view.

use crate::prelude::*;

use super::ViewState;
use super::derived::{DerivedRows, QueryTrack};
use super::device_order::DeviceOrder;
use super::place::Neighbour;
use super::scope::ReportScope;
use crate::palette::Preset;
use crate::state::TreeItem;
use crate::viewport::Viewport;

/// What slice colours mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColorBy {
    /// The category of the op.
    #[default]
    Category,
    /// The name, without trailing numbers.
    Name,
    /// The program that the op belongs to.
    Module,
    /// The roofline efficiency of the op.
    Efficiency,
    /// The change of the op's time against the compared trace.
    Change,
}

impl ColorBy {
    /// All choices with their names.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Category, "category"),
        (Self::Name, "name"),
        (Self::Module, "program"),
        (Self::Efficiency, "roofline"),
        (Self::Change, "change"),
    ];
}

/// A panel that can be hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Panel {
    /// Reports on the right.
    Reports,
    /// Details of the selected slice or area, at the bottom.
    Details,
    /// The list of keys.
    Help,
    /// The search box.
    Search,
    /// The command palette.
    Palette,
    /// The dialog that changes keys.
    Keys,
    Notes,
}

/// Something drawn besides the tracks that can be hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TimelineLayer {
    /// Lines at the ruler's marks.
    Grid,
    Minimap,
    /// Step bands across all tracks.
    Steps,
    /// Flow arrows of the selected slice.
    Arrows,
}

impl TimelineLayer {
    /// All layers with their names.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Grid, "Grid"),
        (Self::Minimap, "Minimap"),
        (Self::Steps, "Steps"),
        (Self::Arrows, "Arrows"),
    ];
}

/// What dragging with the left button does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MouseMode {
    /// Marks an area: a range of time on the tracks under the pointer.
    #[default]
    Select,
    /// Moves the view.
    Pan,
    /// Zooms into the time of a box.
    Zoom,
    /// Marks a range of time on all tracks.
    Time,
}

impl MouseMode {
    /// A description of what dragging does.
    pub fn about(self) -> &'static str {
        match self {
            Self::Select => "Dragging marks a time on the tracks below the pointer",
            Self::Pan => "Dragging moves the view",
            Self::Zoom => "Dragging a box zooms into its time",
            Self::Time => "Dragging marks a time on all tracks",
        }
    }

    /// The id of the action that chooses the mode.
    pub fn action(self) -> &'static str {
        match self {
            Self::Select => "mouse-select",
            Self::Pan => "mouse-pan",
            Self::Zoom => "mouse-zoom",
            Self::Time => "mouse-time",
        }
    }

    /// All modes in the order of their keys, with their names.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Select, "Select"),
        (Self::Pan, "Pan"),
        (Self::Zoom, "Zoom"),
        (Self::Time, "Time"),
    ];
}

/// Slices that are highlighted while all others are dimmed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HighlightedLabels {
    pub title: String,
    /// Their labels; shared, because they are read in every frame.
    pub labels: Arc<BTreeSet<LabelId>>,
}

impl HighlightedLabels {
    /// Highlights slices with these labels.
    pub fn new(title: impl Into<String>, labels: impl IntoIterator<Item = LabelId>) -> Self {
        Self {
            title: title.into(),
            labels: Arc::new(labels.into_iter().collect()),
        }
    }
}

impl ViewCommand {
    /// Highlights slices with these labels.
    pub fn highlight(title: impl Into<String>, labels: impl IntoIterator<Item = LabelId>) -> Self {
        Self::Highlight(Some(HighlightedLabels::new(title, labels)))
    }
}

/// A note about a range of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The time range.
    pub range: TimeRange,
    pub text: String,
}

/// Changes of the view, in the order in which they are made.
pub type ViewCommands = Vec<ViewCommand>;

/// A change of the view.
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
    /// End of panning, zooming or scrolling: the next gesture is a new entry of the history.
    EndGesture,
    /// Show exactly this.
    Show(TimeRange),
    /// Show this part, because the view of a linked trace moved.
    Look {
        time: Viewport,
        /// Whether that view is being moved by a gesture.
        in_gesture: bool,
    },
    /// Move the view so that this time is in its middle.
    Center(Timestamp),
    /// Unfold and scroll to a track.
    RevealTrack(TrackId),
    /// Show this with its surroundings.
    ShowAround(TimeRange),
    /// Show the time in which devices run ops; the whole trace if that is shown already, or if devices run for more
    /// than half of it.
    Fit,
    /// Show the mark, or else the selection with its surroundings; if that is shown already, only the selection;
    /// without either, everything.
    Focus,
    /// Scroll so that this many points lie above the top.
    ScrollTo(f32),
    /// Scroll to this position to reveal a slice, and clear the request to reveal it.
    Revealed(f32),
    Select(SliceId),
    /// Select a slice and show it.
    GoTo(SliceId),
    /// Select a slice and scroll to its row; the visible time stays.
    Reveal(SliceId),
    /// Select a neighbour of the selected slice.
    Step(Neighbour),
    /// Select the slice at the other end of the chosen flow, forwards or backwards.
    FollowFlow(bool),
    /// Choose the next (or previous) of several flows.
    CycleFlow(bool),
    /// Mark a range of time on these tracks; on all tracks if there are none.
    Mark(TimeRange, BTreeSet<TrackId>),
    /// Mark a range of time on these tracks, with a sentence about what it is.
    MarkAs(TimeRange, BTreeSet<TrackId>, String),
    /// Mark the whole trace.
    MarkAll,
    /// Mark the time of the selected slice; if true, save it as a note.
    MarkSelection(bool),
    /// Clear selection and mark.
    Deselect,
    /// Fold or unfold a host, device, core or process.
    FoldGroup(GroupId, bool),
    /// Show only the top lane of a track, or all, of async ops, too.
    FoldTrack(TrackId, bool),
    /// Fold or unfold everything.
    FoldAll(bool),
    /// Pin a track to the top, or unpin it.
    Pin(TrackId, bool),
    /// Hide a track or group, or show it.
    Hide(TreeItem, bool),
    /// Switch rows that are derived from tracks on or off.
    ShowRows(DerivedRows, bool),
    /// Show the rows of a query as a track.
    AddQuery(QueryTrack),
    /// Set the height of a counter track, as a multiple of the usual one.
    TrackHeight(TrackId, u8),
    /// Hide all tracks without slices or samples in the visible time.
    HideEmpty,
    /// Pin the tracks of this name of all devices, or unpin them.
    PinEverywhere(TrackId, bool),
    /// Show all tracks and groups.
    ShowAllTracks,
    /// Move a track or group by a number of positions among its siblings.
    Move(TreeItem, i32),
    /// List the devices in this order.
    OrderDevices(DeviceOrder),
    /// The lanes of tracks whose last lanes have nothing in view, and the scroll position that leaves the rows in view
    /// where they are.
    LanesInView {
        lanes: Arc<BTreeMap<TrackId, usize>>,
        scroll: f32,
    },
    /// The devices in the wanted order, which was found out.
    DevicesInOrder(Arc<Vec<GroupId>>),
    /// Show only tracks whose name, or the name of a group around them, contains this text.
    FilterTracks(String),
    /// Show or hide a panel.
    ShowPanel(Panel, bool),
    /// Set the scope of the reports.
    Scope(ReportScope),
    /// Set the scope of the reports to the mark.
    ScopeToMark,
    /// Open this tab of reports.
    ShowTab(String),
    /// Move a tab below the timeline, or back to the right.
    MoveTab {
        tab: String,
        /// Whether to move it below.
        below: bool,
    },
    /// Give the reports most of the window, or one column.
    WideReports(bool),
    /// Reports lie over the timeline, because the window is narrow, or beside it.
    ReportsOver(bool),
    /// Show or hide a layer.
    ShowLayer(TimelineLayer, bool),
    /// Choose what dragging does.
    Mouse(MouseMode),
    /// Set what slice colours mean.
    Color(ColorBy),
    /// Set the colour preset.
    Paint(Preset),
    /// Set the width of the column of names.
    LabelWidth(f32),
    /// Set the search text.
    Search(String),
    /// Highlight some slices, or stop highlighting.
    Highlight(Option<HighlightedLabels>),
    /// Show only slices that were found or highlighted.
    Isolate(bool),
    AddNote(Note),
    /// Change the text of a note.
    EditNote(usize, String),
    RemoveNote(usize),
    /// Go back to the previous view.
    Undo,
    Redo,
    /// Restore a saved view.
    Restore(Box<ViewState>),
}
