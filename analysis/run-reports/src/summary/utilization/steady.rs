//! Utilization over the steady steps: the behaviour of the warm program, without compiling, partial steps, and other
//! parts of the capture.

use device_reports::ops::op_stats::SteadyOps;
use device_reports::{CoreOps, OpsReport};
use facts::prelude::*;

use super::matrix_ops::{MatrixOps, matrix_metric};
use super::sums::{UtilizationShare, WorkSums, utilization, window};

/// The rate of matrix ops; the reference says if kernels are among them.
const OF_MATRIX_OPS: [&str; 2] = [
    "mxu_util_steady_percent",
    "FLOPs utilization of matrix work, steady steps",
];

/// Only for the whole trace, because the user selects any other scope. No metrics if no steps were found, or if the
/// devices recorded no ops in them.
pub(super) fn metrics(cx: &Context<'_>, ops: &OpsReport) -> Vec<Metric> {
    let Some(SteadyOps {
        first,
        last,
        steps,
        cores,
    }) = ops.steady.as_deref()
    else {
        return Vec::new();
    };
    let cores: Vec<&CoreOps> = cores.iter().collect();
    let over = if first == last {
        format!("step {first}")
    } else {
        format!("steps {first}–{last}")
    };
    let why = why_these(cx.fact::<StepsReport>(), *steps);
    let sums = WorkSums {
        window: over,
        is_whole: false,
        ..WorkSums::new(cx, ops, &cores)
    };
    let metric = |id, title, limit, amount: Option<f64>| {
        let note = sums.notes_on(limit, amount.is_some()).into_iter();
        let notes: Vec<String> = note.chain(why.clone()).collect();
        utilization(
            &sums,
            UtilizationShare {
                id,
                title,
                limit,
                amount,
                over: &sums.window,
                time: window,
                of_all_ops: true,
                note: (!notes.is_empty()).then(|| notes.join("; ")),
            },
        )
    };
    let flops = sums.amount(|core| core.model_flops_as_bf16);
    let hbm = sums.amount(|core| core.work.hbm_bytes);
    let over = format!(
        "{} in {}",
        MatrixOps::rated(&sums).time_in_words(),
        sums.window
    );
    let of_matrix_ops = matrix_metric(&sums, OF_MATRIX_OPS, &over);
    let of_matrix_ops = Some(of_matrix_ops).filter(|metric| metric.value.is_some());
    let all = [
        metric(
            "mfu_steady_percent",
            "MFU, steady steps",
            BoundBy::Compute,
            flops,
        ),
        metric(
            "hbm_util_steady_percent",
            "HBM bandwidth, steady steps",
            BoundBy::Hbm,
            hbm,
        ),
    ];
    all.into_iter().chain(of_matrix_ops).collect()
}

/// Why only so many of the counted steps are meant, where unusually long ones stand between them.
fn why_these(all: &StepsReport, steps: u32) -> Option<String> {
    let slowest = all.outliers().first()?.number;
    (all.counted().count() > steps as usize).then(|| {
        format!("the longest run of steps between unusually long ones, such as step {slowest}")
    })
}
