//! What a folded group shows instead of its tracks: the ops of its core, the work of all its cores, or when its
//! threads are busy.
//!
//! ```text
//! thread 1   ▐██▌   ▐█▌
//! thread 2     ▐██▌
//! threads    ▐▂█▂▌  ▐▂▌     how many are busy
//! ```

use std::collections::VecDeque;

use crate::prelude::*;
use trace_model::pausing;

/// What a group shows while it is folded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum GroupLoad {
    /// It has only counters.
    #[default]
    Nothing,
    /// The ops of its only core: this lane.
    Lane(usize),
    /// The ops of its cores, one lane each, as shares of all of them.
    Cores(Vec<usize>),
    /// When its threads are busy.
    Busy,
}

impl GroupLoad {
    pub fn of(model: &TraceModel, tracks: &[TrackId]) -> Self {
        let cores: Vec<usize> = tracks
            .iter()
            .filter(|&&track| model.track(track).kind == TrackKind::Ops)
            .filter_map(|&track| fullest_lane(model, track))
            .collect();
        match cores[..] {
            [] if tracks.iter().any(|&track| shows_work(model, track)) => Self::Busy,
            [] => Self::Nothing,
            [only] => Self::Lane(only),
            _ => Self::Cores(cores),
        }
    }
}

/// The lane of a track with most slices, because a loop around all ops would say nothing.
fn fullest_lane(model: &TraceModel, track: TrackId) -> Option<usize> {
    let (fullest, _) = model
        .lanes(track)
        .iter()
        .enumerate()
        .max_by_key(|&(index, lane)| (lane.len(), Reverse(index)))?;
    Some(model.first_lane_index(track) + fullest)
}

/// Whether slices of a track are work, and not its division into steps, programs and scopes.
fn shows_work(model: &TraceModel, track: TrackId) -> bool {
    use TrackKind as K;
    let is_work = matches!(
        model.track(track).kind,
        K::HostThread | K::Stream | K::Async | K::AsyncOps | K::Other
    );
    is_work && !model.lanes(track).is_empty()
}

/// How many threads of a group are busy: run at least one slice.
#[derive(Debug, Default)]
pub struct BusyThreads {
    /// When their number changes, in time order.
    changes: Vec<BusyChange>,
    /// Most threads that are busy at once.
    most: u32,
}

/// From a time on, a number of threads is busy.
#[derive(Clone, Copy, Debug)]
struct BusyChange {
    at: i64,
    threads: u32,
    /// Before: the time in which at least one is busy.
    any: i64,
    /// Before: the sum over all threads.
    sum: i64,
}

/// How busy the threads of a group are in a range.
#[derive(Clone, Copy, Debug, Default)]
pub struct BusyShare {
    /// The share of the time in which at least one is busy, 0 to 1.
    pub any: f64,
    /// How many are busy on average.
    pub threads: f64,
}

impl BusyThreads {
    /// With more stretches of busy threads than this, times are rounded, so that the memory stays small.
    const MOST_EXACT: usize = 1 << 20;

    pub fn of(model: &TraceModel, tracks: impl Iterator<Item = TrackId>) -> Self {
        let mut ends: VecDeque<Vec<(i64, i32)>> = VecDeque::new();
        for track in tracks.filter(|&track| shows_work(model, track)) {
            // Children lie within their parents, so they are left out.
            let roots = pausing(model.slices_on(track)).filter(|slice| slice.parent().is_none());
            let stretches = union(roots.map(SliceRef::range).collect());
            ends.push_back(
                stretches
                    .into_iter()
                    .flat_map(|(start, end)| [(start, 1), (end, -1)])
                    .collect(),
            );
        }
        if ends.iter().map(Vec::len).sum::<usize>() > 2 * Self::MOST_EXACT {
            let step = (model.extent().dur().ps() / Self::MOST_EXACT as i64).max(1);
            for (time, _) in pausing(ends.iter_mut().flatten()) {
                *time -= time.rem_euclid(step);
            }
        }
        // Those of each track are in order.
        while ends.len() > 1 {
            let [one, other] = [(), ()].map(|()| ends.pop_front().unwrap_or_default());
            ends.push_back(merged(&one, &other));
        }
        Self::of_ends(&ends.pop_front().unwrap_or_default())
    }

    /// The load from starts and ends in order.
    fn of_ends(ends: &[(i64, i32)]) -> Self {
        let mut busy = Self::default();
        let mut now = BusyChange {
            at: 0,
            threads: 0,
            any: 0,
            sum: 0,
        };
        for same in pausing(ends.chunk_by(|a, b| a.0 == b.0)) {
            let Some(&(time, _)) = same.first() else {
                continue;
            };
            let by: i32 = same.iter().map(|(_, by)| by).sum();
            let passed = time - now.at;
            let threads = now.threads.saturating_add_signed(by);
            now = BusyChange {
                at: time,
                threads,
                any: now.any + if now.threads > 0 { passed } else { 0 },
                sum: now
                    .sum
                    .saturating_add(passed.saturating_mul(i64::from(now.threads))),
            };
            if by != 0 {
                busy.changes.push(now);
                busy.most = busy.most.max(threads);
            }
        }
        busy.changes.shrink_to_fit();
        busy
    }

