//! The tracks of a trace as one foldable list, and the positions of its rows.
//!
//! [`TrackTree`] is made once per trace: groups and tracks in the order to show
//! them, parents before children. [`TrackTree::rows`] walks it every frame, which
//! is linear in groups and tracks, never in slices.

mod build;
mod derived;
mod rows;

use std::sync::OnceLock;

use crate::prelude::*;

pub use rows::{TrackRow, VisibleRows};

use crate::state::{DerivedTrack, QueryTrack, TreeItem, ViewState};
use crate::timeline::counter_peaks::CounterPeaks;
use crate::timeline::derived::DerivedData;
use crate::timeline::group_load::{BusyThreads, GroupLoad};
use crate::timeline::highlighted::Highlighted;
use rows::{NOWHERE, PINNED, push};

/// Height of a lane of slices, without the gap below.
pub const LANE: f32 = 23.0;
/// Gap between lanes.
pub const GAP: f32 = 1.0;
/// Height of a counter track.
pub const COUNTER: f32 = 40.0;
/// Height of the heading of a group.
pub const HEADER: f32 = 28.0;
/// Least height of the heading of a folded group among many.
const LEAST_HEADER: f32 = 8.0;
/// Space below the last lane of a track.
pub const TRACK_PAD: f32 = 4.0;

/// One group or track.
#[derive(Clone, Debug)]
pub struct TrackNode {
    /// The group or track.
    pub item: TreeItem,
    /// How deep it is indented.
    pub indent: u8,
    pub title: String,
    /// The title in lower case, for filtering.
    lowercase: String,
    /// Further information: number of slices, device.
    pub note: String,
    /// Index of its group.
    group: Option<usize>,
    /// Index after its last descendant.
    end: usize,
    /// Index of its first lane in the model, and their number; 0 for counters.
    pub lanes: (usize, usize),
    /// What a group shows while it is folded.
    pub load: GroupLoad,
    /// For counters: lowest and highest sample, extended to include zero unless the value never changes.
    pub counter: Option<(f64, f64)>,
    /// Whether it is a TPU device.
    is_device: bool,
    /// Whether its lanes are those of async ops.
    is_async: bool,
}

/// All groups and tracks that have something to show.
#[derive(Clone, Debug, Default)]
pub struct TrackTree {
    nodes: Vec<TrackNode>,
    /// Index of the node of track `i`.
    of_track: Vec<Option<usize>>,
    /// Index of the node of group `i`.
    of_group: Vec<Option<usize>>,
    /// Indices of counters with many samples.
    peaks: Arc<BTreeMap<TrackId, CounterPeaks>>,
    /// By node: when its tracks are busy, for groups that show this while they are folded.
    busy: Arc<OnceLock<BTreeMap<usize, BusyThreads>>>,
    first_device: Option<usize>,
    /// The critical path, which is above the first device of those that are shown.
    path: Option<usize>,
    /// What follows the first devices: queries are above it.
    after_devices: Option<usize>,
    /// What is known of derived tracks.
    derived: BTreeMap<DerivedTrack, Arc<DerivedData>>,
    /// The queries that have nodes, the last ones of all.
    queries: Vec<QueryTrack>,
}

/// Devices that come first, whatever group they belong to; empty vectors without any.
#[derive(Default)]
struct OrderedNodes {
    nodes: Vec<usize>,
    /// By node.
    is_first: Vec<bool>,
    /// By node: how many nodes inside of it came first.
    inside: Vec<usize>,
}

impl TrackNode {
    /// A node without lanes, the last one so far.
    fn new(item: TreeItem, title: String, index: usize) -> Self {
        Self {
            item,
            indent: 0,
            lowercase: title.to_lowercase(),
            title,
            note: String::new(),
            group: None,
            end: index + 1,
            lanes: (0, 0),
            load: GroupLoad::Nothing,
            counter: None,
            is_device: false,
            is_async: false,
        }
    }

    /// Index in the model of the first lane that is drawn in its row.
    pub fn first_lane(&self) -> usize {
        if let GroupLoad::Lane(lane) = self.load {
            lane
        } else {
            self.lanes.0
        }
    }
}

