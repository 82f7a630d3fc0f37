//! Slices of one track, collected before they are added to the model.

use std::ops::Range;

use crate::attrs::SliceAttr;
use crate::compact::CompactColumn;
use crate::op::LabelId;
use crate::slices::NO_ARGS;
use crate::time::{Picos, TimeRange, Timestamp};

/// A slice to be added.
#[derive(Clone, Copy, Debug)]
pub struct SliceSpec {
    /// Span on the timeline.
    pub range: TimeRange,
    /// Name and op.
    pub label: LabelId,
    /// Handle for the track's [`ArgSource`](crate::ArgSource).
    pub args: Option<u64>,
    /// Span on the device clock, if recorded.
    pub device: Option<TimeRange>,
}

impl SliceSpec {
    /// A slice without arguments or device clock.
    pub fn new(range: TimeRange, label: LabelId) -> Self {
        Self {
            range,
            label,
            args: None,
            device: None,
        }
    }
}

/// Slices of one track, in any order. Worker threads fill their own batches and hand them over with
/// [`TraceBuilder::append`](crate::TraceBuilder::append).
#[derive(Debug, Default)]
pub struct SliceBatch {
    pub(crate) starts: Vec<i64>,
    pub(crate) durs: CompactColumn,
    pub(crate) labels: Vec<u32>,
    /// Shorter than the other columns until the first slice with arguments is pushed.
    pub(crate) args: CompactColumn,
    /// Empty until the first slice with a device clock is pushed, then as long as the other columns.
    pub(crate) device_starts: Vec<i64>,
    pub(crate) device_durs: CompactColumn,
    /// Slices among those with a device clock that lack it, sorted; their entries are zero.
    unclocked: Vec<Range<u32>>,
    pub(crate) attrs: Vec<(SliceAttr, u32, i64)>,
}

impl SliceBatch {
    /// An empty batch with capacity for `slices`; `with_args` says whether they have arguments.
    pub fn with_capacity(slices: usize, with_args: bool) -> Self {
        Self {
            starts: Vec::with_capacity(slices),
            durs: CompactColumn::with_capacity(slices),
            labels: Vec::with_capacity(slices),
            args: CompactColumn::with_capacity(if with_args { slices } else { 0 }),
            ..Self::default()
        }
    }

    /// Makes room for exactly this number of further slices, so that columns of millions do not grow by doubling.
    pub fn reserve(&mut self, slices: usize) {
        self.starts.reserve_exact(slices);
        self.labels.reserve_exact(slices);
        self.durs.reserve(slices);
        if self.args.len() > 0 {
            self.args.reserve(slices);
        }
        if self.has_device_clock() {
            self.device_starts.reserve_exact(slices);
            self.device_durs.reserve(slices);
        }
    }

    /// Number of slices.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there are no slices.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Adds a slice and returns its index in this batch.
    pub fn push(&mut self, spec: SliceSpec) -> u32 {
        let index = self.starts.len() as u32;
        self.starts.push(spec.range.start.ps());
        self.durs.push(spec.range.dur().ps());
        self.labels.push(spec.label.0);
        if let Some(args) = spec.args {
            if self.args.len() < index as usize {
                self.args.resize(index as usize, NO_ARGS);
            }
            self.args.push(args as i64);
        }
        if let Some(device) = spec.device {
            self.push_device_range(index as usize, device);
        } else if !self.device_starts.is_empty() {
            self.leave_unclocked(index as usize + 1);
        }
        index
    }

    fn push_device_range(&mut self, index: usize, range: TimeRange) {
        if self.device_starts.len() < index {
            self.leave_unclocked(index);
        }
        self.device_starts.push(range.start.ps());
        self.device_durs.push(range.dur().ps());
    }

    /// Marks the slices up to `len` as having no device clock.
    #[cold]
    fn leave_unclocked(&mut self, len: usize) {
        let (from, to) = (self.device_starts.len() as u32, len as u32);
        match self.unclocked.last_mut() {
            Some(last) if last.end == from => last.end = to,
            _ => self.unclocked.push(from..to),
        }
        self.device_starts.resize(len, 0);
        self.device_durs.resize(len, 0);
    }

