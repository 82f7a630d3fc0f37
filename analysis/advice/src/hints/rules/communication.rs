//! Rules about communication between devices.

use std::collections::{BTreeMap, BTreeSet};

use device_reports::communication::collectives::{CollectiveRow, Collectives};
use device_reports::communication::dcn::{Dcn, DcnReport};
use device_reports::communication::overlap::{CoreOverlap, Overlap, OverlapReport};
use device_reports::ops::op_stats::OpRow;
use engine::{AnalysisError, Percent, Provenance, Threshold};
use facts::category::CollectiveKind;
use math::unit::Unit;
use trace_model::hlo_text::HloText;
use trace_model::{OpId, Picos};

use crate::hints::async_collectives;
use crate::hints::{
    Confidence, Finding, HintEvidence, HintFacts, OpSelection, PossibleSaving, Rule, RuleResult,
};
use crate::what_if::Scenario;

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: "K01",
        title: "Communication is exposed",
        confidence: Confidence::High,
        thresholds: &[&EXPOSED],
        check: exposed,
        page: include_str!("../../../../../docs/hints/K01.md"),
    },
    Rule {
        id: "K02",
        title: "Collectives are synchronous",
        confidence: Confidence::High,
        thresholds: &[&SYNCHRONOUS],
        check: synchronous,
        page: include_str!("../../../../../docs/hints/K02.md"),
    },
    Rule {
        id: "K03",
        title: "Collectives are far below the speed of the links",
        confidence: Confidence::Medium,
        thresholds: &[&LINK_SHARE, &LINK_BYTES],
        check: slow_links,
        page: include_str!("../../../../../docs/hints/K03.md"),
    },
    Rule {
        id: "K04",
        title: "Many small collectives",
        confidence: Confidence::Medium,
        thresholds: &[&SMALL_COUNT, &SMALL_BYTES],
        check: small,
        page: include_str!("../../../../../docs/hints/K04.md"),
    },
    Rule {
        id: "K05",
        title: "The same data is sent twice",
        confidence: Confidence::Medium,
        thresholds: &[&TWICE],
        check: twice,
        page: include_str!("../../../../../docs/hints/K05.md"),
    },
    Rule {
        id: "K10",
        title: "Slices wait for the data-center network",
        confidence: Confidence::High,
        thresholds: &[&DCN_STALL, &DCN_BANDWIDTH],
        check: dcn_bound,
        page: include_str!("../../../../../docs/hints/K10.md"),
    },
    Rule {
        id: "K44",
        title: "More communication than compute",
        confidence: Confidence::Medium,
        thresholds: &[&DOMINATED],
        check: dominated,
        page: include_str!("../../../../../docs/hints/K44.md"),
    },
    Rule {
        id: "K47",
        title: "All-to-all exchanges are exposed",
        confidence: Confidence::High,
        thresholds: &[&EXCHANGE],
        check: exchange,
        page: include_str!("../../../../../docs/hints/K47.md"),
    },
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
static LINK_SHARE: Threshold = Threshold::percent(
    "K03.link_percent",
    50.0,
    "large collectives reach 70 to 95 % of the links that they can use",
);
static LINK_BYTES: Threshold = Threshold::new(
    "K03.bytes",
    (1 << 20) as f64,
    Unit::Bytes,
    "smaller messages are limited by hops, not by bytes (K04)",
);
static SMALL_COUNT: Threshold = Threshold::new(
    "K04.per_step",
    20.0,
    Unit::Count,
    "a handful of small collectives, for norms and the loss, is in every step",
);
static SMALL_BYTES: Threshold = Threshold::new(
    "K04.bytes",
    (256 << 10) as f64,
    Unit::Bytes,
    "at 90 GB/s this takes 3 µs, as long as a few hops",
);
static TWICE: Threshold = Threshold::percent(
    "K05.duplicate_percent",
    1.0,
    "small repetitions are cheaper than the memory that keeping the result would take",
);
static DCN_STALL: Threshold = Threshold::percent(
    "K10.stall_percent",
    5.0,
    "transfers between slices are meant to be hidden behind a whole step",
);
static DCN_BANDWIDTH: Threshold = Threshold::new(
    "K10.gigabytes_per_second",
    12.5,
    Unit::None,
    "a host with one network card of 100 Gb/s has no more",
);
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
    let worst = overlap.iter().max_by_key(|core| core.exposed_ps)?;
    Some((worst, worst.exposed_share_percent?))
}

