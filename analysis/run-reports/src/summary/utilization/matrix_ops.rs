//! Which ops the figures of matrix ops are about: the group of matrix multiplications, or kernels, too.

use device_reports::ops::op_stats::{BeyondPeak, MatrixWork};
use device_reports::{CoreOps, OpsReport};
use facts::prelude::*;
use hardware::limits::possible;

use super::sums::{UtilizationShare, WorkSums, utilization};

/// Which ops run on matrix units.
#[derive(Clone, Copy, Debug)]
pub(super) enum MatrixOps {
    /// Matrix multiplications and convolutions.
    Matmuls,
    /// Custom calls that declare operations.
    Kernels,
    Both,
}

impl MatrixOps {
    /// Those that take time.
    pub fn of(cores: &[&CoreOps], time: fn(&MatrixWork) -> Picos) -> Self {
        let any = |work: fn(&CoreOps) -> &MatrixWork| {
            cores.iter().any(|core| time(work(core)) > Picos::ZERO)
        };
        match (any(|core| &core.matmuls), any(|core| &core.matrix_kernels)) {
            (_, false) => Self::Matmuls,
            (false, true) => Self::Kernels,
            (true, true) => Self::Both,
        }
    }

    /// Those that the rate of matrix ops is about.
    pub fn rated(sums: &WorkSums<'_>) -> Self {
        Self::of(sums.cores, |work| work.rated_ps)
    }

    /// The title of their rate.
    pub fn speed_title(self) -> &'static str {
        match self {
            Self::Matmuls => "FLOPs utilization of matrix ops",
            Self::Kernels => "FLOPs utilization of kernels",
            Self::Both => "FLOPs utilization of matrix ops and kernels",
        }
    }

    /// The time that their rate refers to.
    pub fn time_in_words(self) -> &'static str {
        match self {
            Self::Matmuls => "time of matrix ops",
            Self::Kernels => "time of kernels that declare FLOPs",
            Self::Both => "time of matrix ops and kernels that declare FLOPs",
        }
    }

    /// The title of their share of the time.
    pub fn share_title(self) -> &'static str {
        match self {
            Self::Matmuls => "Time in matrix ops",
            Self::Kernels => "Time in kernels that declare FLOPs",
            Self::Both => "Time in matrix ops and kernels that declare FLOPs",
        }
    }
}

/// The rate of matrix ops, over their time, which `over` describes.
pub(super) fn matrix_metric(
    sums: &WorkSums<'_>,
    [id, title]: [&'static str; 2],
    over: &str,
) -> Metric {
    let flops = sums.amount(|core| core.work.flops);
    let mxu_flops = sums.amount(|core| core.mxu_flops);
    let left_out = BeyondPeak::time_of(sums.cores, BoundBy::Compute) > Picos::ZERO;
    let note = match (mxu_flops, flops) {
        (None, _) if left_out => {
            Some("all matrix ops are above their peak, which is impossible".to_owned())
        }
        (None, _) => Some("no matrix op with known FLOPs ran".to_owned()),
        (_, _) if left_out => Some("without ops above their peak, which is impossible".to_owned()),
        (_, None) => Some("from model FLOPs".to_owned()),
        _ => None,
    };
    utilization(
        sums,
        UtilizationShare {
            id,
            title,
            limit: BoundBy::Compute,
            amount: mxu_flops,
            over,
            time: |core| core.mxu_rated_ps,
            of_all_ops: false,
            note,
        },
    )
}

/// The rate of matrix multiplications without kernels, of the peak, and the part of their time in those whose operations
/// are known; `None` without any, or without a peak.
pub(crate) fn speed_of_matmuls(ops: &OpsReport) -> Option<(Percent, Percent)> {
    let sum = |time: fn(&MatrixWork) -> Picos| -> Picos {
        ops.cores.iter().map(|core| time(&core.matmuls)).sum()
    };
    let known = Percent::of(sum(|work| work.rated_ps), sum(|work| work.time_ps))?;
    let flops: f64 = ops.cores.iter().map(|core| core.matmuls.flops).sum();
    let capacity = ops
        .cores
        .iter()
        .filter(|core| core.matmuls.rated_ps > Picos::ZERO)
        .map(|core| Some(core.matmuls.rated_ps.as_secs_f64() * core.peaks.flops?.per_second))
        .sum::<Option<f64>>()?;
    let speed = possible(Percent::ratio(flops, capacity)?.0)?;
    Some((Percent(speed), known))
}

#[cfg(test)]
mod tests {
    use engine::{Analysis as _, Context, Options, ReportCache, Scope};

    use super::super::Utilization;
    use crate::summary::verdict::RunVerdict;

    /// A product at half of the peak for 6 µs, a kernel at a tenth of it for 2 µs, 2 µs of elementwise work.
    const KERNEL_BESIDE_PRODUCTS: &str = "@column 1us\n@device flops=1e12 hbm=1e12 TPU v5 lite\n\
        ops: mmmmmmkkvv\n\
        m = fusion.1 [convolution fusion] flops=3e6\n\
        k = kernel.1 [custom-call] flops=2e5\n\
        v = add.1 [loop fusion] flops=1000";

    #[test]
    fn verdict_says_the_speed_of_the_ops_whose_share_it_says() {
        let model = sample_traces::text_trace(KERNEL_BESIDE_PRODUCTS);
        let cx = Context {
            model: &model,
            scope: Scope::WholeTrace,
            options: &Options::default(),
            reports: &ReportCache::default(),
        };
        let report = Utilization::run(&cx).unwrap();
        let speed = report.metric("mxu_util_on_mxu_ops_percent").unwrap();
        let share = report.metric("mxu_busy_fraction_percent").unwrap();
        let with_kernels = "time of matrix ops and kernels that declare FLOPs (";
        assert!(speed.of.starts_with(with_kernels), "{speed:?}");
        let title = "Time in matrix ops and kernels that declare FLOPs";
        assert_eq!(share.title, title);
        assert!((share.value.unwrap() - 80.0).abs() < 1e-9, "{share:?}");
        let verdict = RunVerdict::run(&cx).unwrap();
        let said = "60.0 % of device time multiplies matrices, at 50.0 % of peak FLOP/s";
        assert!(verdict.statement.starts_with(said), "{}", verdict.statement);
    }
}
