//! The only way to make a [`TraceModel`](crate::TraceModel).
//!
//! Importers add groups, tracks, ops and slices in any order.
//! [`TraceBuilder::finish`] sorts, nests and links them (see `finish`), and logs
//! everything that it cannot place in the import log. Finishing cannot fail.

mod texts;

use std::sync::Arc;

use hashbrown::HashMap;

use crate::args::{ArgSource, ArgSourceId, ArgValue};
use crate::attrs::SliceAttr;
use crate::batch::{SliceBatch, SliceSpec};
use crate::device::DeviceInfo;
use crate::flow::FlowPoint;
use crate::import_log::{ImportLog, IssueKind};
use crate::model::AggregatedOp;
use crate::op::{Label, LabelId, Op, OpId, Program, ProgramId};
use crate::source::Source;
use crate::strings::{StringId, StringTable};
use crate::time::{Picos, TimeRange, Timestamp};
use crate::track::{Group, GroupId, GroupKind, SourceId, Track, TrackId, TrackKind};
use crate::unread::UnreadSlices;

/// A slice that a builder holds; valid only in that builder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SliceKey {
    pub(crate) track: TrackId,
    pub(crate) index: u32,
}

impl SliceKey {
    /// The slice at `index` of `track`, for indices that
    /// [`TraceBuilder::append`] returned.
    pub fn new(track: TrackId, index: u32) -> Self {
        Self { track, index }
    }
}

/// One end of a flow.
#[derive(Clone, Copy, Debug)]
pub enum FlowEnd {
    /// This slice.
    Slice(SliceKey),
    /// The deepest slice of the track at this time.
    Enclosing(TrackId, Timestamp),
    /// The first slice of the track that starts at or after this time.
    NextAfter(TrackId, Timestamp),
}

/// Flows, separated by how their ends are given. Nearly all link two known slices.
#[derive(Default)]
pub(crate) struct PendingFlows {
    pub between: Vec<(SliceKey, SliceKey, u64)>,
    pub others: Vec<(FlowEnd, FlowEnd, u64)>,
    /// Ends that are matched by key, for each file.
    pub points: Vec<Vec<(TrackId, Vec<FlowPoint>)>>,
}

impl PendingFlows {
    /// Whether flows refer to slices of each track.
    pub fn tracks(&self, tracks: usize) -> Vec<bool> {
        let mut touched = vec![false; tracks];
        for &(track, _) in self.points.iter().flatten() {
            touched[track.index()] = true;
        }
        let mut touch = |key: SliceKey| touched[key.track.index()] = true;
        for &(from, to, _) in &self.between {
            touch(from);
            touch(to);
        }
        for (from, to, _) in &self.others {
            for end in [from, to] {
                if let FlowEnd::Slice(key) = *end {
                    touch(key);
                }
            }
        }
        touched
    }
}

pub(crate) struct OpenSlice {
    pub index: u32,
    pub label: LabelId,
}

#[derive(Default)]
pub(crate) struct TrackBuilder {
    pub batch: SliceBatch,
    pub open: Vec<OpenSlice>,
    /// `(index, duration)` of slices closed by an end event.
    pub closed: Vec<(u32, i64)>,
    pub arg_source: Option<u16>,
}

pub(crate) struct CounterBuilder {
    pub track: TrackId,
    pub unit: Option<StringId>,
    /// Start, recorded length (if any) and value.
    pub samples: Vec<(i64, Option<i64>, f64)>,
}

