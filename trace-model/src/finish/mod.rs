//! Turns a [`TraceBuilder`] into a [`TraceModel`]: closes open slices, drops slices with implausible times, aligns
//! hosts, sorts and nests every track (in parallel), links flows, clips counters.
//!
//! Memory limits the size of a trace, so data is not held twice: a few tracks are finished at a time, and each batch is
//! dropped once its rows are in the table.

mod flows;
mod merge;
mod ordered;
mod plausible;
mod track;

use std::sync::{Arc, OnceLock};

use rayon::prelude::{IntoParallelIterator as _, ParallelIterator as _};

use crate::builder::{CounterBuilder, TraceBuilder, TrackBuilder};
use crate::counters::CounterSeries;
use crate::flow::Flows;
use crate::import_log::{ImportLog, IssueKind};
use crate::index::ModelIndex;
use crate::model::{TraceColumns, TraceModel};
use crate::source::Source;
use crate::time::{Picos, TimeRange, Timestamp};
use crate::track::{Track, TrackId};
use crate::unread::UnreadSlices;

use merge::MergedTracks;
use track::{FinishedTrack, Stop, TrackJob, finish_track};

/// Number of rows that are finished before they move into the table: enough to keep all threads busy, but few
/// compared with the table.
const ROWS_AT_ONCE: usize = 1 << 17;

impl TraceBuilder {
    /// Sorts, nests and links everything. Problems are in the import log.
    pub fn finish(self) -> TraceModel {
        self.finished(&|| false)
    }

    /// Like [`Self::finish`], but returns `None` soon after `stop` returns true, which it must go on to do. `stop` is
    /// called before each track and between passes over all slices of a track.
    pub fn finish_unless(self, stop: Stop<'_>) -> Option<TraceModel> {
        let model = self.finished(stop);
        (!stop()).then_some(model)
    }

    fn finished(mut self, stop: Stop<'_>) -> TraceModel {
        let shifts = align_sources(&mut self.sources, &mut self.log);
        let plausible = plausible::by_source(&self);
        let merged = finish_tracks(&mut self, &shifts, &plausible, stop);
        let sources = self.unread.iter().map(|unread| {
            let group = self.tracks[unread.track.index()].group;
            self.groups[group.index()].source.index()
        });
        let sources: Vec<usize> = sources.collect();
        let unread: Vec<UnreadSlices> = std::mem::take(&mut self.unread)
            .into_iter()
            .zip(sources)
            .map(|(unread, source)| unread.shifted(shifts[source]))
            .collect();
        let extent = merged.extent(unread.iter().map(|unread| unread.range));
        let counters: Vec<CounterSeries> = std::mem::take(&mut self.counters)
            .into_iter()
            .map(|counter| {
                let source = self.groups[self.tracks[counter.track.index()].group.index()]
                    .source
                    .index();
                let counter =
                    plausible::without_impossible(counter, plausible[source], &mut self.log);
                finish_counter(counter, shifts[source], extent, &mut self.log)
            })
            .collect();

        if stop() {
            // Nobody sees it.
            return Self::new().finish();
        }
        let MergedTracks {
            mut table,
            lanes,
            track_lanes,
            track_args,
            rows_of,
        } = merged;
        table.freeze();
        let index = ModelIndex::new(&self.groups, &self.tracks, &lanes, &counters, &self.strings);
        let mut model = TraceColumns {
            strings: self.strings,
            sources: self.sources,
            groups: self.groups,
            tracks: self.tracks,
            labels: self.labels,
            ops: self.ops,
            programs: self.programs,
            slices: table,
            lanes,
            track_lanes,
            counters,
            aggregates: self.aggregates,
            flows: Flows::default(),
            arg_sources: self.arg_sources,
            track_args,
            log: self.log,
            unread,
            is_partial: self.is_partial,
            extent,
            index,
            by_parent: OnceLock::new(),
            has_children: OnceLock::new(),
        };
        model.flows = Flows::new(flows::to_rows(&mut model, self.flows, &rows_of, &shifts));
        TraceModel(Arc::new(model))
    }
}

