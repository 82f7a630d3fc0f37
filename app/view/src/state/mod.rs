//! The state of the view of one trace: plain data, changed only by [`ViewState::apply`]. Nothing here knows egui, so
//! the behaviour of the app can be tested without a window.

mod command;
mod derived;
mod device_order;
mod docks;
mod folded;
mod history;
mod item;
mod lanes_in_view;
mod navigate;
mod place;
mod restore;
mod scope;
mod tracks;
mod visible_place;

use crate::prelude::*;

pub use command::{
    ColorBy, HighlightedLabels, MouseMode, Note, Panel, TimelineLayer, ViewCommand, ViewCommands,
};
pub use derived::{DerivedRows, DerivedTrack, QueryTrack};
pub use device_order::DeviceOrder;
pub use docks::{COMPARE_TAB, FOUND_TAB};
pub use item::TreeItem;
pub use lanes_in_view::{is_async, lanes_in_view};
pub use place::{Neighbour, ViewPlace};
pub use restore::TraceShape;
pub use scope::ReportScope;

use crate::palette::Preset;
use crate::state::history::{HistoryEntry, ViewHistory};
pub use place::first_view;

/// Stores a place in the history.
type HistoryPush = fn(&mut ViewHistory, HistoryEntry);

/// Greatest height of a counter track, as a multiple of the usual one.
pub const MOST_HEIGHT: u8 = 6;

/// Size of the view after navigating to a slice, as a multiple of its length.
const FOCUS_SPAN: f64 = 2.5;

/// The state of the view of one trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ViewState {
    /// Identifies the trace; `None` if unknown.
    #[serde(default)]
    shape: Option<TraceShape>,
    /// The visible place.
    pub place: ViewPlace,
    /// Tracks of the marked range; all if empty.
    #[serde(default, with = "shared")]
    pub mark_tracks: Arc<BTreeSet<TrackId>>,
    /// Hosts, devices, cores and processes whose content is hidden.
    pub folded_groups: BTreeSet<GroupId>,
    /// Tracks of which only the top lane is shown.
    pub folded_tracks: BTreeSet<TrackId>,
    /// Tracks that show all lanes, where others of their kind show only the first ones.
    #[serde(default)]
    pub open_tracks: BTreeSet<TrackId>,
    /// Pinned tracks, in this order.
    #[serde(default)]
    pub pinned: Vec<TrackId>,
    #[serde(default)]
    pub hidden_groups: BTreeSet<GroupId>,
    #[serde(default)]
    pub hidden_tracks: BTreeSet<TrackId>,
    /// By how many positions tracks were moved among their siblings.
    #[serde(default)]
    pub moved_tracks: BTreeMap<TrackId, i32>,
    /// By how many positions groups were moved among their siblings.
    #[serde(default)]
    pub moved_groups: BTreeMap<GroupId, i32>,
    /// The order of devices.
    #[serde(default)]
    pub device_order: DeviceOrder,
    /// The devices in that order, once it is known; they come before all other groups.
    #[serde(skip)]
    pub ordered: Arc<Vec<GroupId>>,
    /// Lanes of tracks whose last lanes have nothing in view.
    #[serde(skip)]
    pub lanes_in_view: Arc<BTreeMap<TrackId, usize>>,
    /// Heights of counter tracks, as multiples of the usual one.
    #[serde(default)]
    pub track_heights: BTreeMap<TrackId, u8>,
    /// Rows that are derived from tracks and switched on.
    #[serde(default)]
    pub derived: BTreeSet<DerivedRows>,
    /// Queries whose rows are tracks.
    #[serde(default)]
    pub queries: Vec<QueryTrack>,
    /// What is marked, if the mark comes from a derived track.
    #[serde(skip)]
    pub mark_note: Arc<str>,
    /// Only tracks whose name contains this text are shown; all if empty.
    #[serde(default)]
    pub track_filter: String,
    /// Scope of the reports.
    #[serde(default)]
    pub scope: ReportScope,
    /// Open panels.
    pub panels: BTreeSet<Panel>,
    /// The ids of the tabs that can be opened, in their order.
    #[serde(skip)]
    tabs: &'static [&'static str],
    /// The open tab.
    pub tab: String,
    /// Tabs below the timeline.
    #[serde(default)]
    pub below: Vec<String>,
    /// The open tab of those below.
    #[serde(default)]
    pub open_below: String,
    /// Whether reports take most of the window.
    #[serde(default)]
    pub wide_reports: bool,
    /// Whether reports lie over the timeline, because the window is narrow.
    #[serde(skip)]
    pub reports_over: bool,
    /// The tab to return to when search results are closed.
    #[serde(skip)]
    before_found: String,
    /// Visible layers.
    pub layers: BTreeSet<TimelineLayer>,
    /// What dragging does.
    #[serde(default)]
    pub mouse: MouseMode,
    /// What slice colours mean.
    pub color_by: ColorBy,
    /// The colour preset.
    #[serde(default)]
    pub colors: Preset,
    /// Width of the column of names.
    pub label_width: f32,
    /// The search text; empty for no search.
    pub search: String,
    /// What a table, hint or click highlighted.
    #[serde(skip)]
    pub highlighted: Option<HighlightedLabels>,
    /// Whether only found or highlighted slices are shown.
    #[serde(default)]
    pub isolate: bool,
    /// Notes in time order.
    #[serde(default)]
    pub notes: Vec<Note>,
    /// Index of the chosen flow of several.
    #[serde(skip)]
    pub flow: usize,
    /// A slice to scroll to.
    #[serde(skip)]
    pub reveal: Option<SliceId>,
    /// A track to scroll to.
    #[serde(skip)]
    pub reveal_track: Option<TreeItem>,
    #[serde(skip)]
    history: ViewHistory,
}