/// Compute of a device that hides nothing yet, in each step: only it can hide more.
fn free_compute(facts: &HintFacts<'_>, core: &CoreOverlap) -> Result<Picos, AnalysisError> {
    let free = |overlap: &OverlapReport| {
        let core = overlap.cores.iter().find(|own| own.group == core.group)?;
        Some(
            core.compute_ps
                .saturating_sub(core.overlapped_ps.unwrap_or(0))
                .max(0) as f64,
        )
    };
    Ok(Picos::from_ps(facts.each_step::<Overlap>(free)? as i64))
}

fn exposed(facts: &HintFacts<'_>) -> RuleResult {
    let overlap = facts.report::<Overlap>()?;
    let limit = facts.limit(&EXPOSED);
    let Some((worst, share)) = most_exposed(&overlap.cores).filter(|(_, share)| *share >= limit)
    else {
        return Ok(None);
    };
    let free = free_compute(facts, worst)?;
    let collectives = facts.select(|row| row.collective.is_some())?;
    let hidden = worst.overlap_ratio_percent.map_or_else(
        || "how much is hidden is not recorded".to_owned(),
        |part| format!("compute hides {:.1} of all communication", Percent(part)),
    );
    Ok(Some(Finding {
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
                free.ps() as f64,
                "step, on the same device",
            ),
        ],
        advice: flags(facts, &collectives),
        ops: collectives.ops(),
        saving: PossibleSaving::Replay {
            changes: vec![Scenario::Collectives(0.0)],
            at_most: Some(free),
        },
        ..Finding::default()
    }))
}

/// What is known of the flags that make the synchronous ones of these collectives asynchronous on this chip.
fn flags(facts: &HintFacts<'_>, collectives: &OpSelection<'_>) -> String {
    let synchronous = collectives
        .rows
        .iter()
        .filter(|row| is_synchronous(facts, row));
    let kinds: BTreeSet<CollectiveKind> = synchronous.filter_map(|row| row.collective).collect();
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
    let share = facts.limit(&SYNCHRONOUS);
    let Some(found) = facts.heavy(&SYNCHRONOUS, |row| is_synchronous(facts, row))? else {
        return Ok(None);
    };
    let overlap = facts.report::<Overlap>()?;
    let free = most_exposed(&overlap.cores)
        .map(|(worst, _)| free_compute(facts, worst))
        .transpose()?;
    let changes = vec![Scenario::Ops {
        what: "synchronous collectives".into(),
        factors: found.vanish().into_iter().collect(),
    }];
    let saving = PossibleSaving::Replay {
        changes,
        at_most: free,
    };
    Ok(Some(Finding {
        advice: flags(facts, &found),
        ..found.finding("synchronous collectives", share, saving)
    }))
}

/// Whether an op is the one of a row of the ledger, whose name of the program has no id.
fn is_op_of(op: &OpRow, row: &CollectiveRow) -> bool {
    let program = row.program.as_deref().unwrap_or_default();
    let has_program = op
        .program
        .strip_prefix(program)
        .is_some_and(|id| id.is_empty() || id.starts_with('('));
    *row.op == *op.name && has_program
}

/// The ops of some rows of the ledger.
fn ops_of(facts: &HintFacts<'_>, rows: &[&CollectiveRow]) -> Result<Vec<OpId>, AnalysisError> {
    let mut by_op: BTreeMap<&str, Vec<&CollectiveRow>> = BTreeMap::new();
    for &row in rows {
        by_op.entry(&row.op).or_default().push(row);
    }
    Ok(facts
        .select(|op| {
            by_op
                .get(&*op.name)
                .is_some_and(|rows| rows.iter().any(|row| is_op_of(op, row)))
        })?
        .ops())
}

/// Whether the time of the transfer is known without that of waiting for other devices.
fn is_timed_alone(row: &CollectiveRow) -> bool {
    let all_captured = row
        .message
        .participants
        .is_some_and(|participants| participants <= row.devices as u64);
    row.skew.is_some() && all_captured && !row.is_async && !row.is_fused
}

