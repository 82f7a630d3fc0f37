//! The cases of public tests of other tools, written anew: each test names the one whose facts and expected values it
//! takes, and says where our answer differs and why. XProf's are in openxla/xprof below `xprof/convert`.

use analysis::Scope;
use analysis::hlo::Instruction;
use analysis::reports::communication::sparse_cores::SparseCores;
use analysis::reports::ops::hardware_counters::HardwareCounters;
use analysis::reports::{Gaps, OpRow, Ops, Serving, Steps};
use sample_traces::session::{
    MODULES, OPS, SampleEventMetadata, SamplePlane, SampleSession, SampleStat, double, int, text,
    uint,
};
use sample_traces::write::xspace_bytes;
use trace_model::{GroupKind, Picos, TrackKind};

use crate::capture::Capture;

pub(super) const NS: i64 = 1_000;
pub(super) const US: i64 = 1_000_000;

pub(super) fn plane(name: &str) -> SamplePlane {
    SamplePlane::new(1, name)
}

pub(super) fn add(
    plane: &mut SamplePlane,
    line: (i64, &str),
    event: &str,
    from_to: (i64, i64),
    stats: Vec<SampleStat>,
) {
    plane.event(line, event, from_to.0, from_to.1 - from_to.0, stats);
}

pub(super) fn capture(planes: Vec<SamplePlane>) -> Capture {
    let session = SampleSession::new("h", "made for a test", planes);
    Capture::of("case.xplane.pb", xspace_bytes(&session))
}

fn served(requests: &[(i64, (i64, i64))], batches: &[(i64, &str, (i64, i64))]) -> Capture {
    let mut host = plane("/host:CPU");
    for &(id, (from, to)) in requests {
        let stats = vec![int("request_id", id)];
        add(
            &mut host,
            (10 + id, "handler"),
            "request",
            (from * US, to * US),
            stats,
        );
    }
    for &(id, ids, (from, to)) in batches {
        let stats = vec![int("batch_id", id), text("request_ids", ids)];
        add(
            &mut host,
            (1, "engine"),
            "ProcessBatch",
            (from * US, to * US),
            stats,
        );
    }
    capture(vec![host])
}

/// `inference_stats_grouping_test.cc`, `TestWithoutModelId`: requests of 1, 2, 3 and 4 units in two batches of one unit
/// take 2.5 on average. It groups batches by their padded size, which annotations do not record; here it is the number
/// of requests.
#[test]
fn requests_and_batches_have_the_means_of_xprof() {
    let requests = [(0, (1, 2)), (1, (2, 4)), (2, (3, 6)), (3, (4, 8))];
    let capture = served(&requests, &[(0, "[0, 1]", (1, 2)), (1, "[2, 3]", (3, 4))]);
    let report = capture.report::<Serving>();
    let latency = report
        .latencies
        .iter()
        .find(|row| row.name == "latency")
        .unwrap();
    assert_eq!(
        (latency.time.count, latency.time.mean_ps),
        (4, 2.5 * US as f64)
    );
    let batches: Vec<_> = report
        .batches
        .iter()
        .map(|row| (row.requests, row.time.count, row.time.mean_ps))
        .collect();
    assert_eq!(batches, [(2, 2, US as f64)]);
}

/// `UsesBatchDeviceTimeForSplitRequests`: a request of 8 units in batches of 5 and 1; each batch has its own time.
#[test]
fn batches_of_a_split_request_keep_their_own_times() {
    let capture = served(
        &[(100, (1_000, 9_000))],
        &[(10, "[100]", (1_500, 6_500)), (11, "[100]", (7_000, 8_000))],
    );
    let report = capture.report::<Serving>();
    let batch = &report.batches[0];
    assert_eq!(
        (report.batches.len(), batch.requests, batch.time.count),
        (1, 1, 2)
    );
    assert_eq!(
        (batch.time.mean_ps, batch.time.max_ps),
        (3_000.0 * US as f64, 5_000.0 * US as f64)
    );
    assert_eq!(
        report.requests[0].latency_ps,
        Some(Picos::from_ps(8_000 * US))
    );
}

