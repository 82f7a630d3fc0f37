//! Flows between slices: from a launch to the program that it launched.
//!
//! Two encodings exist. `TraceMe` stats name a producer (`_pt`, `_p`) or a consumer (`_ct`, `_c`) of a context type and
//! id. The `flow` stat packs both into one number: bits 0–1 direction, bits 2–57 id, bits 58–63 category.

use hashbrown::{HashMap, HashSet};
use trace_model::{FlowEnd, GroupId, GroupKind, SliceAttr, SliceKey, Timestamp, TraceBuilder, TrackId, TrackKind};

/// Host event that enqueues a program on a device.
const ENQUEUE: &str = "DoEnqueueProgram";

/// Which end of a flow an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FlowRole {
    /// The flow starts here.
    Out,
    /// The flow ends here.
    In,
}

/// One end of a flow on a slice of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FlowPoint {
    id: u64,
    index: u32,
    /// Context type, or category of a `flow` stat beyond [`FLOW_CLASS`].
    class: u16,
    role: FlowRole,
}

/// Distinguishes `flow` stats from producer and consumer types.
const FLOW_CLASS: u16 = 1 << 12;

impl FlowPoint {
    pub(super) fn new(id: u64, class: u64, role: FlowRole, index: u32) -> Self {
        Self { id, index, class: class.min(u64::from(FLOW_CLASS) - 1) as u16, role }
    }

    /// Its slice is another one now: that at its index in `places`.
    pub(super) fn move_to(&mut self, places: &[u32]) {
        self.index = places.get(self.index as usize).copied().unwrap_or(self.index);
    }

    /// Adjusts the index of its slice, which moved by `by` positions.
    pub(super) fn move_up(&mut self, by: u32) {
        self.index = self.index.saturating_add(by);
    }
}

/// A decoded `flow` stat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct XFlow {
    pub(super) category: u8,
    pub(super) id: u64,
    pub(super) into: bool,
    pub(super) out: bool,
}

impl XFlow {
    pub(super) fn from_bits(bits: u64) -> Self {
        Self {
            category: (bits >> 58) as u8,
            id: (bits >> 2) & ((1 << 56) - 1),
            into: bits & 1 != 0,
            out: bits & 2 != 0,
        }
    }

    /// The ends of flows on a slice with this stat.
    pub(super) fn points(self, index: u32) -> impl Iterator<Item = FlowPoint> {
        let class = FLOW_CLASS + u16::from(self.category);
        let point = move |role| FlowPoint { id: self.id, index, class, role };
        [(self.into, FlowRole::In), (self.out, FlowRole::Out)]
            .into_iter()
            .filter(|&(has, _)| has)
            .map(move |(_, role)| point(role))
    }
}

/// An end of a flow, with the number of its line.
struct End {
    id: u64,
    class: u16,
    line: u32,
    index: u32,
}

impl End {
    fn key(&self) -> (u64, u16) {
        (self.id, self.class)
    }
}

/// Adds the flows between the slices of all lines. If several producers share an id, a consumer belongs to the latest
/// one before it.
pub(super) fn link(builder: &mut TraceBuilder, lines: Vec<(TrackId, Vec<FlowPoint>)>) {
    let tracks: Vec<TrackId> = lines.iter().map(|&(track, _)| track).collect();
    let is_modules: Vec<bool> =
        tracks.iter().map(|&track| builder.track_ref(track).kind == TrackKind::Modules).collect();
    let (mut producers, consumers) = sorted_ends(lines);
    let start = |builder: &TraceBuilder, end: &End| -> Timestamp {
        builder.batch(tracks[end.line as usize]).range(end.index).start
    };
    let mut linked_modules = HashSet::new();
    // Both are sorted by key: the groups of equal keys meet.
    let mut rest = &mut producers[..];
    for consumers in consumers.chunk_by(|a, b| a.key() == b.key()) {
        let Some(key) = consumers.first().map(End::key) else { continue };
        let skipped = rest.iter().take_while(|end| end.key() < key).count();
        let same = rest[skipped..].iter().take_while(|end| end.key() == key).count();
        let (group, behind) = rest.split_at_mut(skipped + same);
        rest = behind;
        let group = &mut group[skipped..];
        if group.len() > 1 {
            group.sort_unstable_by_key(|end| (start(builder, end), end.line, end.index));
        }
        for consumer in consumers {
            let before = match group.len() {
                0 | 1 => 0,
                _ => {
                    let now = start(builder, consumer);
                    group.partition_point(|producer| start(builder, producer) <= now).saturating_sub(1)
                }
            };
            let Some(producer) = group.get(before) else { continue };
            let key = |end: &End| SliceKey::new(tracks[end.line as usize], end.index);
            let (from, to) = (key(producer), key(consumer));
            if from != to {
                builder.add_flow(FlowEnd::Slice(from), FlowEnd::Slice(to), consumer.id);
                if is_modules[consumer.line as usize] {
                    linked_modules.insert(to);
                }
            }
        }
    }
    link_runs(builder, &linked_modules);
}

/// Producers and consumers of all lines, each sorted by key. The sort is stable, because the ids of a line mostly
/// ascend: it then only merges the lines.
fn sorted_ends(lines: Vec<(TrackId, Vec<FlowPoint>)>) -> (Vec<End>, Vec<End>) {
    let outs = lines.iter().flat_map(|(_, points)| points).filter(|point| point.role == FlowRole::Out).count();
    let all: usize = lines.iter().map(|(_, points)| points.len()).sum();
    let (mut producers, mut consumers) = (Vec::with_capacity(outs), Vec::with_capacity(all - outs));
    for (line, (_, points)) in (0..).zip(lines) {
        for FlowPoint { id, index, class, role } in points {
            let ends = if role == FlowRole::Out { &mut producers } else { &mut consumers };
            ends.push(End { id, class, line, index });
        }
    }
    rayon::join(|| producers.sort_by_key(End::key), || consumers.sort_by_key(End::key));
    (producers, consumers)
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
    for &(track, _, ordinal) in tracks.iter().filter(|&&(_, kind, _)| kind == TrackKind::Modules) {
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
    let mut found = Vec::new();
    for &(track, ..) in tracks.iter().filter(|&&(_, kind, _)| kind == TrackKind::HostThread) {
        let batch = builder.batch(track);
        let mut runs: HashMap<u32, (Option<i64>, i64)> = HashMap::new();
        for &(attr, index, value) in batch.attrs() {
            match attr {
                SliceAttr::RunId if builder.str(builder.label_ref(batch.label(index)).name) == ENQUEUE => {
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
            found.extend(module.map(|&module| (SliceKey::new(track, index), module, run)));
        }
    }
    for (from, to, run) in found {
        builder.add_flow(FlowEnd::Slice(from), FlowEnd::Slice(to), run.unwrap_or_default() as u64);
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
        assert_eq!((flow.into, flow.out, flow.id, flow.category), (true, true, 12345, 5));
        assert_eq!(XFlow::from_bits(3), XFlow { category: 0, id: 0, into: true, out: true });
        assert_eq!(XFlow::from_bits(7).id, 1);
        assert_eq!(XFlow::from_bits(2).points(9).count(), 1);
    }
}
