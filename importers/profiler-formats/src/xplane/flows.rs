//! Flows between slices: from a launch to the program that it launched.
//!
//! Two encodings exist. `TraceMe` stats name a producer (`_pt`, `_p`) or a consumer (`_ct`, `_c`) of a context type and
//! id. The `flow` stat packs both into one number: bits 0–1 direction, bits 2–57 id, bits 58–63 category.

use hashbrown::HashSet;
use importer_common::prelude::*;
use trace_model::{FlowEnd, FlowPoint, FlowRole, SliceKey};

/// Host event that enqueues a program on a device.
const ENQUEUE: &str = "DoEnqueueProgram";

/// Distinguishes `flow` stats from producer and consumer types.
const FLOW_CLASS: u16 = 1 << 12;

/// An end of a flow of this context type.
pub(super) fn context_point(id: u64, context_type: u64, role: FlowRole, index: u32) -> FlowPoint {
    FlowPoint::new(
        id,
        context_type.min(u64::from(FLOW_CLASS) - 1) as u16,
        role,
        index,
    )
}

/// A decoded `flow` stat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct XFlow {
    pub category: u8,
    pub id: u64,
    pub into: bool,
    pub out: bool,
}

impl XFlow {
    pub fn from_bits(bits: u64) -> Self {
        Self {
            category: (bits >> 58) as u8,
            id: (bits >> 2) & ((1 << 56) - 1),
            into: bits & 1 != 0,
            out: bits & 2 != 0,
        }
    }

    /// The ends of flows on a slice with this stat.
    pub fn points(self, index: u32) -> impl Iterator<Item = FlowPoint> {
        let class = FLOW_CLASS + u16::from(self.category);
        let point = move |role| FlowPoint::new(self.id, class, role, index);
        [(self.into, FlowRole::In), (self.out, FlowRole::Out)]
            .into_iter()
            .filter(|&(has, _)| has)
            .map(move |(_, role)| point(role))
    }
}

/// Adds the ends of flows of all lines, and links program executions at which no flow ends.
pub(super) fn add(builder: &mut TraceBuilder, lines: Vec<(TrackId, Vec<FlowPoint>)>) {
    let linked = linked_modules(builder, &lines);
    link_runs(builder, &linked);
    if !lines.is_empty() {
        builder.add_flow_points(lines);
    }
}

/// Program executions at which a flow ends.
fn linked_modules(
    builder: &TraceBuilder,
    lines: &[(TrackId, Vec<FlowPoint>)],
) -> HashSet<SliceKey> {
    let points = |role: FlowRole| {
        let all = lines
            .iter()
            .flat_map(|(track, points)| points.iter().map(|point| (*track, point)));
        all.filter(move |(_, point)| point.role() == role)
    };
    let is_module = |track: TrackId| builder.track_ref(track).kind == TrackKind::Modules;
    let slice =
        |(track, point): (TrackId, &FlowPoint)| (SliceKey::new(track, point.index()), point.key());
    if !lines.iter().any(|&(track, _)| is_module(track)) {
        return HashSet::new();
    }
    let ends: HashSet<_> = points(FlowRole::In)
        .filter(|&(track, _)| is_module(track))
        .map(slice)
        .collect();
    let wanted: HashSet<_> = ends.iter().map(|&(_, key)| key).collect();
    let producers: Vec<_> = points(FlowRole::Out)
        .map(slice)
        .filter(|(_, key)| wanted.contains(key))
        .collect();
    let produced: HashSet<_> = producers.iter().map(|&(_, key)| key).collect();
    // A slice that is both producer and consumer of a key would be its own producer, which is no flow.
    let produced_here: HashSet<_> = producers
        .into_iter()
        .filter(|producer| ends.contains(producer))
        .collect();
    ends.into_iter()
        .filter(|end| produced.contains(&end.1) && !produced_here.contains(end))
        .map(|(slice, _)| slice)
        .collect()
}

/// Links program executions that have no flow to the host by run id: from the host's enqueue to the module on the same
/// device. `linked` are modules that already have a flow. Run ids of other host events are numbered differently.
fn link_runs(builder: &mut TraceBuilder, linked: &HashSet<SliceKey>) {
    let of_source = |group: GroupId, source| builder.groups()[group.index()].source == source;
    let source = builder.groups().last().map(|group| group.source);
    let tracks: Vec<(TrackId, TrackKind, Option<u32>)> = builder
        .tracks()
        .filter(|(_, track)| source.is_some_and(|source| of_source(track.group, source)))
        .map(|(id, track)| (id, track.kind, ordinal(builder, track.group)))
        .collect();
    let mut modules: HashMap<(i64, i64), SliceKey> = HashMap::new();
    for &(track, _, ordinal) in tracks
        .iter()
        .filter(|&&(_, kind, _)| kind == TrackKind::Modules)
    {
        let Some(ordinal) = ordinal else { continue };
        for &(attr, index, run) in builder.batch(track).attrs() {
            let key = SliceKey::new(track, index);
            if attr == SliceAttr::RunId && !linked.contains(&key) {
                modules.insert((run, i64::from(ordinal)), key);
            }
        }
    }
    if modules.is_empty() {
        return;
    }
    let mut linked_runs = Vec::new();
    for &(track, ..) in tracks
        .iter()
        .filter(|&&(_, kind, _)| kind == TrackKind::HostThread)
    {
        let batch = builder.batch(track);
        let mut runs: HashMap<u32, (Option<i64>, i64)> = HashMap::new();
        for &(attr, index, value) in batch.attrs() {
            match attr {
                SliceAttr::RunId if builder.label_name(batch.label(index)) == ENQUEUE => {
                    runs.entry(index).or_default().0 = Some(value);
                }
                SliceAttr::DeviceOrdinal => runs.entry(index).or_default().1 = value,
                _ => {}
            }
        }
        let mut runs: Vec<_> = runs.into_iter().collect();
        runs.sort_unstable_by_key(|&(index, _)| index);
        for (index, (run, device)) in runs {
            let module = run.and_then(|run| modules.get(&(run, device)));
            linked_runs.extend(module.map(|&module| (SliceKey::new(track, index), module, run)));
        }
    }
    for (from, to, run) in linked_runs {
        builder.add_flow(
            FlowEnd::Slice(from),
            FlowEnd::Slice(to),
            run.unwrap_or_default() as u64,
        );
    }
}

fn ordinal(builder: &TraceBuilder, group: GroupId) -> Option<u32> {
    match builder.groups()[group.index()].kind {
        GroupKind::TensorCore { ordinal } => Some(ordinal),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flow_stats_unpack() {
        let flow = XFlow::from_bits(1_441_151_880_758_608_103);
        assert_eq!(
            (flow.into, flow.out, flow.id, flow.category),
            (true, true, 12345, 5)
        );
        assert_eq!(
            XFlow::from_bits(3),
            XFlow {
                category: 0,
                id: 0,
                into: true,
                out: true
            }
        );
        assert_eq!(XFlow::from_bits(7).id, 1);
        assert_eq!(XFlow::from_bits(2).points(9).count(), 1);
    }
}
