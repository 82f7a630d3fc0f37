mod clock;
mod damage;

use std::sync::LazyLock;

use sample_traces::slices;
use trace_model::{TraceModel, TrackKind};

use super::*;

const HEAD: &str = "[2026-01-01 00:00:00.000] [info] ";

/// Some lines of a complete log.
fn part(from: usize, count: usize) -> Vec<&'static str> {
    let log = include_str!("../../../../tests/fixtures/onnxim.log").lines();
    log.skip(from)
        .take(count)
        .map(|line| line.strip_prefix(HEAD).unwrap())
        .collect()
}

/// A chip with two cores and 2 × 2 × 8 × 16 FLOPs per cycle at 1 GHz.
static BEGIN: LazyLock<Vec<&str>> = LazyLock::new(|| part(0, 4));
const CONFIG: &str = include_str!("../../../../tests/fixtures/onnxim.json");
/// A product of 8 × 16 by 16 × 32 with bias, with two bytes per number.
static PRODUCT: LazyLock<Vec<&str>> = LazyLock::new(|| part(4, 3));
static LAYER: LazyLock<Vec<&str>> = LazyLock::new(|| part(7, 7));
/// The line for a core whose array is idle.
fn idle(core: u32, cycle: i64) -> String {
    format!(
        "Core [{core}] : Systolic Array Utilization(%) 0.00 (0.00% PE util), Vector Unit Utilization(%) 0.00, Total cycle: {cycle}"
    )
}

static END: LazyLock<Vec<&str>> = LazyLock::new(|| part(14, 2));

fn log(lines: &[&str]) -> Vec<u8> {
    lines
        .iter()
        .map(|line| format!("{HEAD}{line}\n"))
        .collect::<Vec<_>>()
        .concat()
        .into_bytes()
}

fn try_open(lines: &[&str], clock_mhz: Option<f64>) -> Result<TraceModel> {
    let source = InputSource::from_bytes("run.log", log(lines)).unwrap();
    assert_eq!(OnnxIm.detect(source.head()), DetectionConfidence::Certain);
    let mut builder = TraceBuilder::new();
    let options = ImportOptions {
        clock_mhz,
        ..ImportOptions::default()
    };
    OnnxIm.import(&source, &options, &Progress::new(), &mut builder)?;
    Ok(builder.finish())
}

fn open(parts: &[&[&str]]) -> TraceModel {
    try_open(&parts.concat(), Some(1000.0)).unwrap()
}

#[test]
fn layers_become_ops_and_tiles_are_on_cores() {
    let model = open(&[&BEGIN, &PRODUCT, &LAYER, &END]);
    assert_eq!(slices(&model, "Layers"), ["Gemm_0 0-100"]);
    assert_eq!(slices(&model, "Core 0 tiles"), ["Gemm_0 0-90"]);
    assert_eq!(slices(&model, "Core 1 tiles"), ["Gemm_0 1-100"]);
    assert_eq!(slices(&model, "Models"), ["ONNXim run 0-2000"]);
    let op = &model.ops()[0];
    assert_eq!(
        (op.flops, op.bytes_accessed),
        (Some(2 * 8 * 16 * 32 + 8 * 32), Some(1856))
    );
    let text = op.hlo_text.map(|text| model.str(text)).unwrap();
    assert!(
        text.contains("bf16[8,32]{1,0} dot(bf16[8,16]{1,0} %lhs, bf16[16,32]"),
        "{text}"
    );
    let device = model.group(model.tensor_cores()[0]).device.clone().unwrap();
    assert_eq!(
        (device.peak_flops, device.peak_hbm_bytes),
        (Some(512e9), Some(100e9))
    );
    assert_eq!(model.import_log().counts(), []);
}

#[test]
fn core_runs_several_tiles_and_layers_concurrently() {
    let model = open(&[
        &BEGIN,
        &[
            "Start layer a",
            "Layer a Core 0 Get Tile at 0",
            "Layer a Core 0 Get Tile at 5",
            "Start layer b",
        ],
        &[
            "Layer b Core 0 Get Tile at 6",
            "Layer 1 Core 0 Finish Tile at 7 Remain tile 2",
        ],
        &[
            "Layer 1 Core 0 Finish Tile at 8 Remain tile 1",
            "Layer m a finish at 8",
            "Total compute time 8",
        ],
        &[
            "Layer 2 Core 0 Finish Tile at 9 Remain tile 2",
            "Layer 2 Core 0 Finish Tile at 9 Remain tile 1",
        ],
        &[
            "Layer my m b finish at 9",
            "Total compute time 4",
            "Model[my m] finish  at 9",
        ],
        &END,
    ]);
    assert_eq!(slices(&model, "Core 0 tiles"), ["a 0-7", "a 5-8", "b 6-9"]);
    assert_eq!(slices(&model, "Layers"), ["a 0-8", "b 8-9"]);
    assert_eq!(slices(&model, "Layers at once"), ["a 0-8", "b 5-9"]);
    assert_eq!(model.import_log().count(IssueKind::ScheduleOverlaps), 1);
    let log = model.import_log();
    assert_eq!(
        log.count(IssueKind::EndWithoutBegin),
        0,
        "a barrier is no tile"
    );
    assert_eq!(
        (
            log.count(IssueKind::MalformedEvent),
            log.count(IssueKind::BeginWithoutEnd)
        ),
        (0, 0)
    );
}

