//! From a [`TraceBuilder`] to a [`TraceModel`]: closes what is open, aligns
//! hosts, sorts and nests every track (in parallel), links arrows, clips counters.

use std::collections::BTreeMap;
use std::ops::Range;

use rayon::prelude::{IntoParallelIterator as _, ParallelIterator as _};

use crate::attrs::{SliceAttr, SparseColumn};
use crate::batch::SliceBatch;
use crate::builder::{CounterBuilder, FlowEnd, SliceKey, TraceBuilder, TrackBuilder};
use crate::compact::CompactColumn;
use crate::counters::CounterSeries;
use crate::flow::Flow;
use crate::import_log::{ImportLog, IssueKind};
use crate::model::{Lane, Source, TraceModel};
use crate::nesting::{NO_PARENT, Rows, children_in_rows, nest, parents_by, rows_by_depth};
use crate::slices::{DeviceClock, NO_ARGS, Reparented, SliceId, SliceTable};
use crate::time::{Picos, TimeRange, Timestamp};
use crate::track::{Track, TrackId};

pub(crate) fn finish(mut builder: TraceBuilder) -> TraceModel {
    let shifts = align_sources(&mut builder.sources, &mut builder.log);
    let shift_of = |track: &Track| shifts[builder.groups[track.group.index()].source.index()];

    let flow_tracks = tracks_with_flows(&builder.flows, builder.tracks.len());
    let jobs: Vec<_> = std::mem::take(&mut builder.track_builders)
        .into_iter()
        .zip(&builder.tracks)
        .zip(&flow_tracks)
        .map(|((track_builder, track), &keep_rows)| {
            (track_builder, track.kind.overlaps_freely(), shift_of(track), keep_rows)
        })
        .collect();
    let finished: Vec<FinishedTrack> = jobs
        .into_par_iter()
        .map(|(track_builder, free, shift, keep_rows)| finish_track(track_builder, free, shift, keep_rows))
        .collect();

    let mut merged = Merged::with_capacity(finished.iter().map(|track| track.starts.len()).sum());
    for (index, track) in finished.into_iter().enumerate() {
        merged.append(TrackId(index as u32), track, &mut builder.log, |row_label| {
            let label = builder.labels.get(row_label as usize).copied();
            label.map_or("", |label| builder.strings.get(label.name)).to_owned()
        });
    }
    let extent = merged.extent();
    let counters = builder
        .counters
        .into_iter()
        .map(|counter| {
            let shift = shifts[builder.groups[builder.tracks[counter.track.index()].group.index()].source.index()];
            finish_counter(counter, shift, extent, &mut builder.log)
        })
        .collect();

    let Merged { mut table, lanes, track_lanes, track_args, rows_of, .. } = merged;
    table.durs.shrink();
    table.self_durs.shrink();
    let mut model = TraceModel {
        strings: builder.strings,
        sources: builder.sources,
        groups: builder.groups,
        tracks: builder.tracks,
        labels: builder.labels,
        ops: builder.ops,
        programs: builder.programs,
        slices: table,
        lanes,
        track_lanes,
        counters,
        aggregates: builder.aggregates,
        flows: Vec::new(),
        flows_by_end: Vec::new(),
        arg_sources: builder.arg_sources,
        track_args,
        log: builder.log,
        extent,
        origin_ps: builder.origin_ps,
    };
    link_flows(&mut model, &builder.flows, &rows_of, &shifts);
    model
}

/// How far to shift each source so that all share the clock of the earliest.
fn align_sources(sources: &mut [Source], log: &mut ImportLog) -> Vec<i64> {
    let earliest = sources.iter().filter_map(|source| source.started_unix_ns).min();
    if sources.len() > 1 {
        for source in sources.iter_mut() {
            match (source.started_unix_ns, earliest) {
                (Some(start), Some(earliest)) => {
                    source.shift = Picos::from_ps(start.saturating_sub(earliest).saturating_mul(1000));
                }
                _ => log.add(IssueKind::HostsNotAligned, || source.name.clone()),
            }
        }
    }
    sources.iter().map(|source| source.shift.ps()).collect()
}

fn tracks_with_flows(flows: &[(FlowEnd, FlowEnd, u64)], tracks: usize) -> Vec<bool> {
    let mut touched = vec![false; tracks];
    for (from, to, _) in flows {
        for end in [from, to] {
            if let FlowEnd::Slice(SliceKey { track, .. }) = end {
                touched[track.index()] = true;
            }
        }
    }
    touched
}

