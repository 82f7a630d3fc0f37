//! Pairs program executions with host events.
//!
//! There are three kinds of evidence; the best that a device has is used: equal run ids (of `DoEnqueueProgram` and
//! `CompleteCallbacks`; run ids of other host events belong to other number spaces), recorded flows, and, if a host
//! has one device, the order of launches, provided that there are as many launches as executions.

use std::collections::HashMap;

use engine::OnceMap;
use engine::prelude::*;
use trace_model::HostId;

use crate::device_shift::shifted;
use crate::host_class::host_threads;

/// How executions were matched with host events.
#[engine::titled]
pub enum PairedBy {
    /// Equal run id and device.
    RunId = "run id",
    /// Flows of the capture.
    Flows = "flows",
    /// The k-th launch is the k-th execution.
    Order = "order",
}

/// An execution and the host event that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchPair {
    /// The program execution.
    pub program: SliceId,
    /// The host's event.
    pub host: SliceId,
}

/// Host events of the executions of one device.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchPairs {
    /// The device.
    pub core: GroupId,
    /// How launches were found.
    pub paired_by: PairedBy,
    /// Launches, by start of the program.
    pub begins: Vec<LaunchPair>,
    /// Host events that noticed the ends, by start of the program.
    pub ends: Vec<LaunchPair>,
}

const ENQUEUE: &str = "DoEnqueueProgram";
const COMPLETE: &str = "CompleteCallbacks";
const LAUNCH: &str = "ExecuteLaunch";
const DONE: &str = "Execute=>Done";

/// Host events of one source, in time order.
#[derive(Default)]
struct LaunchEvents<'a> {
    enqueues: HashMap<(i64, i64), SliceRef<'a>>,
    completions: HashMap<(i64, i64), SliceRef<'a>>,
    launches: Vec<SliceRef<'a>>,
    dones: Vec<SliceRef<'a>>,
}

/// The launches of every `TensorCore` with host events.
pub(super) fn launches(model: &TraceModel) -> Vec<LaunchPairs> {
    // All cores, not only the selected ones: whether a host has a single core is a fact of the capture.
    let cores = model.tensor_cores();
    let per_host = grouped(cores.iter().map(|&core| (model.host_of(core), core)));
    let alone = |host| match per_host.get(&host).map(Vec::as_slice) {
        Some([core]) => ordinal(model, *core),
        _ => None,
    };
    let events = host_events(model, alone);
    let none = LaunchEvents::default();
    cores
        .into_iter()
        .filter_map(|core| {
            let host = model.host_of(core);
            launches_of(
                model,
                core,
                events.get(&host).unwrap_or(&none),
                alone(host).is_some(),
            )
        })
        .collect()
}

fn ordinal(model: &TraceModel, core: GroupId) -> Option<i64> {
    match model.group(core).kind {
        GroupKind::TensorCore { ordinal } => Some(i64::from(ordinal)),
        _ => None,
    }
}

/// The relevant events of all host threads, by host. `alone` is the ordinal of the only device of a host: events
/// that name no device refer to it.
fn host_events(
    model: &TraceModel,
    alone: impl Fn(HostId) -> Option<i64>,
) -> BTreeMap<HostId, LaunchEvents<'_>> {
    #[derive(Clone, Copy)]
    enum LaunchEventKind {
        Enqueue,
        Complete,
        Launch,
        Done,
    }
    let kind = |name: &str| match name {
        ENQUEUE => Some(LaunchEventKind::Enqueue),
        COMPLETE => Some(LaunchEventKind::Complete),
        _ if name.ends_with(LAUNCH) => Some(LaunchEventKind::Launch),
        _ if name.ends_with(DONE) => Some(LaunchEventKind::Done),
        _ => None,
    };
    let kinds: Vec<Option<LaunchEventKind>> = model
        .labels()
        .iter()
        .map(|label| kind(model.str(label.name)))
        .collect();
    let mut out: BTreeMap<HostId, LaunchEvents<'_>> = BTreeMap::new();
    if kinds.iter().all(Option::is_none) {
        return out;
    }
    for track in host_threads(model) {
        let host = model.host_of(model.track(track).group);
        let events = out.entry(host).or_default();
        for slice in trace_model::pausing(model.slices_on(track)) {
            let Some(kind) = kinds.get(slice.label_id().index()).copied().flatten() else {
                continue;
            };
            let device = || slice.attr(SliceAttr::DeviceOrdinal).or_else(|| alone(host));
            let key = || Some((slice.attr(SliceAttr::RunId)?, device()?));
            match kind {
                LaunchEventKind::Launch => events.launches.push(slice),
                LaunchEventKind::Done => events.dones.push(slice),
                // A repeated run id is ambiguous: the first one counts.
                LaunchEventKind::Enqueue => {
                    if let Some(key) = key() {
                        events.enqueues.entry(key).or_insert(slice);
                    }
                }
                LaunchEventKind::Complete => {
                    if let Some(key) = key() {
                        events.completions.entry(key).or_insert(slice);
                    }
                }
            }
        }
    }
    for events in out.values_mut() {
        events
            .launches
            .sort_by_key(|slice| (slice.start(), slice.id()));
        events
            .dones
            .sort_by_key(|slice| (slice.start(), slice.id()));
    }
    out
}

