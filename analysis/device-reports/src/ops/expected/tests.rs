use engine::{Options, ReportCache, Scope, Tabular as _};
use trace_model::*;

use super::*;

/// An op that runs once: name, category, HLO text, operations, HBM bytes, VMEM read bytes, nanoseconds.
type Spec<'a> = (
    &'a str,
    &'a str,
    &'a str,
    Option<u64>,
    Option<u64>,
    u64,
    i64,
);

/// Runs the ops one after the other on a device of 1 TFLOP/s, HBM of 1 GB/ms and VMEM reads of 10 GB/ms.
fn model(ops: &[Spec<'_>], device: &str) -> TraceModel {
    let mut builder = TraceBuilder::new();
    builder.source_mut().tells = FormatContents {
        memory_of_bytes: true,
        allocations: true,
    };
    let host = builder.group(None, GroupKind::Host, "host");
    let core = builder.group(
        Some(host),
        GroupKind::TensorCore { ordinal: 0 },
        "/device:TPU:0",
    );
    let device = DeviceInfo {
        type_name: (!device.is_empty()).then(|| device.to_owned()),
        peak_flops: Some(1e12),
        peak_hbm_bytes: Some(1e12),
        peak_vmem_read_bytes: Some(1e13),
        ..DeviceInfo::default()
    };
    builder.set_device(core, device);
    let track = builder.track(core, TrackKind::Ops, 1, "XLA Ops");
    let program = builder.program("jit_f", Some(1));
    let mut at = 0;
    for &(name, category, text, flops, hbm, vmem, ns) in ops {
        let access = |space, bytes| MemoryAccess {
            space,
            access: Access::Read,
            bytes,
        };
        let mut memory: Vec<MemoryAccess> = hbm
            .map(|bytes| access(MemorySpace::Hbm, bytes))
            .into_iter()
            .collect();
        if vmem > 0 {
            memory.push(access(MemorySpace::Vmem, vmem));
        }
        let op = Op {
            name: builder.intern(name),
            program: Some(program),
            category: Some(builder.intern(category)),
            hlo_text: (!text.is_empty()).then(|| builder.intern(text)),
            flops,
            bytes_accessed: hbm.map(|bytes| bytes + vmem),
            memory,
            ..Op::default()
        };
        let op = builder.op(op);
        let label = builder.label(name, Some(op));
        let range = TimeRange::new(Timestamp::from_ps(at), Timestamp::from_ps(at + ns * 1000));
        builder.add_slice(track, SliceSpec::new(range, label));
        at += ns * 1000;
    }
    builder.finish()
}

fn expected(model: &TraceModel, options: &Options) -> ExpectedReport {
    let reports = ReportCache::default();
    Expected::run(&Context {
        model,
        scope: Scope::WholeTrace,
        options,
        reports: &reports,
    })
    .unwrap()
}

fn row<'a>(report: &'a ExpectedReport, name: &str) -> &'a ExpectedRow {
    report.rows.iter().find(|row| *row.name == *name).unwrap()
}

fn near(value: Option<f64>, expected: f64) {
    assert!(
        (value.unwrap() - expected).abs() < 1e-6 * expected.abs().max(1.0),
        "{value:?} is not {expected}"
    );
}

#[test]
fn ops_are_ranked_by_the_time_above_the_slowest_limit() {
    let model = model(
        &[
            // 50 ns of operations, 20 ns of HBM.
            (
                "compute",
                "convolution fusion",
                "",
                Some(50_000),
                Some(20_000),
                0,
                100,
            ),
            // 30 ns of HBM, 40 ns of VMEM.
            (
                "vmem",
                "loop fusion",
                "",
                Some(10),
                Some(30_000),
                400_000,
                60,
            ),
            ("waste", "loop fusion", "", Some(0), Some(10_000), 0, 500),
        ],
        "",
    );
    let report = expected(&model, &Options::default());
    let names: Vec<&str> = report.rows.iter().map(|row| &*row.name).collect();
    assert_eq!(names, ["waste", "compute", "vmem"]);
    near(row(&report, "waste").above_ps, 490_000.0);
    near(row(&report, "compute").expected_ps, 50_000.0);
    near(
        row(&report, "compute")
            .efficiency_percent
            .map(|share| share.0),
        50.0,
    );
    let vmem = row(&report, "vmem");
    assert_eq!(vmem.bound_by, Some(TimeLimit::Device(BoundBy::VmemRead)));
    near(vmem.above_ps, 20_000.0);
    // Sums, and the whole program against each limit.
    assert_eq!(
        (report.totals.actual_ps.ps(), report.totals.unknown_ps.ps()),
        (660_000, 0)
    );
    near(
        Some(report.totals.above_ps),
        490_000.0 + 50_000.0 + 20_000.0,
    );
    let hbm = report
        .limits
        .iter()
        .find(|row| row.limit.title() == "HBM")
        .unwrap();
    near(Some(hbm.least_ps), 60_000.0);
    near(
        hbm.of_window_percent.map(|share| share.0),
        100.0 * 60.0 / 660.0,
    );
}

