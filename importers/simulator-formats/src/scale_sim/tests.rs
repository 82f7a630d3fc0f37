//! Tests with small runs written by hand.

use std::fs;
use std::path::Path;

use importer_common::ImportOptions;
use input::{ImportError, Progress};
use tempfile::TempDir;
use trace_model::{IssueKind, SliceAttr, TraceModel, TrackKind};

use super::{FORMAT, REPORT};

const COMPUTE: &str = include_str!("../../../tests/fixtures/scale_sim_compute.csv");
const ACCESS: &str = include_str!("../../../tests/fixtures/scale_sim_access.csv");
const CONFIG: &str = include_str!("../../../tests/fixtures/scale_sim.cfg");
/// Layers with 400 and 80 multiplications, for 4 × 2 multipliers.
const TOPOLOGY: &str = include_str!("../../../tests/fixtures/scale_sim_topology.csv");

/// A run directory inside a directory of its own, because the importer searches files around it.
fn run(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("run")).unwrap();
    for (name, content) in files {
        let path = dir.path().join("run").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    dir
}

fn open_at(path: &Path, clock_mhz: Option<f64>) -> Result<TraceModel, ImportError> {
    let options = ImportOptions {
        clock_mhz,
        ..ImportOptions::default()
    };
    importers::import_path(path, &options, &Progress::new())
}

fn open(dir: &TempDir) -> TraceModel {
    open_at(&dir.path().join("run"), Some(500.0)).unwrap()
}

/// `name start..end` in ns of every slice of a track.
fn spans(model: &TraceModel, kind: TrackKind) -> Vec<String> {
    let track = |slice: &trace_model::SliceRef<'_>| slice.track_ref().kind == kind;
    let shown = |slice: trace_model::SliceRef<'_>| {
        format!(
            "{} {}..{}",
            slice.name(),
            slice.range().start.ps() / 1000,
            slice.range().end.ps() / 1000
        )
    };
    model.all_slices().filter(track).map(shown).collect()
}

#[test]
fn layers_are_sequential_with_their_transfers() {
    let dir = run(&[(REPORT, COMPUTE), ("DETAILED_ACCESS_REPORT.csv", ACCESS)]);
    let model = open(&dir);
    // 500 MHz: a cycle takes 2 ns.
    assert_eq!(
        spans(&model, TrackKind::Ops),
        [
            "layer 0 DRAM read 0..80",
            "layer 0 80..280",
            "layer 0 DRAM write 280..320",
            "layer 1 DRAM read 320..340",
            "layer 1 340..420",
            "layer 1 DRAM write 420..420",
        ]
    );
    assert_eq!(spans(&model, TrackKind::Modules), ["SCALE-Sim run 0..420"]);
    let mut transfers = spans(&model, TrackKind::AsyncOps);
    transfers.sort();
    assert_eq!(
        transfers[..3],
        [
            "layer 0 filter 40..80",
            "layer 0 ifmap 0..80",
            "layer 0 ofmap 280..320"
        ]
    );
    // The results of layer 1 are written while it computes.
    assert_eq!(transfers[5], "layer 1 ofmap 380..400");
    assert_eq!(
        model.sources()[0].simulator.as_deref(),
        Some("SCALE-Sim v3")
    );
    assert_eq!(model.import_log().count(IssueKind::AssumedClock), 0);
}

#[test]
fn stalls_are_counted_and_shown_separately() {
    let model = open(&run(&[(REPORT, COMPUTE)]));
    let stalled: Vec<_> = model
        .slices_with(SliceAttr::DmaStallPs)
        .map(|(_, stall)| stall)
        .collect();
    assert_eq!(stalled, [20_000]);
    assert_eq!(
        spans(&model, TrackKind::Derived),
        ["layer 0: 10 cycles 180..200"]
    );
    // Without the other report there is no traffic, and the import log contains this.
    assert_eq!(model.import_log().count(IssueKind::UnknownMetadata), 1);
    assert!(spans(&model, TrackKind::AsyncOps).is_empty());
}

