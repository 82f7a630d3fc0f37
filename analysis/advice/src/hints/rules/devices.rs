//! Rules about devices, hosts and steps that differ from each other.

use super::prelude::*;
use device_reports::steps::balance::SKEW;
use device_reports::{Balance, BalanceReport, DeviceLoad};
use math::stats;

pub(super) static RULES: &[Rule] = &[
    rule!(
        "K06",
        "Devices wait for the last one in collectives",
        High,
        [SKEW],
        skew
    ),
    rule!(
        "K07",
        "Work is shared unevenly over devices",
        Medium,
        [IMBALANCE],
        imbalance
    ),
    rule!(
        "K08",
        "A host keeps the others waiting",
        Medium,
        [],
        straggler
    ),
    rule!("K09", "Devices wait at barriers", High, [BARRIER], barrier),
    rule!("K46", "A device is mostly idle", High, [], unused),
];

static IMBALANCE: Threshold = Threshold::percent(
    "K07.imbalance_percent",
    5.0,
    "differences below this drown in the jitter of a step",
);
static BARRIER: Threshold = Threshold::percent(
    "K09.barrier_percent",
    10.0,
    "the limit of XProf's rule about barriers",
);

/// The device with most of something, that as percent of its window, and who has as much.
fn worst(
    devices: &[DeviceLoad],
    of: impl Fn(&DeviceLoad) -> Option<f64>,
) -> Option<(&DeviceLoad, f64, &str)> {
    let known = devices
        .iter()
        .filter_map(|device| Some((device, device.of_window(of(device))?.0)));
    let ((device, percent), are_equal) = math::most(known, |one| one.1, |one| &one.0.core)?;
    Some((device, percent, who(&device.core, are_equal)))
}

/// The device, or all of them where they are equal.
pub(super) fn who(device: &str, are_equal: bool) -> &str {
    if are_equal { "every device" } else { device }
}

fn skew(facts: &HintFacts<'_>) -> RuleResult {
    let balance = facts.report::<Balance>()?;
    let Some((device, percent, who)) = worst(&balance.devices, |device| device.skew_wait_ps) else {
        let why = "executions of collectives could not be matched over devices, not even within a host, or none was \
                   synchronous";
        return Err(why.into());
    };
    let limit = facts.reached(&SKEW, percent)?;
    let of_device = |balance: &BalanceReport| balance.device(device.group)?.skew_wait_ps;
    let each = facts.each_step::<Balance>(of_device)?;
    let collectives = facts.select(|row| row.collective.is_some())?;
    let mut evidence = vec![
        HintEvidence::percent(
            "waiting for the last",
            percent,
            format!("window of {}", device.core),
            Some(limit),
        )
        .by(Provenance::Derived),
    ];
    let longest = format!(
        "{who} waits longest, {percent:.1} of its window",
        percent = Percent(percent)
    );
    let mut waiting_for = |who: &str, part: Percent| {
        let what = format!("waiting for {who}");
        evidence.push(
            HintEvidence::percent(what, part.0, "all waiting in collectives", None)
                .by(Provenance::Derived),
        );
    };
    let statement = match (balance.late(), balance.awaited()) {
        (Some(late), _) => {
            let names = late.names();
            waiting_for(&names, late.share);
            format!("the other devices wait for {names} to reach collectives; {longest}")
        }
        (None, Some((last, part))) => {
            waiting_for(&last.core, part);
            format!(
                "devices wait for each other in collectives, most often for {}; {longest}",
                last.core
            )
        }
        (None, None) => format!("devices wait for each other in collectives; {longest}"),
    };
    Ok(Finding {
        statement,
        evidence,
        ops: collectives.ops(),
        saving: PossibleSaving::per_step(each),
        ..Finding::default()
    })
}

/// The collectives in which the others wait for a device that works longer.
fn awaited_in(facts: &HintFacts<'_>) -> Vec<OpId> {
    facts
        .select(|row| row.collective.is_some() && !row.is_async)
        .map(|selection| selection.ops())
        .unwrap_or_default()
}

fn imbalance(facts: &HintFacts<'_>) -> RuleResult {
    let balance = facts.report::<Balance>()?;
    let percents: Vec<f64> = balance
        .steps
        .iter()
        .filter_map(|step| Some(step.imbalance_percent?.0))
        .collect();
    let Some(percent) = stats::median(&percents) else {
        return Err("no step ran on more than one device".into());
    };
    let limit = facts.reached(&IMBALANCE, percent)?;
    let costs: Vec<f64> = balance
        .steps
        .iter()
        .map(|step| step.max_ps.as_ps_f64() - step.mean_ps)
        .collect();
    let saving = stats::median(&costs).unwrap_or(0.0);
    Ok(Finding {
        statement: balance.statement.trim_end_matches('.').to_owned(),
        evidence: vec![
            HintEvidence::percent(
                "most work above the median device's",
                percent,
                "work of the median device, median of steps",
                Some(limit),
            )
            .by(Provenance::Derived),
        ],
        ops: awaited_in(facts),
        spots: spots(
            facts,
            balance.steps.iter().filter_map(|step| {
                Some((step.step?, step.imbalance_percent.map(|percent| percent.0)))
            }),
        ),
        saving: PossibleSaving::per_step(saving),
        ..Finding::default()
    })
}

