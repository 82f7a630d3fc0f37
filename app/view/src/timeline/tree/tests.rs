//! Trees as pictures.

use super::*;
use crate::state::DerivedRows;
use trace_model::{GroupKind, TrackKind};
use trace_model::{SliceSpec, TimeRange, Timestamp, TraceBuilder};

fn model() -> TraceModel {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "worker-0");
    let cpu = builder.group(Some(host), GroupKind::HostProcess, "/host:CPU");
    let core = builder.group(
        Some(host),
        GroupKind::TensorCore { ordinal: 0 },
        "/device:TPU:0",
    );
    builder.group(Some(host), GroupKind::Custom, "/empty");
    let label = builder.label("op", None);
    let ops = builder.track(core, TrackKind::Ops, 3, "XLA Ops");
    let thread = builder.track(cpu, TrackKind::HostThread, 7, "main");
    builder.track(cpu, TrackKind::HostThread, 8, "nothing here");
    for (track, start, end) in [(ops, 0, 10), (ops, 2, 4), (thread, 0, 5)] {
        let range = TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
        builder.add_slice(track, SliceSpec::new(range, label));
    }
    builder.finish()
}

fn picture(tree: &TrackTree, rows: &VisibleRows) -> Vec<String> {
    rows.scrolled
        .iter()
        .map(|row| {
            let node = tree.node(row.node);
            let indent = "  ".repeat(usize::from(node.indent));
            let fold = if row.folded { "+" } else { "" };
            format!(
                "{} {indent}{fold}{} ({} lanes)",
                row.y, node.title, row.lanes
            )
        })
        .collect()
}

#[test]
fn devices_precede_threads_and_empty_tracks_are_omitted() {
    let model = model();
    let tree = TrackTree::new(&model);
    let rows = tree.rows(&ViewState::new(&model));
    assert_eq!(
        picture(&tree, &rows),
        [
            "0 worker-0 (0 lanes)",
            "28   TPU:0 (0 lanes)",
            "56     XLA Ops (2 lanes)",
            "108   Host threads (0 lanes)",
            "136     main (1 lanes)",
        ]
    );
}

#[test]
fn folding_hides_lanes_and_children() {
    let model = model();
    let tree = TrackTree::new(&model);
    let mut state = ViewState::new(&model);
    let ops = model
        .track_ids()
        .find(|&id| model.track(id).kind == TrackKind::Ops)
        .unwrap();
    let host = model.child_groups(None)[0];
    let cpu = model
        .group_ids()
        .find(|&id| model.group(id).kind == GroupKind::HostProcess)
        .unwrap();
    state.folded_tracks.insert(ops);
    state.folded_groups.insert(cpu);
    let rows = tree.rows(&state);
    assert_eq!(
        picture(&tree, &rows),
        [
            "0 worker-0 (0 lanes)",
            "28   TPU:0 (0 lanes)",
            "56     +XLA Ops (1 lanes)",
            "84   +Host threads (0 lanes)"
        ]
    );
    assert_eq!(tree.row_of(&rows, ops, 0.0).unwrap().0.lanes, 1);
    state.folded_groups.insert(host);
    assert_eq!(tree.rows(&state).scrolled.len(), 1);
    assert_eq!(tree.hidden_by(&model, ops, &state), [host]);
    assert!(tree.row_of(&tree.rows(&state), ops, 0.0).is_none());
}

#[test]
fn rows_of_a_device_are_there_once_and_only_beside_ops() {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "worker-0");
    let label = builder.label("op", None);
    for (ordinal, tracks) in [(0, 2), (1, 0)] {
        let core = builder.group(
            Some(host),
            GroupKind::TensorCore { ordinal },
            &format!("/device:TPU:{ordinal}"),
        );
        builder.track(core, TrackKind::Ops, 9, "nothing here");
        for number in 0..tracks {
            let ops = builder.track(core, TrackKind::Ops, number, "XLA Ops");
            let range = TimeRange::new(Timestamp::from_ps(0), Timestamp::from_ps(10));
            builder.add_slice(ops, SliceSpec::new(range, label));
        }
    }
    let model = builder.finish();
    let mut state = ViewState::new(&model);
    state.derived.insert(DerivedRows::Scopes);
    let tree = TrackTree::new(&model);
    assert_eq!(
        titles(&tree, &tree.rows(&state)),
        ["worker-0", "TPU:0", "Scopes", "XLA Ops", "XLA Ops"]
    );
}

#[test]
fn critical_path_is_above_the_first_device_that_is_shown() {
    let model = pod(1, 2);
    let tree = TrackTree::new(&model);
    let mut state = ViewState::new(&model);
    state.derived.insert(DerivedRows::CriticalPath);
    let cores = model.tensor_cores();
    state.folded_groups.extend(&cores);
    let shown = |state: &ViewState| titles(&tree, &tree.rows(state));
    assert_eq!(
        shown(&state),
        ["worker-0", "Critical path", "TPU:0", "TPU:1"]
    );
    let mut moved = state.clone();
    moved.moved_groups.insert(cores[0], 1);
    assert_eq!(
        shown(&moved),
        ["worker-0", "Critical path", "TPU:1", "TPU:0"]
    );
    state.ordered = Arc::new(vec![cores[1], cores[0]]);
    assert_eq!(shown(&state), ["Critical path", "TPU:1", "TPU:0"]);
}

