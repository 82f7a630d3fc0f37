//! Every synthetic sample through importer and analyses must give the numbers
//! that its specification implies.
//!
//! Times are compared to the picosecond, rates to 1e-9. What the analyses find by
//! sorting, nesting and interval arithmetic, [`Expected`] gets by multiplication.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;

use analysis::facts::StepSource;
use analysis::facts::clock_alignment::ClockSync;
use analysis::reports::host::clocks::Clocks;
use analysis::reports::{Ops, OpsReport, Overlap, OverlapReport, Steps, Utilization};
use importers::{InputSource, Progress};
use sample_traces::sample_specs;
use sample_traces::synthetic::{
    ExpectedNumbers, SyntheticChip, SyntheticRole, SyntheticRun, TrainingSpec,
};
use sample_traces::write::{trace_json, xspace_bytes};
use trace_model::{GroupKind, IssueKind, TraceModel, TrackKind};

fn open(name: &str, bytes: Vec<u8>) -> TraceModel {
    importers::import(
        &InputSource::from_bytes(name, bytes).unwrap(),
        &Progress::new(),
    )
    .unwrap()
}

pub(super) fn open_protobuf(run: &SyntheticRun) -> TraceModel {
    open("sample.xplane.pb", xspace_bytes(&run.session()))
}

pub(super) fn open_json(run: &SyntheticRun) -> TraceModel {
    open("sample.trace.json", trace_json(&run.session()).into_bytes())
}

pub(super) fn runs() -> impl Iterator<Item = SyntheticRun> {
    sample_specs()
        .into_iter()
        .map(|(spec, _)| SyntheticRun::new(spec))
}

fn close(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= 1e-9 * expected.abs()
}

#[test]
fn importer_finds_every_track_and_slice_without_repairs() {
    for run in runs() {
        let model = open_protobuf(&run);
        let name = &run.spec.name;
        let events: usize = run
            .session()
            .planes
            .iter()
            .flat_map(|p| &p.lines)
            .map(|line| line.events.len())
            .sum();
        // Spans of devices that record none are rebuilt from their starts and dones.
        let rebuilt = model
            .all_slices()
            .filter(|s| s.attr(trace_model::SliceAttr::Reconstructed) == Some(1))
            .count();
        assert_eq!(model.slice_count() - rebuilt, events, "{name}");
        let lost: Vec<_> = model
            .import_log()
            .counts()
            .iter()
            .filter(|count| count.kind != IssueKind::FlowWithoutEnd)
            .collect();
        assert!(lost.is_empty(), "{name}: {lost:?}");
        let cores = model.tensor_cores();
        assert_eq!(cores.len(), run.spec.devices() as usize);
        for core in cores {
            assert!(model.track_of_kind(core, TrackKind::Modules).is_some());
            assert_eq!(
                model.track_of_kind(core, TrackKind::Steps).is_some(),
                run.spec.steps_line
            );
            let device = model.group(core).device.as_ref().unwrap();
            assert_eq!(device.type_name.as_deref(), Some(run.spec.chip.type_name));
            assert!(close(
                device.peak_flops.unwrap(),
                run.spec.chip.peak_flops()
            ));
            assert!(close(
                device.peak_hbm_bytes.unwrap(),
                run.spec.chip.hbm_bytes()
            ));
        }
        assert!(
            model
                .groups()
                .iter()
                .any(|group| matches!(group.kind, GroupKind::HostProcess))
        );
        assert_eq!(model.sources()[0].host.as_deref(), Some("synthetic"));
    }
}

#[test]
fn op_times_and_work_are_exact() {
    for run in runs() {
        let report = report!(Ops, &open_protobuf(&run));
        check_op_table(&run.expected, &report);
    }
}

fn check_op_table(expected: &ExpectedNumbers, report: &OpsReport) {
    let rows: BTreeMap<_, _> = report
        .rows
        .iter()
        .map(|row| ((&*row.program, &*row.name), row))
        .collect();
    assert_eq!(rows.len(), expected.ops.len());
    for op in &expected.ops {
        let program = format!("jit_train_step({})", op.program);
        let row = rows[&(program.as_str(), op.name.as_str())];
        assert_eq!(&*row.category, op.category);
        assert_eq!(row.occurrences, op.occurrences, "{}", op.name);
        assert_eq!(
            (row.total_time_ps.ps(), row.self_time_ps.ps()),
            (op.total_ps, op.self_ps),
            "{}",
            op.name
        );
        assert_eq!(
            (row.costs.flops, row.costs.model_flops),
            (Some(op.flops), Some(op.flops)),
            "{}",
            op.name
        );
        assert_eq!(row.costs.bytes, Some(op.bytes), "{}", op.name);
        assert_eq!(row.is_leaf, op.role != SyntheticRole::Loop, "{}", op.name);
        if let Some(memory) = row.costs.memory {
            assert_eq!(
                (memory.hbm_bytes, memory.total()),
                (op.hbm_bytes, op.bytes),
                "{}",
                op.name
            );
        }
        if op.role == SyntheticRole::Matmul {
            let rate = op.flops as f64 / (op.total_ps as f64 / 1e12);
            assert!(close(row.rates.flops_per_second.unwrap(), rate));
        }
    }
}

