//! Programs that were compiled for TPUs without one, against a timeline of each that
//! another program computed from the same text.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;

use common::corpus;
use importers::{InputSource, Progress};
use serde_json::Value;
use trace_model::{IssueKind, TraceModel, TrackKind};

use crate::common;

fn open(path: &Path) -> TraceModel {
    importers::import(&InputSource::open(path).unwrap(), &Progress::new()).unwrap()
}

/// Line, name, start and duration in microseconds, by line and time.
type Rows = Vec<(String, String, f64, f64)>;

fn sorted(mut rows: Rows) -> Rows {
    rows.sort_by(|a, b| {
        (&a.0, a.2)
            .partial_cmp(&(&b.0, b.2))
            .unwrap()
            .then_with(|| a.1.cmp(&b.1))
    });
    rows
}

fn ours(model: &TraceModel) -> Rows {
    let slices = model
        .all_slices()
        .filter(|slice| matches!(slice.track_ref().kind, TrackKind::Ops | TrackKind::AsyncOps));
    let row = |slice: trace_model::SliceRef<'_>| {
        let name = slice.name();
        let wait = if name.contains("-done") { "wait " } else { "" };
        let line = match model.str(slice.track_ref().name) {
            "XLA Ops" => "TensorCore",
            line => line,
        };
        (
            line.to_owned(),
            format!("{wait}{name}"),
            slice.start().ps() as f64 / 1e6,
            slice.dur().as_us_f64(),
        )
    };
    sorted(slices.map(row).collect())
}

fn reference(path: &Path) -> Rows {
    let document: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let text = |event: &Value, key: &str| event[key].as_str().unwrap().to_owned();
    let events = document["traceEvents"].as_array().unwrap().iter();
    let rows = events.map(|event| {
        (
            text(event, "tid"),
            text(event, "name"),
            event["ts"].as_f64().unwrap(),
            event["dur"].as_f64().unwrap(),
        )
    });
    sorted(rows.collect())
}

#[test]
fn timelines_equal_the_reference() {
    let Some(corpus) = corpus() else { return };
    let folder = corpus.join("simulators/xla_tpu_aot");
    for (hlo, timeline) in [
        (
            "lab11_v5p/scheduled_hlo.txt",
            "lab11_v5p/static_timeline.json",
        ),
        (
            "ring_v5p/overlap_scheduled_hlo.txt",
            "ring_v5p/overlap_static_timeline.json",
        ),
        (
            "ring_v5p/serial_scheduled_hlo.txt",
            "ring_v5p/serial_static_timeline.json",
        ),
    ] {
        let (ours, reference) = (
            ours(&open(&folder.join(hlo))),
            reference(&folder.join(timeline)),
        );
        assert_eq!(ours.len(), reference.len(), "{hlo}: {ours:#?}");
        for (ours, reference) in ours.iter().zip(&reference) {
            assert_eq!((&ours.0, &ours.1), (&reference.0, &reference.1), "{hlo}");
            // Each time here is whole picoseconds; sums of them can be a few off.
            let near = |a: f64, b: f64| (a - b).abs() < 20e-6;
            assert!(
                near(ours.2, reference.2) && near(ours.3, reference.3),
                "{hlo}: {ours:?}, {reference:?}"
            );
        }
    }
}

/// XLA's own cost analysis of the same program, per device.
#[test]
fn flops_match_the_cost_analysis() {
    let Some(corpus) = corpus() else { return };
    let folder = corpus.join("simulators/xla_tpu_aot");
    for (program, flops) in [
        ("lab11_v5p", 12_929_728_512_u64),
        ("batch4096_v5e", 206_875_656_192),
    ] {
        let model = open(&folder.join(program).join("scheduled_hlo.txt"));
        let ops = model
            .all_slices()
            .filter(|slice| slice.track_ref().kind == TrackKind::Ops);
        let sum: u64 = ops.filter_map(|slice| model.op(slice.op()?).flops).sum();
        assert_eq!(sum, flops, "{program}");
    }
}

