//! A collective compared with its links.

use engine::Cell;
use facts::CollectiveTraffic;
use facts::prelude::*;
use hardware::ici::{ExpectedTime, GroupLayout, expected_time, link_seconds};

use super::links::LinkUse;
use crate::communication::overlap::{HiddenBy, Skew, Transfer};

/// One collective of one program.
#[engine::row(measured)]
#[derive(Default)]
pub struct CollectiveRow {
    /// `all-reduce`, …
    #[column]
    pub kind: String,
    /// Instruction that issues it.
    #[column]
    pub op: String,
    /// Program that contains it.
    #[column]
    pub program: Option<String>,
    /// Line of source that it comes from.
    #[column]
    pub source: Option<String>,
    /// Whether it has a start and a done op.
    pub is_async: bool,
    /// Whether it is fused with other work: compute inside it is not visible.
    pub is_fused: bool,
    /// Devices that executed it.
    pub devices: usize,
    /// Executions over all devices.
    #[column("Times")]
    pub occurrences: u64,
    /// Executions over all devices, with the parts of those that a border of the scope cuts.
    #[serde(skip)]
    pub executions: f64,
    /// Message size, participants, and bytes that each must send in one execution.
    #[serde(flatten)]
    #[column(nested)]
    pub message: Arc<CollectiveTraffic>,
    /// Mean time in flight or of the op, ps.
    pub mean_time_ps: Option<f64>,
    /// Mean time of the transfer itself, without waiting for other devices if that time is known, ps.
    #[column(with = |row| rounded(row.transfer_ps))]
    pub transfer_ps: Option<f64>,
    /// Message ÷ mean time, bytes/s.
    #[serde(rename = "algorithm_bandwidth_bytes_per_second")]
    #[column("Alg. bandwidth", derived)]
    pub algorithm_bandwidth: Option<f64>,
    /// Sent ÷ mean time, bytes/s: comparable to link speed.
    #[serde(rename = "bus_bandwidth_bytes_per_second")]
    #[column(derived)]
    pub bus_bandwidth: Option<f64>,
    /// How long the transfer should take.
    #[column("At best", peak, id = "expected_least_ps", with = |row| rounded(row.expected.map(|time| time.least_seconds * 1e12)))]
    #[column("Usual", peak, id = "expected_usual_ps", with = |row| rounded(row.expected.map(|time| time.usual_seconds * 1e12)))]
    pub expected: Option<ExpectedTime>,
    /// How close the transfer comes to the published speed of the links that it can use.
    #[column(nested)]
    pub share: Option<CollectiveShare>,
    /// Sum of the times in flight or of the op.
    #[column("In flight")]
    pub time_ps: Picos,
    /// The part of it while the core computed.
    #[column]
    pub hidden_ps: Picos,
    /// The rest.
    #[column]
    #[column("of in flight", derived, id = "exposed_of_time_percent", with = |row| Percent::of(row.exposed_ps, row.time_ps))]
    pub exposed_ps: Picos,
    /// Time in which a core waited in it.
    #[column]
    pub blocking_ps: Picos,
    /// In flight while the core neither computed nor was in a collective.
    #[column("In flight while idle")]
    pub idle_ps: Picos,
    /// The compute that hid it, most time first.
    #[column("Hidden most by", with = |row| Some(&row.hidden_most_by()?.op))]
    #[column("for", id = "hidden_by_ps", with = |row| Some(row.hidden_most_by()?.time_ps))]
    pub hidden_by: Option<Vec<HiddenBy>>,
    /// How long devices waited for each other.
    #[column(nested)]
    pub skew: Option<Arc<Skew>>,
    /// Notes on this collective.
    #[column(inferred, with = Self::remarks_text)]
    pub remarks: Vec<Remark>,
}

