//! Tracks that are derived from others, in the list of tracks.

use crate::prelude::*;

use super::{NOWHERE, TrackNode, TrackTree, VisibleRows};
use crate::state::{DerivedRows, DerivedTrack, QueryTrack, TreeItem};
use crate::timeline::derived::DerivedData;

impl TrackTree {
    /// Adds a derived track to the end of a group, or of all.
    pub(super) fn add_derived(&mut self, track: DerivedTrack, title: &str, group: Option<usize>) {
        let index = self.nodes.len();
        let indent = match track {
            DerivedTrack::Scopes(_) | DerivedTrack::Sources(_) => {
                group.map_or(0, |group| self.nodes[group].indent.saturating_add(1))
            }
            // Beside the devices.
            DerivedTrack::CriticalPath | DerivedTrack::Query(_) => self
                .first_device
                .map_or(0, |device| self.nodes[device].indent),
        };
        self.nodes.push(TrackNode {
            indent,
            group,
            ..TrackNode::new(TreeItem::Derived(track), title.to_owned(), index)
        });
    }

    /// Rows that can be switched on above the ops of a device.
    pub(super) fn add_rows_of(&mut self, core: GroupId, group: usize) {
        self.add_derived(DerivedTrack::Scopes(core), "Scopes", Some(group));
        self.add_derived(DerivedTrack::Sources(core), "Source lines", Some(group));
    }

    /// Finds where derived tracks of all devices belong, and adds those that need no query.
    pub(super) fn add_derived_of_all(&mut self, model: &TraceModel) {
        let of_kind = |wanted: fn(&GroupKind) -> bool| {
            self.nodes.iter().position(|node| {
                matches!(node.item, TreeItem::Group(group) if wanted(&model.group(group).kind))
            })
        };
        let is_device = |kind: &GroupKind| matches!(kind, GroupKind::TensorCore { .. });
        self.first_device = of_kind(is_device);
        self.after_devices = self
            .first_device
            .and_then(|_| of_kind(|kind| matches!(kind, GroupKind::HostProcess)));
        let has_ops = |core| model.track_of_kind(core, TrackKind::Ops).is_some();
        if model.tensor_cores().into_iter().any(has_ops) {
            self.path = Some(self.nodes.len());
            self.add_derived(DerivedTrack::CriticalPath, "Critical path", None);
        }
    }

    /// Siblings with the derived tracks that belong before one of them.
    pub(super) fn with_derived_before(&self, siblings: &[usize], rows: &VisibleRows) -> Vec<usize> {
        let first_query = self.nodes.len() - self.queries.len();
        let mut path = self.path.filter(|&path| rows.place[path] == NOWHERE);
        let mut out = Vec::with_capacity(siblings.len() + self.queries.len() + 1);
        for &node in siblings {
            if self.nodes[node].is_device {
                out.extend(path.take());
            }
            if Some(node) == self.after_devices {
                out.extend(first_query..self.nodes.len());
            }
            out.push(node);
        }
        out
    }

    /// The rows that can be switched on beside a track: those of its device.
    pub fn rows_beside(
        &self,
        model: &TraceModel,
        track: TrackId,
    ) -> Vec<(DerivedRows, &'static str)> {
        let group = model.track(track).group;
        let has = |wanted: DerivedTrack| {
            let item = TreeItem::Derived(wanted);
            self.nodes.iter().any(|node| node.item == item)
        };
        if !has(DerivedTrack::Scopes(group)) {
            return Vec::new();
        }
        DerivedRows::ALL.to_vec()
    }

    /// What a derived track shows, once it is known.
    pub fn derived(&self, track: DerivedTrack) -> Option<&Arc<DerivedData>> {
        self.derived.get(&track)
    }

    /// What the derived track of a node shows, once it is known.
    pub fn derived_of(&self, node: usize) -> Option<&Arc<DerivedData>> {
        self.derived(self.nodes.get(node)?.item.derived()?)
    }

    /// The queries that are tracks.
    pub fn queries(&self) -> &[QueryTrack] {
        &self.queries
    }

    /// Takes over what a derived track shows.
    pub fn set_derived(&mut self, track: DerivedTrack, data: Arc<DerivedData>) {
        self.show_derived(track, &data);
        self.derived.insert(track, data);
    }

    fn show_derived(&mut self, track: DerivedTrack, data: &DerivedData) {
        let item = TreeItem::Derived(track);
        let nodes = self.nodes.iter_mut().filter(|node| node.item == item);
        for node in nodes {
            node.lanes = (0, data.lanes.len());
            node.counter = data.bounds();
            node.note.clone_from(&data.note);
        }
    }

    /// This tree with tracks for these queries; what is known of queries stays.
    #[must_use]
    pub fn with_queries(&self, queries: &[QueryTrack]) -> Self {
        let mut tree = self.clone();
        tree.nodes.truncate(self.nodes.len() - self.queries.len());
        tree.derived
            .retain(|track, _| !matches!(track, DerivedTrack::Query(_)));
        tree.queries = queries.to_vec();
        for (number, query) in queries.iter().enumerate() {
            let track = DerivedTrack::Query(number);
            tree.add_derived(track, &query.title, None);
            let before = self.queries.iter().position(|known| known == query);
            let known = before.and_then(|before| self.derived(DerivedTrack::Query(before)));
            if let Some(data) = known {
                tree.show_derived(track, data);
                tree.derived.insert(track, Arc::clone(data));
            }
        }
        tree
    }
}
