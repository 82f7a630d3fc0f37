//! The self time of ops as segments that never overlap.

use std::ops::Range;

use engine::prelude::*;
use trace_model::{partition_from_end, partition_rows};

use crate::packed_segments::{PackedSegment, PackedSegments};

pub use crate::packed_segments::SelfTimeSegment;

/// Segments in time order, disjoint. Those of a part of the trace are shared with those of the whole: the first and the
/// last one are cut where they are read.
#[derive(Clone, Debug)]
pub struct Segments {
    all: Arc<PackedSegments>,
    rows: Range<usize>,
    /// What they are cut to.
    window: TimeRange,
}

impl Default for Segments {
    fn default() -> Self {
        PackedSegments::default().into()
    }
}

impl Segments {
    /// Those that lie in `window`; the first and the last one are cut at its borders.
    pub(crate) fn within(&self, window: TimeRange) -> Self {
        let from = self.partition_point(|range| range.end <= window.start);
        let until = self.partition_point(|range| range.start < window.end);
        Self {
            all: Arc::clone(&self.all),
            rows: self.rows.start + from..self.rows.start + until.max(from),
            window: self.cut(window),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether nothing ran.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    #[inline]
    fn packed(&self) -> &[PackedSegment] {
        self.all.rows().get(self.rows.clone()).unwrap_or_default()
    }

    /// The segment in a row.
    #[inline]
    pub fn get(&self, row: usize) -> Option<SelfTimeSegment> {
        self.packed().get(row).map(|&packed| self.segment(packed))
    }

    /// When the segment in a row is.
    #[inline]
    pub fn range(&self, row: usize) -> Option<TimeRange> {
        let packed = *self.packed().get(row)?;
        Some(self.cut(self.all.range(packed)))
    }

    /// The first one.
    pub fn first(&self) -> Option<SelfTimeSegment> {
        self.get(0)
    }

    /// The last one.
    pub fn last(&self) -> Option<SelfTimeSegment> {
        self.get(self.len().checked_sub(1)?)
    }

    /// All, in time order.
    pub fn iter(&self) -> SegmentsInOrder<'_> {
        self.rows(0..self.len())
    }

    /// Those in some rows; none if there are no such rows.
    #[inline]
    pub fn rows(&self, rows: Range<usize>) -> SegmentsInOrder<'_> {
        SegmentsInOrder {
            segments: self,
            rows: self.packed().get(rows).unwrap_or_default().iter(),
        }
    }

    /// The first row for whose time `is_before` does not hold.
    #[inline]
    pub fn partition_point(&self, is_before: impl Fn(TimeRange) -> bool) -> usize {
        self.partition_rows(0..self.len(), is_before)
    }

    /// The first of some rows for whose time `is_before` does not hold.
    #[inline]
    pub fn partition_rows(
        &self,
        rows: Range<usize>,
        is_before: impl Fn(TimeRange) -> bool,
    ) -> usize {
        partition_rows(rows, |row| self.range(row).is_some_and(&is_before))
    }

    /// [`Self::partition_rows`] of the rows below `end`, for what is looked for near it.
    #[inline]
    pub fn partition_from_end(&self, end: usize, is_before: impl Fn(TimeRange) -> bool) -> usize {
        partition_from_end(end.min(self.len()), |row| {
            self.range(row).is_some_and(&is_before)
        })
    }

    #[inline]
    fn segment(&self, packed: PackedSegment) -> SelfTimeSegment {
        let segment = self.all.segment(packed);
        SelfTimeSegment {
            range: self.cut(segment.range),
            ..segment
        }
    }

    /// The part of a range that the window does not cut off.
    #[inline]
    fn cut(&self, range: TimeRange) -> TimeRange {
        TimeRange {
            start: range.start.max(self.window.start),
            end: range.end.min(self.window.end),
        }
    }
}

