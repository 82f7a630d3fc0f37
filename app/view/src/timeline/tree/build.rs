//! Builds the tree from the groups and tracks of a trace: their order, titles and notes.

use crate::prelude::*;
use trace_model::CounterSeries;

use super::{TrackNode, TrackTree};
use crate::state::{TreeItem, is_async};
use crate::timeline::counter_peaks::CounterPeaks;
use crate::timeline::group_load::GroupLoad;

impl TrackTree {
    /// The tree of `model`.
    pub fn new(model: &TraceModel) -> Self {
        let mut tree = Self {
            of_track: vec![None; model.tracks().len()],
            of_group: vec![None; model.groups().len()],
            ..Self::default()
        };
        for group in sorted_groups(model, None) {
            tree.add_group(model, group, None);
        }
        tree.add_derived_of_all(model);
        tree
    }

    fn add_group(&mut self, model: &TraceModel, group: GroupId, parent: Option<usize>) {
        let index = self.nodes.len();
        let indent = parent.map_or(0, |parent| self.nodes[parent].indent.saturating_add(1));
        let (title, note) = describe_group(model, group);
        self.nodes.push(TrackNode {
            indent,
            note,
            group: parent,
            is_device: matches!(model.group(group).kind, GroupKind::TensorCore { .. }),
            ..TrackNode::new(TreeItem::Group(group), title, index)
        });
        let mut tracks = model.tracks_of(group);
        tracks.sort_by_key(|&track| rank(model.track(track).kind));
        let is_device = self.nodes[index].is_device;
        let has_ops = |track: &TrackId| {
            model.track(*track).kind == TrackKind::Ops && !model.lanes(*track).is_empty()
        };
        let ops = tracks.iter().copied().find(has_ops).filter(|_| is_device);
        for track in tracks {
            if Some(track) == ops {
                self.add_rows_of(group, index);
            }
            self.add_track(model, track, index);
        }
        for child in sorted_groups(model, Some(group)) {
            self.add_group(model, child, Some(index));
        }
        if self.nodes.len() == index + 1 {
            // An empty group would be a heading that only takes space.
            self.nodes.pop();
        } else {
            self.of_group[group.index()] = Some(index);
            self.nodes[index].end = self.nodes.len();
            let tracks: Vec<TrackId> = self.tracks_in(index).collect();
            self.nodes[index].load = GroupLoad::of(model, &tracks);
        }
    }

    fn add_track(&mut self, model: &TraceModel, track: TrackId, group: usize) {
        let lanes = model.lanes(track);
        let series = model
            .counter(track)
            .filter(|series| lanes.is_empty() && !series.is_empty());
        if lanes.is_empty() && series.is_none() {
            return;
        }
        let name = model.str(model.track(track).name);
        let title = if name.is_empty() {
            format!("Track {}", model.track(track).external_id)
        } else {
            name.to_owned()
        };
        let slices: usize = lanes.iter().map(trace_model::Lane::len).sum();
        if let Some(peaks) = series.and_then(CounterPeaks::new) {
            Arc::make_mut(&mut self.peaks).insert(track, peaks);
        }
        let counter = series.map(bounds);
        let note = match series {
            Some(series) => counted(series.len() as u64, "sample"),
            None => counted(slices as u64, "slice"),
        };
        let index = self.nodes.len();
        self.of_track[track.index()] = Some(index);
        let lanes = (model.first_lane_index(track), lanes.len());
        self.nodes.push(TrackNode {
            indent: self.nodes[group].indent.saturating_add(1),
            note,
            group: Some(group),
            lanes,
            counter,
            is_async: is_async(model.track(track).kind),
            ..TrackNode::new(TreeItem::Track(track), title, index)
        });
    }
}

/// Sort key: the most important kinds come first; equal ones keep the recorded order.
fn rank(kind: TrackKind) -> u8 {
    match kind {
        TrackKind::Steps => 0,
        TrackKind::Modules => 1,
        TrackKind::Ops | TrackKind::Stream => 2,
        TrackKind::AsyncOps => 3,
        TrackKind::HostThread | TrackKind::Async | TrackKind::Other => 4,
        TrackKind::DeviceScopes => 5,
        TrackKind::Counter => 6,
        TrackKind::Derived => 7,
        TrackKind::LowLevel => 8,
    }
}

/// Children of `parent`, devices before host threads, because they matter most.
fn sorted_groups(model: &TraceModel, parent: Option<GroupId>) -> Vec<GroupId> {
    let mut groups = model.child_groups(parent);
    groups.sort_by_key(|&id| match model.group(id).kind {
        GroupKind::Host | GroupKind::Process { .. } => 0,
        GroupKind::TensorCore { .. } | GroupKind::Gpu { .. } | GroupKind::SparseCore { .. } => 1,
        GroupKind::Chip | GroupKind::Custom => 2,
        GroupKind::HostProcess => 3,
    });
    groups
}

fn describe_group(model: &TraceModel, id: GroupId) -> (String, String) {
    let group = model.group(id);
    let name = model.str(group.name);
    let short = name
        .strip_prefix("/device:")
        .or_else(|| name.strip_prefix("/host:"))
        .unwrap_or(name);
    let title = match group.kind {
        GroupKind::Host if name.is_empty() => "Host".to_owned(),
        GroupKind::HostProcess if short == "CPU" => "Host threads".to_owned(),
        _ if short.is_empty() => "(unnamed)".to_owned(),
        _ => short.to_owned(),
    };
    let note = match group.kind {
        GroupKind::TensorCore { .. } => group
            .device
            .as_ref()
            .and_then(|device| device.type_name.clone())
            .unwrap_or_default(),
        // A negative number stands for a process that the file identifies by a text; it is not shown.
        GroupKind::Process { pid } if pid < 0 => String::new(),
        GroupKind::Process { pid } => format!("pid {pid}"),
        _ => String::new(),
    };
    (title, note)
}

/// What a counter is drawn between. One that never changes carries no information, so it is a thin line at the bottom,
/// unless it has a value only now and then.
fn bounds(series: &CounterSeries) -> (f64, f64) {
    let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut held_until, mut has_gaps) = (None, false);
    for (range, value) in series.samples() {
        (min, max) = (min.min(value), max.max(value));
        has_gaps |= held_until.is_some_and(|end| end < range.start);
        held_until = Some(range.end);
    }
    if min < max || has_gaps {
        (min.min(0.0), max.max(0.0))
    } else {
        (min, max)
    }
}
