use trace_model::{SliceRef, TraceModel, TrackKind};

use super::*;

const HEAD: &str = "[2026-01-01 00:00:00.000] [info] ";

/// A chip of two cores, 2 × 2 × 8 × 16 FLOPs a cycle at 1 GHz.
const BEGIN: [&str; 4] = [
    "Simulator Configuration:",
    "[Core 0] Systolic Array Throughput: 512 GFLOPS, Spad size: 1 KB, Accumulator size: 1 KB",
    "[Core 1] Systolic Array Throughput: 512 GFLOPS, Spad size: 1 KB, Accumulator size: 1 KB",
    "DRAM Bandwidth 100 GB/s",
];
const CONFIG: &str = r#"{"core_freq": 1000, "core_config": {"core_0": {"core_width": 16, "core_height": 8},
                        "core_1": {"core_width": 16, "core_height": 8}}}"#;
/// A product of 8 × 16 by 16 × 32 with bias, two bytes a number.
const PRODUCT: [&str; 3] = [
    "[GemmWs] Keys K = 16, N = 8, M = 32",
    "[GemmWS]: total 0.000008448 GFLOPs, 0.000001856 GB",
    "[GemmWS]: Theoretical time(ms): 0.00002 Compute time: 0.0000165 Memory time: 0.00002",
];
const LAYER: [&str; 7] = [
    "Start layer Gemm_0",
    "Layer Gemm_0 Core 0 Get Tile at 0",
    "Layer Gemm_0 Core 1 Get Tile at 1",
    "Layer 7 Core 0 Finish Tile at 90 Remain tile 2",
    "Layer 7 Core 1 Finish Tile at 100 Remain tile 1",
    "Layer Gemm_0 finish at 100",
    "Total compute time 100",
];
const END: [&str; 2] = [
    "Simulation Finished at 2000 cycle 2 us",
    "Core [0] : Systolic Array Utilization(%) 50.00 (25.00% PE util), Vector Unit Utilization(%) 0.00, Total cycle: 2000",
];

fn log(lines: &[&str]) -> Vec<u8> {
    lines.iter().map(|line| format!("{HEAD}{line}\n")).collect::<Vec<_>>().concat().into_bytes()
}

fn try_open(lines: &[&str], clock_mhz: Option<f64>) -> Result<TraceModel, ImportError> {
    let source = Source::from_bytes("run.log", log(lines)).unwrap();
    assert_eq!(OnnxIm.detect(source.head()), Confidence::Certain);
    let mut builder = TraceBuilder::new();
    let options = ImportOptions { clock_mhz, ..ImportOptions::default() };
    OnnxIm.import(&source, &options, &Progress::new(), &mut builder)?;
    Ok(builder.finish())
}

fn open(parts: &[&[&str]]) -> TraceModel {
    try_open(&parts.concat(), Some(1000.0)).unwrap()
}

/// `name begin-end`, in ns, of a track.
fn slices(model: &TraceModel, track: &str) -> Vec<String> {
    let of_track = |slice: &SliceRef<'_>| model.str(model.track(slice.track()).name) == track;
    let text = |slice: SliceRef<'_>| {
        let range = slice.range();
        format!("{} {}-{}", slice.name(), range.start.ps() / 1000, range.end.ps() / 1000)
    };
    model.all_slices().filter(of_track).map(text).collect()
}

#[test]
fn layers_are_ops_and_tiles_are_of_cores() {
    let model = open(&[&BEGIN, &PRODUCT, &LAYER, &END]);
    assert_eq!(slices(&model, "Layers"), ["Gemm_0 0-100"]);
    assert_eq!(slices(&model, "Core 0 tiles"), ["Gemm_0 0-90"]);
    assert_eq!(slices(&model, "Core 1 tiles"), ["Gemm_0 1-100"]);
    assert_eq!(slices(&model, "Models"), ["ONNXim run 0-2000"]);
    let op = &model.ops()[0];
    assert_eq!((op.flops, op.bytes_accessed), (Some(2 * 8 * 16 * 32 + 8 * 32), Some(1856)));
    let text = op.hlo_text.map(|text| model.str(text)).unwrap();
    assert!(text.contains("bf16[8,32]{1,0} dot(bf16[8,16]{1,0} %lhs, bf16[16,32]"), "{text}");
    let device = model.group(model.tensor_cores()[0]).device.clone().unwrap();
    assert_eq!((device.peak_flops, device.peak_hbm_bytes), (Some(512e9), Some(100e9)));
    assert_eq!(model.import_log().counts(), []);
}

