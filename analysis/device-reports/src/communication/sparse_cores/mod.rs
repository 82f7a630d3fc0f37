//! `SparseCores`: their busy time, and how much of their work is hidden.
//!
//! A `TensorCore` hands work to its `SparseCores` with a start op, which carries the number of the core and of the
//! program to run there, and later waits for it with a done op. The work in between is hidden while the `TensorCore`
//! computes; the time of the done op is waiting.
//!
//! ```text
//! TensorCore   S fusion fusion  DDDD     S start, D done
//! SparseCore     [---- program ----]
//! hidden         ===============
//! waited                        ====
//! ```
//!
//! Work is found by the flow that the runtime records from start op to program, otherwise by the number that both
//! carry and how often it was used before. Overlap is by the device's clock if all ops of both cores have it,
//! otherwise on the timeline.
//!
//! Tested on generated captures only: no public capture has `SparseCores`.

mod offload;
mod tables;
#[cfg(test)]
mod tests;

use facts::CoreTime;
use facts::prelude::*;
use facts::window::{counts, slices_of_window};
use trace_model::SliceSpans;

pub use offload::Offload;

/// The analysis `sparse_cores`.
pub struct SparseCores;

/// The activity of the `SparseCores`.
#[engine::reported]
pub struct SparseCoresReport {
    /// Each `SparseCore`, by device.
    pub cores: Vec<SparseCore>,
    /// Their ops, the longest first.
    pub ops: Vec<SparseOp>,
    /// Work that `TensorCores` handed over, by start op, longest wait first.
    pub offloads: Vec<Offload>,
    /// Number of starts whose work was not found on any `SparseCore`.
    pub unmatched: u64,
}

impl SparseCoresReport {
    /// Whether an op waits for work that was handed over.
    pub fn awaits(&self, op: OpId) -> bool {
        self.offloads
            .iter()
            .any(|offload| offload.done.contains(&op))
    }
}

/// One `SparseCore`.
#[engine::row(measured)]
pub struct SparseCore {
    /// Its name.
    #[column("SparseCore")]
    pub core: String,
    /// Time with an op running; `None` if the capture has no ops.
    #[column]
    pub busy_ps: Option<Picos>,
    /// The same as a share of the window.
    #[column("of window")]
    pub busy_percent: Option<Percent>,
    /// Number of programs that ran.
    #[column]
    pub programs: u64,
    /// Time of these programs, on the timeline.
    #[column("Program time")]
    pub program_ps: Picos,
    /// Number of recorded steps.
    #[column]
    pub steps: u64,
    /// Mean length of a step.
    #[column("Mean step")]
    pub step_mean_ps: Option<f64>,
    /// Window of the device, or of the `SparseCore` if that is longer: the denominator.
    #[column]
    pub window_ps: Picos,
    /// The device that it belongs to.
    #[column]
    pub device: String,
}

/// One op on all `SparseCores`.
#[engine::row(measured)]
pub struct SparseOp {
    /// Instruction, or the name of slices without one.
    #[column]
    pub op: String,
    /// The same without ops inside (self time).
    #[column("Self time")]
    pub self_ps: Picos,
    /// Share of the self time of all ops on `SparseCores`.
    #[column("of op time")]
    pub self_percent: Option<Percent>,
    /// Executions.
    #[column("Runs")]
    pub occurrences: u64,
    /// Time of all executions.
    #[column("Total time")]
    pub time_ps: Picos,
    /// HLO category.
    #[column]
    pub category: Option<String>,
    /// Program, with its id.
    #[column]
    pub program: Option<String>,
}

impl Analysis for SparseCores {
    type Report = SparseCoresReport;
    const ID: &str = "sparse_cores";
    const TITLE: &str = "SparseCores";

    fn run(cx: &Context<'_>) -> Result<SparseCoresReport> {
        let pairs = cores(cx);
        if pairs.is_empty() {
            return Err("no SparseCore was recorded; the profiler's option tpu_num_sparse_cores_to_trace \
                 (advanced_configuration of jax.profiler.ProfileOptions) records them where the chip has some (systole doctor --rows)".into());
        }
        let classes = cx.classes();
        let mut sums: BTreeMap<LabelId, SparseOpSums> = BTreeMap::new();
        let mut cores = Vec::new();
        for &(core, device) in &pairs {
            cores.push(core_row(cx, core, device)?);
            add_ops(cx, core, &mut sums)?;
        }
        let (offloads, unmatched) = offload::offloads(cx, classes, &pairs)?;
        Ok(SparseCoresReport {
            cores,
            ops: op_rows(cx.model, classes, &sums),
            offloads,
            unmatched,
        })
    }
}

