mod range;

use engine::{Options, ReportCache, Scope};
use hardware::limits::BoundBy;
use trace_model::*;

use super::*;

fn range(start: i64, end: i64) -> TimeRange {
    TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end))
}

fn report_of(model: &TraceModel, scope: Scope, options: &Options) -> Result<OpsReport> {
    let reports = ReportCache::default();
    Ops::run(&Context {
        model,
        scope,
        options,
        reports: &reports,
    })
}

fn ops_of(model: &TraceModel) -> OpsReport {
    report_of(model, Scope::WholeTrace, &Options::default()).unwrap()
}

/// A trace under construction with one program.
struct Rig {
    builder: TraceBuilder,
    host: GroupId,
    program: ProgramId,
}

impl Rig {
    fn new() -> Self {
        let mut builder = TraceBuilder::new();
        builder.source_mut().tells = FormatContents {
            memory_of_bytes: true,
            allocations: true,
        };
        let host = builder.group(None, GroupKind::Host, "host");
        let program = builder.program("jit_f", Some(7));
        Self {
            builder,
            host,
            program,
        }
    }

    /// A v5e with the peaks that captures record.
    fn core(&mut self, ordinal: u32) -> TrackId {
        let kind = GroupKind::TensorCore { ordinal };
        let core = self
            .builder
            .group(Some(self.host), kind, &format!("/device:TPU:{ordinal}"));
        let device = DeviceInfo {
            type_name: Some("TPU v5 Lite".to_owned()),
            peak_flops: Some(202.7e12),
            peak_hbm_bytes: Some(819.1576e9),
            peak_vmem_read_bytes: Some(18_432e9),
            ..DeviceInfo::default()
        };
        self.builder.set_device(core, device);
        self.builder.track(core, TrackKind::Ops, 1, "XLA Ops")
    }

    fn op(&mut self, name: &str, category: &str, fill: impl FnOnce(&mut Op)) -> LabelId {
        let mut op = Op {
            name: self.builder.intern(name),
            program: Some(self.program),
            ..Op::default()
        };
        op.category = Some(self.builder.intern(category));
        fill(&mut op);
        let op = self.builder.op(op);
        self.builder.label(name, Some(op))
    }

    fn add(&mut self, track: TrackId, label: LabelId, start: i64, end: i64) -> SliceKey {
        self.builder
            .add_slice(track, SliceSpec::new(range(start, end), label))
    }
}

/// Bytes that one execution of the reference matmul moves: 1.5 MiB in total.
fn reference_memory() -> Vec<MemoryAccess> {
    let access = |access, space| MemoryAccess {
        space,
        access,
        bytes: 524_288,
    };
    vec![
        access(Access::Read, MemorySpace::Hbm),
        access(Access::Write, MemorySpace::Hbm),
        access(Access::Read, MemorySpace::Vmem),
    ]
}

#[test]
fn reference_matmul_is_compute_bound() {
    let mut rig = Rig::new();
    let ops = rig.core(0);
    let fusion = rig.op("fusion", "convolution fusion", |op| {
        op.flops = Some(268_435_456);
        op.bytes_accessed = Some(1_572_864);
        op.memory = reference_memory();
    });
    rig.add(ops, fusion, 0, 3_430_000);
    let report = ops_of(&rig.builder.finish());
    let row = report.rows.first().unwrap();
    let near = |value: Option<f64>, expected: f64| {
        assert!((value.unwrap() - expected).abs() < 0.005, "{value:?}");
    };
    near(row.rates.flops_per_second.map(|rate| rate / 1e12), 78.26);
    near(row.rates.flops_percent.map(|share| share.0), 38.61);
    near(
        row.rates.hbm_bytes_per_second.map(|rate| rate / 1e12),
        0.3057,
    );
    near(row.rates.hbm_percent.map(|share| share.0), 37.32);
    near(row.rates.vmem_read_percent.map(|share| share.0), 0.83);
    near(row.rates.flops_per_byte, 170.67);
    near(row.rates.flops_per_hbm_byte, 256.0);
    near(row.rates.efficiency_percent.map(|share| share.0), 38.61);
    assert_eq!(row.rates.bound_by, Some(BoundBy::Compute));
    assert_eq!(
        row.costs.model_flops, row.costs.flops,
        "unsaid model operations are the same"
    );
    assert_eq!(row.costs.memory.unwrap().total(), 1_572_864);
    assert_eq!((&*row.program, row.group), ("jit_f(7)", OpGroup::MatMul));
}