/// Collects a trace.
#[derive(Default)]
pub struct TraceBuilder {
    pub(crate) strings: StringTable,
    pub(crate) sources: Vec<Source>,
    pub(crate) groups: Vec<Group>,
    pub(crate) tracks: Vec<Track>,
    pub(crate) track_builders: Vec<TrackBuilder>,
    pub(crate) labels: Vec<Label>,
    pub(crate) ops: Vec<Op>,
    pub(crate) programs: Vec<Program>,
    pub(crate) counters: Vec<CounterBuilder>,
    pub(crate) aggregates: Vec<AggregatedOp>,
    pub(crate) flows: PendingFlows,
    pub(crate) arg_sources: Vec<Arc<dyn ArgSource>>,
    pub(crate) log: ImportLog,
    /// Slices that were only counted.
    pub(crate) unread: Vec<UnreadSlices>,
    /// Whether something was left out because nobody asked for it.
    pub(crate) is_partial: bool,
    /// Tracks of each group, in the order in which they were added.
    tracks_in: Vec<Vec<TrackId>>,
    /// The first track of ops of each group.
    op_tracks: Vec<Option<TrackId>>,
    group_index: HashMap<(SourceId, Option<GroupId>, StringId), GroupId>,
    track_index: HashMap<(GroupId, i64, StringId), TrackId>,
    label_index: HashMap<Label, LabelId>,
    op_index: HashMap<(Option<ProgramId>, StringId), OpId>,
    program_index: HashMap<(StringId, Option<u64>), ProgramId>,
    counter_index: HashMap<TrackId, usize>,
    /// Index of each fact of a group.
    fact_index: HashMap<(GroupId, StringId), usize>,
}

/// Sources, groups and tracks.
impl TraceBuilder {
    /// An empty trace.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a file: groups added from now on belong to it.
    pub fn begin_source(&mut self, source: Source) -> SourceId {
        self.sources.push(source);
        SourceId((self.sources.len() - 1) as u16)
    }

    /// The files added so far.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The file that groups are being added to; importers fill it in while they read.
    pub fn source_mut(&mut self) -> &mut Source {
        if self.sources.is_empty() {
            self.sources.push(Source::default());
        }
        let last = self.sources.len() - 1;
        &mut self.sources[last]
    }

    /// The file that groups are being added to.
    pub fn current_source(&mut self) -> SourceId {
        self.source_mut();
        SourceId((self.sources.len() - 1) as u16)
    }

    /// The group `name` below `parent` in the current file, adding it when new.
    pub fn group(&mut self, parent: Option<GroupId>, kind: GroupKind, name: &str) -> GroupId {
        let source = self.current_source();
        let name = self.strings.intern(name);
        *self
            .group_index
            .entry((source, parent, name))
            .or_insert_with(|| {
                let sort = 0;
                self.groups.push(Group {
                    parent,
                    kind,
                    name,
                    source,
                    sort,
                    facts: Vec::new(),
                    device: None,
                    is_cut: false,
                });
                self.tracks_in.push(Vec::new());
                self.op_tracks.push(None);
                GroupId((self.groups.len() - 1) as u32)
            })
    }

    /// The group as collected so far; importers set its name, order and facts.
    pub fn group_mut(&mut self, group: GroupId) -> &mut Group {
        &mut self.groups[group.index()]
    }

    /// Marks a device whose events the file does not hold to the end.
    pub fn mark_cut(&mut self, device: GroupId) {
        let device = &mut self.groups[device.index()];
        if !std::mem::replace(&mut device.is_cut, true) {
            let name = self.strings.get(device.name).to_owned();
            self.log.add(IssueKind::DeviceCut, || name);
        }
    }

    /// Sets a fact of a group; a repeated name replaces the value.
    pub fn set_group_fact(&mut self, group: GroupId, name: &str, value: ArgValue) {
        let name = self.strings.intern(name);
        let facts = &mut self.groups[group.index()].facts;
        let index = *self.fact_index.entry((group, name)).or_insert(facts.len());
        match facts.get_mut(index) {
            Some((_, slot)) => *slot = value,
            None => facts.push((name, value)),
        }
    }

    /// Records type and peaks of a device.
    pub fn set_device(&mut self, group: GroupId, device: DeviceInfo) {
        self.groups[group.index()].device = Some(device);
    }

