//! Utilization of the limits of a device, and which limit binds.
//!
//! One op, a program or a whole capture: the same arithmetic. Utilization of a limit = amount of work / time / peak;
//! the limit with the largest utilization binds. The least time is that of the slowest limit: `max(flops / peak flops,
//! bytes / peak bandwidth …)`, and efficiency = least time / time, which is the largest utilization again.
//!
//! Amounts are estimates of the compiler or of the author of a kernel, times are measured, and a peak can be that of
//! another chip: so a rate can come out above its peak. That is impossible, so nothing is concluded from it
//! (`is_beyond_peak`).

use serde::Serialize;

use crate::peaks::{Peak, Peaks};

/// Amounts of work; `None` if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct OpWork {
    /// Operations at the bf16 rate.
    pub flops: Option<f64>,
    /// Bytes to and from HBM.
    pub hbm_bytes: Option<f64>,
    /// Bytes read from CMEM.
    pub cmem_read_bytes: Option<f64>,
    /// Bytes written to CMEM.
    pub cmem_write_bytes: Option<f64>,
    /// Bytes read from VMEM.
    pub vmem_read_bytes: Option<f64>,
    /// Bytes written to VMEM.
    pub vmem_write_bytes: Option<f64>,
}

/// A limit of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BoundBy {
    /// Operations per second.
    Compute,
    /// HBM bandwidth.
    Hbm,
    /// CMEM read bandwidth.
    CmemRead,
    /// CMEM write bandwidth.
    CmemWrite,
    /// VMEM read bandwidth.
    VmemRead,
    /// VMEM write bandwidth.
    VmemWrite,
    /// The links of a collective, or waiting for its other participants; `device_reports::communication::collectives`
    /// tells which.
    LinksOrWaiting,
}

/// Tolerance above the peak for rounded times, in percent.
const ROUNDING_PERCENT: f64 = 0.5;

/// Whether a rate, in percent of its peak, is impossible.
pub fn is_beyond_peak(percent: f64) -> bool {
    percent > 100.0 + ROUNDING_PERCENT
}

/// A rate in percent of its peak, if that is possible.
pub fn possible(percent: f64) -> Option<f64> {
    Some(without_rounding(percent)).filter(|&percent| !is_beyond_peak(percent))
}

/// A rate in percent of its peak; values within the rounding tolerance above the peak become the peak.
pub(crate) fn without_rounding(percent: f64) -> f64 {
    if is_beyond_peak(percent) {
        percent
    } else {
        percent.min(100.0)
    }
}

impl BoundBy {
    /// Every limit of the device itself. Ties go to the earlier one.
    pub const ALL: [Self; 6] = [
        Self::Compute,
        Self::Hbm,
        Self::CmemRead,
        Self::CmemWrite,
        Self::VmemRead,
        Self::VmemWrite,
    ];

    /// Display name, as in `XProf`.
    pub fn title(self) -> &'static str {
        match self {
            Self::Compute => "Compute",
            Self::Hbm => "HBM",
            Self::CmemRead => "CMEM Read",
            Self::CmemWrite => "CMEM Write",
            Self::VmemRead => "VMEM Read",
            Self::VmemWrite => "VMEM Write",
            Self::LinksOrWaiting => "links or waiting",
        }
    }

    /// The work that counts against this limit.
    pub fn amount(self, work: &OpWork) -> Option<f64> {
        match self {
            Self::Compute => work.flops,
            Self::Hbm => work.hbm_bytes,
            Self::CmemRead => work.cmem_read_bytes,
            Self::CmemWrite => work.cmem_write_bytes,
            Self::VmemRead => work.vmem_read_bytes,
            Self::VmemWrite => work.vmem_write_bytes,
            Self::LinksOrWaiting => None,
        }
    }

    /// The limit itself.
    pub fn peak(self, peaks: &Peaks) -> Option<Peak> {
        match self {
            Self::Compute => peaks.flops,
            Self::Hbm => peaks.hbm,
            Self::CmemRead => peaks.cmem_read,
            Self::CmemWrite => peaks.cmem_write,
            Self::VmemRead => peaks.vmem_read,
            Self::VmemWrite => peaks.vmem_write,
            Self::LinksOrWaiting => None,
        }
    }
}

impl OpWork {
    /// Whether there is work against a limit although `seconds` is zero.
    pub fn takes_no_time(&self, limit: BoundBy, seconds: f64, peaks: &Peaks) -> bool {
        seconds <= 0.0 && limit.amount(self) > Some(0.0) && limit.peak(peaks).is_some()
    }

