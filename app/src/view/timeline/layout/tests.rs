//! Layouts as text: one point is one picosecond unless stated otherwise.

use std::fmt::Write as _;

use trace_model::LodIndex;

use super::*;
use crate::view::state::{ViewCommand, ViewState};
use crate::view::timeline::tree::TrackTree;
use crate::view::viewport::Viewport;
use trace_model::{FlowEnd, GroupKind, Picos, SliceSpec, TimeRange, Timestamp, TraceBuilder, TrackKind};

fn range(start: i64, end: i64) -> TimeRange {
    TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end))
}

/// Lays out `model` in a window of 100 × 200 points that shows `time`.
fn picture(model: &TraceModel, time: TimeRange, change: impl Fn(&mut ViewState)) -> String {
    let (lod, tree) = (LodIndex::build(model), TrackTree::new(model));
    let mut state = ViewState::new(model);
    change(&mut state);
    let rows = tree.rows(&state);
    let window = LayoutWindow {
        time: Viewport::of(time),
        rows: &rows,
        scroll: state.place.scroll,
        width: 100.0,
        height: 200.0,
        selection: state.place.selection,
        highlighted: None,
        arrows: true,
        flow: state.flow,
    };
    let mut list = DrawList::default();
    list.fill(DrawnTrace { model, lod: &lod, tree: &tree }, &window, &mut LaneTiles::default());
    show(&list, model, &tree)
}

fn show(list: &DrawList, model: &TraceModel, tree: &TrackTree) -> String {
    let mut out = String::new();
    for row in &list.scrolled.rows {
        let _ = writeln!(out, "row {} {}", row.y, tree.node(row.node).title);
        let inside = |top: f32| row.y <= top && top < row.y + row.height;
        for b in list.scrolled.boxes.iter().filter(|b| inside(b.top)) {
            let name = model.slice(b.slice).name();
            let text = if b.has_text { " text" } else { "" };
            let _ = write!(out, "  {:.0}..{:.0} at {} {name}{text}", b.left, b.right, b.top);
            if b.count > 1 {
                let _ = write!(out, " ×{} {:.0}%", b.count, b.fill * 100.0);
            }
            out.push('\n');
        }
        for counter in list.scrolled.counters.iter().filter(|counter| inside(counter.top)) {
            for step in &counter.steps {
                let _ = writeln!(out, "  {:.0}..{:.0} = {} ({:.2})", step.left, step.right, step.value, step.level);
            }
        }
    }
    if let Some(SlicePlace { left, right, top, .. }) = list.selected {
        let _ = writeln!(out, "selected {left:.0}..{right:.0} at {top}");
    }
    for arrow in &list.arrows {
        let chosen = if arrow.is_chosen { " chosen" } else { "" };
        let _ = writeln!(out, "arrow {:.0},{} -> {:.0},{}{chosen}", arrow.from.0, arrow.from.1, arrow.to.0, arrow.to.1);
    }
    out
}

fn model(slices: &[(&str, i64, i64)]) -> TraceModel {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let track = builder.track(host, TrackKind::Ops, 1, "ops");
    for &(name, start, end) in slices {
        let label = builder.label(name, None);
        builder.add_slice(track, SliceSpec::new(range(start, end), label));
    }
    builder.finish()
}

#[test]
fn nested_slices_are_drawn_below_their_parent() {
    let model = model(&[("outer", 0, 80), ("inner", 10, 40), ("last", 90, 100)]);
    let expected = "\
row 0 host
row 28 ops
  0..80 at 28 outer text
  90..100 at 28 last
  10..40 at 52 inner text
";
    assert_eq!(picture(&model, range(0, 100), |_| ()), expected);
}

#[test]
fn folding_keeps_the_top_lane_and_headings() {
    let model = model(&[("outer", 0, 80), ("inner", 10, 40)]);
    let track = model.track_ids().next().unwrap();
    let folded = picture(&model, range(0, 100), |state| state.apply(&ViewCommand::FoldTrack(track, true), &model));
    assert_eq!(folded, "row 0 host\nrow 28 ops\n  0..80 at 28 outer text\n");
    let host = model.group_ids().next().unwrap();
    let folded = picture(&model, range(0, 100), |state| state.apply(&ViewCommand::FoldGroup(host, true), &model));
    assert_eq!(folded, "row 0 host\n  0..80 at 2.5 outer text\n");
}

