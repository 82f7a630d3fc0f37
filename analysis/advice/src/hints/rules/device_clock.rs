//! The ratio of the clock to the default clock that ops record, device by device.

use std::collections::HashMap;

use device_reports::{CoreOps, OpsReport};
use facts::prelude::*;
use facts::window::part_in;

/// An op within a hundredth of the default clock runs at it.
const AT_CLOCK: f64 = 0.99;

/// The clock of one device.
pub(super) struct DeviceClock {
    pub name: Arc<str>,
    /// Share of its window of the ops that run below the default clock.
    pub slow_percent: f64,
    /// The lowest clock of an op, as a share of the default one; `mean_percent` is the mean over the time of all ops.
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
    /// The clocks of all devices that ran `ops` in the scope of `cx`, the lowest mean first.
    pub fn of_all(cx: &Context<'_>, ops: &OpsReport) -> Result<Vec<Self>> {
        let mut lacking: BTreeMap<&str, HashMap<OpId, f64>> = BTreeMap::new();
        for core in &ops.cores {
            lacking.insert(&core.name, lacking_on(cx, core.core)?);
        }
        let mut by_core: BTreeMap<&str, ClockSums> = BTreeMap::new();
        for row in ops.rows.iter().filter(|row| row.is_leaf) {
            // A collective does not wait for its own clock alone.
            let waits = row.collective.is_some() || row.is_async;
            for on_core in &row.per_core {
                let sums = by_core.entry(&on_core.core).or_default();
                let time = on_core.total_time_ps.as_ps_f64();
                let lacking_here = lacking.get(&*on_core.core);
                let lacks = lacking_here
                    .zip(row.op)
                    .and_then(|(lacking_here, op)| lacking_here.get(&op))
                    .copied();
                let ratio = 1.0 - lacks.unwrap_or(0.0) / time;
                sums.time_ps += time;
                sums.at_default_ps += time - lacks.unwrap_or(0.0);
                if !(time > 0.0 && ratio < AT_CLOCK) {
                    continue;
                }
                sums.slow += on_core.self_time_ps;
                sums.lowest = Some(sums.lowest.map_or(ratio, |lowest| lowest.min(ratio)));
                sums.lost_ps += if waits { 0.0 } else { lacks.unwrap_or(0.0) };
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
        Ok(clocks)
    }
}

/// How much less time each op of a device would take at the default clock, ps. Executions that do not record the ratio ran
/// at it.
fn lacking_on(cx: &Context<'_>, core: GroupId) -> Result<HashMap<OpId, f64>> {
    let model = cx.model;
    let mut lacking = HashMap::new();
    let Some(window) = cx.window(core)? else {
        return Ok(lacking);
    };
    let range = match cx.scope {
        Scope::WholeTrace => model.extent().hull(window.range),
        _ => window.range,
    };
    let lanes = model.tracks_of_kind(core, TrackKind::Ops);
    for lane in lanes.flat_map(|track| model.lanes(track)) {
        for (slice, bits) in model.slices_with_in(SliceAttr::TimeScaleBits, lane, range) {
            let scale = f64::from_bits(bits as u64);
            if let Some(op) = slice.op().filter(|_| scale > 0.0 && scale < 1e3) {
                let time = part_in(cx, window, slice).as_ps_f64();
                *lacking.entry(op).or_default() += time * (1.0 - scale);
            }
        }
    }
    Ok(lacking)
}