/// A share of the published link speed, as a range over the unknown layout.
#[engine::row(peak)]
#[derive(Copy)]
pub struct CollectiveShare {
    /// On the layout with the most links.
    #[column("Of links", id = "links_low_percent")]
    pub low_percent: Percent,
    /// On the layout with the fewest links that is not ruled out.
    #[column("Up to", id = "links_high_percent")]
    pub high_percent: Percent,
}

impl CollectiveShare {
    /// The share of several transfers, each weighted by its time.
    pub(super) fn weighted(shares: impl Iterator<Item = (Self, f64)>) -> Option<Self> {
        let mut low = 0.0;
        let mut high = 0.0;
        let mut time = 0.0;
        for (share, weight) in shares {
            low += share.low_percent.0 * weight;
            high += share.high_percent.0 * weight;
            time += weight;
        }
        (time > 0.0).then(|| Self {
            low_percent: Percent(low / time),
            high_percent: Percent(high / time),
        })
    }
}

/// A note on a collective.
#[engine::titled]
pub enum Remark {
    /// Compute inside it is not visible.
    Fused = "fused, may overlap inside",
    /// It has only one participant.
    Alone = "one participant: nothing is sent",
    /// The participants can be on one chip.
    OneChip = "may stay on one chip",
    /// The number of participants is not recorded.
    ParticipantsEstimated = "participants assumed: the devices captured",
    /// It cannot be guessed either: with one captured device, the other participants are unknown.
    ParticipantsUnknown,
    /// The amount of data moved depends on values at run time.
    UpperBound = "size is an upper bound",
    /// The latency of hops takes longer than the transfer of the bytes.
    LatencyBound = "bound by latency of hops",
    /// Every layout would take longer at the published speed.
    FasterThanLinks = "faster than these links can be: other grid, other size, or not over them",
    /// Nothing between start and done, in at least half of the executions.
    NothingBetween = "issued too late, or no independent work",
    /// In flight while the core idles, for more than a tenth of the time.
    IdleMeanwhile = "in flight while the core idles",
    /// Devices wait for each other longer than the transfer takes.
    Skewed = "waits for others more than it transfers",
}

/// A mean in whole picoseconds.
pub(super) fn rounded(mean_ps: Option<f64>) -> Option<Picos> {
    mean_ps.map(Picos::rounded)
}

impl CollectiveRow {
    pub(super) fn of(links: &LinkUse, transfer: &Transfer) -> Self {
        let message = transfer.message.clone().unwrap_or_default();
        let mean_time_ps =
            (transfer.executions > 0.0).then(|| transfer.time_ps.as_ps_f64() / transfer.executions);
        let shortest = transfer
            .skew
            .as_ref()
            .map(|skew| skew.transfer_ps.as_ps_f64());
        let transfer_ps = shortest.or(mean_time_ps).filter(|&time| time > 0.0);
        let per_second = |bytes: Option<f64>| {
            bytes
                .zip(mean_time_ps)
                .filter(|&(_, ps)| ps > 0.0)
                .map(|(b, ps)| b / (ps * 1e-12))
        };
        let mut out = Self {
            kind: transfer.kind.clone(),
            op: transfer.op.clone(),
            program: transfer.program.clone(),
            source: transfer.source.clone(),
            is_async: transfer.is_async,
            is_fused: transfer.is_fused,
            devices: transfer.cores,
            occurrences: transfer.occurrences,
            executions: transfer.executions,
            mean_time_ps,
            transfer_ps,
            algorithm_bandwidth: per_second(message.bytes.map(|bytes| bytes as f64)),
            bus_bandwidth: per_second(message.sent_bytes),
            time_ps: transfer.time_ps,
            hidden_ps: transfer.hidden_ps,
            exposed_ps: transfer.exposed_ps,
            blocking_ps: transfer.blocking_ps,
            idle_ps: transfer.idle_ps,
            hidden_by: transfer.hidden_by.clone(),
            skew: transfer.skew.clone(),
            message,
            ..Self::default()
        };
        let faster = out.compare(links, transfer);
        out.remark(links, transfer, faster);
        out
    }