/// Columns of one track in their final order.
struct FinishedTrack {
    starts: Vec<i64>,
    durs: CompactColumn,
    self_durs: CompactColumn,
    labels: Vec<u32>,
    parents: Vec<u32>,
    args: Vec<u64>,
    device: Option<(i64, CompactColumn, CompactColumn)>,
    attrs: BTreeMap<SliceAttr, Vec<(u32, i64)>>,
    /// Slices of each depth.
    lane_lens: Vec<u32>,
    /// Row of each index of the batch; empty unless asked for.
    rows_of: Vec<u32>,
    /// Rows that overlapped without nesting.
    spilled: Vec<u32>,
    /// `(parent, child)` rows, where parents do not follow the timeline.
    reparented: Vec<(u32, u32)>,
    /// Labels of slices that never ended.
    unterminated: Vec<u32>,
    arg_source: Option<u16>,
}

fn finish_track(mut track: TrackBuilder, free: bool, shift: i64, keep_rows: bool) -> FinishedTrack {
    let unterminated = close_open(&mut track);
    let arg_source = track.arg_source;
    let SliceBatch { mut starts, durs, labels, args, device_starts, device_durs, attrs } = track.batch;
    if shift != 0 {
        for start in &mut starts {
            *start = start.saturating_add(shift);
        }
    }
    let n = starts.len();
    let end = |i: usize| starts[i].saturating_add(durs.get(i));

    // Order by start, longer first, ties as they came.
    let mut order: Vec<u32> = (0..n as u32).collect();
    let key = |&i: &u32| (starts[i as usize], std::cmp::Reverse(end(i as usize)), i);
    if !order.is_sorted_by_key(key) {
        order.sort_unstable_by_key(key);
    }
    let nesting = nest(order.iter().map(|&i| (starts[i as usize], end(i as usize))), free);

    let Rows { lane_lens, row_of, by_row } = rows_by_depth(&nesting.depths);

    let has_device = !device_starts.is_empty() && device_starts.len() == n;
    let measured = |i: usize| if has_device { device_durs.get(i) } else { durs.get(i) };
    let mut reparented = Vec::new();
    let parents = if has_device && !free {
        let by_device = parents_by(&order, |i| (device_starts[i], device_starts[i].saturating_add(device_durs.get(i))));
        if by_device != nesting.parents {
            reparented = children_in_rows(&by_device, &row_of);
        }
        by_device
    } else {
        nesting.parents
    };
    let mut children = vec![0_i64; n];
    for (position, &parent) in parents.iter().enumerate() {
        if parent != NO_PARENT {
            let sum = &mut children[parent as usize];
            *sum = sum.saturating_add(measured(order[position] as usize));
        }
    }

    let mut out = FinishedTrack {
        starts: Vec::with_capacity(n),
        durs: CompactColumn::with_capacity(n),
        self_durs: CompactColumn::with_capacity(n),
        labels: Vec::with_capacity(n),
        parents: Vec::with_capacity(n),
        args: Vec::with_capacity(if args.is_empty() { 0 } else { n }),
        device: None,
        attrs: BTreeMap::new(),
        lane_lens,
        rows_of: Vec::new(),
        spilled: nesting.spilled.iter().map(|&position| row_of[position as usize]).collect(),
        reparented,
        unterminated,
        arg_source,
    };
    for &position in &by_row {
        let i = order[position as usize] as usize;
        out.starts.push(starts[i]);
        out.durs.push(durs.get(i));
        out.self_durs.push((measured(i) - children[position as usize]).max(0));
        out.labels.push(labels[i]);
        let parent = parents[position as usize];
        out.parents.push(if parent == NO_PARENT { NO_PARENT } else { row_of[parent as usize] });
        if !args.is_empty() {
            out.args.push(args.get(i).copied().unwrap_or(NO_ARGS));
        }
    }
    if has_device {
        let in_rows = by_row.iter().map(|&position| order[position as usize] as usize);
        out.device = Some(device_clock(in_rows, &starts, &durs, &device_starts, &device_durs));
    }
    if keep_rows || !attrs.is_empty() {
        let mut rows_of = vec![0_u32; n];
        for (position, &i) in order.iter().enumerate() {
            rows_of[i as usize] = row_of[position];
        }
        out.attrs = attrs_by_row(attrs, &rows_of);
        if keep_rows {
            out.rows_of = rows_of;
        }
    }
    out
}

