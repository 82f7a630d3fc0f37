//! What no public capture shows: sessions written from the facts of the format,
//! imported like any file, with answers that follow by hand.

use analysis::Scope;
use analysis::hints::{Hint, Hints};
use analysis::reports::communication::sparse_cores::SparseCores;
use analysis::reports::ops::hardware_counters::{CounterGeneration, HardwareCounters};
use analysis::reports::{Dcn, DeclaredCosts, Kernels};
use sample_traces::rare::{
    CounterName, CounterSamples, MegascaleSample, PallasKernel, SparseOffload,
};
use sample_traces::session::SampleSession;
use sample_traces::write::{trace_json, xspace_bytes};
use trace_model::{IssueKind, Picos};

use crate::capture::Capture;

impl Capture {
    fn xplane(session: &SampleSession) -> Self {
        Self::of("rare.xplane.pb", xspace_bytes(session))
    }
    fn json(session: &SampleSession) -> Self {
        Self::of("rare.trace.json", trace_json(session).into_bytes())
    }
}

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= 1e-6 * expected.abs().max(1.0)
}

/// Both forms of one capture; the export has no costs of single executions.
#[test]
fn reports_a_pallas_kernel_and_its_pipeline() {
    let spec = PallasKernel::default();
    let session = spec.session();
    for (capture, is_json) in [
        (Capture::xplane(&session), false),
        (Capture::json(&session), true),
    ] {
        let report = capture.report::<Kernels>();
        let kernel = &report.kernels[0];
        assert_eq!(
            (
                report.kernels.len(),
                kernel.kernel.as_str(),
                kernel.is_pallas
            ),
            (1, "matmul", true)
        );
        assert_eq!(
            (kernel.occurrences, kernel.time_ps.ps()),
            (3, 3 * spec.call_ps)
        );
        assert_eq!(kernel.source.as_deref(), Some("kernel.py:42"));

        let pipeline = kernel.pipeline.as_ref().unwrap();
        assert_eq!(
            (pipeline.executions, pipeline.time_ps.ps()),
            (3, 3 * spec.call_ps)
        );
        assert_eq!(pipeline.dma_wait_ps.ps(), 3 * 173_374_000);
        assert!((pipeline.dma_wait_percent.unwrap().0 - 76.288).abs() < 0.001);
        let sums: Vec<_> = pipeline
            .stages
            .iter()
            .map(|s| (s.stage.as_str(), s.total_ps.ps(), s.self_ps.ps()))
            .collect();
        let times = 3 * spec.steps;
        let own = spec.run_ps - spec.scope_ps;
        assert_eq!(
            sums,
            [
                (
                    "ep_wait_in",
                    times * spec.wait_in_ps,
                    times * spec.wait_in_ps
                ),
                ("dot", times * spec.scope_ps, times * spec.scope_ps),
                ("ep_run_kernel", times * spec.run_ps, times * own),
                (
                    "ep_copy_in",
                    times * spec.copy_in_ps,
                    times * spec.copy_in_ps
                ),
                (
                    "ep_copy_out",
                    times * spec.copy_out_ps,
                    times * spec.copy_out_ps
                ),
                (
                    "ep_initialize",
                    3 * spec.initialize_ps,
                    3 * spec.initialize_ps
                ),
                ("ep_finalize", 3 * spec.finalize_ps, 3 * spec.finalize_ps),
            ]
        );
        assert_eq!(pipeline.outside_ps.ps(), 3 * spec.outside_ps());
        assert_eq!(pipeline.grid_steps, Some(16.0));

        let mxu = &kernel.estimates[0];
        assert_eq!((mxu.series.as_str(), mxu.unit.as_str()), ("MXU", "% util"));
        assert!(near(mxu.mean, 20.0) && near(mxu.max, 30.0), "{mxu:?}");
        assert!(near(mxu.covered_percent.unwrap().0, 100.0), "{mxu:?}");
        if is_json {
            assert_eq!(kernel.declared, DeclaredCosts::TooFew);
        } else {
            assert!(capture.model.import_log().count(IssueKind::CounterClipped) > 0);
            // Its cost is that of a block: the shapes need eight times as many.
            assert_eq!(
                (kernel.declared, kernel.flops),
                (DeclaredCosts::TooFew, Some(3 * 1_076_887_552))
            );
            assert_eq!(kernel.needed_flops, Some(3 * 2 * 2048 * 1024 * 2048));
            let seconds = 3.0 * 227.262e-6;
            assert!(near(
                kernel.flops_percent.unwrap().0,
                100.0 * 3.0 * 1_076_887_552.0 / seconds / 918e12
            ));
            // It declares no bytes: zero is not a measurement.
            assert_eq!((kernel.bytes, kernel.hbm_percent), (None, None));
        }
        assert!(
            report
                .hints
                .iter()
                .any(|hint| hint.contains("memory bound")),
            "{:?}",
            report.hints
        );
    }
}

