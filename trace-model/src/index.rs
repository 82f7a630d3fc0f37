//! Indexes of groups and tracks for frequent queries. A file can have hundreds of thousands of them, so a query must
//! not scan all.

use std::collections::{BTreeMap, BTreeSet};

use crate::counters::CounterSeries;
use crate::strings::{StringId, StringTable};
use crate::track::{Group, GroupId, GroupKind, HostId, Lane, SourceId, Track, TrackId};

/// Children and tracks of groups, counters of tracks.
#[derive(Debug, Default)]
pub(crate) struct ModelIndex {
    /// Groups without a parent, in display order.
    top: Vec<GroupId>,
    /// Children of group `i`, in display order.
    children: Vec<Vec<GroupId>>,
    /// Tracks of group `i`, in display order.
    tracks: Vec<Vec<TrackId>>,
    /// Index of the counter series of track `i`; [`NONE`] without one.
    counters: Vec<u32>,
    /// For each block of [`BLOCK`] rows of slices, the lane of its first row.
    first_lanes: Vec<u32>,
    /// The host of group `i`.
    hosts: Vec<HostId>,
    /// Names of groups that several hosts have.
    shared_names: BTreeSet<StringId>,
}

/// No counter.
const NONE: u32 = u32::MAX;

/// Rows per entry of [`ModelIndex::first_lanes`].
const BLOCK: u32 = 256;

impl ModelIndex {
    pub fn new(
        groups: &[Group],
        tracks: &[Track],
        lanes: &[Lane],
        counters: &[CounterSeries],
        strings: &StringTable,
    ) -> Self {
        let rows = lanes.last().map_or(0, |lane| lane.rows.end);
        let lane_of = |row| lanes.partition_point(|lane| lane.rows.end <= row) as u32;
        let mut index = Self {
            first_lanes: (0..rows).step_by(BLOCK as usize).map(lane_of).collect(),
            children: vec![Vec::new(); groups.len()],
            tracks: vec![Vec::new(); groups.len()],
            counters: vec![NONE; tracks.len()],
            hosts: hosts(groups),
            ..Self::default()
        };
        let mut host_of: BTreeMap<StringId, HostId> = BTreeMap::new();
        for ((id, group), &host) in (0..).map(GroupId).zip(groups).zip(&index.hosts) {
            let siblings = match group.parent {
                Some(parent) => index.children.get_mut(parent.index()),
                None => Some(&mut index.top),
            };
            if let Some(siblings) = siblings {
                siblings.push(id);
            }
            if *host_of.entry(group.name).or_insert(host) != host {
                index.shared_names.insert(group.name);
            }
        }
        for (id, track) in (0..).map(TrackId).zip(tracks) {
            if let Some(of_group) = index.tracks.get_mut(track.group.index()) {
                of_group.push(id);
            }
        }
        for (number, series) in (0..).zip(counters) {
            // If a track has several series, the first one counts.
            if let Some(slot @ &mut NONE) = index.counters.get_mut(series.track.index()) {
                *slot = number;
            }
        }
        for siblings in index.children.iter_mut().chain([&mut index.top]) {
            siblings.sort_by_key(|&id| {
                let group = &groups[id.index()];
                (group.sort, group.kind, strings.get(group.name), id)
            });
        }
        for of_group in &mut index.tracks {
            of_group.sort_by_key(|&id| {
                let track = &tracks[id.index()];
                (track.sort, strings.get(track.name), id)
            });
        }
        index
    }

    /// Groups directly below `parent`, or at the top.
    pub fn children(&self, parent: Option<GroupId>) -> &[GroupId] {
        match parent {
            Some(parent) => self.children.get(parent.index()).map_or(&[], Vec::as_slice),
            None => &self.top,
        }
    }

    /// Tracks of a group.
    pub fn tracks(&self, group: GroupId) -> &[TrackId] {
        self.tracks.get(group.index()).map_or(&[], Vec::as_slice)
    }

    /// Which counter series a track has.
    pub fn counter(&self, track: TrackId) -> Option<usize> {
        self.counters
            .get(track.index())
            .filter(|&&number| number != NONE)
            .map(|&number| number as usize)
    }

    /// Lanes among which that of a row of slices is; the end may lie beyond the last lane.
    pub fn lanes_near(&self, row: u32) -> (usize, usize) {
        let block = (row / BLOCK) as usize;
        let lane = |block: usize| self.first_lanes.get(block).map(|&lane| lane as usize);
        (
            lane(block).unwrap_or(0),
            lane(block + 1).map_or(usize::MAX, |lane| lane + 1),
        )
    }

    /// The host of a group.
    pub fn host(&self, group: GroupId) -> Option<HostId> {
        self.hosts.get(group.index()).copied()
    }

    /// Whether groups of several hosts have this name.
    pub fn is_shared(&self, name: StringId) -> bool {
        self.shared_names.contains(&name)
    }
}

/// The host of each group: its file, unless the file has devices of several hosts.
fn hosts(groups: &[Group]) -> Vec<HostId> {
    let mut outermost: Vec<GroupId> = Vec::with_capacity(groups.len());
    let mut with_devices: BTreeMap<SourceId, BTreeSet<GroupId>> = BTreeMap::new();
    for (id, group) in (0..).map(GroupId).zip(groups) {
        // Parents come first.
        let parent = group
            .parent
            .and_then(|parent| outermost.get(parent.index()));
        let outer = parent.copied().unwrap_or(id);
        outermost.push(outer);
        let is_of_host = groups
            .get(outer.index())
            .is_some_and(|group| group.kind == GroupKind::Host);
        if is_of_host && matches!(group.kind, GroupKind::TensorCore { .. }) {
            with_devices.entry(group.source).or_default().insert(outer);
        }
    }
    let host = |(group, outer): (&Group, GroupId)| {
        let hosts = with_devices.get(&group.source);
        let is_one_of_several =
            hosts.is_some_and(|hosts| hosts.len() > 1 && hosts.contains(&outer));
        HostId {
            source: group.source,
            group: is_one_of_several.then_some(outer),
        }
    };
    groups.iter().zip(outermost).map(host).collect()
}
