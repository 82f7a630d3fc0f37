//! Finishes one track: sorts its slices into rows, with parents and self times.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::attrs::SliceAttr;
use crate::batch::SliceBatch;
use crate::builder::TrackBuilder;
use crate::compact::CompactColumn;
use crate::nesting::{NO_PARENT, Nesting, TrackRows, children_in_rows, nest, parents_by, rows_by_depth};
use crate::slices::NO_ARGS;
use crate::time::TimeRange;

use super::plausible;

/// Stands for the row of a slice that was dropped.
pub(super) const NO_ROW: u32 = u32::MAX;

/// How to finish a track.
pub(super) struct TrackJob {
    /// Whether slices may overlap freely: see [`nest`].
    pub(super) free: bool,
    /// Added to every start.
    pub(super) shift: i64,
    /// Whether flows refer to the slices.
    pub(super) keep_rows: bool,
    /// Plausible times before the shift; slices outside are dropped.
    pub(super) plausible: TimeRange,
}

/// Columns of one track in their final order.
#[derive(Default)]
pub(super) struct FinishedTrack {
    pub(super) starts: Vec<i64>,
    pub(super) durs: CompactColumn,
    pub(super) child_durs: CompactColumn,
    pub(super) labels: Vec<u32>,
    pub(super) parents: Vec<u32>,
    pub(super) args: CompactColumn,
    pub(super) device: Option<(i64, CompactColumn, CompactColumn)>,
    pub(super) attrs: BTreeMap<SliceAttr, Vec<(u32, i64)>>,
    /// Slices of each depth.
    pub(super) lane_lens: Vec<u32>,
    /// Row of each index of the batch; empty unless requested.
    pub(super) rows_of: Vec<u32>,
    /// Rows of slices that overlapped without nesting.
    pub(super) spilled: Vec<u32>,
    /// `(parent, child)` rows, of slices whose parents do not follow the timeline.
    pub(super) reparented: Vec<(u32, u32)>,
    /// Labels of slices without an end event.
    pub(super) unterminated: Vec<u32>,
    /// Label and start of slices whose device time was derived from their neighbours.
    pub(super) placed: Vec<(u32, i64)>,
    /// Labels and starts of slices that were dropped for implausible times.
    pub(super) left_out: Vec<(u32, i64)>,
    pub(super) arg_source: Option<u16>,
}

/// Sorts and nests the slices of a track.
pub(super) fn finish_track(mut track: TrackBuilder, job: &TrackJob) -> FinishedTrack {
    let mut closed = std::mem::take(&mut track.closed);
    closed.sort_unstable();
    if !closed.is_empty() {
        track.batch.set_end(&closed);
    }
    let impossible = plausible::impossible(&track.batch, job.plausible);
    let unterminated = close_open(&mut track, &impossible);
    let TrackBuilder { mut batch, arg_source, .. } = track;
    let left_out = impossible.iter().map(|&i| (batch.labels[i as usize], batch.starts[i as usize])).collect();
    if job.shift != 0 {
        for start in &mut batch.starts {
            *start = start.saturating_add(job.shift);
        }
    }
    let order = time_order(&batch, &impossible);
    let placed_by_device = batch.complete_device_clock(&order);
    let placed_by_device = placed_by_device.iter().map(|&i| (batch.labels[i as usize], batch.starts[i as usize]));
    let placed_by_device = placed_by_device.collect();
    let end = |i: usize| batch.starts[i].saturating_add(batch.durs.get(i));
    let Nesting { depths, parents, spilled } =
        nest(order.iter().map(|&i| (batch.starts[i as usize], end(i as usize))), job.free);
    let TrackRows { lane_lens, row_of, by_row } = rows_by_depth(&depths);
    drop(depths);
    let (parents, reparented) = device_parents(&batch, &order, parents, &row_of, job.free);

    let rows_of =
        if job.keep_rows || !batch.attrs.is_empty() { rows_by_index(&batch, &order, &row_of) } else { Vec::new() };
    let placed = PlacedSlice { order: &order, row_of: &row_of, by_row: &by_row, parents: &parents };
    let mut out = placed.columns(&batch);
    out.spilled = spilled.iter().map(|&position| row_of[position as usize]).collect();
    out.attrs = attrs_by_row(batch.attrs, &rows_of);
    if job.keep_rows {
        out.rows_of = rows_of;
    }
    FinishedTrack { lane_lens, reparented, unterminated, placed: placed_by_device, left_out, arg_source, ..out }
}

/// Indices by start, longer slices first, ties in input order; without those in `impossible`.
fn time_order(batch: &SliceBatch, impossible: &[u32]) -> Vec<u32> {
    let key = |&i: &u32| {
        let (start, dur) = (batch.starts[i as usize], batch.durs.get(i as usize));
        (start, Reverse(start.saturating_add(dur)), i)
    };
    let mut order: Vec<u32> = (0..batch.len() as u32).collect();
    if !impossible.is_empty() {
        order.retain(|i| impossible.binary_search(i).is_err());
    }
    if !order.is_sorted_by_key(key) {
        order.sort_unstable_by_key(key);
    }
    order
}

