use ::hardware::peaks::NO_PEAK;
use engine::{Options, ReportCache, Scope};
use trace_model::*;

use super::*;

fn range(start: i64, end: i64) -> TimeRange {
    TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end))
}

pub(super) fn utilization_of(model: &TraceModel, options: &Options) -> UtilizationReport {
    let reports = ReportCache::default();
    Utilization::run(&Context {
        model,
        scope: Scope::WholeTrace,
        options,
        reports: &reports,
    })
    .unwrap()
}

fn value(report: &UtilizationReport, id: &str) -> Option<f64> {
    report
        .metric(id)
        .unwrap_or_else(|| panic!("no metric {id}"))
        .value
}

fn near(value: Option<f64>, expected: f64) {
    assert!(
        (value.unwrap() - expected).abs() < 1e-9,
        "{value:?} is not {expected}"
    );
}

/// On each of `cores` devices of 1 PFLOP/s and 1 TB/s: a loop of 100 ns around a matmul of 40 ns (half the peak) and
/// a copy of 20 ns (1000 bytes in each direction), 10 ns of infeed, and 90 ns of idle time.
///
/// ```text
/// |while...............................|infeed|          ...|
/// |    |matmul |   |copy|              |
/// ```
fn loop_and_infeed(cores: u32, with_peaks: bool) -> TraceModel {
    let mut builder = TraceBuilder::new();
    builder.source_mut().tells = FormatContents {
        memory_of_bytes: true,
        allocations: true,
    };
    builder.source_mut().started_unix_ns = Some(0);
    builder.source_mut().stopped_unix_ns = Some(1_000);
    let host = builder.group(None, GroupKind::Host, "host");
    let program = builder.program("jit_f", Some(1));
    let op = |builder: &mut TraceBuilder, name: &str, category: &str, flops: u64, hbm: u64| {
        let space = MemorySpace::Hbm;
        let access = |access| MemoryAccess {
            space,
            access,
            bytes: hbm,
        };
        let op = Op {
            name: builder.intern(name),
            program: Some(program),
            category: Some(builder.intern(category)),
            flops: Some(flops),
            memory: vec![access(Access::Read), access(Access::Write)],
            ..Op::default()
        };
        let op = builder.op(op);
        builder.label(name, Some(op))
    };
    let labels = [
        (
            op(&mut builder, "while", "while", 999_999, 999_999),
            0,
            100_000,
        ),
        (
            op(&mut builder, "matmul", "convolution fusion", 20_000_000, 0),
            10_000,
            50_000,
        ),
        (op(&mut builder, "copy", "copy", 0, 1_000), 60_000, 80_000),
        (op(&mut builder, "infeed", "infeed", 0, 0), 100_000, 110_000),
        (op(&mut builder, "last", "copy", 0, 0), 200_000, 200_000),
    ];
    for ordinal in 0..cores {
        let kind = GroupKind::TensorCore { ordinal };
        let core = builder.group(Some(host), kind, &format!("/device:TPU:{ordinal}"));
        if with_peaks {
            let device = DeviceInfo {
                peak_flops: Some(1e15),
                peak_hbm_bytes: Some(1e12),
                ..DeviceInfo::default()
            };
            builder.set_device(core, device);
        }
        let track = builder.track(core, TrackKind::Ops, 1, "XLA Ops");
        let programs = builder.track(core, TrackKind::Modules, 2, "XLA Modules");
        let run = builder.label("jit_f(1)", None);
        builder.add_slice(programs, SliceSpec::new(range(0, 200_000), run));
        for (label, start, end) in labels {
            builder.add_slice(track, SliceSpec::new(range(start, end), label));
        }
    }
    builder.set_group_fact(
        host,
        "matrix_unit_utilization_percent",
        ArgValue::Float(4.5),
    );
    builder.finish()
}

#[test]
fn each_metric_has_its_own_denominator() {
    for cores in [1, 3] {
        let report = utilization_of(&loop_and_infeed(cores, true), &Options::default());
        // 20 MFLOP in a window of 200 ns at 1 PFLOP/s; 60 ns busy; 40 ns of matrix ops.
        near(value(&report, "flops_util_window_percent"), 10.0);
        near(value(&report, "mfu_window_percent"), 10.0);
        near(
            value(&report, "flops_util_busy_percent"),
            100.0 * 20.0 / 60.0,
        );
        near(value(&report, "mxu_util_on_mxu_ops_percent"), 50.0);
        near(value(&report, "mxu_busy_fraction_percent"), 20.0);
        // 2000 bytes at 1 TB/s are 2 ns.
        near(value(&report, "hbm_util_window_percent"), 1.0);
        near(value(&report, "hbm_util_busy_percent"), 100.0 * 2.0 / 60.0);
        near(value(&report, "duty_cycle_percent"), 30.0);
        // The loop counts from start to end, infeed does not.
        near(value(&report, "duty_cycle_xprof_percent"), 50.0);
        near(value(&report, "device_idle_percent"), 45.0);
        // 20 ns of work at the peak in a session of 1000 ns.
        near(value(&report, "flops_util_capture_percent"), 2.0);
        near(value(&report, "mxu_hw_percent"), 4.5);
        assert_eq!(value(&report, "hbm_hw_percent"), None);
        assert_eq!(report.devices.len(), cores as usize);
    }
}