impl ViewState {
    /// Shows the [first view](first_view), without a selection.
    pub fn new(model: &TraceModel) -> Self {
        let place = ViewPlace {
            time: first_view(model),
            ..ViewPlace::default()
        };
        let layers = TimelineLayer::ALL.into_iter().map(|(layer, _)| layer);
        Self {
            shape: Some(TraceShape::of(model)),
            place,
            folded_groups: folded::folded_at_first(model),
            panels: BTreeSet::from([Panel::Reports]),
            layers: layers.collect(),
            label_width: 250.0,
            ..Self::default()
        }
    }

    /// Whether a panel is open.
    pub fn shows(&self, panel: Panel) -> bool {
        self.panels.contains(&panel)
    }

    /// Whether a layer is visible.
    pub fn draws(&self, layer: TimelineLayer) -> bool {
        self.layers.contains(&layer)
    }

    /// Whether the view is being moved by a gesture, so that it must follow without animation.
    pub fn in_gesture(&self) -> bool {
        self.history.in_gesture()
    }

    /// Whether there is a place to go back to.
    pub fn can_undo(&self) -> bool {
        self.history.can_undo()
    }

    /// Whether there is a place to go forward to.
    pub fn can_redo(&self) -> bool {
        self.history.can_redo()
    }

    /// Whether tracks are hidden.
    pub fn leaves_out(&self) -> bool {
        !self.hidden_groups.is_empty() || !self.hidden_tracks.is_empty()
    }

    /// Whether something is searched or highlighted.
    pub fn is_searching(&self) -> bool {
        !self.search.is_empty() || self.highlighted.is_some()
    }

    /// Whether a track or group is hidden.
    pub fn hides(&self, item: TreeItem) -> bool {
        match item {
            TreeItem::Group(group) => self.hidden_groups.contains(&group),
            TreeItem::Track(track) => self.hidden_tracks.contains(&track),
            TreeItem::Derived(track) => self.lacks(track),
        }
    }

