//! The rule about the clock of the chip: what runs below its default clock, skips cycles, or is throttled.
//!
//! In this order, the first that speaks: the ratio of clocks of each op; counters of skipped cycles; a series of the core
//! clock; a series of throttling in percent. Temperature and power have no published limit: they are evidence of what the
//! clock does, and no finding of their own.

use super::prelude::*;
use device_reports::ops::hardware_counters::HardwareCounters;

use super::chip_series::{ClockDrop, clock_drops, throttling};
use super::device_clock::DeviceClock;

pub(super) static RULES: &[Rule] = &[rule!(
    "K43",
    "The chip runs below its default clock",
    High,
    [THROTTLED, SKIPPED, BELOW_HIGHEST],
    throttled
)];

static THROTTLED: Threshold = Threshold::percent(
    "K43.ops_percent",
    5.0,
    "single ops below the clock are normal regulation",
);
static SKIPPED: Threshold = Threshold::percent(
    "K43.skipped_percent",
    5.0,
    "single skipped cycles are normal power regulation",
);
static BELOW_HIGHEST: Threshold = Threshold::percent(
    "K43.below_percent",
    5.0,
    "the clock of a chip varies by a few percent without a limit being reached",
);

/// Devices that are named one by one.
const NAMED: usize = 4;

fn throttled(facts: &HintFacts<'_>) -> RuleResult {
    let recorded = facts.select(|row| row.time_at_default_clock_ps.is_some())?;
    let skipped = skipped(facts);
    let drops = clock_drops(facts, facts.limit(&BELOW_HIGHEST))?;
    let throttling = throttling(facts);
    let is_recorded = !recorded.rows.is_empty() || skipped.is_some() || drops.is_some();
    if !is_recorded && throttling.is_none() {
        let why = "the capture has no ratio of clocks (Time Scale Multiplier), no counters of skipped cycles and no series \
                   of the clock or of throttling";
        return Err(why.into());
    }
    let limit = facts.limit(&THROTTLED);
    let most = facts.limit(&SKIPPED);
    let clocks = DeviceClock::of_all(facts.cx, facts.ops()?)?;
    let slow: Vec<&DeviceClock> = (clocks.iter())
        .filter(|clock| clock.slow_percent > 0.0 && clock.slow_percent >= limit)
        .collect();
    if !slow.is_empty() {
        return below_default(facts, &clocks, &slow);
    }
    if let Some((device, percent)) = skipped.filter(|(_, percent)| *percent >= most) {
        return skipping(facts, &device, percent);
    }
    let drops = drops.unwrap_or_default();
    let long: Vec<&ClockDrop> = drops
        .iter()
        .filter(|drop| drop.of_busy_percent.0 >= limit)
        .collect();
    if let Some((worst, others)) = long.split_first() {
        return below_highest(facts, worst, others.len());
    }
    let throttling = throttling.filter(|(.., percent)| *percent >= most);
    let (device, series, percent) = throttling.ok_or(Nothing)?;
    Ok(Finding {
        statement: format!(
            "{device} is throttled: its series \"{series}\" is {:.1} in the mean",
            Percent(percent)
        ),
        evidence: vec![HintEvidence::percent(
            "mean of the series",
            percent,
            "throttling as the profiler defines it, over the time of its samples",
            Some(most),
        )],
        ..Finding::default()
    })
}

/// The finding about the devices of which ops are `slow`, the one with the lowest clock first.
fn below_default(facts: &HintFacts<'_>, all: &[DeviceClock], slow: &[&DeviceClock]) -> RuleResult {
    let worst = slow.first().ok_or(Nothing)?;
    let limit = facts.limit(&THROTTLED);
    let mut evidence = Vec::new();
    for clock in slow.iter().take(NAMED) {
        let name = &clock.name;
        evidence.push(HintEvidence::percent(
            format!("ops of {name} below the default clock"),
            clock.slow_percent,
            format!("window of {name}"),
            Some(limit),
        ));
        evidence.push(HintEvidence::percent(
            format!("clock of {name}"),
            clock.mean_percent,
            "default clock, mean over the time of its ops",
            None,
        ));
    }
    evidence.push(HintEvidence::percent(
        format!("lowest clock of an op of {}", worst.name),
        worst.lowest_percent,
        "default clock",
        None,
    ));
    let others = all
        .iter()
        .filter(|clock| slow.iter().all(|slow| slow.name != clock.name));
    if let Some(lowest) = (others.map(|clock| clock.mean_percent)).reduce(f64::min) {
        evidence.push(HintEvidence::percent(
            "lowest clock of the other devices",
            lowest,
            "default clock, mean over the time of the ops of each",
            None,
        ));
    }
    let saving = if all.len() > 1 {
        // The others may wait for the slowest, or not.
        let in_steps = facts.cx.scoped(facts.step_scope());
        let clocks = DeviceClock::of_all(&in_steps, facts.in_steps::<Ops>()?.as_ref())?;
        let lost = clocks.iter().map(|clock| clock.lost_ps).fold(0.0, f64::max);
        let step = facts.step()?;
        let lost = lost / step.count.max(1) as f64;
        let of = format!(
            "{}, on the device that loses most: time of ops times the clock that is lacking",
            step.of
        );
        evidence.push(HintEvidence::time("lost at most", lost, of).by(Provenance::Inferred));
        PossibleSaving::PerStep(Picos::rounded(lost))
    } else {
        PossibleSaving::ops("ops at the default clock", worst.factors.iter().copied())
    };
    Ok(Finding {
        statement: in_words(all.len(), slow, worst),
        evidence,
        ops: worst.factors.iter().map(|(op, _)| *op).collect(),
        saving,
        ..Finding::default()
    })
}