    /// The track of `group` with this id and name, adding it when new.
    pub fn track(
        &mut self,
        group: GroupId,
        kind: TrackKind,
        external_id: i64,
        name: &str,
    ) -> TrackId {
        let name = self.strings.intern(name);
        *self
            .track_index
            .entry((group, external_id, name))
            .or_insert_with(|| {
                self.tracks.push(Track {
                    group,
                    name,
                    kind,
                    external_id,
                    sort: 0,
                });
                self.track_builders.push(TrackBuilder::default());
                let id = TrackId((self.tracks.len() - 1) as u32);
                self.tracks_in[group.index()].push(id);
                if kind == TrackKind::Ops {
                    self.op_tracks[group.index()].get_or_insert(id);
                }
                id
            })
    }

    /// The track as collected so far; importers set its name and order.
    pub fn track_mut(&mut self, track: TrackId) -> &mut Track {
        &mut self.tracks[track.index()]
    }

    /// Ids of all groups added so far.
    pub fn group_ids(&self) -> impl Iterator<Item = GroupId> + use<> {
        (0..self.groups.len() as u32).map(GroupId)
    }

    /// A track as collected so far.
    pub fn track_ref(&self, track: TrackId) -> &Track {
        &self.tracks[track.index()]
    }

    /// Tracks of a group added so far.
    pub fn tracks_in(&self, group: GroupId) -> impl Iterator<Item = (TrackId, &Track)> {
        self.tracks_in[group.index()]
            .iter()
            .map(|&id| (id, &self.tracks[id.index()]))
    }

    /// The first track of ops of a group.
    pub fn op_track(&self, group: GroupId) -> Option<TrackId> {
        self.op_tracks[group.index()]
    }

    /// Groups added so far.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Tracks added so far, with their ids.
    pub fn tracks(&self) -> impl Iterator<Item = (TrackId, &Track)> {
        self.tracks
            .iter()
            .enumerate()
            .map(|(i, track)| (TrackId(i as u32), track))
    }
}

/// Slices, counters and flows.
impl TraceBuilder {
    /// Adds a slice whose end is known.
    pub fn add_slice(&mut self, track: TrackId, spec: SliceSpec) -> SliceKey {
        let index = self.batch_mut(track).push(spec);
        SliceKey { track, index }
    }

    /// Adds all slices of a batch and returns the index that its first one got.
    pub fn append(&mut self, track: TrackId, batch: SliceBatch) -> u32 {
        self.batch_mut(track).append(batch)
    }

    /// The slices of a track as collected so far.
    pub fn batch(&self, track: TrackId) -> &SliceBatch {
        &self.track_builders[track.index()].batch
    }

    /// The slices of a track as collected so far, mutable, for importers that relabel or annotate them.
    pub fn batch_mut(&mut self, track: TrackId) -> &mut SliceBatch {
        &mut self.track_builders[track.index()].batch
    }

    /// Opens a slice. Opens and closes of one track must come in time order.
    pub fn begin_slice(
        &mut self,
        track: TrackId,
        time: Timestamp,
        label: LabelId,
        args: Option<u64>,
    ) -> SliceKey {
        let spec = SliceSpec {
            args,
            ..SliceSpec::new(TimeRange::new(time, time), label)
        };
        let key = self.add_slice(track, spec);
        self.track_builders[track.index()].open.push(OpenSlice {
            index: key.index,
            label,
        });
        key
    }

    /// Closes the innermost open slice, or the innermost one with this name. If none is open, logs this and returns
    /// `None`.
    pub fn end_slice(
        &mut self,
        track: TrackId,
        time: Timestamp,
        name: Option<&str>,
    ) -> Option<SliceKey> {
        let Self {
            track_builders,
            labels,
            strings,
            log,
            ..
        } = self;
        let builder = &mut track_builders[track.index()];
        let position = match name {
            None => builder.open.len().checked_sub(1),
            Some(name) => builder
                .open
                .iter()
                .rposition(|open| strings.get(labels[open.label.index()].name) == name),
        };
        let Some(position) = position else {
            log.add(IssueKind::EndWithoutBegin, || {
                format!("{:?} at {} ps", name.unwrap_or("(no name)"), time.ps())
            });
            return None;
        };
        let open = builder.open.remove(position);
        let start = builder.batch.range(open.index).start;
        builder
            .closed
            .push((open.index, (time - start).clamped().ps()));
        Some(SliceKey {
            track,
            index: open.index,
        })
    }