impl TrackTree {
    pub fn group_of(&self, node: usize) -> Option<usize> {
        self.nodes.get(node)?.group
    }

    /// The rows with lower headings, if there are more folded groups than fit a canvas of this height: a pod with many
    /// devices on one screen, with the headings of its hosts.
    #[must_use]
    pub fn compacted(&self, mut rows: VisibleRows, canvas: f32) -> VisibleRows {
        let is_group = |row: &TrackRow| matches!(self.node(row.node).item, TreeItem::Group(_));
        let next = rows.scrolled.iter().skip(1).map(is_group).chain([false]);
        let around = rows.scrolled.iter().zip(next);
        // A group of groups has only its heading, like a folded one.
        let is_low: Vec<bool> = around
            .map(|(row, next)| is_group(row) && (row.folded || next))
            .collect();
        let low = is_low.iter().filter(|low| **low).count();
        let others = rows.height() - low as f32 * HEADER;
        // Unfolded tracks may be many; they do not squeeze the folded groups.
        let room = canvas - rows.pinned_height() - others.min(canvas * 0.25);
        let height = (room / low.max(1) as f32).clamp(LEAST_HEADER, HEADER);
        if height >= HEADER {
            return rows;
        }
        let mut y = 0.0;
        for (row, is_low) in rows.scrolled.iter_mut().zip(is_low) {
            row.y = y;
            if is_low {
                row.height = height;
            }
            y += row.height;
        }
        rows
    }

    pub fn node(&self, index: usize) -> &TrackNode {
        &self.nodes[index]
    }

    /// The tracks in a group, at any depth.
    pub fn tracks_in(&self, group: usize) -> impl Iterator<Item = TrackId> {
        let end = self.nodes.get(group).map_or(0, |node| node.end);
        self.nodes
            .get(group..end)
            .unwrap_or_default()
            .iter()
            .filter_map(|node| match node.item {
                TreeItem::Track(track) => Some(track),
                TreeItem::Group(_) | TreeItem::Derived(_) => None,
            })
    }

    /// All nodes, parents first.
    pub fn nodes(&self) -> &[TrackNode] {
        &self.nodes
    }

    /// Whether a node is another one or inside of it.
    pub fn is_within(&self, node: usize, group: usize) -> bool {
        group <= node && self.nodes.get(group).is_some_and(|group| node < group.end)
    }

    /// All rows, as arranged by `state`.
    pub fn rows(&self, state: &ViewState) -> VisibleRows {
        self.rows_of(state, None)
    }

    /// The rows of tracks with slices in `only` and of pinned tracks.
    pub fn rows_of(&self, state: &ViewState, only: Option<&Highlighted>) -> VisibleRows {
        let mut rows = VisibleRows {
            place: vec![NOWHERE; self.nodes.len()],
            ..VisibleRows::default()
        };
        for &track in &state.pinned {
            if let Some(&Some(node)) = self.of_track.get(track.index()) {
                rows.place[node] = PINNED | rows.pinned.len() as u32;
                push(&mut rows.pinned, self.row(node, state));
            }
        }
        let filter = state.track_filter.to_lowercase();
        let first = self.ordered(state);
        for &node in &first.nodes {
            // What holds for its groups holds for it.
            let groups =
                std::iter::successors(self.nodes[node].group, |&group| self.group_of(group));
            let mut groups = groups.map(|group| &self.nodes[group]);
            if groups.clone().any(|group| state.hides(group.item)) {
                continue;
            }
            let is_shown = groups.any(|group| group.lowercase.contains(&filter));
            let filter = if is_shown { "" } else { filter.as_str() };
            let of_it = node..self.nodes[node].end;
            let alone = OrderedNodes::default();
            self.walk(of_it, (state, &alone), (filter, only), &mut rows);
        }
        self.walk(
            0..self.nodes.len(),
            (state, &first),
            (&filter, only),
            &mut rows,
        );
        rows
    }