fn slow_links(facts: &HintFacts<'_>) -> RuleResult {
    let ledger = facts.report::<Collectives>()?;
    let (limit, least) = (facts.limit(&LINK_SHARE), facts.limit(&LINK_BYTES));
    if ledger.rows.iter().all(|row| row.share.is_none()) {
        let why = "the speed of the links or the size of the messages is not known: name the chip with --device-spec";
        return Err(AnalysisError::NotApplicable(why.to_owned()));
    }
    if !ledger.rows.iter().any(is_timed_alone) {
        let why = "no collective shows how long it transferred without waiting for other devices: that needs synchronous \
                   ones, recorded on all devices of a group";
        return Err(AnalysisError::NotApplicable(why.to_owned()));
    }
    // Even on the layout with fewest links.
    let slow = |row: &&CollectiveRow| {
        let large = row.message.bytes.is_some_and(|bytes| bytes as f64 >= least);
        large
            && is_timed_alone(row)
            && row
                .share
                .as_ref()
                .is_some_and(|share| share.high_percent < limit)
    };
    let rows: Vec<&CollectiveRow> = ledger.rows.iter().filter(slow).collect();
    let Some(first) = rows.iter().max_by_key(|row| row.exposed_ps) else {
        return Ok(None);
    };
    let high = first.share.as_ref().map_or(0.0, |share| share.high_percent);
    let ops = ops_of(facts, &rows)?;
    let changes = rows.iter().filter_map(|row| {
        // Waiting is no part of what the replay shortens.
        let factor = row.share.as_ref()?.high_percent / 100.0;
        Some(
            ops_of(facts, &[*row])
                .ok()?
                .into_iter()
                .map(move |op| (op, factor))
                .collect::<Vec<_>>(),
        )
    });
    let saving = PossibleSaving::ops(
        "collectives at link speed",
        changes.flatten().collect::<Vec<_>>(),
    );
    Ok(Some(Finding {
        statement: format!(
            "{} of {} collectives reach less than {limit} % of the links even after the last device has joined; {} at \
             most {high:.1}",
            rows.len(),
            ledger.rows.len(),
            first.op,
            high = Percent(high)
        ),
        evidence: vec![
            HintEvidence::percent(
                format!("speed of {}", first.op),
                high,
                if ledger.links.recorded {
                    "recorded speed of the fewest links that it can use"
                } else {
                    "published speed of the fewest links that it can use"
                },
                Some(limit),
            )
            .by(if ledger.links.recorded {
                Provenance::Profile
            } else {
                Provenance::AssumedPeak
            }),
        ],
        ops,
        saving,
        ..Finding::default()
    }))
}

fn small(facts: &HintFacts<'_>) -> RuleResult {
    let ledger = facts.report::<Collectives>()?;
    if ledger.rows.iter().all(|row| row.message.bytes.is_none()) {
        return Err(AnalysisError::NotApplicable(
            "the size of no message is known".to_owned(),
        ));
    }
    let (most, limit) = (facts.limit(&SMALL_BYTES), facts.limit(&SMALL_COUNT));
    let is_small =
        |row: &&CollectiveRow| row.message.bytes.is_some_and(|bytes| (bytes as f64) < most);
    let rows: Vec<&CollectiveRow> = ledger.rows.iter().filter(is_small).collect();
    let step = facts.step()?;
    let per_step = |of: fn(&CollectiveRow) -> f64| {
        facts.each_step::<Collectives>(|ledger| {
            let sum: f64 = ledger.rows.iter().filter(is_small).map(of).sum();
            Some(sum / ledger.devices.max(1) as f64)
        })
    };
    let count = per_step(|row| row.executions)?;
    if count < limit {
        return Ok(None);
    }
    // Together they cost one latency instead of one each; what is exposed of them can go.
    let exposed = per_step(|row| row.exposed_ps as f64)?;
    Ok(Some(Finding {
        statement: format!(
            "{count:.0} collectives of less than {} KiB in each step",
            most / 1024.0
        ),
        evidence: vec![
            HintEvidence::count(
                "small collectives",
                count,
                format!("step ({}), each device", step.of),
                Some(limit),
            ),
            HintEvidence::time("their exposed time", exposed, "step, mean over devices"),
        ],
        ops: ops_of(facts, &rows)?,
        saving: PossibleSaving::PerStep(Picos::from_ps(
            (exposed * (1.0 - 1.0 / count.max(1.0))) as i64,
        )),
        ..Finding::default()
    }))
}

