//! Decodes the lines of planes on all threads and adds them in file order.

use importer_common::names::{self, PlaneKind};
use importer_common::prelude::*;
use rayon::prelude::{
    IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _,
};
use trace_model::{AggregatedOp, SliceBatch};

use super::counted::{self, HostPart};
use super::flows::{self, XFlow};
use super::lines::{self, DecodedLine, LineContext, LineOutline, PIECE};
use super::memory::MemoryCurves;
use super::space::RawPlane;
use super::tables::PlaneMetadata;

/// A plane with its metadata and lines.
pub(super) struct DecodedJob<'a> {
    pub plane: &'a RawPlane,
    pub kind: PlaneKind,
    pub tables: PlaneMetadata,
    /// Lines in file order; parts of one line are together.
    pub lines: Vec<Vec<LineOutline>>,
}

/// A line, or a piece of one, to be decoded onto its track.
pub(super) struct LineJob {
    pub plane: usize,
    pub track: TrackId,
    pub kind: TrackKind,
    pub parts: Vec<LineOutline>,
}

impl LineJob {
    /// Splits the work into jobs of at most [`PIECE`] events: long lines are split, short parts share a job. If events
    /// `are_counted`, the line stays whole: whether they nest shows only there.
    fn split(self, are_counted: bool) -> Vec<Self> {
        let Self {
            plane,
            track,
            kind,
            parts,
        } = self;
        // Pairs of asynchronous events can only be found in whole lines.
        if kind == TrackKind::AsyncOps || are_counted {
            return vec![Self {
                plane,
                track,
                kind,
                parts,
            }];
        }
        let mut jobs: Vec<Self> = Vec::new();
        let mut events = 0;
        for piece in parts.into_iter().flat_map(LineOutline::split) {
            events += piece.events;
            match jobs.last_mut() {
                Some(job) if events <= PIECE => job.parts.push(piece),
                _ => {
                    events = piece.events;
                    jobs.push(Self {
                        plane,
                        track,
                        kind,
                        parts: vec![piece],
                    });
                }
            }
        }
        jobs
    }
}

impl DecodedJob<'_> {
    pub fn track_kind(&self, line: &LineOutline) -> TrackKind {
        let name = String::from_utf8_lossy(self.tables.slice(line.name.clone()));
        names::track_kind(self.kind, line.id, &name)
    }

    pub fn is_counters(&self, line: &LineOutline) -> bool {
        self.track_kind(line) == TrackKind::Counter
    }

    pub fn has_counters(&self) -> bool {
        let mut lines = self.lines.iter().flatten();
        lines.any(|line| line.events > 0 && self.is_counters(line))
    }
}

/// The planes of a file, and what their lines have in common.
#[derive(Clone, Copy)]
pub(super) struct PlanesContext<'a> {
    pub planes: &'a [DecodedJob<'a>],
    /// Labels of each plane.
    pub labels: &'a [Vec<LabelId>],
    /// Label of events whose metadata is missing.
    pub unknown: LabelId,
    pub epoch_ns: i64,
    /// Ops whose slices need no arguments, by plane and row of its event metadata; empty if all slices need them.
    pub bare_ops: &'a [Vec<bool>],
    pub source: &'a InputSource,
    pub progress: &'a Progress,
}

type DecodedLines = Vec<(LineJob, DecodedLine)>;

impl PlanesContext<'_> {
    /// Decodes lines on all threads, in file order.
    fn decoded(self, jobs: Vec<LineJob>, part: Option<&HostPart>) -> Result<DecodedLines> {
        let counted = |job: &LineJob| part.and_then(|part| part.counted.get(job.plane)?.as_deref());
        let split = |job: LineJob| {
            let are_counted = counted(&job).is_some();
            job.split(are_counted)
        };
        let jobs: Vec<LineJob> = jobs.into_iter().flat_map(split).collect();
        jobs.into_par_iter()
            .with_max_len(1)
            .filter_map(|job| {
                let tables = &self.planes.get(job.plane)?.tables;
                let stats = part.and_then(|part| part.stats.get(job.plane));
                let context = LineContext {
                    tables,
                    stats: stats.unwrap_or(tables.stats()),
                    bare_ops: self.bare_ops.get(job.plane).map_or(&[], Vec::as_slice),
                    labels: self.labels.get(job.plane)?,
                    unknown: self.unknown,
                    epoch_ns: self.epoch_ns,
                    kind: job.kind,
                    counted: counted(&job),
                    progress: self.progress,
                };
                let decoded = lines::decode(&context, &job.parts);
                // Slices take about as much memory as the bytes of their events. Of these bytes only few are read
                // again: some texts, and arguments on demand.
                for part in &job.parts {
                    self.source.release_pages(part.range.clone());
                }
                Some(decoded.map(|decoded| (job, decoded)))
            })
            .collect()
    }

    /// The same; if `part` of the events turns out not to be enough, all of them.
    fn decoded_as_wanted(
        self,
        jobs: Vec<LineJob>,
        part: Option<&HostPart>,
        out: &mut TraceBuilder,
    ) -> Result<DecodedLines> {
        if part.is_none() {
            return self.decoded(jobs, None);
        }
        let decoded = self.decoded(jobs, part)?;
        let counted = || decoded.iter().filter_map(|(_, line)| line.counted.as_ref());
        if !counted::are_plausible(counted()) {
            let jobs = decoded.into_iter().map(|(job, _)| job).collect();
            return self.decoded(jobs, None);
        }
        out.set_partial();
        for (job, line) in &decoded {
            let labels = self.labels.get(job.plane).map_or(&[][..], Vec::as_slice);
            let counted = line.counted.as_ref();
            if let Some(unread) = counted.and_then(|line| line.on_track(job.track, labels)) {
                out.add_unread(unread);
            }
        }
        Ok(decoded)
    }
}