#[test]
fn reports_hardware_counters_by_number_and_sample() {
    let capture = Capture::xplane(&CounterSamples::default().session());
    // All counters of a sample are read at once and lie side by side.
    assert!(capture.model.all_lanes().iter().all(|lane| lane.depth == 0));
    let report = capture.report::<HardwareCounters>();
    let device = &report.devices[0];
    assert_eq!(
        (report.devices.len(), device.generation),
        (1, Some(CounterGeneration::V6e))
    );
    let percents = |metrics: &[analysis::reports::ops::hardware_counters::CounterMetric]| {
        metrics
            .iter()
            .map(|metric| (metric.id, (metric.percent().unwrap() * 1e6).round() / 1e6))
            .collect::<Vec<_>>()
    };
    let names: Vec<_> = device
        .samples
        .iter()
        .map(|sample| sample.name.as_str())
        .collect();
    assert_eq!(names, ["kernel_a", "kernel_b"]);
    assert_eq!(
        percents(&device.samples[0].metrics),
        [("scalar", 25.0), ("mxu_busy", 25.0)]
    );
    // 1.28 GB of 1637.993 GB/s over 3 million cycles at 1.75 GHz.
    let hbm: f64 = 100.0 * 1.28e9 / (1_637.993_152_512e9 * 3e6 / 1.75e9);
    assert_eq!(
        percents(&device.samples[1].metrics),
        [
            ("mxu_busy", 58.333_333),
            ("mxu_0", 80.0),
            ("mxu_bf16", 40.0),
            ("hbm", (hbm * 1e6).round() / 1e6)
        ]
    );
    // Over both samples 2 of 4 million cycles.
    assert!(
        device
            .metrics
            .iter()
            .any(|metric| metric.id == "mxu_busy" && near(metric.percent().unwrap(), 50.0))
    );
    let unknown: Vec<_> = device
        .counts
        .iter()
        .filter(|count| !count.is_known)
        .map(|count| count.id)
        .collect();
    assert_eq!(unknown, [12_345]);
}

#[test]
fn counters_of_unknown_chips_are_listed_uninterpreted() {
    let samples = CounterSamples {
        chip: sample_traces::synthetic::SyntheticChip::V5P,
        ..CounterSamples::default()
    };
    let report = Capture::xplane(&samples.session()).report::<HardwareCounters>();
    assert_eq!(
        (
            report.devices[0].generation,
            report.devices[0].metrics.len()
        ),
        (None, 0)
    );
    assert!(
        report.devices[0]
            .counts
            .iter()
            .all(|count| !count.is_known && count.value > 0.0)
    );
    let none = Capture::xplane(&PallasKernel::default().session())
        .scoped::<HardwareCounters>(Scope::WholeTrace);
    assert!(none.is_err_and(|why| {
        why.to_string()
            .contains("tpu_enable_periodic_counter_sampling")
    }));
}

/// Whether a flow or the number says where work went, in both forms of a capture; the export drops flows but keeps the
/// number.
#[test]
fn reports_sparse_core_offload() {
    const US: i64 = 1_000_000;
    for arrows in [true, false] {
        let session = SparseOffload {
            with_flows: arrows,
            ..SparseOffload::default()
        }
        .session();
        for capture in [Capture::xplane(&session), Capture::json(&session)] {
            let report = capture.report::<SparseCores>();
            let core = &report.cores[0];
            assert_eq!(
                (report.cores.len(), core.core.as_str()),
                (1, "/device:TPU:0 SparseCore 1")
            );
            // From the first op of the device to the end of its last: 3 periods and 10 µs.
            assert_eq!(
                (core.window_ps.ps(), core.busy_ps.map(Picos::ps)),
                (70 * US, Some(28 * US))
            );
            assert!(near(core.busy_percent.unwrap().0, 40.0));
            assert_eq!(
                (core.programs, core.program_ps.ps(), core.steps),
                (4, 32 * US, 4)
            );
            assert!(near(core.step_mean_ps.unwrap(), 9e6));

            let offload = &report.offloads[0];
            assert_eq!(
                (report.offloads.len(), report.unmatched, offload.occurrences),
                (1, 0, 4)
            );
            assert_eq!(
                (offload.op.as_str(), offload.runs.join(" ").as_str()),
                ("lookup-start.1", "lookup(9)")
            );
            assert_eq!(
                (offload.sparse_ps.ps(), offload.hidden_ps.ps()),
                (28 * US, 20 * US)
            );
            assert_eq!(
                (offload.in_flight_ps.ps(), offload.waited_ps.map(Picos::ps)),
                (40 * US, Some(12 * US))
            );
            let ops: Vec<_> = report
                .ops
                .iter()
                .map(|op| (op.op.as_str(), op.occurrences, op.self_ps.ps()))
                .collect();
            assert_eq!(ops, [("gather.1", 4, 16 * US), ("scatter.1", 4, 12 * US)]);
        }
    }
}

/// What a rule says at a threshold of so many percent.
fn hint_at(session: &SampleSession, id: &str, threshold: &str, percent: f64) -> Option<Hint> {
    let mut capture = Capture::xplane(session);
    capture
        .options
        .hints
        .thresholds
        .insert(threshold.to_owned(), percent);
    capture
        .report::<Hints>()
        .hints
        .iter()
        .find(|hint| hint.id == id)
        .cloned()
}

