//! Finishes one track: sorts its slices into rows, with parents and self times.

use std::collections::BTreeMap;

use crate::attrs::SliceAttr;
use crate::builder::TrackBuilder;
use crate::compact::CompactColumn;
use crate::nesting::{
    Moved, NO_PARENT, Nesting, TrackRows, children_in_rows, nest, parents_by, rows_by_depth,
};
use crate::time::TimeRange;

use super::ordered::{Ordered, gathered};
use super::plausible;

/// Says whether the model is no longer wanted.
pub(super) type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// Stands for the row of a slice that was dropped.
pub(super) const NO_ROW: u32 = u32::MAX;

/// How to finish a track.
pub(super) struct TrackJob {
    /// Whether slices may overlap freely: see [`nest`].
    pub free: bool,
    /// Added to every start.
    pub shift: i64,
    /// Whether flows refer to the slices.
    pub keep_rows: bool,
    /// Plausible times before the shift; slices outside are dropped.
    pub plausible: TimeRange,
}

/// Columns of one track in their final order.
#[derive(Default)]
pub(super) struct FinishedTrack {
    pub starts: Vec<i64>,
    pub durs: Vec<i64>,
    pub child_durs: Vec<i64>,
    pub labels: Vec<u32>,
    pub parents: Vec<u32>,
    /// Empty if no slice has arguments.
    pub args: Vec<i64>,
    pub device: Option<(i64, CompactColumn, CompactColumn)>,
    pub attrs: BTreeMap<SliceAttr, Vec<(u32, i64)>>,
    /// Slices of each depth.
    pub lane_lens: Vec<u32>,
    /// Row of each index of the batch, if requested and if rows differ from indices.
    pub rows_of: Option<Vec<u32>>,
    /// Rows of slices that overlapped without nesting.
    pub spilled: Vec<u32>,
    /// Rows `(parent, child)` of slices whose parent does not follow from the timeline.
    pub reparented: Vec<(u32, u32)>,
    /// Labels of slices without an end event.
    pub unterminated: Vec<u32>,
    /// Label and start of slices whose device time was derived from their neighbours.
    pub placed: Vec<(u32, i64)>,
    /// Labels and starts of slices that were dropped for implausible times.
    pub left_out: Vec<(u32, i64)>,
    pub arg_source: Option<u16>,
}

/// Sorts and nests the slices of a track; `None` if `stop` returned true between two passes over them.
pub(super) fn finish_track(
    mut track: TrackBuilder,
    job: &TrackJob,
    stop: Stop<'_>,
) -> Option<FinishedTrack> {
    let go_on = || (!stop()).then_some(());
    go_on()?;
    let mut closed = std::mem::take(&mut track.closed);
    closed.sort_unstable();
    if !closed.is_empty() {
        track.batch.set_end(&closed);
    }
    let impossible = plausible::impossible(&track.batch, job.plausible);
    let unterminated = close_open(&mut track, &impossible);
    let TrackBuilder {
        mut batch,
        arg_source,
        ..
    } = track;
    let left_out = impossible
        .iter()
        .map(|&i| (batch.labels[i as usize], batch.starts[i as usize]))
        .collect();
    if job.shift != 0 {
        for start in &mut batch.starts {
            *start = start.saturating_add(job.shift);
        }
    }
    go_on()?;
    let slices = Ordered::new(&mut batch, &impossible);
    go_on()?;
    let placed = slices
        .placed
        .iter()
        .map(|&i| (slices.labels[i as usize], slices.starts[i as usize]))
        .collect();
    let Nesting {
        depths,
        parents,
        covered,
        spilled,
    } = nest(slices.spans(), job.free);
    go_on()?;
    let TrackRows { lane_lens, moved } = rows_by_depth(&depths);
    drop(depths);
    go_on()?;
    let on_timeline = (parents, covered);
    let (parents, covered, reparented) =
        device_parents(&slices, on_timeline, moved.as_ref(), job.free);

    go_on()?;
    let row_of = moved.as_ref().map(|moved| &moved.row_of[..]);
    let is_needed = job.keep_rows || !batch.attrs.is_empty();
    let rows_of = is_needed
        .then(|| slices.rows_by_index(row_of, NO_ROW))
        .flatten();
    let spilled = spilled
        .into_iter()
        .map(|position| row(row_of, position))
        .collect();
    let attrs = attrs_by_row(batch.attrs, rows_of.as_deref());
    let rows_of = rows_of.filter(|_| job.keep_rows);
    go_on()?;
    let columns = columns(slices, parents, covered, moved.as_ref());
    Some(FinishedTrack {
        attrs,
        lane_lens,
        rows_of,
        spilled,
        reparented,
        unterminated,
        placed,
        left_out,
        arg_source,
        ..columns
    })
}

/// The row of a position; without `row_of`, rows equal positions.
fn row(row_of: Option<&[u32]>, position: u32) -> u32 {
    row_of.map_or(position, |rows| rows[position as usize])
}