fn dominated(facts: &HintFacts<'_>) -> RuleResult {
    let overlap = facts.report::<Overlap>()?;
    let limit = facts.limit(&DOMINATED);
    let Some((worst, share)) = most_exposed(&overlap.cores).filter(|(_, share)| *share >= limit)
    else {
        return Ok(None);
    };
    if worst.compute_ps >= worst.comm_total_ps {
        return Ok(None);
    }
    let more = worst.comm_total_ps as f64 / worst.compute_ps.max(1) as f64;
    Ok(Some(Finding {
        statement: format!(
            "{} communicates {more:.1} times as long as it computes: overlap alone cannot hide it",
            worst.core
        ),
        evidence: vec![
            HintEvidence::percent(
                "exposed communication",
                share,
                format!("window of {}", worst.core),
                Some(limit),
            ),
            HintEvidence::number(
                "communication",
                more,
                "compute of the same device",
                Some(1.0),
            ),
        ],
        ops: facts.select(|row| row.collective.is_some())?.ops(),
        ..Finding::default()
    }))
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
    let limit = facts.limit(&EXCHANGE);
    let share = 100.0 * exposed.fraction_of(windows).unwrap_or(0.0);
    if exposed == Picos::ZERO || share < limit {
        return Ok(None);
    }
    let found = facts.select(|row| row.collective.is_some_and(|kind| kinds.contains(&kind)))?;
    Ok(Some(Finding {
        statement: format!(
            "all-to-all exchanges are exposed for {share:.1} of device time ({})",
            found.names(),
            share = Percent(share)
        ),
        evidence: vec![HintEvidence::percent(
            "exposed exchanges",
            share,
            "device time",
            Some(limit),
        )],
        ops: found.ops(),
        saving: PossibleSaving::ops("exchanges", found.vanish()),
        ..Finding::default()
    }))
}

/// What a collective does, where two that do the same give the same: names are
/// unique in a program and never assigned twice.
type SentData<'a> = (&'a str, CollectiveKind, Vec<&'a str>, [&'a str; 3]);

/// Patterns of which two with the same operand are one too many; who permutes or
/// exchanges the same data twice may send it elsewhere.
const REPEATABLE: [CollectiveKind; 3] = [
    CollectiveKind::AllGather,
    CollectiveKind::AllReduce,
    CollectiveKind::ReduceScatter,
];

fn sent<'a>(facts: &'a HintFacts<'_>, row: &'a OpRow) -> Option<SentData<'a>> {
    let model = facts.cx.model;
    let text = model.str(model.op(row.op?).hlo_text?);
    let hlo = HloText::parse(text).filter(|hlo| !hlo.opcode.ends_with("-done"))?;
    let operands: Vec<&str> = hlo
        .operand_list()
        .iter()
        .map(|operand| operand.name)
        .collect();
    // A program that is computed a second time to save memory sends twice on purpose (K24).
    let is_whole =
        !operands.is_empty() && operands.iter().all(|name| !name.is_empty()) && !row.is_remat;
    let attribute = |name: &str| hlo.attribute(name).unwrap_or_default();
    let how = [
        hlo.shape,
        attribute("replica_groups"),
        attribute("to_apply"),
    ];
    let kind = row.collective.filter(|kind| REPEATABLE.contains(kind))?;
    is_whole.then_some((&row.program, kind, operands, how))
}

