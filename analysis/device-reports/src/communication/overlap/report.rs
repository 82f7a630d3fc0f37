//! Rows of the report on communication and the compute that hides it.

use facts::CollectiveTraffic;
use facts::prelude::*;

use super::skew::MatchedCollective;
use super::times::TransferTimes;

/// The overlap of communication and compute.
#[engine::reported]
pub struct OverlapReport {
    /// Numbers over all cores.
    pub summary: OverlapSummary,
    /// Numbers of each core.
    pub cores: Vec<CoreOverlap>,
    /// Numbers of each pattern, most exposed first.
    pub kinds: Vec<KindTotal>,
    /// The times of sets of transfers.
    #[serde(skip)]
    pub(crate) times: TransferTimes,
    /// Each collective and each asynchronous transfer, most exposed first.
    pub transfers: Vec<Transfer>,
    /// What times of kinds and transfers are sums over.
    pub sums_over: SumOver,
}

/// Numbers over all cores.
#[engine::reported]
pub struct OverlapSummary {
    /// Number of cores that recorded ops.
    pub cores: usize,
    /// Executions of collectives over all cores.
    pub collectives: u64,
    /// Mean over cores of the communication time.
    pub comm_mean_ps: Option<Picos>,
    /// Mean over cores of the exposed part.
    pub exposed_mean_ps: Option<Picos>,
    /// The exposed part on the core with the most.
    pub exposed_max_ps: Option<Picos>,
    /// Largest minus smallest exposed part over cores.
    pub exposed_spread_ps: Option<Picos>,
    /// The core with the most exposed communication.
    pub most_exposed: Option<String>,
    /// Exposed share of the window, on that core.
    pub exposed_share_percent: Option<Percent>,
    /// Sum of overlapped ÷ sum of communication time; `None` without communication or if the overlap is unknown.
    pub overlap_ratio_percent: Option<Percent>,
}

/// One core.
#[engine::row(measured)]
pub struct CoreOverlap {
    /// Name of the device.
    #[column("Device")]
    pub core: String,
    /// The device.
    pub group: GroupId,
    /// Length of the window.
    pub window_ps: Picos,
    /// Executions of collectives.
    #[column]
    pub collectives: u64,
    /// `|C|`.
    #[column]
    pub compute_ps: Picos,
    /// `|S ∪ F|`.
    #[column("Communication")]
    pub comm_total_ps: Picos,
    /// `|F ∩ C|`; `None` if spans in flight are not known.
    #[column("Hidden")]
    pub overlapped_ps: Option<Picos>,
    /// `comm_total − overlapped`.
    #[column]
    pub exposed_ps: Picos,
    /// `|S ∪ D|`.
    #[column("Blocking")]
    pub exposed_blocking_ps: Picos,
    /// The part of `exposed` in flight while the core neither computes nor waits in a collective.
    pub in_flight_while_idle_ps: Picos,
    /// `overlapped ÷ comm_total`.
    pub overlap_ratio_percent: Option<Percent>,
    /// `exposed ÷ window`.
    #[column("Exposed, of window")]
    pub exposed_share_percent: Option<Percent>,
    /// The part of `S` that is fused with other work and may overlap internally.
    #[column]
    pub fused_ps: Picos,
    /// Union of spans in flight of copies and other transfers that are no collectives.
    #[column("Copies in flight")]
    pub copy_in_flight_ps: Picos,
    /// The part of it that runs while the core computes.
    #[column("Copies hidden")]
    pub copy_hidden_ps: Picos,
    /// Time in which the core waits for one of them (self time of `copy-done` and similar ops).
    #[column]
    pub copy_wait_ps: Picos,
    /// Sum over synchronous collectives of how much longer they took than on the core that arrived last; `None` if
    /// executions cannot be matched over cores.
    pub skew_wait_ps: Option<Picos>,
    /// Sum over the collectives at which this core arrived last of how much longer they took on the others. Over all
    /// cores it equals the sum of `skew_wait`.
    pub awaited_ps: Option<Picos>,
}

/// One collective, or one asynchronous transfer, of one program.
#[engine::row(measured)]
// Four independent facts about an op; no two of them form a state.
#[allow(clippy::struct_excessive_bools)]
pub struct Transfer {
    /// `all-reduce`, …, or the kind of transfer (`copy`).
    #[column]
    pub kind: String,
    /// Instruction that issues it.
    #[column]
    pub op: String,
    /// The op of the trace that issues it.
    #[serde(skip)]
    pub issued_by: Option<OpId>,
    /// Program that contains it.
    #[column]
    pub program: Option<String>,
    /// Line of source that it comes from.
    pub source: Option<String>,
    /// Whether it is communication between devices.
    pub is_collective: bool,
    /// Whether it has a start and a done op.
    pub is_async: bool,
    /// Whether it is fused with other work: compute inside it is not visible.
    pub is_fused: bool,
    /// Cores that executed it.
    pub cores: usize,
    /// Executions over all cores.
    #[column("Times")]
    pub occurrences: u64,
    /// Executions over all cores, with the parts of those that a border of the scope cuts.
    #[serde(skip)]
    pub executions: f64,
    /// Sum of the times in flight (asynchronous) or of the op, over all cores.
    #[column("In flight (sum)")]
    pub time_ps: Picos,
    /// The part of it while the core computed.
    #[column]
    pub hidden_ps: Picos,
    /// The rest.
    #[column]
    pub exposed_ps: Picos,
    /// Time in which its core waited for it: the op itself, or its start and done op.
    #[column]
    pub blocking_ps: Picos,
    /// The part of it in flight while its core neither computed nor was in a collective.
    #[column("In flight while idle")]
    pub idle_ps: Picos,
    /// Executions without compute between start and done: issued too late, or there was no independent work.
    pub adjacent: u64,
    /// The compute that hid it, most time first, for collectives; `None` if too many were in flight at once.
    pub hidden_by: Option<Vec<HiddenBy>>,
    /// How long cores waited for each other; `None` if executions cannot be matched over cores.
    pub skew: Option<Arc<Skew>>,
    /// The pattern.
    #[serde(skip)]
    pub collective: Option<CollectiveKind>,
    /// The data that it moves, for collectives.
    #[serde(skip)]
    pub message: Option<Arc<CollectiveTraffic>>,
}

