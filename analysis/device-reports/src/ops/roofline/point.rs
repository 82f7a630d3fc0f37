//! Points of the roofline.

use facts::prelude::*;
use hardware::limits::{OpWork, is_beyond_peak, ratio};

use crate::ops::op_stats::{CoreWork, OpRow};

/// Work relative to one memory.
#[engine::reported]
#[derive(Copy)]
pub struct MemoryPoint {
    /// Which memory, and in which direction.
    pub memory: BoundBy,
    /// Achieved bandwidth.
    pub bytes_per_second: f64,
    /// Operations per byte.
    pub flops_per_byte: Option<f64>,
    /// Achieved share of its peak.
    pub percent: Option<Percent>,
}

/// One point of the plot.
#[engine::row(derived)]
#[derive(Default)]
pub struct RooflinePoint {
    /// Op, device, or `Program`.
    #[column("Point", recorded)]
    pub name: Arc<str>,
    /// Time that rates are divided by.
    #[column("Time (sum)", measured)]
    pub time_ps: Picos,
    /// Achieved operations per second.
    #[column("FLOP/s")]
    pub flops_per_second: Option<f64>,
    /// Achieved HBM bandwidth.
    #[column("HBM")]
    pub hbm_bytes_per_second: Option<f64>,
    /// Operations per byte of HBM traffic.
    #[column("Intensity", compiler)]
    pub flops_per_hbm_byte: Option<f64>,
    /// Share of the peak.
    #[column("of peak FLOP/s", peak)]
    pub flops_percent: Option<Percent>,
    /// Share of the peak.
    #[column("of peak HBM", peak)]
    pub hbm_percent: Option<Percent>,
    /// Limit with the largest utilization.
    #[column(peak)]
    pub bound_by: Option<BoundBy>,
    /// That utilization.
    #[column("of roofline", peak)]
    pub efficiency_percent: Option<Percent>,
    /// Least time that the known limits allow.
    #[column("Least time", peak)]
    pub ideal_time_ps: Option<f64>,
    /// Program of an op.
    #[column(recorded, non_empty)]
    pub program: Arc<str>,
    /// Group of an op.
    pub group: OpGroup,
    /// Self time of an op, as a share of all self time.
    pub self_of_op_time_percent: Option<Percent>,
    /// Operations and bytes.
    pub work: OpWork,
    /// Bytes to and from all memories.
    pub bytes: Option<f64>,
    /// Achieved bandwidth of all memories together.
    #[column("All memories")]
    pub bytes_per_second: Option<f64>,
    /// Operations per byte to and from all memories.
    #[column("Intensity, all", compiler)]
    pub flops_per_byte: Option<f64>,
    /// Each memory that it uses.
    #[column("of CMEM read", peak, id = "cmem_read_percent", with = |point| point.memory_percent(BoundBy::CmemRead))]
    #[column("of CMEM write", peak, id = "cmem_write_percent", with = |point| point.memory_percent(BoundBy::CmemWrite))]
    #[column("of VMEM read", peak, id = "vmem_read_percent", with = |point| point.memory_percent(BoundBy::VmemRead))]
    #[column("of VMEM write", peak, id = "vmem_write_percent", with = |point| point.memory_percent(BoundBy::VmemWrite))]
    pub memories: Vec<MemoryPoint>,
    /// Operations per byte of the memory that binds; HBM where compute binds.
    pub flops_per_bottleneck_byte: Option<f64>,
    /// The limit that an op would have exceeded: its costs or its times are wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond_peak_of: Option<BoundBy>,
    /// Operations per second at 100 % efficiency.
    pub attainable_flops_per_second: Option<f64>,
}

impl RooflinePoint {
    /// Share of the peak of a memory, if that is possible.
    fn memory_percent(&self, memory: BoundBy) -> Option<Percent> {
        let used = self.memories.iter().find(|used| used.memory == memory)?;
        used.percent.filter(|percent| !is_beyond_peak(percent.0))
    }

