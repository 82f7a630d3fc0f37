//! Writes a simulated program as tracks of a device.

use importer_common::names;
use importer_common::prelude::*;
use trace_model::{Arg, ArgRows, SliceKey};

use super::collective::RingLinks;
use super::labels::ScheduleLabels;
use super::machine::MachineModel;
use super::occupancy;
use super::program::ScheduledProgram;
use super::simulate::{SimulatedEvent, SimulatedProgram, SimulatedResource};

/// Name of the device, which stands for all devices that run the program.
const DEVICE: &str = "/device:TPU:0";

/// The host group above the device.
pub(super) fn host(out: &mut TraceBuilder) -> GroupId {
    out.group(None, GroupKind::Host, "XLA:TPU compiler")
}

/// The device that runs a program.
pub(super) fn device(out: &mut TraceBuilder, chip: Option<&str>) -> GroupId {
    let host = host(out);
    let core = out.group(Some(host), GroupKind::TensorCore { ordinal: 0 }, DEVICE);
    out.set_device(
        core,
        DeviceInfo {
            type_name: chip.map(|id| format!("TPU {id}")),
            ..DeviceInfo::default()
        },
    );
    core
}

/// Adds a track at the position that it has on real devices.
pub(super) fn track(
    out: &mut TraceBuilder,
    group: GroupId,
    kind: TrackKind,
    id: i64,
    name: &str,
) -> TrackId {
    let track = out.track(group, kind, id, name);
    out.track_mut(track).sort = names::track_sort(kind);
    track
}

/// Adds the execution of a program.
pub(super) fn module(out: &mut TraceBuilder, group: GroupId, name: &str, end: i64) -> SliceKey {
    let track = track(out, group, TrackKind::Modules, 1, "XLA Modules");
    let label = out.label(name, None);
    out.add_slice(track, SliceSpec::new(range(0, end), label))
}

pub(super) fn range(start: i64, end: i64) -> TimeRange {
    TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end))
}

/// Adds a simulated program.
pub(super) fn emit(
    out: &mut TraceBuilder,
    program: &ScheduledProgram<'_>,
    machine: &MachineModel,
    run: &SimulatedProgram,
) {
    let group = device(out, Some(&machine.chip.id));
    let end = run.entry.last().map_or(0, |&(_, end)| end);
    module(out, group, &program.module.name, end);
    let id = out.program(&program.module.name, None);
    let mut labels = ScheduleLabels::new(program, id);
    let facts = ArgRows(run.events.iter().map(args).collect());
    let facts = out.add_arg_source(Arc::new(facts));
    for (handle, event) in run.events.iter().enumerate() {
        let (kind, number, name) = match event.lane {
            SimulatedResource::Core => (TrackKind::Ops, 2, "XLA Ops"),
            SimulatedResource::Hbm => (TrackKind::AsyncOps, 3, "HBM DMA"),
            SimulatedResource::Ici(RingLinks::Next) => (TrackKind::AsyncOps, 4, "ICI +"),
            SimulatedResource::Ici(RingLinks::Previous) => (TrackKind::AsyncOps, 5, "ICI -"),
            SimulatedResource::Ici(RingLinks::Both) => (TrackKind::AsyncOps, 6, "ICI both ways"),
        };
        let track = track(out, group, kind, number, name);
        out.set_arg_source(track, facts);
        let Some(label) = labels.of(out, event.at) else {
            continue;
        };
        let spec = SliceSpec {
            args: Some(handle as u64),
            ..SliceSpec::new(range(event.start, event.end), label)
        };
        let slice = out.add_slice(track, spec);
        if let Some(done) = event.done.and_then(|done| labels.of(out, done)) {
            let name = out.label_ref(done).name;
            out.set_attr(slice, SliceAttr::DoneOp, name.index() as i64);
        }
        if let Some(bytes) = event.bytes {
            out.set_attr(
                slice,
                SliceAttr::TransferBytes,
                i64::try_from(bytes).unwrap_or(i64::MAX),
            );
        }
        if event.modelled {
            let name = out.str(out.label_ref(label).name).to_owned();
            let us = (event.end - event.start) as f64 / 1e6;
            out.log(IssueKind::CostModelled, || format!("{name}: {us:.3} µs"));
        }
    }
    // Their code may be known all the same.
    for &id in &run.without_time {
        labels.of(out, id);
    }
    labels.log(out);
    counters(out, group, program, run);
    out.log_mut().merge(run.issues.clone());
}

fn args(event: &SimulatedEvent) -> Vec<Arg> {
    let arg = |name: &str, value| Arg {
        name: name.to_owned(),
        value,
    };
    let mut args = Vec::new();
    args.extend(
        event
            .cycles
            .map(|cycles| arg("estimated_cycles", ArgValue::Uint(cycles))),
    );
    args.extend(event.bytes.map(|bytes| arg("bytes", ArgValue::Uint(bytes))));
    args.extend(
        event
            .modelled
            .then(|| arg("modelled", ArgValue::Bool(true))),
    );
    args
}

/// Adds counters of memory use.
fn counters(
    out: &mut TraceBuilder,
    group: GroupId,
    program: &ScheduledProgram<'_>,
    run: &SimulatedProgram,
) {
    let curves = occupancy::curves(program, &run.entry);
    for ((name, number), curve) in [("VMEM in use", 7), ("HBM in use", 8)]
        .into_iter()
        .zip(curves)
    {
        if curve.is_empty() {
            continue;
        }
        let track = track(out, group, TrackKind::Counter, number, name);
        for (time_ps, bytes) in curve {
            out.add_counter_sample(track, Timestamp::from_ps(time_ps), None, bytes as f64);
        }
        out.set_counter_unit(track, "bytes");
    }
}