    /// The devices that come first.
    fn ordered(&self, state: &ViewState) -> OrderedNodes {
        let of = |group: &GroupId| *self.of_group.get(group.index())?;
        let mut out = OrderedNodes {
            nodes: state.ordered.iter().filter_map(of).collect(),
            ..OrderedNodes::default()
        };
        if !out.nodes.is_empty() {
            out.is_first = vec![false; self.nodes.len()];
            out.inside = vec![0; self.nodes.len()];
        }
        for &node in &out.nodes {
            out.is_first[node] = true;
            let groups =
                std::iter::successors(self.nodes[node].group, |&group| self.group_of(group));
            for group in groups {
                out.inside[group] += self.nodes[node].end - node;
            }
        }
        out
    }

    /// Adds the rows of siblings and of their descendants, without groups that came first.
    fn walk(
        &self,
        nodes: std::ops::Range<usize>,
        (state, first): (&ViewState, &OrderedNodes),
        (filter, only): (&str, Option<&Highlighted>),
        rows: &mut VisibleRows,
    ) {
        let is_left_out = |track: TrackId| {
            state.hidden_tracks.contains(&track)
                || only.is_some_and(|highlighted| !highlighted.is_on(track))
        };
        let mut siblings = Vec::new();
        let mut next = nodes.start;
        while next < nodes.end {
            siblings.push(next);
            next = self.nodes[next].end.max(next + 1);
        }
        arrange(&mut siblings, |&node| state.moved(self.nodes[node].item));
        let siblings = self.with_derived_before(&siblings, rows);
        for index in siblings {
            let node = &self.nodes[index];
            let is_first = first.is_first.get(index).copied().unwrap_or_default();
            let is_derived = matches!(node.item, TreeItem::Derived(_));
            if state.hides(node.item)
                || rows.place[index] != NOWHERE
                || is_first
                || (is_derived && only.is_some())
            {
                continue;
            }
            let came_first = first.inside.get(index).copied().unwrap_or_default();
            if came_first > 0 && came_first == node.end - index - 1 {
                // Nothing of it is left.
                continue;
            }
            let matches = filter.is_empty() || node.lowercase.contains(filter);
            let TreeItem::Group(group) = node.item else {
                if matches && !self.tracks_in(index).any(is_left_out) {
                    rows.place[index] = rows.scrolled.len() as u32;
                    push(&mut rows.scrolled, self.row(index, state));
                }
                continue;
            };
            if (only.is_some() || !state.hidden_tracks.is_empty())
                && self.tracks_in(index).all(is_left_out)
            {
                continue;
            }
            // A group that matches shows its whole content.
            let filter = if matches { "" } else { filter };
            let before = rows.scrolled.len();
            rows.place[index] = before as u32;
            push(&mut rows.scrolled, self.row(index, state));
            if !state.folded_groups.contains(&group) || !filter.is_empty() {
                self.walk(index + 1..node.end, (state, first), (filter, only), rows);
            }
            if !matches && rows.scrolled.len() == before + 1 {
                rows.scrolled.pop();
                rows.place[index] = NOWHERE;
            }
        }
    }

    /// The row of a node, at the top.
    fn row(&self, index: usize, state: &ViewState) -> TrackRow {
        let node = &self.nodes[index];
        let (height, lanes, folded, hidden) = match node.item {
            TreeItem::Group(group) => {
                let folded = state.folded_groups.contains(&group);
                (
                    HEADER,
                    usize::from(folded && matches!(node.load, GroupLoad::Lane(_))),
                    folded,
                    0,
                )
            }
            TreeItem::Derived(_) => {
                let lanes = node.lanes.1.max(1);
                let height = if node.counter.is_some() {
                    COUNTER
                } else {
                    lanes as f32 * (LANE + GAP)
                };
                (height + TRACK_PAD, lanes, false, 0)
            }
            TreeItem::Track(track) if node.counter.is_some() => {
                let times = state.track_heights.get(&track).copied().unwrap_or(1);
                (COUNTER * f32::from(times) + TRACK_PAD, 0, false, 0)
            }
            TreeItem::Track(track) => {
                let (lanes, hidden) = state.lanes_of(track, node.lanes.1, node.is_async);
                let height = lanes as f32 * (LANE + GAP) + TRACK_PAD;
                (height, lanes, hidden > 0, hidden)
            }
        };
        TrackRow {
            node: index,
            y: 0.0,
            height,
            lanes,
            folded,
            hidden,
            is_joined: false,
        }
    }