#[test]
fn denominators_are_named() {
    let report = utilization_of(&loop_and_infeed(4, true), &Options::default());
    let of = &report.metric("flops_util_window_percent").unwrap().of;
    assert_eq!(
        of,
        "first op to last (200.0 ns × 4 devices) × 1000.0 TFLOP/s (recorded in the capture)"
    );
}

#[test]
fn without_peaks_only_time_shares_are_known() {
    let model = loop_and_infeed(2, false);
    let report = utilization_of(&model, &Options::default());
    let mfu = report.metric("mfu_window_percent").unwrap();
    assert_eq!((mfu.value, mfu.note.as_deref()), (None, Some(NO_PEAK)));
    near(value(&report, "mxu_busy_fraction_percent"), 20.0);
    // With a chip named by the user the peak is assumed, and the provenance shows it.
    let options = Options {
        device_spec: Some("v6e".to_owned()),
        ..Options::default()
    };
    let report = utilization_of(&model, &options);
    let mfu = report.metric("mfu_window_percent").unwrap();
    near(mfu.value, 100.0 * 20e6 / (200e-9 * 918e12));
    assert_eq!(mfu.provenance, Provenance::AssumedPeak);
    assert!(
        mfu.of.contains("v6e as named by you, assumed"),
        "{}",
        mfu.of
    );
}

#[test]
fn tables_are_rectangular() {
    for table in utilization_of(&loop_and_infeed(2, true), &Options::default()).tables() {
        assert!(
            table
                .rows
                .iter()
                .all(|row| row.len() == table.columns.len()),
            "{}",
            table.id
        );
    }
}

/// One matmul of 100 ns on a device that names its chip, with the given recorded facts.
fn one_op(chip: &str, op: Op, text: &str, scale: Option<f64>) -> TraceModel {
    let mut builder = TraceBuilder::new();
    builder.source_mut().tells = FormatContents {
        memory_of_bytes: true,
        allocations: true,
    };
    let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
    builder.set_device(
        core,
        DeviceInfo {
            type_name: Some(chip.to_owned()),
            ..DeviceInfo::default()
        },
    );
    let track = builder.track(core, TrackKind::Ops, 1, "XLA Ops");
    let (name, category) = (builder.intern("dot"), builder.intern("convolution"));
    let hlo_text = Some(builder.intern(text));
    let op = builder.op(Op {
        name,
        category: Some(category),
        hlo_text,
        ..op
    });
    let label = builder.label("dot", Some(op));
    let slice = builder.add_slice(track, SliceSpec::new(range(0, 100_000), label));
    if let Some(scale) = scale {
        builder.set_attr(slice, SliceAttr::TimeScaleBits, scale.to_bits() as i64);
    }
    builder.finish()
}

#[test]
fn narrow_matmuls_are_measured_against_their_peak() {
    // 39.4 MFLOP in 100 ns is the peak of v5e in int8, twice its peak in bf16.
    let op = || Op {
        model_flops: Some(39_400_000),
        ..Op::default()
    };
    let mfu = |text: &str| {
        let report = utilization_of(&one_op("TPU v5e", op(), text, None), &Options::default());
        value(&report, "mfu_window_percent")
    };
    near(
        mfu("%d = s32[8,8]{1,0} dot(s8[8,8]{1,0} %a, s8[8,8]{1,0} %b)"),
        100.0,
    );
    // In bf16 the rate would be twice the peak: impossible.
    assert_eq!(
        mfu("%d = f32[8,8]{1,0} dot(bf16[8,8]{1,0} %a, bf16[8,8]{1,0} %b)"),
        None
    );
}

