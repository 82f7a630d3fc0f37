//! Sums over areas whose exact numbers are known.

use std::sync::Arc;

use analysis::Cell;
use trace_model::{GroupKind, Picos, SliceSpec, TimeRange, Timestamp, TraceBuilder, TrackKind};

use super::*;

fn summarise(
    model: &TraceModel,
    classes: &OpClasses,
    steps: &[StepBand],
    area: &MarkedArea,
    progress: &Progress,
) -> Result<AreaSummary, String> {
    AreaSummaries::new(model.clone(), Arc::new(classes.clone())).of(&steps.into(), area, progress)
}

fn range(start: i64, end: i64) -> TimeRange {
    TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end))
}

fn model() -> TraceModel {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let tracks = [0, 1].map(|id| builder.track(host, TrackKind::Ops, id, &format!("track {id}")));
    for (track, name, start, end) in [
        (0, "outer", 0, 100),
        (0, "x", 10, 40),
        (1, "x", 20, 60),
        (1, "y", 70, 90),
    ] {
        let label = builder.label(name, None);
        builder.add_slice(tracks[track], SliceSpec::new(range(start, end), label));
    }
    builder.finish()
}

/// Name, count, total, union, self.
fn rows(summary: &AreaSummary) -> Vec<(String, i64, i64, i64, i64)> {
    let int = |cell: &Cell| {
        if let Cell::Int(value) = cell {
            *value
        } else {
            -1
        }
    };
    let name = |cell: &Cell| {
        if let Cell::Text(text) = cell {
            text.clone()
        } else {
            String::new()
        }
    };
    summary
        .table
        .rows
        .iter()
        .map(|r| (name(&r[0]), int(&r[2]), int(&r[3]), int(&r[4]), int(&r[5])))
        .collect()
}

#[test]
fn slices_that_overlap_their_neighbours_are_busy_time() {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let track = builder.track(host, TrackKind::AsyncOps, 0, "transfers");
    for (start, end) in [(0, 10), (5, 20), (6, 8), (30, 40), (15, 25)] {
        let label = builder.label("copy", None);
        builder.add_slice(track, SliceSpec::new(range(start, end), label));
    }
    let model = builder.finish();
    let area = MarkedArea {
        range: range(0, 100),
        tracks: Arc::default(),
        pivot: AreaGrouping::Name,
    };
    let sums = summarise(
        &model,
        &OpClasses::new(&model),
        &[],
        &area,
        &Progress::new(),
    )
    .unwrap();
    assert_eq!((sums.slices, sums.union_ps.ps()), (5, 25 + 10));
    assert_eq!(sums.table.rows[0][4], Cell::Int(35), "of the row, too");
}

#[test]
fn self_time_of_slices_that_overlap_counts_once() {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let track = builder.track(host, TrackKind::HostThread, 0, "thread");
    for (name, start, end) in [
        ("outer", 0, 16),
        ("first", 2, 6),
        ("late", 8, 17),
        ("next", 16, 20),
    ] {
        let label = builder.label(name, None);
        builder.add_slice(track, SliceSpec::new(range(start, end), label));
    }
    let model = builder.finish();
    let own = |until| {
        let area = MarkedArea {
            range: range(0, until),
            tracks: Arc::default(),
            pivot: AreaGrouping::Name,
        };
        let sums = summarise(
            &model,
            &OpClasses::new(&model),
            &[],
            &area,
            &Progress::new(),
        )
        .unwrap();
        let mut own: Vec<_> = rows(&sums)
            .into_iter()
            .map(|(name, .., own)| (name, own))
            .collect();
        own.sort();
        (own, sums.union_ps.ps())
    };
    let named = |all: &[(&str, i64)]| {
        all.iter()
            .map(|&(name, own)| (name.to_owned(), own))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        own(100),
        (
            named(&[("first", 4), ("late", 8), ("next", 4), ("outer", 4)]),
            20
        )
    );
    assert_eq!(
        own(12),
        (named(&[("first", 4), ("late", 4), ("outer", 4)]), 12)
    );
}

#[test]
fn area_clips_slices_and_counts_shared_time_once() {
    let model = model();
    let classes = OpClasses::new(&model);
    let band = |number, title: &str, start, end| StepBand {
        range: range(start, end),
        time: Picos::from_ps(end - start),
        number,
        title: title.to_owned(),
        ..StepBand::default()
    };
    let steps = [band(7, "jit_f", 0, 15), band(8, "8", 15, 65)];
    let mut area = MarkedArea {
        range: range(0, 30),
        tracks: Arc::default(),
        pivot: AreaGrouping::Name,
    };
    let summary = summarise(&model, &classes, &steps, &area, &Progress::new()).unwrap();
    let expected = [
        ("x".to_owned(), 2, 30, 20, 30),
        ("outer".to_owned(), 1, 30, 30, 10),
    ];
    assert_eq!(rows(&summary), expected);
    assert_eq!(
        (summary.slices, summary.tracks, summary.union_ps.ps()),
        (3, 2, 30)
    );

    area.tracks = Arc::new(model.track_ids().nth(1).into_iter().collect());
    area.range = range(0, 1_000);
    let summary = summarise(&model, &classes, &steps, &area, &Progress::new()).unwrap();
    assert_eq!(
        rows(&summary),
        [
            ("x".to_owned(), 1, 40, 40, 40),
            ("y".to_owned(), 1, 20, 20, 20)
        ]
    );
    assert_eq!(summary.union_ps.ps(), 60);
    area.pivot = AreaGrouping::Track;
    area.tracks = Arc::default();
    let summary = summarise(&model, &classes, &steps, &area, &Progress::new()).unwrap();
    assert_eq!(
        rows(&summary)[0],
        ("host · track 0".to_owned(), 2, 130, 100, 100)
    );
    area.pivot = AreaGrouping::Step;
    let summary = summarise(&model, &classes, &steps, &area, &Progress::new()).unwrap();
    let names: Vec<String> = rows(&summary).into_iter().map(|row| row.0).collect();
    assert_eq!(
        names,
        ["Step 7", "Step 8", "(no step)"],
        "{:?}",
        rows(&summary)
    );
}