    /// The folded groups around a track: what must be unfolded to see it.
    pub fn hidden_by(&self, model: &TraceModel, track: TrackId, state: &ViewState) -> Vec<GroupId> {
        let mut hiding = Vec::new();
        let mut group = Some(model.track(track).group);
        while let Some(id) = group {
            if state.folded_groups.contains(&id) {
                hiding.push(id);
            }
            group = model.group(id).parent;
        }
        hiding
    }

    /// Finds out when the tracks of groups are busy, which folded groups show. Reads the top lanes of all tracks.
    pub fn measure_load(&self, model: &TraceModel) {
        if self.busy.get().is_some() {
            return;
        }
        let groups = (0..self.nodes.len()).filter(|&node| self.nodes[node].load == GroupLoad::Busy);
        let busy = groups
            .map(|node| (node, BusyThreads::of(model, self.tracks_in(node))))
            .collect();
        // Not made inside the cell, which drawing looks into while this is interrupted.
        let _ = self.busy.set(busy);
    }

    /// When the tracks of a group are busy; `None` until it is known.
    pub fn busy(&self, node: usize) -> Option<&BusyThreads> {
        self.busy.get()?.get(&node)
    }

    /// The index of the maxima of a counter with many samples.
    pub fn peaks(&self, track: TrackId) -> Option<&CounterPeaks> {
        self.peaks.get(&track)
    }

    /// The row of the folded group that stands for a track by one of its lanes, with its top on the canvas, and whether
    /// it stays there.
    pub fn summary_of(
        &self,
        rows: &VisibleRows,
        track: TrackId,
        lane: usize,
        scroll: f32,
    ) -> Option<(TrackRow, bool)> {
        let mut group = self.group_of((*self.of_track.get(track.index())?)?);
        while let Some(node) = group {
            let row = rows.on_canvas(node, scroll);
            if let Some((row, stays)) = row.filter(|(row, _)| row.lanes > 0) {
                return (self.nodes[node].load == GroupLoad::Lane(lane)).then_some((row, stays));
            }
            group = self.group_of(node);
        }
        None
    }

    /// The row that shows `track` with its top on the canvas, and whether it stays there.
    pub fn row_of(
        &self,
        rows: &VisibleRows,
        track: TrackId,
        scroll: f32,
    ) -> Option<(TrackRow, bool)> {
        rows.on_canvas((*self.of_track.get(track.index())?)?, scroll)
    }

    /// The row that shows `item` with its top on the canvas, and whether it stays there.
    pub fn row_of_item(
        &self,
        rows: &VisibleRows,
        item: TreeItem,
        scroll: f32,
    ) -> Option<(TrackRow, bool)> {
        if let TreeItem::Track(track) = item {
            return self.row_of(rows, track, scroll);
        }
        let node = self.nodes.iter().position(|node| node.item == item)?;
        rows.on_canvas(node, scroll)
    }
}

/// Moves each sibling by its number of positions, those with the smallest moves first.
fn arrange<T: Copy + PartialEq>(items: &mut Vec<T>, by: impl Fn(&T) -> i32) {
    let mut moved: Vec<(i32, T)> = items
        .iter()
        .map(|item| (by(item), *item))
        .filter(|&(by, _)| by != 0)
        .collect();
    moved.sort_by_key(|&(by, _)| by.unsigned_abs());
    for (by, item) in moved {
        let Some(index) = items.iter().position(|other| *other == item) else {
            continue;
        };
        items.remove(index);
        let to = (index as i64 + i64::from(by)).clamp(0, items.len() as i64) as usize;
        items.insert(to, item);
    }
}

/// `1234567` as `1,234,567`.
pub fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests;
