//! Rows of the report on communication between slices of a pod.

use facts::prelude::*;
use serde::{Serialize, Serializer};

/// Communication between slices.
#[engine::reported]
pub struct DcnReport {
    /// Each rendezvous, the longest stall first.
    pub collectives: Vec<DcnCollective>,
    /// Each device that took part.
    pub devices: Vec<DcnDevice>,
    /// Each host that recorded messages.
    pub hosts: Vec<DcnHost>,
    /// Messages by the collective that they belong to, most bytes first.
    pub messages: Vec<DcnMessages>,
    /// Other work of the runtime on hosts.
    pub actions: Vec<DcnAction>,
    /// Done ops of collectives whose start was not recorded.
    pub unmatched: u64,
}

/// All executions of one collective on all devices.
#[engine::row(measured)]
pub struct DcnCollective {
    /// Rendezvous name.
    #[column]
    pub rendezvous: String,
    /// `ALL_REDUCE` …, as the compiler records it.
    #[column("Kind", compiler)]
    pub transfer: Option<String>,
    /// Number of slices that take part.
    #[column(inferred)]
    pub slices: Option<u64>,
    /// Executions over all devices whose `recv-done` begins in the scope.
    #[column("Runs")]
    pub occurrences: u64,
    /// Time that devices spent in one of the four ops, as far as it lies in the scope.
    #[column]
    pub stall_ps: Picos,
    /// That time as a share of the windows of the devices that took part.
    #[column("of window")]
    pub stall_percent: Option<Percent>,
    /// Means over these executions; `None` if there are none.
    #[column(nested)]
    pub mean: Option<DcnTimes>,
    /// Bytes that one device transmits in one execution.
    #[column(inferred)]
    pub transmitted_bytes: Option<f64>,
    /// `transmitted / mean slack`, bytes/s; `None` without slack.
    #[serde(rename = "required_bandwidth_bytes_per_second")]
    #[column("Required", inferred)]
    pub required_bandwidth: Option<f64>,
    /// `transmitted / mean observed`, bytes/s.
    #[serde(rename = "observed_bandwidth_bytes_per_second")]
    #[column("Observed", inferred)]
    pub observed_bandwidth: Option<f64>,
    /// Program, with its id.
    #[column]
    pub program: Option<String>,
}

/// Times of a collective.
#[engine::row(measured)]
#[derive(Copy, Default)]
pub struct DcnTimes {
    /// From the start of send to the end of recv-done.
    #[column("Mean observed")]
    pub observed_ps: f64,
    /// From the start of send to the start of recv-done, minus other DCN ops between them.
    #[column("Mean slack")]
    pub slack_ps: f64,
    /// In the four ops together.
    pub stall_ps: f64,
    /// Time in `send`.
    #[column("send")]
    pub send_ps: f64,
    /// Time in `send-done`.
    #[column("send-done")]
    pub send_done_ps: f64,
    /// Time in `recv`.
    #[column("recv")]
    pub recv_ps: f64,
    /// Time in `recv-done`.
    #[column("recv-done")]
    pub recv_done_ps: f64,
}

/// One device.
#[engine::row(measured)]
pub struct DcnDevice {
    /// Its name.
    #[column]
    pub device: String,
    /// Window: the denominator.
    #[column]
    pub window_ps: Picos,
    /// Time in ops of collectives between slices.
    #[column]
    pub stall_ps: Picos,
    /// That time as a share of the window.
    #[column("of window")]
    pub stall_percent: Option<Percent>,
    /// Executions that ended.
    #[column("Runs")]
    pub occurrences: u64,
}

/// One host.
#[engine::row(recorded)]
pub struct DcnHost {
    /// Its name.
    #[column]
    pub host: String,
    /// Messages from other slices.
    #[column]
    pub messages: u64,
    /// Bytes of these messages.
    #[column]
    pub bytes: f64,
    /// Time with any message in flight.
    #[column]
    pub active_ps: Picos,
    /// `bytes / active time`, bytes/s.
    #[serde(rename = "mean_bandwidth_bytes_per_second")]
    #[column("Mean")]
    pub mean_bandwidth: Option<f64>,
    /// Highest bandwidth at any instant, assuming that each message moves at a constant rate.
    #[serde(rename = "peak_bandwidth_bytes_per_second")]
    #[column("Most")]
    pub peak_bandwidth: f64,
    /// Active time by bandwidth: below 4.17, 8.34, 12.5 GB/s (thirds of a NIC of 100 Gb/s), above.
    #[serde(serialize_with = "by_bandwidth")]
    #[schemars(with = "TimeByBandwidth")]
    #[column("< 4.17 GB/s", id = "low_ps", with = |host| host.active_ps_by_class[0])]
    #[column("< 8.34 GB/s", id = "medium_ps", with = |host| host.active_ps_by_class[1])]
    #[column("≤ 12.5 GB/s", id = "high_ps", with = |host| host.active_ps_by_class[2])]
    #[column("above", id = "above_ps", with = |host| host.active_ps_by_class[3])]
    pub active_ps_by_class: [Picos; 4],
    /// Messages within the slice, which the numbers above exclude.
    #[column("Within slice")]
    pub loopback: u64,
    /// Messages that do not say their size, duration or slices, which the numbers above exclude.
    #[column("Incomplete")]
    pub invalid: u64,
}

/// Messages of one collective.
#[engine::row(recorded)]
#[derive(Default)]
pub struct DcnMessages {
    /// Label that the runtime gives it.
    #[column("Collective")]
    pub label: String,
    /// Number of messages.
    #[column]
    pub messages: u64,
    /// Bytes of these messages.
    #[column]
    pub bytes: f64,
    /// Mean time in flight.
    #[column("Mean time")]
    pub mean_ps: f64,
    /// Longest time in flight.
    #[column("Longest")]
    pub max_ps: Picos,
    /// Sum of bytes ÷ sum of times, bytes/s: the bandwidth of a single message.
    #[serde(rename = "bandwidth_bytes_per_second")]
    #[column("One at a time")]
    pub bandwidth: Option<f64>,
}

/// One kind of host event of the runtime.
#[engine::row(recorded)]
#[derive(Default)]
pub struct DcnAction {
    /// Name without `MegaScale: `.
    #[column("Event")]
    pub action: String,
    /// Number of events.
    #[column("How often")]
    pub count: u64,
    /// Sum of the durations that the events state.
    #[column]
    pub total_ps: Picos,
    /// Longest duration.
    #[column("Longest")]
    pub max_ps: Picos,
}

/// Times in four classes of bandwidth, lowest first.
#[derive(Serialize, schemars::JsonSchema)]
#[expect(clippy::struct_field_names, reason = "the unit belongs to the names")]
pub(super) struct TimeByBandwidth {
    /// Below 4.17 GB/s.
    lowest_ps: Picos,
    /// From 4.17 to 8.34 GB/s.
    low_ps: Picos,
    /// From 8.34 to 12.5 GB/s.
    high_ps: Picos,
    /// At least 12.5 GB/s.
    highest_ps: Picos,
}

/// Four times as [`TimeByBandwidth`].
pub(super) fn by_bandwidth<S: Serializer>(times: &[Picos; 4], out: S) -> Result<S::Ok, S::Error> {
    let [lowest_ps, low_ps, high_ps, highest_ps] = *times;
    TimeByBandwidth {
        lowest_ps,
        low_ps,
        high_ps,
        highest_ps,
    }
    .serialize(out)
}
