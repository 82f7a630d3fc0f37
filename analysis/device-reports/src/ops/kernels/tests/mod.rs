mod declared_costs;
mod matrix_units;
mod shape_costs;

use engine::{Options, ReportCache, Scope, Tabular as _};
use sample_traces::rare::PallasKernel;
use sample_traces::write::xspace_bytes;
use sample_traces::{text_builder, text_trace};
use trace_model::{
    GroupKind, Op, Picos, SliceAttr, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel,
    TrackKind,
};

use super::*;

fn report_of(model: &TraceModel) -> Result<KernelsReport> {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    cx.report::<Kernels>().map(|report| report.as_ref().clone())
}

/// A custom call with pipeline scopes of the given lengths, one after the other, and one custom call without scopes.
fn pipelined(call_ps: i64, scopes: &[(&str, i64)]) -> TraceModel {
    let mut builder = TraceBuilder::new();
    let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
    let ops = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
    let trace_me = builder.track(core, TrackKind::DeviceScopes, 1, "XLA TraceMe");
    let at = |start: i64, len: i64| TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(len));
    let category = Some(builder.intern("custom-call"));
    for (name, start) in [("kernel.1", 0), ("other.1", call_ps)] {
        let name_id = builder.intern(name);
        let op = builder.op(Op {
            name: name_id,
            category,
            ..Op::default()
        });
        let label = builder.label(name, Some(op));
        builder.add_slice(ops, SliceSpec::new(at(start, call_ps), label));
    }
    let mut now = 0;
    for &(name, len) in scopes {
        let label = builder.label(name, None);
        builder.add_slice(trace_me, SliceSpec::new(at(now, len), label));
        now += len;
    }
    builder.finish()
}

fn kernel(report: &KernelsReport, name: &str) -> Kernel {
    report
        .kernels
        .iter()
        .find(|kernel| kernel.kernel == name)
        .unwrap()
        .clone()
}

/// 173.374 µs of 227.262 µs, as in a real capture of a matmul on v6e.
#[test]
fn kernel_waiting_for_input_is_reported() {
    let scopes = [
        ("ep_copy_in", 1_000_000),
        ("ep_wait_in", 100_000_000),
        ("ep_run_kernel", 40_000_000),
        ("ep_wait_in", 73_374_000),
    ];
    let report = report_of(&pipelined(227_262_000, &scopes)).unwrap();
    let waiting = kernel(&report, "kernel");
    let pipeline = waiting.pipeline.unwrap();
    assert_eq!(
        (
            pipeline.executions,
            pipeline.dma_wait_ps.ps(),
            pipeline.outside_ps.ps()
        ),
        (1, 173_374_000, 12_888_000)
    );
    assert!((pipeline.dma_wait_percent.unwrap().0 - 76.288).abs() < 0.001);
    assert_eq!(pipeline.grid_steps, Some(1.0));
    assert_eq!(kernel(&report, "other").pipeline, None);
    assert!(
        report
            .hints
            .iter()
            .any(|hint| hint.starts_with("kernel waits for DMA 76.3 %")),
        "{:?}",
        report.hints
    );
}

const NESTED: &str = "
    modules: MMMMMMMMMMMMMMMMMMMM..MMMMMMMMMM
    ops    : KKKKKKKKKKKKKKKKKKKK..kkkkkkkkkk
    scopes : IwwwwRRRRRRRRwwRRR....wwRRRRRR
           : ......uuu
    M = jit_f(1)
    K = gmm.3 [custom-call] flops=0 tf=jit(f)/jit(gmm)/gmm/pallas_call: source=k.py:7 stall=4000 :: %gmm.3 = f32[8]{0} custom-call(f32[8]{0} %p), custom_call_target=\"tpu_custom_call\"
    k = gmm.4 [custom-call] flops=0 tf=jit(f)/jit(gmm)/gmm/pallas_call: source=k.py:7 stall=1000 :: %gmm.4 = f32[8]{0} custom-call(f32[8]{0} %p), custom_call_target=\"tpu_custom_call\"
    I = ep_initialize_0
    w = ep_wait_in
    R = ep_run_kernel
    u = my_scope
