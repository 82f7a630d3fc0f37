//! Slices of one track on their way into the model.

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
    /// What it is.
    pub label: LabelId,
    /// Handle for the track's [`ArgSource`](crate::ArgSource).
    pub args: Option<u64>,
    /// Span by the device's own clock, where recorded.
    pub device: Option<TimeRange>,
}

impl SliceSpec {
    /// A slice without arguments or device clock.
    pub fn new(range: TimeRange, label: LabelId) -> Self {
        Self { range, label, args: None, device: None }
    }
}

/// Slices of one track, in any order. Worker threads fill batches of their own
/// and hand them over with [`TraceBuilder::append`](crate::TraceBuilder::append).
#[derive(Debug, Default)]
pub struct SliceBatch {
    pub(crate) starts: Vec<i64>,
    pub(crate) durs: CompactColumn,
    pub(crate) labels: Vec<u32>,
    /// Shorter than the others until the first slice with arguments comes.
    pub(crate) args: CompactColumn,
    /// As long as the others only while every slice had a device clock.
    pub(crate) device_starts: Vec<i64>,
    pub(crate) device_durs: CompactColumn,
    pub(crate) attrs: Vec<(SliceAttr, u32, i64)>,
}

impl SliceBatch {
    /// An empty batch with room for `slices`, all `with_args` or none.
    pub fn with_capacity(slices: usize, with_args: bool) -> Self {
        Self {
            starts: Vec::with_capacity(slices),
            durs: CompactColumn::with_capacity(slices),
            labels: Vec::with_capacity(slices),
            args: CompactColumn::with_capacity(if with_args { slices } else { 0 }),
            ..Self::default()
        }
    }

    /// Number of slices.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there is no slice.
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
            self.args.resize(index as usize, NO_ARGS);
            self.args.push(args as i64);
        }
        if let Some(device) = spec.device
            && self.device_starts.len() == index as usize
        {
            self.device_starts.push(device.start.ps());
            self.device_durs.push(device.dur().ps());
        }
        index
    }

    /// Attaches a sparse fact to slice `index`; the last value wins.
    pub fn set_attr(&mut self, index: u32, attr: SliceAttr, value: i64) {
        self.attrs.push((attr, index, value));
    }

    /// Slice `index` as it was pushed, for copies of it on another track.
    pub fn spec(&self, index: u32) -> SliceSpec {
        let index_in_args = (index as usize) < self.args.len();
        let args = index_in_args.then(|| self.args.get(index as usize)).filter(|&handle| handle != NO_ARGS);
        let args = args.map(|handle| handle as u64);
        SliceSpec { range: self.range(index), label: self.label(index), args, device: self.device_range(index) }
    }

    /// Whether every slice has the device's clock.
    pub(crate) fn has_device_clock(&self) -> bool {
        !self.starts.is_empty() && self.device_starts.len() == self.starts.len()
    }

    /// Records the device's clock of every slice, for clocks that become known
    /// after the slices; `spans` must be as many.
    pub fn set_device_clock(&mut self, spans: &[TimeRange]) {
        if spans.len() == self.len() {
            self.device_starts = spans.iter().map(|span| span.start.ps()).collect();
            self.device_durs = CompactColumn::default();
            for span in spans {
                self.device_durs.push(span.dur().ps());
            }
        }
    }

    /// Span on the timeline of slice `index`.
    pub fn range(&self, index: u32) -> TimeRange {
        TimeRange::at(Timestamp::from_ps(self.starts[index as usize]), Picos::from_ps(self.durs.get(index as usize)))
    }

    /// Span by the device's clock, where every slice so far has one.
    pub fn device_range(&self, index: u32) -> Option<TimeRange> {
        let index = index as usize;
        (self.device_starts.len() == self.starts.len()).then(|| {
            TimeRange::at(Timestamp::from_ps(self.device_starts[index]), Picos::from_ps(self.device_durs.get(index)))
        })
    }

    /// Label of slice `index`.
    pub fn label(&self, index: u32) -> LabelId {
        LabelId(self.labels[index as usize])
    }

    /// Gives slice `index` another label.
    pub fn set_label(&mut self, index: u32, label: LabelId) {
        self.labels[index as usize] = label.0;
    }

    /// A sparse fact of slice `index`; linear in the facts of the batch.
    pub fn attr(&self, index: u32, attr: SliceAttr) -> Option<i64> {
        self.attrs.iter().rev().find(|&&(a, i, _)| a == attr && i == index).map(|&(_, _, value)| value)
    }

    /// Every sparse fact: kind, index of the slice, value.
    pub fn attrs(&self) -> &[(SliceAttr, u32, i64)] {
        &self.attrs
    }

    /// Makes slice `index` end at `end`.
    pub(crate) fn set_end(&mut self, fixes: &[(u32, i64)]) {
        // CompactColumn is append-only: rebuild it once for all of them.
        let mut durs = CompactColumn::with_capacity(self.durs.len());
        let mut fixes = fixes.iter().peekable();
        for index in 0..self.durs.len() {
            match fixes.next_if(|&&(fixed, _)| fixed as usize == index) {
                Some(&(_, dur)) => durs.push(dur),
                None => durs.push(self.durs.get(index)),
            }
        }
        self.durs = durs;
    }

    /// Adds all of `other` and returns the index that its first slice got.
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
        if self.device_starts.len() == offset && other.device_starts.len() == other.len() {
            self.device_starts.extend_from_slice(&other.device_starts);
            self.device_durs.extend(&other.device_durs);
        }
        self.starts.extend_from_slice(&other.starts);
        self.labels.extend_from_slice(&other.labels);
        self.durs.extend(&other.durs);
        self.attrs.extend(other.attrs.into_iter().map(|(attr, i, value)| (attr, i + offset as u32, value)));
        offset as u32
    }
}