    /// Percent of one limit that is used over `seconds`; `None` if work, time or limit is unknown.
    pub fn percent_of(&self, limit: BoundBy, seconds: f64, peaks: &Peaks) -> Option<f64> {
        let amount = limit.amount(self)?;
        let peak = limit.peak(peaks)?.per_second;
        // Beyond all numbers is beyond the peak as well.
        (seconds > 0.0 && peak > 0.0)
            .then(|| without_rounding((100.0 * amount / seconds / peak).min(f64::MAX)))
    }

    /// The limit that binds and its utilization in percent. `None` if nothing is done, where a rate is impossible, and
    /// where a limit that could bind is unknown: with HBM bytes unknown, "bound by compute" would be a guess.
    pub fn bound(&self, seconds: f64, peaks: &Peaks) -> Option<(BoundBy, f64)> {
        self.hbm_bytes?;
        self.highest(seconds, peaks)
            .filter(|&(_, percent)| !is_beyond_peak(percent))
    }

    /// The limit that is exceeded the most, and its utilization in percent; `None` if every rate is possible.
    pub fn beyond_peak(&self, seconds: f64, peaks: &Peaks) -> Option<(BoundBy, f64)> {
        self.highest(seconds, peaks)
            .filter(|&(_, percent)| is_beyond_peak(percent))
    }

    /// The limit with the largest utilization above 0.
    fn highest(&self, seconds: f64, peaks: &Peaks) -> Option<(BoundBy, f64)> {
        BoundBy::ALL
            .into_iter()
            .filter_map(|limit| Some((limit, self.percent_of(limit, seconds, peaks)?)))
            .fold(
                None,
                |best: Option<(BoundBy, f64)>, (limit, percent)| match best {
                    Some((_, highest)) if percent <= highest => best,
                    _ if percent > 0.0 => Some((limit, percent)),
                    _ => best,
                },
            )
    }

    /// Least seconds that the known limits allow; `None` if none is known.
    pub fn ideal_seconds(&self, peaks: &Peaks) -> Option<f64> {
        let times = BoundBy::ALL.into_iter().filter_map(|limit| {
            let (amount, peak) = (limit.amount(self)?, limit.peak(peaks)?.per_second);
            (peak > 0.0)
                .then(|| amount / peak)
                .filter(|seconds| (seconds * 1e12).is_finite())
        });
        times.reduce(f64::max)
    }

    /// So much of each.
    pub fn times(&self, factor: f64) -> Self {
        self.with(self, |amount, _| Some(amount? * factor))
    }

    /// The combination of both; unknown values are taken from the other.
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, |a, b| a.zip(b).map(|(a, b)| a + b).or(a).or(b))
    }

    /// Each amount with that of the other, as `combine` makes one of them.
    fn with(
        &self,
        other: &Self,
        combine: impl Fn(Option<f64>, Option<f64>) -> Option<f64>,
    ) -> Self {
        Self {
            flops: combine(self.flops, other.flops),
            hbm_bytes: combine(self.hbm_bytes, other.hbm_bytes),
            cmem_read_bytes: combine(self.cmem_read_bytes, other.cmem_read_bytes),
            cmem_write_bytes: combine(self.cmem_write_bytes, other.cmem_write_bytes),
            vmem_read_bytes: combine(self.vmem_read_bytes, other.vmem_read_bytes),
            vmem_write_bytes: combine(self.vmem_write_bytes, other.vmem_write_bytes),
        }
    }

    /// Operations per byte of HBM traffic; `None` without either.
    pub fn hbm_intensity(&self) -> Option<f64> {
        ratio(self.flops, self.hbm_bytes)
    }
}