";

#[test]
fn stages_nest_and_sum_to_the_kernel() {
    let report = report_of(&text_trace(NESTED)).unwrap();
    let gmm = kernel(&report, "gmm");
    assert_eq!(
        (
            gmm.target.as_deref(),
            gmm.is_pallas,
            gmm.ops,
            gmm.occurrences
        ),
        (Some("tpu_custom_call"), true, 2, 2)
    );
    assert_eq!(
        (gmm.source.as_deref(), &*gmm.program, gmm.time_ps.ps()),
        (Some("k.py:7"), "jit_f(1)", 30_000)
    );
    assert_eq!(
        (gmm.dma_stall_ps.map(Picos::ps), gmm.declared),
        (Some(5_000), DeclaredCosts::No)
    );
    let pipeline = gmm.pipeline.unwrap();
    let stage = |name: &str| {
        pipeline
            .stages
            .iter()
            .find(|stage| stage.stage == name)
            .unwrap()
    };
    assert_eq!(
        (
            stage("ep_run_kernel").total_ps.ps(),
            stage("ep_run_kernel").self_ps.ps()
        ),
        (17_000, 14_000)
    );
    assert_eq!(
        (
            stage("my_scope").total_ps.ps(),
            stage("my_scope").self_ps.ps()
        ),
        (3_000, 3_000)
    );
    assert_eq!(
        (
            stage("ep_wait_in").self_ps.ps(),
            stage("ep_wait_in").occurrences
        ),
        (8_000, 3)
    );
    assert_eq!(stage("ep_initialize").self_ps.ps(), 1_000);
    let sum: i64 = pipeline.stages.iter().map(|stage| stage.self_ps.ps()).sum();
    assert_eq!(
        (sum + pipeline.outside_ps.ps(), pipeline.outside_ps.ps()),
        (pipeline.time_ps.ps(), 4_000)
    );
    assert_eq!(pipeline.grid_steps, Some(1.5));
    assert_eq!(
        report.ops.iter().map(|op| &*op.op).collect::<Vec<_>>(),
        ["gmm.3", "gmm.4"]
    );
    assert!((report.ops[0].dma_wait_percent.unwrap().0 - 30.0).abs() < 1e-9);
    let titles: Vec<_> = report.tables().iter().map(|table| table.id).collect();
    assert_eq!(
        titles,
        ["kernels", "kernel_timings", "kernel_stages", "kernel_ops"]
    );
}

/// User-defined scopes alone do not show waiting.
#[test]
fn wait_is_unknown_without_a_pipeline() {
    let model = text_trace("ops: KKKK\n scopes: uu..\n K = k.1 [custom-call]\n u = mine");
    let pipeline = kernel(&report_of(&model).unwrap(), "k").pipeline.unwrap();
    assert_eq!(
        (
            pipeline.dma_wait_percent,
            pipeline.grid_steps,
            pipeline.outside_ps.ps()
        ),
        (None, None, 2_000)
    );
}

/// The last sample claims to hold for 81 ms, beyond the kernel and the trace.
#[test]
fn only_samples_during_the_kernel_count() {
    let mut builder = text_builder(
        "
        ops: KKKKKKKKKK..fffff
        counter MXU: 2222446666
        counter Vector Spills: 0000000033
        counter throttle: 99999
        K = k.1 [custom-call]
        f = fusion.1 [loop fusion]
        ",
    );
    let tracks: Vec<_> = builder
        .tracks()
        .map(|(id, track)| (id, track.name))
        .collect();
    let mxu = tracks
        .into_iter()
        .find(|&(_, name)| builder.str(name) == "MXU")
        .unwrap()
        .0;
    builder.add_counter_sample(
        mxu,
        Timestamp::from_ps(9_500),
        Some(Picos::from_ps(81_386_618_828)),
        8.0,
    );
    builder.set_counter_unit(mxu, "% util");
    let report = report_of(&builder.finish()).unwrap();
    let estimates = kernel(&report, "k").estimates;
    let series: Vec<_> = estimates
        .iter()
        .map(|estimate| (estimate.series.as_str(), estimate.unit.as_str()))
        .collect();
    assert_eq!(series, [("MXU", "% util"), ("Vector Spills", "")]);
    // 4 ns of 2, 2 of 4, 3.5 of 6, 0.5 of 8.
    assert!(
        (estimates[0].mean - 4.1).abs() < 1e-9
            && estimates[0].covered_percent == Some(Percent(100.0)),
        "{estimates:?}"
    );
    assert_eq!(estimates[0].max.to_bits(), 8.0_f64.to_bits());
    assert!(
        report
            .hints
            .iter()
            .any(|hint| hint.contains("spills vector registers"))
    );
}