impl From<PackedSegments> for Segments {
    fn from(segments: PackedSegments) -> Self {
        Self {
            rows: 0..segments.rows().len(),
            all: Arc::new(segments),
            window: TimeRange::new(Timestamp::MIN, Timestamp::MAX),
        }
    }
}

impl<'a> IntoIterator for &'a Segments {
    type Item = SelfTimeSegment;
    type IntoIter = SegmentsInOrder<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// See [`Segments::iter`].
#[derive(Clone)]
pub struct SegmentsInOrder<'a> {
    segments: &'a Segments,
    rows: std::slice::Iter<'a, PackedSegment>,
}

impl Iterator for SegmentsInOrder<'_> {
    type Item = SelfTimeSegment;

    #[inline]
    fn next(&mut self) -> Option<SelfTimeSegment> {
        self.rows.next().map(|&row| self.segments.segment(row))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rows.size_hint()
    }
}

impl DoubleEndedIterator for SegmentsInOrder<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<SelfTimeSegment> {
        self.rows.next_back().map(|&row| self.segments.segment(row))
    }
}

impl ExactSizeIterator for SegmentsInOrder<'_> {}

/// The order of spans that are cut: of those that start at once the longest first.
pub(crate) fn in_order(span: &SelfTimeSegment) -> (Timestamp, Reverse<Timestamp>) {
    (span.range.start, Reverse(span.range.end))
}

/// Cuts nested spans into segments that do not overlap. Where spans overlap without being nested, the one that started
/// later has the shared part.
pub fn self_time_segments(mut spans: Vec<SelfTimeSegment>) -> Vec<SelfTimeSegment> {
    // Without nesting, every span is a segment.
    if spans.is_sorted_by(|before, after| before.range.end <= after.range.start) {
        spans.retain(|span| !span.range.is_empty());
        return spans;
    }
    // Most are sorted, and sorting would need a second buffer.
    if !spans.is_sorted_by_key(in_order) {
        spans.sort_by_key(in_order);
    }
    let mut out = Vec::with_capacity(spans.len());
    let mut cutter = SegmentCutter::new(|segment| out.push(segment));
    for span in spans {
        cutter.add(span);
    }
    cutter.finish();
    out
}

/// Cuts spans into segments, as [`self_time_segments`] does, while they come in order of time.
pub(crate) struct SegmentCutter<F> {
    /// Takes each segment.
    out: F,
    /// The end of each span that runs now, the innermost one last.
    open: Vec<(Timestamp, SelfTimeSegment)>,
    now: Timestamp,
}

impl<F: FnMut(SelfTimeSegment)> SegmentCutter<F> {
    pub fn new(out: F) -> Self {
        Self {
            out,
            open: Vec::new(),
            now: Timestamp::MIN,
        }
    }

    #[inline]
    fn emit(&mut self, segment: SelfTimeSegment, to: Timestamp) {
        if self.now < to {
            (self.out)(SelfTimeSegment {
                range: TimeRange::new(self.now, to),
                ..segment
            });
            self.now = to;
        }
    }

    #[inline]
    pub fn add(&mut self, span: SelfTimeSegment) {
        let start = span.range.start;
        while let Some((end, inner)) = self.open.pop_if(|(end, _)| *end <= start) {
            self.emit(inner, end);
        }
        if let Some(&(_, around)) = self.open.last() {
            self.emit(around, start);
        }
        self.now = self.now.max(start);
        self.open.push((span.range.end, span));
    }