    /// Sets a sparse fact of slice `index`; the last value wins.
    pub fn set_attr(&mut self, index: u32, attr: SliceAttr, value: i64) {
        self.attrs.push((attr, index, value));
    }

    /// Slice `index` as it was pushed, to copy it to another track.
    pub fn spec(&self, index: u32) -> SliceSpec {
        let index_in_args = (index as usize) < self.args.len();
        let args = index_in_args
            .then(|| self.args.get(index as usize))
            .filter(|&handle| handle != NO_ARGS);
        let args = args.map(|handle| handle as u64);
        SliceSpec {
            range: self.range(index),
            label: self.label(index),
            args,
            device: self.device_range(index),
        }
    }

    /// Whether any slice has a span on the device clock.
    pub(crate) fn has_device_clock(&self) -> bool {
        !self.device_starts.is_empty()
    }

    /// Whether no slice lacks the device clock while others have it.
    pub(crate) fn is_all_clocked(&self) -> bool {
        self.unclocked.is_empty()
    }

    /// Sets the spans on the device clock, if they become known after the slices; `spans` must have the same length.
    pub fn set_device_clock(&mut self, spans: &[Option<TimeRange>]) {
        if spans.len() != self.len() {
            return;
        }
        (self.device_starts, self.device_durs) = (Vec::new(), CompactColumn::default());
        self.unclocked.clear();
        for (index, span) in spans.iter().enumerate() {
            if let Some(span) = span {
                self.push_device_range(index, *span);
            }
        }
        if self.has_device_clock() && self.device_starts.len() < spans.len() {
            self.leave_unclocked(spans.len());
        }
    }

    /// If only some slices have a span on the device clock, derives one for the others, because
    /// sums over a track must not mix two clocks. A derived span has the timeline's duration and
    /// the timeline's distance from the previous slice (from the next one if there is none before),
    /// but does not reach into the next slice. `order` holds the indices in time order, unless the
    /// slices are in time order already. Returns the slices that got a derived span.
    ///
    /// ```text
    /// timeline [a  ]   [b]  [c   ]        b has no clock
    /// device      [a ]   [b][c   ]        as far from a as on the timeline, not into c
    /// ```
    pub(crate) fn complete_device_clock(&mut self, order: Option<&[u32]>) -> Vec<u32> {
        let unclocked = std::mem::take(&mut self.unclocked);
        if unclocked.is_empty() {
            return Vec::new();
        }
        let as_they_are: Vec<u32> = if order.is_none() {
            (0..self.len() as u32).collect()
        } else {
            Vec::new()
        };
        let order = order.unwrap_or(&as_they_are);
        let is_clocked = |index: u32| {
            let next = unclocked.partition_point(|range| range.end <= index);
            unclocked.get(next).is_none_or(|range| index < range.start)
        };
        let end =
            |index: u32| self.starts[index as usize].saturating_add(self.durs.get(index as usize));
        let mut next: Vec<Option<u32>> = vec![None; order.len()];
        let mut clocked = None;
        for (position, &index) in order.iter().enumerate().rev() {
            next[position] = clocked;
            clocked = if is_clocked(index) {
                Some(index)
            } else {
                clocked
            };
        }
        let mut placed = Vec::new();
        let mut before: Option<u32> = None;
        for (position, &index) in order.iter().enumerate() {
            if is_clocked(index) {
                before = Some(index);
                continue;
            }
            let (start, mut dur) = (self.starts[index as usize], self.durs.get(index as usize));
            let device = |of: u32| self.device_starts[of as usize];
            let after = next[position];
            let shifted =
                match (before, after) {
                    // The slice encloses the next one: keep the timeline's distance between their starts.
                    (_, Some(inner)) if self.starts[inner as usize] < end(index) => device(inner)
                        .saturating_add(start.saturating_sub(self.starts[inner as usize])),
                    (Some(before), _) if end(before) <= start => {
                        let device_end =
                            device(before).saturating_add(self.device_durs.get(before as usize));
                        device_end.saturating_add(start.saturating_sub(end(before)))
                    }
                    (Some(near), _) | (None, Some(near)) => device(near)
                        .saturating_add(start.saturating_sub(self.starts[near as usize])),
                    (None, None) => start,
                };
            if let Some(after) = after.filter(|&after| end(index) <= self.starts[after as usize]) {
                let room = device(after).saturating_sub(shifted);
                dur = if room > 0 { dur.min(room) } else { dur };
            }
            placed.push((index, shifted, dur));
        }
        placed.sort_unstable_by_key(|&(index, ..)| index);
        for &(index, start, _) in &placed {
            self.device_starts[index as usize] = start;
        }
        let durs = placed.iter().map(|&(index, _, dur)| (index, dur));
        self.device_durs.replace(durs);
        placed.into_iter().map(|(index, ..)| index).collect()
    }

