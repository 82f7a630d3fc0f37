//! What a folded group shows instead of its tracks: the ops of its core, the work of all its cores, or when its
//! threads are busy.
//!
//! ```text
//! thread 1   ▐██▌   ▐█▌
//! thread 2     ▐██▌
//! busy       ▐████▌ ▐█▌     the time in which at least one slice runs
//! ```

use trace_model::{TimeRange, TraceModel, TrackId, TrackKind};

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
    /// Of the tracks of a group.
    pub fn of(model: &TraceModel, tracks: &[TrackId]) -> Self {
        let cores = tracks.iter().filter(|&&track| model.track(track).kind == TrackKind::Ops);
        let cores: Vec<usize> = cores.filter_map(|&track| fullest_lane(model, track)).collect();
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
    let lanes = model.lanes(track).iter().enumerate();
    let (fullest, _) = lanes.max_by_key(|&(at, lane)| (lane.len(), std::cmp::Reverse(at)))?;
    Some(model.first_lane_index(track) + fullest)
}

/// Whether slices of a track are work, and not its division into steps, programs and scopes.
fn shows_work(model: &TraceModel, track: TrackId) -> bool {
    use TrackKind as K;
    let is_work = matches!(model.track(track).kind, K::HostThread | K::Stream | K::Async | K::AsyncOps | K::Other);
    is_work && !model.lanes(track).is_empty()
}

/// The times in which at least one slice of some tracks runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BusyTime {
    /// Start and end of each stretch, in time order and apart from each other.
    stretches: Vec<(i64, i64)>,
    /// By stretch: the sum of those before it.
    before: Vec<i64>,
}

impl BusyTime {
    /// Of these tracks. Children lie within their parents, so they are left out.
    pub fn of(model: &TraceModel, tracks: impl Iterator<Item = TrackId>) -> Self {
        let tracks = tracks.filter(|&track| shows_work(model, track));
        let slices = tracks.flat_map(|track| model.slices_on(track)).filter(|slice| slice.parent().is_none());
        Self::union(slices.map(trace_model::SliceRef::range).collect())
    }

    fn union(mut ranges: Vec<TimeRange>) -> Self {
        ranges.sort_unstable_by_key(|range| range.start);
        let mut busy = Self::default();
        for range in ranges {
            let (start, end) = (range.start.ps(), range.end.ps());
            match busy.stretches.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => busy.stretches.push((start, end)),
            }
        }
        busy.stretches.shrink_to_fit();
        let mut sum = 0;
        let sum_before = |(start, end): &(i64, i64)| {
            let before = sum;
            sum += end - start;
            before
        };
        busy.before = busy.stretches.iter().map(sum_before).collect();
        busy
    }

    /// Busy picoseconds before a time.
    fn until(&self, at: i64) -> i64 {
        let next = self.stretches.partition_point(|&(start, _)| start < at);
        let Some(last) = next.checked_sub(1) else { return 0 };
        let (start, end) = self.stretches[last];
        self.before[last] + at.min(end) - start
    }

    /// The share of a range that is busy, 0 to 1.
    pub fn share(&self, range: TimeRange) -> f64 {
        let busy = self.until(range.end.ps()) - self.until(range.start.ps());
        busy as f64 / (range.dur().ps() as f64).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_model::{GroupKind, SliceSpec, Timestamp, TraceBuilder};

    fn range(start: i64, end: i64) -> TimeRange {
        TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end))
    }

    #[test]
    fn a_moment_with_several_slices_counts_once() {
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
        let busy = BusyTime::of(&model, tracks.into_iter());
        assert_eq!(busy.stretches, [(0, 12), (20, 30)]);
        let percent = |start: i64, end: i64| (busy.share(range(start, end)) * 100.0).round() as i64;
        assert_eq!(
            [percent(0, 10), percent(10, 20), percent(12, 20), percent(0, 40), percent(25, 35)],
            [100, 20, 0, 55, 50]
        );
    }

    #[test]
    fn a_group_of_cores_shows_their_ops_and_one_with_counters_nothing() {
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