#[test]
fn self_time_excludes_children_at_every_depth() {
    let mut rig = Rig::new();
    let ops = rig.core(0);
    let labels = ["while", "a", "b", "c"]
        .map(|name| rig.op(name, if name == "while" { "while" } else { "copy" }, |_| ()));
    let spans = [(0, 100), (10, 40), (50, 90), (55, 60)];
    for (label, (start, end)) in labels.into_iter().zip(spans) {
        rig.add(ops, label, start, end);
    }
    let report = ops_of(&rig.builder.finish());
    let own = |name: &str| {
        report
            .rows
            .iter()
            .find(|row| &*row.name == name)
            .unwrap()
            .self_time_ps
            .ps()
    };
    assert_eq!(
        [own("while"), own("a"), own("b"), own("c")],
        [30, 30, 35, 5]
    );
    assert_eq!(
        (
            report.op_time_ps.ps(),
            report.total_time_ps.ps(),
            report.idle_ps.ps()
        ),
        (100, 100, 0)
    );
    // Equal self time: by name. Containers have no leaf time.
    assert_eq!(
        report.rows.iter().map(|row| &*row.name).collect::<Vec<_>>(),
        ["b", "a", "while", "c"]
    );
    assert_eq!(report.cores[0].busy_ps.ps(), 70);
}

#[test]
fn ops_and_idle_time_use_the_device_clock() {
    let mut rig = Rig::new();
    let ops = rig.core(0);
    let copy = rig.op("copy", "copy", |_| ());
    for (timeline, device) in [
        (range(0, 100), range(1000, 1040)),
        (range(200, 300), range(1100, 1160)),
    ] {
        let spec = SliceSpec {
            device: Some(device),
            ..SliceSpec::new(timeline, copy)
        };
        rig.builder.add_slice(ops, spec);
    }
    let report = ops_of(&rig.builder.finish());
    assert_eq!(
        (
            report.op_time_ps.ps(),
            report.total_time_ps.ps(),
            report.idle_ps.ps()
        ),
        (100, 160, 60)
    );
    assert_eq!(
        (
            report.rows.first().unwrap().min_time_ps.map(Picos::ps),
            report.rows.first().unwrap().mean_time_ps as i64
        ),
        (Some(40), 50)
    );
    assert_eq!(
        report.rows.first().unwrap().self_of_total_percent,
        Some(Percent(62.5))
    );
}

#[test]
fn custom_call_costs_are_summed_over_executions() {
    let mut rig = Rig::new();
    let ops = rig.core(0);
    let kernel = rig.op("kernel", "custom-call", |_| ());
    let silent = rig.op("silent", "custom-call", |op| op.flops = Some(0));
    for (at, flops) in [(0, 100), (10, 250)] {
        let slice = rig.add(ops, kernel, at, at + 5);
        rig.builder.set_attr(slice, SliceAttr::Flops, flops);
        rig.add(ops, silent, at + 5, at + 10);
    }
    let report = ops_of(&rig.builder.finish());
    let row = |name: &str| report.rows.iter().find(|row| &*row.name == name).unwrap();
    assert_eq!(row("kernel").costs.flops, Some(350));
    assert_eq!(row("silent").costs.flops, None, "0 is not declared");
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.starts_with("1 custom call declares no operations"))
    );
}

#[test]
fn async_start_and_done_ops_have_no_utilization() {
    let mut rig = Rig::new();
    let ops = rig.core(0);
    let start = rig.op("copy-start", "copy-start", |op| {
        op.bytes_accessed = Some(1 << 20);
        op.memory = reference_memory();
    });
    rig.add(ops, start, 0, 10);
    let report = ops_of(&rig.builder.finish());
    let row = report.rows.first().unwrap();
    assert!(
        row.is_async
            && row.rates.hbm_percent.is_none()
            && row.rates.bound_by.is_none()
            && row.rates.hbm_bytes_per_second.is_none()
    );
    assert_eq!(
        row.costs.memory.unwrap().hbm_bytes,
        1_048_576,
        "what it moves is known all the same"
    );
}