/// Facts by kind and row; the last value of a row wins.
fn attrs_by_row(attrs: Vec<(SliceAttr, u32, i64)>, rows_of: &[u32]) -> BTreeMap<SliceAttr, Vec<(u32, i64)>> {
    let mut columns: BTreeMap<SliceAttr, Vec<(u32, i64)>> = BTreeMap::new();
    for (attr, i, value) in attrs {
        columns.entry(attr).or_default().push((rows_of[i as usize], value));
    }
    for column in columns.values_mut() {
        // Stable: values of one row stay in the order in which they were set.
        column.sort_by_key(|&(row, _)| row);
        column.reverse();
        column.dedup_by_key(|&mut (row, _)| row);
        column.reverse();
    }
    columns
}

/// Ends what an end event closed, and extends what none did to the end of the track.
fn close_open(track: &mut TrackBuilder) -> Vec<u32> {
    let mut fixes = std::mem::take(&mut track.closed);
    let open = std::mem::take(&mut track.open);
    if fixes.is_empty() && open.is_empty() {
        return Vec::new();
    }
    fixes.sort_unstable();
    track.batch.set_end(&fixes);
    if open.is_empty() {
        return Vec::new();
    }
    let end = (0..track.batch.len() as u32).map(|i| track.batch.range(i).end).max().unwrap_or_default();
    let mut fixes: Vec<_> =
        open.iter().map(|open| (open.index, (end - track.batch.range(open.index).start).ps())).collect();
    fixes.sort_unstable();
    track.batch.set_end(&fixes);
    for open in &open {
        track.batch.set_attr(open.index, SliceAttr::Unterminated, 1);
    }
    open.into_iter().map(|open| open.label.0).collect()
}

fn device_clock(
    in_rows: impl Iterator<Item = usize> + Clone,
    starts: &[i64],
    durs: &CompactColumn,
    device_starts: &[i64],
    device_durs: &CompactColumn,
) -> (i64, CompactColumn, CompactColumn) {
    let base = in_rows.clone().next().map_or(0, |i| device_starts[i].saturating_sub(starts[i]));
    let (mut start_column, mut dur_column) = (CompactColumn::default(), CompactColumn::default());
    for i in in_rows {
        start_column.push(device_starts[i].saturating_sub(starts[i]).saturating_sub(base));
        dur_column.push(device_durs.get(i).saturating_sub(durs.get(i)));
    }
    start_column.shrink();
    dur_column.shrink();
    (base, start_column, dur_column)
}

/// All tracks, one after the other.
struct Merged {
    table: SliceTable,
    lanes: Vec<Lane>,
    track_lanes: Vec<Range<u32>>,
    track_args: Vec<Option<u16>>,
    /// First row of the track, and the row within it of each index of its batch.
    rows_of: Vec<(u32, Vec<u32>)>,
}

impl Merged {
    fn with_capacity(rows: usize) -> Self {
        Self {
            table: SliceTable {
                starts: Vec::with_capacity(rows),
                durs: CompactColumn::with_capacity(rows),
                self_durs: CompactColumn::with_capacity(rows),
                labels: Vec::with_capacity(rows),
                parents: Vec::with_capacity(rows),
                ..SliceTable::default()
            },
            lanes: Vec::new(),
            track_lanes: Vec::new(),
            track_args: Vec::new(),
            rows_of: Vec::new(),
        }
    }

    fn append(&mut self, id: TrackId, track: FinishedTrack, log: &mut ImportLog, name: impl Fn(u32) -> String) {
        let base = self.table.starts.len() as u32;
        let n = track.starts.len();
        let mut examples = track.spilled.iter();
        log.add_many(IssueKind::OverlapSpilled, track.spilled.len() as u64, || {
            examples.next().map_or_else(String::new, |&row| {
                format!("{:?} at {} ps", name(track.labels[row as usize]), track.starts[row as usize])
            })
        });
        for label in track.unterminated {
            log.add(IssueKind::BeginWithoutEnd, || format!("{:?}", name(label)));
        }

        let first_lane = self.lanes.len() as u32;
        let mut row = base;
        for (depth, &len) in track.lane_lens.iter().enumerate() {
            self.lanes.push(Lane { track: id, depth: depth as u32, rows: row..row + len });
            row += len;
        }
        self.track_lanes.push(first_lane..self.lanes.len() as u32);
        self.track_args.push(track.arg_source);

        let table = &mut self.table;
        for i in 0..n {
            table.durs.push(track.durs.get(i));
            table.self_durs.push(track.self_durs.get(i));
        }
        table.starts.extend_from_slice(&track.starts);
        table.labels.extend_from_slice(&track.labels);
        table.parents.extend(track.parents.iter().map(|&p| if p == NO_PARENT { p } else { p + base }));
        if !track.args.is_empty() {
            table.args.resize(base as usize, NO_ARGS);
            table.args.extend_from_slice(&track.args);
        }
        if let Some((clock_base, start_minus_base, dur_minus_timeline)) = track.device {
            let rows = base..base + n as u32;
            table.device_clocks.push(DeviceClock { rows, base: clock_base, start_minus_base, dur_minus_timeline });
        }
        if !track.reparented.is_empty() {
            let pairs = track.reparented.into_iter().map(|(parent, child)| (parent + base, child + base)).collect();
            table.reparented.push(Reparented { rows: base..base + n as u32, pairs });
        }
        for (attr, column) in track.attrs {
            let into: &mut SparseColumn = table.attrs.entry(attr).or_default();
            for (row, value) in column {
                into.rows.push(row + base);
                into.values.push(value);
            }
        }
        self.rows_of.push((base, track.rows_of));
    }

