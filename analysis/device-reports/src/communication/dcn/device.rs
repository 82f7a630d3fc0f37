//! Send and recv ops of collectives between slices.

use std::collections::HashMap;

use facts::TimeWindow;
use facts::prelude::*;
use facts::window::{counts, part_in};
use hardware::limits::ratio;
use hlo::HloText;

use super::report::{DcnCollective, DcnDevice, DcnTimes};

/// Which of the four ops it is.
#[derive(Clone, Copy, PartialEq)]
enum TransferPart {
    Send,
    SendDone,
    Recv,
    RecvDone,
}

/// Information in the text of an op.
struct DcnOp {
    part: TransferPart,
    /// Index of the collective.
    key: usize,
}

/// One collective of one program.
#[derive(Debug, Default)]
struct DcnTransfer {
    rendezvous: String,
    program: Option<ProgramId>,
    transfer: Option<String>,
    slices: Option<u64>,
    received: Option<u64>,
}

/// The data that devices recorded.
#[derive(Default)]
pub(super) struct OnDevices {
    pub collectives: Vec<DcnCollective>,
    pub devices: Vec<DcnDevice>,
    pub unmatched: u64,
}

/// The ops of collectives between slices, recognised by attributes that the compiler adds.
#[derive(Default)]
struct KnownTransfers {
    ops: HashMap<OpId, DcnOp>,
    collectives: Vec<DcnTransfer>,
}

const RENDEZVOUS: &str = "_xla_host_transfer_rendezvous";
const TRANSFER: &str = "_xla_megascale_transfer_type";
const TARGET: &str = "_xla_megascale_target";
const ANY: &str = "megascale";

impl KnownTransfers {
    fn new(model: &TraceModel, classes: &OpClasses) -> Self {
        let mut candidates: Vec<(OpId, TransferPart, &str, HloText<'_>)> = Vec::new();
        for op in model.op_ids() {
            let category = classes.category(op);
            let category = category.strip_prefix("host ").unwrap_or(category);
            let part = match category {
                "send" => TransferPart::Send,
                "send-done" => TransferPart::SendDone,
                "recv" => TransferPart::Recv,
                "recv-done" => TransferPart::RecvDone,
                _ => continue,
            };
            let Some(text) = model.op(op).hlo_text.map(|text| model.str(text)) else {
                continue;
            };
            candidates.extend(HloText::parse(text).map(|hlo| (op, part, text, hlo)));
        }
        let mut known = Self::default();
        let mut by_name: HashMap<(Option<ProgramId>, &str), usize> = HashMap::new();
        let mut by_channel: HashMap<(Option<ProgramId>, u64), usize> = HashMap::new();
        let mut by_op: HashMap<(Option<ProgramId>, &str), usize> = HashMap::new();
        let begins = |part: TransferPart| matches!(part, TransferPart::Send | TransferPart::Recv);
        // Only the op that starts a transfer identifies it reliably.
        for &(op, part, text, hlo) in candidates.iter().filter(|(_, part, ..)| begins(*part)) {
            if !text.contains(ANY) {
                continue;
            }
            let program = model.op(op).program;
            let name = attribute(text, RENDEZVOUS).unwrap_or(hlo.name);
            let key = *by_name.entry((program, name)).or_insert_with(|| {
                known.collectives.push(DcnTransfer {
                    rendezvous: name.to_owned(),
                    program,
                    ..DcnTransfer::default()
                });
                known.collectives.len() - 1
            });
            if let Some(collective) = known.collectives.get_mut(key) {
                collective.transfer = collective
                    .transfer
                    .take()
                    .or(attribute(text, TRANSFER).map(str::to_owned));
                collective.slices = collective
                    .slices
                    .or_else(|| slices(attribute(text, TARGET)?));
            }
            if let Some(channel) = hlo.channel_id() {
                by_channel.insert((program, channel), key);
            }
            by_op.insert((program, hlo.name), key);
            known.ops.insert(op, DcnOp { part, key });
        }
        for &(op, part, text, hlo) in candidates.iter().filter(|(_, part, ..)| !begins(*part)) {
            let program = model.op(op).program;
            let operand = hlo.operand_list().first().map(|operand| operand.name);
            let named = attribute(text, RENDEZVOUS).and_then(|name| by_name.get(&(program, name)));
            let awaited = operand.and_then(|name| by_op.get(&(program, name)));
            let channel = hlo
                .channel_id()
                .and_then(|channel| by_channel.get(&(program, channel)));
            let Some(&key) = named.or(awaited).or(channel) else {
                continue;
            };
            if let Some(collective) = known
                .collectives
                .get_mut(key)
                .filter(|_| part == TransferPart::RecvDone)
            {
                collective.received = collective.received.or(hlo
                    .result()
                    .and_then(|shape| shape.bytes())
                    .filter(|&bytes| bytes > 0));
            }
            known.ops.insert(op, DcnOp { part, key });
        }
        known
    }
}

/// The value of a frontend attribute, with or without quotes.
fn attribute<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = text.split_once(name)?;
    let value = after.strip_prefix('=')?;
    match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => value.split([',', '}']).next(),
    }
}

