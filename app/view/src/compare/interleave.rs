//! Two lists of tracks as one: below each track of A its matching track of B.
//!
//! ```text
//! A   TPU:0        heading of both
//! A   ops
//! B   ops
//! A   steps        B has none
//! B   memory       A has none: after what is in the group
//! ```

use super::{MatchingTracks, TraceSide};
use crate::prelude::*;
use crate::state::TreeItem;
use crate::timeline::tree::{TrackRow, TrackTree, VisibleRows};

/// The rows of A and of B, placed so that both can be drawn in the same area. A heading that both have becomes a row of
/// A only.
pub fn interleave(
    rows: [&VisibleRows; 2],
    trees: [&TrackTree; 2],
    places: &MatchingTracks,
) -> [VisibleRows; 2] {
    let scrolled = InterleavedRows::of([&rows[0].scrolled, &rows[1].scrolled], trees, places);
    let pinned = InterleavedRows::of([&rows[0].pinned, &rows[1].pinned], trees, places);
    let ends = (scrolled.end, pinned.end);
    let ([a, b], [pinned_a, pinned_b]) = (scrolled.rows, pinned.rows);
    [
        VisibleRows::placed(a, pinned_a, ends, trees[0].nodes().len()),
        VisibleRows::placed(b, pinned_b, ends, trees[1].nodes().len()),
    ]
}

/// The rows of B that follow a row of A.
#[derive(Clone, Default)]
struct RowsAfter {
    partner: Option<TrackRow>,
    /// Rows of B without a match.
    alone: Vec<TrackRow>,
}

#[derive(Default)]
struct InterleavedRows {
    rows: [Vec<TrackRow>; 2],
    end: f32,
}

impl InterleavedRows {
    /// Interleaves rows in display order: headings before the content of their group.
    fn of([a, b]: [&[TrackRow]; 2], trees: [&TrackTree; 2], places: &MatchingTracks) -> Self {
        let ends = ends(a, trees[0]);
        let row_of_item: BTreeMap<TreeItem, usize> = a
            .iter()
            .enumerate()
            .map(|(index, row)| (trees[0].node(row.node).item, index))
            .collect();
        // One more for rows that have no place in A.
        let mut after = vec![RowsAfter::default(); a.len() + 1];
        // Groups of B around a row, with the row of A after which their unmatched rows are placed.
        let mut around: Vec<(usize, usize)> = Vec::new();
        for row in b {
            let item = trees[1].node(row.node).item;
            // Wherever its row is, its node is the last one.
            let is_derived = item.derived().is_some();
            while !is_derived
                && around
                    .last()
                    .is_some_and(|&(group, _)| !trees[1].is_within(row.node, group))
            {
                around.pop();
            }
            let partner = places
                .item(TraceSide::B, item)
                .and_then(|item| row_of_item.get(&item).copied());
            let outside = around.last().map_or(a.len(), |&(_, last)| last);
            if matches!(item, TreeItem::Group(_)) {
                let last = partner
                    .and_then(|index| ends.get(index).copied())
                    .unwrap_or(outside);
                around.push((row.node, last));
            }
            match (item, partner) {
                (TreeItem::Group(_), Some(_)) => {}
                (TreeItem::Track(_) | TreeItem::Derived(_), Some(index)) => {
                    after[index].partner = Some(*row);
                }
                (_, None) => after[outside].alone.push(*row),
            }
        }
        let mut interleaved = Self::default();
        for (index, after) in after.into_iter().enumerate() {
            let is_joined = after.partner.is_some();
            a.get(index)
                .into_iter()
                .for_each(|row| interleaved.push(TraceSide::A, TrackRow { is_joined, ..*row }));
            after
                .partner
                .into_iter()
                .chain(after.alone)
                .for_each(|row| interleaved.push(TraceSide::B, row));
        }
        interleaved
    }

    fn push(&mut self, side: TraceSide, row: TrackRow) {
        self.rows[side.index()].push(TrackRow { y: self.end, ..row });
        self.end += row.height;
    }
}