    /// By how many positions a track or group was moved.
    pub fn moved(&self, item: TreeItem) -> i32 {
        match item {
            TreeItem::Group(group) => self.moved_groups.get(&group),
            TreeItem::Track(track) => self.moved_tracks.get(&track),
            TreeItem::Derived(_) => None,
        }
        .copied()
        .unwrap_or(0)
    }

    /// Takes over the settings that belong to the window rather than to the trace.
    pub fn share_window(&mut self, other: &Self) {
        self.panels.clone_from(&other.panels);
        self.tab.clone_from(&other.tab);
        self.below.clone_from(&other.below);
        self.open_below.clone_from(&other.open_below);
        self.layers.clone_from(&other.layers);
        (self.wide_reports, self.mouse, self.color_by) =
            (other.wide_reports, other.mouse, other.color_by);
        self.reports_over = other.reports_over;
        (self.colors, self.label_width) = (other.colors, other.label_width);
    }

    pub fn apply(&mut self, command: &ViewCommand, model: &TraceModel) {
        use ViewCommand as C;
        let remembered = match command {
            C::Pan(_)
            | C::Zoom { .. }
            | C::ScrollTo(_)
            | C::Look {
                in_gesture: true, ..
            } => Some(ViewHistory::gesture as HistoryPush),
            C::Show(_)
            | C::ShowAround(_)
            | C::Center(_)
            | C::Look { .. }
            | C::Fit
            | C::Focus
            | C::GoTo(_)
            | C::FollowFlow(_) => {
                self.history.end_gesture();
                Some(ViewHistory::jump as HistoryPush)
            }
            _ => None,
        };
        let before = remembered.map(|push| (push, self.seen()));
        if *command == C::EndGesture {
            self.history.end_gesture();
        }
        if !self.moves(command, model) && !self.arranges(command, model) {
            self.annotates(command, model);
        }
        self.leave_empty_found();
        if self.reports_over && leads_to_timeline(command) {
            // The reports cover the requested slice.
            self.panels.remove(&Panel::Reports);
        }
        // After going back, the user wants to see another place.
        if let Some((push, before)) = before
            && before != self.seen()
        {
            push(&mut self.history, before);
        }
    }

    fn seen(&self) -> HistoryEntry {
        HistoryEntry {
            place: self.place,
            mark_tracks: Arc::clone(&self.mark_tracks),
            mark_note: Arc::clone(&self.mark_note),
        }
    }

