//! Segments in sixteen bytes each: there are as many as executed ops.

use engine::prelude::*;

use crate::category::OpClass;

/// A span in which one op is the innermost running op.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelfTimeSegment {
    /// Its span.
    pub range: TimeRange,
    /// The op execution.
    pub slice: SliceId,
    /// Class of the op.
    pub class: OpClass,
}

/// A segment that starts within 281 s of the first one and is shorter than 1.09 s.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedSegment {
    /// Start after that of the first segment, and length, in picoseconds: the lower 32 bits.
    start_low: u32,
    length_low: u32,
    slice: u32,
    start_high: u16,
    /// Or [`KEPT_APART`].
    length_high: u8,
    /// Number of the class.
    class: u8,
}

/// In place of a length: the segment does not fit, and is kept apart, at the place that `length_low` says.
const KEPT_APART: u8 = u8::MAX;

/// A list of segments in the order of time.
#[derive(Debug, Default)]
pub(crate) struct PackedSegments {
    rows: Vec<PackedSegment>,
    /// Start of the first one.
    first: Timestamp,
    /// Every class that occurs, by its number.
    classes: Vec<OpClass>,
    /// Those that are too late, too long, or of one class too many.
    apart: Vec<SelfTimeSegment>,
}

impl PackedSegments {
    pub fn with_capacity(segments: usize) -> Self {
        Self {
            rows: Vec::with_capacity(segments),
            ..Self::default()
        }
    }

    #[inline]
    pub fn push(&mut self, segment: SelfTimeSegment) {
        if self.rows.is_empty() {
            self.first = segment.range.start;
        }
        let row = self.packed(segment).unwrap_or_else(|| {
            self.apart.push(segment);
            PackedSegment {
                start_low: 0,
                length_low: (self.apart.len() - 1) as u32,
                slice: 0,
                start_high: 0,
                length_high: KEPT_APART,
                class: 0,
            }
        });
        self.rows.push(row);
    }

    /// `None` if it does not fit.
    #[inline]
    fn packed(&mut self, segment: SelfTimeSegment) -> Option<PackedSegment> {
        // Differences saturate, and what is that far apart does not fit.
        let start = u64::try_from((segment.range.start - self.first).ps()).ok()?;
        let length = u64::try_from(segment.range.dur().ps()).ok()?;
        let is_same = |known: &OpClass| *known == segment.class;
        let class = match self.classes.iter().position(is_same) {
            Some(known) => known,
            None if u8::try_from(self.classes.len()).is_ok() => {
                self.classes.push(segment.class);
                self.classes.len() - 1
            }
            None => return None,
        };
        Some(PackedSegment {
            start_low: start as u32,
            length_low: length as u32,
            slice: segment.slice.index() as u32,
            start_high: u16::try_from(start >> u32::BITS).ok()?,
            length_high: u8::try_from(length >> u32::BITS)
                .ok()
                .filter(|&high| high != KEPT_APART)?,
            class: class as u8,
        })
    }

    /// Frees unused memory.
    pub fn finish(mut self) -> Self {
        self.rows.shrink_to_fit();
        self.apart.shrink_to_fit();
        self
    }

    /// The packed rows.
    #[inline]
    pub fn rows(&self) -> &[PackedSegment] {
        &self.rows
    }

    /// One of the rows.
    #[inline]
    pub fn segment(&self, packed: PackedSegment) -> SelfTimeSegment {
        if packed.length_high == KEPT_APART {
            return self.apart[packed.length_low as usize];
        }
        SelfTimeSegment {
            range: packed.range(self.first),
            slice: SliceId::from_index(packed.slice as usize),
            class: self.classes[usize::from(packed.class)],
        }
    }

    /// When one of the rows is.
    #[inline]
    pub fn range(&self, packed: PackedSegment) -> TimeRange {
        if packed.length_high == KEPT_APART {
            return self.apart[packed.length_low as usize].range;
        }
        packed.range(self.first)
    }
}

impl PackedSegment {
    #[inline]
    fn range(self, first: Timestamp) -> TimeRange {
        let start = i64::from(self.start_high) << u32::BITS | i64::from(self.start_low);
        let length = i64::from(self.length_high) << u32::BITS | i64::from(self.length_low);
        // Nothing overflows: these are the differences of two times.
        let start = first.ps().wrapping_add(start);
        TimeRange {
            start: Timestamp::from_ps(start),
            end: Timestamp::from_ps(start.wrapping_add(length)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::category::{AsyncRole, CollectiveKind as Kind, OpGroup};

    /// More of them than have a number.
    fn class(number: usize) -> OpClass {
        let kinds = [
            Kind::AllReduce,
            Kind::AllGather,
            Kind::AllToAll,
            Kind::Send,
            Kind::Recv,
        ];
        let roles = [
            None,
            Some(AsyncRole::Start),
            Some(AsyncRole::Update),
            Some(AsyncRole::Done),
        ];
        let mut class = OpClass::of_group(OpGroup::ALL[number % OpGroup::ALL.len()]);
        class.role = roles[number % roles.len()];
        class.collective = kinds.get(number % 7).copied();
        class
    }

    #[test]
    fn what_is_packed_is_read_as_it_was() {
        let edges = [
            0,
            1,
            1 << 32,
            (1 << 40) - 1,
            1 << 40,
            (1 << 48) - 1,
            1 << 48,
            i64::MAX,
            i64::MIN,
            -1,
        ];
        let segment = |number: usize| SelfTimeSegment {
            range: TimeRange::new(
                Timestamp::from_ps(edges[number % edges.len()]),
                Timestamp::from_ps(edges[number / 10 % edges.len()]),
            ),
            slice: SliceId::from_index(number << 22),
            class: class(number),
        };
        for first in [0, 1, 50, 700] {
            let mut packed = PackedSegments::default();
            let segments = || (first..first + 1_000).map(segment);
            segments().for_each(|segment| packed.push(segment));
            let packed = packed.finish();
            assert_eq!(packed.rows().len(), 1_000);
            for (&row, segment) in packed.rows().iter().zip(segments()) {
                assert_eq!(packed.segment(row), segment);
                assert_eq!(packed.range(row), segment.range);
            }
        }
        assert_eq!(size_of::<PackedSegment>(), 16);
    }
}