    /// Span on the timeline of slice `index`.
    pub fn range(&self, index: u32) -> TimeRange {
        TimeRange::at(
            Timestamp::from_ps(self.starts[index as usize]),
            Picos::from_ps(self.durs.get(index as usize)),
        )
    }

    /// Span on the device clock, where slice `index` has one.
    pub fn device_range(&self, index: u32) -> Option<TimeRange> {
        let next = self.unclocked.partition_point(|range| range.end <= index);
        let is_unclocked = self
            .unclocked
            .get(next)
            .is_some_and(|range| range.contains(&index));
        let start = *self
            .device_starts
            .get(index as usize)
            .filter(|_| !is_unclocked)?;
        Some(TimeRange::at(
            Timestamp::from_ps(start),
            Picos::from_ps(self.device_durs.get(index as usize)),
        ))
    }

    /// Label of slice `index`.
    pub fn label(&self, index: u32) -> LabelId {
        LabelId(self.labels[index as usize])
    }

    /// Gives slice `index` another label.
    pub fn set_label(&mut self, index: u32, label: LabelId) {
        self.labels[index as usize] = label.0;
    }

    /// A sparse fact of slice `index`; takes time linear in the number of facts of the batch.
    pub fn attr(&self, index: u32, attr: SliceAttr) -> Option<i64> {
        self.attrs
            .iter()
            .rev()
            .find(|&&(a, i, _)| a == attr && i == index)
            .map(|&(_, _, value)| value)
    }

    /// Every sparse fact: kind, index of the slice, value.
    pub fn attrs(&self) -> &[(SliceAttr, u32, i64)] {
        &self.attrs
    }

    /// Sets the ends of slices, given as `(index, end)`.
    pub(crate) fn set_end(&mut self, fixes: &[(u32, i64)]) {
        self.durs.replace(fixes.iter().copied());
    }

    /// Adds all slices of `other` and returns the index of the first of them.
    pub(crate) fn append(&mut self, other: Self) -> u32 {
        let offset = self.len();
        if offset == 0 {
            *self = other;
            return 0;
        }
        if other.args.len() > 0 {
            self.args.resize(offset, NO_ARGS);
            self.args.extend(&other.args);
        }
        if other.has_device_clock() {
            if self.device_starts.len() < offset {
                self.leave_unclocked(offset);
            }
            self.device_starts.extend_from_slice(&other.device_starts);
            self.device_durs.extend(&other.device_durs);
            let first = offset as u32;
            self.unclocked.extend(
                other
                    .unclocked
                    .into_iter()
                    .map(|range| range.start + first..range.end + first),
            );
        } else if self.has_device_clock() && !other.is_empty() {
            self.leave_unclocked(offset + other.len());
        }
        self.starts.extend_from_slice(&other.starts);
        self.labels.extend_from_slice(&other.labels);
        self.durs.extend(&other.durs);
        self.attrs.extend(
            other
                .attrs
                .into_iter()
                .map(|(attr, i, value)| (attr, i + offset as u32, value)),
        );
        offset as u32
    }
}