/// Which of `devices` devices run below the default clock.
fn in_words(devices: usize, slow: &[&DeviceClock], worst: &DeviceClock) -> String {
    let time = Percent(worst.slow_percent);
    let lowest = Percent(worst.lowest_percent);
    if devices == 1 {
        return format!(
            "ops that take {time:.1} of device time run below the default clock, down to {lowest:.0} of it"
        );
    }
    let of_worst = format!(
        "{} in ops that take {time:.1} of its window, down to {lowest:.0} of the default clock",
        worst.name
    );
    let names = || joined(slow.iter().map(|clock| &*clock.name), ", ");
    match slow.len() {
        1 => format!("1 of {devices} devices runs below its default clock: {of_worst}"),
        all if all == devices => {
            format!("all {devices} devices run below their default clock, most of all {of_worst}")
        }
        some if some <= NAMED => format!(
            "{some} of {devices} devices run below their default clock ({}), most of all {of_worst}",
            names()
        ),
        some => format!(
            "{some} of {devices} devices run below their default clock, most of all {of_worst}"
        ),
    }
}

fn skipping(facts: &HintFacts<'_>, device: &str, percent: f64) -> RuleResult {
    let step = facts.step()?;
    Ok(Finding {
        statement: format!(
            "{device} skips {:.1} of its clock cycles to stay within its power",
            Percent(percent)
        ),
        evidence: vec![HintEvidence::percent(
            "skipped cycles",
            percent,
            "cycles that were counted",
            Some(facts.limit(&SKIPPED)),
        )],
        saving: PossibleSaving::per_step(step.ps * percent / 100.0),
        ..Finding::default()
    })
}

/// The finding about the device whose clock loses most, of `others` more.
fn below_highest(facts: &HintFacts<'_>, drop: &ClockDrop, others: usize) -> RuleResult {
    let others = match others {
        0 => String::new(),
        1 => ", and that of one more device falls as well".to_owned(),
        more => format!(", and those of {more} more devices fall as well"),
    };
    let mut statement = format!(
        "the clock of {} (series \"{}\") is more than {:.0} below its highest value for {:.1} of its busy time, down to {:.0} of \
         it{others}",
        drop.device,
        drop.series,
        Percent(facts.limit(&BELOW_HIGHEST)),
        drop.of_busy_percent,
        Percent(drop.lowest_percent)
    );
    for seen in &drop.meanwhile {
        statement.push_str("; ");
        statement.push_str(&seen.in_words());
    }
    let mut evidence = vec![
        HintEvidence::percent(
            "busy time below the highest clock",
            drop.of_busy_percent.0,
            "time in which ops ran and the clock was recorded",
            Some(facts.limit(&THROTTLED)),
        ),
        HintEvidence::percent(
            "lowest clock",
            drop.lowest_percent,
            "highest recorded clock",
            Some(100.0 - facts.limit(&BELOW_HIGHEST)),
        ),
        HintEvidence::percent(
            "clock in that time",
            drop.mean_percent,
            "highest recorded clock",
            None,
        ),
    ];
    evidence.extend(drop.meanwhile.iter().map(|seen| {
        HintEvidence::number(
            format!("{} when the clock first falls", seen.series),
            seen.then,
            format!("{} where its samples begin", seen.with_unit(seen.first)),
            None,
        )
    }));
    let mut saving = PossibleSaving::Unknown;
    if drop.lost > Picos::ZERO {
        let step = facts.step()?;
        let lost = drop.lost.as_ps_f64() / step.count.max(1) as f64;
        let of = format!(
            "{}: time of ops that the matrix unit limits, times the clock that is lacking",
            step.of
        );
        evidence.push(HintEvidence::time("lost at most", lost, of).by(Provenance::Inferred));
        saving = PossibleSaving::per_step(lost);
    }
    Ok(Finding {
        statement,
        evidence,
        ops: drop.ops.iter().copied().collect(),
        spots: vec![FindingPlace::span(
            format!("low clock of {}", drop.device),
            drop.first,
        )],
        saving,
        ..Finding::default()
    })
}

/// The device that skips most of its cycles, and how much of them in percent.
fn skipped(facts: &HintFacts<'_>) -> Option<(String, f64)> {
    let counters = facts.report::<HardwareCounters>().ok()?;
    let of = counters.devices.iter().flat_map(|device| {
        let skipped = device
            .metrics
            .iter()
            .filter(|metric| metric.id == "clocks_skipped");
        skipped.filter_map(|metric| Some((device.device.clone(), metric.percent()?)))
    });
    of.max_by(|a, b| a.1.total_cmp(&b.1))
}