/// Compute that ran while a collective was in flight.
#[engine::reported]
pub struct HiddenBy {
    /// Instruction.
    pub op: String,
    /// Time over all cores.
    pub time_ps: Picos,
}

/// How long cores waited for each other in one collective.
#[engine::row(inferred)]
pub struct Skew {
    /// Executions that were matched over cores.
    pub instances: u64,
    /// Mean over them of the shortest time on any core: the transfer itself.
    pub transfer_ps: Picos,
    /// Sum over executions of how much longer it took than on the fastest core, for the core that waited most.
    #[column("Waiting", id = "skew_wait_ps")]
    pub wait_ps: Picos,
    /// The core that waited most; `None` if none waited.
    #[column]
    pub waits_most: Option<String>,
    /// The core for which the others waited.
    #[column("Last to come")]
    pub waited_for: Option<String>,
}

/// The mean of `count` times; `None` of none.
fn mean(sum: Picos, count: u64) -> Option<Picos> {
    let mean = sum.ps().checked_div(count.cast_signed());
    mean.map(Picos::from_ps)
}

impl Skew {
    pub(super) fn of(collective: &MatchedCollective, cores: &[String]) -> Self {
        let name = |core: usize| {
            cores
                .get(core)
                .cloned()
                .filter(|_| collective.most.1 > collective.least.1)
        };
        Self {
            instances: collective.instances,
            transfer_ps: mean(collective.transfer, collective.instances).unwrap_or_default(),
            wait_ps: collective.most.1,
            waits_most: name(collective.most.0),
            waited_for: name(collective.least.0),
        }
    }
}

/// All transfers of one pattern.
#[engine::row(measured)]
pub struct KindTotal {
    /// `all-reduce`, …, or the kind of transfer (`copy`).
    #[column]
    pub kind: String,
    /// Whether it is communication between devices.
    pub is_collective: bool,
    /// Distinct ops.
    #[column]
    pub ops: usize,
    /// Executions over all cores.
    #[column("Times")]
    pub occurrences: u64,
    /// Sum over devices of the time in flight (asynchronous) or of the ops; what overlaps on a device counts once.
    #[column("In flight (sum)")]
    pub time_ps: Picos,
    /// The part of it while the core computed.
    #[column]
    pub hidden_ps: Picos,
    /// The rest.
    #[column]
    pub exposed_ps: Picos,
    /// Time in which a core waited.
    #[column]
    pub blocking_ps: Picos,
}

impl OverlapReport {
    /// Communication and its exposed part, the mean over devices; `None` without communication.
    pub fn mean_comm(&self) -> Option<(Picos, Picos)> {
        Some((self.summary.comm_mean_ps?, self.summary.exposed_mean_ps?))
    }
}

impl OverlapSummary {
    pub(super) fn of(cores: &[CoreOverlap]) -> Self {
        let communicates = cores.iter().any(|core| core.comm_total_ps > Picos::ZERO);
        let most = cores
            .iter()
            .min_by_key(|core| Reverse(core.exposed_ps))
            .filter(|_| communicates);
        let least = cores.iter().map(|core| core.exposed_ps).min();
        let mean = |of: fn(&CoreOverlap) -> Picos| {
            mean(cores.iter().map(of).sum(), cores.len() as u64).filter(|_| communicates)
        };
        let total = cores.iter().map(|core| core.comm_total_ps).sum::<Picos>();
        let overlapped = cores
            .iter()
            .map(|core| core.overlapped_ps)
            .sum::<Option<Picos>>();
        Self {
            cores: cores.len(),
            collectives: cores.iter().map(|core| core.collectives).sum(),
            comm_mean_ps: mean(|core| core.comm_total_ps),
            exposed_mean_ps: mean(|core| core.exposed_ps),
            exposed_max_ps: most.map(|core| core.exposed_ps),
            exposed_spread_ps: most.zip(least).map(|(core, least)| core.exposed_ps - least),
            most_exposed: most.map(|core| core.core.clone()),
            exposed_share_percent: most.and_then(|core| core.exposed_share_percent),
            overlap_ratio_percent: overlapped
                .and_then(|hidden| hidden.fraction_of(total))
                .map(Percent::of_fraction),
        }
    }
}