/// Number of slices in `{1,2}x{0:3}`: the entries of the first braces, ranges included.
fn slices(target: &str) -> Option<u64> {
    let inside = target.trim().strip_prefix('{')?.split_once('}')?.0;
    let counts = inside.split(',').map(|part| match part.split_once(':') {
        Some((first, last)) => {
            let first = first.trim().parse::<u64>().ok()?;
            let last = last.trim().parse::<u64>().ok()?;
            last.checked_sub(first)?.checked_add(1)
        }
        None => part.trim().parse::<u64>().ok().map(|_| 1),
    });
    counts.sum()
}

/// Bytes that one device transmits, by the bytes received and the number of slices.
pub(super) fn transmitted(transfer: &str, received: f64, slices: u64) -> Option<f64> {
    let n = slices as f64;
    if transfer == "ONE_TO_ONE" {
        return Some(received);
    }
    if slices == 0 {
        return None;
    }
    Some(match transfer {
        "ALL_GATHER" | "ALL_TO_ALL" => (n - 1.0) / n * received,
        "ALL_REDUCE" => 2.0 * (n - 1.0) / n * received,
        "REDUCE_SCATTER" => (n - 1.0) * received,
        _ => return None,
    })
}

/// A collective in flight on a core.
#[derive(Default)]
struct OpenTransfer {
    send: Option<TimeRange>,
    send_done: Option<TimeRange>,
    recv: Option<TimeRange>,
}

/// Sums over executions.
#[derive(Clone, Copy, Debug, Default)]
struct TransferSums {
    /// Executions whose `recv-done` begins in the scope, and their times.
    occurrences: u64,
    times: DcnTimes,
    window_ps: Picos,
    /// Time of ops, as far as it lies in the scope.
    stall_ps: Picos,
}

pub(super) fn collect(cx: &Context<'_>, classes: &OpClasses) -> Result<OnDevices> {
    let known = KnownTransfers::new(cx.model, classes);
    let mut out = OnDevices::default();
    if known.ops.is_empty() {
        return Ok(out);
    }
    let mut sums: BTreeMap<usize, TransferSums> = BTreeMap::new();
    for core in cx.tensor_cores() {
        let Some(window) = cx.window(core)? else {
            continue;
        };
        let ops = ops(cx, core, window, &known);
        let busy: IntervalSet = ops.iter().map(|op| op.range).collect();
        let stall = busy.measure_in(window.measured);
        if stall == Picos::ZERO && !ops.iter().any(|op| op.counts) {
            continue;
        }
        let window_ps = window.dur();
        let mut by_collective: BTreeMap<usize, TransferSums> = BTreeMap::new();
        out.unmatched += walk(&ops, &busy, &mut by_collective);
        for op in ops.iter().filter(|op| op.inside > Picos::ZERO) {
            let sum = by_collective.entry(op.is.key).or_default();
            sum.stall_ps += op.inside;
        }
        out.devices.push(DcnDevice {
            device: cx.model.device_name(core),
            window_ps,
            stall_ps: stall,
            stall_percent: Percent::of(stall, window_ps),
            occurrences: by_collective.values().map(|sums| sums.occurrences).sum(),
        });
        for (key, one) in by_collective {
            let sum = sums.entry(key).or_default();
            sum.occurrences += one.occurrences;
            sum.window_ps += window_ps;
            sum.stall_ps += one.stall_ps;
            sum.times = sum.times.plus(&one.times);
        }
    }
    out.collectives = rows(cx.model, &known, &sums);
    Ok(out)
}