#[test]
fn schedule_far_below_the_needed_rate_gets_a_remark() {
    let remark = |needed: Option<f64>| {
        let estimate = KernelEstimate {
            series: "MXU".to_owned(),
            unit: "% util".to_owned(),
            mean: 0.26,
            max: 1.0,
            covered_percent: Some(Percent(100.0)),
        };
        let kernel = kernel(&report_of(&text_trace(NESTED)).unwrap(), "gmm");
        Kernel {
            estimates: vec![estimate],
            needed_flops_percent: needed.map(Percent),
            ..kernel
        }
        .schedule_contradicts()
    };
    let text = remark(Some(11.98)).unwrap();
    assert!(
        text.contains("0.26 % by the schedule, but 11.98 % of peak FLOP/s by its shapes"),
        "{text}"
    );
    assert_eq!((remark(Some(0.5)), remark(None)), (None, None));
}

/// The second half of the kernel has three times the load of the first, and each step the same lines.
#[test]
fn units_and_lines_divide_a_generated_capture() {
    let spec = PallasKernel {
        executions: 2,
        with_lines: true,
        ..PallasKernel::default()
    };
    let source =
        importers::InputSource::from_bytes("kernel.xplane.pb", xspace_bytes(&spec.session()))
            .unwrap();
    let report =
        report_of(&importers::import(&source, &importers::Progress::new()).unwrap()).unwrap();
    let matmul = kernel(&report, "matmul");
    let body = 2 * spec.steps * spec.run_ps;
    let lines: Vec<_> = matmul
        .lines
        .iter()
        .map(|line| (&*line.line, &*line.name, line.self_ps.ps()))
        .collect();
    let expected = [
        ("LLO Ops", "vmatmul", body * 2 / 5),
        ("LLO Ops", "vld", body / 5),
        ("Pallas Primitives", "dot_general", body * 4 / 5),
        ("Source Lines", "kernel.py:45", body * 4 / 5),
        ("Source Lines", "kernel.py:44", body / 5),
    ];
    assert_eq!(lines, expected);
    let percent = matmul.lines[1].self_percent.unwrap().0;
    assert!(
        (percent - 100.0 * (spec.steps * spec.run_ps) as f64 / 5.0 / spec.call_ps as f64).abs()
            < 1e-9
    );
    let unit = |line: &str, name: &str, series: &str| {
        let mut units = matmul.units.iter();
        units
            .find(|unit| (&*unit.line, &*unit.name, &*unit.series) == (line, name, series))
            .unwrap()
            .clone()
    };
    // Half of the 16 steps run in either half of the kernel, apart from the step in the middle.
    let mean = unit("Source Lines", "kernel.py:45", "MXU").mean;
    assert!((18.0..=22.0).contains(&mean), "{mean}");
    assert_eq!(
        unit("stages", "ep_initialize", "MXU").mean.to_bits(),
        10.0_f64.to_bits()
    );
    assert_eq!(
        unit("stages", "ep_finalize", "MXU").mean.to_bits(),
        30.0_f64.to_bits()
    );
    let counter = &matmul.counters[0];
    assert_eq!(matmul.counters.len(), 1, "{:?}", matmul.counters);
    assert!(
        (counter.metric.percent().unwrap() - 18.0).abs() < 1e-9,
        "both units are busy in 18 % of the cycles"
    );
    let cost = &report.costs[0];
    assert_eq!(cost.hardware_from, Some(HardwareFrom::Counters));
    assert!(
        (cost.hardware_percent.unwrap().0 - 18.0).abs() < 1e-9,
        "{}",
        cost.finding
    );
    let titles: Vec<_> = report.tables().iter().map(|table| table.id).collect();
    let expected = [
        "kernels",
        "kernel_timings",
        "kernel_costs",
        "kernel_stages",
        "kernel_estimates",
        "kernel_lines",
        "kernel_units",
        "kernel_counters",
    ];
    assert_eq!(titles, expected);
}