/// `TestTensorPatternPercentile`: of six times, XProf's median is the fourth and its 99.9th percentile the sixth. Here
/// the median lies between the third and the fourth, and six values have no 90th percentile.
#[test]
fn quantiles_of_few_requests_are_missing() {
    let requests: Vec<_> = (0..6).map(|id| (id, (1, 101 + 100 * id))).collect();
    let report = served(&requests, &[]).report::<Serving>();
    let time = &report
        .latencies
        .iter()
        .find(|row| row.name == "latency")
        .unwrap()
        .time;
    assert_eq!(
        (time.p50_ps, time.max_ps),
        (350.0 * US as f64, 600.0 * US as f64)
    );
    assert_eq!((time.p90_ps, time.p95_ps, time.p99_ps), (None, None, None));
}

/// `xplane_to_perf_counters_test.cc`: a counter without a number, on a stream of a GPU, is listed with its value 123.
#[test]
fn counters_without_a_number_are_listed() {
    for device in ["/device:GPU:0", "/device:TPU:0"] {
        let mut gpu = plane(device);
        let stats = vec![
            double("counter_value", 123.0),
            text("performance_counter_description", "what it counts"),
            text("performance_counter_sets", "a set"),
        ];
        add(&mut gpu, (1, "Stream 1"), "kernel_cycles", (0, US), stats);
        let report = capture(vec![gpu]).report::<HardwareCounters>();
        let counts: Vec<_> = report.devices[0]
            .counts
            .iter()
            .map(|it| (it.name.as_str(), it.value, it.is_known))
            .collect();
        assert_eq!(counts, [("kernel_cycles", 123.0, false)], "{device}");
        assert!(report.devices[0].metrics.is_empty());
    }
}

