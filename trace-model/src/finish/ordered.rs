//! The slices of a track in time order.

use std::cmp::Reverse;

use crate::batch::SliceBatch;
use crate::compact::CompactColumn;
use crate::slices::NO_ARGS;

/// Stands for the position of a slice that was dropped.
const NO_POSITION: u32 = u32::MAX;

/// Columns of a track by position: rank by start, longer slices first, ties in input order.
///
/// Nearly all tracks of real captures arrive in this order. Their columns are moved, and no permutation is made.
pub(super) struct Ordered {
    pub starts: Vec<i64>,
    pub durs: Vec<i64>,
    pub labels: Vec<u32>,
    /// Empty if no slice has arguments.
    pub args: Vec<i64>,
    /// Starts and durations on the device clock.
    pub device: Option<(Vec<i64>, Vec<i64>)>,
    /// Positions of slices whose device time was derived from their neighbours.
    pub placed: Vec<u32>,
    /// Position of each index of the batch; `None` if positions equal indices.
    positions: Option<Vec<u32>>,
}

impl Ordered {
    /// Orders the slices of a batch; those at the indices `impossible` are left out. Sparse facts stay in the batch.
    pub fn new(batch: &mut SliceBatch, impossible: &[u32]) -> Self {
        let durs = batch.durs.to_vec();
        let order = time_order(&batch.starts, &durs, impossible);
        let placed = batch.complete_device_clock(order.as_deref());
        batch.durs = CompactColumn::default();
        let n = batch.len();
        let mut args = std::mem::take(&mut batch.args).to_vec();
        if !args.is_empty() {
            args.resize(n, NO_ARGS);
        }
        let device = batch.has_device_clock();
        let device = device.then(|| {
            (
                std::mem::take(&mut batch.device_starts),
                batch.device_durs.to_vec(),
            )
        });
        let by_index = Self {
            starts: std::mem::take(&mut batch.starts),
            durs,
            labels: std::mem::take(&mut batch.labels),
            args,
            device,
            placed,
            positions: None,
        };
        match order {
            None => by_index,
            Some(order) => by_index.permuted(&order, n),
        }
    }

    fn permuted(self, order: &[u32], indices: usize) -> Self {
        let mut positions = vec![NO_POSITION; indices];
        for (position, &index) in (0..).zip(order) {
            positions[index as usize] = position;
        }
        Self {
            starts: gathered(&self.starts, order),
            durs: gathered(&self.durs, order),
            labels: gathered(&self.labels, order),
            args: if self.args.is_empty() {
                self.args
            } else {
                gathered(&self.args, order)
            },
            device: self
                .device
                .map(|(starts, durs)| (gathered(&starts, order), gathered(&durs, order))),
            placed: self
                .placed
                .iter()
                .map(|&index| positions[index as usize])
                .collect(),
            positions: Some(positions),
        }
    }

    /// Start and end of each slice.
    pub fn spans(&self) -> impl ExactSizeIterator<Item = (i64, i64)> {
        spans(&self.starts, &self.durs)
    }

    /// The row of each index of the batch, `dropped` for slices that were left out; `None` if rows equal indices.
    pub fn rows_by_index(&self, row_of: Option<&[u32]>, dropped: u32) -> Option<Vec<u32>> {
        let row = |position: u32| match row_of {
            _ if position == NO_POSITION => dropped,
            Some(rows) => rows[position as usize],
            None => position,
        };
        match &self.positions {
            Some(positions) => Some(positions.iter().map(|&position| row(position)).collect()),
            None => row_of.map(<[u32]>::to_vec),
        }
    }
}

/// Start and end of each slice.
pub(super) fn spans(starts: &[i64], durs: &[i64]) -> impl ExactSizeIterator<Item = (i64, i64)> {
    starts
        .iter()
        .zip(durs)
        .map(|(&start, &dur)| (start, start.saturating_add(dur)))
}

/// The values at these indices.
pub(super) fn gathered<T: Copy>(values: &[T], indices: &[u32]) -> Vec<T> {
    indices
        .iter()
        .map(|&index| values[index as usize])
        .collect()
}

/// Indices by start, longer slices first, ties in input order, without those in `impossible`. `None` if the result
/// would be all indices in input order.
fn time_order(starts: &[i64], durs: &[i64], impossible: &[u32]) -> Option<Vec<u32>> {
    if impossible.is_empty()
        && spans(starts, durs).is_sorted_by_key(|(start, end)| (start, Reverse(end)))
    {
        return None;
    }
    let mut order: Vec<u32> = (0..starts.len() as u32).collect();
    if !impossible.is_empty() {
        order.retain(|i| impossible.binary_search(i).is_err());
    }
    // This sort is stable, and fast if long stretches are already in order.
    order.sort_by_key(|&i| {
        let start = starts[i as usize];
        (start, Reverse(start.saturating_add(durs[i as usize])))
    });
    Some(order)
}
