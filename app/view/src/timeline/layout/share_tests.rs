//! What is painted of a lane are the shares of its time, at any width and zoom.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use analysis::Options;
use importers::{ImportOptions, Progress};
use trace_model::{Picos, TimeRange, Timestamp, TraceModel};

use super::tests::{Drawn, model, window};
use super::*;
use crate::palette::ColorKey;
use crate::state::{ViewCommand, ViewState};
use crate::timeline::columns::ColumnCell;
use crate::timeline::trace::OpenTrace;
use session::Session;

/// Slices of eight labels on three levels, of lengths from 0 to hundreds, dense and sparse, with stretches that repeat.
fn random_model(seed: u64) -> TraceModel {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below) as i64
    };
    let mut slices = Vec::new();
    let mut at = 1_000_000_000_000 + next(1_000);
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    while slices.len() < 30_000 {
        let (mean, gap, repeats) = (
            [3, 40, 900][next(3) as usize],
            [1, 10, 2_000][next(3) as usize],
            next(3) == 0,
        );
        let fixed: Vec<_> = (0..4)
            .map(|_| (next(mean), next(gap), names[next(8) as usize]))
            .collect();
        for i in 0..next(600) {
            let (length, pause, name) = if repeats {
                fixed[i as usize % 4]
            } else {
                (next(mean), next(gap), names[next(8) as usize])
            };
            slices.push((name, at, at + length));
            if length > 20 {
                slices.push((names[next(8) as usize], at + next(10), at + 10 + next(10)));
            }
            at += length + pause;
        }
    }
    model(&slices)
}

/// By colour, a share of the time in view.
type ColorShares = BTreeMap<ColorKey, f64>;

/// The lanes that are drawn in one place, and its top and height.
struct DrawnPlace {
    lanes: Vec<usize>,
    beside_work: bool,
    top: f32,
}

fn places(scene: DrawnTrace<'_>, list: &DrawList, height: f32) -> Vec<DrawnPlace> {
    let of_row = |row: &TrackRow| {
        let node = scene.tree.node(row.node);
        let of_lane = |lane: usize| DrawnPlace {
            lanes: vec![node.first_lane() + lane],
            beside_work: matches!(node.item, TreeItem::Track(track) if scene.model.track(track).kind == TrackKind::AsyncOps),
            top: place_in(matches!(node.item, TreeItem::Group(_)), row, lane).0,
        };
        let cores = match &node.load {
            GroupLoad::Cores(lanes) if row.folded => Some(lanes.clone()),
            _ => None,
        };
        let folded = cores.map(|lanes| DrawnPlace {
            lanes,
            beside_work: false,
            top: place_in(true, row, 0).0,
        });
        (0..row.lanes)
            .map(of_lane)
            .chain(folded)
            .collect::<Vec<_>>()
    };
    let is_seen = |place: &DrawnPlace| place.top < height;
    list.scrolled
        .rows
        .iter()
        .flat_map(of_row)
        .filter(is_seen)
        .collect()
}

/// The shares of the time in view that slices of some lanes cover, the mean over the lanes.
fn true_shares(scene: DrawnTrace<'_>, place: &DrawnPlace, view: TimeRange) -> ColorShares {
    let mut shares = ColorShares::new();
    for &lane in &place.lanes {
        for slice in scene.model.slices_in(&scene.model.all_lanes()[lane], view) {
            if let Some(part) = slice.range().intersect(view) {
                let color = scene.keys[slice.label_id().index()];
                let color = if place.beside_work {
                    color.beside_work()
                } else {
                    color
                };
                let share = part.dur().as_ps_f64() / view.dur().as_ps_f64();
                *shares.entry(color).or_default() += share / place.lanes.len() as f64;
            }
        }
    }
    shares
}