    /// Most threads that are busy at once.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// Busy picoseconds before a time: of any thread, and the sum over all.
    fn until(&self, time: i64) -> (i64, i64) {
        let next = self.changes.partition_point(|change| change.at <= time);
        let Some(last) = next.checked_sub(1).and_then(|last| self.changes.get(last)) else {
            return (0, 0);
        };
        let passed = time - last.at;
        let any = if last.threads > 0 { passed } else { 0 };
        (
            last.any + any,
            last.sum
                .saturating_add(passed.saturating_mul(i64::from(last.threads))),
        )
    }

    /// How busy the threads are in a range.
    pub fn share(&self, range: TimeRange) -> BusyShare {
        let (from, to) = (self.until(range.start.ps()), self.until(range.end.ps()));
        let whole = range.dur().as_ps_f64().max(1.0);
        BusyShare {
            any: (to.0 - from.0) as f64 / whole,
            threads: (to.1 - from.1) as f64 / whole,
        }
    }
}

/// All ends of two lists in order, in order.
fn merged(one: &[(i64, i32)], other: &[(i64, i32)]) -> Vec<(i64, i32)> {
    let mut all = Vec::with_capacity(one.len() + other.len());
    let mut rest = other;
    for &end in pausing(one) {
        let before = rest.iter().take_while(|other| other.0 < end.0).count();
        let (first, later) = rest.split_at(before);
        all.extend_from_slice(first);
        all.push(end);
        rest = later;
    }
    all.extend_from_slice(rest);
    all
}

/// The stretches that some ranges cover, in time order.
fn union(mut ranges: Vec<TimeRange>) -> Vec<(i64, i64)> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut stretches: Vec<(i64, i64)> = Vec::new();
    for range in ranges {
        let (start, end) = (range.start.ps(), range.end.ps());
        match stretches.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => stretches.push((start, end)),
        }
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_model::{GroupKind, SliceSpec, Timestamp, TraceBuilder};

    fn range(start: i64, end: i64) -> TimeRange {
        TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end))
    }

    #[test]
    fn ends_of_two_tracks_are_merged_in_order() {
        let (one, other) = (
            [(0, 1), (5, -1), (5, 1)],
            [(-1, 1), (2, -1), (5, 1), (9, -1)],
        );
        let times = |ends: &[(i64, i32)]| ends.iter().map(|end| end.0).collect::<Vec<_>>();
        assert_eq!(times(&merged(&one, &other)), [-1, 0, 2, 5, 5, 5, 9]);
        assert_eq!(merged(&one, &[]), one);
        assert_eq!(merged(&[], &other), other);
    }

    #[test]
    fn overlapping_slices_count_once() {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let label = builder.label("x", None);
        for (id, kind, slices) in [
            (1, TrackKind::HostThread, &[(0, 10), (2, 5), (20, 30)][..]),
            (2, TrackKind::HostThread, &[(5, 12)]),
            (3, TrackKind::Steps, &[(0, 100)]),
        ] {
            let track = builder.track(host, kind, id, "thread");
            for &(start, end) in slices {
                builder.add_slice(track, SliceSpec::new(range(start, end), label));
            }
        }
        let model = builder.finish();
        let tracks: Vec<TrackId> = model.track_ids().collect();
        assert_eq!(GroupLoad::of(&model, &tracks), GroupLoad::Busy);
        let busy = BusyThreads::of(&model, tracks.into_iter());
        let percent = |start: i64, end: i64| {
            let share = busy.share(range(start, end));
            [share.any * 100.0, share.threads * 100.0].map(|percent| percent.round() as i64)
        };
        assert_eq!(
            [percent(0, 10), percent(10, 20), percent(12, 20)],
            [[100, 150], [20, 20], [0, 0]]
        );
        assert_eq!(
            [percent(0, 40), percent(25, 35), percent(6, 8)],
            [[55, 68], [50, 50], [100, 200]]
        );
        assert_eq!(busy.most(), 2);
    }

    #[test]
    fn folded_core_group_shows_ops_and_counter_group_shows_none() {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let label = builder.label("x", None);
        for id in 0..2 {
            let track = builder.track(host, TrackKind::Ops, id, "ops");
            builder.add_slice(track, SliceSpec::new(range(0, 10), label));
        }
        let model = builder.finish();
        let tracks: Vec<TrackId> = model.track_ids().collect();
        assert_eq!(GroupLoad::of(&model, &tracks), GroupLoad::Cores(vec![0, 1]));
        assert_eq!(GroupLoad::of(&model, &tracks[1..]), GroupLoad::Lane(1));
        assert_eq!(GroupLoad::of(&model, &[]), GroupLoad::Nothing);
    }
}