/// Decodes lines on all threads and adds them in file order; only a `part` of their events if it is given.
pub(super) fn decode_lines(
    context: &PlanesContext<'_>,
    jobs: Vec<LineJob>,
    part: Option<&HostPart>,
    out: &mut TraceBuilder,
) -> Result<()> {
    let decoded = context.decoded_as_wanted(jobs, part, out)?;
    let (mut points, mut curves) = (Vec::new(), MemoryCurves::default());
    let mut to_come: HashMap<TrackId, usize> = HashMap::new();
    for (job, decoded) in &decoded {
        *to_come.entry(job.track).or_default() += decoded.batch.len();
    }
    for (job, mut decoded) in decoded {
        out.log_mut().merge(std::mem::take(&mut decoded.log));
        for row in &decoded.aggregates {
            out.add_aggregate(AggregatedOp {
                track: job.track,
                label: row.label,
                occurrences: row.occurrences,
                total: row.total,
                self_time: row.self_time,
                min: row.min,
            });
        }
        for (attr, index, text) in &decoded.texts {
            let text = context
                .planes
                .get(job.plane)
                .and_then(|plane| plane.tables.text(text));
            if let Some(text) = text.map(|text| out.intern(&text)) {
                decoded.batch.set_attr(*index, *attr, text.index() as i64);
            }
        }
        curves.collect(job.track, &decoded.memory, &decoded.batch);
        let batch = match job.kind {
            TrackKind::AsyncOps => {
                let (batch, index_of) = join_pairs(decoded.batch, &decoded.async_flows);
                if let Some(index_of) = index_of {
                    for point in &mut decoded.flow_points {
                        point.move_to(
                            index_of
                                .get(point.index() as usize)
                                .copied()
                                .unwrap_or(point.index()),
                        );
                    }
                }
                batch
            }
            _ => decoded.batch,
        };
        if job.kind == TrackKind::DeviceScopes {
            log_drop_markers(&batch, out);
        }
        let appended = batch.len();
        let first = out.append(job.track, batch);
        // The first piece became the track; now make room for all others at once.
        let rest = to_come
            .remove(&job.track)
            .unwrap_or(appended)
            .saturating_sub(appended);
        if rest > 0 {
            out.batch_mut(job.track).reserve(rest);
        }
        // Pieces of a line, and lines with the same id and name, share a track, so later indices are shifted.
        if first > 0 {
            decoded
                .flow_points
                .iter_mut()
                .for_each(|point| point.move_to(point.index().saturating_add(first)));
        }
        if !decoded.flow_points.is_empty() {
            points.push((job.track, decoded.flow_points));
        }
    }
    flows::add(out, points);
    curves.add_to(out);
    Ok(())
}

/// Logs lost hardware events, which the runtime marks with a scope.
fn log_drop_markers(batch: &SliceBatch, out: &mut TraceBuilder) {
    for index in 0..batch.len() as u32 {
        let name = out.label_name(batch.label(index));
        if name.to_ascii_lowercase().contains("dropped") {
            let example = format!("{name:?} at {} ps", batch.range(index).start.ps());
            out.log(IssueKind::DroppedTraces, || example);
        }
    }
}

/// Joins pairs of events: some runtimes record an asynchronous op as two events, start and end, linked by a flow. If
/// there are pairs, also returns the new slice of each event.
fn join_pairs(batch: SliceBatch, flows: &[(u32, XFlow)]) -> (SliceBatch, Option<Vec<u32>>) {
    let mut groups: HashMap<(u8, u64), Vec<u32>> = HashMap::new();
    for &(index, flow) in flows.iter().filter(|(_, flow)| flow.into != flow.out) {
        groups
            .entry((flow.category, flow.id))
            .or_default()
            .push(index);
    }
    groups.retain(|_, members| members.len() > 1);
    if groups.is_empty() {
        return (batch, None);
    }
    let mut first_of: HashMap<u32, u32> = HashMap::new();
    let mut span_of: HashMap<u32, Option<TimeRange>> = HashMap::new();
    for members in groups.values() {
        let hull = members
            .iter()
            .map(|&i| batch.range(i))
            .reduce(TimeRange::hull);
        let first = members
            .iter()
            .copied()
            .min_by_key(|&i| (batch.range(i).start, i));
        first_of.extend(members.iter().filter_map(|&i| Some((i, first?))));
        span_of.extend(
            members
                .iter()
                .map(|&i| (i, hull.filter(|_| Some(i) == first))),
        );
    }
    let mut joined = SliceBatch::with_capacity(batch.len(), true);
    let mut index_of: HashMap<u32, u32> = HashMap::new();
    for i in 0..batch.len() as u32 {
        let mut spec = batch.spec(i);
        match span_of.get(&i) {
            Some(None) => continue,
            Some(Some(span)) => spec.range = *span,
            None => {}
        }
        index_of.insert(i, joined.push(spec));
    }
    for &(attr, i, value) in batch.attrs() {
        if let Some(&index) = index_of.get(&i) {
            joined.set_attr(index, attr, value);
        }
    }
    // Events of a group become part of its first event.
    let place = |i: &u32| {
        index_of
            .get(i)
            .or_else(|| index_of.get(first_of.get(i)?))
            .copied()
    };
    let places = (0..batch.len() as u32)
        .map(|i| place(&i).unwrap_or_default())
        .collect();
    (joined, Some(places))
}
