//! Boxes of derived tracks.

use std::sync::Arc;

use super::*;
use crate::state::{DerivedTrack, QueryTrack};
use crate::timeline::derived::{DerivedData, DerivedLane, DerivedName, DerivedSlice};
use trace_model::Picos;

fn slice(start: i64, end: i64) -> DerivedSlice {
    DerivedSlice {
        range: range(start, end),
        time: Picos::from_ps(end - start),
        name: 0,
        color: ColorKey(1),
        slice: None,
    }
}

/// `left-right`, and how many slices each box holds, at one point a picosecond.
fn boxes(slices: Vec<DerivedSlice>) -> Vec<String> {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::HostProcess, "/host:CPU");
    let track = builder.track(host, TrackKind::HostThread, 1, "main");
    let label = builder.label("x", None);
    builder.add_slice(track, SliceSpec::new(range(0, 100), label));
    let model = builder.finish();
    let mut drawn = Drawn::new(&model);
    let query = QueryTrack {
        title: "mine".to_owned(),
        sql: String::new(),
    };
    let data = DerivedData {
        names: vec![DerivedName::new("a name")],
        lanes: vec![DerivedLane::from(slices)],
        ..DerivedData::default()
    };
    drawn.tree = drawn.tree.with_queries(std::slice::from_ref(&query));
    drawn
        .tree
        .set_derived(DerivedTrack::Query(0), Arc::new(data));
    let mut state = ViewState::new(&model);
    state.queries.push(query);
    let rows = drawn.tree.rows(&state);
    let mut list = DrawList::default();
    let window = drawn.window(range(0, 100), &rows, (100.0, 200.0));
    list.fill(drawn.scene(), &window, &mut LaneTiles::default());
    let found = list.scrolled.derived.iter().map(|drawn| {
        let text = drawn.written();
        let (left, right, height) = (drawn.left, drawn.right, drawn.height);
        format!("{left}-{right} {} {height} {text}", drawn.hit.count)
    });
    let found: Vec<String> = found.map(|text| text.trim().to_owned()).collect();
    for drawn in &list.scrolled.derived {
        let middle = f32::midpoint(drawn.left, drawn.right);
        let hit = list.derived_at(middle, drawn.top + 0.5);
        assert!(hit.is_some_and(|hit| hit.hit.track == drawn.hit.track));
    }
    found
}

#[test]
fn short_slices_are_joined_and_long_ones_have_names() {
    let found = boxes(vec![
        slice(0, 40),
        slice(50, 51),
        slice(51, 52),
        slice(52, 53),
        slice(60, 61),
        slice(61, 90),
    ]);
    assert_eq!(
        found,
        [
            "0-40 1 23 a name",
            "50-52 2 23",
            "52-54 1 11.5",
            "60-62 1 11.5",
            "61-90 1 23 a name"
        ]
    );
}

#[test]
fn many_slices_need_no_more_boxes_than_there_are_points() {
    let slices = (0..100_000).map(|i| {
        let at = Timestamp::from_ps(i / 1000);
        DerivedSlice {
            range: TimeRange::new(at, at),
            ..slice(0, 0)
        }
    });
    let found = boxes(slices.collect());
    // At the border of two columns rounding may divide one.
    assert!((50..=100).contains(&found.len()), "{}", found.len());
}