#[test]
fn core_busy_time_matches_its_program() {
    for run in runs() {
        let (expected, name) = (&run.expected, &run.spec.name);
        let report = report!(Ops, &open_protobuf(&run));
        assert_eq!(report.cores.len(), run.spec.devices() as usize);
        for core in &report.cores {
            assert_eq!(core.on_duty_ps.ps(), expected.sums.busy, "{name}");
            assert_eq!(core.op_time_ps.ps(), expected.sums.busy, "{name}");
            assert_eq!(core.mxu_time_ps.ps(), expected.sums.matmul, "{name}");
            let devices = f64::from(expected.devices);
            assert!(
                close(
                    core.mxu_flops.unwrap() * devices,
                    expected.matmul_flops() as f64
                ),
                "{name}"
            );
            assert!(
                close(
                    core.work.flops.unwrap() * devices,
                    expected.leaf_flops() as f64
                ),
                "{name}"
            );
            assert_eq!(core.busy_ps.ps(), expected.leaf_ps, "{name}");
            assert_eq!(
                core.total_time_ps.ps(),
                window_ps(&run),
                "{name}: both clocks mixed in one window?"
            );
        }
    }
}

/// From the first step, or op where steps are not recorded, to the end of the last.
fn window_ps(run: &SyntheticRun) -> i64 {
    let steps = &run.expected.steps;
    let recorded = steps[steps.len() - 1].device.1 - steps[0].device.0;
    if run.spec.steps_line {
        recorded
    } else {
        run.expected.ops_ps
    }
}

#[test]
fn utilization_is_work_over_time_over_peak() {
    for run in runs() {
        let (expected, name, window) = (&run.expected, &run.spec.name, window_ps(&run));
        let report = report!(Utilization, &open_protobuf(&run));
        for (id, share) in [
            ("flops_util_window", expected.flops_util(window)),
            ("mfu_window", expected.flops_util(window)),
            ("flops_util_busy", expected.flops_util(expected.leaf_ps)),
            ("mxu_util_on_mxu_ops", expected.mxu_util_on_mxu_ops()),
            ("hbm_util_window", expected.hbm_util(window)),
            ("hbm_util_busy", expected.hbm_util(expected.leaf_ps)),
            (
                "mxu_busy_fraction",
                expected.sums.matmul as f64 / window as f64,
            ),
            ("duty_cycle", expected.leaf_ps as f64 / window as f64),
            ("duty_cycle_xprof", expected.duty_cycle()),
        ] {
            let metric = report
                .combined
                .iter()
                .find(|metric| metric.id.trim_end_matches("_percent") == id);
            let value = metric.unwrap_or_else(|| panic!("no {id}")).value.unwrap();
            assert!(
                close(value, 100.0 * share),
                "{name} {id}: {value} and not {}",
                100.0 * share
            );
        }
    }
}

#[test]
fn hidden_and_exposed_communication_match_the_schedule() {
    for run in runs() {
        for (format, model) in [("protobuf", open_protobuf(&run)), ("json", open_json(&run))] {
            let report = report!(Overlap, &model);
            check_communication(&run, &report, format);
        }
    }
}

fn check_communication(run: &SyntheticRun, report: &OverlapReport, format: &str) {
    let sums = &run.expected.sums;
    assert_eq!(report.cores.len(), run.spec.devices() as usize);
    for core in &report.cores {
        let name = format!("{} {format} {}", run.spec.name, core.core);
        assert_eq!(core.comm_total_ps.ps(), sums.comm, "{name}");
        assert_eq!(
            core.overlapped_ps.map(trace_model::Picos::ps),
            Some(sums.comm_hidden),
            "{name}"
        );
        assert_eq!(core.exposed_ps.ps(), sums.comm_exposed(), "{name}");
        assert_eq!(core.exposed_blocking_ps.ps(), sums.comm_blocking, "{name}");
        assert_eq!(core.compute_ps.ps(), sums.compute, "{name}");
    }
}

