//! Converts the outline of a file to groups, tracks and slices.

use std::ops::Range;

use importer_common::async_spans;
use importer_common::names::{self, PlaneKind};
use importer_common::op_track::track_of_line;
use importer_common::prelude::*;
use rayon::prelude::{IntoParallelRefIterator as _, ParallelIterator as _};
use trace_model::{ArgSourceId, FormatContents};

use super::args::{DeferredBytes, PlaneArgs};
use super::counters::OpEnds;
use super::decode::{DecodedJob, LineJob, PlanesContext, decode_lines};
use super::host_part::host_part;
use super::lines::{EPOCH_LIKE_NS, LineOutline};
use super::ops::ProgramNames;
use super::space::{RawPlane, RawSpace};
use super::tables::{FileBytes, MetadataIndex, PlaneMetadata};
use super::{counters, facts, ops, programs};

/// Adds everything in `space` to `out`, of events on host threads what the options ask for.
pub(super) fn convert(
    bytes: &FileBytes,
    space: &RawSpace,
    source: &InputSource,
    options: &ImportOptions,
    progress: &Progress,
    out: &mut TraceBuilder,
) -> Result<()> {
    let wanted = options.for_reports.as_ref();
    let later = Arc::new(DeferredBytes::new(source, bytes));
    let planes: Vec<DecodedJob<'_>> = space
        .planes
        .iter()
        .map(|plane| ready(bytes, space, plane, source, progress, out))
        .collect();
    progress.check()?;
    describe_session(bytes, space, &planes, out);
    let epoch_ns = epoch(&planes, out);
    let program_names = read_programs(&planes, out);

    let host = out
        .source_mut()
        .host
        .clone()
        .unwrap_or_else(|| host_from(source.name()).to_owned());
    let groups = add_groups(&planes, &host, out);
    let mut labels: Vec<Vec<LabelId>> = Vec::with_capacity(planes.len());
    let mut args_of = indexes_by_group(&planes, &groups);
    let mut args: HashMap<GroupId, ArgSourceId> = HashMap::new();
    let mut jobs = Vec::new();
    for (index, (plane, group)) in planes.iter().zip(&groups).enumerate() {
        let Some(group) = *group else {
            labels.push(Vec::new());
            continue;
        };
        facts::group_facts(
            out,
            group,
            &plane.tables,
            &plane.plane.stats,
            plane.kind.is_core(),
        );
        labels.push(ops::labels(out, &plane.tables, &program_names));
        let args = *args.entry(group).or_insert_with(|| {
            let indexes = args_of.remove(&group).unwrap_or_default();
            out.add_arg_source(Arc::new(PlaneArgs {
                indexes,
                file: Arc::clone(&later),
            }))
        });
        jobs.extend(add_tracks(plane, index, group, args, out));
    }
    progress.check()?;

    let asked = (wanted, options.programs_only);
    let part = host_part(&planes, &labels, &jobs, asked, out);
    let bare_ops = if wanted.is_some() {
        bare_ops(&planes, &labels, out)
    } else {
        Vec::new()
    };
    let context = PlanesContext {
        planes: &planes,
        labels: &labels,
        unknown: out.label(trace_model::UNKNOWN_EVENT, None),
        epoch_ns,
        bare_ops: &bare_ops,
        source,
        progress,
    };
    decode_lines(&context, jobs, part.as_ref(), out)?;
    // Planes of one name share their ops.
    let mut ends: HashMap<GroupId, OpEnds> = HashMap::new();
    for ((plane, group), labels) in planes.iter().zip(&groups).zip(&labels) {
        let Some(group) = *group else { continue };
        for line in plane
            .lines
            .iter()
            .flatten()
            .filter(|line| line.events > 0 && plane.is_counters(line))
        {
            progress.check()?;
            let of_track = |track| OpEnds::new(out, track);
            let ends = ends
                .entry(group)
                .or_insert_with(|| out.op_track(group).map(of_track).unwrap_or_default());
            counters::add(out, group, ends, &plane.tables, labels, line, epoch_ns);
        }
    }
    async_spans::complete(out);
    Ok(())
}

