//! Flows between slices: from a launch to the program that it launched.
//!
//! Two encodings exist. `TraceMe` stats name a producer (`_pt`, `_p`) or a consumer (`_ct`, `_c`) of a context type and
//! id. The `flow` stat packs both into one number: bits 0–1 direction, bits 2–57 id, bits 58–63 category.

use std::hash::BuildHasher as _;

use hashbrown::hash_table::{Entry, HashTable};
use hashbrown::{DefaultHashBuilder, HashMap, HashSet};
use trace_model::{FlowEnd, GroupId, GroupKind, SliceAttr, SliceKey, Timestamp, TraceBuilder, TrackId, TrackKind};

/// Host event that puts a program into a device's queue.
const ENQUEUE: &str = "DoEnqueueProgram";

/// Which end of a flow an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FlowRole {
    /// The flow leaves here.
    Out,
    /// The flow arrives here.
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

/// Keeps `flow` stats apart from producer and consumer types.
const FLOW_CLASS: u16 = 1 << 12;

impl FlowPoint {
    pub(super) fn new(id: u64, class: u64, role: FlowRole, index: u32) -> Self {
        Self { id, index, class: class.min(u64::from(FLOW_CLASS) - 1) as u16, role }
    }

    /// Follows its slice, which moved up by `by` places.
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

/// An end of a flow where it leaves a slice.
struct FlowProducer {
    id: u64,
    class: u16,
    line: u32,
    index: u32,
    /// The producer before it in the file that has the same id and class, or [`NONE`].
    before: u32,
}

const NONE: u32 = u32::MAX;

/// Where flows leave, by id and class.
struct FlowProducers {
    all: Vec<FlowProducer>,
    /// The last producer of each id and class. A table of numbers: 255,000 producers of a capture take 2.6 MB, and
    /// finding them costs a fifth of sorting both ends.
    last: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// All producers of one id and class in order of time, where there are several; made when first asked for.
    in_order: HashMap<u32, Vec<u32>>,
}

impl FlowProducers {
    fn new(lines: &[(TrackId, Vec<FlowPoint>)]) -> Self {
        let points = (0..).zip(lines).flat_map(|(line, (_, points))| points.iter().map(move |point| (line, *point)));
        let total = lines.iter().flat_map(|(_, points)| points).filter(|point| point.role == FlowRole::Out).count();
        let hasher = DefaultHashBuilder::default();
        let mut all: Vec<FlowProducer> = Vec::with_capacity(total);
        let mut last: HashTable<u32> = HashTable::with_capacity(total);
        for (line, point) in points.filter(|(_, point)| point.role == FlowRole::Out) {
            let (key, number) = ((point.id, point.class), all.len() as u32);
            let of = |number: &u32| all.get(*number as usize).map(|producer| (producer.id, producer.class));
            let entry = last.entry(
                hasher.hash_one(key),
                |number| of(number) == Some(key),
                |number| of(number).map_or(0, |key| hasher.hash_one(key)),
            );
            let before = match entry {
                Entry::Occupied(mut entry) => std::mem::replace(entry.get_mut(), number),
                Entry::Vacant(entry) => {
                    entry.insert(number);
                    NONE
                }
            };
            all.push(FlowProducer { id: point.id, class: point.class, line, index: point.index, before });
        }
        Self { all, last, hasher, in_order: HashMap::new() }
    }

    /// The producer that `consumer` belongs to: the latest one before it.
    fn of(
        &mut self,
        consumer: &FlowPoint,
        start: impl Fn(u32, u32) -> Timestamp,
        now: Timestamp,
    ) -> Option<&FlowProducer> {
        let Self { all, last, hasher, in_order } = self;
        let key = (consumer.id, consumer.class);
        let of = |number: u32| all.get(number as usize);
        let found = last.find(hasher.hash_one(key), |&number| {
            of(number).is_some_and(|producer| (producer.id, producer.class) == key)
        });
        let last = of(*found?)?;
        if last.before == NONE {
            return Some(last);
        }
        let group = in_order.entry(*found?).or_insert_with(|| {
            let mut group: Vec<u32> =
                std::iter::successors(found.copied(), |&number| of(number).map(|producer| producer.before))
                    .take_while(|&number| number != NONE)
                    .collect();
            let time = |&number: &u32| of(number).map(|p| (start(p.line, p.index), p.line, p.index));
            group.sort_unstable_by_key(time);
            group
        });
        let before = group.partition_point(|&number| of(number).is_some_and(|p| start(p.line, p.index) <= now));
        group.get(before.saturating_sub(1)).and_then(|&number| of(number))
    }
}

/// Draws the flows between the slices of all lines. Where several producers share an id, a consumer belongs to the
/// latest one before it.
pub(super) fn link(builder: &mut TraceBuilder, lines: Vec<(TrackId, Vec<FlowPoint>)>) {
    let tracks: Vec<TrackId> = lines.iter().map(|&(track, _)| track).collect();
    let mut producers = FlowProducers::new(&lines);
    let mut linked_modules = HashSet::new();
    for (track, points) in lines {
        let is_modules = builder.track_ref(track).kind == TrackKind::Modules;
        for point in points.iter().filter(|point| point.role == FlowRole::In) {
            let start = |line: u32, index: u32| builder.batch(tracks[line as usize]).range(index).start;
            let now: Timestamp = builder.batch(track).range(point.index).start;
            let Some(producer) = producers.of(point, start, now) else { continue };
            let from = SliceKey::new(tracks[producer.line as usize], producer.index);
            let to = SliceKey::new(track, point.index);
            if from != to {
                builder.add_flow(FlowEnd::Slice(from), FlowEnd::Slice(to), point.id);
                if is_modules {
                    linked_modules.insert(to);
                }
            }
        }
    }
    link_runs(builder, &linked_modules);
}

/// If no flow links a program execution to the host, equal run ids are used: from the host's enqueue to the module of
/// the same device. `linked` are modules that a flow reaches already. Run ids of other host events are of other number
/// spaces.
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
