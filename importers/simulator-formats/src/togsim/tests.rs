use std::sync::LazyLock;

use sample_traces::slices;
use trace_model::{ArgValue, SliceAttr, TraceModel};

use super::*;

const HEAD: &str = "[2026-01-01 00:00:00.000] [trace] ";

fn try_open(lines: &[&str], clock_mhz: Option<f64>) -> Result<TraceModel> {
    let text: Vec<String> = lines.iter().map(|line| format!("{HEAD}{line}\n")).collect();
    let source = InputSource::from_bytes("run.log", text.concat().into_bytes()).unwrap();
    assert_eq!(TogSim.detect(source.head()), DetectionConfidence::Certain);
    let mut builder = TraceBuilder::new();
    let options = ImportOptions {
        clock_mhz,
        ..ImportOptions::default()
    };
    TogSim.import(&source, &options, &Progress::new(), &mut builder)?;
    Ok(builder.finish())
}

fn open(lines: &[&str]) -> TraceModel {
    try_open(lines, None).unwrap()
}

const CLOCK: &str = "[Config/Core] Core 0: core_freq_mhz: 1000, systolic_arrays_per_core: 2";

/// ```text
/// array 0      [matmul ][matmul]
/// array 1         [matmul     ]
/// vector                        [vector]
/// loads   [arg0]                         [out]
/// ```
static YOUNG: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let log = include_str!("../../../tests/fixtures/togsim.log").lines();
    log.map(|line| line.strip_prefix(HEAD).unwrap()).collect()
});
const END: [&str; 3] = [
    "[Scheduler 0] Kernel 0 has completed - TOG path: a operation: gemm finished at cycle 50",
    "[Scheduler 0] Kernel 0 execution summary - Started at: 0 cycles, Total compute time: 50 cycles",
    "Total execution cycles: 50",
];

#[test]
fn units_overlap_and_the_core_waits_for_transfers() {
    let model = open(&[&YOUNG as &[&str], &END].concat());
    let ops = [
        "wait load arg0 0-10",
        "matmul 10-20",
        "matmul 20-30",
        "vector 30-35",
        "wait store out 35-50",
    ];
    assert_eq!(slices(&model, "Compute"), ops);
    assert_eq!(
        slices(&model, "Systolic array 0"),
        ["matmul 10-20", "matmul 20-30"]
    );
    assert_eq!(slices(&model, "Systolic array 1"), ["matmul 14-30"]);
    assert_eq!(
        slices(&model, "Loads and stores"),
        ["load arg0 0-10", "store out 35-50"]
    );
    assert_eq!(slices(&model, "Kernels"), ["gemm 0-50"]);
    let reconstructed = model.slices_with(SliceAttr::Reconstructed).count();
    assert_eq!(reconstructed, 2);
    let log = model.import_log().counts();
    let [overlaps] = log else { panic!("{log:?}") };
    assert_eq!(
        (overlaps.kind, overlaps.count),
        (IssueKind::ScheduleOverlaps, 2)
    );
    let expected = [
        "core 0: instructions that overlap others and are drawn on Compute from their end (1)",
        "core 0: instructions that are hidden on Compute by longer ones (1)",
    ];
    assert_eq!(overlaps.examples, expected);
}