/// `SparseCores` that recorded something, with their devices if these are in the capture.
fn cores(cx: &Context<'_>) -> Vec<(GroupId, Option<GroupId>)> {
    let devices = cx.tensor_cores();
    let mut cores: Vec<_> = cx
        .model
        .group_ids()
        .filter(|&id| matches!(cx.model.group(id).kind, GroupKind::SparseCore { .. }))
        .map(|id| {
            (
                id,
                cx.model
                    .group(id)
                    .parent
                    .filter(|parent| devices.contains(parent)),
            )
        })
        .filter(|(_, device)| cx.options.devices.is_empty() || device.is_some())
        .filter(|&(id, _)| {
            cx.model
                .tracks_of(id)
                .into_iter()
                .any(|track| !cx.model.lanes(track).is_empty())
        })
        .collect();
    let order = |device: Option<GroupId>| devices.iter().position(|&known| Some(known) == device);
    cores.sort_by_key(|&(id, device)| (order(device), cx.model.group(id).kind, id));
    cores
}

fn core_row(cx: &Context<'_>, core: GroupId, device: Option<GroupId>) -> Result<SparseCore> {
    let model = cx.model;
    let name = |group: GroupId| model.device_name(group);
    let core_time = cx.core_time(core)?;
    let around = device
        .map(|device| cx.window(device))
        .transpose()?
        .flatten();
    // Work of the core outside the window of its device does not count towards that window.
    let windows = around
        .into_iter()
        .chain(core_time.as_ref().map(|time| time.window));
    let window_ps = windows.map(|window| window.dur()).max().unwrap_or_default();
    let has_ops = model
        .track_of_kind(core, TrackKind::Ops)
        .is_some_and(|track| !model.lanes(track).is_empty());
    let busy = core_time
        .as_ref()
        .filter(|_| has_ops)
        .map(CoreTime::busy_time);
    let count = |kind| {
        let tracks = model.tracks_of_kind(core, kind);
        let window = core_time.as_ref().map(|time| time.window);
        let inside = window.into_iter().flat_map(|window| {
            let slices = tracks
                .clone()
                .flat_map(move |track| slices_of_window(cx, track, window));
            slices.map(move |spans| {
                (
                    u64::from(counts(cx, window, spans.slice)),
                    spans.shown.dur(),
                )
            })
        });
        inside.fold((0_u64, Picos::ZERO), |(count, sum), (begins, time)| {
            (count + begins, sum + time)
        })
    };
    let ((programs, program_ps), (steps, step_ps)) =
        (count(TrackKind::Modules), count(TrackKind::Steps));
    Ok(SparseCore {
        core: name(core),
        device: device
            .or(model.group(core).parent)
            .map(name)
            .unwrap_or_default(),
        window_ps,
        busy_ps: busy,
        busy_percent: busy.and_then(|busy| Percent::of(busy, window_ps)),
        programs,
        program_ps,
        steps,
        step_mean_ps: (steps > 0).then(|| step_ps.as_ps_f64() / steps as f64),
    })
}

#[derive(Default)]
struct SparseOpSums {
    occurrences: u64,
    time_ps: Picos,
    self_ps: Picos,
}

fn add_ops(
    cx: &Context<'_>,
    core: GroupId,
    sums: &mut BTreeMap<LabelId, SparseOpSums>,
) -> Result<()> {
    let Some(window) = cx.window(core)? else {
        return Ok(());
    };
    let Some(track) = cx.model.track_of_kind(core, TrackKind::Ops) else {
        return Ok(());
    };
    for SliceSpans {
        slice, measured, ..
    } in cx.watched(slices_of_window(cx, track, window))
    {
        let sum = sums.entry(slice.label_id()).or_default();
        sum.occurrences += u64::from(counts(cx, window, slice));
        sum.time_ps += measured.dur();
    }
    let time = cx.core_time(core)?;
    for segment in time.iter().flat_map(|time| &time.segments) {
        let sum = sums
            .entry(cx.model.slice(segment.slice).label_id())
            .or_default();
        sum.self_ps += segment.range.dur();
    }
    Ok(())
}

fn op_rows(
    model: &TraceModel,
    classes: &OpClasses,
    sums: &BTreeMap<LabelId, SparseOpSums>,
) -> Vec<SparseOp> {
    let all = sums.values().map(|sums| sums.self_ps).sum();
    let mut rows: Vec<SparseOp> = sums
        .iter()
        .map(|(&label, sums)| {
            let label = model.label(label);
            let op = label.op.map(|op| model.op(op));
            SparseOp {
                op: model.str(label.name).to_owned(),
                program: op
                    .and_then(|op| op.program)
                    .map(|program| model.program_title(program)),
                category: label.op.map(|op| classes.category(op).to_owned()),
                occurrences: sums.occurrences,
                time_ps: sums.time_ps,
                self_ps: sums.self_ps,
                self_percent: Percent::of(sums.self_ps, all),
            }
        })
        .collect();
    rows.sort_by(|a, b| {
        b.self_ps
            .cmp(&a.self_ps)
            .then_with(|| (&a.op, &a.program).cmp(&(&b.op, &b.program)))
    });
    rows
}