#[test]
fn recorded_lowered_clock_is_reported() {
    let op = || Op {
        flops: Some(1),
        ..Op::default()
    };
    let report = utilization_of(&one_op("TPU v5e", op(), "", Some(0.8)), &Options::default());
    near(value(&report, "clock_of_default_percent"), 80.0);
    assert!(
        report
            .metric("clock_of_default_percent")
            .unwrap()
            .note
            .is_some()
    );
    let report = utilization_of(&one_op("TPU v5e", op(), "", None), &Options::default());
    assert!(report.metric("clock_of_default_percent").is_none());
}

#[test]
fn unlisted_memory_traffic_is_missing_not_zero() {
    let hbm = MemoryAccess {
        space: MemorySpace::Hbm,
        access: Access::Read,
        bytes: 8_190,
    };
    let read = MemoryAccess {
        space: MemorySpace::Vmem,
        access: Access::Read,
        bytes: 184_320,
    };
    let op = |memory: Vec<MemoryAccess>| Op {
        flops: Some(1),
        memory,
        ..Op::default()
    };
    let report = utilization_of(
        &one_op("TPU v5e", op(vec![hbm, read]), "", None),
        &Options::default(),
    );
    near(value(&report, "vmem_read_util_busy_percent"), 10.0);
    let written = report.metric("vmem_write_util_busy_percent").unwrap();
    assert_eq!(written.value, None);
    assert!(written.note.as_ref().unwrap().contains("lists no bytes"));
}

/// Step 0 is long and mostly idle; the others multiply for half of their time at the full peak of 1 TFLOP/s.
fn slow_start() -> TraceModel {
    sample_traces::text_trace(
        "
        @column 1us
        @device flops=1e12 hbm=1e9 TPU v5 lite
        steps: 0000000000001122334455
        ops  : m           m.m.m.m.m.

        m = fusion.1 [convolution fusion] flops=1e6 hbm_read=100 hbm_write=0
        ",
    )
}

#[test]
fn steady_steps_have_their_own_utilization() {
    let model = slow_start();
    let of = |options: &Options, id: &str| {
        let report = utilization_of(&model, options);
        report
            .metric(id)
            .map(|metric| (metric.value.unwrap(), metric.of.clone()))
            .unwrap()
    };
    let warm = Options {
        warmup_steps: 1,
        ..Options::default()
    };
    let (value, text) = of(&warm, "mfu_steady_percent");
    near(Some(value), 50.0);
    assert!(
        text.starts_with("steps 1–5 (10.00 µs) × 1.0 TFLOP/s"),
        "{text}"
    );
    let (value, text) = of(&warm, "mfu_window_percent");
    near(Some(value), 100.0 * 6.0 / 22.0);
    assert!(text.starts_with("first op to last (22.00 µs)"), "{text}");
    near(Some(of(&warm, "hbm_util_steady_percent").0), 5.0);
    let (value, text) = of(&warm, "mxu_util_steady_percent");
    near(Some(value), 100.0);
    assert!(
        text.starts_with("time of matrix ops in steps 1–5 (5.000 µs) × "),
        "{text}"
    );
    let note = |options: &Options| {
        let report = utilization_of(&model, options);
        report
            .metric("mfu_steady_percent")
            .and_then(|metric| metric.note.clone())
    };
    assert_eq!(note(&warm), None);
    let why = note(&Options::default()).unwrap();
    assert!(why.ends_with("such as step 0"), "{why}");
    // A slow step is not steady, whether it was selected or not.
    near(Some(of(&Options::default(), "mfu_steady_percent").0), 50.0);
}

#[test]
fn ranges_and_traces_without_steps_have_no_steady_steps() {
    let model = slow_start();
    let (options, reports) = (Options::default(), ReportCache::default());
    let scope = Scope::Steps { first: 1, last: 2 };
    let report = Utilization::run(&Context {
        model: &model,
        scope,
        options: &options,
        reports: &reports,
    })
    .unwrap();
    assert!(report.metric("mfu_steady_percent").is_none());
    assert!(
        report
            .metric("mfu_window_percent")
            .unwrap()
            .of
            .starts_with("these steps (4.000 µs)")
    );
    let report = utilization_of(&loop_and_infeed(1, true), &options);
    let shown = report
        .metric("mfu_steady_percent")
        .map(|metric| metric.of.clone());
    assert!(shown.is_none_or(|of| of.starts_with("step")), "{report:?}");
}

/// Two matmuls of 10 µs: one at half of the peak, and one that claims twice the peak.
fn impossible() -> TraceModel {
    sample_traces::text_trace(
        "
        @column 1us
        @device flops=1e12 hbm=1e9 TPU v5 lite
        ops: mmmmmmmmmmkkkkkkkkkk

        m = fusion.1 [convolution fusion] flops=5e6 hbm_read=1000 hbm_write=0
        k = kernel.1 [custom-call] flops=2e7 hbm_read=40000 hbm_write=0
        ",
    )
}

