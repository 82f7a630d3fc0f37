//! Selects the peaks for utilizations.
//!
//! In this order, for each number by itself: what the capture records about the device; the value of the chip that the
//! user names or describes; the published value of the chip that the capture names. Otherwise there is no peak, and
//! every utilization is missing rather than guessed. Whatever does not come from the capture is shown as assumed.

use serde::Serialize;
use trace_model::DeviceInfo;

use crate::chips::Chip;

/// Stands for percentages of peaks that nothing tells.
const UNKNOWN_PEAKS: &str = "not known, because the peaks of the chip are not known";

/// Where a peak comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PeakSource {
    /// Recorded in the capture.
    Recorded,
    /// Peak of the device that the simulator was configured for.
    Configured,
    /// Published, for the chip that the user named.
    Assumed,
    /// Published, for the chip that the capture names.
    Published,
}

/// A peak rate and its source.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Peak {
    /// FLOP/s or bytes/s of one device.
    pub per_second: f64,
    /// Where it comes from.
    pub source: PeakSource,
}

/// From one operation or byte a millisecond to a thousand times what a pod has: no device has another peak.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 1e3..=1e21;

impl Peak {
    /// A peak that a device can have; nothing is a share of another one.
    fn of(per_second: f64, source: PeakSource) -> Option<Self> {
        PLAUSIBLE
            .contains(&per_second)
            .then_some(Self { per_second, source })
    }

    /// This limit, `factor` times as high.
    pub fn times(self, factor: f64) -> Self {
        Self {
            per_second: self.per_second * factor,
            ..self
        }
    }
}

/// Peaks of one device of a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Peaks {
    /// Device type as recorded, or the name of the assumed chip.
    pub device_type: Option<String>,
    /// Chip of the published table, where recognised.
    pub chip: Option<String>,
    /// FLOP/s at the bf16 rate.
    pub flops: Option<Peak>,
    /// HBM, bytes/s, both directions together.
    #[serde(rename = "hbm_bytes")]
    pub hbm: Option<Peak>,
    /// CMEM reads, bytes/s.
    #[serde(rename = "cmem_read_bytes")]
    pub cmem_read: Option<Peak>,
    /// CMEM writes, bytes/s.
    #[serde(rename = "cmem_write_bytes")]
    pub cmem_write: Option<Peak>,
    /// VMEM reads, bytes/s.
    #[serde(rename = "vmem_read_bytes")]
    pub vmem_read: Option<Peak>,
    /// VMEM writes, bytes/s.
    #[serde(rename = "vmem_write_bytes")]
    pub vmem_write: Option<Peak>,
    /// Published rate of int8 products over that of bf16.
    pub int8_speedup: Option<f64>,
    /// Published rate of fp8 products over that of bf16.
    pub fp8_speedup: Option<f64>,
    /// Published rate of int4 products over that of bf16.
    pub int4_speedup: Option<f64>,
}

impl Peaks {
    /// The choice, from what the capture records and the chip that the user names.
    pub fn choose(device: Option<&DeviceInfo>, named: Option<&Chip>) -> Self {
        let unknown = DeviceInfo::default();
        let device = device.unwrap_or(&unknown);
        let named = named.map(|chip| (chip, PeakSource::Assumed));
        let typed = device
            .type_name
            .as_deref()
            .and_then(Chip::named)
            .map(|chip| (chip, PeakSource::Published));
        let published = named.or(typed);
        let speedup = |rate: fn(&Chip) -> Option<f64>| {
            published.and_then(|(chip, _)| Some(rate(chip)? / chip.bf16_flops))
        };
        // Zero in a capture means that the chip has no such memory.
        let choose = |recorded: Option<f64>, per_chip: fn(&Chip) -> Option<f64>| match recorded {
            Some(value) => Peak::of(value, PeakSource::Recorded),
            None => published
                .and_then(|(chip, source)| Peak::of(chip.per_device(per_chip(chip)?), source)),
        };
        Self {
            device_type: device
                .type_name
                .clone()
                .or_else(|| named.map(|(chip, _)| format!("TPU {}", chip.id))),
            chip: typed.or(named).map(|(chip, _)| chip.id.clone()),
            // Every chip has these two: zero there means "not recorded".
            flops: choose(device.peak_flops.filter(|&peak| peak > 0.0), |chip| {
                Some(chip.bf16_flops)
            }),
            hbm: choose(device.peak_hbm_bytes.filter(|&peak| peak > 0.0), |chip| {
                Some(chip.hbm_bandwidth)
            }),
            cmem_read: choose(device.peak_cmem_read_bytes, |_| None),
            cmem_write: choose(device.peak_cmem_write_bytes, |_| None),
            vmem_read: choose(device.peak_vmem_read_bytes, |chip| chip.vmem_read_bandwidth),
            vmem_write: choose(device.peak_vmem_write_bytes, |chip| {
                chip.vmem_write_bandwidth
            }),
            int8_speedup: speedup(|chip| chip.int8_ops),
            fp8_speedup: speedup(|chip| chip.fp8_flops),
            int4_speedup: speedup(|chip| chip.int4_ops),
        }
    }