/// An execution with its span by both clocks.
#[derive(Clone, Copy, Debug)]
pub struct TimedProgram {
    /// The program execution.
    pub program: SliceId,
    /// Span on the timeline.
    pub range: TimeRange,
    /// Span by the clock of the ops.
    pub measured: TimeRange,
}

/// Executions by core.
#[derive(Default)]
struct TimedPrograms(OnceMap<GroupId, Arc<[TimedProgram]>>);

impl Fact for TimedPrograms {
    fn find(_cx: &Context<'_>) -> Self {
        Self::default()
    }
}

/// Program executions of a core in time order, by both clocks; found on first use, because each takes several searches
/// among the ops.
pub fn timed_programs(cx: &Context<'_>, core: GroupId) -> Arc<[TimedProgram]> {
    let find = || {
        programs(cx.model, core)
            .into_iter()
            .map(|program| TimedProgram {
                program: program.id(),
                range: program.range(),
                measured: shifted(cx.model, core, program.range()),
            })
            .collect()
    };
    cx.fact::<TimedPrograms>().0.get(core, find)
}

/// Program executions of a core in time order.
pub fn programs(model: &TraceModel, core: GroupId) -> Vec<SliceRef<'_>> {
    let mut programs: Vec<SliceRef<'_>> = model.slices_of_kind(core, TrackKind::Modules).collect();
    programs.sort_by_key(|program| (program.start(), program.id()));
    programs
}

fn launches_of(
    model: &TraceModel,
    core: GroupId,
    events: &LaunchEvents<'_>,
    alone: bool,
) -> Option<LaunchPairs> {
    let programs = programs(model, core);
    let device = ordinal(model, core)?;
    let by_id = |known: &HashMap<(i64, i64), SliceRef<'_>>| -> Vec<LaunchPair> {
        let host = |program: &SliceRef<'_>| {
            known
                .get(&(program.attr(SliceAttr::RunId)?, device))
                .map(|host| host.id())
        };
        programs
            .iter()
            .filter_map(|program| {
                Some(LaunchPair {
                    program: program.id(),
                    host: host(program)?,
                })
            })
            .collect()
    };
    let in_order = |events: &[SliceRef<'_>]| -> Vec<LaunchPair> {
        let matches = alone && events.len() == programs.len();
        let pairs = programs
            .iter()
            .zip(events)
            .take(if matches { programs.len() } else { 0 });
        pairs
            .map(|(program, host)| LaunchPair {
                program: program.id(),
                host: host.id(),
            })
            .collect()
    };
    let candidates: [(PairedBy, &dyn Fn() -> Vec<LaunchPair>); 3] = [
        (PairedBy::RunId, &|| by_id(&events.enqueues)),
        (PairedBy::Flows, &|| by_flows(model, &programs)),
        (PairedBy::Order, &|| in_order(&events.launches)),
    ];
    let first_way = candidates
        .into_iter()
        .map(|(by, find)| (by, find()))
        .find(|(_, pairs)| !pairs.is_empty());
    let (paired_by, begins) = first_way?;
    let ends = Some(by_id(&events.completions)).filter(|ends| !ends.is_empty());
    Some(LaunchPairs {
        core,
        paired_by,
        begins,
        ends: ends.unwrap_or_else(|| in_order(&events.dones)),
    })
}

/// The last host event that has a flow to a program.
fn by_flows(model: &TraceModel, programs: &[SliceRef<'_>]) -> Vec<LaunchPair> {
    let is_host = |slice: SliceRef<'_>| slice.track_ref().kind == TrackKind::HostThread;
    let from = |program: &SliceRef<'_>| -> Option<(Timestamp, SliceId)> {
        let hosts = model
            .flows_to(program.id())
            .map(|flow| model.slice(flow.from))
            .filter(|&host| is_host(host));
        hosts.map(|host| (host.start(), host.id())).max()
    };
    programs
        .iter()
        .filter_map(|p| {
            Some(LaunchPair {
                program: p.id(),
                host: from(p)?.1,
            })
        })
        .collect()
}
