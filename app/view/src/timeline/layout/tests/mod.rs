//! Layouts as text: one point is one picosecond unless stated otherwise.

mod counters;
mod derived;
mod highlights;

use std::fmt::Write as _;

use trace_model::LodIndex;

use super::*;
use crate::palette::ColorKey;
use crate::state::{ViewCommand, ViewState};
use crate::timeline::columns::class_of;
use crate::timeline::tree::{TrackTree, VisibleRows};
use crate::viewport::Viewport;
use trace_model::{GroupKind, SliceSpec, TimeRange, Timestamp, TraceBuilder, TrackKind};

fn range(start: i64, end: i64) -> TimeRange {
    TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end))
}

/// What a timeline is drawn from, in one colour for each label.
pub(super) struct Drawn<'a> {
    pub(super) model: &'a TraceModel,
    pub(super) keys: Vec<ColorKey>,
    lod: LodIndex,
    pub(super) tree: TrackTree,
}

impl<'a> Drawn<'a> {
    pub(super) fn new(model: &'a TraceModel) -> Self {
        let keys: Vec<_> = (0..model.labels().len())
            .map(|i| ColorKey((i % 8) as u8))
            .collect();
        let (lod, tree) = (
            LodIndex::build(model, class_of(&keys)),
            TrackTree::new(model),
        );
        Self {
            model,
            keys,
            lod,
            tree,
        }
    }

    pub(super) fn scene(&self) -> DrawnTrace<'_> {
        DrawnTrace {
            model: self.model,
            lod: &self.lod,
            tree: &self.tree,
            keys: &self.keys,
        }
    }

    pub(super) fn window<'b>(
        &'b self,
        time: TimeRange,
        rows: &'b VisibleRows,
        size: (f32, f32),
    ) -> LayoutWindow<'b> {
        window(&self.keys, time, rows, size)
    }

    /// The whole trace, unfolded, without a limit of work.
    pub(super) fn list(&self, time: TimeRange, size: (f32, f32)) -> DrawList {
        let rows = self.tree.rows(&ViewState::new(self.model));
        let mut list = DrawList::default();
        let mut tiles = LaneTiles::with_columns_from(time.start);
        list.fill(self.scene(), &self.window(time, &rows, size), &mut tiles);
        list
    }
}

/// A window in which nothing is selected.
pub(super) fn window<'a>(
    colors: &'a [ColorKey],
    time: TimeRange,
    rows: &'a VisibleRows,
    (width, height): (f32, f32),
) -> LayoutWindow<'a> {
    LayoutWindow {
        time: Viewport::of(time),
        rows,
        scroll: 0.0,
        width,
        height,
        selection: None,
        highlighted: None,
        arrows: false,
        flow: 0,
        colors,
        pixel: 1.0,
    }
}

/// Lays out `model` in a window of 100 × 200 points that shows `time`.
fn picture(model: &TraceModel, time: TimeRange, change: impl Fn(&mut ViewState)) -> String {
    let drawn = Drawn::new(model);
    let mut state = ViewState::new(model);
    change(&mut state);
    let rows = drawn.tree.rows(&state);
    let window = LayoutWindow {
        scroll: state.place.scroll,
        selection: state.place.selection,
        arrows: true,
        flow: state.flow,
        ..drawn.window(time, &rows, (100.0, 200.0))
    };
    let mut list = DrawList::default();
    list.fill(drawn.scene(), &window, &mut LaneTiles::default());
    show(&list, model, &drawn.tree)
}

