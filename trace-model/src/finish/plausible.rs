//! Drops slices and samples with implausible times.
//!
//! One damaged number can put a slice months away from all others. The trace would then be months long, sums of time
//! would saturate, and every share would be close to 0. No profiler records for days, so slices that are more than a
//! week away from the median of their file are dropped and counted.
//!
//! ```text
//! [slice]   ...months...   [slice][slice] [slice]
//!  left out                         ^ median  |<- LONGEST ->|
//! ```

use crate::batch::SliceBatch;
use crate::builder::{CounterBuilder, TraceBuilder};
use crate::compact::CompactColumn;
use crate::import_log::{ImportLog, IssueKind};
use crate::time::{PS_PER_S, Picos, TimeRange, Timestamp};

/// Largest plausible distance: one week, longer than any capture.
const LONGEST: Picos = Picos::from_ps(7 * 24 * 3600 * PS_PER_S);
/// Number of start times sampled for the median: enough for a reliable value at little cost.
const SAMPLED: usize = 4096;

impl TraceBuilder {
    /// Whether no time is implausible if all times of a file are within this range.
    pub fn is_plausible(range: TimeRange) -> bool {
        range.dur() <= LONGEST
    }
}

/// Plausible times of the slices of each source, before sources are shifted.
pub(super) fn by_source(builder: &TraceBuilder) -> Vec<TimeRange> {
    let tracks = || builder.track_builders.iter().zip(&builder.tracks);
    let source_of = |group: usize| builder.groups[group].source.index();
    let mut starts: Vec<Vec<i64>> = vec![Vec::new(); builder.sources.len()];
    let mut counts = vec![0_usize; builder.sources.len()];
    for (batch, track) in tracks() {
        counts[source_of(track.group.index())] += batch.batch.len();
    }
    let mut seen = vec![0_usize; builder.sources.len()];
    for (batch, track) in tracks() {
        let source = source_of(track.group.index());
        let every = counts[source] / SAMPLED + 1;
        // Samples the slices of the source at regular intervals, over all its tracks.
        let first = seen[source].next_multiple_of(every) - seen[source];
        starts[source].extend(batch.batch.starts.iter().skip(first).step_by(every));
        seen[source] += batch.batch.len();
    }
    starts
        .into_iter()
        .map(|starts| around_median(starts).unwrap_or(EVERYWHERE))
        .collect()
}

const EVERYWHERE: TimeRange = TimeRange {
    start: Timestamp::MIN,
    end: Timestamp::MAX,
};

fn around_median(mut starts: Vec<i64>) -> Option<TimeRange> {
    let middle = starts.len() / 2;
    let (_, &mut median, _) =
        (middle < starts.len()).then(|| starts.select_nth_unstable(middle))?;
    let median = Timestamp::from_ps(median);
    Some(TimeRange::new(median - LONGEST, median + LONGEST))
}

/// Indices, ascending, of the slices of a batch that have an implausible time on either clock.
pub(super) fn impossible(batch: &SliceBatch, plausible: TimeRange) -> Vec<u32> {
    let sample = (0..batch.len() as u32).step_by(batch.len() / SAMPLED + 1);
    let timed = around_median(
        sample
            .filter_map(|i| Some(batch.device_range(i)?.start.ps()))
            .collect(),
    );
    if all_plausible(batch, plausible, timed) {
        return Vec::new();
    }
    let is_impossible = |&i: &u32| {
        let by_device = timed
            .zip(batch.device_range(i))
            .is_some_and(|(timed, range)| !timed.encloses(range));
        by_device || !plausible.encloses(batch.range(i))
    };
    (0..batch.len() as u32).filter(is_impossible).collect()
}

/// Whether all slices are plausible, judged by the smallest and largest times; `false` if that is not certain.
fn all_plausible(batch: &SliceBatch, plausible: TimeRange, timed: Option<TimeRange>) -> bool {
    let fits = |starts: &[i64], durs: &CompactColumn, within: TimeRange| {
        let (least, most) = starts
            .iter()
            .fold((i64::MAX, i64::MIN), |(a, b), &v| (a.min(v), b.max(v)));
        let (shortest, longest) = durs.bounds();
        let end = Timestamp::from_ps(most.saturating_add(longest));
        starts.is_empty() || (shortest >= 0 && within.start.ps() <= least && end <= within.end)
    };
    fits(&batch.starts, &batch.durs, plausible)
        && timed.is_none_or(|timed| {
            fits(&batch.device_starts, &batch.device_durs, timed) && batch.is_all_clocked()
        })
}

