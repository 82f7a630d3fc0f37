//! What the matrix units did while a kernel ran, beside the operations that its shapes need.
//!
//! Hardware FLOP utilization (HFU) counts what was multiplied, needed or not: padding, recomputation, and blocks that a
//! mask leaves out but the kernel does not skip. Counters that were read for the kernel tell it; without them it follows
//! from the shapes, padded to the tiles of the matrix unit, where these tell the sizes of all products.

use facts::prelude::*;
use hardware::limits::possible;

use super::shapes::{CostLimit, ShapeCost};
use crate::ops::hardware_counters::CounterMetric;

/// Shares that differ by less are the same.
const SAME: f64 = 0.05;

/// Where the work of the matrix units is known from.
#[engine::titled]
pub enum HardwareFrom {
    /// Counters that were read for the kernel.
    Counters,
    /// Shapes, padded to the tiles of the matrix unit.
    PaddedShapes,
    /// Padded shapes without a mask, of which the kernel may skip a part.
    AtMostPaddedShapes = "padded shapes, at most",
}

/// The share of their time that the matrix units multiplied, by counters of devices: by instructions, where these were
/// counted, else by busy cycles.
pub(super) fn counted(counters: &[(&str, &CounterMetric)]) -> Option<Percent> {
    let share = |wanted: &[&str]| {
        let mut cores: BTreeMap<(&str, Option<u8>), (f64, f64)> = BTreeMap::new();
        let metrics = counters
            .iter()
            .filter(|(_, metric)| wanted.contains(&metric.id));
        for (device, metric) in metrics {
            let core = cores.entry((device, metric.core)).or_default();
            core.0 += metric.achieved;
            core.1 = core.1.max(metric.peak?);
        }
        let [mut achieved, mut peak] = [0.0; 2];
        for (of_core, most) in cores.values() {
            achieved += of_core;
            peak += most;
        }
        Percent::ratio(achieved, peak)
    };
    let by_type = share(&["mxu_bf16", "mxu_fp8", "mxu_int8", "mxu_int4"]);
    let share = by_type.or_else(|| share(&["mxu_busy"]))?;
    possible(share.0).map(Percent)
}

/// What the matrix units did in the time of a kernel.
#[derive(Default)]
pub(super) struct HardwareWork {
    pub percent: Option<Percent>,
    pub from: Option<HardwareFrom>,
    /// The share, and why it is another one than that of the model's operations.
    pub said: Option<String>,
}

/// What is known of the work of one kernel; rates are in percent of the peak, and may be impossible.
pub(super) struct KnownWork<'a> {
    pub cost: &'a ShapeCost,
    /// Width of the matrix unit.
    pub tile: Option<u64>,
    /// By shapes, without a mask.
    pub rate: f64,
    /// By shapes with padding, without a mask.
    pub padded_rate: Option<f64>,
}

impl KnownWork<'_> {
    /// By `counters`, else by padded shapes.
    pub fn hardware(&self, counters: Option<Percent>) -> HardwareWork {
        if let Some(percent) = counters {
            let why = self.why(percent.0);
            return HardwareWork {
                percent: Some(percent),
                from: Some(HardwareFrom::Counters),
                said: Some(format!("HFU is {percent:.1} by counters{why}")),
            };
        }
        let Some((padded, tile)) = self.padded_rate.zip(self.tile) else {
            return HardwareWork::default();
        };
        let is_masked = self.cost.kind.is_masked();
        let times = padded / self.rate;
        let Some(percent) = possible(padded).map(Percent) else {
            let why = if is_masked {
                "skips a part or"
            } else {
                "must be one that"
            };
            let said = possible(self.rate).map(|_| {
                format!(
                    "padded to tiles of {tile} it would be more than the device can do in that time, so the kernel {why} pads \
                     less, and its HFU is not known"
                )
            });
            return HardwareWork {
                said,
                ..HardwareWork::default()
            };
        };
        let limit = if is_masked { "at most " } else { "" };
        let is_padded = times > 1.0 + SAME;
        let why = if is_padded {
            format!(": padding makes {times:.2} times the operations")
        } else {
            String::new()
        };
        let skipped = if is_masked {
            ", less what the kernel skips of its mask, which shapes do not tell"
        } else {
            ""
        };
        HardwareWork {
            percent: Some(percent),
            from: Some(if is_masked {
                HardwareFrom::AtMostPaddedShapes
            } else {
                HardwareFrom::PaddedShapes
            }),
            said: (is_masked || is_padded).then(|| {
                format!(
                    "HFU is {limit}{percent:.1} by shapes padded to tiles of {tile}{why}{skipped}"
                )
            }),
        }
    }

    /// Why the matrix units did another share than the model's operations.
    fn why(&self, counted: f64) -> String {
        let is_same = |rate: f64| (counted / rate - 1.0).abs() <= SAME;
        let of = |rate: f64| format!("{:.2}", counted / rate);
        if self.cost.limit == CostLimit::AtMost {
            return if counted < self.rate * (1.0 - SAME) {
                format!(
                    ", {} of the limit by shapes: sequences or groups are smaller than the shapes allow",
                    of(self.rate)
                )
            } else {
                String::new()
            };
        }
        let whole = self.padded_rate.unwrap_or(self.rate);
        let is_padded = whole > self.rate * (1.0 + SAME);
        let padding = match self.tile.filter(|_| is_padded) {
            Some(tile) => format!("padding to tiles of {tile}"),
            None => String::new(),
        };
        let and_padding = if is_padded {
            format!(" beside {padding}")
        } else {
            String::new()
        };
        if counted > whole * (1.0 + SAME) {
            return format!(
                ", {} times what its shapes need{and_padding}: it computes some of it again, or in several passes",
                of(self.rate)
            );
        }
        if is_same(whole) {
            return match (is_padded, self.cost.kind.is_masked()) {
                (true, _) => format!(", {} times what its shapes need: {padding}", of(self.rate)),
                (false, true) => ", as much as without a mask: it skips nothing".to_owned(),
                (false, false) => String::new(),
            };
        }
        if self.cost.kind.is_masked() {
            let parts = of(whole);
            let half = match self.cost.causal_flops {
                Some(_) if counted > whole * (0.5 + SAME) => {
                    "; a causal mask needs half, and blocks that it cuts are computed whole"
                }
                _ => "",
            };
            return format!(
                ", {parts} of all products{and_padding}: the kernel skips the rest of its mask{half}"
            );
        }
        if is_same(self.rate) {
            return ", as much as its shapes need without padding".to_owned();
        }
        format!(
            ", {} of what its shapes need: the counters are of other executions, or it multiplies narrower numbers",
            of(self.rate)
        )
    }
}