#[test]
fn area_times_use_the_timeline_clock() {
    let mut builder = TraceBuilder::new();
    let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
    let track = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
    for (name, on_timeline, by_device) in [
        ("a", range(0, 100), range(0, 150)),
        ("b", range(120, 140), range(160, 190)),
    ] {
        let label = builder.label(name, None);
        builder.add_slice(
            track,
            SliceSpec {
                device: Some(by_device),
                ..SliceSpec::new(on_timeline, label)
            },
        );
    }
    let model = builder.finish();
    let classes = OpClasses::new(&model);
    let area = MarkedArea {
        range: range(0, 1_000),
        tracks: Arc::default(),
        pivot: AreaGrouping::Name,
    };
    let summary = summarise(&model, &classes, &[], &area, &Progress::new()).unwrap();
    let expected = [
        ("a".to_owned(), 1, 100, 100, 100),
        ("b".to_owned(), 1, 20, 20, 20),
    ];
    assert_eq!(
        rows(&summary),
        expected,
        "self time is no longer than the slice"
    );
    assert!(summary.clocks().is_some());
    let means: Vec<&Cell> = summary.table.rows.iter().map(|row| &row[7]).collect();
    let by_device = [Cell::Float(150.0), Cell::Float(30.0)];
    assert_eq!(means, by_device.iter().collect::<Vec<_>>());
}

#[test]
fn time_of_ops_by_the_device_clock_counts_once_where_they_overlap() {
    let mut builder = TraceBuilder::new();
    let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
    let track = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
    for (name, start, end) in [
        ("while", 0, 16),
        ("first", 2, 6),
        ("second", 4, 10),
        ("next", 15, 20),
    ] {
        let (label, device) = (
            builder.label(name, None),
            Some(range(start + 1_000, end + 1_000)),
        );
        builder.add_slice(
            track,
            SliceSpec {
                device,
                ..SliceSpec::new(range(start, end), label)
            },
        );
    }
    let model = builder.finish();
    let area = MarkedArea {
        range: range(0, 100),
        tracks: Arc::default(),
        pivot: AreaGrouping::Name,
    };
    let summary = summarise(
        &model,
        &OpClasses::new(&model),
        &[],
        &area,
        &Progress::new(),
    )
    .unwrap();
    let own = rows(&summary)
        .into_iter()
        .find(|row| row.0 == "while")
        .map(|row| row.4);
    assert_eq!(own, Some(7), "0..2 and 10..15");
}

#[test]
fn op_shares_exclude_programs_and_async_ops() {
    let mut builder = TraceBuilder::new();
    let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
    for (id, kind, name, start, end) in [
        (0, TrackKind::Modules, "jit_f", 0, 100),
        (1, TrackKind::Ops, "copy", 0, 60),
        (1, TrackKind::Ops, "fusion", 60, 80),
        (2, TrackKind::AsyncOps, "copy", 0, 90),
    ] {
        let track = builder.track(core, kind, id, "track");
        let label = builder.label(name, None);
        builder.add_slice(track, SliceSpec::new(range(start, end), label));
    }
    let model = builder.finish();
    let area = MarkedArea {
        range: range(0, 100),
        tracks: Arc::default(),
        pivot: AreaGrouping::Name,
    };
    let summary = summarise(
        &model,
        &OpClasses::new(&model),
        &[],
        &area,
        &Progress::new(),
    )
    .unwrap();
    let shares: Vec<[&Cell; 3]> = summary
        .table
        .rows
        .iter()
        .map(|row| [&row[0], &row[1], &row[6]])
        .collect();
    let expected = [
        ("jit_f", "programs", 100.0),
        ("copy", "asynchronous ops", 100.0),
        ("copy", "ops", 75.0),
        ("fusion", "ops", 25.0),
    ];
    let expected = expected
        .map(|(name, kind, share)| [Cell::text(name), Cell::text(kind), Cell::Float(share)]);
    assert_eq!(
        shares,
        expected
            .iter()
            .map(<[Cell; 3]>::each_ref)
            .collect::<Vec<_>>()
    );
    assert_eq!(summary.union_ps.ps(), 100);
}

#[test]
fn means_use_only_slices_wholly_in_the_area() {
    let model = model();
    let area = MarkedArea {
        range: range(15, 65),
        tracks: Arc::default(),
        pivot: AreaGrouping::Name,
    };
    let summary = summarise(
        &model,
        &OpClasses::new(&model),
        &[],
        &area,
        &Progress::new(),
    )
    .unwrap();
    let means: Vec<[&Cell; 2]> = summary
        .table
        .rows
        .iter()
        .map(|row| [&row[0], &row[7]])
        .collect();
    // `x` begins before the area once, and lies in it once; `outer` is larger than the area.
    assert_eq!(
        means,
        [
            [&Cell::text("x"), &Cell::Float(40.0)],
            [&Cell::text("outer"), &Cell::Missing]
        ]
    );
}