fn show(list: &DrawList, model: &TraceModel, tree: &TrackTree) -> String {
    let mut out = String::new();
    for row in &list.scrolled.rows {
        let _ = writeln!(out, "row {} {}", row.y, tree.node(row.node).title);
        let inside = |top: f32| row.y <= top && top < row.y + row.height;
        for b in list.scrolled.boxes.iter().filter(|b| inside(b.top)) {
            let name = model.slice(b.slice).name();
            let text = if b.has_text { " text" } else { "" };
            let _ = writeln!(
                out,
                "  {:.0}..{:.0} at {} {name}{text}",
                b.left, b.right, b.top
            );
        }
        for counter in list
            .scrolled
            .counters
            .iter()
            .filter(|counter| inside(counter.top))
        {
            for step in &counter.steps {
                let _ = writeln!(
                    out,
                    "  {:.0}..{:.0} = {} ({:.2})",
                    step.left, step.right, step.value, step.level
                );
            }
        }
    }
    if let Some(SlicePlace {
        left, right, top, ..
    }) = list.selected
    {
        let _ = writeln!(out, "selected {left:.0}..{right:.0} at {top}");
    }
    for arrow in &list.arrows {
        let chosen = if arrow.is_chosen { " chosen" } else { "" };
        let _ = writeln!(
            out,
            "arrow {:.0},{} -> {:.0},{}{chosen}",
            arrow.from.0, arrow.from.1, arrow.to.0, arrow.to.1
        );
    }
    out
}

pub(super) fn model(slices: &[(&str, i64, i64)]) -> TraceModel {
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
    let folded = picture(&model, range(0, 100), |state| {
        state.apply(&ViewCommand::FoldTrack(track, true), &model);
    });
    assert_eq!(folded, "row 0 host\nrow 28 ops\n  0..80 at 28 outer text\n");
    let host = model.group_ids().next().unwrap();
    let folded = picture(&model, range(0, 100), |state| {
        state.apply(&ViewCommand::FoldGroup(host, true), &model);
    });
    assert_eq!(folded, "row 0 host\n  0..80 at 2.5 outer text\n");
}

#[test]
fn columns_show_the_share_of_each_label_and_mark_what_is_too_short() {
    // 100 ps a point.
    let model = model(&[
        ("a", 0, 20),
        ("b", 30, 90),
        ("c", 100, 120),
        ("lone", 5_000, 5_001),
        ("wide", 6_000, 9_000),
    ]);
    let drawn = Drawn::new(&model);
    let list = drawn.list(range(0, 10_000), (100.0, 200.0));
    let bars = list.scrolled.columns.iter().flat_map(DrawnColumns::bars);
    let text = |bar: ColumnBar| {
        let name = model.str(model.labels()[usize::from(bar.color.0)].name);
        let percent = (bar.bottom - bar.top) / LANE * 100.0;
        format!(
            "{:.0}..{:.0} {name} {}",
            bar.left,
            bar.right,
            if bar.is_mark {
                "mark".into()
            } else {
                format!("{percent:.0}%")
            }
        )
    };
    let expected = [
        "0..1 a 20%",
        "0..1 b 60%",
        "1..2 c 20%",
        "50..51 lone mark",
        "50..51 lone 1%",
        "60..90 wide 100%",
    ];
    assert_eq!(bars.map(text).collect::<Vec<_>>(), expected);
    assert_eq!(
        list.scrolled.boxes.len(),
        1,
        "only one is wide enough for a box"
    );
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
    let shown = picture(&model, range(0, 100), |state| {
        state.apply(&ViewCommand::ScrollTo(308.0), &model);
    });
    assert!(shown.starts_with("row 0 thread 10\n"), "{shown}");
    assert_eq!(
        shown.lines().filter(|line| line.starts_with("row")).count(),
        8
    );
}