/// `a / b`; `None` if either is unknown or `b` is zero.
pub fn ratio(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    let (a, b) = (a?, b?);
    (b > 0.0).then(|| a / b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peaks::PeakSource;

    fn peaks(flops: f64, hbm: f64) -> Peaks {
        let peak = |per_second| {
            Some(Peak {
                per_second,
                source: PeakSource::Recorded,
            })
        };
        Peaks {
            flops: peak(flops),
            hbm: peak(hbm),
            ..Peaks::default()
        }
    }

    fn near(value: f64, expected: f64, tolerance: f64) {
        assert!(
            (value - expected).abs() <= tolerance,
            "{value} is not {expected}"
        );
    }

    /// `bf16 m × k × n`: operations, and bytes if everything crosses HBM once.
    fn matmul(m: f64, k: f64, n: f64) -> OpWork {
        OpWork {
            flops: Some(2.0 * m * k * n),
            hbm_bytes: Some(2.0 * (m * k + k * n + m * n)),
            ..OpWork::default()
        }
    }

    #[test]
    fn limits_of_a_captured_v5e_matmul() {
        let mut peaks = peaks(202.7e12, 819.1576e9);
        peaks.vmem_read = Some(Peak {
            per_second: 18_432e9,
            source: PeakSource::Recorded,
        });
        let work = OpWork {
            flops: Some(268_435_456.0),
            hbm_bytes: Some(2.0 * 524_288.0),
            vmem_read_bytes: Some(524_288.0),
            ..OpWork::default()
        };
        let seconds = 3_430_000e-12;
        near(268_435_456.0 / seconds / 1e12, 78.26, 0.005);
        near(
            work.percent_of(BoundBy::Compute, seconds, &peaks).unwrap(),
            38.61,
            0.005,
        );
        near(
            work.percent_of(BoundBy::Hbm, seconds, &peaks).unwrap(),
            37.32,
            0.005,
        );
        near(
            work.percent_of(BoundBy::VmemRead, seconds, &peaks).unwrap(),
            0.83,
            0.005,
        );
        assert_eq!(work.bound(seconds, &peaks).unwrap().0, BoundBy::Compute);
        near(work.hbm_intensity().unwrap(), 256.0, 1e-9);
        near(268_435_456.0 / 1_572_864.0, 170.67, 0.005);
    }

    #[test]
    fn a_small_batch_is_bound_by_memory_and_a_large_one_by_compute() {
        let peaks = peaks(1.97e14, 8.19e11);
        let small = matmul(64.0, 8192.0, 8192.0);
        assert_eq!(
            (small.flops, small.hbm_bytes),
            (Some(8_589_934_592.0), Some(136_314_880.0))
        );
        near(small.hbm_intensity().unwrap(), 63.0, 0.05);
        near(small.flops.unwrap() / 1.97e14 * 1e6, 43.60, 0.005);
        near(small.ideal_seconds(&peaks).unwrap() * 1e6, 166.44, 0.005);
        assert_eq!(small.bound(1.0, &peaks).unwrap().0, BoundBy::Hbm);
        let large = matmul(4096.0, 8192.0, 8192.0);
        near(large.hbm_intensity().unwrap(), 2048.0, 1e-9);
        assert_eq!(large.bound(1.0, &peaks).unwrap().0, BoundBy::Compute);
    }

    #[test]
    fn ties_choose_the_earlier_limit_and_no_work_has_no_limit() {
        let peaks = peaks(10.0, 10.0);
        let work = |flops, bytes| OpWork {
            flops: Some(flops),
            hbm_bytes: Some(bytes),
            ..OpWork::default()
        };
        assert_eq!(
            work(5.0, 5.0).bound(1.0, &peaks),
            Some((BoundBy::Compute, 50.0))
        );
        assert_eq!(
            work(0.0, 5.0).bound(1.0, &peaks),
            Some((BoundBy::Hbm, 50.0))
        );
        assert_eq!(work(0.0, 0.0).bound(1.0, &peaks), None);
        assert_eq!(work(5.0, 5.0).bound(0.0, &peaks), None);
        // Only the compiler's operations are known: memory could bind just as well.
        assert_eq!(
            OpWork {
                flops: Some(5.0),
                ..OpWork::default()
            }
            .bound(1.0, &peaks),
            None
        );
    }

    #[test]
    fn rates_above_peak_have_no_limit_except_for_rounding() {
        let peaks = peaks(10.0, 10.0);
        let work = |flops, bytes| OpWork {
            flops: Some(flops),
            hbm_bytes: Some(bytes),
            ..OpWork::default()
        };
        assert_eq!(
            work(10.001, 5.0).bound(1.0, &peaks),
            Some((BoundBy::Compute, 100.0))
        );
        assert_eq!(work(10.001, 5.0).beyond_peak(1.0, &peaks), None);
        assert_eq!(work(5.0, 20.0).bound(1.0, &peaks), None);
        assert_eq!(
            work(5.0, 20.0).beyond_peak(1.0, &peaks),
            Some((BoundBy::Hbm, 200.0))
        );
    }

    #[test]
    fn efficiency_is_minimum_time_over_time() {
        let (peaks, work) = (peaks(1.97e14, 8.19e11), matmul(64.0, 8192.0, 8192.0));
        let seconds = 2e-4;
        let efficiency = 100.0 * work.ideal_seconds(&peaks).unwrap() / seconds;
        near(work.bound(seconds, &peaks).unwrap().1, efficiency, 1e-9);
    }
}
