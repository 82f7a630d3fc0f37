//! The finished, immutable trace. Queries for slices are in `slice_ref`.

use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::args::ArgSource;
use crate::counters::CounterSeries;
use crate::flow::{Flow, Flows};
use crate::import_log::ImportLog;
use crate::index::ModelIndex;
use crate::op::{Label, LabelId, Op, OpId, Program, ProgramId};
use crate::slices::{SliceId, SliceTable};
use crate::source::{Caveat, Source, about_times, badge};
use crate::strings::{StringId, StringTable};
use crate::time::{Picos, TimeRange};
use crate::track::{Group, GroupId, GroupKind, HostId, Lane, SourceId, Track, TrackId, TrackKind};
use crate::unread::UnreadSlices;

/// Totals of the executions of an op, from profiles that were aggregated before export.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct AggregatedOp {
    /// Track it was recorded on.
    pub track: TrackId,
    /// Its label.
    pub label: LabelId,
    /// Number of executions.
    pub occurrences: u64,
    /// Total time of all executions.
    pub total: Picos,
    /// Total self time, if recorded.
    pub self_time: Option<Picos>,
    /// Shortest execution, if recorded.
    pub min: Option<Picos>,
}

/// Memory use of a model by part, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct MemoryUse {
    /// Number of slices in memory.
    pub slices: usize,
    /// Columns of the slice table, without argument handles.
    pub slice_bytes: usize,
    /// Argument handles.
    pub arg_bytes: usize,
    /// Interned strings.
    pub string_bytes: usize,
    /// Counter samples.
    pub counter_bytes: usize,
}

impl MemoryUse {
    /// Bytes per slice, arguments excluded; `None` without slices.
    pub fn bytes_per_slice(&self) -> Option<f64> {
        (self.slices > 0).then(|| self.slice_bytes as f64 / self.slices as f64)
    }
}

/// An immutable trace, made by [`TraceBuilder`](crate::TraceBuilder). Clones share it, so results can refer to it
/// instead of copying its strings.
#[derive(Clone)]
pub struct TraceModel(pub(crate) Arc<TraceColumns>);

impl Deref for TraceModel {
    type Target = TraceColumns;

    fn deref(&self) -> &TraceColumns {
        &self.0
    }
}

/// The content of a [`TraceModel`] and its queries.
#[derive(Serialize, Deserialize)]
pub struct TraceColumns {
    pub(crate) strings: StringTable,
    pub(crate) sources: Vec<Source>,
    pub(crate) groups: Vec<Group>,
    pub(crate) tracks: Vec<Track>,
    pub(crate) labels: Vec<Label>,
    pub(crate) ops: Vec<Op>,
    pub(crate) programs: Vec<Program>,
    pub(crate) slices: SliceTable,
    pub(crate) lanes: Vec<Lane>,
    /// Lanes of track `i`.
    pub(crate) track_lanes: Vec<Range<u32>>,
    pub(crate) counters: Vec<CounterSeries>,
    pub(crate) aggregates: Vec<AggregatedOp>,
    pub(crate) flows: Flows,
    /// Saved apart.
    #[serde(skip)]
    pub(crate) arg_sources: Vec<Arc<dyn ArgSource>>,
    /// Argument source of track `i`.
    pub(crate) track_args: Vec<Option<u16>>,
    pub(crate) log: ImportLog,
    pub(crate) unread: Vec<UnreadSlices>,
    pub(crate) is_partial: bool,
    pub(crate) extent: TimeRange,
    #[serde(skip)]
    pub(crate) index: ModelIndex,
    /// Rows of slices that have a parent, sorted by parent; made on first use.
    #[serde(skip)]
    pub(crate) by_parent: OnceLock<Vec<u32>>,
    /// One bit for each row: whether it has children; made on first use.
    #[serde(skip)]
    pub(crate) has_children: OnceLock<Vec<u64>>,
}