    /// The point of a given amount of work done in a given time.
    pub(crate) fn new(name: &str, work: OpWork, time_ps: Picos, peaks: &Peaks) -> Self {
        let seconds = time_ps.as_ps_f64() * 1e-12;
        let percent_of = |limit| work.percent_of(limit, seconds, peaks).map(Percent);
        let bound = work.bound(seconds, peaks);
        let efficiency = bound.map(|(_, percent)| percent);
        let flops_per_second = ratio(work.flops, Some(seconds));
        let bottleneck = match bound {
            Some((BoundBy::Compute, _)) | None => work.hbm_bytes,
            Some((limit, _)) => limit.amount(&work),
        };
        let memories = BoundBy::ALL
            .into_iter()
            .filter(|&limit| limit != BoundBy::Compute)
            .filter_map(|memory| {
                let bytes = memory.amount(&work).filter(|&bytes| bytes > 0.0);
                Some(MemoryPoint {
                    memory,
                    bytes_per_second: ratio(bytes, Some(seconds))?,
                    flops_per_byte: ratio(work.flops, bytes),
                    percent: percent_of(memory),
                })
            });
        Self {
            name: name.into(),
            time_ps,
            work,
            memories: memories.collect(),
            flops_per_second,
            hbm_bytes_per_second: ratio(work.hbm_bytes, Some(seconds)),
            flops_per_hbm_byte: work.hbm_intensity(),
            flops_per_bottleneck_byte: ratio(work.flops, bottleneck),
            flops_percent: percent_of(BoundBy::Compute),
            hbm_percent: percent_of(BoundBy::Hbm),
            bound_by: bound.map(|(limit, _)| limit),
            efficiency_percent: efficiency.map(Percent),
            beyond_peak_of: work.beyond_peak(seconds, peaks).map(|(limit, _)| limit),
            attainable_flops_per_second: ratio(
                flops_per_second,
                efficiency.map(|percent| percent / 100.0),
            ),
            ideal_time_ps: work.ideal_seconds(peaks).map(|seconds| seconds * 1e12),
            ..Self::default()
        }
    }

    /// Adds values that count bytes of all memories.
    pub(super) fn with_bytes(self, bytes: Option<f64>) -> Self {
        Self {
            bytes,
            bytes_per_second: ratio(bytes, Some(self.time_ps.as_ps_f64() * 1e-12)),
            flops_per_byte: ratio(self.work.flops, bytes),
            ..self
        }
    }

    /// All cores of a report together; for `steps` steps their average.
    pub(super) fn of_cores(name: &str, cores: &[CoreWork], off_ps: Picos, steps: u32) -> Self {
        let total = cores
            .iter()
            .fold(OpWork::default(), |sum, core| sum.plus(&core.work));
        let bytes = cores
            .iter()
            .filter_map(|core| core.bytes)
            .reduce(|a, b| a + b);
        let share = 1.0 / f64::from(steps.max(1));
        let time = cores.iter().map(|core| core.time_ps).sum::<Picos>();
        let time_ps = Picos::rounded((time - off_ps).as_ps_f64() * share);
        let peaks = cores
            .first()
            .map(|core| core.peaks.clone())
            .unwrap_or_default();
        Self::new(name, total.times(share), time_ps, &peaks)
            .with_bytes(bytes.map(|bytes| bytes * share))
    }

    /// The point of an op. No limit of the device itself binds a collective.
    pub(super) fn of_op(row: &OpRow, peaks: &Peaks) -> Self {
        let point = Self::new(&row.name, row.work(), row.total_time_ps, peaks)
            .with_bytes(row.costs.bytes.map(|bytes| bytes as f64));
        let point = Self {
            program: Arc::clone(&row.program),
            group: row.group,
            self_of_op_time_percent: row.self_of_op_time_percent,
            ..point
        };
        if row.collective.is_none() {
            return point;
        }
        Self {
            bound_by: Some(BoundBy::LinksOrWaiting),
            efficiency_percent: None,
            attainable_flops_per_second: None,
            flops_per_bottleneck_byte: ratio(point.work.flops, point.work.hbm_bytes),
            ..point
        }
    }
}