/// An execution of an op of collectives between slices.
struct TransferOp<'a> {
    is: &'a DcnOp,
    /// By the clock that timed it.
    range: TimeRange,
    /// The part of it in the scope.
    inside: Picos,
    /// Whether it counts in the scope: it begins there.
    counts: bool,
}

/// All of them on one core.
fn ops<'a>(
    cx: &Context<'_>,
    core: GroupId,
    window: TimeWindow,
    known: &'a KnownTransfers,
) -> Vec<TransferOp<'a>> {
    let slices = cx.model.slices_of_kind(core, TrackKind::Ops);
    let mut ops: Vec<_> = slices
        .filter_map(|slice| Some((slice, known.ops.get(&slice.op()?)?)))
        .collect();
    ops.sort_by_key(|(slice, _)| (slice.measured_range().start, slice.id()));
    ops.into_iter()
        .map(|(slice, is)| TransferOp {
            is,
            range: slice.measured_range(),
            inside: part_in(cx, window, slice),
            counts: counts(cx, window, slice),
        })
        .collect()
}

/// Joins the four ops of each execution, and adds up those whose `recv-done` counts; returns the number of ends without a
/// start.
fn walk(
    ops: &[TransferOp<'_>],
    busy: &IntervalSet,
    sums: &mut BTreeMap<usize, TransferSums>,
) -> u64 {
    let mut open: HashMap<usize, OpenTransfer> = HashMap::new();
    let mut unmatched = 0;
    for &TransferOp {
        is: op,
        range,
        counts,
        ..
    } in ops
    {
        let state = open.entry(op.key).or_default();
        match op.part {
            TransferPart::Send => state.send = Some(range),
            TransferPart::Recv => state.recv = Some(range),
            TransferPart::SendDone if state.send.is_some() => state.send_done = Some(range),
            TransferPart::SendDone if !counts => {}
            TransferPart::SendDone => match sums.get_mut(&op.key) {
                // The program finished receiving before it waited for its send.
                Some(sum) => {
                    sum.times.send_done_ps += range.dur().as_ps_f64();
                    sum.times.stall_ps += range.dur().as_ps_f64();
                }
                None => unmatched += 1,
            },
            TransferPart::RecvDone => {
                let OpenTransfer {
                    send,
                    send_done,
                    recv,
                } = std::mem::take(state);
                if !counts {
                    continue;
                }
                let Some(send) = send else {
                    unmatched += 1;
                    continue;
                };
                let waiting = TimeRange::new(send.start, range.start.max(send.start));
                let length =
                    |range: Option<TimeRange>| range.map_or(0.0, |range| range.dur().as_ps_f64());
                let send_ps = length(Some(send));
                let send_done_ps = length(send_done);
                let recv_ps = length(recv);
                let recv_done_ps = length(Some(range));
                let sum = sums.entry(op.key).or_default();
                sum.occurrences += 1;
                sum.times = sum.times.plus(&DcnTimes {
                    observed_ps: (range.end - send.start).as_ps_f64(),
                    slack_ps: (waiting.dur() - busy.measure_in(waiting)).as_ps_f64(),
                    stall_ps: send_ps + send_done_ps + recv_ps + recv_done_ps,
                    send_ps,
                    send_done_ps,
                    recv_ps,
                    recv_done_ps,
                });
            }
        }
    }
    unmatched
}

impl DcnTimes {
    /// Each time, joined with that of `other`.
    fn with(&self, other: &Self, join: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            observed_ps: join(self.observed_ps, other.observed_ps),
            slack_ps: join(self.slack_ps, other.slack_ps),
            stall_ps: join(self.stall_ps, other.stall_ps),
            send_ps: join(self.send_ps, other.send_ps),
            send_done_ps: join(self.send_done_ps, other.send_done_ps),
            recv_ps: join(self.recv_ps, other.recv_ps),
            recv_done_ps: join(self.recv_done_ps, other.recv_done_ps),
        }
    }

    fn plus(&self, other: &Self) -> Self {
        self.with(other, |own, other| own + other)
    }

    fn per(&self, count: u64) -> Self {
        self.with(self, |sum, _| sum / count.max(1) as f64)
    }
}