#[test]
fn both_formats_give_the_same_op_table() {
    for run in runs() {
        let (protobuf, json) = (
            report!(Ops, &open_protobuf(&run)),
            report!(Ops, &open_json(&run)),
        );
        assert_eq!(protobuf.rows.len(), json.rows.len());
        for (a, b) in protobuf.rows.iter().zip(json.rows.iter()) {
            let name = format!("{} {}", run.spec.name, a.name);
            assert_eq!(
                (&a.program, &a.name, &a.category),
                (&b.program, &b.name, &b.category),
                "{name}"
            );
            assert_eq!(
                (a.occurrences, a.total_time_ps, a.self_time_ps),
                (b.occurrences, b.total_time_ps, b.self_time_ps),
                "{name}"
            );
            // No operations of the algorithm means "as many as flops", which the export drops.
            assert_eq!(
                (
                    a.costs.model_flops.filter(|&flops| flops > 0),
                    a.costs.bytes
                ),
                (b.costs.model_flops, b.costs.bytes),
                "{name}"
            );
        }
        for (a, b) in protobuf.cores.iter().zip(&json.cores) {
            assert_eq!(
                (a.total_time_ps, a.op_time_ps, a.busy_ps),
                (b.total_time_ps, b.op_time_ps, b.busy_ps)
            );
            // The export drops the peaks: a utilization would be a guess.
            assert!(a.peaks.flops.is_some() && b.peaks.flops.is_none());
        }
    }
}

#[test]
fn steps_come_from_the_line_or_the_annotated_programs() {
    for run in runs() {
        let (expected, name) = (&run.expected, &run.spec.name);
        let report = report!(Steps, &open_protobuf(&run));
        assert_eq!(report.steps.len(), expected.steps.len(), "{name}");
        assert_eq!(
            report.source,
            if run.spec.steps_line {
                StepSource::StepsLine
            } else {
                StepSource::AnnotatedPrograms
            },
            "{name}"
        );
        for (step, pair) in report.steps.iter().zip(expected.steps.windows(2)) {
            let lasts = if run.spec.steps_line {
                pair[0].device.1 - pair[0].device.0
            } else {
                step.time_ps.ps()
            };
            assert_eq!(
                (step.number, step.time_ps.ps()),
                (pair[0].step, lasts),
                "{name}"
            );
            let begins = if run.spec.steps_line {
                pair[1].device.0 - pair[0].device.0
            } else {
                pair[1].module.0 - pair[0].module.0
            };
            assert_eq!(
                step.interval_ps.map(trace_model::Picos::ps),
                Some(begins),
                "{name} step {}",
                step.number
            );
        }
    }
}

#[test]
fn clock_offsets_match_the_sample() {
    for run in runs() {
        for model in [open_protobuf(&run), open_json(&run)] {
            let report = report!(Clocks, &model);
            let name = &run.spec.name;
            assert_eq!(report.devices.len(), run.spec.devices() as usize, "{name}");
            let at_least = report
                .devices
                .iter()
                .map(|shift| shift.bounds.at_least_ps.ps())
                .max()
                .unwrap();
            let at_most = report
                .devices
                .iter()
                .map(|shift| shift.bounds.at_most_ps.unwrap().ps())
                .min()
                .unwrap();
            assert_eq!((at_least, at_most), run.expected.clock_shift_ps, "{name}");
            for shift in &report.devices {
                let needed = shift.bounds.at_least_ps.ps().max(0);
                let sync = if needed == 0 {
                    ClockSync::Aligned
                } else {
                    ClockSync::Shifted
                };
                assert_eq!((shift.sync, shift.shift_ps.ps()), (sync, needed), "{name}");
                assert_eq!(
                    (shift.pairs, shift.ends),
                    (run.spec.steps as usize, run.spec.steps as usize),
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn overlap_changes_only_what_it_hides() {
    let open = |overlap| {
        let run = SyntheticRun::new(TrainingSpec {
            overlap,
            ..TrainingSpec::default()
        });
        let report = report!(Ops, &open_protobuf(&run));
        (run, report)
    };
    let ((on, with), (off, without)) = (open(true), open(false));
    for (with, without) in with.cores.iter().zip(&without.cores) {
        assert_eq!(with.mxu_time_ps, without.mxu_time_ps);
        let saved = off.expected.sums.comm_blocking - on.expected.sums.comm_blocking;
        assert_eq!((without.on_duty_ps - with.on_duty_ps).ps(), saved);
        assert!(saved > 0);
    }
}

#[test]
fn padding_lowers_mxu_utilization() {
    let util = |width, hidden| {
        let run = SyntheticRun::new(TrainingSpec {
            chip: SyntheticChip::V6E,
            width,
            hidden,
            model: 1,
            ..TrainingSpec::default()
        });
        let report = report!(Ops, &open_protobuf(&run));
        let core = &report.cores[0];
        let rate = core.mxu_flops.unwrap() / core.mxu_time_ps.as_secs_f64();
        (
            rate / core.peaks.flops.as_ref().unwrap().per_second,
            run.expected.mxu_util_on_mxu_ops(),
        )
    };
    let ((full, expected_full), (padded, expected_padded)) = (util(2048, 8192), util(2048, 8200));
    assert!(close(full, expected_full) && close(padded, expected_padded));
    assert!((full - 0.9).abs() < 1e-8, "{full}");
    // Five of six products have 8200 as a dimension that fills 32.03 of 33 tiles of
    // 256; in the sixth it is rows, which come in sixteens.
    let share = 6.0 * 8200.0 / (5.0 * 8448.0 + 8208.0);
    assert!((padded / full - share).abs() < 1e-8, "{padded}");
}