fn twice(facts: &HintFacts<'_>) -> RuleResult {
    let collectives = facts.select(|row| {
        row.collective
            .is_some_and(|kind| REPEATABLE.contains(&kind))
    })?;
    let mut same: BTreeMap<SentData<'_>, Vec<&OpRow>> = BTreeMap::new();
    for row in &collectives.rows {
        if let Some(key) = sent(facts, row) {
            same.entry(key).or_default().push(*row);
        }
    }
    if same.is_empty() && !collectives.rows.is_empty() {
        return Err(AnalysisError::NotApplicable(
            "no collective has HLO text that shows what it sends".to_owned(),
        ));
    }
    let ledger = facts.report::<Collectives>()?;
    let exposed = |row: &OpRow| {
        ledger
            .rows
            .iter()
            .find(|other| is_op_of(row, other))
            .map_or(0, |row| row.exposed_ps)
    };
    // One of each stays.
    let extra: Vec<&OpRow> = same
        .values()
        .flat_map(|rows| rows.iter().skip(1).copied())
        .collect();
    let time = extra.iter().map(|row| exposed(row)).sum::<Picos>().ps();
    let (total, limit) = (facts.ops()?.total_time_ps, facts.limit(&TWICE));
    let share = if total > 0 {
        100.0 * time as f64 / total as f64
    } else {
        0.0
    };
    let longest = same
        .iter()
        .filter(|(_, rows)| rows.len() > 1)
        .max_by_key(|(_, rows)| rows.iter().map(|row| exposed(row)).sum::<Picos>());
    let Some((key, rows)) = longest.filter(|_| share >= limit) else {
        return Ok(None);
    };
    let names: Vec<&str> = rows.iter().take(3).map(|row| &*row.name).collect();
    let ops: Vec<OpId> = extra.iter().filter_map(|row| row.op).collect();
    Ok(Some(Finding {
        statement: format!(
            "{} send the same data (%{}): the repeated transfers are exposed for {share:.1} of device time",
            names.join(" and "),
            key.2.join(", %"),
            share = Percent(share)
        ),
        evidence: vec![
            HintEvidence::percent(
                "exposed time of the repeated transfers",
                share,
                "device time",
                Some(limit),
            ),
            HintEvidence::count(
                "collectives that repeat another",
                extra.len() as f64,
                "all programs",
                Some(1.0),
            ),
        ],
        saving: PossibleSaving::ops("repeated collectives", ops.iter().map(|&op| (op, 0.0))),
        ops,
        ..Finding::default()
    }))
}

fn dcn_bound(facts: &HintFacts<'_>) -> RuleResult {
    let report = facts.report::<Dcn>()?;
    let (stall_limit, speed_limit) = (facts.limit(&DCN_STALL), facts.limit(&DCN_BANDWIDTH) * 1e9);
    let worst = report.devices.iter().max_by(|a, b| {
        a.stall_percent
            .unwrap_or(0.0)
            .total_cmp(&b.stall_percent.unwrap_or(0.0))
    });
    let Some(worst) = worst else {
        let why =
            "only hosts recorded messages between slices: whether devices waited is not known";
        return Err(AnalysisError::NotApplicable(why.to_owned()));
    };
    let stall = worst.stall_percent.unwrap_or(0.0);
    let model = facts.cx.model;
    let hosts = facts
        .cx
        .tensor_cores()
        .into_iter()
        .map(|core| model.group(core).source)
        .collect::<BTreeSet<_>>()
        .len();
    let per_host = report.devices.len() as f64 / hosts.max(1) as f64;
    let required = report
        .collectives
        .iter()
        .filter_map(|row| Some((row, row.required_bandwidth? * per_host)));
    let required = required.max_by(|a, b| a.1.total_cmp(&b.1));
    let too_fast = required
        .as_ref()
        .is_some_and(|(_, rate)| *rate > speed_limit);
    if stall < stall_limit && !too_fast {
        return Ok(None);
    }
    let mut statement = format!(
        "{} spends {stall:.1} of its window in transfers between slices",
        worst.device,
        stall = Percent(stall)
    );
    let mut evidence = vec![HintEvidence::percent(
        "in send, recv and their done ops",
        stall,
        format!("window of {}", worst.device),
        Some(stall_limit),
    )];
    if let Some((row, rate)) = required {
        if too_fast {
            statement = format!(
                "{statement}; {} leaves the network so little time that a host needs {:.1} GB/s",
                row.rendezvous,
                rate / 1e9
            );
        }
        let what = "bytes that a host sends in a collective per second of the time that it has";
        evidence.push(
            HintEvidence::number(what, rate / 1e9, "GB/s", Some(speed_limit / 1e9))
                .by(Provenance::Derived),
        );
    }
    let is_dcn = |row: &OpRow| {
        matches!(
            row.category.trim_start_matches("host "),
            "send" | "send-done" | "recv" | "recv-done"
        )
    };
    let ops = facts.select(is_dcn)?;
    let stall_of = |report: &DcnReport| {
        let device = report
            .devices
            .iter()
            .find(|own| own.device == worst.device)?;
        Some(device.stall_ps as f64)
    };
    let each = Picos::from_ps(facts.each_step::<Dcn>(stall_of)? as i64);
    let changes = vec![Scenario::Ops {
        what: "transfers between slices".into(),
        factors: ops.vanish().into_iter().collect(),
    }];
    Ok(Some(Finding {
        statement,
        evidence,
        ops: ops.ops(),
        saving: PossibleSaving::Replay {
            changes,
            at_most: Some(each),
        },
        ..Finding::default()
    }))
}