#[test]
fn unknown_times_are_missing_not_zero() {
    let kernel = "%k = f32[4]{0} custom-call(f32[4]{0} %a), custom_call_target=\"tpu_custom_call\"";
    let model = model(
        &[
            ("silent", "custom-call", kernel, Some(0), None, 0, 300),
            (
                "declared",
                "custom-call",
                kernel,
                Some(50_000),
                None,
                0,
                100,
            ),
            ("plain", "loop fusion", "", None, Some(10_000), 0, 20),
        ],
        "",
    );
    let report = expected(&model, &Options::default());
    let silent = row(&report, "silent");
    assert_eq!(
        (
            silent.expected_ps,
            silent.above_ps,
            silent.efficiency_percent
        ),
        (None, None, None)
    );
    assert!(silent.note.unwrap().contains("declares"));
    let declared = row(&report, "declared");
    near(declared.expected_ps, 50_000.0);
    assert_eq!(declared.without, ["HBM bytes"]);
    assert_eq!(row(&report, "plain").without, ["operations"]);
    assert_eq!(
        (report.totals.unknown_ps.ps(), report.totals.known_ps.ps()),
        (300_000, 120_000)
    );
    assert_eq!(
        (report.totals.unknown_ps.ps(), report.totals.actual_ps.ps()),
        (300_000, 420_000)
    );
    // Ops of unknown least time come last, however long they take.
    assert_eq!(report.rows.last().unwrap().name.as_ref(), "silent");
    let notes = report.tables()[0].notes.join("\n");
    assert!(
        notes.contains("unknown: 300.0 ns (71.4 % of it)"),
        "{notes}"
    );
}

#[test]
fn ops_faster_than_their_roofline_do_not_offset_others() {
    let ops: [Spec; 2] = [
        ("fast", "loop fusion", "", Some(0), Some(100_000), 0, 40),
        ("slow", "loop fusion", "", Some(0), Some(10_000), 0, 40),
    ];
    let report = expected(&model(&ops, ""), &Options::default());
    let fast = row(&report, "fast");
    near(fast.above_ps, -60_000.0);
    near(fast.efficiency_percent.map(|share| share.0), 250.0);
    assert!(fast.note.unwrap().contains("stayed on the chip"));
    near(Some(report.totals.above_ps), 30_000.0);
    // Impossible work is in no sum, and a note says so.
    let totals = report.totals;
    assert_eq!(
        (
            totals.known_ps.ps(),
            totals.unknown_ps.ps(),
            totals.beyond_ps.ps()
        ),
        (40_000, 40_000, 40_000)
    );
    near(Some(totals.expected_ps), 10_000.0);
    near(
        report
            .limits
            .iter()
            .find(|row| row.limit.title() == "HBM")
            .map(|row| row.least_ps),
        10_000.0,
    );
    let notes = report.tables()[0].notes.join("\n");
    assert!(
        notes.contains("above a peak of the device: 40.00 ns (50.0 % of all)"),
        "{notes}"
    );
}

#[test]
fn containers_are_excluded_and_start_ops_have_no_ideal_time() {
    let mut ops = vec![("loop", "while", "", Some(1_000_000), Some(1), 0, 100)];
    let start =
        "%copy-start = (f32[1000]{0:S(1)}, f32[1000]{0}, u32[]{:S(2)}) copy-start(f32[1000]{0} %a)";
    ops.push((
        "copy-start",
        "copy-start",
        start,
        Some(0),
        Some(4_000),
        0,
        1,
    ));
    let report = expected(&model(&ops, ""), &Options::default());
    assert_eq!(
        (
            report.totals.container_ps.ps(),
            report.totals.actual_ps.ps()
        ),
        (100_000, 1_000)
    );
    let start = row(&report, "copy-start");
    near(start.above_ps, 1_000.0);
    assert_eq!((start.is_wait, start.efficiency_percent), (false, None));
}

