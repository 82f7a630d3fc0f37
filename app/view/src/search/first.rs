//! The first of many slices in time order.

use crate::prelude::*;
use rayon::prelude::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::in_time::{self, SAMPLES};

/// Slices that are sorted at a time.
const SPAN: usize = 1 << 17;
/// Mean number of slices of a list in such a span: below this, cutting lists costs more than sorting.
const SHARE: usize = 16;

/// Slices in two orders.
pub(super) struct FirstSlices {
    /// By start, then id.
    pub(super) in_time: Vec<SliceId>,
    pub(super) by_id: Vec<SliceId>,
}

/// The first `limit` slices of several lists in time order. Slices of a list have rising ids and starts, and so have the
/// ids from list to list.
///
/// Threads sort spans of time, each with about as many slices. A span of a list is found by searches, because the list is in
/// time order:
///
/// ```text
/// spans   |       |       |       |
/// list 1   a  b     c  d    e f  g
/// list 2       h  i     j       k       → a b h | i c d j | …
/// ```
pub(super) fn first_in_time(
    model: &TraceModel,
    lists: &[Vec<SliceId>],
    limit: usize,
) -> FirstSlices {
    let start = |slice: SliceId| model.slice(slice).start();
    let cuts = cuts(model, lists);
    // The end of each span in each list.
    let ends_in = |list: &Vec<SliceId>| -> Vec<usize> {
        let until = |&cut: &Timestamp| list.partition_point(|&slice| start(slice) < cut);
        cuts.iter().map(until).chain([list.len()]).collect()
    };
    let ends: Vec<Vec<usize>> = lists.par_iter().map(ends_in).collect();
    let of_span = |span: usize| -> Vec<&[SliceId]> {
        let part =
            |ends: &Vec<usize>| span.checked_sub(1).map_or(0, |before| ends[before])..ends[span];
        lists
            .iter()
            .zip(&ends)
            .map(|(list, ends)| &list[part(ends)])
            .collect()
    };
    let spans: Vec<Vec<&[SliceId]>> = (0..=cuts.len()).map(of_span).collect();
    let mut before = 0;
    let needed = spans.iter().take_while(|parts| {
        let is_needed = before < limit;
        before += parts.iter().map(|part| part.len()).sum::<usize>();
        is_needed
    });
    let sorted = |parts: &&Vec<&[SliceId]>| -> Vec<SliceId> {
        let mut slices = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
        slices.extend(
            parts
                .iter()
                .flat_map(|part| part.iter())
                .map(|&slice| (start(slice), slice)),
        );
        let mut sorted = Vec::new();
        // Stable: they are in the order of their ids.
        in_time::sort(&slices, &mut sorted, |&(start, _)| start);
        sorted.into_iter().map(|(_, slice)| slice).collect()
    };
    let needed: Vec<&Vec<&[SliceId]>> = needed.collect();
    let mut first = needed.par_iter().map(sorted).collect::<Vec<_>>().concat();
    first.truncate(limit);
    let by_id = match first.last().map(|&last| (start(last), last)) {
        Some(last) => {
            let until =
                |list: &Vec<SliceId>| list.partition_point(|&slice| (start(slice), slice) <= last);
            lists
                .iter()
                .map(|list| &list[..until(list)])
                .collect::<Vec<_>>()
                .concat()
        }
        None => Vec::new(),
    };
    FirstSlices {
        in_time: first,
        by_id,
    }
}

/// Times that cut the slices of all lists into spans with about as many each.
fn cuts(model: &TraceModel, lists: &[Vec<SliceId>]) -> Vec<Timestamp> {
    let count: usize = lists.iter().map(Vec::len).sum();
    let spans = count / SPAN.max(SHARE * lists.len());
    let every = (count / (spans * SAMPLES).max(1)).max(1);
    in_time::cuts(
        lists
            .iter()
            .flatten()
            .step_by(every)
            .map(|&slice| model.slice(slice).start())
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use trace_model::{GroupKind, SliceSpec, TimeRange, TraceBuilder, TrackKind};

    use super::*;

    /// Slices at these times, on a track for each list.
    fn model_of(lists: &[Vec<i64>]) -> (TraceModel, Vec<Vec<SliceId>>) {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let label = builder.label("x", None);
        for (id, starts) in (0..).zip(lists) {
            let track = builder.track(host, TrackKind::Ops, id, "track");
            for &start in starts {
                let at = Timestamp::from_ps(start);
                builder.add_slice(track, SliceSpec::new(TimeRange::new(at, at), label));
            }
        }
        let model = builder.finish();
        let ids = |lane| model.slices_of(lane).map(SliceRef::id).collect();
        let lists = model.all_lanes().iter().map(ids).collect();
        (model, lists)
    }

    fn check(lists: &[Vec<i64>], limit: usize) {
        let (model, lists) = model_of(lists);
        let mut expected: Vec<SliceId> = lists.concat();
        expected.sort_by_key(|&slice| (model.slice(slice).start(), slice));
        expected.truncate(limit);
        let FirstSlices { in_time, mut by_id } = first_in_time(&model, &lists, limit);
        assert_eq!(in_time, expected);
        assert!(by_id.is_sorted());
        by_id.sort_by_key(|&slice| (model.slice(slice).start(), slice));
        assert_eq!(by_id, expected);
    }

    #[test]
    fn first_slices_of_several_lists() {
        for seed in 0..400_i64 {
            let list = |list: i64| {
                (0..(seed * (list + 3)) % 17)
                    .map(|i| (i * i * (seed + list)) % 50)
                    .collect()
            };
            let lists: Vec<Vec<i64>> = (0..seed % 6).map(list).collect();
            check(&lists, 1 + (seed * 7 % 60) as usize);
        }
    }

    #[test]
    fn first_slices_of_long_lists() {
        let step = |list: i64, i: i64| i * 10 + (i * i + list) % 9;
        let even: Vec<Vec<i64>> = (0..5)
            .map(|list| (0..30_000).map(|i| step(list, i)).collect())
            .collect();
        // Most of them at the same time.
        let uneven: Vec<Vec<i64>> = (0..5)
            .map(|list| (0..30_000).map(|i| step(list, i).min(5_000)).collect())
            .collect();
        for lists in [even, uneven] {
            for limit in [1, 50_000, 149_999, 200_000] {
                check(&lists, limit);
            }
        }
    }
}