fn row<'a>(rows: &'a [OpRow], name: &str) -> &'a OpRow {
    rows.iter()
        .find(|row| &*row.name == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

/// `events_db/tpu_trace_parser_test.cc`, `ParsesTensorCoreAndCalculatesSelfTime`: an op of 8 µs around one of 3 µs has 5
/// µs of its own; its step, program and shapes are known.
#[test]
fn time_of_inner_ops_is_not_that_of_the_outer_one() {
    let outer = "%outer = f32[128,512]{1,0} fusion(f32[128,256]{1,0} %a, f32[256,512]{1,0} %b), kind=kCustom, calls=%c";
    let mut tpu = plane("/device:TPU:0");
    add(&mut tpu, (1, "Steps"), "0", (0, 10 * US), Vec::new());
    add(&mut tpu, MODULES, "jit_func(42)", (0, 10 * US), Vec::new());
    tpu.add(SampleEventMetadata {
        display_name: "outer".to_owned(),
        ..SampleEventMetadata::new(outer, vec![uint("program_id", 42)])
    });
    add(&mut tpu, OPS, outer, (US, 9 * US), Vec::new());
    add(&mut tpu, OPS, "inner", (2 * US, 5 * US), Vec::new());
    let capture = capture(vec![tpu]);
    let report = capture.report::<Ops>();
    let times = |name: &str| {
        (
            row(&report.rows, name).total_time_ps.ps(),
            row(&report.rows, name).self_time_ps.ps(),
        )
    };
    assert_eq!(
        (times("outer"), times("inner")),
        ((8 * US, 5 * US), (3 * US, 3 * US))
    );
    assert_eq!(&*row(&report.rows, "outer").program, "jit_func(42)");
    let steps = capture.report::<Steps>();
    assert_eq!((steps.steps.len(), steps.marker.as_str()), (1, "Steps"));
    let cx = capture.cx(Scope::WholeTrace);
    let op =
        analysis::TraceFacts::instruction(&cx, row(&report.rows, "outer").op.unwrap()).unwrap();
    let shape = |it: &Instruction| it.shape.as_ref().unwrap().array().unwrap().dims.clone();
    assert_eq!(
        (shape(&op), op.module().operands(&op).map(shape).collect()),
        (vec![128, 512], vec![vec![128, 256], vec![256, 512]])
    );
}

/// `TensorCoreParentSelfTimeUnderflowProtected`: ops from 1.5 to 4.5 and from 2 to 5 µs inside one from 1 to 6. XProf
/// gives the inner ones 3 µs each and the outer one, which would have less than nothing, 0: 6 µs of 5. Here each instant
/// belongs to the op that began last.
#[test]
fn overlapping_ops_do_not_count_an_instant_twice() {
    let mut tpu = plane("/device:TPU:0");
    for (name, from, to) in [
        ("outer", 1_000, 6_000),
        ("early", 1_500, 4_500),
        ("late", 2_000, 5_000),
    ] {
        add(&mut tpu, OPS, name, (from * NS, to * NS), Vec::new());
    }
    let report = capture(vec![tpu]).report::<Ops>();
    let own = ["outer", "early", "late"].map(|name| row(&report.rows, name).self_time_ps.ps());
    assert_eq!(
        (own, own.iter().sum::<i64>()),
        ([1_500 * NS, 500 * NS, 3_000 * NS], 5_000 * NS)
    );
}

/// `TensorCoreXlaOpWithoutModuleContextOrStepContext`: an op outside all programs belongs to none. XProf gives one that
/// lies within a program without a number the name of that program; here the program of an op is only what its metadata
/// record, because the line of programs can be on another clock.
#[test]
fn ops_that_record_no_program_have_none() {
    let mut tpu = plane("/device:TPU:0");
    add(&mut tpu, MODULES, "no_number", (0, 5 * US), Vec::new());
    add(&mut tpu, OPS, "within", (US, 2 * US), Vec::new());
    add(&mut tpu, OPS, "outside", (8 * US, 9 * US), Vec::new());
    let report = capture(vec![tpu]).report::<Ops>();
    assert_eq!(
        [
            &*row(&report.rows, "within").program,
            &*row(&report.rows, "outside").program
        ],
        ["", ""]
    );
}

/// `ParsesTensorCoreWithVariousLineNames`, `ParsesSparseCoreEvents`, `ParsesNonCoreEvents`. XProf leaves out lines that it
/// does not know; here they are tracks without a role.
#[test]
fn lines_have_the_roles_that_xprof_knows() {
    use TrackKind::{DeviceScopes, LowLevel, Modules, Ops, Other, Steps};
    let kinds = |device: &str, lines: &[&str]| {
        let mut tpu = plane(device);
        for (id, line) in (1..).zip(lines) {
            add(
                &mut tpu,
                (id, line),
                "event",
                (id * US, id * US + 500 * NS),
                Vec::new(),
            );
        }
        let capture = capture(vec![tpu]);
        let of = |line: &&str| {
            let track = capture
                .model
                .tracks()
                .iter()
                .find(|track| capture.model.str(track.name) == *line)
                .unwrap();
            (track.kind, capture.model.group(track.group).kind)
        };
        lines.iter().map(of).collect::<Vec<_>>()
    };
    let roles = |found: Vec<(TrackKind, GroupKind)>| {
        found.into_iter().map(|(kind, _)| kind).collect::<Vec<_>>()
    };
    let tensor = [
        "Tensor Core",
        "XLA TraceMe",
        "Steps",
        "XLA Modules",
        "XLA Ops",
        "TC Overlay",
        "anything",
    ];
    assert_eq!(
        roles(kinds("/device:TPU:0", &tensor)),
        [LowLevel, DeviceScopes, Steps, Modules, Ops, LowLevel, Other]
    );
    let sparse = [
        "Sparse Core Modules",
        "Sparse Core Ops",
        "Sparse Core Syncs",
        "Sparse Core Steps",
        "SC Overlay",
        "TEC 0",
        "any",
    ];
    let found = kinds("/device:TPU:0 SparseCore 0", &sparse);
    assert!(
        found
            .iter()
            .all(|(_, group)| *group == GroupKind::SparseCore { ordinal: 0 })
    );
    assert_eq!(
        roles(found),
        [Modules, Ops, LowLevel, Steps, LowLevel, LowLevel, Other]
    );
    // The name of the device only contains that of a TPU.
    assert_eq!(
        kinds("/device:CUSTOM_TPU:0", &["a line"]),
        [(Other, GroupKind::Custom)]
    );
}

/// The times of `ParsesSparseCoreEvents`: a program of 0.1 µs, then an op of 1.5 µs.
#[test]
fn sparse_cores_have_their_times() {
    let mut core = plane("/device:TPU:0 SparseCore 0");
    add(
        &mut core,
        (1, "Sparse Core Modules"),
        "lookups",
        (1_000 * NS, 1_100 * NS),
        Vec::new(),
    );
    add(
        &mut core,
        (2, "Sparse Core Ops"),
        "embedding",
        (2_000 * NS, 3_500 * NS),
        Vec::new(),
    );
    add(
        &mut core,
        (3, "TEC 0"),
        "tile",
        (7_000 * NS, 7_500 * NS),
        Vec::new(),
    );
    let report = capture(vec![core]).report::<SparseCores>();
    assert_eq!(
        (report.cores[0].programs, report.cores[0].program_ps.ps()),
        (1, 100 * NS)
    );
    assert_eq!(
        report
            .ops
            .iter()
            .map(|op| (&*op.op, op.self_ps.ps()))
            .collect::<Vec<_>>(),
        [("embedding", 1_500 * NS)]
    );
}

/// Steps of these lengths in µs, one a millisecond, and ops of the first one.
fn exported(steps: &[i64], softmax: i64) -> Capture {
    let named = |pid, tid, name| {
        format!(
            r#"{{"ph":"M","pid":{pid},"tid":{tid},"name":"thread_name","args":{{"name":"{name}"}}}}"#
        )
    };
    let slice = |pid, tid, name: &str, ts: i64, dur: i64| {
        format!(r#"{{"ph":"X","pid":{pid},"tid":{tid},"name":"{name}","ts":{ts},"dur":{dur}}}"#)
    };
    let mut events = vec![
        r#"{"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:TPU:0"}}"#.to_owned(),
        r#"{"ph":"M","pid":2,"name":"process_name","args":{"name":"/host:CPU"}}"#.to_owned(),
        named(1, 1, "Steps"),
        named(1, 2, "XLA Ops"),
        named(2, 1, "main"),
    ];
    events.extend(
        (0..)
            .zip(steps)
            .map(|(step, &dur)| slice(1, 1, &step.to_string(), step * 1_000, dur)),
    );
    let ops = [
        ("fusion.1", 0, 100),
        ("all-reduce.1", 20, 40),
        ("softmax", 120, softmax),
        ("dependency-wait", 190, 30),
        ("psum.1", 230, 20),
    ];
    events.extend(ops.map(|(name, ts, dur)| slice(1, 2, name, ts, dur)));
    events.extend([
        slice(2, 1, "python_host_compute", 0, 80),
        slice(2, 1, "threading wait", 90, 20),
    ]);
    let text = format!(
        r#"{{"displayTimeUnit":"ns","traceEvents":[{}]}}"#,
        events.join(",")
    );
    Capture::of("case.trace.json", text.into_bytes())
}

/// marin-community/marin, `tests/profiling/test_profile_summary.py`, the first case: after two steps of warm-up the
/// median is 135 µs; exclusive times are 60 (fusion and softmax), 40 + 20 (communication, one op under its name in JAX) and
/// 30 µs.
#[test]
fn exported_steps_and_ops_have_the_times_of_marin() {
    let mut capture = exported(&[100, 110, 120, 130, 140, 150], 60);
    capture.options.warmup_steps = 2;
    let steps = capture.report::<Steps>();
    let time = steps.time.unwrap();
    assert_eq!((steps.steps.len(), time.count), (6, 4));
    assert!((time.median - 135e6).abs() < 1.0, "{}", time.median);
    let report = capture.report::<Ops>();
    let own = [
        "fusion.1",
        "softmax",
        "all-reduce.1",
        "psum.1",
        "dependency-wait",
    ]
    .map(|name| row(&report.rows, name).self_time_ps.ps());
    assert_eq!(own, [60 * US, 60 * US, 40 * US, 20 * US, 30 * US]);
    let communication = report
        .rows
        .iter()
        .filter(|row| row.collective.is_some())
        .map(|row| row.self_time_ps);
    assert_eq!(communication.sum::<Picos>().ps(), 60 * US);
}

/// `test_gap_before_specific_op_and_hierarchical_regions`: between ops that end at 50 and begin at 100 µs the device is
/// idle for 50 µs, and for 20 µs before the next.
#[test]
fn idle_time_before_ops_is_that_of_marin() {
    let mut tpu = plane("/device:TPU:0");
    for (at, (name, from, to)) in [("a", 0, 50), ("b", 100, 120), ("c", 140, 150)]
        .into_iter()
        .enumerate()
    {
        let program = format!("jit_{name}({at})");
        add(
            &mut tpu,
            MODULES,
            &program,
            (from * US, to * US),
            Vec::new(),
        );
        add(&mut tpu, OPS, name, (from * US, to * US), Vec::new());
    }
    let report = capture(vec![tpu]).report::<Gaps>();
    let mut gaps: Vec<i64> = report.devices[0]
        .gaps
        .iter()
        .map(|gap| gap.length_ps.ps())
        .collect();
    gaps.sort_unstable();
    assert_eq!(gaps, [20 * US, 50 * US]);
}