/// Parents on the device clock where slices have one, and the children whose parent differs from the one on the
/// timeline.
fn device_parents(
    batch: &SliceBatch,
    order: &[u32],
    parents: Vec<u32>,
    row_of: &[u32],
    free: bool,
) -> (Vec<u32>, Vec<(u32, u32)>) {
    if free || !batch.has_device_clock() {
        return (parents, Vec::new());
    }
    let (starts, durs) = (&batch.device_starts, &batch.device_durs);
    let by_device = parents_by(order, |i| (starts[i], starts[i].saturating_add(durs.get(i))));
    let reparented = if by_device == parents { Vec::new() } else { children_in_rows(&by_device, row_of) };
    (by_device, reparented)
}

/// The row of each index of the batch; [`NO_ROW`] for dropped slices.
fn rows_by_index(batch: &SliceBatch, order: &[u32], row_of: &[u32]) -> Vec<u32> {
    let mut rows_of = vec![NO_ROW; batch.len()];
    for (position, &i) in order.iter().enumerate() {
        rows_of[i as usize] = row_of[position];
    }
    rows_of
}

/// Row and parent of each slice. A position is a rank in time order, an index is one in the batch.
struct PlacedSlice<'a> {
    /// Index of each position.
    order: &'a [u32],
    /// Row of each position.
    row_of: &'a [u32],
    /// Position of each row.
    by_row: &'a [u32],
    /// Position of the parent of each position.
    parents: &'a [u32],
}

impl PlacedSlice<'_> {
    /// The columns of the batch in order of rows.
    fn columns(&self, batch: &SliceBatch) -> FinishedTrack {
        let n = self.order.len();
        let has_device = batch.has_device_clock();
        let measured = |i: usize| if has_device { batch.device_durs.get(i) } else { batch.durs.get(i) };
        let mut children = vec![0_i64; n];
        for (position, &parent) in self.parents.iter().enumerate() {
            if parent != NO_PARENT {
                let sum = &mut children[parent as usize];
                *sum = sum.saturating_add(measured(self.order[position] as usize));
            }
        }
        let has_args = batch.args.len() > 0;
        let mut out = FinishedTrack {
            starts: Vec::with_capacity(n),
            durs: CompactColumn::with_capacity(n),
            child_durs: CompactColumn::with_capacity(n),
            labels: Vec::with_capacity(n),
            parents: Vec::with_capacity(n),
            args: CompactColumn::with_capacity(if has_args { n } else { 0 }),
            ..FinishedTrack::default()
        };
        for &position in self.by_row {
            let i = self.order[position as usize] as usize;
            out.starts.push(batch.starts[i]);
            out.durs.push(batch.durs.get(i));
            out.child_durs.push(children[position as usize]);
            out.labels.push(batch.labels[i]);
            let parent = self.parents[position as usize];
            out.parents.push(if parent == NO_PARENT { NO_PARENT } else { self.row_of[parent as usize] });
            if has_args {
                out.args.push(if i < batch.args.len() { batch.args.get(i) } else { NO_ARGS });
            }
        }
        if has_device {
            let in_rows = self.by_row.iter().map(|&position| self.order[position as usize] as usize);
            out.device = Some(device_clock(in_rows, batch));
        }
        out
    }
}

/// Facts by kind and row; the last value of a row wins.
fn attrs_by_row(attrs: Vec<(SliceAttr, u32, i64)>, rows_of: &[u32]) -> BTreeMap<SliceAttr, Vec<(u32, i64)>> {
    let mut columns: BTreeMap<SliceAttr, Vec<(u32, i64)>> = BTreeMap::new();
    for (attr, i, value) in attrs {
        let row = rows_of[i as usize];
        if row != NO_ROW {
            columns.entry(attr).or_default().push((row, value));
        }
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

/// Extends slices without an end event to the end of the track.
fn close_open(track: &mut TrackBuilder, impossible: &[u32]) -> Vec<u32> {
    let open = std::mem::take(&mut track.open);
    if open.is_empty() {
        return Vec::new();
    }
    let possible = (0..track.batch.len() as u32).filter(|i| impossible.binary_search(i).is_err());
    let end = possible.map(|i| track.batch.range(i).end).max().unwrap_or_default();
    let mut fixes: Vec<_> =
        open.iter().map(|open| (open.index, (end - track.batch.range(open.index).start).ps())).collect();
    fixes.sort_unstable();
    track.batch.set_end(&fixes);
    for open in &open {
        track.batch.set_attr(open.index, SliceAttr::Unterminated, 1);
    }
    open.into_iter().map(|open| open.label.0).collect()
}

/// The device clock as differences from the timeline.
fn device_clock(
    in_rows: impl Iterator<Item = usize> + Clone,
    batch: &SliceBatch,
) -> (i64, CompactColumn, CompactColumn) {
    let start = |i: usize| batch.device_starts[i].saturating_sub(batch.starts[i]);
    let base = in_rows.clone().next().map_or(0, start);
    let (mut start_column, mut dur_column) = (CompactColumn::default(), CompactColumn::default());
    for i in in_rows {
        start_column.push(start(i).saturating_sub(base));
        dur_column.push(batch.device_durs.get(i).saturating_sub(batch.durs.get(i)));
    }
    start_column.freeze();
    dur_column.freeze();
    (base, start_column, dur_column)
}