    /// The peaks that are equal for two devices.
    pub fn common(&self, other: &Self) -> Self {
        fn same<T: Clone + PartialEq>(a: Option<&T>, b: Option<&T>) -> Option<T> {
            a.filter(|_| a == b).cloned()
        }
        Self {
            device_type: same(self.device_type.as_ref(), other.device_type.as_ref()),
            chip: same(self.chip.as_ref(), other.chip.as_ref()),
            flops: same(self.flops.as_ref(), other.flops.as_ref()),
            hbm: same(self.hbm.as_ref(), other.hbm.as_ref()),
            cmem_read: same(self.cmem_read.as_ref(), other.cmem_read.as_ref()),
            cmem_write: same(self.cmem_write.as_ref(), other.cmem_write.as_ref()),
            vmem_read: same(self.vmem_read.as_ref(), other.vmem_read.as_ref()),
            vmem_write: same(self.vmem_write.as_ref(), other.vmem_write.as_ref()),
            int8_speedup: same(self.int8_speedup.as_ref(), other.int8_speedup.as_ref()),
            fp8_speedup: same(self.fp8_speedup.as_ref(), other.fp8_speedup.as_ref()),
            int4_speedup: same(self.int4_speedup.as_ref(), other.int4_speedup.as_ref()),
        }
    }

    /// Declares the recorded peaks configured: for simulated times, they are those of the simulated device.
    pub fn mark_configured(&mut self) {
        let all = [
            &mut self.flops,
            &mut self.hbm,
            &mut self.cmem_read,
            &mut self.cmem_write,
            &mut self.vmem_read,
            &mut self.vmem_write,
        ];
        for peak in all
            .into_iter()
            .flatten()
            .filter(|peak| peak.source == PeakSource::Recorded)
        {
            peak.source = PeakSource::Configured;
        }
    }

    /// The published facts of the chip that the capture names.
    pub fn published(&self) -> Option<&'static Chip> {
        Chip::named(self.chip.as_deref()?)
    }

    /// `202.7 TFLOP/s (recorded)`, for the denominator of a metric.
    pub fn flops_text(&self) -> String {
        self.text(self.flops, 1e12, "TFLOP/s")
    }

    /// `819.2 GB/s HBM (recorded)`.
    pub fn hbm_text(&self) -> String {
        self.text(self.hbm, 1e9, "GB/s HBM")
    }

    /// What percentages of FLOP/s are of.
    pub fn flops_share_text(&self) -> String {
        if self.flops.is_none() {
            return UNKNOWN_PEAKS.to_owned();
        }
        format!("of the peak {}", self.flops_text())
    }

    /// What percentages of FLOP/s and of HBM are of.
    pub fn shares_text(&self) -> String {
        if self.flops.is_none() && self.hbm.is_none() {
            return UNKNOWN_PEAKS.to_owned();
        }
        format!("of the peaks {}; {}", self.flops_text(), self.hbm_text())
    }

    /// `rate unit (where from)`.
    fn text(&self, peak: Option<Peak>, scale: f64, unit: &str) -> String {
        let Some(peak) = peak else {
            return format!("unknown peak {unit}");
        };
        let chip = self.chip.as_deref().unwrap_or("chip");
        let from = match peak.source {
            PeakSource::Recorded => "recorded in the capture".to_owned(),
            PeakSource::Configured => "of the simulated device".to_owned(),
            PeakSource::Assumed => format!("{chip} as named by you, assumed"),
            PeakSource::Published => format!("published {chip} peak, assumed"),
        };
        format!("{:.1} {unit} ({from})", peak.per_second / scale)
    }
}

