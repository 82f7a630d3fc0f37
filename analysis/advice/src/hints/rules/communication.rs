//! Rules about communication between devices.

use super::prelude::*;
use device_reports::communication::overlap::CoreOverlap;
use device_reports::{Overlap, OverlapReport};
use math::summed;

use crate::hints::OpSelection;
use crate::hints::async_collectives;

pub(super) static RULES: &[Rule] = &[
    rule!("K01", "Communication is exposed", High, [EXPOSED], exposed),
    rule!(
        "K02",
        "Collectives are synchronous",
        High,
        [SYNCHRONOUS],
        synchronous
    ),
    rule!(
        "K44",
        "More communication than compute",
        Medium,
        [DOMINATED],
        dominated
    ),
    rule!(
        "K47",
        "All-to-all exchanges are exposed",
        High,
        [EXCHANGE],
        exchange
    ),
];

static EXPOSED: Threshold = Threshold::percent(
    "K01.exposed_percent",
    10.0,
    "below 10 % of the step, other causes matter more",
);
static SYNCHRONOUS: Threshold = Threshold::percent(
    "K02.op_percent",
    2.0,
    "the compiler leaves tiny collectives synchronous on purpose",
);

/// The flag of a kind of collectives is named from this share of the exposed time on.
const WORTH_A_FLAG: f64 = 0.1;

static DOMINATED: Threshold = Threshold::percent(
    "K44.exposed_percent",
    10.0,
    "below 10 % of the step, other causes matter more",
);
static EXCHANGE: Threshold = Threshold::percent(
    "K47.exposed_percent",
    5.0,
    "routing to experts costs two exchanges per layer",
);

fn most_exposed(overlap: &[CoreOverlap]) -> Option<(&CoreOverlap, f64)> {
    // Of equal ones the first, as in the table of overlap.
    let most = |core: &&CoreOverlap| Reverse(core.exposed_ps);
    let worst = overlap.iter().min_by_key(most)?;
    Some((worst, worst.exposed_share_percent?.0))
}

/// Compute of a device that hides nothing yet, in each step: only it can hide more.
fn free_compute(facts: &HintFacts<'_>, core: &CoreOverlap) -> Result<Picos> {
    let free = |overlap: &OverlapReport| {
        let core = overlap
            .cores
            .iter()
            .find(|other| other.group == core.group)?;
        let free = core.compute_ps - core.overlapped_ps.unwrap_or_default();
        Some(free.clamped().as_ps_f64())
    };
    Ok(Picos::from_ps(facts.each_step::<Overlap>(free)? as i64))
}

fn exposed(facts: &HintFacts<'_>) -> RuleResult {
    let overlap = facts.report::<Overlap>()?;
    let (worst, share) = most_exposed(&overlap.cores).ok_or(Nothing)?;
    let limit = facts.reached(&EXPOSED, share)?;
    let free = free_compute(facts, worst)?;
    let collectives = facts.select(|row| row.collective.is_some())?;
    let (advice, code) = flags(facts, &collectives, &overlap);
    let hidden = worst.overlap_ratio_percent.map_or_else(
        || "how much is hidden is not recorded".to_owned(),
        |part| format!("compute hides {part:.1} of its communication"),
    );
    Ok(Finding {
        statement: format!(
            "communication is exposed for {:.1} of the window on {}; {hidden}",
            Percent(share),
            worst.core
        ),
        evidence: vec![
            HintEvidence::percent(
                "exposed communication",
                share,
                format!("window of {}", worst.core),
                Some(limit),
            ),
            HintEvidence::time(
                "compute that hides nothing yet",
                free.as_ps_f64(),
                "step, on the same device",
            ),
        ],
        advice,
        code,
        ops: collectives.ops(),
        saving: PossibleSaving::Replay {
            changes: vec![Scenario::Collectives(0.0)],
            at_most: Some(free),
        },
        ..Finding::default()
    })
}