fn titles<'a>(tree: &'a TrackTree, rows: &VisibleRows) -> Vec<&'a str> {
    let rows = rows.scrolled.iter();
    rows.map(|row| tree.node(row.node).title.as_str()).collect()
}

/// A pod of some hosts, with as many devices each.
fn pod(hosts: u32, devices: u32) -> TraceModel {
    let mut builder = TraceBuilder::new();
    let label = builder.label("op", None);
    for host in 0..hosts {
        let host = builder.group(None, GroupKind::Host, &format!("worker-{host}"));
        for ordinal in 0..devices {
            let core = builder.group(
                Some(host),
                GroupKind::TensorCore { ordinal },
                &format!("/device:TPU:{ordinal}"),
            );
            let ops = builder.track(core, TrackKind::Ops, i64::from(ordinal), "XLA Ops");
            let range = TimeRange::new(Timestamp::from_ps(0), Timestamp::from_ps(10));
            builder.add_slice(ops, SliceSpec::new(range, label));
        }
    }
    builder.finish()
}

#[test]
fn pod_of_many_hosts_does_not_scroll() {
    let model = pod(16, 4);
    let tree = TrackTree::new(&model);
    let state = ViewState::new(&model);
    for canvas in [660.0, 900.0] {
        let rows = tree.compacted(tree.rows(&state), canvas);
        assert_eq!(rows.scrolled.len(), 16 + 64);
        assert!(
            rows.max_scroll(canvas) <= 0.0,
            "{canvas}: {} of {}",
            rows.max_scroll(canvas),
            rows.height()
        );
        assert!(
            rows.max_scroll(canvas - 100.0) > 100.0,
            "with less room it does"
        );
    }
}

#[test]
fn folded_devices_of_a_pod_fit_one_screen() {
    let model = pod(1, 64);
    let tree = TrackTree::new(&model);
    let state = ViewState::new(&model);
    let canvas = 660.0;
    let rows = tree.compacted(tree.rows(&state), canvas);
    assert_eq!(
        rows.scrolled.len(),
        65,
        "so many devices are folded at first"
    );
    assert!(rows.max_scroll(canvas) <= 0.0, "{}", rows.height());
    assert!(
        rows.scrolled
            .windows(2)
            .all(|pair| (pair[0].y + pair[0].height - pair[1].y).abs() < 1e-3)
    );
    let wide = tree.compacted(tree.rows(&state), 4_000.0);
    assert_eq!(wide, tree.rows(&state), "with room for all, none is lower");
    let (row, _) = tree
        .summary_of(&rows, model.track_ids().nth(63).unwrap(), 63, 0.0)
        .unwrap();
    assert!(
        (row.y + row.height - rows.height()).abs() < 1e-3,
        "the ops of the last device lie in its heading"
    );
}

#[test]
fn rows_can_be_pinned_hidden_filtered_and_moved() {
    let model = model();
    let tree = TrackTree::new(&model);
    let mut state = ViewState::new(&model);
    let track = |kind| {
        model
            .track_ids()
            .find(|&id| model.track(id).kind == kind)
            .unwrap()
    };
    let (ops, main) = (track(TrackKind::Ops), track(TrackKind::HostThread));
    state.pinned.push(main);
    let rows = tree.rows(&state);
    assert_eq!(rows.pinned.len(), 1);
    assert_eq!(picture(&tree, &rows).len(), 4, "it is not shown twice");
    assert!(tree.row_of(&rows, main, 500.0).unwrap().0.y.abs() < 1e-6);
    let (row, stays) = tree.row_of(&rows, ops, 10.0).unwrap();
    assert!(!stays && (row.y - (56.0 - 10.0 + rows.pinned_height())).abs() < 1e-3);

    state.pinned.clear();
    state.track_filter = "MAIN".to_owned();
    let titles = |rows: &VisibleRows| {
        rows.scrolled
            .iter()
            .map(|r| tree.node(r.node).title.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        titles(&tree.rows(&state)),
        ["worker-0", "Host threads", "main"]
    );
    state.track_filter = "tpu".to_owned();
    assert_eq!(titles(&tree.rows(&state)), ["worker-0", "TPU:0", "XLA Ops"]);
    state.track_filter.clear();
    state.hidden_tracks.insert(ops);
    assert!(tree.row_of(&tree.rows(&state), ops, 0.0).is_none());
    assert_eq!(
        titles(&tree.rows(&state)),
        ["worker-0", "Host threads", "main"],
        "no heading without tracks"
    );
    state.hidden_tracks.clear();
    let core = model.track(ops).group;
    state.moved_groups.insert(core, 1);
    assert_eq!(
        titles(&tree.rows(&state)),
        ["worker-0", "Host threads", "main", "TPU:0", "XLA Ops"]
    );
}

#[test]
fn long_numbers_are_grouped() {
    assert_eq!(group_digits(7), "7");
    assert_eq!(group_digits(1_234), "1,234");
    assert_eq!(group_digits(123_456_789), "123,456,789");
}
