//! Builds the model from the collected events at the end of the file.

use importer_common::async_spans;
use importer_common::prelude::*;
use trace_model::Caveat;

use super::args::JsonArgs;
use super::collect::EventCollector;
use super::metadata::{exported, is_modelled};
use super::ops::{self, ThreadOps};
use super::places::{TrackTable, cores_by_lines};
use super::threads::ThreadTable;
use super::{asynchronous, dialects, flows, stack};

/// Known export limits: exporters silently stop after this many complete events.
const EXPORT_LIMITS: [u64; 2] = [1_000_000, 5_000_000];

/// Facts that no trace-event JSON of XProf contains.
const XPROF_CANNOT_KNOW: &[&str] = &[
    "device type",
    "device peaks",
    "bytes by memory space",
    "HLO protos",
    "memory allocations",
    "wall-clock start of the session",
    "hardware utilization counters",
];
/// Facts that the exporter omits but the viewer contains.
const EXPORT_CANNOT_KNOW: &[&str] = &[
    "flops at the bf16 rate",
    "in-flight spans of asynchronous ops (reconstructed from start and done ops)",
    "symbol ids of ops",
    "step groups",
    "flows from host to device",
    "host names",
];
/// Facts that traces of other programs do not contain.
const FOREIGN_CANNOT_KNOW: &[&str] = &[
    "device type",
    "device peaks",
    "flops and bytes of ops",
    "HLO protos",
];

/// Builds the model from the events collected from `source`.
pub(super) fn convert(mut collected: EventCollector<'_>, source: &InputSource) {
    let is_xprof =
        collected.session.is_xprof || !cores_by_lines(&collected.threads.rows).is_empty();
    describe(&mut collected, is_xprof);
    if !is_xprof {
        name_the_nameless(&mut collected);
    }
    let EventCollector {
        builder,
        facts,
        threads,
        is_cut,
        asynchronous,
        flows,
        counters,
        session,
        roles,
        ..
    } = collected;
    let places = TrackTable::new(
        builder,
        &threads,
        counters.pids(),
        (!is_xprof).then_some(&*roles),
    );
    if is_cut {
        mark_cut_devices(builder, &threads, &places);
    }
    let (mut offsets, mut stacks) = (Vec::new(), Vec::new());
    let (mut thread_ops, mut end_args) = (Vec::new(), Vec::new());
    for (index, thread) in threads.rows.into_iter().enumerate() {
        let Some(track) = places.track_of(index as u32) else {
            offsets.push(0);
            stacks.push(None);
            continue;
        };
        let from = builder.append(track, thread.batch);
        offsets.push(from);
        let stacked = stack::build(builder, track, &thread.stack);
        let slices = from..builder.batch(track).len() as u32;
        thread_ops.push(ThreadOps {
            track,
            slices,
            facts: thread.op_facts,
        });
        end_args.extend_from_slice(&stacked.end_args);
        stacks.push(Some(stacked));
    }
    ops::label_ops(builder, &facts, thread_ops);
    if !is_xprof {
        let lines = places.device_lines();
        // The usual roles apply to any file; other roles come from the user or belong to a known writer.
        if !lines.is_empty() || !Arc::ptr_eq(&roles, &dialects::usual()) {
            builder.source_mut().simulator = roles.simulator().map(str::to_owned);
        }
        for &(track, kind) in &lines {
            roles.categorise(builder, track, kind);
        }
        dialects::add_missing_waits(builder, &lines);
    }
    let about = builder.source_mut();
    if let Some((simulator, caveats)) = exported(&about.facts) {
        about.simulator = Some(simulator);
        about.caveats.extend(caveats);
    } else if is_modelled(&about.facts) {
        about
            .simulator
            .get_or_insert_with(|| "a cost model".to_owned());
        about.caveats.push(Caveat::Predicted);
    }
    let spans = asynchronous::build(asynchronous, builder, &places);
    end_args.extend(spans.end_args);
    counters.build(builder, |pid| places.group_of(pid));
    flows::build(flows, builder, &places, &offsets, &stacks);

    let args = builder.add_arg_source(Arc::new(JsonArgs::new(
        source,
        end_args,
        session.stack_frames,
    )));
    let tracks: Vec<TrackId> = places.tracks().chain(spans.tracks).collect();
    for track in tracks {
        builder.set_arg_source(track, args);
    }
    if is_xprof {
        async_spans::complete(builder);
    }
}

