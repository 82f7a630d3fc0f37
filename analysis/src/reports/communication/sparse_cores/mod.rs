//! `SparseCores`: their busy time, and how much of their work is hidden.
//!
//! A `TensorCore` hands work to its `SparseCores` with a start op (that carries the number of the core and of the
//! program to run there) and later awaits it with a done op. The work between is hidden as far as the `TensorCore`
//! computes meanwhile; the time of the done op is waiting.
//!
//! ```text
//! TensorCore   S fusion fusion  DDDD     S start, D done
//! SparseCore     [---- program ----]
//! hidden         ===============
//! waited                        ====
//! ```
//!
//! Work is found by the flow that the runtime draws from start to program, else by
//! the number that both carry and how often it was used before. Overlap is by the
//! device's clock where all of both cores have it, else on the timeline.
//!
//! Tested on generated captures only: no public capture has `SparseCores`.

mod offload;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;
use trace_model::{GroupId, GroupKind, Picos, TraceModel, TrackKind};

use crate::engine::{Analysis, AnalysisError, Context};
use crate::facts::TraceFacts as _;
use crate::facts::category::OpClasses;
use crate::math::stats::percent;

pub use offload::Offload;

/// The analysis `sparse_cores`.
pub struct SparseCores;

/// What `SparseCores` did.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct SparseCoresReport {
    /// Each of them, by device.
    pub cores: Vec<SparseCore>,
    /// Their ops, the longest first.
    pub ops: Vec<SparseOp>,
    /// Work that `TensorCores` handed over, by the op that did, the longest wait first.
    pub offloads: Vec<Offload>,
    /// Starts whose work was not found on any `SparseCore`.
    pub unmatched: u64,
}

/// One `SparseCore`.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct SparseCore {
    /// Its name.
    pub core: String,
    /// The device that it belongs to.
    pub device: String,
    /// Window of the device, or its own where that is longer: the denominator.
    pub window_ps: i64,
    /// Time with an op; `None` if the capture has none.
    pub busy_ps: Option<i64>,
    /// The same of the window.
    pub busy_percent: Option<f64>,
    /// Programs that ran.
    pub programs: u64,
    /// Their time, on the timeline.
    pub program_ps: i64,
    /// Steps recorded.
    pub steps: u64,
    /// Mean length of a step.
    pub step_mean_ps: Option<f64>,
}

/// One op on all `SparseCores`.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct SparseOp {
    /// Instruction, or the name of slices without one.
    pub op: String,
    /// Program, with its id.
    pub program: Option<String>,
    /// HLO category.
    pub category: Option<String>,
    /// Executions.
    pub occurrences: u64,
    /// Time of all executions.
    pub time_ps: i64,
    /// The same without ops inside.
    pub self_ps: i64,
    /// Self time of that of all ops on `SparseCores`.
    pub self_percent: Option<f64>,
}

impl Analysis for SparseCores {
    type Report = SparseCoresReport;
    const ID: &'static str = "sparse_cores";
    const TITLE: &'static str = "SparseCores";

    fn run(cx: &Context<'_>) -> Result<SparseCoresReport, AnalysisError> {
        let pairs = cores(cx);
        if pairs.is_empty() {
            return Err(AnalysisError::NotApplicable(
                "no SparseCore was recorded; the profiler's option tpu_num_sparse_cores_to_trace \
                 (advanced_configuration of jax.profiler.ProfileOptions) records them on v5p, v6e and v7x"
                    .to_owned(),
            ));
        }
        let classes = cx.classes();
        let mut sums: BTreeMap<trace_model::LabelId, SparseOpSums> = BTreeMap::new();
        let mut cores = Vec::new();
        for &(core, device) in &pairs {
            cores.push(core_row(cx, core, device)?);
            add_ops(cx, core, &mut sums)?;
        }
        let (offloads, unmatched) = offload::offloads(cx, classes, &pairs)?;
        Ok(SparseCoresReport { cores, ops: op_rows(cx.model, classes, &sums), offloads, unmatched })
    }
}