fn rows(
    model: &TraceModel,
    known: &KnownTransfers,
    sums: &BTreeMap<usize, TransferSums>,
) -> Vec<DcnCollective> {
    let known = sums
        .iter()
        .filter_map(|(&key, sums)| Some((known.collectives.get(key)?, sums)));
    let mut rows: Vec<DcnCollective> = known
        .map(|(collective, sums)| {
            let mean = (sums.occurrences > 0).then(|| sums.times.per(sums.occurrences));
            let received = collective.received.map(|bytes| bytes as f64);
            let transfer = collective.transfer.as_deref();
            let slices = if transfer == Some("ONE_TO_ONE") {
                Some(2)
            } else {
                collective.slices
            };
            let bytes = transfer
                .zip(received)
                .zip(slices)
                .and_then(|((t, bytes), n)| transmitted(t, bytes, n));
            let rate =
                |ps: fn(&DcnTimes) -> f64| ratio(bytes, mean.as_ref().map(|mean| ps(mean) / 1e12));
            DcnCollective {
                rendezvous: collective.rendezvous.clone(),
                program: collective
                    .program
                    .map(|program| model.program_title(program)),
                transfer: collective.transfer.clone(),
                slices,
                occurrences: sums.occurrences,
                stall_ps: sums.stall_ps,
                stall_percent: Percent::of(sums.stall_ps, sums.window_ps),
                mean,
                transmitted_bytes: bytes,
                required_bandwidth: rate(|mean| mean.slack_ps),
                observed_bandwidth: rate(|mean| mean.observed_ps),
            }
        })
        .collect();
    rows.sort_by(|a, b| {
        b.stall_ps
            .cmp(&a.stall_ps)
            .then_with(|| (&a.rendezvous, &a.program).cmp(&(&b.rendezvous, &b.program)))
    });
    rows
}

#[cfg(test)]
mod unit {
    use super::*;

    /// Four slices, 1024 bytes received, as `XProf` computes them.
    #[test]
    fn counts_bytes_that_cross_the_network() {
        let bytes = |transfer| transmitted(transfer, 1024.0, 4);
        assert_eq!(bytes("ONE_TO_ONE"), Some(1024.0));
        assert_eq!(bytes("ALL_GATHER"), Some(768.0));
        assert_eq!(bytes("ALL_TO_ALL"), Some(768.0));
        assert_eq!(bytes("ALL_REDUCE"), Some(1536.0));
        assert_eq!(bytes("REDUCE_SCATTER"), Some(3072.0));
        assert_eq!(
            (bytes("UNKNOWN"), transmitted("ALL_REDUCE", 1024.0, 0)),
            (None, None)
        );
    }

    #[test]
    fn targets_list_slices_first() {
        assert_eq!(slices("{1,2}x{0:3}"), Some(2));
        assert_eq!(slices("{1,2,3,4}x{0:7}"), Some(4));
        assert_eq!(slices("{0:3}x{0}"), Some(4));
        for odd in [
            "",
            "{}",
            "{a}x{0}",
            "{9:1}",
            "1,2",
            "{18446744073709551615:0}",
        ] {
            assert_eq!(slices(odd), None, "{odd}");
        }
        let text = "send(%p), frontend_attributes={_xla_host_transfer_rendezvous=\"a.1\",_xla_megascale_target={1}x{0}}";
        assert_eq!(
            (attribute(text, RENDEZVOUS), attribute(text, TRANSFER)),
            (Some("a.1"), None)
        );
    }
}