/// The share of the bars of some columns.
fn bars(columns: &DrawnColumns, width: f32, shares: &mut ColorShares) {
    for bar in columns.bars().iter().filter(|bar| !bar.is_mark) {
        let seen = (bar.right.min(width) - bar.left.max(0.0)).max(0.0);
        let area = f64::from(seen) * f64::from(bar.bottom - bar.top);
        *shares.entry(bar.color).or_default() += area / f64::from(width * columns.height);
    }
}

/// The share of the pixels of some columns, as a texture puts them on a screen.
fn pixels(columns: &DrawnColumns, width: f32, shares: &mut ColorShares) {
    let rows = columns.height.round() as usize;
    let mut drawn = vec![Vec::new(); TILE_COLUMNS];
    columns.tile.draw_rows(rows, |column, within, cell| {
        if let ColumnCell::Work(color) = cell {
            drawn[column].extend(within.map(|_| color));
        }
    });
    let [left, from, to] = [
        columns.left,
        columns.shown.0.max(0.0),
        columns.shown.1.min(width),
    ]
    .map(f32::round);
    for x in from as usize..to as usize {
        let column = (x as f32 + 0.5 - left) / columns.column;
        for color in &drawn[(column as usize).min(TILE_COLUMNS - 1)] {
            *shares.entry(*color).or_default() += 1.0 / (f64::from(width) * rows as f64);
        }
    }
}

/// That what is painted in a view are the shares of time; returns the number of colours in lanes that were looked at.
fn assert_shares(
    scene: DrawnTrace<'_>,
    list: &DrawList,
    view: TimeRange,
    (width, height): (f32, f32),
    about: &str,
) -> usize {
    let mut looked_at = 0;
    for place in places(scene, list, height) {
        let wanted = true_shares(scene, &place, view);
        let [mut of_bars, mut of_pixels] = [ColorShares::new(), ColorShares::new()];
        for columns in list
            .scrolled
            .columns
            .iter()
            .filter(|columns| (columns.top - place.top).abs() < 0.5)
        {
            bars(columns, width, &mut of_bars);
            pixels(columns, width, &mut of_pixels);
        }
        let colors: BTreeSet<ColorKey> = wanted
            .keys()
            .chain(of_bars.keys())
            .chain(of_pixels.keys())
            .copied()
            .collect();
        for color in colors {
            let share = |of: &ColorShares| of.get(&color).copied().unwrap_or(0.0);
            let [bars, pixels] =
                [&of_bars, &of_pixels].map(|of| (share(of) - share(&wanted)) * f64::from(width));
            assert!(
                bars.abs() < 0.5,
                "{about}, lanes {:?}, {color:?}: {bars} pixels of bars",
                place.lanes
            );
            assert!(
                pixels.abs() < 1.0,
                "{about}, lanes {:?}, {color:?}: {pixels} pixels",
                place.lanes
            );
            looked_at += 1;
        }
    }
    looked_at
}

/// Views of a trace: how wide, and from when to when.
fn views(extent: TimeRange) -> impl Iterator<Item = (f32, TimeRange)> {
    let widths = [300.0_f32, 477.0, 640.0, 1_280.0, 1_919.0, 2_560.0, 4_000.0]
        .into_iter()
        .enumerate();
    let zooms = [1.0, 1.7, 5.3, 40.0, 333.3, 5_000.0];
    widths.flat_map(move |(i, width)| {
        zooms.map(|zoom| {
            let span = Picos::from_ps((extent.dur().as_ps_f64() / zoom) as i64);
            let from = Picos::from_ps((extent.dur() - span).ps() / 7 * i as i64);
            (width, TimeRange::at(extent.start + from, span))
        })
    })
}

#[test]
fn painted_shares_are_shares_of_time() {
    for seed in 1..=4 {
        let model = random_model(seed);
        let drawn = Drawn::new(&model);
        for (width, view) in views(model.extent()) {
            let list = drawn.list(view, (width, 10_000.0));
            let about = format!("seed {seed}, {width} points, {view:?}");
            assert!(assert_shares(drawn.scene(), &list, view, (width, 10_000.0), &about) > 0);
        }
    }
}