/// A total says nothing of what is read and what is written, of one op or of some of many.
#[test]
fn directions_of_traffic_are_missing_where_they_are_not_recorded() {
    let access = |access| MemoryAccess {
        space: MemorySpace::Hbm,
        access,
        bytes: 100,
    };
    let directions = |memory: &[MemoryAccess], times: i64| {
        let mut rig = Rig::new();
        for core in 0..2 {
            let (ops, name) = (rig.core(core), format!("fusion.{core}"));
            let op = rig.op(&name, "loop fusion", |op| {
                op.bytes_accessed = Some(100);
                op.memory = memory.to_vec();
            });
            for time in 0..times {
                rig.add(ops, op, 20 * time, 20 * time + 10);
            }
        }
        let report = ops_of(&rig.builder.finish());
        let memory = report.rows.last().unwrap().costs.memory.unwrap();
        let vmem = (memory.vmem_read_bytes, memory.vmem_write_bytes);
        (memory.hbm_read_bytes, memory.hbm_write_bytes, vmem)
    };
    let none = (None, None);
    for times in [1, 5] {
        let all = |bytes: u64| Some(bytes * times as u64);
        assert_eq!(directions(&[], times), (None, None, none));
        let unknown = access(Access::Unknown);
        assert_eq!(directions(&[unknown], times), (None, None, none));
        let read = access(Access::Read);
        assert_eq!(directions(&[read, unknown], times), (None, None, none));
        assert_eq!(directions(&[read], times), (all(100), all(0), none));
        // The compiler lists what it placed in VMEM, which is not all that kernels use.
        let in_vmem = |part| MemoryAccess {
            space: MemorySpace::Vmem,
            ..part
        };
        let of_vmem = directions(&[read, in_vmem(read)], times);
        assert_eq!(of_vmem, (all(100), all(0), (all(100), None)));
        let of_vmem = directions(&[read, in_vmem(read), in_vmem(unknown)], times);
        assert_eq!(of_vmem, (all(100), all(0), none));
    }
}

#[test]
fn cores_are_summed_and_can_be_filtered() {
    let mut rig = Rig::new();
    let (first, second) = (rig.core(0), rig.core(1));
    let copy = rig.op("copy", "copy", |op| op.bytes_accessed = Some(10));
    rig.add(first, copy, 0, 30);
    rig.add(first, copy, 40, 50);
    rig.add(second, copy, 0, 70);
    let model = rig.builder.finish();
    let report = ops_of(&model);
    assert_eq!(
        (
            report.total_time_ps.ps(),
            report.op_time_ps.ps(),
            report.idle_ps.ps()
        ),
        (120, 110, 10)
    );
    let row = report.rows.first().unwrap();
    assert_eq!(
        (row.occurrences, row.total_time_ps.ps(), row.costs.bytes),
        (3, 110, Some(30))
    );
    let per_core: Vec<_> = row
        .per_core
        .iter()
        .map(|core| (&*core.core, core.total_time_ps.ps()))
        .collect();
    assert_eq!(per_core, [("/device:TPU:0", 40), ("/device:TPU:1", 70)]);
    let options = Options {
        devices: vec![1],
        ..Options::default()
    };
    assert_eq!(
        report_of(&model, Scope::WholeTrace, &options)
            .unwrap()
            .op_time_ps
            .ps(),
        70
    );
    // No capture splits bytes and the format could have: they are HBM traffic.
    assert_eq!(row.costs.memory.unwrap().hbm_bytes, 30);
}