#[test]
fn waiting_for_sparse_cores_triggers_a_hint() {
    // 12 of 70 µs.
    let session = SparseOffload::default().session();
    let hint = hint_at(&session, "K27", "K27.wait_percent", 17.1).unwrap();
    assert!(
        hint.statement.contains("17.1 %") && hint.statement.contains("lookup-start.1"),
        "{}",
        hint.statement
    );
    // Of each lookup the 1 µs of handing it over, and 3 µs of waiting but for the
    // 1.25 ns that a done takes at least.
    assert_eq!(hint.saving_ps, Some(Picos::from_ps(4_000_000 - 1_250)));
    assert!(hint_at(&session, "K27", "K27.wait_percent", 17.2).is_none());
    // Nothing is copied.
    assert!(hint_at(&session, "K25", "K25.wait_percent", 0.1).is_none());
}

#[test]
fn skipped_cycles_trigger_a_hint() {
    use CounterName::{PowerCyclesV7x, SkippedV7x};
    let skipping = |skipped| {
        let chip = sample_traces::synthetic::SyntheticChip {
            id: "v7x",
            type_name: "TPU7x",
            ..CounterSamples::default().chip
        };
        let samples = vec![(
            "kernel",
            vec![(PowerCyclesV7x, 1_000_000), (SkippedV7x, skipped)],
        )];
        let session = CounterSamples {
            samples,
            chip,
            op_us: 100,
        }
        .session();
        hint_at(&session, "K43", "K43.skipped_percent", 5.0)
    };
    let hint = skipping(50_000).unwrap();
    assert!(
        hint.statement.contains("skips 5.0 % of its clock cycles"),
        "{}",
        hint.statement
    );
    // Of 100 µs.
    assert_eq!(hint.saving_ps, Some(Picos::from_ps(5_000_000)));
    assert!(skipping(49_000).is_none());
}

#[test]
fn offload_start_without_work_is_counted() {
    let spec = SparseOffload {
        with_flows: false,
        lose_last: true,
        ..SparseOffload::default()
    };
    let report = Capture::xplane(&spec.session()).report::<SparseCores>();
    assert_eq!((report.unmatched, report.offloads[0].occurrences), (1, 3));
}

/// The collective on the device and its messages on the host, in both forms.
#[test]
fn reports_an_all_reduce_over_two_slices() {
    const US: i64 = 1_000_000;
    let session = MegascaleSample::default().session();
    for capture in [Capture::xplane(&session), Capture::json(&session)] {
        let report = capture.report::<Dcn>();
        let all_reduce = &report.collectives[0];
        assert_eq!((report.collectives.len(), report.unmatched), (1, 0));
        assert_eq!(
            (
                all_reduce.rendezvous.as_str(),
                all_reduce.transfer.as_deref()
            ),
            ("all-reduce.7_0", Some("ALL_REDUCE"))
        );
        assert_eq!(
            (
                all_reduce.slices,
                all_reduce.occurrences,
                all_reduce.stall_ps.ps()
            ),
            (Some(2), 3, 15 * US)
        );
        let mean = &all_reduce.mean;
        let mean = mean.as_ref().unwrap();
        assert!(
            near(mean.observed_ps, 9e6) && near(mean.slack_ps, 4e6) && near(mean.stall_ps, 5e6),
            "{mean:?}"
        );
        assert!(near(all_reduce.transmitted_bytes.unwrap(), 40_000.0));
        assert!(near(all_reduce.required_bandwidth.unwrap(), 10e9));
        // 15 of 50 µs: two periods and a step of 10 µs.
        assert!(near(all_reduce.stall_percent.unwrap().0, 30.0));
        assert_eq!(
            (
                report.devices[0].stall_ps.ps(),
                report.devices[0].window_ps.ps()
            ),
            (15 * US, 50 * US)
        );

        // Messages of 20 kB in 4 µs, one after the other: 5 GB/s, the middle class.
        let host = &report.hosts[0];
        assert_eq!(
            (
                report.hosts.len(),
                host.messages,
                host.loopback,
                host.invalid
            ),
            (1, 6, 1, 1)
        );
        assert_eq!(
            (host.active_ps.ps(), host.active_ps_by_class.map(Picos::ps)),
            (24 * US, [0, 24 * US, 0, 0])
        );
        assert!(
            near(host.bytes, 120_000.0)
                && near(host.mean_bandwidth.unwrap(), 5e9)
                && near(host.peak_bandwidth, 5e9)
        );
        let message = &report.messages[0];
        assert_eq!(
            (
                message.label.as_str(),
                message.messages,
                message.max_ps.ps()
            ),
            ("all-reduce.7_0", 6, 4 * US)
        );
        assert!(near(message.mean_ps, 4e6) && near(message.bandwidth.unwrap(), 5e9));
        let actions: Vec<_> = report
            .actions
            .iter()
            .map(|row| (row.action.as_str(), row.count, row.total_ps.ps()))
            .collect();
        assert_eq!(
            actions,
            [
                ("Communication Transport Receive", 8, 25 * US),
                ("Reduction Finished", 1, 1_500_000)
            ]
        );
    }
}