#[test]
fn finds_what_is_below_the_pointer() {
    let hit = |model: &TraceModel, time: TimeRange, (x, y): (f32, f32)| {
        let drawn = Drawn::new(model);
        let rows = drawn.tree.rows(&ViewState::new(model));
        let window = drawn.window(time, &rows, (100.0, 200.0));
        let list = drawn.list(time, (100.0, 200.0));
        let found = list.hit(drawn.scene(), &window, x, y);
        found.map(|hit| {
            (
                model.slice(hit.drawn.slice).name().to_owned(),
                hit.drawn.count,
            )
        })
    };
    let nested = model(&[("outer", 0, 80), ("inner", 10, 40)]);
    let at = |x, y| hit(&nested, range(0, 100), (x, y)).map(|(name, _)| name);
    assert_eq!(at(20.0, 40.0).as_deref(), Some("outer"));
    assert_eq!(at(20.0, 60.0).as_deref(), Some("inner"));
    assert_eq!(at(50.0, 60.0), None);
    let drawn = Drawn::new(&nested);
    let list = drawn.list(range(0, 100), (100.0, 200.0));
    assert_eq!(
        list.row_at(40.0)
            .map(|row| drawn.tree.node(row.node).title.as_str()),
        Some("ops")
    );
    // 100 ps a point: the longest of a column; a lone short slice, also from beside it; nothing.
    let narrow = model(&[
        ("a", 0, 20),
        ("b", 30, 90),
        ("c", 100, 120),
        ("lone", 5_000, 5_001),
        ("wide", 6_000, 9_000),
    ]);
    let at = |x| hit(&narrow, range(0, 10_000), (x, 40.0));
    assert_eq!(at(0.9), Some(("b".to_owned(), 2)));
    assert_eq!(at(1.5), Some(("c".to_owned(), 1)));
    assert_eq!(
        [at(50.5), at(49.5)],
        [Some(("lone".to_owned(), 1)), Some(("lone".to_owned(), 1))]
    );
    assert_eq!((at(70.0), at(40.0)), (Some(("wide".to_owned(), 1)), None));
}

#[test]
fn folded_device_shows_ops_in_its_heading() {
    let model =
        sample_traces::text_trace("@column 1ps\nmodules: MMMMMMMM\nops: AAAA..BB\n   : .cc.....\n");
    let core = model.tensor_cores()[0];
    let folded = picture(&model, range(0, 10), |state| {
        state.apply(&ViewCommand::FoldGroup(core, true), &model);
    });
    let heading = folded
        .split("row ")
        .find(|row| row.contains("TPU:0"))
        .unwrap();
    assert_eq!(
        heading, "28 TPU:0\n  0..40 at 30.5 A text\n  60..80 at 30.5 B\n",
        "{folded}"
    );
    let open = picture(&model, range(0, 10), |_| {});
    assert!(
        open.contains("TPU:0\nrow "),
        "an open one shows its tracks: {open}"
    );
    let selected = |name: &str| {
        let slice = model
            .all_slices()
            .find(|slice| slice.name() == name)
            .unwrap()
            .id();
        let picture = picture(&model, range(0, 10), |state| {
            state.apply(&ViewCommand::FoldGroup(core, true), &model);
            state.place.selection = Some(slice);
        });
        picture
            .lines()
            .find(|line| line.starts_with("selected"))
            .map(str::to_owned)
    };
    assert_eq!(
        selected("B").as_deref(),
        Some("selected 60..80 at 30.5"),
        "it is outlined there"
    );
    assert_eq!(selected("c"), None, "its lane is not shown");
}

#[test]
fn columns_of_many_lanes_are_limited() {
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
    let drawn = Drawn::new(&model);
    let columns = |height: f32| {
        let list = drawn.list(range(0, 2_000), (2_000.0, height));
        let of_tile = |drawn: &DrawnColumns| (drawn.shown.1 - drawn.shown.0) / drawn.column;
        let columns: f32 = list.scrolled.columns.iter().map(of_tile).sum();
        (list.scrolled.rows.len() - 1, columns as usize)
    };
    let (tracks, few) = columns(600.0);
    assert!(
        (tracks * 2_000..tracks * 2_020).contains(&few),
        "each pixel of {tracks} lanes: {few}"
    );
    let (tracks, many) = columns(10_000.0);
    assert!(
        tracks == 200 && (40_000..=100_000).contains(&many),
        "{many} columns"
    );
}