    /// The compute that hid it for the longest time.
    fn hidden_most_by(&self) -> Option<&HiddenBy> {
        self.hidden_by.as_ref()?.first()
    }

    fn remarks_text(&self) -> Cell {
        Cell::text(joined(
            self.remarks.iter().map(|remark| remark.title()),
            "; ",
        ))
        .non_empty()
    }

    /// Whether it may have arrived long before its done op: cores hardly waited for it, so its speed is a lower bound.
    pub(super) fn is_lower_bound(&self) -> bool {
        self.is_async && self.blocking_ps.ps() < self.time_ps.ps() / 10
    }

    /// The share together with the time that it applies to.
    pub(super) fn weighted_share(&self) -> Option<(CollectiveShare, f64)> {
        Some((self.share?, self.transfer_ps? * self.executions))
    }

    /// Expected time and share of link speed; whether the transfer was faster than any layout.
    fn compare(&mut self, links: &LinkUse, transfer: &Transfer) -> bool {
        let (Some(kind), Some(bytes), Some(rate)) =
            (transfer.collective, self.message.bytes, links.rate)
        else {
            return false;
        };
        let all: Vec<(GroupLayout, f64)> = links
            .layouts(&self.message)
            .into_iter()
            .filter_map(|layout| {
                link_seconds(kind, bytes, &layout, rate.peak).map(|least| (layout, least * 1e12))
            })
            .collect();
        let Some(taken) = self.transfer_ps else {
            return false;
        };
        let possible: Vec<&(GroupLayout, f64)> =
            all.iter().filter(|&&(_, least)| least <= taken).collect();
        let shares = || possible.iter().map(|(_, least)| 100.0 * least / taken);
        let bounds = shares()
            .reduce(f64::min)
            .zip(shares().reduce(f64::max))
            .map(|(low, high)| CollectiveShare {
                low_percent: Percent(low),
                high_percent: Percent(high),
            });
        let is_faster = !all.is_empty() && possible.is_empty();
        let kept: Vec<GroupLayout> = if is_faster {
            all.into_iter().map(|(layout, _)| layout).collect()
        } else {
            possible
                .into_iter()
                .map(|(layout, _)| layout.clone())
                .collect()
        };
        self.share = bounds;
        self.expected = expected_time(kind, bytes, &kept, rate);
        is_faster
    }

    fn remark(&mut self, links: &LinkUse, transfer: &Transfer, is_faster: bool) {
        let n = self.message.participants;
        let is_latency_bound = self
            .expected
            .is_some_and(|expected| expected.latency_bound == Some(true));
        let skewed = self.skew.as_ref().is_some_and(|skew| {
            skew.waits_most.is_some()
                && i128::from(skew.wait_ps.ps())
                    > i128::from(skew.transfer_ps.ps()) * i128::from(skew.instances)
        });
        let all = [
            (Remark::Fused, self.is_fused),
            (Remark::Alone, n == Some(1)),
            (
                Remark::OneChip,
                n.is_some_and(|n| links.may_be_one_chip(n)) && self.expected.is_none(),
            ),
            (
                Remark::ParticipantsEstimated,
                self.message.participants_estimated,
            ),
            (Remark::ParticipantsUnknown, n.is_none()),
            (Remark::UpperBound, self.message.is_upper_bound),
            (Remark::LatencyBound, is_latency_bound),
            (Remark::FasterThanLinks, is_faster),
            (
                Remark::NothingBetween,
                self.is_async && transfer.adjacent * 2 >= self.occurrences.max(1),
            ),
            (
                Remark::IdleMeanwhile,
                self.idle_ps.ps() > self.time_ps.ps() / 10,
            ),
            (Remark::Skewed, skewed),
        ];
        self.remarks = all
            .into_iter()
            .filter(|&(_, holds)| holds)
            .map(|(remark, _)| remark)
            .collect();
    }
}