/// What is known of the flags that make the synchronous ones of these collectives asynchronous on this chip, for the kinds
/// that are much of the exposed time.
fn flags(
    facts: &HintFacts<'_>,
    collectives: &OpSelection<'_>,
    overlap: &OverlapReport,
) -> (String, Option<String>) {
    let of_devices = overlap.kinds.iter().filter(|kind| kind.is_collective);
    let exposed: Picos = of_devices.map(|kind| kind.exposed_ps).sum();
    let synchronous = collectives
        .rows
        .iter()
        .filter(|row| is_synchronous(facts, row));
    let times = synchronous.filter_map(|row| Some((row.collective?, row.self_time_ps)));
    let mut times: BTreeMap<CollectiveKind, Picos> = summed(times);
    times.retain(|_, time| time.as_ps_f64() >= WORTH_A_FLAG * exposed.as_ps_f64());
    let kinds: BTreeSet<CollectiveKind> = times.into_keys().collect();
    let chip = facts
        .cx
        .options
        .chip()
        .or_else(|| facts.ops().ok()?.peaks.published());
    let chip = chip
        .map(|chip| chip.id.as_str())
        .filter(|_| facts.cx.model.simulator().is_none());
    async_collectives::advice(&kinds, chip)
}

/// Collectives between devices that stand alone on the op track.
fn is_synchronous(facts: &HintFacts<'_>, row: &OpRow) -> bool {
    let fused = row
        .op
        .is_some_and(|op| facts.classes.class(op).is_fused_collective());
    row.collective.is_some() && !row.is_async && !fused
}

fn synchronous(facts: &HintFacts<'_>) -> RuleResult {
    let selection = facts.heavy(&SYNCHRONOUS, |row| is_synchronous(facts, row))?;
    let overlap = facts.report::<Overlap>()?;
    let free = most_exposed(&overlap.cores)
        .map(|(worst, _)| free_compute(facts, worst))
        .transpose()?;
    let changes = vec![Scenario::Ops {
        what: "synchronous collectives".into(),
        factors: selection.vanish().into_iter().collect(),
    }];
    let saving = PossibleSaving::Replay {
        changes,
        at_most: free,
    };
    let (advice, code) = flags(facts, &selection, &overlap);
    Ok(Finding {
        advice,
        code,
        ..selection.finding("synchronous collectives", saving)
    })
}

fn dominated(facts: &HintFacts<'_>) -> RuleResult {
    let overlap = facts.report::<Overlap>()?;
    let (worst, share) = most_exposed(&overlap.cores).ok_or(Nothing)?;
    let limit = facts.reached(&DOMINATED, share)?;
    if worst.compute_ps >= worst.comm_total_ps {
        return Err(Nothing);
    }
    let comm = worst.comm_total_ps;
    let compute = worst.compute_ps;
    let more = (compute > Picos::ZERO).then(|| comm.as_ps_f64() / compute.as_ps_f64());
    let how = more.map_or_else(
        || "communicates and does not compute".to_owned(),
        |more| format!("communicates {more:.1} times as long as it computes"),
    );
    let exposed = HintEvidence::percent(
        "exposed communication",
        share,
        format!("window of {}", worst.core),
        Some(limit),
    );
    let times = |more| {
        HintEvidence::number(
            "communication",
            more,
            "compute of the same device",
            Some(1.0),
        )
    };
    Ok(Finding {
        statement: format!("{} {how}: overlap alone cannot hide it", worst.core),
        evidence: [exposed].into_iter().chain(more.map(times)).collect(),
        ops: facts.select(|row| row.collective.is_some())?.ops(),
        ..Finding::default()
    })
}

fn exchange(facts: &HintFacts<'_>) -> RuleResult {
    let overlap = facts.report::<Overlap>()?;
    let kinds = [CollectiveKind::AllToAll, CollectiveKind::RaggedAllToAll];
    let names = kinds.map(CollectiveKind::name);
    let exposed = overlap
        .kinds
        .iter()
        .filter(|kind| names.contains(&kind.kind.as_str()))
        .map(|kind| kind.exposed_ps)
        .sum::<Picos>();
    let windows = overlap
        .cores
        .iter()
        .map(|core| core.window_ps)
        .sum::<Picos>();
    let share = 100.0 * exposed.fraction_of(windows).unwrap_or(0.0);
    let limit = facts.reached(&EXCHANGE, share)?;
    if exposed == Picos::ZERO {
        return Err(Nothing);
    }
    let selection = facts.select(|row| row.collective.is_some_and(|kind| kinds.contains(&kind)))?;
    Ok(Finding {
        statement: format!(
            "all-to-all exchanges are exposed for {share:.1} of device time ({})",
            selection.names(),
            share = Percent(share)
        ),
        evidence: vec![HintEvidence::percent(
            "exposed exchanges",
            share,
            "device time",
            Some(limit),
        )],
        ops: selection.ops(),
        saving: PossibleSaving::ops("exchanges", selection.vanish()),
        ..Finding::default()
    })
}