/// Which rows of the event metadata of each core are ops. Reports read no arguments of their executions, except of those
/// with facts of their own.
fn bare_ops(
    planes: &[DecodedJob<'_>],
    labels: &[Vec<LabelId>],
    out: &mut TraceBuilder,
) -> Vec<Vec<bool>> {
    let of_plane = |(plane, labels): (&DecodedJob<'_>, &Vec<LabelId>)| {
        let labels = labels.iter().filter(|_| plane.kind.is_core());
        labels
            .map(|&label| out.label_ref(label).op.is_some())
            .collect()
    };
    let ops: Vec<Vec<bool>> = planes.iter().zip(labels).map(of_plane).collect();
    if ops.iter().flatten().any(|&is_op| is_op) {
        out.set_partial();
    }
    ops
}

/// Reads the metadata tables and line outlines of a plane.
fn ready<'a>(
    bytes: &FileBytes,
    space: &RawSpace,
    plane: &'a RawPlane,
    source: &InputSource,
    progress: &Progress,
    out: &mut TraceBuilder,
) -> DecodedJob<'a> {
    let tables = PlaneMetadata::new(
        bytes.clone(),
        &plane.event_metadata,
        &plane.stat_metadata,
        |broken| {
            out.log(IssueKind::MalformedEvent, || format!("metadata, {broken}"));
        },
    );
    let file = tables.bytes();
    let outline = |range: &Range<usize>| {
        let line = LineOutline::read(file, range.clone(), progress);
        // The lines are decoded much later, so reading them again costs less than keeping them in memory.
        source.release_pages(range.clone());
        line
    };
    let outlines: Vec<LineOutline> = plane.lines.par_iter().map(outline).collect();
    let mut lines: Vec<Vec<LineOutline>> = Vec::new();
    let mut by_id: HashMap<(i64, &[u8]), usize> = HashMap::new();
    for line in outlines {
        // The truncation of the file was already logged with the outline.
        let is_counted = space.broken.is_some() && line.range.end == file.len();
        if let Some(broken) = line.broken.filter(|_| !is_counted) {
            let rest = line.range.end.saturating_sub(broken.at);
            out.log_mut().add_skipped(rest, || {
                format!("line {} of plane {:?}, {broken}", line.id, plane.name)
            });
        }
        // Lines with the same id are one timeline. In files without ids, the name identifies the line.
        let key = (
            line.id,
            if line.id == 0 {
                tables.slice(line.name.clone())
            } else {
                &[]
            },
        );
        if let Some(parts) = by_id.get(&key).and_then(|&index| lines.get_mut(index)) {
            out.log(IssueKind::ChunksMerged, || {
                format!("line {} of plane {:?}", line.id, plane.name)
            });
            parts.push(line);
        } else {
            by_id.insert(key, lines.len());
            lines.push(vec![line]);
        }
    }
    drop(by_id);
    DecodedJob {
        plane,
        kind: names::plane_kind(&plane.name),
        tables,
        lines,
    }
}

