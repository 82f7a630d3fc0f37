//! Rules about what devices send each other: the speed of links, sizes of messages, and data that is sent twice.

use super::prelude::*;
use device_reports::communication::dcn::{DcnDevice, DcnReport};
use device_reports::{CollectiveRow, Collectives, Dcn};
use hlo::HloText;

pub(super) static RULES: &[Rule] = &[
    rule!(
        "K03",
        "Collectives are far below the speed of the links",
        Medium,
        [LINK_SHARE, LINK_BYTES],
        slow_links
    ),
    rule!(
        "K04",
        "Many small collectives",
        Medium,
        [SMALL_COUNT, SMALL_BYTES],
        small
    ),
    rule!("K05", "The same data is sent twice", Medium, [TWICE], twice),
    rule!(
        "K10",
        "Slices wait for the data-center network",
        High,
        [DCN_STALL, DCN_BANDWIDTH],
        dcn_bound
    ),
];

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
    let limit = facts.limit(&LINK_SHARE);
    let least = facts.limit(&LINK_BYTES);
    if ledger.rows.iter().all(|row| row.share.is_none()) {
        let why = "the speed of the links or the size of the messages is not known: name the chip with --device-spec";
        return Err(why.into());
    }
    if !ledger.rows.iter().any(is_timed_alone) {
        let why = "no collective shows how long it transferred without waiting for other devices: that needs synchronous \
                   ones, recorded on all devices of a group";
        return Err(why.into());
    }
    // Even on the layout with fewest links.
    let slow = |row: &&CollectiveRow| {
        let large = row.message.bytes.is_some_and(|bytes| bytes as f64 >= least);
        large
            && is_timed_alone(row)
            && row
                .share
                .as_ref()
                .is_some_and(|share| share.high_percent.0 < limit)
    };
    let rows: Vec<&CollectiveRow> = ledger.rows.iter().filter(slow).collect();
    let first = rows
        .iter()
        .max_by_key(|row| row.exposed_ps)
        .ok_or(Nothing)?;
    let high = first
        .share
        .as_ref()
        .map_or(0.0, |share| share.high_percent.0);
    let ops = ops_of(facts, &rows)?;
    let changes = rows.iter().filter_map(|row| {
        // Waiting is no part of what the replay shortens.
        let factor = row.share.as_ref()?.high_percent.0 / 100.0;
        Some(
            ops_of(facts, &[*row])
                .ok()?
                .into_iter()
                .map(move |op| (op, factor))
                .collect::<Vec<_>>(),
        )
    });
    Ok(Finding {
        statement: format!(
            "{} of {} collectives {} less than {limit} % of the links even after the last device has joined; {} at \
             most {high:.1}",
            rows.len(),
            ledger.rows.len(),
            if rows.len() == 1 { "reaches" } else { "reach" },
            short_name(&first.op),
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
        saving: PossibleSaving::ops(
            "collectives at link speed",
            changes.flatten().collect::<Vec<_>>(),
        ),
        ..Finding::default()
    })
}