/// `SparseCores` that recorded something, with their devices where these are there.
fn cores(cx: &Context<'_>) -> Vec<(GroupId, Option<GroupId>)> {
    let devices = cx.tensor_cores();
    let mut found: Vec<_> = cx
        .model
        .group_ids()
        .filter(|&id| matches!(cx.model.group(id).kind, GroupKind::SparseCore { .. }))
        .map(|id| (id, cx.model.group(id).parent.filter(|parent| devices.contains(parent))))
        .filter(|(_, device)| cx.options.devices.is_empty() || device.is_some())
        .filter(|&(id, _)| cx.model.tracks_of(id).into_iter().any(|track| !cx.model.lanes(track).is_empty()))
        .collect();
    let order = |device: Option<GroupId>| devices.iter().position(|&known| Some(known) == device);
    found.sort_by_key(|&(id, device)| (order(device), cx.model.group(id).kind, id));
    found
}

fn core_row(cx: &Context<'_>, core: GroupId, device: Option<GroupId>) -> Result<SparseCore, AnalysisError> {
    let model = cx.model;
    let name = |group: GroupId| model.device_name(group);
    let own = cx.core_time(core)?;
    let around = device.map(|device| cx.window(device)).transpose()?.flatten();
    // Work of the core outside the window of its device is in no share of that window.
    let windows = around.into_iter().chain(own.as_ref().map(|time| time.window));
    let window_ps = windows.map(|window| window.dur().ps()).max().unwrap_or(0);
    let has_ops = model.track_of_kind(core, TrackKind::Ops).is_some_and(|track| !model.lanes(track).is_empty());
    let busy = own.as_ref().filter(|_| has_ops).map(|time| time.busy_time().ps());
    let count = |kind| {
        let tracks = model.tracks_of(core).into_iter().filter(move |&track| model.track(track).kind == kind);
        let slices = tracks.flat_map(|track| model.slices_on(track));
        let inside = slices.filter(|slice| own.as_ref().is_some_and(|time| time.window.contains(*slice)));
        inside.fold((0_u64, 0_i64), |(count, sum), slice| (count + 1, sum.saturating_add(slice.dur().ps())))
    };
    let ((programs, program_ps), (steps, step_ps)) = (count(TrackKind::Modules), count(TrackKind::Steps));
    Ok(SparseCore {
        core: name(core),
        device: device.or(model.group(core).parent).map(name).unwrap_or_default(),
        window_ps,
        busy_ps: busy,
        busy_percent: busy.and_then(|busy| percent(busy, window_ps)),
        programs,
        program_ps,
        steps,
        step_mean_ps: (steps > 0).then(|| step_ps as f64 / steps as f64),
    })
}

#[derive(Default)]
struct SparseOpSums {
    occurrences: u64,
    time_ps: i64,
    self_ps: i64,
}

fn add_ops(
    cx: &Context<'_>,
    core: GroupId,
    sums: &mut BTreeMap<trace_model::LabelId, SparseOpSums>,
) -> Result<(), AnalysisError> {
    let Some(window) = cx.window(core)? else { return Ok(()) };
    let Some(track) = cx.model.track_of_kind(core, TrackKind::Ops) else { return Ok(()) };
    for slice in cx.model.slices_on(track).filter(|slice| window.contains(*slice)) {
        let sum = sums.entry(slice.label_id()).or_default();
        sum.occurrences += 1;
        sum.time_ps = sum.time_ps.saturating_add(slice.measured_dur().ps());
        sum.self_ps = sum.self_ps.saturating_add(slice.self_dur().ps());
    }
    Ok(())
}

fn op_rows(
    model: &TraceModel,
    classes: &OpClasses,
    sums: &BTreeMap<trace_model::LabelId, SparseOpSums>,
) -> Vec<SparseOp> {
    let all = sums.values().map(|sums| sums.self_ps).sum::<Picos>().ps();
    let mut rows: Vec<SparseOp> = sums
        .iter()
        .map(|(&label, sums)| {
            let label = model.label(label);
            let op = label.op.map(|op| model.op(op));
            SparseOp {
                op: model.str(label.name).to_owned(),
                program: op.and_then(|op| op.program).map(|program| model.program_title(program)),
                category: label.op.map(|op| classes.category(op).to_owned()),
                occurrences: sums.occurrences,
                time_ps: sums.time_ps,
                self_ps: sums.self_ps,
                self_percent: percent(sums.self_ps, all),
            }
        })
        .collect();
    rows.sort_by(|a, b| b.self_ps.cmp(&a.self_ps).then_with(|| (&a.op, &a.program).cmp(&(&b.op, &b.program))));
    rows
}