#[test]
fn impossible_rates_are_excluded_from_sums_with_a_note() {
    let report = utilization_of(&impossible(), &Options::default());
    near(value(&report, "mxu_util_on_mxu_ops_percent"), 50.0);
    near(value(&report, "mfu_window_percent"), 25.0);
    near(value(&report, "hbm_util_busy_percent"), 5.0);
    near(value(&report, "mxu_busy_fraction_percent"), 100.0);
    for id in [
        "mxu_util_on_mxu_ops_percent",
        "mfu_window_percent",
        "hbm_util_busy_percent",
    ] {
        let note = report.metric(id).unwrap().note.clone().unwrap();
        assert!(note.contains("above th"), "{id}: {note}");
    }
}

#[test]
fn sum_above_peak_is_missing() {
    // The done op of a copy takes hardly any time; its bytes are those of the whole copy.
    let model = sample_traces::text_trace(
        "
        @column 1us
        @device flops=1e12 hbm=1e9 TPU v5 lite
        ops: mc

        m = fusion.1 [convolution fusion] flops=5e5 hbm_read=10 hbm_write=0
        c = copy-done.1 [copy-done] hbm_read=2000000 hbm_write=0
        ",
    );
    let report = utilization_of(&model, &Options::default());
    let metric = report.metric("hbm_util_window_percent").unwrap();
    assert_eq!(metric.value, None);
    assert!(
        metric.note.as_ref().unwrap().contains("impossible"),
        "{metric:?}"
    );
}

#[test]
fn range_shares_use_the_time_of_counted_ops() {
    // The range ends in the middle of an op that counts as a whole.
    let model =
        sample_traces::text_trace("ops: ..aaaaaaaaaa\na = fusion.1 [convolution fusion] flops=1");
    let (options, reports) = (Options::default(), ReportCache::default());
    let scope = Scope::Range(range(0, 3_000));
    let report = Utilization::run(&Context {
        model: &model,
        scope,
        options: &options,
        reports: &reports,
    })
    .unwrap();
    near(value(&report, "mxu_busy_fraction_percent"), 100.0);
    assert_eq!(value(&report, "device_idle_percent"), Some(0.0));
}

#[test]
fn work_unknown_for_more_than_a_tenth_makes_a_lower_bound() {
    let of = |silent: usize| {
        let picture = format!(
            "@column 1us\n@device flops=1e12 hbm=1e9 TPU v5 lite\nops: {}{}\n\
             m = fusion.1 [convolution fusion] flops=1e6 hbm_read=100 hbm_write=0\nk = kernel.1 [custom-call]",
            "m".repeat(100 - silent),
            "k".repeat(silent)
        );
        let report = utilization_of(&sample_traces::text_trace(&picture), &Options::default());
        [
            "mfu_window_percent",
            "hbm_util_window_percent",
            "hbm_util_busy_percent",
            "mxu_util_on_mxu_ops_percent",
        ]
        .map(|id| report.metric(id).unwrap().clone())
    };
    assert!(of(10).iter().all(|metric| !metric.is_lower_bound));
    let [mfu, hbm, busy, mxu] = of(11);
    assert!(mfu.is_lower_bound && hbm.is_lower_bound && busy.is_lower_bound);
    assert!(
        hbm.note
            .unwrap()
            .starts_with("ops of unknown traffic take 11.0 %")
    );
    assert!(
        !mxu.is_lower_bound,
        "it is of the matrix ops whose work is known"
    );
}

#[test]
fn share_of_the_session_is_of_the_session() {
    let covered = |session_ns: Option<i64>| {
        let mut builder = sample_traces::text_builder(
            "ops: mmmm\nm = fusion.1 [convolution fusion]\nhost python: pppppppp",
        );
        (
            builder.source_mut().started_unix_ns,
            builder.source_mut().stopped_unix_ns,
        ) = (session_ns.map(|_| 0), session_ns);
        utilization_of(&builder.finish(), &Options::default())
            .metric("window_of_capture_percent")
            .unwrap()
            .clone()
    };
    let of_session = covered(Some(16));
    near(of_session.value, 25.0);
    assert!(
        of_session.of.starts_with("session (16.0"),
        "{}",
        of_session.of
    );
    let of_timeline = covered(None);
    near(of_timeline.value, 50.0);
    assert!(of_timeline.of.starts_with("timeline"), "{}", of_timeline.of);
}