#[test]
fn flops_need_the_size_of_the_array() {
    let flops = |files: &[(&str, &str)]| {
        let model = open(&run(&[&[(REPORT, COMPUTE)], files].concat()));
        let names = model
            .ops()
            .iter()
            .map(|op| (model.str(op.name).to_owned(), op.flops))
            .collect::<Vec<_>>();
        (
            names,
            model
                .group(model.tensor_cores()[0])
                .device
                .clone()
                .unwrap()
                .peak_flops,
        )
    };
    let named = |first: &str, second: &str, known: bool| {
        vec![
            (first.to_owned(), known.then_some(800)),
            (second.to_owned(), known.then_some(160)),
        ]
    };
    assert_eq!(flops(&[]), (named("layer 0", "layer 1", false), None));
    assert_eq!(
        flops(&[("google.cfg", CONFIG)]),
        (named("layer 0", "layer 1", true), Some(8e9))
    );
    assert_eq!(
        flops(&[("mlp.csv", TOPOLOGY)]),
        (named("up", "down", true), Some(8e9))
    );
    let model = open(&run(&[(REPORT, COMPUTE), ("mlp.csv", TOPOLOGY)]));
    let text = model
        .ops()
        .iter()
        .find_map(|op| op.hlo_text)
        .map(|text| model.str(text));
    assert!(
        text.unwrap()
            .starts_with("%dot = s8[10,8]{1,0} dot(s8[10,5]{1,0} %lhs, s8[5,8]{1,0} %rhs)")
    );
    // An array on which a layer would do a fraction of a multiplication belongs to another run.
    let other = CONFIG
        .replace("ArrayWidth: 2", "ArrayWidth: 2\nx: 0")
        .replace("Height: 4", "Height: 1");
    let fraction = COMPUTE.replace("50.0, 100.0", "50.3, 100.0");
    let model = open(&run(&[(REPORT, &fraction), ("google.cfg", &other)]));
    assert!(model.ops().iter().all(|op| op.flops.is_none()));
    // A topology with the same number of layers but other sizes does not match either.
    let other = TOPOLOGY.replace("down,2", "down,3");
    assert_eq!(
        flops(&[("mlp.csv", &other)]).0,
        named("layer 0", "layer 1", false)
    );
}

#[test]
fn padding_is_inferred_from_trace_or_sram() {
    let dram = |model: &TraceModel, name: &str| {
        model
            .ops()
            .iter()
            .find(|op| model.str(op.name) == name)
            .unwrap()
            .bytes_accessed
    };
    let files = [(REPORT, COMPUTE), ("DETAILED_ACCESS_REPORT.csv", ACCESS)];
    let model = open(&run(&files));
    // 80 words from DRAM, but only 64 from the SRAM.
    assert_eq!(
        (
            dram(&model, "layer 0 ifmap"),
            dram(&model, "layer 0 DRAM read")
        ),
        (None, None)
    );
    assert_eq!(dram(&model, "layer 0 filter"), Some(40));
    assert_eq!(model.import_log().count(IssueKind::PaddedCounts), 1);

    let trace = (-40..0).fold(String::new(), |text, cycle| {
        text + &format!("{cycle}.0,{}.0,-1.0\n", cycle + 40)
    });
    let path = "layer0/IFMAP_DRAM_TRACE.csv";
    let model = open(&run(&[&files[..], &[(path, &trace)]].concat()));
    assert_eq!(
        (
            dram(&model, "layer 0 ifmap"),
            dram(&model, "layer 0 DRAM read")
        ),
        (Some(40), Some(80))
    );
    let example = &model
        .import_log()
        .counts()
        .iter()
        .find(|e| e.kind == IssueKind::PaddedCounts)
        .unwrap()
        .examples[0];
    assert!(
        example.contains("80 words, its trace holds 40"),
        "{example}"
    );
    // One word per cycle of 2 ns.
    let counter = model
        .counters()
        .iter()
        .find(|c| model.str(model.track(c.track()).name) == "DRAM ifmap")
        .unwrap();
    assert_eq!(
        counter.value_at(trace_model::Timestamp::from_ps(0)),
        Some(5e8)
    );

    let model = open(&run(
        &[&files[..], &[(path, &trace[..trace.len() - 3])]].concat()
    ));
    assert_eq!(dram(&model, "layer 0 ifmap"), None);
    assert_eq!(model.import_log().count(IssueKind::TruncatedFile), 1);
}

#[test]
fn unknown_clock_uses_a_nanosecond_per_cycle_with_a_note() {
    let dir = run(&[(REPORT, COMPUTE)]);
    let model = open_at(&dir.path().join("run").join(REPORT), None).unwrap();
    assert_eq!(
        spans(&model, TrackKind::Ops),
        ["layer 0 0..100", "layer 1 100..140"]
    );
    let log = model.import_log().counts();
    let assumed = log
        .iter()
        .find(|entry| entry.kind == IssueKind::AssumedClock)
        .unwrap();
    assert!(
        assumed.count == 1 && assumed.examples[0].contains("--clock"),
        "{log:?}"
    );
}