/// Real captures and samples in the colours of the window, unfolded and folded, wherever columns begin.
#[test]
fn painted_shares_of_captures_are_shares_of_time() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let samples = [
        "synthetic_v5e_8chip_overlap.xplane.pb",
        "synthetic_v5e_decode.xplane.pb",
    ];
    let mut paths: Vec<PathBuf> = samples
        .map(|name| here.join("../../assets/samples").join(name))
        .into();
    let corpus = here.join("../../../shared/corpus");
    let is_required = std::env::var_os("SYSTOLE_REQUIRE_CORPUS").is_some_and(|value| value == "1");
    assert!(
        corpus.is_dir() || !is_required,
        "{} is required but absent",
        corpus.display()
    );
    let captures = [
        "tpu/v5e_matmul.xplane.pb",
        "tpu/v6e_x4_host_offload.xplane.pb",
        "tpu/v7x_vllm_tp2_b.trace.json.gz",
        "planted/norec_v6e.xplane.pb",
        "host/tpuvm_cpu_backend.xplane.pb",
    ];
    paths.extend(
        captures
            .map(|name| corpus.join(name))
            .into_iter()
            .filter(|path| path.exists()),
    );
    for path in paths {
        let session = Session::open(
            &path,
            &ImportOptions::default(),
            Options::default(),
            &Progress::default(),
        )
        .unwrap();
        let trace = OpenTrace::new(path.clone(), session);
        let mut state = ViewState::new(&trace.model);
        let mut looked_at = 0;
        for folded in [false, true] {
            for group in trace.model.group_ids() {
                state.apply(&ViewCommand::FoldGroup(group, folded), &trace.model);
            }
            let rows = trace.tree.rows(&state);
            for (i, (width, view)) in views(trace.model.extent()).step_by(7).enumerate() {
                let window = window(&trace.by_category, view, &rows, (width, 800.0));
                let origin = if i % 2 == 0 {
                    Timestamp::ZERO
                } else {
                    view.start
                };
                let mut list = DrawList::default();
                list.fill(
                    trace.scene(),
                    &window,
                    &mut LaneTiles::with_columns_from(origin),
                );
                let about = format!("{}, {width} points, {view:?}", path.display());
                looked_at += assert_shares(trace.scene(), &list, view, (width, 800.0), &about);
            }
        }
        assert!(looked_at > 30, "{}: {looked_at}", path.display());
    }
}

#[test]
fn columns_are_the_same_wherever_the_view_begins() {
    let model = random_model(9);
    let drawn = Drawn::new(&model);
    let extent = model.extent();
    let rows = drawn.tree.rows(&ViewState::new(&model));
    let view = TimeRange::at(extent.start, Picos::from_ps(extent.dur().ps() / 5));
    let shares = |panned: f64| {
        let mut list = DrawList::default();
        let mut window = drawn.window(view, &rows, (1_000.0, 300.0));
        window.time = window.time.panned(panned);
        list.fill(drawn.scene(), &window, &mut LaneTiles::default());
        list.scrolled
            .columns
            .into_iter()
            .map(|columns| (columns.tile.range, columns.top as i32, columns.tile))
            .collect::<Vec<_>>()
    };
    let first = shares(0.0);
    for panned in [0.000_3, 0.01, 0.37] {
        let same = shares(panned);
        let known = |range, top| first.iter().find(|(of, at, _)| (*of, *at) == (range, top));
        let pairs: Vec<_> = same
            .iter()
            .filter_map(|(range, top, tile)| Some((known(*range, *top)?, tile)))
            .collect();
        assert!(pairs.len() >= 3, "{} tiles", pairs.len());
        assert!(
            pairs.iter().all(
                |((_, _, one), other)| one.shares == other.shares && one.colors == other.colors
            )
        );
    }
}