#[test]
fn narrow_slices_share_a_box_and_none_vanishes() {
    // At 100 ps a point a bucket is 256 ps.
    let model = model(&[("a", 0, 20), ("b", 30, 90), ("c", 100, 120), ("lone", 5_000, 5_001), ("wide", 6_000, 9_000)]);
    let expected = "\
row 0 host
row 28 ops
  0..2 at 28 b ×3 50%
  50..52 at 28 lone
  60..90 at 28 wide text
";
    assert_eq!(picture(&model, range(0, 10_000), |_| ()), expected);
}

#[test]
fn slice_wider_than_the_window_is_clipped() {
    let model = model(&[("wide", 0, 1_000_000_000_000)]);
    let shown = picture(&model, range(500_000_000_000, 500_000_000_100), |_| ());
    assert_eq!(shown, "row 0 host\nrow 28 ops\n  -4..104 at 28 wide text\n");
}

#[test]
fn only_visible_rows_are_laid_out() {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let label = builder.label("x", None);
    for i in 0..100 {
        let track = builder.track(host, TrackKind::HostThread, i, &format!("thread {i:02}"));
        builder.add_slice(track, SliceSpec::new(range(0, 100), label));
    }
    let model = builder.finish();
    // A row is 28 points high, so the eleventh begins after 28 + 280 points.
    let shown = picture(&model, range(0, 100), |state| state.apply(&ViewCommand::ScrollTo(308.0), &model));
    assert!(shown.starts_with("row 0 thread 10\n"), "{shown}");
    assert_eq!(shown.lines().filter(|line| line.starts_with("row")).count(), 8);
}

#[test]
fn next_flow_is_highlighted() {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let track = builder.track(host, TrackKind::HostThread, 1, "a");
    let mut add = |name: &str, start| {
        let label = builder.label(name, None);
        builder.add_slice(track, SliceSpec::new(range(start, start + 10), label))
    };
    let (from, to) = (add("launch", 0), [add("x", 20), add("y", 40), add("z", 60)]);
    for to in to {
        builder.add_flow(FlowEnd::Slice(from), FlowEnd::Slice(to), 1);
    }
    let model = builder.finish();
    let launch = model.all_slices().find(|slice| slice.name() == "launch").unwrap().id();
    for (times, end) in [(0, "20"), (1, "40"), (5, "60")] {
        let shown = picture(&model, range(0, 100), |state| {
            state.apply(&ViewCommand::Select(launch), &model);
            (0..times).for_each(|_| state.apply(&ViewCommand::CycleFlow(true), &model));
        });
        let chosen: Vec<&str> = shown.lines().filter(|line| line.ends_with(" chosen")).collect();
        assert!(matches!(chosen[..], [arrow] if arrow.contains(&format!("-> {end},"))), "{times}: {shown}");
    }
}

#[test]
fn selection_and_flows_are_placed() {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let (a, b) = (builder.track(host, TrackKind::HostThread, 1, "a"), builder.track(host, TrackKind::Ops, 2, "b"));
    let label = builder.label("launch", None);
    let from = builder.add_slice(a, SliceSpec::new(range(10, 20), label));
    let label = builder.label("program", None);
    let to = builder.add_slice(b, SliceSpec::new(range(50, 70), label));
    builder.add_flow(FlowEnd::Slice(from), FlowEnd::Slice(to), 1);
    let model = builder.finish();
    let launch = model.all_slices().find(|slice| slice.name() == "launch").unwrap().id();
    let shown = picture(&model, range(0, 100), |state| state.apply(&ViewCommand::Select(launch), &model));
    let rows: Vec<_> = shown.lines().filter(|line| line.starts_with("row")).collect();
    let (launch_top, program_top) = if rows[1].ends_with(" a") { (28.0, 56.0) } else { (56.0, 28.0) };
    let expected =
        format!("selected 10..20 at {launch_top}\narrow 20,{} -> 50,{}\n", launch_top + 11.5, program_top + 11.5);
    assert!(shown.ends_with(&expected), "{shown}");
}