/// Steps with the largest of some number first.
pub(super) fn spots(
    facts: &HintFacts<'_>,
    steps: impl Iterator<Item = (u32, Option<f64>)>,
) -> Vec<FindingPlace> {
    let mut ranked: Vec<(u32, f64)> = steps
        .filter_map(|(step, number)| Some((step, number?)))
        .collect();
    largest_number_first(&mut ranked, |one| one.1, |one| &one.0);
    let Some(report) = facts.steps() else {
        return Vec::new();
    };
    let range = |number| {
        report
            .steps
            .iter()
            .find(|step| step.number == number)?
            .range()
    };
    ranked
        .into_iter()
        .take(LOOKED_AT)
        .filter_map(|(number, _)| {
            Some(FindingPlace::span(format!("step {number}"), range(number)?))
        })
        .collect()
}

/// Steps that evidence points at.
const LOOKED_AT: usize = 3;

fn straggler(facts: &HintFacts<'_>) -> RuleResult {
    const LEAST_HOSTS: usize = 3;
    let balance = facts.report::<Balance>()?;
    if balance.hosts.len() < LEAST_HOSTS {
        let why = format!(
            "{} recorded: finding a slow host needs {LEAST_HOSTS}",
            counted(balance.hosts.len().max(1), "host")
        );
        return Err(why.into());
    }
    let host = balance
        .hosts
        .iter()
        .find(|host| host.is_straggler)
        .ok_or(Nothing)?;
    let works: Vec<f64> = balance
        .hosts
        .iter()
        .filter_map(|host| host.most_work_ps)
        .collect();
    let late = host.most_work_ps.unwrap_or(0.0) - stats::median(&works).unwrap_or(0.0);
    Ok(Finding {
        statement: format!(
            "the host {} works longer in each step than the others",
            host.host
        ),
        evidence: host
            .work_z
            .map(|z| {
                HintEvidence::number(
                    "modified z-score of its work",
                    z,
                    "all hosts",
                    Some(stats::OUTLIER_Z),
                )
                .by(Provenance::Inferred)
            })
            .into_iter()
            .collect(),
        ops: awaited_in(facts),
        saving: PossibleSaving::per_step(late),
        ..Finding::default()
    })
}

fn barrier(facts: &HintFacts<'_>) -> RuleResult {
    let balance = facts.report::<Balance>()?;
    let Some((device, percent, who)) = worst(&balance.devices, |device| device.barrier_ps) else {
        let why = "no barrier was recorded (barrier-cores on the line XLA TraceMe)";
        return Err(why.into());
    };
    let limit = facts.reached(&BARRIER, percent)?;
    let each = facts.each_step::<Balance>(|balance| balance.device(device.group)?.barrier_ps)?;
    // Who comes last waits least.
    let last = balance
        .devices
        .iter()
        .filter_map(|device| Some((device, device.barrier_ps?)));
    let last = last
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|(last, _)| who == device.core && last.core != device.core);
    let last = last.map_or_else(String::new, |(last, _)| {
        format!("; {} waits least: it comes last", last.core)
    });
    Ok(Finding {
        statement: format!(
            "{who} waits for {percent:.1} of its window at barriers before programs begin{last}",
            percent = Percent(percent)
        ),
        evidence: vec![HintEvidence::percent(
            "waiting at barriers",
            percent,
            format!("window of {}", device.core),
            Some(limit),
        )],
        about: &[TimeUse::Idle],
        saving: PossibleSaving::per_step(each),
        ..Finding::default()
    })
}

fn unused(facts: &HintFacts<'_>) -> RuleResult {
    let balance = facts.report::<Balance>()?;
    let statement = balance.absent().ok_or(Nothing)?;
    let busy = |device: &DeviceLoad| {
        HintEvidence::percent(
            format!("{} busy", device.core),
            device.busy_percent.unwrap_or_default().0,
            "longest window of any device",
            None,
        )
    };
    let absent = || {
        balance
            .devices
            .iter()
            .filter(|device| device.absence.is_some())
    };
    let model = facts.cx.model;
    let first_op = |device: &DeviceLoad| {
        let op = model.slices_of_kind(device.group?, TrackKind::Ops).next()?;
        Some(op.into())
    };
    Ok(Finding {
        statement,
        evidence: absent().take(4).map(busy).collect(),
        spots: absent().filter_map(first_op).collect(),
        saving: shared_work(&balance.devices),
        // The devices that work are idle for another reason, but most of the idle time is here.
        explains: &["K31"],
        about: &[TimeUse::Idle],
        ..Finding::default()
    })
}

/// At most what a step takes less if the work of the busiest device were divided among those that are unused, too.
fn shared_work(devices: &[DeviceLoad]) -> PossibleSaving {
    let unused = devices.iter().filter(|device| device.is_unused).count();
    let busiest = devices
        .iter()
        .filter_map(|device| device.work_ps)
        .max_by(f64::total_cmp);
    match busiest.filter(|_| unused > 0) {
        Some(work) => {
            PossibleSaving::PerStep(Picos::rounded(work * unused as f64 / devices.len() as f64))
        }
        None => PossibleSaving::Unknown,
    }
}
