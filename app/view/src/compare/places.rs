//! Matching groups and tracks of two traces, by name and kind, so that folding, pinning and marking apply to both.

use crate::prelude::*;

use super::TraceSide;
use crate::state::{DerivedTrack, Panel, TreeItem, ViewCommand};

/// The matches, in both directions.
#[derive(Debug, Default)]
pub struct MatchingTracks {
    groups: [BTreeMap<GroupId, GroupId>; 2],
    tracks: [BTreeMap<TrackId, TrackId>; 2],
}

impl MatchingTracks {
    /// Matches two traces. Children of matching groups are matched by name, then by kind, because the same program
    /// often runs on hosts with different names.
    pub fn new(a: &TraceModel, b: &TraceModel) -> Self {
        let mut places = Self::default();
        let mut open = vec![(None, None)];
        while let Some((first, second)) = open.pop() {
            let (children_a, children_b) = (a.child_groups(first), b.child_groups(second));
            let name_a = |id: &GroupId| a.str(a.group(*id).name).to_owned();
            let name_b = |id: &GroupId| b.str(b.group(*id).name).to_owned();
            let mut pairs = paired(&children_a, &children_b, name_a, name_b);
            let left = |all: &[GroupId], taken: &BTreeSet<GroupId>| -> Vec<GroupId> {
                all.iter()
                    .copied()
                    .filter(|id| !taken.contains(id))
                    .collect()
            };
            let rest_a = left(&children_a, &pairs.iter().map(|pair| pair.0).collect());
            let rest_b = left(&children_b, &pairs.iter().map(|pair| pair.1).collect());
            pairs.extend(paired(
                &rest_a,
                &rest_b,
                |id| a.group(*id).kind,
                |id| b.group(*id).kind,
            ));
            for (first, second) in pairs {
                places.groups[0].insert(first, second);
                places.groups[1].insert(second, first);
                places.pair_tracks(a, b, first, second);
                open.push((Some(first), Some(second)));
            }
        }
        places
    }

    fn pair_tracks(&mut self, a: &TraceModel, b: &TraceModel, first: GroupId, second: GroupId) {
        let (of_a, of_b) = (a.tracks_of(first), b.tracks_of(second));
        let key_a = |id: &TrackId| (a.track(*id).kind, a.str(a.track(*id).name).to_owned());
        let key_b = |id: &TrackId| (b.track(*id).kind, b.str(b.track(*id).name).to_owned());
        for (first, second) in paired(&of_a, &of_b, key_a, key_b) {
            self.tracks[0].insert(first, second);
            self.tracks[1].insert(second, first);
        }
    }

    /// The matching track of the other side.
    pub fn track(&self, from: TraceSide, track: TrackId) -> Option<TrackId> {
        self.tracks[from.index()].get(&track).copied()
    }

    fn group(&self, from: TraceSide, group: GroupId) -> Option<GroupId> {
        self.groups[from.index()].get(&group).copied()
    }

    /// The matching group or track of the other side.
    pub(super) fn item(&self, from: TraceSide, item: TreeItem) -> Option<TreeItem> {
        Some(match item {
            TreeItem::Group(group) => TreeItem::Group(self.group(from, group)?),
            TreeItem::Track(track) => TreeItem::Track(self.track(from, track)?),
            TreeItem::Derived(track) => TreeItem::Derived(match track {
                DerivedTrack::CriticalPath => DerivedTrack::CriticalPath,
                DerivedTrack::Scopes(core) => DerivedTrack::Scopes(self.group(from, core)?),
                DerivedTrack::Sources(core) => DerivedTrack::Sources(self.group(from, core)?),
                // Each trace has its own queries.
                DerivedTrack::Query(_) => return None,
            }),
        })
    }

    /// The matching tracks of the other side.
    pub fn tracks(&self, from: TraceSide, tracks: &BTreeSet<TrackId>) -> BTreeSet<TrackId> {
        tracks
            .iter()
            .filter_map(|&track| self.track(from, track))
            .collect()
    }

    /// The command for the other side that corresponds to a command about tracks or search; `None` if there is none.
    /// Commands about times are not handled here.
    pub fn mirrored(&self, from: TraceSide, command: &ViewCommand) -> Option<ViewCommand> {
        use ViewCommand as C;
        Some(match command {
            C::FoldGroup(group, fold) => C::FoldGroup(self.group(from, *group)?, *fold),
            C::FoldTrack(track, fold) => C::FoldTrack(self.track(from, *track)?, *fold),
            C::Pin(track, pin) => C::Pin(self.track(from, *track)?, *pin),
            C::PinEverywhere(track, pin) => C::PinEverywhere(self.track(from, *track)?, *pin),
            C::TrackHeight(track, times) => C::TrackHeight(self.track(from, *track)?, *times),
            // The rows of all devices, also where the other trace lacks this one.
            C::Hide(TreeItem::Derived(track), true) => C::ShowRows(track.rows()?, false),
            C::Hide(item, hide) => C::Hide(self.item(from, *item)?, *hide),
            C::Move(item, by) => C::Move(self.item(from, *item)?, *by),
            C::FoldAll(_)
            | C::ShowRows(..)
            | C::ShowAllTracks
            | C::HideEmpty
            | C::FilterTracks(_)
            | C::ScrollTo(_)
            | C::Search(_)
            | C::ShowPanel(Panel::Search, false)
            | C::Highlight(None)
            | C::Isolate(_)
            | C::MarkAll
            | C::Deselect => command.clone(),
            _ => return None,
        })
    }
}

/// Pairs the n-th element with a key with the n-th element of the same key.
fn paired<T: Copy, K: Ord>(
    a: &[T],
    b: &[T],
    key_a: impl Fn(&T) -> K,
    key_b: impl Fn(&T) -> K,
) -> Vec<(T, T)> {
    let mut waiting: BTreeMap<K, std::collections::VecDeque<T>> = BTreeMap::new();
    for id in b {
        waiting.entry(key_b(id)).or_default().push_back(*id);
    }
    a.iter()
        .filter_map(|id| Some((*id, waiting.get_mut(&key_a(id))?.pop_front()?)))
        .collect()
}
