//! The rule about the clock of the chip: what runs below its default clock, skips cycles, or is throttled.
//!
//! In this order, the first that speaks: the ratio of clocks of each op; counters of skipped cycles; a series of the core
//! clock; a series of throttling in percent. Temperature and power have no published limit: they are evidence of what the
//! clock does, and no finding of their own.

use device_reports::ops::hardware_counters::HardwareCounters;
use device_reports::ops::op_stats::OpRow;
use engine::{AnalysisError, Percent, Provenance, Threshold};
use trace_model::{OpId, Picos};

use super::chip_series::{ClockDrop, clock_drops, throttling};
use crate::hints::{
    Finding, FindingPlace, HintEvidence, HintFacts, PossibleSaving, Rule, RuleResult,
};

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

/// An op within a hundredth of the default clock runs at it.
const AT_CLOCK: f64 = 0.99;

fn throttled(facts: &HintFacts<'_>) -> RuleResult {
    let ratio = |row: &OpRow| {
        let at_default = row.time_at_default_clock_ps?;
        (row.total_time_ps > Picos::ZERO).then(|| at_default / row.total_time_ps.as_ps_f64())
    };
    let slow =
        facts.select(|row| row.is_leaf && ratio(row).is_some_and(|ratio| ratio < AT_CLOCK))?;
    let recorded = facts.select(|row| ratio(row).is_some())?;
    let skipped = skipped(facts);
    let drops = clock_drops(facts, facts.limit(&BELOW_HIGHEST))?;
    let throttling = throttling(facts);
    let is_recorded = !recorded.rows.is_empty() || skipped.is_some() || drops.is_some();
    if !is_recorded && throttling.is_none() {
        let why = "the capture has no ratio of clocks (Time Scale Multiplier), no counters of skipped cycles and no series \
                   of the clock or of throttling";
        return Err(why.into());
    }
    let (limit, most) = (facts.limit(&THROTTLED), facts.limit(&SKIPPED));
    if !slow.rows.is_empty() && slow.percent() >= limit {
        let factors: Vec<(OpId, f64)> = slow
            .rows
            .iter()
            .filter_map(|row| Some((row.op?, ratio(row)?)))
            .collect();
        let lowest = factors.iter().map(|(_, ratio)| *ratio).fold(1.0, f64::min);
        let mean = match facts.cx.tensor_cores().len() {
            0 | 1 => "",
            _ => " in the mean over devices",
        };
        return Ok(Some(Finding {
            statement: format!(
                "ops that take {:.1} of device time run below the default clock{mean}, down to {:.0} of it",
                Percent(slow.percent()),
                Percent(100.0 * lowest)
            ),
            evidence: vec![
                HintEvidence::percent(
                    "ops below the default clock",
                    slow.percent(),
                    "device time",
                    Some(limit),
                ),
                HintEvidence::percent("lowest clock", 100.0 * lowest, "default clock", None),
            ],
            ops: slow.ops(),
            saving: PossibleSaving::ops("ops at the default clock", factors),
            ..Finding::default()
        }));
    }
    if let Some((device, percent)) = skipped.filter(|(_, percent)| *percent >= most) {
        return Ok(Some(skipping(facts, &device, percent)?));
    }
    let drops = drops.unwrap_or_default();
    let long: Vec<&ClockDrop> = drops
        .iter()
        .filter(|drop| drop.of_busy_percent.0 >= limit)
        .collect();
    if let Some((worst, others)) = long.split_first() {
        return Ok(Some(below_highest(facts, worst, others.len())?));
    }
    let throttling = throttling.filter(|(.., percent)| *percent >= most);
    Ok(throttling.map(|(device, series, percent)| Finding {
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
    }))
}

fn skipping(facts: &HintFacts<'_>, device: &str, percent: f64) -> Result<Finding, AnalysisError> {
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
        saving: PossibleSaving::PerStep(Picos::from_ps((step.ps * percent / 100.0) as i64)),
        ..Finding::default()
    })
}

/// The finding about the device whose clock loses most, of `others` more.
fn below_highest(
    facts: &HintFacts<'_>,
    drop: &ClockDrop,
    others: usize,
) -> Result<Finding, AnalysisError> {
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
        saving = PossibleSaving::PerStep(Picos::from_ps(lost as i64));
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