/// Finishes all tracks, a few at a time, and concatenates them. After a stop, the remaining tracks are empty.
fn finish_tracks(
    builder: &mut TraceBuilder,
    shifts: &[i64],
    plausible: &[TimeRange],
    stop: Stop<'_>,
) -> MergedTracks {
    let source_of = |track: &Track| builder.groups[track.group.index()].source.index();
    let flow_tracks = builder.flows.tracks(builder.tracks.len());
    let batches = std::mem::take(&mut builder.track_builders);
    let rows = batches.iter().map(|track| track.batch.len()).sum();
    let has_args = batches.iter().any(|track| track.batch.args.len() > 0);
    let mut jobs = batches
        .into_iter()
        .zip(&builder.tracks)
        .zip(flow_tracks)
        .map(|((batch, track), keep_rows)| {
            let (free, source) = (track.kind.overlaps_freely(), source_of(track));
            (
                batch,
                TrackJob {
                    free,
                    shift: shifts[source],
                    keep_rows,
                    plausible: plausible[source],
                },
            )
        });

    let mut merged = MergedTracks::with_capacity(rows, has_args);
    let mut finished: Vec<FinishedTrack> = Vec::new();
    loop {
        let wave = next_wave(&mut jobs);
        if wave.is_empty() && finished.is_empty() {
            return merged;
        }
        // While some tracks are being finished, the previous ones move into the table.
        let finish_one = |(batch, job)| finish_track(batch, &job, stop).unwrap_or_default();
        let finish = || wave.into_par_iter().map(finish_one).collect();
        let merge = || {
            for track in finished {
                let id = TrackId(merged.track_lanes.len() as u32);
                let track = if stop() {
                    FinishedTrack::default()
                } else {
                    track
                };
                merged.append(id, track, &mut builder.log, |row_label| {
                    let label = builder.labels.get(row_label as usize).copied();
                    label
                        .map_or("", |label| builder.strings.get(label.name))
                        .to_owned()
                });
            }
        };
        (finished, ()) = rayon::join(finish, merge);
    }
}

/// The tracks to finish together: at least one per thread.
fn next_wave(
    jobs: &mut impl Iterator<Item = (TrackBuilder, TrackJob)>,
) -> Vec<(TrackBuilder, TrackJob)> {
    let mut wave = Vec::new();
    let mut rows = 0;
    while rows < ROWS_AT_ONCE || wave.len() < rayon::current_num_threads() {
        let Some((track, job)) = jobs.next() else {
            break;
        };
        rows += track.batch.len();
        wave.push((track, job));
    }
    wave
}

/// The shift of each source that aligns it with the clock of the earliest source. If sessions are too far apart to
/// belong together, each keeps its own start.
fn align_sources(sources: &mut [Source], log: &mut ImportLog) -> Vec<i64> {
    if sources.len() > 1 {
        for source in sources
            .iter()
            .filter(|source| source.zero_unix_ns().is_none())
        {
            log.add(IssueKind::HostsNotAligned, || source.name.clone());
        }
        let mut zeros: Vec<(i64, usize)> = Vec::with_capacity(sources.len());
        zeros.extend(
            sources
                .iter()
                .enumerate()
                .filter_map(|(index, source)| Some((source.zero_unix_ns()?, index))),
        );
        zeros.sort_unstable();
        let sessions = zeros.chunk_by(|a, b| b.0.saturating_sub(a.0) <= Source::MOST_APART_NS);
        let mut before: Option<(i64, usize)> = None;
        for session in sessions {
            let Some(&(earliest, first)) = session.first() else {
                continue;
            };
            if let Some((start, other)) = before {
                let minutes = earliest.saturating_sub(start) / 60_000_000_000;
                let (name, other) = (&sources[first].name, &sources[other].name);
                log.add(IssueKind::SessionsApart, || {
                    format!("{name} began {minutes} minutes after {other}")
                });
            }
            for &(start, index) in session {
                sources[index].shift =
                    Picos::from_ps(start.saturating_sub(earliest).saturating_mul(1000));
            }
            before = before.or(Some((earliest, first)));
        }
    }
    sources.iter().map(|source| source.shift.ps()).collect()
}