#[test]
fn version_2_has_no_prefetch_column() {
    let compute = "LayerID, Total Cycles, Stall Cycles, Overall Util %, Mapping Efficiency %, Compute Util %,\n\
                   0, 100, 0, 50.0, 100.0, 40.0,\n";
    let model = open(&run(&[
        (REPORT, compute),
        ("DETAILED_ACCESS_REPORT.csv", ACCESS),
    ]));
    assert_eq!(
        model.sources()[0].simulator.as_deref(),
        Some("SCALE-Sim v2")
    );
    assert_eq!(spans(&model, TrackKind::Ops)[1], "layer 0 80..280");
}

#[test]
fn any_report_of_the_run_opens_it() {
    let dir = run(&[(REPORT, COMPUTE), ("DETAILED_ACCESS_REPORT.csv", ACCESS)]);
    let model = open_at(&dir.path().join("run/DETAILED_ACCESS_REPORT.csv"), None).unwrap();
    assert_eq!(spans(&model, TrackKind::Ops).len(), 6);
}

#[test]
fn layers_sharing_a_name_stay_separate() {
    let model = open(&run(&[
        (REPORT, COMPUTE),
        ("t.csv", &TOPOLOGY.replace("down", "up")),
    ]));
    assert_eq!(
        spans(&model, TrackKind::Ops),
        ["up 0..200", "up (layer 1) 200..280"]
    );
}

#[test]
fn unreadable_input_names_location_and_fix() {
    let fails = |compute: &str| {
        open_at(&run(&[(REPORT, compute)]).path().join("run"), None)
            .unwrap_err()
            .to_string()
    };
    let error = fails(&COMPUTE.replace("Stall Cycles", "Stalls"));
    assert!(
        error.contains("COMPUTE_REPORT.csv line 1: no column \"Stall Cycles\""),
        "{error}"
    );
    assert!(error.contains(FORMAT.title), "{error}");
    let header = COMPUTE.lines().next().unwrap();
    assert!(fails(&format!("{header}\n")).contains("did the simulation finish?"));
    assert!(fails("").contains("empty"));
}

#[test]
fn invalid_numbers_lose_only_their_row_or_value() {
    for bad in ["-1", "NaN", "1e308", "inf", "99999999999999999999", "x", ""] {
        let compute = COMPUTE.replace("60, 40, 0", &format!("60, {bad}, 0"));
        let model = open(&run(&[
            (REPORT, &compute),
            ("DETAILED_ACCESS_REPORT.csv", ACCESS),
        ]));
        assert_eq!(
            model.import_log().count(IssueKind::MalformedEvent),
            1,
            "{bad}"
        );
        let compute = COMPUTE.replace("50.0, 100.0", &format!("{bad}, 100.0"));
        let model = open(&run(&[(REPORT, &compute), ("g.cfg", CONFIG)]));
        assert_eq!(
            model.import_log().count(IssueKind::ImplausibleValue),
            1,
            "{bad}"
        );
        let access = ACCESS.replace("-40.0, -1.0, 80", &format!("{bad}, -50.0, 80"));
        let model = open(&run(&[
            (REPORT, COMPUTE),
            ("DETAILED_ACCESS_REPORT.csv", &access),
        ]));
        assert!(
            model.import_log().count(IssueKind::MalformedEvent) == 1,
            "{bad}"
        );
    }
    // A longer time than the timeline can represent.
    let long = COMPUTE.replace("60, 40, 0", "60, 9007199254740000, 0");
    let model = open(&run(&[(REPORT, &long)]));
    assert_eq!(model.import_log().count(IssueKind::BeyondTimeline), 1);
    assert_eq!(spans(&model, TrackKind::Ops).len(), 1);
}

#[test]
fn truncated_report_never_panics() {
    for end in 0..COMPUTE.len() {
        let dir = run(&[
            (REPORT, &COMPUTE[..end]),
            ("DETAILED_ACCESS_REPORT.csv", &ACCESS[..end * 2]),
        ]);
        let _ = open_at(&dir.path().join("run"), None);
    }
}

#[test]
fn unordered_and_repeated_layers_find_their_traffic() {
    let header = COMPUTE.lines().next().unwrap();
    let rows: Vec<&str> = COMPUTE.lines().skip(1).collect();
    let shuffled = format!("{header}\n{}\n{}\n{}\n", rows[1], rows[0], rows[1]);
    let files = |compute| {
        open(&run(&[
            (REPORT, compute),
            ("DETAILED_ACCESS_REPORT.csv", ACCESS),
        ]))
    };
    let model = files(&shuffled);
    assert_eq!(
        spans(&model, TrackKind::Ops),
        spans(&files(COMPUTE), TrackKind::Ops)
    );
    assert_eq!(model.import_log().count(IssueKind::Duplicate), 1);
}
