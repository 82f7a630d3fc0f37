//! How far a device's clock is from its host's.
//!
//! A program cannot begin before the host has enqueued it, nor can the host learn
//! of its end before it has ended. Every pair of events bounds the shift `δ` that
//! device times need:
//!
//! ```text
//! host    [enqueue]......................[completion]
//! device     ..δ..>[program]
//!         enqueue.begin ≤ program.begin + δ     program.end + δ ≤ completion.begin
//! ```
//!
//! Executions are paired by run id and device, or, where host events have none and
//! there is one device, the k-th with the k-th. If zero lies inside of the bounds,
//! nothing is wrong; else the lower bound is the least correction.

use serde::Serialize;
use trace_model::{GroupId, GroupKind, SliceAttr, SliceRef, TraceModel, TrackKind};

use crate::Context;

/// The shift that one device needs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockShift {
    /// Name of the device.
    pub core: String,
    /// Executions that were paired.
    pub pairs: usize,
    /// How executions were paired: `run id` or `order`.
    pub paired_by: &'static str,
    /// Least shift that lets no program begin before it was enqueued.
    pub at_least_ps: i64,
    /// Largest shift that lets no program end after the host knew; `None` where no
    /// completion was recorded.
    pub at_most_ps: Option<i64>,
    /// The correction to apply: 0 if that is possible, else `at_least_ps`.
    pub shift_ps: i64,
    /// No constant shift explains all pairs.
    pub is_inconsistent: bool,
}

/// The shift of every device whose programs can be paired with host events.
pub(super) fn clock_shifts<'a>(cx: &Context<'a>) -> Vec<ClockShift> {
    let model = cx.model;
    let cores = cx.tensor_cores();
    let enqueues = host_slices(model, |name| name == "DoEnqueueProgram" || name.ends_with("ExecuteLaunch"));
    let completions = host_slices(model, |name| name == "CompleteCallbacks" || name == "tpu::System::Execute=>Done");
    let source = |group: GroupId| model.group(group).source;
    let shifts = cores.iter().filter_map(|&core| {
        // Hosts of one run count devices and executions alike: each has its own.
        let alone = cores.iter().filter(|&&other| source(other) == source(core)).count() == 1;
        let of_host = |slices: &[SliceRef<'a>]| -> Vec<SliceRef<'a>> {
            slices.iter().copied().filter(|slice| source(model.track(slice.track()).group) == source(core)).collect()
        };
        let (enqueues, completions) = (of_host(&enqueues), of_host(&completions));
        let GroupKind::TensorCore { ordinal } = model.group(core).kind else { return None };
        let tracks = model.tracks_of(core).into_iter().filter(|&track| model.track(track).kind == TrackKind::Modules);
        let mut programs: Vec<SliceRef<'_>> = tracks.flat_map(|track| model.slices_on(track)).collect();
        programs.sort_by_key(|program| program.start());
        let (begins, by_id) = pair(&programs, &enqueues, "DoEnqueueProgram", "ExecuteLaunch", ordinal, alone)?;
        let ends = pair(&programs, &completions, "CompleteCallbacks", "=>Done", ordinal, alone).map(|(pairs, _)| pairs);
        let at_least = begins.iter().map(|(program, host)| (host.start() - program.start()).ps()).max()?;
        let ends = ends.unwrap_or_default();
        let at_most = ends.iter().map(|(program, host)| (host.start() - program.range().end).ps()).min();
        Some(ClockShift {
            core: model.str(model.group(core).name).to_owned(),
            pairs: begins.len(),
            paired_by: if by_id { "run id" } else { "order" },
            at_least_ps: at_least,
            at_most_ps: at_most,
            shift_ps: at_least.max(0),
            is_inconsistent: at_most.is_some_and(|at_most| at_most < at_least),
        })
    });
    shifts.collect()
}

fn host_slices(model: &TraceModel, wanted: impl Fn(&str) -> bool) -> Vec<SliceRef<'_>> {
    let named: Vec<bool> = model.labels().iter().map(|label| wanted(model.str(label.name))).collect();
    if !named.contains(&true) {
        return Vec::new();
    }
    let tracks = model.track_ids().filter(|&track| model.track(track).kind == TrackKind::HostThread);
    let slices = tracks.flat_map(|track| model.slices_on(track));
    let mut slices: Vec<_> =
        slices.filter(|slice| named.get(slice.label_id().index()).copied().unwrap_or(false)).collect();
    slices.sort_by_key(|slice| (slice.start(), slice.id()));
    slices
}

type Pairs<'a> = Vec<(SliceRef<'a>, SliceRef<'a>)>;

/// Programs with their host events: by id from events called `identified`, else in
/// the order of events that end with `ordered`, if there is exactly one each.
fn pair<'a>(
    programs: &[SliceRef<'a>],
    host: &[SliceRef<'a>],
    identified: &str,
    ordered: &str,
    ordinal: u32,
    alone: bool,
) -> Option<(Pairs<'a>, bool)> {
    let key = |slice: &SliceRef<'_>, device: Option<i64>| Some((slice.attr(SliceAttr::RunId)?, device?));
    let device_of =
        |slice: &SliceRef<'_>| slice.attr(SliceAttr::DeviceOrdinal).or_else(|| alone.then_some(i64::from(ordinal)));
    let by_id: std::collections::BTreeMap<(i64, i64), SliceRef<'a>> = host
        .iter()
        .filter(|slice| slice.name() == identified)
        .filter_map(|slice| Some((key(slice, device_of(slice))?, *slice)))
        .collect();
    let pairs: Pairs<'a> = programs
        .iter()
        .filter_map(|program| Some((*program, *by_id.get(&key(program, Some(i64::from(ordinal)))?)?)))
        .collect();
    if !pairs.is_empty() {
        return Some((pairs, true));
    }
    let in_order: Vec<&SliceRef<'a>> = host.iter().filter(|slice| slice.name().ends_with(ordered)).collect();
    let matches = alone && !programs.is_empty() && in_order.len() == programs.len();
    matches.then(|| (programs.iter().copied().zip(in_order.into_iter().copied()).collect(), false))
}
