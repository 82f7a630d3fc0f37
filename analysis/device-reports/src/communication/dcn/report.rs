//! Rows of the report on communication between slices of a pod.

use serde::{Serialize, Serializer};

/// Communication between slices.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct DcnCollective {
    /// Rendezvous name.
    pub rendezvous: String,
    /// Program, with its id.
    pub program: Option<String>,
    /// `ALL_REDUCE` …, as the compiler records it.
    pub transfer: Option<String>,
    /// Number of slices that take part.
    pub slices: Option<u64>,
    /// Executions over all devices whose `recv-done` begins in the scope.
    pub occurrences: u64,
    /// Time that devices spent in one of the four ops, as far as it lies in the scope.
    pub stall_ps: i64,
    /// The same as a share of the windows of the devices that took part.
    pub stall_percent: Option<f64>,
    /// Means over these executions; `None` if there are none.
    pub mean: Option<DcnTimes>,
    /// Bytes that one device transmits in one execution.
    pub transmitted_bytes: Option<f64>,
    /// `transmitted / mean slack`, bytes/s; `None` without slack.
    #[serde(rename = "required_bandwidth_bytes_per_second")]
    pub required_bandwidth: Option<f64>,
    /// `transmitted / mean observed`, bytes/s.
    #[serde(rename = "observed_bandwidth_bytes_per_second")]
    pub observed_bandwidth: Option<f64>,
}

/// Times of a collective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct DcnTimes {
    /// From the start of send to the end of recv-done.
    pub observed_ps: f64,
    /// From the start of send to the start of recv-done, minus other DCN ops between them.
    pub slack_ps: f64,
    /// In the four ops together.
    pub stall_ps: f64,
    /// Time in `send`.
    pub send_ps: f64,
    /// Time in `send-done`.
    pub send_done_ps: f64,
    /// Time in `recv`.
    pub recv_ps: f64,
    /// Time in `recv-done`.
    pub recv_done_ps: f64,
}

/// One device.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct DcnDevice {
    /// Its name.
    pub device: String,
    /// Window: the denominator.
    pub window_ps: i64,
    /// Time in ops of collectives between slices.
    pub stall_ps: i64,
    /// The same as a share of the window.
    pub stall_percent: Option<f64>,
    /// Executions that ended.
    pub occurrences: u64,
}

/// One host.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct DcnHost {
    /// Its name.
    pub host: String,
    /// Messages from other slices.
    pub messages: u64,
    /// Bytes of these messages.
    pub bytes: f64,
    /// Time with any message in flight.
    pub active_ps: i64,
    /// `bytes / active time`, bytes/s.
    #[serde(rename = "mean_bandwidth_bytes_per_second")]
    pub mean_bandwidth: Option<f64>,
    /// Highest bandwidth at any instant, assuming that each message moves at a constant rate.
    #[serde(rename = "peak_bandwidth_bytes_per_second")]
    pub peak_bandwidth: f64,
    /// Active time by bandwidth: below 4.17, 8.34, 12.5 GB/s (thirds of a NIC of 100 Gb/s), above.
    #[serde(serialize_with = "by_bandwidth")]
    #[schemars(with = "TimeByBandwidth")]
    pub active_ps_by_class: [i64; 4],
    /// Messages within the slice, which the numbers above exclude.
    pub loopback: u64,
    /// Messages that do not say their size, duration or slices, which the numbers above exclude.
    pub invalid: u64,
}

/// Messages of one collective.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct DcnMessages {
    /// Label that the runtime gives it.
    pub label: String,
    /// Number of messages.
    pub messages: u64,
    /// Bytes of these messages.
    pub bytes: f64,
    /// Mean time in flight.
    pub mean_ps: f64,
    /// Longest time in flight.
    pub max_ps: i64,
    /// Sum of bytes ÷ sum of times, bytes/s: the bandwidth of a single message.
    #[serde(rename = "bandwidth_bytes_per_second")]
    pub bandwidth: Option<f64>,
}

/// One kind of host event of the runtime.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct DcnAction {
    /// Name without `MegaScale: `.
    pub action: String,
    /// Number of events.
    pub count: u64,
    /// Sum of the durations that the events state.
    pub total_ps: i64,
    /// Longest duration.
    pub max_ps: i64,
}

/// Times in four classes of bandwidth, lowest first.
#[derive(Serialize, schemars::JsonSchema)]
#[expect(clippy::struct_field_names, reason = "the unit belongs to the names")]
pub(super) struct TimeByBandwidth {
    /// Below 4.17 GB/s.
    lowest_ps: i64,
    /// From 4.17 to 8.34 GB/s.
    low_ps: i64,
    /// From 8.34 to 12.5 GB/s.
    high_ps: i64,
    /// At least 12.5 GB/s.
    highest_ps: i64,
}

/// Four times as [`TimeByBandwidth`].
pub(super) fn by_bandwidth<S: Serializer>(times: &[i64; 4], out: S) -> Result<S::Ok, S::Error> {
    let [lowest_ps, low_ps, high_ps, highest_ps] = *times;
    TimeByBandwidth {
        lowest_ps,
        low_ps,
        high_ps,
        highest_ps,
    }
    .serialize(out)
}