/// Parents and covered times on the device clock where slices have one, and the children whose parent differs from the
/// one on the timeline.
fn device_parents(
    slices: &Ordered,
    (parents, covered): (Vec<u32>, Vec<i64>),
    moved: Option<&Moved>,
    free: bool,
) -> (Vec<u32>, Vec<i64>, Vec<(u32, u32)>) {
    let Some((starts, durs)) = slices.device.as_ref().filter(|_| !free) else {
        return (parents, covered, Vec::new());
    };
    let (by_device, covered) = parents_by(starts, durs);
    let row_of = moved.map(|moved| &moved.row_of[..]);
    let reparented = if by_device == parents {
        Vec::new()
    } else {
        children_in_rows(&by_device, row_of)
    };
    (by_device, covered, reparented)
}

/// The columns of a track in row order. `parents` are positions, `child_durs` are in their order.
fn columns(
    slices: Ordered,
    mut parents: Vec<u32>,
    mut child_durs: Vec<i64>,
    moved: Option<&Moved>,
) -> FinishedTrack {
    let Ordered {
        mut starts,
        mut durs,
        mut labels,
        mut args,
        mut device,
        ..
    } = slices;
    if let Some(Moved { row_of, by_row }) = moved {
        for parent in parents.iter_mut().filter(|parent| **parent != NO_PARENT) {
            *parent = row_of[*parent as usize];
        }
        parents = gathered(&parents, by_row);
        child_durs = gathered(&child_durs, by_row);
        starts = gathered(&starts, by_row);
        durs = gathered(&durs, by_row);
        labels = gathered(&labels, by_row);
        args = if args.is_empty() {
            args
        } else {
            gathered(&args, by_row)
        };
        device = device.map(|(starts, durs)| (gathered(&starts, by_row), gathered(&durs, by_row)));
    }
    let device = device.map(|(device_starts, device_durs)| {
        device_clock(&device_starts, &device_durs, &starts, &durs)
    });
    FinishedTrack {
        starts,
        durs,
        child_durs,
        labels,
        parents,
        args,
        device,
        ..FinishedTrack::default()
    }
}

/// Facts by kind and row; the last value of a row wins.
fn attrs_by_row(
    attrs: Vec<(SliceAttr, u32, i64)>,
    rows_of: Option<&[u32]>,
) -> BTreeMap<SliceAttr, Vec<(u32, i64)>> {
    // A track has few kinds of facts, so a search from the first one is faster than a map.
    let mut columns: Vec<(SliceAttr, Vec<(u32, i64)>)> = Vec::new();
    for (attr, i, value) in attrs {
        let row = rows_of.map_or(i, |rows| rows[i as usize]);
        if row == NO_ROW {
            continue;
        }
        match columns.iter_mut().find(|(of, _)| *of == attr) {
            Some((_, column)) => column.push((row, value)),
            None => columns.push((attr, vec![(row, value)])),
        }
    }
    for (_, column) in &mut columns {
        if column.is_sorted_by(|(a, _), (b, _)| a < b) {
            continue;
        }
        // The sort is stable: values of one row stay in the order in which they were set.
        column.sort_by_key(|&(row, _)| row);
        column.reverse();
        column.dedup_by_key(|&mut (row, _)| row);
        column.reverse();
    }
    columns.into_iter().collect()
}

/// Extends slices without an end event to the end of the track.
fn close_open(track: &mut TrackBuilder, impossible: &[u32]) -> Vec<u32> {
    let open = std::mem::take(&mut track.open);
    if open.is_empty() {
        return Vec::new();
    }
    let possible = (0..track.batch.len() as u32).filter(|i| impossible.binary_search(i).is_err());
    let end = possible
        .map(|i| track.batch.range(i).end)
        .max()
        .unwrap_or_default();
    let mut fixes: Vec<_> = open
        .iter()
        .map(|open| (open.index, (end - track.batch.range(open.index).start).ps()))
        .collect();
    fixes.sort_unstable();
    track.batch.set_end(&fixes);
    for open in &open {
        track.batch.set_attr(open.index, SliceAttr::Unterminated, 1);
    }
    open.into_iter().map(|open| open.label.0).collect()
}

/// The device clock as differences from the timeline, in row order.
fn device_clock(
    device_starts: &[i64],
    device_durs: &[i64],
    starts: &[i64],
    durs: &[i64],
) -> (i64, CompactColumn, CompactColumn) {
    let packed = |differences: Vec<i64>| {
        let mut column = CompactColumn::with_capacity(differences.len());
        column.extend_from_slice(&differences);
        column.freeze();
        column
    };
    let differences = |device: &[i64], timeline: &[i64]| -> Vec<i64> {
        device
            .iter()
            .zip(timeline)
            .map(|(device, timeline)| device.saturating_sub(*timeline))
            .collect()
    };
    let mut start_differences = differences(device_starts, starts);
    let base = start_differences.first().copied().unwrap_or(0);
    for difference in &mut start_differences {
        *difference = difference.saturating_sub(base);
    }
    (
        base,
        packed(start_differences),
        packed(differences(device_durs, durs)),
    )
}
