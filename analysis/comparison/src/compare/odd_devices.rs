//! Devices that do less or more than the others: they run a part of the loop only, or the others wait for them.

use facts::prelude::*;

use super::summary::Summary;

/// From this part of the steps on it matters that a device runs fewer in one run than in the other.
const FEWER_STEPS: f64 = 0.1;

/// From so many percentage points on it matters that a device works longer in one run than in the other.
const LONGER_PERCENT: f64 = 2.0;

/// `1 of 19` and `9 of 19`, where the device that runs fewest steps of the loop runs another part of them.
pub(super) fn other_device_steps(base: &Summary, cand: &Summary) -> Option<[String; 2]> {
    let both = [base.facts.device_steps?, cand.facts.device_steps?];
    let [a, b] = both.map(|[least, most]| least as f64 / most.max(1) as f64);
    let texts = both.map(|[least, most]| format!("{least} of {most}"));
    ((a - b).abs() > FEWER_STEPS).then_some(texts)
}

/// `none` and `TPU:3 (20.0 % more work than the median device)`, where the devices that the others wait for differ.
pub(super) fn other_stragglers(base: &Summary, cand: &Summary) -> Option<[String; 2]> {
    let both = [
        base.facts.stragglers.as_ref()?,
        cand.facts.stragglers.as_ref()?,
    ];
    let over = |side: usize, device: &str| both[side].get(device).copied().unwrap_or_default();
    let devices = both[0].keys().chain(both[1].keys());
    let text = |stragglers: &BTreeMap<String, f64>| {
        let one = |(device, over): (&String, &f64)| {
            format!(
                "{device} ({:.1} more work than the median device)",
                Percent(*over)
            )
        };
        if stragglers.is_empty() {
            "none".to_owned()
        } else {
            stragglers.iter().map(one).collect::<Vec<_>>().join(", ")
        }
    };
    devices
        .into_iter()
        .any(|device| (over(0, device) - over(1, device)).abs() >= LONGER_PERCENT)
        .then(|| both.map(text))
}