    pub fn finish(mut self) {
        while let Some((end, inner)) = self.open.pop() {
            self.emit(inner, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use math::intervals::IntervalSet;
    use proptest::prelude::*;

    use super::*;
    use crate::category::OpClass;

    fn segments_of(spans: &[(i64, i64)]) -> Vec<(usize, i64, i64)> {
        let spans = spans.iter().enumerate().map(|(i, &(start, end))| {
            let range = TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
            SelfTimeSegment {
                range,
                slice: SliceId::from_index(i),
                class: OpClass::default(),
            }
        });
        let cut = self_time_segments(spans.collect());
        cut.iter()
            .map(|s| (s.slice.index(), s.range.start.ps(), s.range.end.ps()))
            .collect()
    }

    /// Self time of the golden vector: parent 30, second child 35, grandchild 5, busy 100.
    #[test]
    fn self_time_excludes_children() {
        let segments = segments_of(&[(0, 100), (10, 40), (50, 90), (55, 60)]);
        let own = |i: usize| {
            segments
                .iter()
                .filter(|s| s.0 == i)
                .map(|s| s.2 - s.1)
                .sum::<i64>()
        };
        assert_eq!([0, 1, 2, 3].map(own), [30, 30, 35, 5]);
    }

    #[test]
    fn partial_overlap_counts_for_the_later_op() {
        assert_eq!(segments_of(&[(0, 10), (5, 20)]), [(0, 0, 5), (1, 5, 20)]);
        assert_eq!(
            segments_of(&[(0, 10), (5, 20), (12, 15)]),
            [(0, 0, 5), (1, 5, 12), (2, 12, 15), (1, 15, 20)]
        );
    }

    proptest! {
        #[test]
        fn a_part_is_shared_and_cut_at_its_borders(
            spans in prop::collection::vec((0_i64..50, 0_i64..20), 0..20),
            (start, len) in (0_i64..60, 1_i64..40),
        ) {
            let range = |start, end| TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
            let span = |(at, len): (i64, i64)| SelfTimeSegment {
                range: range(at, at + len),
                slice: SliceId::from_index(0),
                class: OpClass::default(),
            };
            let mut packed = PackedSegments::default();
            for segment in self_time_segments(spans.into_iter().map(span).collect()) {
                packed.push(segment);
            }
            let whole = Segments::from(packed.finish());
            let window = range(start, start + len);
            let part = whole.within(window);
            let clipped = |segment: SelfTimeSegment| segment.range.intersect(window);
            let expected: Vec<TimeRange> = whole.iter().filter_map(clipped).collect();
            let found: Vec<TimeRange> = part.iter().map(|segment| segment.range).collect();
            prop_assert_eq!(&found, &expected);
            prop_assert!(Arc::ptr_eq(&whole.all, &part.all));
            // A part of a part, too.
            let again = part.within(window);
            prop_assert_eq!(again.iter().map(|segment| segment.range).collect::<Vec<_>>(), expected.clone());
            // One after the other, from behind, and only some of them.
            for (row, &range) in expected.iter().enumerate() {
                prop_assert_eq!(part.get(row).map(|segment| segment.range), Some(range));
                prop_assert_eq!(part.range(row), Some(range));
            }
            prop_assert_eq!(part.get(expected.len()), None);
            prop_assert_eq!(part.iter().rev().map(|segment| segment.range).collect::<Vec<_>>(), expected.iter().rev().copied().collect::<Vec<_>>());
            prop_assert_eq!(part.rows(1.min(expected.len())..3.min(expected.len())).map(|segment| segment.range).collect::<Vec<_>>(), expected.into_iter().skip(1).take(2).collect::<Vec<_>>());
        }

        #[test]
        fn segments_are_disjoint_and_cover_the_union(spans in prop::collection::vec((0_i64..50, 0_i64..20), 0..20)) {
            let spans: Vec<_> = spans.into_iter().map(|(start, len)| (start, start + len)).collect();
            let segments = segments_of(&spans);
            prop_assert!(segments.windows(2).all(|w| w[0].2 <= w[1].1));
            let range = |a, b| TimeRange::new(Timestamp::from_ps(a), Timestamp::from_ps(b));
            let union: IntervalSet = spans.iter().map(|&(a, b)| range(a, b)).collect();
            let covered: IntervalSet = segments.iter().map(|&(_, a, b)| range(a, b)).collect();
            prop_assert_eq!(union, covered);
        }
    }
}