/// By row: the last row of its group.
fn ends(rows: &[TrackRow], tree: &TrackTree) -> Vec<usize> {
    let mut ends: Vec<usize> = (0..rows.len()).collect();
    let mut open: Vec<usize> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        if tree.node(row.node).item.derived().is_some() {
            continue;
        }
        while open
            .last()
            .is_some_and(|&group| !tree.is_within(row.node, rows[group].node))
        {
            open.pop();
        }
        for &group in &open {
            ends[group] = index;
        }
        open.push(index);
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{DerivedRows, DerivedTrack, QueryTrack, ViewCommand, ViewState};
    use trace_model::{
        GroupKind, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel, TrackKind,
    };

    /// A host with cores, each with tracks; `x` is an op.
    fn model(host: &str, cores: &[(&str, &[&str])]) -> TraceModel {
        let mut builder = TraceBuilder::new();
        let group = builder.group(None, GroupKind::Host, host);
        let label = builder.label("x", None);
        for (i, (core, tracks)) in cores.iter().enumerate() {
            let core = builder.group(
                Some(group),
                GroupKind::TensorCore { ordinal: i as u32 },
                core,
            );
            for (number, name) in tracks.iter().enumerate() {
                let track = builder.track(core, TrackKind::Ops, number as i64, name);
                let range = TimeRange::new(Timestamp::from_ps(0), Timestamp::from_ps(100));
                builder.add_slice(track, SliceSpec::new(range, label));
            }
        }
        builder.finish()
    }

    /// All rows from top to bottom, as `A name`.
    fn picture(
        models: [&TraceModel; 2],
        change: impl Fn(TraceSide, &mut ViewState),
    ) -> (Vec<String>, Vec<String>) {
        let states = TraceSide::BOTH.map(|side| {
            let mut state = ViewState::new(models[side.index()]);
            change(side, &mut state);
            state
        });
        let trees = TraceSide::BOTH.map(|side| {
            let tree = TrackTree::new(models[side.index()]);
            tree.with_queries(&states[side.index()].queries)
        });
        let rows = TraceSide::BOTH.map(|side| trees[side.index()].rows(&states[side.index()]));
        let places = MatchingTracks::new(models[0], models[1]);
        let both = interleave([&rows[0], &rows[1]], [&trees[0], &trees[1]], &places);
        assert!(
            (both[0].height() - both[1].height()).abs() < 1e-3,
            "both scroll alike"
        );
        let list = |part: fn(&VisibleRows) -> &Vec<TrackRow>| {
            let mut all: Vec<(f32, f32, String)> = Vec::new();
            for side in TraceSide::BOTH {
                let own = part(&both[side.index()]);
                assert!(
                    own.windows(2).all(|pair| pair[0].y < pair[1].y),
                    "in the order in which they lie"
                );
                for row in own {
                    let title = format!(
                        "{} {}",
                        side.name(),
                        trees[side.index()].node(row.node).title
                    );
                    all.push((row.y, row.y + row.height, title));
                    if let TreeItem::Track(track) = trees[side.index()].node(row.node).item {
                        let found = trees[side.index()].row_of(&both[side.index()], track, 0.0);
                        assert!(found.is_some(), "it is found by its track");
                    }
                }
            }
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert!(
                all.windows(2)
                    .all(|pair| (pair[0].1 - pair[1].0).abs() < 1e-3),
                "without gaps: {all:?}"
            );
            all.into_iter().map(|(.., title)| title).collect::<Vec<_>>()
        };
        (list(|rows| &rows.scrolled), list(|rows| &rows.pinned))
    }

    #[test]
    fn matched_tracks_are_adjacent_and_others_follow_in_their_group() {
        let a = model("host", &[("TPU:0", &["ops", "steps"]), ("TPU:1", &["ops"])]);
        let b = model(
            "other",
            &[
                ("TPU:0", &["memory", "ops"]),
                ("TPU:2", &["ops"]),
                ("TPU:3", &["new"]),
            ],
        );
        let (scrolled, pinned) = picture([&a, &b], |_, _| {});
        let expected = [
            "A host", "A TPU:0", "A ops", "B ops", "A steps", "B memory", "A TPU:1", "A ops",
            "B ops", "B TPU:3", "B new",
        ];
        assert_eq!(scrolled, expected);
        assert!(pinned.is_empty());
    }

    #[test]
    fn derived_rows_are_beside_their_counterparts() {
        let a = model("host", &[("TPU:0", &["ops"])]);
        let b = model("host", &[("TPU:0", &["ops"])]);
        let (scrolled, _) = picture([&a, &b], |side, state| {
            let model = if side == TraceSide::A { &a } else { &b };
            for rows in [DerivedRows::CriticalPath, DerivedRows::Scopes] {
                state.apply(&ViewCommand::ShowRows(rows, true), model);
            }
            if side == TraceSide::B {
                let query = QueryTrack {
                    title: "mine".to_owned(),
                    sql: String::new(),
                };
                state.apply(&ViewCommand::AddQuery(query), model);
            }
        });
        let expected = [
            "A host",
            "A Critical path",
            "B Critical path",
            "A TPU:0",
            "A Scopes",
            "B Scopes",
            "A ops",
            "B ops",
            "B mine",
        ];
        assert_eq!(scrolled, expected);
    }

    #[test]
    fn rows_hidden_on_all_devices_are_hidden_in_both_traces() {
        let a = model("host", &[("TPU:0", &["ops"]), ("TPU:1", &["ops"])]);
        let b = model("host", &[("TPU:0", &["ops"])]);
        let places = MatchingTracks::new(&a, &b);
        for core in a.tensor_cores() {
            let hide = ViewCommand::Hide(TreeItem::Derived(DerivedTrack::Scopes(core)), true);
            assert_eq!(
                places.mirrored(TraceSide::A, &hide),
                Some(ViewCommand::ShowRows(DerivedRows::Scopes, false))
            );
        }
    }

    #[test]
    fn tracks_folded_or_pinned_on_both_sides_stay_together() {
        let a = model("host", &[("TPU:0", &["ops", "steps"])]);
        let b = model("host", &[("TPU:0", &["ops", "memory"])]);
        let (scrolled, pinned) = picture([&a, &b], |side, state| {
            let model = if side == TraceSide::A { &a } else { &b };
            let ops = model.track_ids().next().unwrap();
            state.apply(&ViewCommand::Pin(ops, true), model);
        });
        assert_eq!(pinned, ["A ops", "B ops"]);
        assert_eq!(scrolled, ["A host", "A TPU:0", "A steps", "B memory"]);
        // Only B is folded, which can happen before the two are compared.
        let (scrolled, _) = picture([&a, &b], |side, state| {
            if side == TraceSide::B {
                state.apply(&ViewCommand::FoldAll(true), &b);
            }
        });
        assert_eq!(scrolled, ["A host", "A TPU:0", "A ops", "A steps"]);
        let nothing = TraceBuilder::new().finish();
        assert_eq!(
            picture([&nothing, &b], |_, _| {}).0,
            ["B host", "B TPU:0", "B memory", "B ops"]
        );
        assert_eq!(picture([&a, &nothing], |_, _| {}).0.len(), 4);
    }
}
