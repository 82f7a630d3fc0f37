//! Random slices for the tests of this directory.

use proptest::prelude::*;
use trace_model::{
    GroupKind, Picos, SliceKey, SliceSpec, TimeRange, Timestamp, TraceBuilder, TrackId, TrackKind,
};

pub fn at(ps: i64) -> Timestamp {
    Timestamp::from_ps(ps)
}

pub fn range(start: i64, end: i64) -> TimeRange {
    TimeRange::new(at(start), at(end))
}

/// Spans that often touch, nest, overlap, coincide or have no length, because times come from a small range.
#[allow(dead_code, reason = "each test binary uses its part")]
pub fn any_spans() -> impl Strategy<Value = Vec<(i64, i64)>> {
    let short = (0..60_i64, 0..12_i64);
    let long = (0..60_i64, 0..80_i64);
    let huge = (-(1_i64 << 40)..1 << 40, 0..1_i64 << 41);
    let span =
        prop_oneof![6 => short, 3 => long, 1 => huge].prop_map(|(start, dur)| (start, start + dur));
    prop::collection::vec(span, 0..60)
}

/// Spans that are nested or disjoint.
#[allow(dead_code, reason = "each test binary uses its part")]
pub fn nested_spans() -> impl Strategy<Value = Vec<(i64, i64)>> {
    prop::collection::vec((0..20_i64, 0..400_i64, 0..4_usize), 0..60).prop_map(|steps| {
        let mut spans = Vec::new();
        let mut open: Vec<i64> = vec![i64::MAX];
        let mut cursor = 0;
        for (gap, dur, closes) in steps {
            cursor += gap;
            let keep = open.len().saturating_sub(closes).max(1);
            // After closing a span, continue after its end.
            while open.len() > keep {
                cursor = cursor.max(open.pop().unwrap_or(cursor));
            }
            while open.len() > 1 && *open.last().unwrap_or(&0) <= cursor {
                open.pop();
            }
            let end = (cursor + dur).min(*open.last().unwrap_or(&i64::MAX));
            spans.push((cursor, end));
            if end > cursor {
                open.push(end);
            }
        }
        spans
    })
}

/// A builder with one op track.
pub fn one_track(kind: TrackKind) -> (TraceBuilder, TrackId) {
    let mut builder = TraceBuilder::new();
    let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
    let track = builder.track(core, kind, 3, "XLA Ops");
    (builder, track)
}

/// Adds slices called `0`, `1`, … in the given order.
pub fn add_all(builder: &mut TraceBuilder, track: TrackId, spans: &[(i64, i64)]) -> Vec<SliceKey> {
    spans
        .iter()
        .enumerate()
        .map(|(number, &(start, end))| {
            let label = builder.label(&number.to_string(), None);
            builder.add_slice(
                track,
                SliceSpec::new(TimeRange::at(at(start), Picos::from_ps(end - start)), label),
            )
        })
        .collect()
}

/// The number that [`add_all`] gave a slice.
#[allow(dead_code, reason = "each test binary uses its part")]
pub fn number(slice: trace_model::SliceRef<'_>) -> usize {
    slice.name().parse().unwrap_or(usize::MAX)
}

/// Time covered by at least one span.
#[allow(dead_code, reason = "each test binary uses its part")]
pub fn union(spans: impl IntoIterator<Item = (i64, i64)>) -> i64 {
    let mut spans: Vec<_> = spans.into_iter().collect();
    spans.sort_unstable();
    let (mut covered, mut reached) = (0, i64::MIN);
    for (start, end) in spans {
        covered += (end - start.max(reached)).max(0);
        reached = reached.max(end);
    }
    covered
}