#[test]
fn counter_that_never_changes_is_a_line_unless_it_has_gaps() {
    let heights = |held_ps: i64| {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let track = builder.track(host, TrackKind::Counter, 1, "DRAM");
        for at in [0, 5_000] {
            builder.add_counter_sample(track, Timestamp::from_ps(at), Some(Picos::from_ps(held_ps)), 128.0);
        }
        let op = builder.track(host, TrackKind::Ops, 2, "ops");
        let label = builder.label("x", None);
        builder.add_slice(op, SliceSpec::new(range(0, 10_000), label));
        let shown = picture(&builder.finish(), range(0, 10_000), |_| ());
        shown.lines().filter(|line| line.contains(" = 128 ")).map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(heights(5_000), ["0..50 = 128 (0.00)", "50..100 = 128 (0.00)"]);
    assert_eq!(heights(1_000), ["0..10 = 128 (1.00)", "50..60 = 128 (1.00)"], "nothing between is less than 128");
}

#[test]
fn counters_keep_their_peaks() {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let track = builder.track(host, TrackKind::Counter, 1, "HBM");
    for (at, value) in [(0, 10.0), (5_000, 40.0), (5_010, 5.0), (5_020, 20.0), (9_000, 0.0)] {
        builder.add_counter_sample(track, Timestamp::from_ps(at), Some(Picos::from_ps(10_000)), value);
    }
    let op = builder.track(host, TrackKind::Ops, 2, "ops");
    let label = builder.label("x", None);
    builder.add_slice(op, SliceSpec::new(range(0, 10_000), label));
    let model = builder.finish();
    let shown = picture(&model, range(0, 10_000), |_| ());
    // The value 40 lasts for a tenth of a point and is still visible.
    assert!(shown.contains("50..50 = 40 (1.00)") && !shown.contains("= 5 "), "{shown}");
}

#[test]
fn dense_counter_is_decimated_and_keeps_peaks() {
    const SAMPLES: i64 = 20_000;
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let track = builder.track(host, TrackKind::Counter, 1, "HBM");
    for at in 0..SAMPLES {
        // A gap from 30 % to 50 %, and one peak at 70 %.
        if !(6_000..10_000).contains(&at) {
            let value = if at == 14_000 { 1_000.0 } else { (at % 7) as f64 };
            builder.add_counter_sample(track, Timestamp::from_ps(at), Some(Picos::from_ps(1)), value);
        }
    }
    let model = builder.finish();
    let shown = picture(&model, range(0, SAMPLES), |_| ());
    let steps: Vec<&str> = shown.lines().filter(|line| line.contains(" = ")).collect();
    assert!(steps.len() <= 51, "{shown}");
    assert_eq!(steps.iter().filter(|line| line.contains("= 1000 ")).count(), 1, "{shown}");
    assert!(steps.iter().any(|line| line.contains("70..72 = 1000")), "{shown}");
    assert!(!steps.iter().any(|line| (32..50).any(|x| line.contains(&format!("{x}..")))), "a gap is a gap:\n{shown}");
    // Zoomed in: sample by sample.
    let near = picture(&model, range(14_000, 14_004), |_| ());
    assert!(near.contains("0..25 = 1000 (1.00)") && near.contains("25..50 = 1 "), "{near}");
}

#[test]
fn finds_the_box_below_the_pointer() {
    let model = model(&[("outer", 0, 80), ("inner", 10, 40)]);
    let (lod, tree) = (LodIndex::build(&model), TrackTree::new(&model));
    let rows = tree.rows(&ViewState::new(&model));
    let time = Viewport::of(range(0, 100));
    let (width, height) = (100.0, 200.0);
    let window = LayoutWindow {
        time,
        rows: &rows,
        scroll: 0.0,
        width,
        height,
        selection: None,
        highlighted: None,
        arrows: false,
        flow: 0,
    };
    let mut list = DrawList::default();
    list.fill(DrawnTrace { model: &model, lod: &lod, tree: &tree }, &window, &mut LaneTiles::default());
    let name = |x, y| list.hit(x, y).map(|b| model.slice(b.slice).name());
    assert_eq!(name(20.0, 40.0), Some("outer"));
    assert_eq!(name(20.0, 60.0), Some("inner"));
    assert_eq!(name(50.0, 60.0), None);
    assert_eq!(list.row_at(40.0).map(|row| tree.node(row.node).title.as_str()), Some("ops"));
}

#[test]
fn highlighted_slices_show_in_merged_boxes() {
    // "b" is the longest slice of the bucket, so the pyramid does not show "c".
    let model = model(&[("a", 0, 20), ("b", 30, 90), ("c", 100, 120), ("c", 150, 160), ("c", 6_000, 9_000)]);
    let (lod, tree) = (LodIndex::build(&model), TrackTree::new(&model));
    let mut state = ViewState::new(&model);
    state.pinned = model.track_ids().collect();
    let highlighted = model.all_slices().filter(|slice| slice.name() == "c").map(trace_model::SliceRef::id).collect();
    let highlighted = Highlighted::new(&model, highlighted);
    for pinned in [false, true] {
        let rows = if pinned { tree.rows(&state) } else { tree.rows(&ViewState::new(&model)) };
        let window = LayoutWindow {
            time: Viewport::of(range(0, 10_000)),
            rows: &rows,
            scroll: 0.0,
            width: 100.0,
            height: 200.0,
            selection: None,
            highlighted: Some(&highlighted),
            arrows: false,
            flow: 0,
        };
        let mut list = DrawList::default();
        list.fill(DrawnTrace { model: &model, lod: &lod, tree: &tree }, &window, &mut LaneTiles::default());
        let part = if pinned { &list.pinned } else { &list.scrolled };
        let shown: Vec<_> = part.highlighted.iter().map(|b| (b.left.round(), b.right.round(), b.count)).collect();
        assert_eq!(shown, [(1.0, 3.0, 2), (60.0, 90.0, 1)]);
        let y = part.boxes[0].top + 1.0;
        assert_eq!(list.hit(1.5, y).map(|b| model.slice(b.slice).name()), Some("c"));
    }
}

#[test]
fn folded_device_shows_ops_in_its_heading() {
    let model = sample_traces::text_trace("@column 1ps\nmodules: MMMMMMMM\nops: AAAA..BB\n   : .cc.....\n");
    let core = model.tensor_cores()[0];
    let folded = picture(&model, range(0, 10), |state| state.apply(&ViewCommand::FoldGroup(core, true), &model));
    let heading = folded.split("row ").find(|row| row.contains("TPU:0")).unwrap();
    assert_eq!(heading, "28 TPU:0\n  0..40 at 30.5 A text\n  60..80 at 30.5 B\n", "{folded}");
    let open = picture(&model, range(0, 10), |_| {});
    assert!(open.contains("TPU:0\nrow "), "an open one shows its tracks: {open}");
    let selected = |name: &str| {
        let slice = model.all_slices().find(|slice| slice.name() == name).unwrap().id();
        let picture = picture(&model, range(0, 10), |state| {
            state.apply(&ViewCommand::FoldGroup(core, true), &model);
            state.place.selection = Some(slice);
        });
        picture.lines().find(|line| line.starts_with("selected")).map(str::to_owned)
    };
    assert_eq!(selected("B").as_deref(), Some("selected 60..80 at 30.5"), "it is outlined there");
    assert_eq!(selected("c"), None, "its lane is not shown");
}

#[test]
fn boxes_of_many_lanes_are_limited_and_hide_no_slice() {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let label = builder.label("x", None);
    for id in 0..200 {
        let track = builder.track(host, TrackKind::HostThread, id, "thread");
        for i in 0..1_000 {
            builder.add_slice(track, SliceSpec::new(range(i * 2, i * 2 + 1), label));
        }
    }
    let model = builder.finish();
    let (lod, tree) = (LodIndex::build(&model), TrackTree::new(&model));
    let state = ViewState::new(&model);
    let rows = tree.rows(&state);
    let boxes = |height: f32| {
        let window = LayoutWindow {
            time: Viewport::of(range(0, 2_000)),
            rows: &rows,
            scroll: 0.0,
            width: 2_000.0,
            height,
            selection: None,
            highlighted: None,
            arrows: true,
            flow: 0,
        };
        let mut list = DrawList::default();
        list.fill(DrawnTrace { model: &model, lod: &lod, tree: &tree }, &window, &mut LaneTiles::default());
        let slices: u32 = list.scrolled.boxes.iter().map(|drawn| drawn.count).sum();
        (list.scrolled.rows.len() - 1, list.scrolled.boxes.len(), slices)
    };
    let (tracks, few, slices) = boxes(600.0);
    assert_eq!((few, slices as usize), (tracks * 1_000, tracks * 1_000), "few lanes show each slice");
    let (tracks, many, slices) = boxes(10_000.0);
    assert_eq!((tracks, slices), (200, 200_000));
    assert!((20_000..=80_000).contains(&many), "{many} boxes");
}