#[test]
fn older_logs_give_compute_end_at_issue() {
    let lines = [
        "[0][Core 0][INST_ISSUED] MOVIN, addr_name: a tag_id: [] tag_idx_list: [] tag_stride_list: []",
        "[1][Core 0][INST_ISSUED] MOVIN, addr_name: a tag_id: [] tag_idx_list: [] tag_stride_list: []",
        "[4][Core 0][ASYNC] MOVIN subgraph_id: 0 addr_name: a tag_id: [] tag_idx_list: [] tag_stride_list: []",
        "[8][Core 0] MOVIN ASYNC FINISHED, subgraph_id: 0 addr_name: a tag_id: [] tag_idx_list: []",
        "[8][Core 0][INST_ISSUED][SA 0] COMP-1, finsh at 20",
        "[9][Core 0][INST_FINISHED] MOVIN addr_name: a",
        "[9][Core 0][INST_ISSUED][SA 0] COMP-1, finsh at 28",
        "[20][Core 0][INST_FINISHED] COMP-1",
        "[28][Core 0][INST_FINISHED] COMP-1",
        "Total execution cycles: 28",
    ];
    let model = open(&lines);
    assert_eq!(
        slices(&model, "Loads and stores"),
        ["load a 0-8", "load a 1-9"]
    );
    assert_eq!(
        slices(&model, "Systolic array 0"),
        ["matmul 8-20", "matmul 20-28"]
    );
    assert_eq!(model.import_log().count(IssueKind::AssumedClock), 1);
    let clock = |model: &TraceModel| model.sources()[0].facts[0].1.clone();
    let named = try_open(&lines, Some(500.0)).unwrap();
    assert_eq!(named.import_log().counts(), []);
    assert_eq!(
        (clock(&model), clock(&named)),
        (
            "not known; a cycle is 1 ns here".into(),
            "500 MHz (named)".to_owned()
        )
    );
}

#[test]
fn log_problems_are_logged() {
    let count = |lines: &[&str], kind| open(lines).import_log().count(kind);
    assert_eq!(count(&YOUNG, IssueKind::TruncatedFile), 1);
    assert_eq!(count(&YOUNG[..12], IssueKind::BeginWithoutEnd), 1);
    let late = [
        &YOUNG as &[&str],
        &["[3][Core 0][INST_ISSUED    ][INST_ID=9] MOVIN (addr_name=a)"],
        &END,
    ]
    .concat();
    assert_eq!(count(&late, IssueKind::BadTimestamp), 1);
    let barrier = [
        &YOUNG as &[&str],
        &["[60][Core 0][INST_ISSUED    ][INST_ID=9] MEMORY_BAR (addr_name=a)"],
        &END,
    ]
    .concat();
    let log = open(&barrier).import_log().counts().to_vec();
    assert!(
        log.iter()
            .all(|issue| issue.kind == IssueKind::ScheduleOverlaps),
        "a barrier takes no time of a unit"
    );
    let cut = [
        &YOUNG as &[&str],
        &["[60][Core 0][INST_ISSUED    ][INST_ID=9] MOVIN (ad"],
        &END,
    ]
    .concat();
    assert_eq!(count(&cut, IssueKind::MalformedEvent), 1);
    let error = try_open(&[CLOCK, END[2]], None).unwrap_err().to_string();
    assert!(error.contains("--log_level trace"), "{error}");
}

#[test]
fn extreme_numbers_do_not_panic() {
    let far = i64::MAX;
    let model = open(&[
        CLOCK,
        &format!("[0][Core 0][INST_ISSUED][SA 0] COMP-1, finsh at {far}"),
        &format!(
            "[1][Core 0][INST_ISSUED][SA {}] COMP-1, finsh at 7",
            u32::MAX
        ),
        &format!(
            "[1][Core {}][INST_ISSUED][SA 0] COMP-1, finsh at 7",
            u32::MAX
        ),
        &format!("[{far}][Core 0][INST_ISSUED] MOVIN, addr_name: a"),
    ]);
    let log = model.import_log();
    assert_eq!(log.count(IssueKind::MalformedEvent), 2);
    assert_eq!(log.count(IssueKind::BeyondTimeline), 3, "and the run");
}

#[test]
fn kernels_are_shown_on_the_first_cores_only() {
    let cores =
        (0..3).map(|core| format!("[0][Core {core}][INST_ISSUED][SA 0] COMP-1, finsh at 20"));
    let kernels = (0..4).map(|kernel| {
        format!("[Scheduler 0] Kernel {kernel} has completed - TOG path: a operation: gemm finished at cycle {kernel}")
    });
    let lines: Vec<String> = cores
        .chain(kernels)
        .chain(["Total execution cycles: 20".to_owned()])
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let model = open(&lines);
    assert_eq!(slices(&model, "Kernels").len(), 8, "of two cores of three");
    assert_eq!(slices(&model, "Systolic array 0").len(), 3);
    assert_eq!(model.import_log().count(IssueKind::SourceSkipped), 1);
    assert_eq!(
        open(&[&lines[..5], &lines[7..]].concat())
            .import_log()
            .count(IssueKind::SourceSkipped),
        0
    );
}