impl TraceColumns {
    /// The string of `id`.
    #[inline]
    pub fn str(&self, id: StringId) -> &str {
        self.strings.get(id)
    }
    /// The string table.
    pub fn strings(&self) -> &StringTable {
        &self.strings
    }
    /// The files that it was read from.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }
    /// The simulator or model that computed the times of any file, if they were not measured.
    pub fn simulator(&self) -> Option<&str> {
        self.sources
            .iter()
            .find_map(|source| source.simulator.as_deref())
    }
    /// Whether any file has this caveat.
    pub fn has_caveat(&self, caveat: Caveat) -> bool {
        self.sources
            .iter()
            .any(|source| source.caveats.contains(&caveat))
    }
    /// `SIMULATED by ASTRA-sim`; `None` if times were measured.
    pub fn badge(&self) -> Option<String> {
        self.simulator()
            .map(|by| badge(by, self.has_caveat(Caveat::Predicted)))
    }
    /// The badge and what stands behind it: `SIMULATED by ASTRA-sim: no time here was measured`.
    pub fn badge_in_words(&self) -> Option<String> {
        let about = about_times(|caveat| self.has_caveat(caveat));
        self.badge().map(|badge| format!("{badge}: {about}"))
    }
    /// The file with this id.
    pub fn source(&self, id: SourceId) -> &Source {
        &self.sources[id.index()]
    }
    /// The import log: what was lost, repaired or noticed.
    pub fn import_log(&self) -> &ImportLog {
        &self.log
    }
    /// Whether slices or flows of the files are missing because the import was asked for reports only. Reports are
    /// those of the whole files; nothing else may read a partial model: lists, tables, exports and pictures would show
    /// less than was recorded.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }
    /// Slices that were counted but are not in the model, by track.
    pub fn unread(&self) -> &[UnreadSlices] {
        &self.unread
    }
    /// Number of slices in the files, whether they are in the model or were only counted.
    pub fn recorded_slices(&self) -> u64 {
        let kept = self.slice_count() as u64;
        let counted = self.unread.iter().map(UnreadSlices::count);
        counted.fold(kept, u64::saturating_add)
    }
    /// Whether programs were read, and no run of them.
    pub fn has_programs_only(&self) -> bool {
        self.recorded_slices() == 0 && !self.programs().is_empty()
    }
    /// From the first recorded slice to the end of the last; empty without slices.
    pub fn extent(&self) -> TimeRange {
        self.extent
    }

    /// All hosts, devices, cores and processes.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }
    /// One group.
    pub fn group(&self, id: GroupId) -> &Group {
        &self.groups[id.index()]
    }
    /// Display name of a device: `/device:TPU:0`, or `host_a TPU:0` if several hosts number their devices from 0 and so
    /// share the name.
    pub fn device_name(&self, id: GroupId) -> String {
        let group = self.group(id);
        let name = self.str(group.name);
        if !self.index.is_shared(group.name) {
            return name.to_owned();
        }
        let host = self.host_name(self.host_of(id));
        format!("{host} {}", name.strip_prefix("/device:").unwrap_or(name))
    }
    /// The host whose clock a group has.
    pub fn host_of(&self, id: GroupId) -> HostId {
        let file = HostId {
            source: self.group(id).source,
            group: None,
        };
        self.index.host(id).unwrap_or(file)
    }
    /// Display name of a host: that of its file where the host is not recorded.
    pub fn host_name(&self, host: HostId) -> &str {
        let source = self.source(host.source);
        let recorded = source.host.as_ref().unwrap_or(&source.name);
        host.group
            .map_or(recorded, |group| self.str(self.group(group).name))
    }
    /// Ids of all groups.
    pub fn group_ids(&self) -> impl Iterator<Item = GroupId> + use<> {
        (0..self.groups.len() as u32).map(GroupId)
    }
    /// Groups directly below `parent` (or at the top), in display order.
    pub fn child_groups(&self, parent: Option<GroupId>) -> Vec<GroupId> {
        self.index.children(parent).to_vec()
    }
    /// The `TensorCore` devices, by host, then ordinal.
    pub fn tensor_cores(&self) -> Vec<GroupId> {
        let mut ids: Vec<_> = self
            .group_ids()
            .filter(|&id| matches!(self.group(id).kind, GroupKind::TensorCore { .. }))
            .collect();
        ids.sort_by_key(|&id| (self.host_of(id), self.group(id).kind, id));
        ids
    }
    /// The fact `name` recorded about a group.
    pub fn group_fact(&self, group: GroupId, name: &str) -> Option<&crate::ArgValue> {
        let name = self.strings.find(name)?;
        self.group(group)
            .facts
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    }

