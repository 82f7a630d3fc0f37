//! The self time of ops as segments that never overlap.

use std::ops::{Deref, Range};

use engine::prelude::*;

use crate::category::OpClass;

/// A span in which one op is the innermost running op.
#[derive(Clone, Copy, Debug)]
pub struct SelfTimeSegment {
    /// Its span.
    pub range: TimeRange,
    /// The op execution.
    pub slice: SliceId,
    /// Class of the op.
    pub class: OpClass,
}

/// Segments in time order, disjoint. Those of a part of the trace are shared with those of the whole.
#[derive(Clone, Debug, Default)]
pub struct Segments {
    all: Arc<Vec<SelfTimeSegment>>,
    rows: Range<usize>,
}

impl Segments {
    /// Those that lie in `window`; the first and the last one are cut at its borders.
    pub(crate) fn within(&self, window: TimeRange) -> Self {
        let from = self.partition_point(|segment| segment.range.end <= window.start);
        let until = self.partition_point(|segment| segment.range.start < window.end);
        let inside = self.get(from..until).unwrap_or_default();
        let is_whole = |segment: Option<&SelfTimeSegment>| {
            segment.is_none_or(|segment| window.encloses(segment.range))
        };
        if is_whole(inside.first()) && is_whole(inside.last()) {
            return Self {
                all: Arc::clone(&self.all),
                rows: self.rows.start + from..self.rows.start + from + inside.len(),
            };
        }
        let mut segments = Vec::with_capacity(inside.len());
        segments.extend(inside.iter().filter_map(|segment| {
            Some(SelfTimeSegment {
                range: segment.range.intersect(window)?,
                ..*segment
            })
        }));
        segments.into()
    }

    /// Whether nothing was copied.
    pub(crate) fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.all, &other.all)
    }
}

impl From<Vec<SelfTimeSegment>> for Segments {
    fn from(segments: Vec<SelfTimeSegment>) -> Self {
        Self {
            rows: 0..segments.len(),
            all: Arc::new(segments),
        }
    }
}

impl Deref for Segments {
    type Target = [SelfTimeSegment];

    #[inline]
    fn deref(&self) -> &[SelfTimeSegment] {
        self.all.get(self.rows.clone()).unwrap_or_default()
    }
}

impl<'a> IntoIterator for &'a Segments {
    type Item = &'a SelfTimeSegment;
    type IntoIter = std::slice::Iter<'a, SelfTimeSegment>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

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
    let mut cutter = SegmentCutter::with_capacity(spans.len());
    for span in spans {
        cutter.add(span);
    }
    cutter.finish()
}

/// Cuts spans into segments, as [`self_time_segments`] does, while they come in order of time.
#[derive(Default)]
pub(crate) struct SegmentCutter {
    out: Vec<SelfTimeSegment>,
    /// The end of each span that runs now, the innermost one last.
    open: Vec<(Timestamp, SelfTimeSegment)>,
    now: Timestamp,
}

impl SegmentCutter {
    pub fn with_capacity(spans: usize) -> Self {
        Self {
            out: Vec::with_capacity(spans),
            now: Timestamp::MIN,
            ..Self::default()
        }
    }

    #[inline]
    fn emit(&mut self, segment: SelfTimeSegment, to: Timestamp) {
        if self.now < to {
            self.out.push(SelfTimeSegment {
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

    pub fn finish(mut self) -> Vec<SelfTimeSegment> {
        while let Some((end, inner)) = self.open.pop() {
            self.emit(inner, end);
        }
        self.out
    }
}

#[cfg(test)]
mod tests {
    use math::intervals::IntervalSet;
    use proptest::prelude::*;

    use super::*;

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
        fn a_part_is_shared_unless_its_borders_cut_it(
            spans in prop::collection::vec((0_i64..50, 0_i64..20), 0..20),
            (start, len) in (0_i64..60, 1_i64..40),
        ) {
            let range = |start, end| TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
            let span = |(at, len): (i64, i64)| SelfTimeSegment {
                range: range(at, at + len),
                slice: SliceId::from_index(0),
                class: OpClass::default(),
            };
            let whole = Segments::from(self_time_segments(spans.into_iter().map(span).collect()));
            let window = range(start, start + len);
            let part = whole.within(window);
            let clipped = |segment: &SelfTimeSegment| segment.range.intersect(window);
            let expected: Vec<TimeRange> = whole.iter().filter_map(clipped).collect();
            let found: Vec<TimeRange> = part.iter().map(|segment| segment.range).collect();
            prop_assert_eq!(&found, &expected);
            let is_cut = !expected.iter().all(|part| whole.iter().any(|segment| segment.range == *part));
            prop_assert_eq!(Arc::ptr_eq(&whole.all, &part.all), !is_cut);
            // A part of a part, too.
            let again = part.within(window);
            prop_assert_eq!(again.iter().map(|segment| segment.range).collect::<Vec<_>>(), expected);
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