#[test]
fn cancelled_import_writes_nothing() {
    let text = YOUNG
        .iter()
        .flat_map(|line| [line, "\n"])
        .collect::<String>();
    let source = InputSource::from_bytes("run.log", text.into_bytes()).unwrap();
    let (mut builder, mut run, progress) =
        (TraceBuilder::new(), TogSimRun::default(), Progress::new());
    read_log(&source, &progress, &mut builder, |message, out| {
        run.add(message, out)
    })
    .unwrap();
    progress.cancel();
    let written = timeline::write(&run, CycleClock::NONE, &progress, &mut builder);
    assert!(matches!(written, Err(input::ImportError::Cancelled)));
}

#[test]
fn statistics_belong_to_the_run_they_end() {
    let said = |percent: &str| {
        format!(
            "Core [0] : Systolic array [1] utilization(%) {percent}, active_cycles 3, idle_cycles 4"
        )
    };
    let dma = "Core [0] : DMA active_cycles, 3 DMA idle_cycles 4, DRAM BW 5.000 GB/s (7 responses)";
    let (early, last) = (said("41.50"), said("60.00"));
    let facts = |model: &TraceModel| {
        let facts = &model.group(model.tensor_cores()[0]).facts;
        let text = |(name, value): &(_, ArgValue)| (model.str(*name).to_owned(), value.clone());
        facts.iter().map(text).collect::<Vec<_>>()
    };
    let fact = |model: &TraceModel, name: &str| {
        facts(model)
            .into_iter()
            .find(|(it, _)| it == name)
            .map(|(_, value)| value)
    };
    let model = open(&[&YOUNG as &[&str], &[&early, &last, dma], &END].concat());
    let text = |text: &str| Some(ArgValue::Text(text.to_owned()));
    let array = "Systolic array [1] utilization";
    assert_eq!(
        fact(&model, array),
        text("60.00 % of 50 cycles, active_cycles 3, idle_cycles 4")
    );
    assert_eq!(
        fact(&model, "DMA"),
        text("DMA active_cycles, 3 DMA idle_cycles 4, DRAM BW 5.000 GB/s (7 responses)")
    );
    let cut = open(&[&YOUNG as &[&str], &[&early]].concat());
    assert_eq!(fact(&cut, array), None, "of an interval");
}

#[test]
fn unmatched_ends_are_counted() {
    let stray = "[50][Core 0][INST_FINISHED  ][INST_ID=99] COMP (compute_type=0 compute_cycle=5 sa=-1 tile=0)";
    let model = open(&[&YOUNG as &[&str], &[stray], &END].concat());
    let facts = &model.group(model.tensor_cores()[0]).facts;
    assert!(
        facts
            .iter()
            .any(|(name, _)| model.str(*name) == "ends without a begin")
    );
    assert_eq!(model.import_log().count(IssueKind::EndWithoutBegin), 1);
}

/// ```text
/// array 0  [matmul              ]
/// array 1     [matmul             ]
/// vector         [vector]
/// ```
#[test]
fn hidden_ops_are_counted() {
    let lines = [
        CLOCK,
        "[0][Core 0][INST_ISSUED][SA 0] COMP-1, finsh at 100",
        "[10][Core 0][INST_ISSUED][SA 1] COMP-1, finsh at 101",
        "[20][Core 0][INST_ISSUED][SA 0] COMP-0, finsh at 60",
        "[20][Core 1][INST_ISSUED][SA 0] COMP-0, finsh at 60",
        "Total execution cycles: 101",
    ];
    let model = open(&lines);
    let log = model.import_log().counts();
    let [overlaps] = log else { panic!("{log:?}") };
    assert_eq!(
        (overlaps.kind, overlaps.count),
        (IssueKind::ScheduleOverlaps, 2)
    );
    assert!(
        overlaps
            .examples
            .iter()
            .all(|text| text.starts_with("core 0: ")),
        "{:?}",
        overlaps.examples
    );
    assert!(
        model.sources()[0]
            .cannot_know
            .iter()
            .any(|what| what.contains("shares of the core"))
    );
}