    fn extent(&self) -> TimeRange {
        let ends = self.lanes.iter().filter(|lane| !lane.is_empty()).map(|lane| {
            let (first, last) = (lane.rows.start as usize, lane.rows.end as usize - 1);
            let start = Timestamp::from_ps(self.table.starts[first]);
            let end = Timestamp::from_ps(self.table.starts[last].saturating_add(self.table.durs.get(last)));
            TimeRange::new(start, end)
        });
        ends.reduce(TimeRange::hull).unwrap_or_default()
    }
}

/// Sorts the samples and ends each where the next begins. A recorded length that
/// reaches past that is clipped: the last sample of a kernel can carry an
/// absolute time as its length.
fn finish_counter(mut counter: CounterBuilder, shift: i64, extent: TimeRange, log: &mut ImportLog) -> CounterSeries {
    counter.samples.sort_by_key(|&(start, ..)| start);
    let mut series = CounterSeries {
        track: counter.track,
        unit: counter.unit,
        starts: Vec::with_capacity(counter.samples.len()),
        ends: Vec::with_capacity(counter.samples.len()),
        values: Vec::with_capacity(counter.samples.len()),
    };
    for (i, &(start, dur, value)) in counter.samples.iter().enumerate() {
        let start = start.saturating_add(shift);
        let next =
            counter.samples.get(i + 1).map_or(extent.end.ps().max(start), |&(next, ..)| next.saturating_add(shift));
        let end = match dur {
            None => next,
            Some(dur) if start.saturating_add(dur) <= next => start.saturating_add(dur),
            Some(dur) => {
                log.add(IssueKind::CounterClipped, || format!("sample at {start} ps held {dur} ps"));
                next
            }
        };
        series.starts.push(Timestamp::from_ps(start));
        series.ends.push(Timestamp::from_ps(end));
        series.values.push(value);
    }
    series
}

fn link_flows(model: &mut TraceModel, flows: &[(FlowEnd, FlowEnd, u64)], rows_of: &[(u32, Vec<u32>)], shifts: &[i64]) {
    let shifted = |model: &TraceModel, track: TrackId, at: Timestamp| {
        at + Picos::from_ps(shifts[model.group(model.track(track).group).source.index()])
    };
    let resolve = |model: &TraceModel, end: &FlowEnd| match *end {
        FlowEnd::Slice(SliceKey { track, index }) => {
            let (base, rows) = &rows_of[track.index()];
            rows.get(index as usize).map(|row| SliceId(base + row))
        }
        FlowEnd::Enclosing(track, at) => {
            model.slice_at(track, shifted(model, track, at)).map(super::slices::SliceRef::id)
        }
        FlowEnd::NextAfter(track, at) => {
            let at = shifted(model, track, at);
            model
                .lanes(track)
                .iter()
                .filter_map(|lane| {
                    let starts = &model.slices.starts[lane.rows.start as usize..lane.rows.end as usize];
                    let next = starts.partition_point(|&start| start < at.ps());
                    starts.get(next).map(|&start| (start, SliceId(lane.rows.start + next as u32)))
                })
                .min()
                .map(|(_, id)| id)
        }
    };
    let mut linked = Vec::with_capacity(flows.len());
    let mut log = std::mem::take(&mut model.log);
    for (from, to, id) in flows {
        match (resolve(model, from), resolve(model, to)) {
            (Some(from), Some(to)) => linked.push(Flow { from, to, id: *id }),
            _ => log.add(IssueKind::FlowWithoutEnd, || format!("flow {id}")),
        }
    }
    model.log = log;
    linked.sort_unstable();
    linked.dedup();
    let mut by_end: Vec<u32> = (0..linked.len() as u32).collect();
    by_end.sort_by_key(|&i| (linked[i as usize].to, linked[i as usize].from));
    model.flows = linked;
    model.flows_by_end = by_end;
}
