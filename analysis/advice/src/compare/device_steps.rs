//! Devices that run a part of the loop only.

use super::summary::Summary;

/// From this part of the steps on it matters that a device runs fewer in one run than in the other.
const FEWER_STEPS: f64 = 0.1;

/// `1 of 19` and `9 of 19`, where the device that runs fewest steps of the loop runs another part of them.
pub(super) fn other_device_steps(base: &Summary, cand: &Summary) -> Option<[String; 2]> {
    let both = [base.facts.device_steps?, cand.facts.device_steps?];
    let [a, b] = both.map(|[least, most]| least as f64 / most.max(1) as f64);
    let texts = both.map(|[least, most]| format!("{least} of {most}"));
    ((a - b).abs() > FEWER_STEPS).then_some(texts)
}