    /// All tracks.
    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }
    /// One track.
    #[inline]
    pub fn track(&self, id: TrackId) -> &Track {
        &self.tracks[id.index()]
    }
    /// Ids of all tracks.
    pub fn track_ids(&self) -> impl Iterator<Item = TrackId> + use<> {
        (0..self.tracks.len() as u32).map(TrackId)
    }
    /// Tracks of a group, in display order.
    pub fn tracks_of(&self, group: GroupId) -> Vec<TrackId> {
        self.index.tracks(group).to_vec()
    }
    /// The tracks of `kind` in a group.
    pub fn tracks_of_kind(
        &self,
        group: GroupId,
        kind: TrackKind,
    ) -> impl Iterator<Item = TrackId> + Clone {
        let tracks = self.index.tracks(group).iter().copied();
        tracks.filter(move |&id| self.track(id).kind == kind)
    }
    /// The first track of `kind` in a group.
    pub fn track_of_kind(&self, group: GroupId, kind: TrackKind) -> Option<TrackId> {
        self.tracks_of_kind(group, kind).min()
    }

    /// All labels, by [`LabelId::index`].
    pub fn labels(&self) -> &[Label] {
        &self.labels
    }
    /// One label.
    #[inline]
    pub fn label(&self, id: LabelId) -> Label {
        self.labels[id.index()]
    }
    /// All distinct ops, by [`OpId::index`].
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }
    /// Ids of all labels.
    pub fn label_ids(&self) -> impl Iterator<Item = LabelId> + use<> {
        (0..self.labels.len() as u32).map(LabelId)
    }
    /// Ids of all ops.
    pub fn op_ids(&self) -> impl Iterator<Item = OpId> + use<> {
        (0..self.ops.len() as u32).map(OpId)
    }
    /// One op.
    #[inline]
    pub fn op(&self, id: OpId) -> &Op {
        &self.ops[id.index()]
    }
    /// All programs, by [`ProgramId::index`].
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }
    /// Ids of all programs.
    pub fn program_ids(&self) -> impl Iterator<Item = ProgramId> + use<> {
        (0..self.programs.len() as u32).map(ProgramId)
    }
    /// One program.
    pub fn program(&self, id: ProgramId) -> &Program {
        &self.programs[id.index()]
    }
    /// A program with its id, `jit_matmul(123)`: names alone are not unique.
    pub fn program_title(&self, id: ProgramId) -> String {
        let program = self.program(id);
        let name = self.str(program.name);
        program
            .id
            .map_or_else(|| name.to_owned(), |id| format!("{name}({id})"))
    }
    /// Sums of profiles that were aggregated before export.
    pub fn aggregates(&self) -> &[AggregatedOp] {
        &self.aggregates
    }

    /// Number of slices.
    pub fn slice_count(&self) -> usize {
        self.slices.starts.len()
    }

    /// Whether arguments of slices can still be read: see [`ArgSource::check`].
    ///
    /// # Errors
    ///
    /// Those of the first source whose file is gone or has changed.
    pub fn check_args(&self) -> Result<(), String> {
        self.arg_sources
            .iter()
            .try_for_each(|source| source.check())
    }

    /// Says that arguments of many slices may be read: see [`ArgSource::expect_many`].
    pub fn expect_many_args(&self) {
        self.arg_sources
            .iter()
            .for_each(|source| source.expect_many());
    }

    /// Every lane, by track then depth.
    pub fn all_lanes(&self) -> &[Lane] {
        &self.lanes
    }
    /// Index of the first lane of a track in [`Self::all_lanes`].
    pub fn first_lane_index(&self, track: TrackId) -> usize {
        self.track_lanes[track.index()].start as usize
    }
    /// Lanes of a track, from the top.
    #[inline]
    pub fn lanes(&self, track: TrackId) -> &[Lane] {
        let range = &self.track_lanes[track.index()];
        &self.lanes[range.start as usize..range.end as usize]
    }
    /// Row numbers of the slices of a lane.
    pub fn lane_rows(&self, lane: &Lane) -> Range<usize> {
        lane.rows.start as usize..lane.rows.end as usize
    }
    /// The lane that a slice lies in.
    #[inline]
    pub fn lane_of(&self, slice: SliceId) -> &Lane {
        let (from, to) = self.index.lanes_near(slice.0);
        let near = &self.lanes[from..to.min(self.lanes.len())];
        &near[near.partition_point(|lane| lane.rows.end <= slice.0)]
    }

    /// All counter series.
    pub fn counters(&self) -> &[CounterSeries] {
        &self.counters
    }
    /// The samples of a counter track.
    pub fn counter(&self, track: TrackId) -> Option<&CounterSeries> {
        self.counters.get(self.index.counter(track)?)
    }

    /// All flows, sorted by their first slice. The first call links them, which takes a tenth of a second per million.
    pub fn flows(&self) -> &[Flow] {
        self.flows.linked(&self.slices.starts)
    }
    /// Flows that start at a slice.
    pub fn flows_from(&self, slice: SliceId) -> &[Flow] {
        let flows = self.flows();
        let from = flows.partition_point(|flow| flow.from < slice);
        let to = flows.partition_point(|flow| flow.from <= slice);
        &flows[from..to]
    }
    /// Flows that end at a slice.
    pub fn flows_to(&self, slice: SliceId) -> impl Iterator<Item = Flow> {
        let (flows, by_end) = (self.flows(), self.flows.by_end(&self.slices.starts));
        let from = by_end.partition_point(|&i| flows[i as usize].to < slice);
        by_end[from..]
            .iter()
            .map(|&i| flows[i as usize])
            .take_while(move |flow| flow.to == slice)
    }

    /// Memory use by part.
    pub fn memory_use(&self) -> MemoryUse {
        MemoryUse {
            slices: self.slice_count(),
            slice_bytes: self.slices.heap_bytes(),
            arg_bytes: self.slices.args.heap_bytes(),
            string_bytes: self.strings.heap_bytes(),
            counter_bytes: self
                .counters
                .iter()
                .map(|series| series.values.capacity() * 24)
                .sum(),
        }
    }
}

impl std::fmt::Debug for TraceModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceModel")
            .field("sources", &self.sources)
            .field("groups", &self.groups.len())
            .field("tracks", &self.tracks.len())
            .field("slices", &self.slice_count())
            .field("extent", &self.extent)
            .finish_non_exhaustive()
    }
}
