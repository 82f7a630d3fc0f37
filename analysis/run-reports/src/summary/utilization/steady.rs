//! Utilization over the steady steps: the behaviour of the warm program, without compiling, partial steps, and other
//! parts of the capture.

use device_reports::ops::op_stats::{CoreOps, OpsReport, SteadyOps};
use engine::Metric;
use hardware::limits::BoundBy;

use super::sums::{UtilizationShare, WorkSums, utilization, window};

/// Only for the whole trace, because the user selects any other scope. No metrics if no steps were found, or if the
/// devices recorded no ops in them.
pub(super) fn metrics(ops: &OpsReport) -> Vec<Metric> {
    let Some(SteadyOps {
        first, last, cores, ..
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
    let sums = WorkSums {
        hbm_is_estimated: ops.hbm_is_estimated,
        cores: &cores,
        window: over,
        is_whole: false,
    };
    let metric = |id, title, limit, amount: Option<f64>| {
        let note = sums.notes_on(limit, amount.is_some());
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
                note,
            },
        )
    };
    let (flops, hbm) = (
        sums.amount(|core| core.model_flops_as_bf16),
        sums.amount(|core| core.work.hbm_bytes),
    );
    vec![
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
    ]
}