fn small(facts: &HintFacts<'_>) -> RuleResult {
    let ledger = facts.report::<Collectives>()?;
    if ledger.rows.iter().all(|row| row.message.bytes.is_none()) {
        return Err("the size of no message is known".into());
    }
    let most = facts.limit(&SMALL_BYTES);
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
    let limit = facts.reached(&SMALL_COUNT, count)?;
    // Together they cost one latency instead of one each; what is exposed of them can go.
    let exposed = per_step(|row| row.exposed_ps.as_ps_f64())?;
    Ok(Finding {
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
        saving: PossibleSaving::per_step(exposed * (1.0 - 1.0 / count.max(1.0))),
        ..Finding::default()
    })
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
    let same = grouped(
        collectives
            .rows
            .iter()
            .filter_map(|row| Some((sent(facts, row)?, *row))),
    );
    if same.is_empty() && !collectives.rows.is_empty() {
        return Err("no collective has HLO text that shows what it sends".into());
    }
    let ledger = facts.report::<Collectives>()?;
    let devices = facts.devices()?;
    let exposed = |row: &OpRow| {
        let overlap = ledger.rows.iter().find(|other| is_op_of(row, other));
        overlap.map_or(Picos::ZERO, |overlap| {
            devices.part_of(row, overlap.exposed_ps)
        })
    };
    // One of each stays.
    let extra: Vec<&OpRow> = same
        .values()
        .flat_map(|rows| rows.iter().skip(1).copied())
        .collect();
    let limit = facts.limit(&TWICE);
    let share = devices.share(extra.iter().map(|row| exposed(row)).sum());
    let longest = same
        .iter()
        .filter(|(_, rows)| rows.len() > 1)
        .max_by_key(|(_, rows)| rows.iter().map(|row| exposed(row)).sum::<Picos>());
    let (key, rows) = longest.filter(|_| share.0 >= limit).ok_or(Nothing)?;
    let names = rows.iter().take(2).map(|row| short_name(&row.name));
    let ops: Vec<OpId> = extra.iter().filter_map(|row| row.op).collect();
    Ok(Finding {
        statement: format!(
            "{} send the same data (%{}): the repeated transfers are exposed for {share:.1} of {}",
            joined(names, " and "),
            short_name(&key.2.join(", %")),
            devices.time()
        ),
        evidence: vec![
            HintEvidence::percent(
                "exposed time of the repeated transfers",
                share.0,
                devices.time(),
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
    })
}

fn dcn_bound(facts: &HintFacts<'_>) -> RuleResult {
    let report = facts.report::<Dcn>()?;
    let stall_limit = facts.limit(&DCN_STALL);
    let speed_limit = facts.limit(&DCN_BANDWIDTH) * 1e9;
    let stall_of = |device: &DcnDevice| device.stall_percent.unwrap_or_default();
    let worst = report
        .devices
        .iter()
        .max_by(|a, b| stall_of(a).0.total_cmp(&stall_of(b).0));
    let Some(worst) = worst else {
        let why =
            "only hosts recorded messages between slices: whether devices waited is not known";
        return Err(why.into());
    };
    let stall = stall_of(worst);
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
        .filter_map(|row| Some((row, row.required_bandwidth? * per_host)))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let too_fast = required
        .as_ref()
        .is_some_and(|(_, rate)| *rate > speed_limit);
    if stall.0 < stall_limit && !too_fast {
        return Err(Nothing);
    }
    let mut statement = format!(
        "{} spends {stall:.1} of its window in transfers between slices",
        worst.device
    );
    let mut evidence = vec![HintEvidence::percent(
        "in send, recv and their done ops",
        stall.0,
        format!("window of {}", worst.device),
        Some(stall_limit),
    )];
    if let Some((row, rate)) = required {
        if too_fast {
            statement = format!(
                "{statement}; {} leaves the network so little time that a host needs {:.1} GB/s",
                short_name(&row.rendezvous),
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
            .find(|device| device.device == worst.device)?;
        Some(device.stall_ps.as_ps_f64())
    };
    let each = Picos::from_ps(facts.each_step::<Dcn>(stall_of)? as i64);
    let changes = vec![Scenario::Ops {
        what: "transfers between slices".into(),
        factors: ops.vanish().into_iter().collect(),
    }];
    Ok(Finding {
        statement,
        evidence,
        ops: ops.ops(),
        saving: PossibleSaving::Replay {
            changes,
            at_most: Some(each),
        },
        ..Finding::default()
    })
}

/// Whether an op is the one of a row of the ledger, whose name of the program has no id.
fn is_op_of(op: &OpRow, row: &CollectiveRow) -> bool {
    let has_program = op
        .program
        .strip_prefix(row.program.as_deref().unwrap_or_default())
        .is_some_and(|id| id.is_empty() || id.starts_with('('));
    *row.op == *op.name && has_program
}

/// The ops of some rows of the ledger.
fn ops_of(facts: &HintFacts<'_>, rows: &[&CollectiveRow]) -> Result<Vec<OpId>> {
    let by_op = grouped(rows.iter().map(|&row| (&*row.op, row)));
    Ok(facts
        .select(|op| {
            by_op
                .get(&*op.name)
                .is_some_and(|rows| rows.iter().any(|row| is_op_of(op, row)))
        })?
        .ops())
}