/// Sorts the samples and ends each where the next one starts. A recorded length that reaches further is clipped,
/// because the last sample of a kernel can have an absolute time as its length.
fn finish_counter(
    mut counter: CounterBuilder,
    shift: i64,
    extent: TimeRange,
    log: &mut ImportLog,
) -> CounterSeries {
    counter.samples.sort_by_key(|&(start, ..)| start);
    let mut series = CounterSeries {
        track: counter.track,
        unit: counter.unit,
        starts: Vec::with_capacity(counter.samples.len()),
        ends: Vec::with_capacity(counter.samples.len()),
        values: Vec::with_capacity(counter.samples.len()),
    };
    for (i, &(start, dur, value)) in counter.samples.iter().enumerate() {
        let start = start.saturating_add(shift);
        let next = counter
            .samples
            .get(i + 1)
            .map_or(extent.end.ps().max(start), |&(next, ..)| {
                next.saturating_add(shift)
            });
        let end = match dur {
            None => next,
            Some(dur) if start.saturating_add(dur) <= next => start.saturating_add(dur),
            Some(dur) => {
                log.add(IssueKind::CounterClipped, || {
                    format!("sample at {start} ps held {dur} ps")
                });
                next
            }
        };
        series.starts.push(Timestamp::from_ps(start));
        series.ends.push(Timestamp::from_ps(end));
        series.values.push(value);
    }
    series
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use crate::{GroupKind, Picos, SliceSpec, TimeRange, Timestamp, TraceBuilder, TrackKind};

    /// Tracks with a slice each.
    fn collected(tracks: i64) -> TraceBuilder {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let label = builder.label("op", None);
        for number in 0..tracks {
            let track = builder.track(host, TrackKind::HostThread, number, "thread");
            let range = TimeRange::at(Timestamp::from_ps(number), Picos::from_ps(10));
            builder.add_slice(track, SliceSpec::new(range, label));
        }
        builder
    }

    #[test]
    fn single_track_stops_between_its_passes() {
        let asked = AtomicUsize::new(0);
        assert!(
            collected(1)
                .finish_unless(&|| asked.fetch_add(1, Ordering::Relaxed) > 1_000)
                .is_some()
        );
        let whole = asked.load(Ordering::Relaxed);
        for last in 0..whole {
            let asked = AtomicUsize::new(0);
            assert!(
                collected(1)
                    .finish_unless(&|| asked.fetch_add(1, Ordering::Relaxed) >= last)
                    .is_none(),
                "{last}"
            );
        }
        // Often enough for a track of many million slices.
        assert!(whole > 6, "{whole}");
    }

    #[test]
    fn cancelled_build_is_not_finished() {
        let asked = AtomicUsize::new(0);
        let whole =
            collected(500).finish_unless(&|| asked.fetch_add(1, Ordering::Relaxed) > 10_000);
        assert_eq!(whole.map(|model| model.slice_count()), Some(500));
        // `stop` is called for each track.
        assert!(asked.load(Ordering::Relaxed) > 500);
        let asked = AtomicUsize::new(0);
        assert!(
            collected(500)
                .finish_unless(&|| asked.fetch_add(1, Ordering::Relaxed) > 10)
                .is_none()
        );
        // Nothing asks more often than once for each track after a stop.
        assert!(asked.load(Ordering::Relaxed) < 10 + 2 * 500 + 10);
    }
}
