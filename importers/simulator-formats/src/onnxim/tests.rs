use std::sync::LazyLock;

use sample_traces::slices;
use trace_model::{TraceModel, TrackKind};

use super::*;

const HEAD: &str = "[2026-01-01 00:00:00.000] [info] ";

/// Some lines of a complete log.
fn part(from: usize, count: usize) -> Vec<&'static str> {
    let log = include_str!("../../../tests/fixtures/onnxim.log").lines();
    log.skip(from)
        .take(count)
        .map(|line| line.strip_prefix(HEAD).unwrap())
        .collect()
}

/// A chip with two cores and 2 × 2 × 8 × 16 FLOPs per cycle at 1 GHz.
static BEGIN: LazyLock<Vec<&str>> = LazyLock::new(|| part(0, 4));
const CONFIG: &str = include_str!("../../../tests/fixtures/onnxim.json");
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

fn try_open(lines: &[&str], clock_mhz: Option<f64>) -> Result<TraceModel, ImportError> {
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
}

#[test]
fn clock_comes_from_option_config_or_log_end() {
    let clock = |model: &TraceModel| {
        let facts = &model.sources()[0].facts;
        let fact = facts.iter().find(|(name, _)| name == "clock").unwrap();
        (
            fact.1.clone(),
            model.import_log().count(IssueKind::AssumedClock),
        )
    };
    let all = [&BEGIN as &[&str], &LAYER, &END].concat();
    assert_eq!(
        clock(&try_open(&all, Some(500.0)).unwrap()),
        ("500 MHz (named)".to_owned(), 0)
    );
    let (text, assumed) = clock(&try_open(&all, None).unwrap());
    assert!(
        text.starts_with("1000 MHz (2000 cycles in 2 µs") && assumed == 1,
        "{text}"
    );
    let (text, assumed) = clock(&try_open(&[&BEGIN as &[&str], &LAYER].concat(), None).unwrap());
    assert!(text.contains("not known") && assumed == 1, "{text}");

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.log");
    std::fs::write(&path, log(&all)).unwrap();
    let open =
        || importers::import_path(&path, &ImportOptions::default(), &Progress::new()).unwrap();
    std::fs::write(dir.path().join("other.json"), CONFIG.replace("16", "32")).unwrap();
    assert_eq!(clock(&open()).1, 1, "a configuration of another chip");
    let log = open().import_log().counts().to_vec();
    let skipped = log
        .iter()
        .find(|entry| entry.kind == IssueKind::SourceSkipped)
        .unwrap();
    assert!(
        skipped.examples[0].starts_with("other.json: a peak of 1.0240e12 FLOP/s"),
        "{:?}",
        skipped.examples
    );
    std::fs::write(dir.path().join("chip.json"), CONFIG).unwrap();
    assert_eq!(clock(&open()), ("1000 MHz (chip.json)".to_owned(), 0));
    assert_eq!(
        open().import_log().counts(),
        [],
        "others lie there for other runs"
    );
    let device = open()
        .group(open().tensor_cores()[0])
        .device
        .clone()
        .unwrap();
    assert_eq!(device.type_name.as_deref(), Some("2 systolic arrays 8×16"));
}

#[test]
fn clock_changes_the_peaks() {
    let all = [&BEGIN as &[&str], &LAYER, &END].concat();
    let model = try_open(&all, Some(500.0)).unwrap();
    let device = model.group(model.tensor_cores()[0]).device.clone().unwrap();
    assert_eq!(
        (device.peak_flops, device.peak_hbm_bytes),
        (Some(256e9), Some(50e9))
    );
    assert_eq!(slices(&model, "Layers"), ["Gemm_0 0-200"]);
}