#[test]
fn waits_are_compared_with_their_transfer() {
    let done = |source: &str, destination: &str| {
        format!(
            "%d = f32[8000]{{0{destination}}} copy-done((f32[8000]{{0{destination}}}, f32[8000]{{0{source}}}, u32[]{{:S(2)}}) %s)"
        )
    };
    let (load, fetch, store) = (done(":S(5)", ""), done("", ":S(1)"), done("", ":S(5)"));
    let ops = [
        // 32 kB at 1 TB/s are 32 ns of HBM; at 32 GB/s of a v6e's host link 1 µs.
        ("load", "copy-done", load.as_str(), Some(0), None, 0, 1_500),
        ("hidden", "copy-done", store.as_str(), Some(0), None, 0, 10),
        ("fetch", "copy-done", fetch.as_str(), Some(0), None, 0, 64),
    ];
    let report = expected(&model(&ops, "TPU v6 lite"), &Options::default());
    let load = row(&report, "load");
    assert_eq!(
        (load.bound_by, load.is_wait),
        (Some(TimeLimit::HostRead), true)
    );
    near(load.above_ps, 500_000.0);
    near(
        row(&report, "fetch")
            .efficiency_percent
            .map(|share| share.0),
        50.0,
    );
    // Shorter than the transfer: the transfer ran in parallel to other work.
    let hidden = row(&report, "hidden");
    assert_eq!(
        (hidden.above_ps, hidden.efficiency_percent),
        (Some(0.0), None)
    );
    let store = report
        .limits
        .iter()
        .find(|row| row.limit == TimeLimit::HostWrite)
        .unwrap();
    near(Some(store.least_ps), 1_000_000.0);
    assert_eq!(report.links_of.as_deref(), Some("v6e"));
    // Without a chip the links are unknown, and HBM alone would give a time that is too short.
    let report = expected(&model(&ops, ""), &Options::default());
    assert_eq!(
        (
            row(&report, "load").without.as_slice(),
            report.links_of.as_deref()
        ),
        (&["host link"][..], None)
    );
    near(row(&report, "load").expected_ps, 32_000.0);
}

#[test]
fn collectives_are_compared_with_links_from_start_to_done() {
    let groups = "replica_groups={{0,1,2,3}}";
    let sync = format!(
        "%ar = f32[1000000]{{0}} all-reduce(f32[1000000]{{0}} %a), {groups}, to_apply=%add"
    );
    let start = format!(
        "%all-gather-start = (f32[1000000]{{0}}, f32[4000000]{{0}}) all-gather-start(f32[1000000]{{0}} %a), {groups}"
    );
    let done = "%all-gather-done = f32[4000000]{0} all-gather-done((f32[1000000]{0}, f32[4000000]{0}) %all-gather-start)";
    let ops = [
        (
            "ar",
            "all-reduce",
            sync.as_str(),
            Some(1_000_000),
            Some(8_000_000),
            0,
            100_000,
        ),
        (
            "all-gather-start",
            "all-gather-start",
            start.as_str(),
            None,
            None,
            0,
            1,
        ),
        (
            "all-gather-done",
            "all-gather-done",
            done,
            None,
            None,
            0,
            200_000,
        ),
    ];
    let options = Options {
        topology: "2x2".parse().ok(),
        ..Options::default()
    };
    let report = expected(&model(&ops, "TPU v6 lite"), &options);
    let (reduce, gather) = (row(&report, "ar"), row(&report, "all-gather-done"));
    // 4 MB over two links of 100 GB/s: 2 × ¾ of it; 16 MB: ¾ of it.
    assert_eq!(
        (reduce.bound_by, gather.bound_by),
        (Some(TimeLimit::Ici), Some(TimeLimit::Ici))
    );
    near(reduce.expected_ps, 4e6 * 1.5 / 200e9 * 1e12);
    near(gather.expected_ps, 16e6 * 0.75 / 200e9 * 1e12);
    // Without a chip the links are unknown: HBM alone would give a time that is too short.
    let report = expected(&model(&ops, ""), &options);
    assert_eq!(row(&report, "ar").without, ["ICI"]);
    assert_eq!(
        (
            row(&report, "ar").expected_ps,
            row(&report, "all-gather-done").expected_ps
        ),
        (None, None)
    );
    assert!(row(&report, "ar").note.unwrap().contains("--device-spec"));
}

#[test]
fn tables_are_rectangular() {
    let report = expected(
        &model(&[("a", "copy", "", None, None, 0, 5)], ""),
        &Options::default(),
    );
    for table in report.tables() {
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