/// The counter without samples at implausible times.
pub(super) fn without_impossible(
    mut counter: CounterBuilder,
    plausible: TimeRange,
    log: &mut ImportLog,
) -> CounterBuilder {
    counter.samples.retain(|&(start, ..)| {
        let time = Timestamp::from_ps(start);
        let is_possible = plausible.start <= time && time <= plausible.end;
        if !is_possible {
            log.add(IssueKind::ImpossibleTime, || {
                format!("sample of a counter at {start} ps")
            });
        }
        is_possible
    });
    counter
}

#[cfg(test)]
mod tests {
    use crate::{
        GroupKind, IssueKind, Picos, SliceSpec, TimeRange, Timestamp, TraceBuilder, TrackKind,
    };

    const HOUR: i64 = 3_600_000_000_000_000;

    fn range(start: i64, dur: i64) -> TimeRange {
        TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(dur))
    }

    /// Slices with these start times and durations in hours; the last one is opened and never closed.
    fn finished(slices: &[(i64, i64)], device: Option<(i64, i64)>) -> crate::TraceModel {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let track = builder.track(host, TrackKind::Ops, 0, "ops");
        let label = builder.label("op", None);
        for &(start, dur) in slices {
            let device = device.map(|_| range(0, 1));
            builder.add_slice(
                track,
                SliceSpec {
                    device,
                    ..SliceSpec::new(range(start * HOUR, dur * HOUR), label)
                },
            );
        }
        if let Some((start, dur)) = device {
            let device = Some(range(start * HOUR, dur * HOUR));
            builder.add_slice(
                track,
                SliceSpec {
                    device,
                    ..SliceSpec::new(range(0, HOUR), label)
                },
            );
        }
        builder.finish()
    }

    #[test]
    fn slices_weeks_away_are_dropped_and_counted() {
        let left_out =
            |model: &crate::TraceModel| model.import_log().count(IssueKind::ImpossibleTime);
        // A gap of a day is long but plausible.
        let fine = finished(&[(0, 1), (1, 1), (25, 1)], None);
        assert_eq!((left_out(&fine), fine.slice_count()), (0, 3));
        for broken in [(-2_500, 1), (2_500, 1), (1, 2_500)] {
            let model = finished(&[(0, 1), broken, (1, 1), (2, 1)], None);
            assert_eq!(
                (left_out(&model), model.slice_count()),
                (1, 3),
                "{broken:?}"
            );
            assert_eq!(model.extent(), range(0, 3 * HOUR));
            assert_eq!(model.import_log().lost(), 1);
        }
        for device in [(2_500, 1), (0, 2_500)] {
            let model = finished(&[(0, 1), (1, 1)], Some(device));
            assert_eq!(
                (left_out(&model), model.slice_count()),
                (1, 2),
                "{device:?}"
            );
        }
    }

    #[test]
    fn facts_and_flows_of_dropped_slices_are_dropped() {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let track = builder.track(host, TrackKind::Ops, 0, "ops");
        let label = builder.label("op", None);
        let [far, near, last] = [-2_500, 0, 1].map(|hour| {
            let key = builder.add_slice(track, SliceSpec::new(range(hour * HOUR, HOUR), label));
            builder.set_attr(key, crate::SliceAttr::RunId, hour);
            key
        });
        builder.add_flow(crate::FlowEnd::Slice(far), crate::FlowEnd::Slice(near), 1);
        builder.add_flow(crate::FlowEnd::Slice(near), crate::FlowEnd::Slice(last), 2);
        let open = builder.begin_slice(track, Timestamp::from_ps(HOUR / 2), label, None);
        let counter = builder.track(host, TrackKind::Counter, 1, "counter");
        for hour in [0, 2_500] {
            builder.add_counter_sample(counter, Timestamp::from_ps(hour * HOUR), None, 1.0);
        }
        assert_eq!(open.index, 3);
        let model = builder.finish();
        let facts: Vec<i64> = model
            .slices_with(crate::SliceAttr::RunId)
            .map(|(_, value)| value)
            .collect();
        assert_eq!((facts, model.flows().len()), (vec![0, 1], 1));
        // A slice that is never closed ends with the last plausible slice.
        assert_eq!(model.extent(), range(0, 2 * HOUR));
        let log = model.import_log();
        assert_eq!(
            (
                log.count(IssueKind::ImpossibleTime),
                log.count(IssueKind::FlowWithoutEnd)
            ),
            (2, 1)
        );
    }
}