#[test]
fn log_problems_are_logged() {
    let count = |parts: &[&[&str]], kind| open(parts).import_log().count(kind);
    assert_eq!(count(&[&BEGIN, &LAYER], IssueKind::TruncatedFile), 1);
    assert_eq!(
        count(
            &[&BEGIN, &LAYER, &BEGIN, &LAYER, &END],
            IssueKind::Duplicate
        ),
        1
    );
    assert_eq!(
        count(
            &[&BEGIN, &LAYER, &["Layer a finish at 50"], &END],
            IssueKind::BadTimestamp
        ),
        1
    );
    assert_eq!(
        count(
            &[&BEGIN, &LAYER, &["Layer a finish at 1x"], &END],
            IssueKind::MalformedEvent
        ),
        1
    );
    assert_eq!(
        count(
            &[
                &BEGIN,
                &[
                    "Start layer a",
                    "Layer a finish at 9",
                    "Total compute time 10"
                ],
                &END
            ],
            IssueKind::BadDuration
        ),
        1
    );
    assert_eq!(
        count(
            &[&BEGIN, &LAYER, &["Layer 9 Core 0 Finish Tile at 100"], &END],
            IssueKind::EndWithoutBegin
        ),
        1
    );
    assert_eq!(
        count(
            &[&BEGIN, &LAYER, &["Layer a finish at 150"], &END],
            IssueKind::EndWithoutBegin
        ),
        1
    );
    let (first, second, later) = (idle(0, 500), idle(1, 500), idle(1, 600));
    let begun = ["Start layer b", "Layer b Core 0 Get Tile at 101"];
    let stuck = open(&[&BEGIN, &LAYER, &begun, &[&first, &second]]);
    assert_eq!(stuck.import_log().count(IssueKind::ProfilerError), 1);
    let errors = |parts: &[&[&str]]| {
        count(
            &[&[&BEGIN as &[&str], &LAYER], parts].concat(),
            IssueKind::ProfilerError,
        )
    };
    assert_eq!(
        errors(&[&begun, &[&first]]),
        0,
        "what the other core does is not known"
    );
    assert_eq!(
        errors(&[&begun, &[&first, &later]]),
        0,
        "nor what the first one does by then"
    );
    assert_eq!(errors(&[&[&first, &second]]), 0, "nothing is left to do");
    assert_eq!(slices(&stuck, "Layers"), ["Gemm_0 0-100", "b 101-500"]);

    let error = |lines: &[&str]| try_open(lines, None).unwrap_err().to_string();
    assert!(error(&[&BEGIN as &[&str], &[&first, &second]].concat()).contains("hangs"));
    assert!(error(&[&BEGIN as &[&str], &END].concat()).contains("--log_level"));
}

#[test]
fn extreme_numbers_do_not_panic() {
    let far = i64::MAX.to_string();
    let model = open(&[
        &BEGIN,
        &[
            "[GemmWs] Keys K = 1099511627776, N = 1099511627776, M = 1099511627776",
            "[GemmWS]: total 1e308 GFLOPs, 1e308 GB",
        ],
        &[
            "Start layer a",
            "Layer a Core 4294967295 Get Tile at 0",
            "Layer a Core 0 Get Tile at 1",
        ],
        &[
            &format!("Layer 1 Core 0 Finish Tile at {far}"),
            &format!("Layer a finish at {far}"),
            "Total compute time 1",
        ],
        &[&format!("Simulation Finished at {far} cycle {far} us")],
    ]);
    let log = model.import_log();
    assert_eq!(
        log.count(IssueKind::BeyondTimeline),
        4,
        "the layer, its tile, the model, and all of the run"
    );
    assert_eq!(
        log.count(IssueKind::TimeOutOfRange),
        0,
        "nothing was clipped"
    );
    assert_eq!(
        model
            .tracks()
            .iter()
            .filter(|track| track.kind == TrackKind::Counter)
            .count(),
        0
    );
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

#[test]
fn requests_start_on_the_simulator_clock() {
    let request = ["Model[mlp] Request: 0 us, Start: 1 us, finish:2 us, Current Cycle:2000"];
    let log = [&BEGIN[..], &LAYER, &request, &END].concat();
    // 1000 cycles at the simulator's 1 GHz take half the time at 2 GHz.
    assert_eq!(
        slices(&try_open(&log, Some(1000.0)).unwrap(), "Models"),
        ["mlp 1000-2000"]
    );
    assert_eq!(
        slices(&try_open(&log, Some(2000.0)).unwrap(), "Models"),
        ["mlp 500-1000"]
    );
}

#[test]
fn unterminated_last_line_is_ignored() {
    let lines = [
        &BEGIN as &[&str],
        &LAYER,
        &END[..1],
        &["Core [0] : Systolic Array Utilization(%) 50.00"],
    ]
    .concat();
    let open = |cut: &str| {
        let text = String::from_utf8(log(&lines)).unwrap();
        let text = text.split_inclusive(cut).next().unwrap().to_owned();
        let source = InputSource::from_bytes("run.log", text.into_bytes()).unwrap();
        let mut builder = TraceBuilder::new();
        OnnxIm
            .import(
                &source,
                &ImportOptions::default(),
                &Progress::new(),
                &mut builder,
            )
            .unwrap();
        builder.finish()
    };
    let said = |model: &TraceModel| {
        let counts = model.import_log().counts().to_vec();
        counts
            .into_iter()
            .find(|issue| issue.kind == IssueKind::TruncatedFile)
            .map(|issue| issue.examples)
    };
    let model = open("Layer Gemm_0 finish at 10");
    assert_eq!(
        slices(&model, "Layers"),
        ["Gemm_0 0-100"],
        "until the last tile ends"
    );
    let log = said(&model).unwrap();
    assert_eq!(
        log[0],
        "run.log: line 10 has no end, so it may be cut: it was passed over"
    );
    // A log without its last line end is otherwise complete.
    assert_eq!(
        said(&open("Simulation Finished at 2000 cycle 2 us\n")),
        None
    );
    assert_eq!(
        said(&open("Simulation Finished at 2000 cycle 2 us"))
            .unwrap()
            .len(),
        2
    );
}
