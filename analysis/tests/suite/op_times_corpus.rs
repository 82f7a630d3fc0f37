//! Times of ops in real captures.

use analysis::reports::ops::matmuls::MatmulRow;
use analysis::reports::{Collectives, Matmuls, OpRow, Ops, Overlap, StepPart, StepParts};
use analysis::{Cell, OpGroup, Percent, Scope, Tabular as _};
use trace_model::{Picos, TimeRange};

use super::time_corpus::{V6E_STEPS, near};
use crate::capture::open;

/// Three layers compiled for v5p without one: what XLA expects, and what follows.
#[test]
fn predicted_timeline_is_analyzed_like_a_profile() {
    let Some(capture) = open("simulators/xla_tpu_aot/lab11_v5p/scheduled_hlo.txt") else {
        return;
    };
    let us = Picos::as_us_f64;
    let overlap = capture.report::<Overlap>();
    let core = &overlap.cores[0];
    assert!(near(us(core.window_ps), 71.778, 0.001) && near(us(core.compute_ps), 46.956, 0.001));
    assert!(
        near(us(core.exposed_ps), 24.822, 0.001)
            && near(us(core.exposed_blocking_ps), 24.822, 0.001)
    );
    // All weights but those before the first all-gather come while the core computes.
    assert!(
        near(us(core.copy_in_flight_ps), 6.0 * 3.0339, 0.001)
            && near(us(core.copy_hidden_ps), 5.0 * 3.0339, 0.001)
    );
    assert!(capture.findings().contains(&"Q13") && !capture.findings().contains(&"Q08"));
    // The inside fusions is known from the text: both products of a layer, and who reduces.
    let matmuls = capture.report::<Matmuls>();
    let sizes = |row: &MatmulRow| row.sizes.map(|sizes| (sizes.m, sizes.k, sizes.n));
    assert!(
        matmuls
            .rows
            .iter()
            .all(|row| row.products == 2 && sizes(row) == Some((256, 4096, 1024)))
    );
    let collectives = capture.report::<Collectives>();
    let kinds: Vec<_> = collectives
        .kinds
        .iter()
        .map(|row| (row.kind.as_str(), row.sent_bytes))
        .collect();
    let sent = Some(3.0 * 393_216.0);
    assert!(
        kinds.contains(&("all-gather", sent)) && kinds.contains(&("reduce-scatter", sent)),
        "{kinds:?}"
    );
}

/// A training step on 256 chips whose all-gathers start and end in fusions: 14 of them, no kernels.
#[test]
fn async_collectives_of_a_training_step_are_not_kernels() {
    let Some(capture) = open("regressions/v5p_async_collectives_rebuilt.xplane.pb.gz") else {
        return;
    };
    let ops = capture.report::<Ops>();
    let share = |wanted: &dyn Fn(&OpRow) -> bool| {
        let rows = ops.rows.iter().filter(|row| wanted(row));
        let part = rows.map(|row| row.self_time_ps).sum();
        Percent::of(part, ops.op_time_ps).unwrap().0
    };
    assert!(near(
        share(&|row| row.group == OpGroup::CustomKernel),
        11.3,
        0.05
    ));
    assert!(near(share(&|row| row.group == OpGroup::MatMul), 33.5, 0.05));
    let asynchronous = share(&|row| row.name.starts_with("async-collective-"));
    assert!(near(asynchronous, 14.56, 0.05), "{asynchronous}");
    // With those that are not asynchronous.
    assert!(near(
        share(&|row| row.group == OpGroup::Collective),
        14.56 + 9.15 + 2.70 + 0.12 + 0.08,
        0.05
    ));
    let overlap = capture.report::<Overlap>();
    let gathers = overlap
        .transfers
        .iter()
        .filter(|row| row.op.starts_with("async-collective-start"));
    let gathers: Vec<_> = gathers
        .map(|row| (row.kind.as_str(), row.is_async, row.is_collective))
        .collect();
    assert_eq!(gathers, [("all-gather", true, true); 14]);
    assert!(
        overlap.summary.overlap_ratio_percent.unwrap() > Percent(10.0),
        "{:?}",
        overlap.summary
    );
    assert!(
        overlap
            .transfers
            .iter()
            .all(|row| row.kind != "custom fusion")
    );
    let links = capture.report::<Collectives>();
    let row = links
        .rows
        .iter()
        .find(|row| row.op == "async-collective-start.3")
        .unwrap();
    // `bf16[1,512,7168]` of each becomes `bf16[1,2048,7168]`.
    assert_eq!(
        (row.message.bytes, row.message.participants),
        (Some(2048 * 7168 * 2), Some(4))
    );
}

/// Of four devices in steps of 784 ms: what is listed of a step is 784 ms, and not the sum over devices or steps.
#[test]
fn times_of_ops_are_those_of_one_device_in_one_step() {
    let Some(capture) = open(V6E_STEPS) else {
        return;
    };
    let listed = |scope| {
        let tables = capture.scoped::<Ops>(scope).unwrap().tables();
        let table = tables
            .iter()
            .find(|table| table.id == "op_groups")
            .unwrap()
            .clone();
        let at = table
            .columns
            .iter()
            .position(|column| column.id == "self_time_each_ps")
            .unwrap();
        let times = table
            .rows
            .iter()
            .map(|row| if let Cell::Int(ps) = row[at] { ps } else { 0 });
        (
            times.sum::<i64>() as f64 * 1e-9,
            table.columns[at].title,
            table.notes.join(" "),
        )
    };
    let (one, title, notes) = listed(Scope::Steps { first: 3, last: 3 });
    assert!(
        near(one, 784.2, 0.3) && title == "Self time a step",
        "{one} {title}"
    );
    assert!(
        notes.contains("the mean over 4 devices and 1 step"),
        "{notes}"
    );
    assert!(near(
        listed(Scope::Steps { first: 3, last: 12 }).0,
        784.2,
        0.3
    ));
    // A range knows no steps.
    let extent = capture.model.extent();
    let range = TimeRange::at(
        extent.start + Picos::from_ps(extent.dur().ps() / 2),
        Picos::from_ps(2_000_000_000_000),
    );
    let (each, title, _) = listed(Scope::Range(range));
    assert!(
        title == "Self time a device" && near(each, 2_000.0, 500.0),
        "{each} {title}"
    );
    // Its collectives run before the first step: no step waits for them.
    let (exposed, step) = capture
        .report::<StepParts>()
        .cores_mean(StepPart::ExposedComm)
        .unwrap();
    assert!(
        exposed < 1.0 && near(step, 784.1e9, 0.2e9),
        "{exposed} {step}"
    );
    assert!(capture.report::<Overlap>().mean_comm().is_some());
}