#[test]
fn utilization_covers_the_time_since_the_last_line() {
    let usage = |percent: &str, cycle: &str| {
        format!(
            "Core [0] : Systolic Array Utilization(%) {percent} (1.00% PE util), Vector Unit Utilization(%) 0.00, Total cycle: {cycle}"
        )
    };
    let (first, second) = (usage("80.00", "500"), usage("40.00", "1000"));
    let model = open(&[&BEGIN, &LAYER, &[&first, &second], &END]);
    let counter = |name: &str| {
        let track = model
            .track_ids()
            .find(|track| model.str(model.track(*track).name) == name)
            .unwrap();
        let samples = model.counter(track).unwrap().samples();
        samples
            .map(|(range, value)| (range.start.ps() / 1000, range.end.ps() / 1000, value))
            .collect::<Vec<_>>()
    };
    // The rest of the total: 2000 cycles at 50 % minus 500 at 80 % and 500 at 40 %.
    assert_eq!(
        counter("Core 0 array busy"),
        [(0, 500, 80.0), (500, 1000, 40.0), (1000, 2000, 40.0)]
    );
    assert_eq!(counter("Core 0 vector unit busy")[2], (1000, 2000, 0.0));
}

#[test]
fn matmul_sizes_are_used_if_unambiguous() {
    let flops = |parts: &[&[&str]]| {
        let model = open(&[&[&BEGIN as &[&str]], parts, &[&END]].concat());
        (
            model.ops().iter().map(|op| op.flops).collect::<Vec<_>>(),
            model.import_log().count(IssueKind::WorkUnknown),
        )
    };
    let norm = [
        "Start layer norm",
        "Layer norm finish at 120",
        "Total compute time 20",
    ];
    assert_eq!(
        flops(&[&PRODUCT, &LAYER, &norm]),
        (vec![Some(8448), None], 0)
    );
    assert_eq!(
        flops(&[&PRODUCT, &PRODUCT, &PRODUCT, &LAYER]),
        (vec![None], 1)
    );
    // A layer of 10 cycles cannot do work that takes 16.5 ns at full rate.
    let short = [
        "Start layer Gemm_0",
        "Layer Gemm_0 finish at 10",
        "Total compute time 10",
    ];
    assert_eq!(flops(&[&PRODUCT, &short]), (vec![None], 1));
    // If a layer did not end, it is unknown how much of it was done.
    assert_eq!(flops(&[&PRODUCT, &LAYER[..5]]), (vec![None], 0));
    assert_eq!(flops(&[&PRODUCT, &LAYER[..1]]), (vec![None], 0));
    // A value that is missing from the log is not 0.
    assert_eq!(flops(&[&PRODUCT[..1], &LAYER]), (vec![None], 0));
}

/// A product of 8 × 16 by 16 × 64.
const WIDE: [&str; 3] = [
    "[GemmWs] Keys K = 16, N = 8, M = 64",
    "[GemmWS]: total 0.000016896 GFLOPs, 0.000003456 GB",
    "[GemmWS]: Theoretical time(ms): 0.00004 Compute time: 0.000033 Memory time: 0.00004",
];

#[test]
fn matmul_sizes_follow_graph_order() {
    let flops = |parts: &[&[&str]]| {
        let model = open(&[&[&BEGIN as &[&str], &PRODUCT, &WIDE], parts, &[&END]].concat());
        let of = |name: &str| {
            model
                .ops()
                .iter()
                .find(|op| model.str(op.name) == name)
                .and_then(|op| op.flops)
        };
        (
            of("Gemm_0"),
            of("Gemm_1"),
            model.import_log().count(IssueKind::WorkUnknown),
        )
    };
    let layer = |name: &str, number: u64, begin: i64| {
        let end = begin + 100;
        let begins = [
            format!("Start layer {name}"),
            format!("Layer {name} Core 0 Get Tile at {begin}"),
        ];
        let tile = [format!(
            "Layer {number} Core 0 Finish Tile at {end} Remain tile 1"
        )];
        let ends = [
            format!("Layer {name} finish at {end}"),
            "Total compute time 100".to_owned(),
        ];
        [begins.to_vec(), tile.to_vec(), ends.to_vec()].concat()
    };
    let log = |layers: [Vec<String>; 2]| layers.concat();
    let text = |lines: &[String]| -> Vec<&'static str> {
        lines.iter().map(|line| &*line.clone().leak()).collect()
    };
    let known = (Some(8448), Some(16896), 0);
    // The second layer of the graph runs first.
    let swapped = text(&log([layer("Gemm_1", 9, 0), layer("Gemm_0", 7, 100)]));
    assert_eq!(flops(&[&swapped]), known);
    // Without numbers, the mapping is only certain if there is never more than one layer to start.
    let quiet: Vec<&str> = swapped
        .iter()
        .copied()
        .filter(|line| !line.contains("Tile"))
        .collect();
    assert_eq!(flops(&[&quiet]), (None, None, 1));
    let chain = text(&log([layer("Gemm_0", 7, 0), layer("Gemm_1", 9, 100)]));
    let chain: Vec<&str> = chain
        .into_iter()
        .filter(|line| !line.contains("Tile"))
        .collect();
    let counted = |count: &'static str| {
        let counted = |line: &&'static str| {
            if line.starts_with("Start") {
                vec![count, *line]
            } else {
                vec![*line]
            }
        };
        chain.iter().flat_map(counted).collect::<Vec<_>>()
    };
    assert_eq!(flops(&[&counted("executable layer count 1")]), known);
    assert_eq!(
        flops(&[&counted("executable layer count 2")]),
        (None, None, 1)
    );
    // Each model has its own numbers and products.
    let mixed: Vec<&str> = swapped
        .iter()
        .map(|line| match *line {
            "Layer Gemm_1 finish at 100" => "Layer one Gemm_1 finish at 100",
            "Layer Gemm_0 finish at 200" => "Layer two Gemm_0 finish at 200",
            line => line,
        })
        .collect();
    assert_eq!(flops(&[&mixed]), (None, None, 1));
}