#[test]
fn every_program_opens_as_a_prediction() {
    let Some(corpus) = corpus() else { return };
    let folder = corpus.join("simulators/xla_tpu_aot");
    let mut totals = BTreeMap::new();
    for program in [
        "batch4096_v5e/scheduled_hlo.txt",
        "lab11_v5p/scheduled_hlo.txt",
        "ring_v5e/overlap_scheduled_hlo.txt",
        "ring_v5e/serial_scheduled_hlo.txt",
        "ring_v5p/overlap_scheduled_hlo.txt",
        "ring_v5p/serial_scheduled_hlo.txt",
        "ring_v6e/overlap_scheduled_hlo.txt",
        "ring_v6e/serial_scheduled_hlo.txt",
    ] {
        let model = open(&folder.join(program));
        let log = model.import_log();
        assert_eq!(log.lost(), 0, "{program}: {log:?}");
        assert!(log.count(IssueKind::CostModelled) > 0, "{program}");
        assert_eq!(log.count(IssueKind::CostMissing), 0, "{program}: {log:?}");
        assert_eq!(
            log.count(IssueKind::AsyncWithoutStart),
            0,
            "{program}: {log:?}"
        );
        let core = model.tensor_cores()[0];
        let chip = model
            .group(core)
            .device
            .as_ref()
            .unwrap()
            .type_name
            .clone()
            .unwrap();
        assert!(
            program.contains(chip.strip_prefix("TPU ").unwrap()),
            "{program}: {chip}"
        );
        assert_eq!(
            model.sources()[0].simulator.as_deref(),
            Some("XLA's cost model")
        );
        totals.insert(program, model.extent().dur().as_us_f64());
    }
    // Split into four products the work costs more than what overlap wins.
    assert!((totals["ring_v5p/serial_scheduled_hlo.txt"] - 228.824).abs() < 0.001);
    assert!((totals["ring_v5p/overlap_scheduled_hlo.txt"] - 226.938).abs() < 0.001);
    assert!((totals["lab11_v5p/scheduled_hlo.txt"] - 71.778).abs() < 0.001);
}

/// The scheduler's own totals, and the exposed time that follows from its gaps.
#[test]
fn schedule_totals_match_the_scheduler() {
    let Some(corpus) = corpus() else { return };
    let folder = corpus.join("simulators/xla_tpu_aot");
    for (file, total_us, waits_us, collectives) in [
        (
            "ring_v5e/jit_serial",
            3_306_983.379_112_3 / 1500.0,
            269_729.160_770_4 / 1500.0,
            1,
        ),
        ("ring_v5e/jit_overlap", 1_612_609.017_944_9 / 1500.0, 0.0, 3),
        ("ring_v5p/jit_overlap", 1_581_175.095_020_6 / 1750.0, 0.0, 3),
        ("ring_v6e/jit_overlap", 521_713.991_453_0 / 1750.0, 0.0, 3),
    ] {
        let model = open(&folder.join(format!("{file}.schedule.txt")));
        assert_eq!(model.import_log().counts(), [], "{file}");
        let core = model.tensor_cores()[0];
        let modules = model.track_of_kind(core, TrackKind::Modules).unwrap();
        let total = model.slices_on(modules).next().unwrap().dur().as_us_f64();
        assert!((total - total_us).abs() < 1e-5, "{file}: {total}");
        let on = |kind| {
            model
                .slices_on(model.track_of_kind(core, kind).unwrap())
                .collect::<Vec<_>>()
        };
        let waits = on(TrackKind::Ops)
            .into_iter()
            .filter(|it| it.name().contains("-done"));
        let waits: f64 = waits.map(|it| it.dur().as_us_f64()).sum();
        assert!((waits - waits_us).abs() < 1e-5, "{file}: {waits}");
        assert_eq!(on(TrackKind::AsyncOps).len(), collectives, "{file}");
        // Peaks would be compared with costs that are not times.
        assert_eq!(model.group(core).device.as_ref().unwrap().type_name, None);
    }
}