    /// Applies commands about what is shown and how; false for others.
    fn arranges(&mut self, command: &ViewCommand, model: &TraceModel) -> bool {
        use ViewCommand as C;
        match command {
            C::FoldGroup(group, fold) => set(&mut self.folded_groups, *group, *fold),
            C::FoldTrack(track, fold) => {
                set(&mut self.folded_tracks, *track, *fold);
                set(&mut self.open_tracks, *track, !*fold);
            }
            C::FoldAll(fold) => self.fold_all(*fold, model),
            C::Pin(track, pin) => {
                self.pinned.retain(|other| other != track);
                if *pin {
                    self.pinned.push(*track);
                }
            }
            C::Hide(TreeItem::Group(group), hide) => set(&mut self.hidden_groups, *group, *hide),
            C::Hide(TreeItem::Track(track), hide) => set(&mut self.hidden_tracks, *track, *hide),
            C::Hide(TreeItem::Derived(track), true) => self.leave_out(*track),
            C::Hide(TreeItem::Derived(_), false) | C::Move(TreeItem::Derived(_), _) => {}
            C::ShowRows(rows, show) => {
                self.show_rows(*rows, *show);
                if *show && *rows == DerivedRows::CriticalPath {
                    self.reveal_track = Some(TreeItem::Derived(DerivedTrack::CriticalPath));
                }
            }
            C::AddQuery(query) => {
                self.reveal_track = Some(TreeItem::Derived(self.add_query(query)));
            }
            C::PinEverywhere(track, pin) => self.pin_everywhere(*track, *pin, model),
            C::TrackHeight(track, times) => drop(
                self.track_heights
                    .insert(*track, (*times).clamp(1, MOST_HEIGHT)),
            ),
            C::HideEmpty => self.hide_empty(model),
            C::ShowAllTracks => {
                self.hidden_groups.clear();
                self.hidden_tracks.clear();
                self.track_filter.clear();
            }
            C::Move(TreeItem::Group(group), by) => {
                *self.moved_groups.entry(*group).or_default() += by;
            }
            C::Move(TreeItem::Track(track), by) => {
                *self.moved_tracks.entry(*track).or_default() += by;
            }
            C::OrderDevices(order) => self.order_devices(*order),
            C::LanesInView { lanes, scroll } => {
                self.lanes_in_view = Arc::clone(lanes);
                self.place.scroll = *scroll;
            }
            C::DevicesInOrder(devices) => self.ordered = Arc::clone(devices),
            C::FilterTracks(text) => self.track_filter.clone_from(text),
            C::ShowPanel(panel, show) => {
                set(&mut self.panels, *panel, *show);
                if *panel == Panel::Search && !show {
                    // Slices must not stay dimmed without a visible search field.
                    self.search.clear();
                    self.isolate &= self.is_searching();
                }
            }
            C::Scope(scope) => self.scope = *scope,
            C::ScopeToMark => self.scope_to_mark(),
            C::ShowTab(tab) => self.open_tab(tab),
            C::MoveTab { tab, below } => self.move_tab(tab, *below),
            C::WideReports(wide) => self.wide_reports = *wide,
            C::ReportsOver(over) => self.reports_over = *over,
            C::ShowLayer(layer, show) => set(&mut self.layers, *layer, *show),
            C::Mouse(mode) => self.mouse = *mode,
            C::Color(by) => self.color_by = *by,
            C::Paint(preset) => self.colors = *preset,
            C::LabelWidth(width) => self.label_width = width.clamp(80.0, 600.0),
            _ => return false,
        }
        true
    }

    /// Applies commands about search, highlighting and notes.
    fn annotates(&mut self, command: &ViewCommand, model: &TraceModel) {
        use ViewCommand as C;
        match command {
            C::Search(text) => {
                self.search.clone_from(text);
                // Only one search or highlight at a time: the newer one wins.
                self.highlighted = None;
                self.isolate &= !text.is_empty();
            }
            C::Highlight(highlighted) => {
                self.highlighted.clone_from(highlighted);
                self.isolate &= highlighted.is_some();
            }
            C::Isolate(isolate) => self.isolate = *isolate,
            C::AddNote(note) => {
                self.notes.push(note.clone());
                self.notes
                    .sort_by_key(|note| (note.range.start, note.range.end));
            }
            C::EditNote(index, text) => {
                if let Some(note) = self.notes.get_mut(*index) {
                    note.text.clone_from(text);
                }
            }
            C::RemoveNote(index) if *index < self.notes.len() => drop(self.notes.remove(*index)),
            C::MarkSelection(keep) => self.mark_selection(*keep, model),
            C::Restore(saved) => *self = saved.fitted_to(model).with_tabs(self.tabs),
            _ => {}
        }
    }
}

/// Serializes shared data like its content.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<T: Serialize, S: Serializer>(
        value: &Arc<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        (**value).serialize(to)
    }

    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Arc<T>, D::Error> {
        T::deserialize(from).map(Arc::new)
    }
}

/// Whether a command goes to a place of the timeline.
fn leads_to_timeline(command: &ViewCommand) -> bool {
    use ViewCommand as C;
    matches!(
        command,
        C::Select(_)
            | C::GoTo(_)
            | C::Reveal(_)
            | C::Show(_)
            | C::ShowAround(_)
            | C::Center(_)
            | C::RevealTrack(_)
            | C::Mark(..)
            | C::MarkAs(..)
    )
}

fn set<T: Ord>(members: &mut BTreeSet<T>, member: T, present: bool) {
    if present {
        members.insert(member);
    } else {
        members.remove(&member);
    }
}

#[cfg(test)]
mod tests;