#[test]
fn work_above_peak_is_judged_by_the_simulator_clock() {
    // 20 cycles of one nanosecond suffice for work of 16.5 ns, whatever clock the user names.
    let brief = [
        "Start layer Gemm_0",
        "Layer Gemm_0 finish at 20",
        "Total compute time 20",
    ];
    let all = [&BEGIN as &[&str], &PRODUCT, &brief, &END].concat();
    for mhz in [1000.0, 4000.0, 100.0] {
        let model = try_open(&all, Some(mhz)).unwrap();
        assert_eq!(model.ops()[0].flops, Some(8448), "{mhz}");
        assert_eq!(model.import_log().count(IssueKind::WorkUnknown), 0);
    }
}

#[test]
fn short_remainder_gives_no_rate() {
    let usage =
        |percent: &str, cycle: i64| idle(0, cycle).replacen(" 0.00 ", &format!(" {percent} "), 1);
    let (first, total) = (usage("50.00", 100_000), usage("50.01", 100_020));
    let end = "Simulation Finished at 100020 cycle 100 us";
    let model = open(&[&BEGIN, &LAYER, &[&first, end, &total]]);
    let track = model
        .track_ids()
        .find(|id| model.str(model.track(*id).name) == "Core 0 array busy")
        .unwrap();
    assert_eq!(model.counter(track).unwrap().samples().count(), 1);
    assert!(
        model.sources()[0]
            .facts
            .iter()
            .any(|(name, value)| name == "core 0" && value.contains("50.01 %"))
    );
}

#[test]
fn interval_dram_statistics_are_not_totals() {
    let dram = "DRAM: AVG BW Util 66.80%";
    let counters = |parts: &[&[&str]]| {
        let model = open(parts);
        model
            .track_ids()
            .filter(|id| {
                model
                    .str(model.track(*id).name)
                    .starts_with("DRAM bandwidth")
            })
            .count()
    };
    assert_eq!(
        (
            counters(&[&BEGIN, &LAYER, &[dram]]),
            counters(&[&BEGIN, &LAYER, &END, &[dram]])
        ),
        (0, 1)
    );
    let model = open(&[&BEGIN, &LAYER, &END, &[dram]]);
    let said = "66.8 % of its peak, as a mean of the run";
    let mut facts = model.sources()[0].facts.iter();
    assert!(facts.any(|(_, value)| value == said));
}

#[test]
fn concurrent_tiles_end_in_layer_order() {
    let tiles = 400;
    let got = (0..tiles).map(|at| {
        format!(
            "Layer {} Core 0 Get Tile at {at}",
            if at < tiles / 2 { "a" } else { "b" }
        )
    });
    let ended = (0..tiles).map(|at| {
        // The tiles that were received last end first, so that all earlier ones stay open.
        let layer = if at < tiles / 2 { 2 } else { 1 };
        format!(
            "Layer {layer} Core 0 Finish Tile at {} Remain tile 1",
            tiles + at
        )
    });
    let first = [
        "Layer a Core 0 Get Tile at 0".to_owned(),
        "Layer 1 Core 0 Finish Tile at 0 Remain tile 9".to_owned(),
    ];
    let lines: Vec<String> = first.into_iter().chain(got).chain(ended).collect();
    let model = open(&[
        &BEGIN,
        &lines.iter().map(String::as_str).collect::<Vec<_>>(),
    ]);
    let ends = slices(&model, "Core 0 tiles");
    assert!(ends.contains(&format!("a 1-{}", tiles + tiles / 2 + 1)));
    assert!(ends.contains(&format!("b {}-{tiles}", tiles / 2)));
    assert_eq!(model.import_log().count(IssueKind::EndWithoutBegin), 0);
}