#[test]
fn a_core_works_at_several_tiles_and_layers_at_once() {
    let model = open(&[
        &BEGIN,
        &["Start layer a", "Layer a Core 0 Get Tile at 0", "Layer a Core 0 Get Tile at 5", "Start layer b"],
        &["Layer b Core 0 Get Tile at 6", "Layer 1 Core 0 Finish Tile at 7 Remain tile 2"],
        &["Layer 1 Core 0 Finish Tile at 8 Remain tile 1", "Layer a finish at 8", "Total compute time 8"],
        &["Layer 2 Core 0 Finish Tile at 9 Remain tile 2", "Layer 2 Core 0 Finish Tile at 9 Remain tile 1"],
        &["Layer b finish at 9", "Total compute time 4"],
        &END,
    ]);
    assert_eq!(slices(&model, "Core 0 tiles"), ["a 0-7", "a 5-8", "b 6-9"]);
    assert_eq!(slices(&model, "Layers"), ["a 0-8", "b 8-9"]);
    assert_eq!(slices(&model, "Layers at once"), ["a 0-8", "b 5-9"]);
    assert_eq!(model.import_log().count(IssueKind::ScheduleOverlaps), 1);
    assert_eq!(model.import_log().count(IssueKind::EndWithoutBegin), 0, "a barrier is no tile");
}

#[test]
fn utilization_is_of_the_time_since_the_last_line() {
    let usage = |percent: &str, cycle: &str| {
        format!(
            "Core [0] : Systolic Array Utilization(%) {percent} (1.00% PE util), Vector Unit Utilization(%) 0.00, Total cycle: {cycle}"
        )
    };
    let (first, second) = (usage("80.00", "500"), usage("40.00", "1000"));
    let model = open(&[&BEGIN, &LAYER, &[&first, &second], &END]);
    let counter = |name: &str| {
        let track = model.track_ids().find(|track| model.str(model.track(*track).name) == name).unwrap();
        let samples = model.counter(track).unwrap().samples();
        samples.map(|(range, value)| (range.start.ps() / 1000, range.end.ps() / 1000, value)).collect::<Vec<_>>()
    };
    // 2000 cycles at 50 % less 500 at 80 and 500 at 40.
    assert_eq!(counter("Core 0 array busy"), [(0, 500, 80.0), (500, 1000, 40.0), (1000, 2000, 40.0)]);
    assert_eq!(counter("Core 0 vector unit busy")[2], (1000, 2000, 0.0));
}

#[test]
fn products_are_believed_where_they_can_be_told() {
    let flops = |parts: &[&[&str]]| {
        let model = open(&[&[&BEGIN as &[&str]], parts, &[&END]].concat());
        (model.ops().iter().map(|op| op.flops).collect::<Vec<_>>(), model.import_log().count(IssueKind::CostMissing))
    };
    let norm = ["Start layer norm", "Layer norm finish at 120", "Total compute time 20"];
    assert_eq!(flops(&[&PRODUCT, &LAYER, &norm]), (vec![Some(8448), None], 0));
    assert_eq!(flops(&[&PRODUCT, &PRODUCT, &PRODUCT, &LAYER]), (vec![None], 1));
    // A layer of 10 cycles cannot do what takes 16.5 ns at full rate.
    let short = ["Start layer Gemm_0", "Layer Gemm_0 finish at 10", "Total compute time 10"];
    assert_eq!(flops(&[&PRODUCT, &short]), (vec![None], 0));
    // Other schedulers announce no layers and mix those of several models.
    assert_eq!(flops(&[&PRODUCT, &LAYER[1..]]).0, [None]);
}