/// The note for missing peaks.
pub const NO_PEAK: &str =
    "the capture records no peak for this device: name the chip with --device-spec";

/// Why rows of several devices have no share of a peak.
pub const DIFFERENT_PEAKS: &str = "the devices differ in their peaks, and an op on several of them has no limit of \
     its own: analyze the hosts of one kind of chip alone; shares of each device are in the report utilization";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_device_has_is_no_peak() {
        for peak in [1e-300, 1.0, 1e300, -1e12, f64::INFINITY, f64::NAN] {
            let device = DeviceInfo {
                peak_flops: Some(peak),
                peak_hbm_bytes: Some(peak),
                ..DeviceInfo::default()
            };
            let peaks = Peaks::choose(Some(&device), None);
            assert_eq!((peaks.flops, peaks.hbm), (None, None), "{peak}");
            assert_eq!(peaks.shares_text(), UNKNOWN_PEAKS);
        }
    }

    fn v5e() -> DeviceInfo {
        DeviceInfo {
            type_name: Some("TPU v5 Lite".to_owned()),
            peak_flops: Some(202.7e12),
            peak_hbm_bytes: Some(819.1576e9),
            peak_cmem_read_bytes: Some(0.0),
            ..DeviceInfo::default()
        }
    }

    #[test]
    fn recorded_peak_precedes_user_and_published_peaks() {
        let peaks = Peaks::choose(Some(&v5e()), Chip::named("v6e"));
        assert_eq!(
            peaks.flops,
            Some(Peak {
                per_second: 202.7e12,
                source: PeakSource::Recorded
            })
        );
        assert_eq!(
            (peaks.chip.as_deref(), peaks.cmem_read),
            (Some("v5e"), None)
        );
        assert_eq!(
            peaks.flops_text(),
            "202.7 TFLOP/s (recorded in the capture)"
        );
    }

    #[test]
    fn named_chip_is_assumed_without_recorded_peaks() {
        let peaks = Peaks::choose(None, Chip::named("v5e"));
        assert_eq!(
            peaks.flops,
            Some(Peak {
                per_second: 197e12,
                source: PeakSource::Assumed
            })
        );
        assert_eq!(
            peaks.flops_text(),
            "197.0 TFLOP/s (v5e as named by you, assumed)"
        );
        // A device of v7x is one of the two cores of a chip.
        let half = Peaks::choose(None, Chip::named("v7x"))
            .hbm
            .unwrap()
            .per_second;
        assert!((half - 3690e9).abs() < 1.0);
    }

    #[test]
    fn device_type_without_peaks_uses_published_ones() {
        let device = DeviceInfo {
            type_name: Some("TPU v6 Lite".to_owned()),
            ..DeviceInfo::default()
        };
        let peaks = Peaks::choose(Some(&device), None);
        assert_eq!(
            peaks.flops_text(),
            "918.0 TFLOP/s (published v6e peak, assumed)"
        );
        let flops = peaks.flops;
        assert_eq!(
            flops,
            Some(Peak {
                per_second: 918e12,
                source: PeakSource::Published
            })
        );
    }

    #[test]
    fn peaks_stay_unknown_without_a_source() {
        assert_eq!(Peaks::choose(None, None), Peaks::default());
        assert_eq!(Peaks::default().flops_text(), "unknown peak TFLOP/s");
        assert_eq!(Peaks::default().shares_text(), UNKNOWN_PEAKS);
    }
}
