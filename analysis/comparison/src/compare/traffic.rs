//! Memory traffic that two captures record for a step of the same program.

use facts::prelude::*;
use math::stats::median;

use super::summary::Summary;

/// The same program moves the same bytes: with this many times as many in a step, the captures do not agree on what ran.
const OTHER_TRAFFIC: f64 = 1.5;

/// The memory traffic that the captures record for a step of the same program, if it is not about the same: the time that
/// it takes at the peak bandwidth, because a summary holds shares of it.
pub(super) fn other_traffic(base: &Summary, cand: &Summary) -> Option<[String; 2]> {
    let program = |run: &Summary| run.facts.programs.first()?.id.clone();
    let is_same = program(base)? == program(cand)?
        && base.facts.device_type == cand.facts.device_type
        && base.facts.simulator.is_none();
    // The share is of steps without unusually long ones, which the median does not see either.
    let at_peak_ps = |run: &Summary| {
        let step_ps = median(&run.step_values("step.time_ps")?)?;
        Some(step_ps * run.value("hbm_util_steady_percent")?.exact()? / 100.0)
    };
    let times = [at_peak_ps(base)?, at_peak_ps(cand)?];
    let least = times[0].min(times[1]);
    let most = times[0].max(times[1]);
    let is_other = is_same && least > 0.0 && most > OTHER_TRAFFIC * least;
    is_other.then(|| times.map(|ps| format!("{} at peak bandwidth", Picos::rounded(ps))))
}