/// Records the host name, the session times, and errors and warnings of the profiler.
fn describe_session(
    bytes: &FileBytes,
    space: &RawSpace,
    planes: &[DecodedJob<'_>],
    out: &mut TraceBuilder,
) {
    out.source_mut().tells = FormatContents {
        memory_of_bytes: true,
        allocations: true,
    };
    let file = (**bytes).as_ref();
    let text = |range: &Range<usize>| {
        String::from_utf8_lossy(file.get(range.clone()).unwrap_or_default()).into_owned()
    };
    if let Some(host) = space
        .hostnames
        .first()
        .map(text)
        .filter(|host| !host.is_empty())
    {
        out.source_mut().host.get_or_insert(host);
    }
    for error in &space.errors {
        out.log(IssueKind::ProfilerError, || text(error));
    }
    for warning in &space.warnings {
        out.log(IssueKind::ProfilerWarning, || text(warning));
    }
    for plane in planes
        .iter()
        .filter(|plane| plane.kind.group_kind().is_none())
    {
        facts::session_facts(out, &plane.tables, &plane.plane.stats);
    }
}

/// The host in a file name: `host0` of `host0.xplane.pb`.
fn host_from(name: &str) -> &str {
    [".xplane.pb", ".xspace.pb", ".pb"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(name)
}

/// The Unix time subtracted from lines with absolute timestamps: the start of the session, or of the first such line.
fn epoch(planes: &[DecodedJob<'_>], out: &mut TraceBuilder) -> i64 {
    let lines = planes.iter().flat_map(|plane| plane.lines.iter().flatten());
    let absolute = lines
        .map(|line| line.timestamp_ns)
        .filter(|&ns| ns >= EPOCH_LIKE_NS)
        .min();
    let Some(first) = absolute else { return 0 };
    let epoch = *out.source_mut().started_unix_ns.get_or_insert(first);
    // A session start long after the first event is wrong and is not used.
    let epoch = if epoch <= first && first - epoch < EPOCH_LIKE_NS / 1000 {
        epoch
    } else {
        first
    };
    out.source_mut().origin_ps = i128::from(epoch) * 1000;
    epoch
}

fn read_programs(planes: &[DecodedJob<'_>], out: &mut TraceBuilder) -> ProgramNames {
    let mut names = ProgramNames::new();
    for plane in planes
        .iter()
        .filter(|plane| plane.kind == PlaneKind::Metadata)
    {
        programs::hlo_protos(out, &plane.tables, &mut names);
    }
    for plane in planes.iter().filter(|plane| plane.kind.is_core()) {
        for line in plane.lines.iter().flatten() {
            if plane.track_kind(line) == TrackKind::Modules {
                programs::names_from_modules(out, &plane.tables, line, &mut names);
            }
        }
    }
    names
}

/// Groups of all planes with content: below the host, and sparse cores below their device.
fn add_groups(
    planes: &[DecodedJob<'_>],
    host: &str,
    out: &mut TraceBuilder,
) -> Vec<Option<GroupId>> {
    let host = out.group(None, GroupKind::Host, host);
    let mut devices: HashMap<u32, GroupId> = HashMap::new();
    let mut groups: Vec<Option<GroupId>> = vec![None; planes.len()];
    // Devices first, because a sparse core may come before its device in the file.
    for sparse in [false, true] {
        for (plane, slot) in planes.iter().zip(&mut groups) {
            let is_sparse = matches!(plane.kind, PlaneKind::SparseCore { .. });
            let shown = plane.kind.is_core()
                || matches!(plane.kind, PlaneKind::Gpu { .. } | PlaneKind::Host)
                || !plane.lines.is_empty();
            let Some(kind) = plane
                .kind
                .group_kind()
                .filter(|_| shown && is_sparse == sparse)
            else {
                continue;
            };
            let parent = match plane.kind {
                PlaneKind::SparseCore { device, .. } => {
                    devices.get(&device).copied().unwrap_or(host)
                }
                _ => host,
            };
            let group = out.group(Some(parent), kind, &plane.plane.name);
            out.group_mut(group).sort = plane.kind.sort();
            if let PlaneKind::TensorCore { ordinal } = plane.kind {
                devices.insert(ordinal, group);
                if plane.plane.is_cut {
                    out.mark_cut(group);
                }
            }
            *slot = Some(group);
        }
    }
    groups
}

/// The metadata of each group's planes, by where they begin in the file: planes of one name share a group.
fn indexes_by_group(
    planes: &[DecodedJob<'_>],
    groups: &[Option<GroupId>],
) -> HashMap<GroupId, Vec<(usize, Arc<MetadataIndex>)>> {
    let mut indexes: HashMap<GroupId, Vec<(usize, Arc<MetadataIndex>)>> = HashMap::new();
    for (plane, group) in planes.iter().zip(groups) {
        let Some(group) = *group else { continue };
        let of_plane = plane
            .plane
            .starts
            .iter()
            .map(|&start| (start, Arc::clone(plane.tables.index())));
        indexes.entry(group).or_default().extend(of_plane);
    }
    for indexes in indexes.values_mut() {
        indexes.sort_unstable_by_key(|&(start, _)| start);
        indexes.dedup_by(|next, before| Arc::ptr_eq(&next.1, &before.1));
    }
    indexes
}

/// Tracks of all lines with events; counters get one track per series later.
fn add_tracks(
    plane: &DecodedJob<'_>,
    index: usize,
    group: GroupId,
    args: ArgSourceId,
    out: &mut TraceBuilder,
) -> Vec<LineJob> {
    let mut jobs = Vec::new();
    for parts in &plane.lines {
        let Some(first) = parts
            .iter()
            .find(|part| !part.name.is_empty())
            .or_else(|| parts.first())
        else {
            continue;
        };
        let kind = plane.track_kind(first);
        if kind == TrackKind::Counter || parts.iter().all(|part| part.events == 0) {
            continue;
        }
        let track = add_track(plane, first, kind, group, args, out);
        jobs.push(LineJob {
            plane: index,
            track,
            kind,
            parts: parts.clone(),
        });
    }
    jobs
}

fn add_track(
    plane: &DecodedJob<'_>,
    line: &LineOutline,
    kind: TrackKind,
    group: GroupId,
    args: ArgSourceId,
    out: &mut TraceBuilder,
) -> TrackId {
    let name = ops::text(out, &plane.tables, line.shown_name());
    let name = if name.is_empty() {
        line.shown_id().to_string()
    } else {
        name
    };
    let track = track_of_line(out, group, kind, line.shown_id(), &name);
    out.track_mut(track).sort = names::track_sort(kind);
    out.set_arg_source(track, args);
    track
}