#[test]
fn aggregated_ops_use_their_recorded_sums() {
    let mut rig = Rig::new();
    let ops = rig.core(0);
    let copy = rig.op("copy", "copy", |_| ());
    rig.add(ops, copy, 0, 50);
    rig.builder.add_aggregate(AggregatedOp {
        track: ops,
        label: copy,
        occurrences: 9,
        total: Picos::from_ps(900),
        self_time: Some(Picos::from_ps(800)),
        min: Some(Picos::from_ps(20)),
    });
    let report = ops_of(&rig.builder.finish());
    let row = report.rows.first().unwrap();
    assert_eq!(
        (
            row.occurrences,
            row.total_time_ps.ps(),
            row.self_time_ps.ps(),
            row.min_time_ps.map(Picos::ps)
        ),
        (10, 950, 850, Some(20))
    );
}

#[test]
fn work_is_summed_over_leaf_ops() {
    let mut rig = Rig::new();
    let ops = rig.core(0);
    let flops = |flops: u64| move |op: &mut Op| op.flops = Some(flops);
    let outer = rig.op("while", "while", flops(1_000));
    let inner = rig.op("fusion", "convolution fusion", flops(400));
    rig.add(ops, outer, 0, 100);
    rig.add(ops, inner, 10, 40);
    rig.add(ops, inner, 50, 90);
    let core = &ops_of(&rig.builder.finish()).cores[0];
    assert_eq!(core.work.flops, Some(800.0));
    assert_eq!((core.mxu_time_ps.ps(), core.mxu_flops), (70, Some(800.0)));
    assert_eq!(core.group_self(OpGroup::Control).ps(), 30);
}

#[test]
fn not_applicable_without_tpu_ops() {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    builder.group(Some(host), GroupKind::Gpu { ordinal: 0 }, "/device:GPU:0");
    let error = report_of(&builder.finish(), Scope::WholeTrace, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("GPU"), "{error}");
    let error = report_of(
        &TraceBuilder::new().finish(),
        Scope::WholeTrace,
        &Options::default(),
    )
    .unwrap_err();
    assert!(error.to_string().contains("no TPU device"), "{error}");
}

#[test]
fn idle_time_is_a_row_sorted_by_time() {
    use engine::Tabular as _;
    let mut rig = Rig::new();
    let ops = rig.core(0);
    let copy = rig.op("copy", "copy", |_| ());
    let add = rig.op("add", "non-fusion elementwise", |_| ());
    rig.add(ops, copy, 0, 60);
    rig.add(ops, add, 90, 100);
    let tables = ops_of(&rig.builder.finish()).tables();
    let table = tables.iter().find(|table| table.id == "ops").unwrap();
    let names: Vec<_> = table.rows.iter().map(|row| row[0].clone()).collect();
    assert_eq!(names, ["copy", "IDLE", "add"].map(engine::Cell::text));
    for table in &tables {
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

#[test]
fn op_on_two_chip_types_has_no_share_of_peak() {
    let shares = |second: &str| {
        let mut rig = Rig::new();
        let tracks = [rig.core(0), rig.core(1)];
        let dot = rig.op("fusion.1", "convolution fusion", |op| {
            op.flops = Some(1_000);
        });
        for track in tracks {
            rig.add(track, dot, 0, 100_000);
        }
        let core = rig.builder.group(
            Some(rig.host),
            GroupKind::TensorCore { ordinal: 1 },
            "/device:TPU:1",
        );
        let device = DeviceInfo {
            type_name: Some(second.to_owned()),
            peak_flops: Some(if second == "TPU v6 Lite" {
                918e12
            } else {
                202.7e12
            }),
            peak_hbm_bytes: Some(819.1576e9),
            peak_vmem_read_bytes: Some(18_432e9),
            ..DeviceInfo::default()
        };
        rig.builder.set_device(core, device);
        let report = ops_of(&rig.builder.finish());
        (
            report.rows.first().unwrap().rates.flops_percent.is_some(),
            report.notes.join(" "),
        )
    };
    let (same, differing) = (shares("TPU v5 Lite"), shares("TPU v6 Lite"));
    assert!(same.0 && !same.1.contains("differ"), "{same:?}");
    assert!(
        !differing.0 && differing.1.contains("devices differ in their peaks"),
        "{differing:?}"
    );
}