#[test]
fn kernel_name_comes_from_author_then_op_then_callee() {
    let named = kernel_name;
    assert_eq!(
        named(
            "RPA-p_64-.17",
            "jit(s)/jit(rpa)/RPA-p_64-/pallas_call:",
            None,
            None
        ),
        "RPA-p_64-"
    );
    assert_eq!(
        named("matmul.3", "jit(f)/jit(matmul)/pallas_call:", None, None),
        "matmul"
    );
    assert_eq!(named("matmul_kernel.3", "", None, None), "matmul_kernel");
    assert_eq!(
        named("custom-call.4", "", None, Some("ConcatBitcast")),
        "ConcatBitcast"
    );
    assert_eq!(named("custom-call.4", "", None, None), "custom-call");
    // JAX names the function around an unnamed kernel, so that name distinguishes no kernels.
    let wrapped = |op, source| {
        named(
            op,
            "jit(f)/jit(wrapped)/pallas_call:",
            source,
            Some("tpu_custom_call"),
        )
    };
    assert_eq!(
        wrapped("wrapped.3", Some("lib/kernels.py:7")),
        "kernel at kernels.py:7"
    );
    assert_eq!(
        (wrapped("wrapped.3", None), wrapped("flash.3", None)),
        ("wrapped.3".to_owned(), "flash".to_owned())
    );
}

#[test]
fn how_to_trace_kernels_names_the_flag_of_each_libtpu() {
    let page = include_str!("../../../../../../docs/hints/K30.md");
    for flag in [
        "--xla_xprof_enable_custom_call_tracing=true",
        "--xla_enable_custom_call_region_trace=true",
    ] {
        assert!(TRACING.contains(flag), "{TRACING}");
        assert!(page.contains(flag), "{page}");
    }
    assert!(
        TRACING.find("custom_call_tracing") < TRACING.find("region_trace"),
        "the current one comes first"
    );
}

/// A program whose only kernel has no time.
#[test]
fn kernels_without_time_are_named() {
    let text = "HloModule m, is_scheduled=true\n\nENTRY %main (a: f32[8]) -> f32[8] {\n  %a = f32[8]{0} parameter(0)\n  \
        %b = f32[8]{0} custom-call(), custom_call_target=\"AllocateBuffer\"\n  \
        ROOT %my_matmul.1 = f32[8]{0} custom-call(%a, %b), custom_call_target=\"tpu_custom_call\"\n}\n";
    let mut builder = TraceBuilder::new();
    let program = builder.program("m", None);
    let bytes = trace_model::ProgramBytes::new(Arc::new(text.to_owned()), 0..text.len());
    builder.set_program_hlo(program, bytes);
    let Err(AnalysisError::NotApplicable(why)) = report_of(&builder.finish()) else {
        panic!("no kernel ran");
    };
    assert!(why.contains(": my_matmul.1 is in the program"), "{why}");
}

#[test]
fn trace_without_custom_calls_is_not_applicable() {
    let Err(AnalysisError::NotApplicable(why)) =
        report_of(&text_trace("ops: ff\n f = fusion.1 [loop fusion]"))
    else {
        panic!("there is no kernel");
    };
    assert!(why.contains("no custom call ran"), "{why}");
}