/// Marks the devices that a file which ends too early may hold in part. One is whole if the events of another process begin
/// after its last one: writers end a process before the next one, or write all of them by time.
fn mark_cut_devices(builder: &mut TraceBuilder, threads: &ThreadTable, places: &TrackTable) {
    let mut written: BTreeMap<i64, (u64, u64)> = BTreeMap::new();
    for thread in threads.rows.iter().filter(|row| !row.batch.is_empty()) {
        let bytes = (thread.first_byte, thread.last_byte);
        let all = written.entry(thread.pid).or_insert(bytes);
        *all = (all.0.min(bytes.0), all.1.max(bytes.1));
    }
    // A process that begins after another one ends: the last to begin decides, however many there are.
    let last_begin = written.values().map(|bytes| bytes.0).max();
    let is_whole = |pid: &i64| {
        let extent = written.get(pid);
        extent.is_some_and(|extent| last_begin.is_some_and(|begin| begin > extent.1))
    };
    for &pid in threads.processes.keys().filter(|pid| !is_whole(pid)) {
        let Some(group) = places.group_of(pid) else {
            continue;
        };
        if matches!(builder.group_mut(group).kind, GroupKind::TensorCore { .. }) {
            builder.mark_cut(group);
        }
    }
}

/// Names processes and threads by their roles, if the file does not.
fn name_the_nameless(collected: &mut EventCollector<'_>) {
    for thread in &mut collected.threads.rows {
        if thread.name.is_none() {
            let id = thread
                .id_text
                .clone()
                .unwrap_or_else(|| thread.tid.to_string());
            thread.name = collected.roles.thread_name(&id);
        }
        if let Some(name) = collected.roles.process_name(thread.pid) {
            collected
                .threads
                .processes
                .entry(thread.pid)
                .or_default()
                .name
                .get_or_insert(name);
        }
    }
}

/// Adds facts about the file, and the facts it cannot contain.
fn describe(collected: &mut EventCollector<'_>, is_xprof: bool) {
    let session = &mut collected.session;
    let mut cannot_know: Vec<&'static str> = Vec::new();
    if is_xprof {
        cannot_know.extend(XPROF_CANNOT_KNOW);
        if !session.is_viewer {
            cannot_know.extend(EXPORT_CANNOT_KNOW);
        }
    } else {
        cannot_know.extend(FOREIGN_CANNOT_KNOW);
    }
    let origin = collected.origin.unwrap_or(0);
    let source = collected.builder.source_mut();
    source.cannot_know = cannot_know;
    source.facts = std::mem::take(&mut session.facts);
    if source.host.is_none() {
        source.host.clone_from(&session.host);
    }
    source.origin_ps = origin;
    // From a base time in the file, or because its times are microseconds since 1970.
    source.started_unix_ns = match session.base_unix_ns {
        Some(base) => i64::try_from(origin / 1000)
            .ok()
            .and_then(|origin| base.checked_add(origin)),
        None => source.zero_unix_ns(),
    };
    if session.is_downsampled {
        collected.builder.log(IssueKind::Downsampled, || {
            "filteredByVisibility is true".to_owned()
        });
    }
    let complete = collected.complete_events;
    if is_xprof && EXPORT_LIMITS.contains(&complete) {
        collected.builder.log(IssueKind::ExportLimit, || {
            format!("exactly {complete} complete events")
        });
    }
}