    /// Attaches a sparse fact; the last value wins.
    pub fn set_attr(&mut self, slice: SliceKey, attr: SliceAttr, value: i64) {
        self.batch_mut(slice.track)
            .set_attr(slice.index, attr, value);
    }

    /// Registers a source of arguments.
    pub fn add_arg_source(&mut self, source: Arc<dyn ArgSource>) -> ArgSourceId {
        self.arg_sources.push(source);
        ArgSourceId((self.arg_sources.len() - 1) as u16)
    }

    /// Sets the source of the arguments of a track's slices.
    pub fn set_arg_source(&mut self, track: TrackId, source: ArgSourceId) {
        self.track_builders[track.index()].arg_source = Some(source.0);
    }

    /// Lets `to` read its arguments from the source of `from`.
    pub fn share_arg_source(&mut self, from: TrackId, to: TrackId) {
        self.track_builders[to.index()].arg_source = self.track_builders[from.index()].arg_source;
    }

    /// Adds a sample to a counter track. Without `dur`, its value holds until the next sample.
    pub fn add_counter_sample(
        &mut self,
        track: TrackId,
        time: Timestamp,
        dur: Option<Picos>,
        value: f64,
    ) {
        let samples = &mut self.counter(track).samples;
        samples.push((time.ps(), dur.map(Picos::ps), value));
    }

    /// Sets the unit of a counter track.
    pub fn set_counter_unit(&mut self, track: TrackId, unit: &str) {
        let unit = self.strings.intern(unit);
        self.counter(track).unit = Some(unit);
    }

    fn counter(&mut self, track: TrackId) -> &mut CounterBuilder {
        let index = *self.counter_index.entry(track).or_insert_with(|| {
            self.counters.push(CounterBuilder {
                track,
                unit: None,
                samples: Vec::new(),
            });
            self.counters.len() - 1
        });
        &mut self.counters[index]
    }

    /// Adds the totals of an op that was aggregated before export.
    pub fn add_aggregate(&mut self, aggregate: AggregatedOp) {
        self.aggregates.push(aggregate);
    }

    /// Adds a flow.
    pub fn add_flow(&mut self, from: FlowEnd, to: FlowEnd, id: u64) {
        match (from, to) {
            (FlowEnd::Slice(from), FlowEnd::Slice(to)) => self.flows.between.push((from, to, id)),
            ends => self.flows.others.push((ends.0, ends.1, id)),
        }
    }

    /// Adds the ends of flows of one file, by track, in the order of the file.
    pub fn add_flow_points(&mut self, points: Vec<(TrackId, Vec<FlowPoint>)>) {
        self.flows.points.push(points);
    }

    /// Says that slices or flows are left out because nobody asked for them: see
    /// [`is_partial`](crate::TraceColumns::is_partial).
    pub fn set_partial(&mut self) {
        self.is_partial = true;
    }

    /// Counts slices without adding them.
    pub fn add_unread(&mut self, slices: UnreadSlices) {
        self.is_partial = true;
        self.unread.push(slices);
    }

    /// Counts an issue; `example` is called only while examples are kept.
    pub fn log(&mut self, kind: IssueKind, example: impl FnOnce() -> String) {
        self.log.add(kind, example);
    }

    /// The import log, for workers' logs to be merged into.
    pub fn log_mut(&mut self) -> &mut ImportLog {
        &mut self.log
    }
}