#[test]
fn the_clock_is_named_or_beside_or_follows_from_the_end() {
    let clock = |model: &TraceModel| {
        let facts = &model.sources()[0].facts;
        let fact = facts.iter().find(|(name, _)| name == "clock").unwrap();
        (fact.1.clone(), model.import_log().count(IssueKind::AssumedClock))
    };
    let all = [&BEGIN as &[&str], &LAYER, &END].concat();
    assert_eq!(clock(&try_open(&all, Some(500.0)).unwrap()), ("500 MHz (named)".to_owned(), 0));
    let (text, assumed) = clock(&try_open(&all, None).unwrap());
    assert!(text.starts_with("1000 MHz (2000 cycles in 2 µs") && assumed == 1, "{text}");
    let (text, assumed) = clock(&try_open(&[&BEGIN as &[&str], &LAYER].concat(), None).unwrap());
    assert!(text.contains("not known") && assumed == 1, "{text}");

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.log");
    std::fs::write(&path, log(&all)).unwrap();
    let open = || crate::import_path(&path, &ImportOptions::default(), &Progress::new()).unwrap();
    std::fs::write(dir.path().join("other.json"), CONFIG.replace("16", "32")).unwrap();
    assert_eq!(clock(&open()).1, 1, "a configuration of another chip");
    std::fs::write(dir.path().join("chip.json"), CONFIG).unwrap();
    assert_eq!(clock(&open()), ("1000 MHz (chip.json)".to_owned(), 0));
    let device = open().group(open().tensor_cores()[0]).device.clone().unwrap();
    assert_eq!(device.type_name.as_deref(), Some("2 systolic arrays 8×16"));
}

#[test]
fn another_clock_has_other_peaks() {
    let all = [&BEGIN as &[&str], &LAYER, &END].concat();
    let model = try_open(&all, Some(500.0)).unwrap();
    let device = model.group(model.tensor_cores()[0]).device.clone().unwrap();
    assert_eq!(device.peak_flops, Some(256e9));
    assert_eq!(slices(&model, "Layers"), ["Gemm_0 0-200"]);
}

#[test]
fn what_is_wrong_with_a_log_is_said() {
    let count = |parts: &[&[&str]], kind| open(parts).import_log().count(kind);
    assert_eq!(count(&[&BEGIN, &LAYER], IssueKind::TruncatedFile), 1);
    assert_eq!(count(&[&BEGIN, &LAYER, &BEGIN, &LAYER, &END], IssueKind::Duplicate), 1);
    assert_eq!(count(&[&BEGIN, &LAYER, &["Layer a finish at 50"], &END], IssueKind::BadTimestamp), 1);
    assert_eq!(count(&[&BEGIN, &LAYER, &["Layer a finish at 1x"], &END], IssueKind::MalformedEvent), 1);
    assert_eq!(
        count(
            &[&BEGIN, &["Start layer a", "Layer a finish at 9", "Total compute time 10"], &END],
            IssueKind::BadDuration
        ),
        1
    );
    assert_eq!(count(&[&BEGIN, &LAYER, &["Layer 9 Core 0 Finish Tile at 100"], &END], IssueKind::EndWithoutBegin), 1);
    let idle = "Core [0] : Systolic Array Utilization(%) 0.00 (0.00% PE util), Vector Unit Utilization(%) 0.00, Total cycle: 500";
    let stuck = open(&[&BEGIN, &LAYER, &["Start layer b", "Layer b Core 0 Get Tile at 101", idle]]);
    assert_eq!(stuck.import_log().count(IssueKind::ProfilerError), 1);
    assert_eq!(slices(&stuck, "Layers"), ["Gemm_0 0-100", "b 101-500"]);

    let error = |lines: &[&str]| try_open(lines, None).unwrap_err().to_string();
    assert!(error(&[&BEGIN as &[&str], &[idle]].concat()).contains("hangs"));
    assert!(error(&[&BEGIN as &[&str], &END].concat()).contains("--log_level"));
}

#[test]
fn hostile_numbers_do_no_harm() {
    let far = i64::MAX.to_string();
    let model = open(&[
        &BEGIN,
        &[
            "[GemmWs] Keys K = 1099511627776, N = 1099511627776, M = 1099511627776",
            "[GemmWS]: total 1e308 GFLOPs, 1e308 GB",
        ],
        &["Start layer a", "Layer a Core 4294967295 Get Tile at 0", "Layer a Core 0 Get Tile at 1"],
        &[&format!("Layer 1 Core 0 Finish Tile at {far}"), &format!("Layer a finish at {far}"), "Total compute time 1"],
        &[&format!("Simulation Finished at {far} cycle {far} us")],
    ]);
    assert_eq!(model.import_log().count(IssueKind::TimeOutOfRange), 2, "the layer and its tile");
    assert_eq!(model.tracks().iter().filter(|track| track.kind == TrackKind::Counter).count(), 0);
}
