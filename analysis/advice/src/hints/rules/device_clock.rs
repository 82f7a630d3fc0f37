//! The ratio of the clock to the default clock that ops record, device by device.

use std::collections::BTreeMap;
use std::sync::Arc;

use device_reports::ops::op_stats::{CoreOps, OpsReport};
use trace_model::{OpId, Picos};

/// An op within a hundredth of the default clock runs at it.
const AT_CLOCK: f64 = 0.99;

/// The clock of one device.
pub(super) struct DeviceClock {
    pub name: Arc<str>,
    /// Share of its window of the ops that run below the default clock.
    pub slow_percent: f64,
    /// Of the default clock: the lowest of an op, and the mean over the time of all ops.
    pub lowest_percent: f64,
    pub mean_percent: f64,
    /// What ops that compute or copy lose.
    pub lost_ps: f64,
    /// The ops below the default clock, most time first, each with what is left of its time at that clock.
    pub factors: Vec<(OpId, f64)>,
}

/// Sums over the ops of a device that have no others inside.
#[derive(Default)]
struct ClockSums {
    time_ps: f64,
    at_default_ps: f64,
    slow: Picos,
    lowest: Option<f64>,
    lost_ps: f64,
    factors: Vec<(OpId, f64)>,
}

impl DeviceClock {
    /// The clocks of all devices that ran ops, the lowest mean first.
    pub fn of_all(ops: &OpsReport) -> Vec<Self> {
        let mut by_core: BTreeMap<&str, ClockSums> = BTreeMap::new();
        for row in ops.rows.iter().filter(|row| row.is_leaf) {
            // A collective does not wait for its own clock alone.
            let waits = row.collective.is_some() || row.is_async;
            for on_core in &row.per_core {
                let sums = by_core.entry(&on_core.core).or_default();
                let time = on_core.total_time_ps.as_ps_f64();
                let at_default = on_core.time_at_default_clock_ps.unwrap_or(time);
                sums.time_ps += time;
                sums.at_default_ps += at_default;
                let ratio = at_default / time;
                if !(time > 0.0 && ratio < AT_CLOCK) {
                    continue;
                }
                sums.slow += on_core.self_time_ps;
                sums.lowest = Some(sums.lowest.map_or(ratio, |lowest| lowest.min(ratio)));
                sums.lost_ps += if waits { 0.0 } else { time - at_default };
                sums.factors.extend(row.op.map(|op| (op, ratio)));
            }
        }
        let of_core = |core: &CoreOps| {
            let sums = by_core.remove(&*core.name)?;
            let window = core.total_time_ps.as_ps_f64();
            (sums.time_ps > 0.0 && window > 0.0).then(|| Self {
                name: core.name.as_str().into(),
                slow_percent: 100.0 * sums.slow.as_ps_f64() / window,
                lowest_percent: 100.0 * sums.lowest.unwrap_or(1.0),
                mean_percent: 100.0 * sums.at_default_ps / sums.time_ps,
                lost_ps: sums.lost_ps,
                factors: sums.factors,
            })
        };
        let mut clocks: Vec<Self> = ops.cores.iter().filter_map(of_core).collect();
        clocks.sort_by(|a, b| a.mean_percent.total_cmp(&b.mean_percent));
        clocks
    }
}
