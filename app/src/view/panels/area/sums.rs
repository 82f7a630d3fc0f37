//! The sums of an area, collected on all CPU cores.
//!
//! Each track is summed by label (and by step, if rows are steps) without looking at names; the few sums that result
//! are then combined into rows. A row keeps the times of its slices for its median and its union, so the cost per slice
//! is a few additions and two appended numbers.

use std::collections::{BTreeMap, BTreeSet};

use analysis::OpClasses;
use analysis::math::quantile::in_place;
use importers::Progress;
use rayon::prelude::{IntoParallelIterator as _, ParallelIterator as _};
use trace_model::{LabelId, Lane, Picos, SliceRef, TimeRange, TraceModel, TrackId, TrackKind};

use super::marked::{AreaGrouping, MarkedArea};
use crate::view::timeline::bands::{StepBand, step_at};

/// Slices between two checks for cancellation.
const CHECK_EVERY: usize = 1 << 14;

/// Sums of some slices.
#[derive(Debug, Default)]
pub(super) struct AreaSum {
    pub(super) slices: usize,
    pub(super) total_ps: i64,
    pub(super) self_ps: i64,
    /// Lengths of the slices entirely inside the area.
    whole: Vec<f64>,
    ranges: Vec<TimeRange>,
    pub(super) labels: BTreeSet<LabelId>,
}

/// What follows from the times of a sum.
pub(super) struct AreaTimes {
    /// Time in which at least one of its slices runs.
    pub(super) union_ps: i64,
    /// Mean, median and 95th percentile of slices entirely inside the area; `None` without any.
    pub(super) lengths: [Option<f64>; 3],
}

impl AreaSum {
    fn add(&mut self, slice: SliceRef<'_>, inside: TimeRange, area: TimeRange) {
        self.slices += 1;
        self.total_ps = self.total_ps.saturating_add(inside.dur().ps());
        self.self_ps = self.self_ps.saturating_add(self_inside(slice, inside, area));
        if area.encloses(slice.range()) {
            self.whole.push(slice.dur().ps() as f64);
        }
        self.ranges.push(inside);
    }

    fn append(&mut self, other: Self) {
        self.slices += other.slices;
        self.total_ps = self.total_ps.saturating_add(other.total_ps);
        self.self_ps = self.self_ps.saturating_add(other.self_ps);
        self.whole.extend(other.whole);
        self.ranges.extend(other.ranges);
        self.labels.extend(other.labels);
    }

    /// Its times, which are reordered.
    pub(super) fn times(&mut self) -> AreaTimes {
        let mean = (!self.whole.is_empty()).then(|| self.whole.iter().sum::<f64>() / self.whole.len() as f64);
        let lengths = [mean, in_place(&mut self.whole, 0.5), in_place(&mut self.whole, 0.95)];
        // Stable sorting makes use of the order that the slices of a lane have already.
        self.ranges.sort_by_key(|range| (range.start, range.end));
        AreaTimes { union_ps: length(&joined(&self.ranges)), lengths }
    }
}

/// The sums of all rows, by name of the row and of the kind of its tracks, and of everything.
pub(super) struct AreaSums {
    pub(super) rows: BTreeMap<(String, &'static str), AreaSum>,
    pub(super) slices: usize,
    pub(super) tracks: usize,
    pub(super) union_ps: i64,
}

/// The sums of one track.
struct TrackSums {
    track: TrackId,
    /// By label, and by step if rows are steps.
    sums: Vec<(LabelId, Option<String>, AreaSum)>,
    /// Times in which a slice runs, for each lane in order and apart. Slices inside others add nothing.
    busy: Vec<Vec<TimeRange>>,
}

/// Collects the sums. The error is a sentence.
pub(super) fn collect(
    model: &TraceModel,
    classes: &OpClasses,
    steps: &[StepBand],
    area: &MarkedArea,
    progress: &Progress,
) -> Result<AreaSums, String> {
    let wanted = |track: &TrackId| area.tracks.is_empty() || area.tracks.contains(track);
    let tracks: Vec<TrackId> = model.track_ids().filter(wanted).collect();
    let steps = (area.pivot == AreaGrouping::Step).then_some(steps);
    let of_tracks: Vec<TrackSums> = tracks
        .into_par_iter()
        .map_init(
            || vec![NOWHERE; model.labels().len()],
            |places, track| track_sums(model, track, area.range, steps, places, progress),
        )
        .filter(|track| !matches!(track, Ok(track) if track.sums.is_empty()))
        .collect::<Result<_, String>>()?;
    let tracks = of_tracks.len();
    let mut names = RowNames { model, classes, pivot: area.pivot, of_labels: BTreeMap::new() };
    let mut rows: BTreeMap<(String, &'static str), AreaSum> = BTreeMap::new();
    let mut busy = Vec::new();
    for of_track in of_tracks {
        busy.extend(of_track.busy);
        let kind = kind_title(model.track(of_track.track).kind);
        for (label, step, sum) in of_track.sums {
            let name = step.unwrap_or_else(|| names.of(label, of_track.track));
            rows.entry((name, kind)).or_default().append(sum);
        }
    }
    let slices = rows.values().map(|sum| sum.slices).sum();
    Ok(AreaSums { rows, slices, tracks, union_ps: length(&union_of(busy)) })
}

/// A label without a sum so far.
const NOWHERE: u32 = u32::MAX;

/// The sums of one track. `places` has [`NOWHERE`] for each label, before and after.
fn track_sums(
    model: &TraceModel,
    track: TrackId,
    area: TimeRange,
    steps: Option<&[StepBand]>,
    places: &mut [u32],
    progress: &Progress,
) -> Result<TrackSums, String> {
    let mut sums: Vec<(LabelId, Option<String>, AreaSum)> = Vec::new();
    let mut busy: Vec<Vec<TimeRange>> = Vec::new();
    for lane in model.lanes(track) {
        let mut own_busy: Vec<TimeRange> = Vec::new();
        let (mut step, mut first): (Option<&StepBand>, usize) = (None, sums.len());
        for (i, (slice, inside)) in slices_inside(model, lane, area).enumerate() {
            if i % CHECK_EVERY == 0 {
                progress.check().map_err(|error| error.to_string())?;
            }
            // A slice that overlaps its neighbour lies in a deeper lane without being inside another.
            if lane.depth == 0 || slice.parent().is_none() {
                join(&mut own_busy, inside);
            }
            if let Some(steps) = steps {
                let own = step_at(steps, slice.start());
                if own.map(|own| own.number) != step.map(|step| step.number) {
                    forget(places, &sums[first..]);
                    (first, step) = (sums.len(), own);
                }
            }
            let label = slice.label_id();
            if places[label.index()] == NOWHERE {
                places[label.index()] = sums.len() as u32;
                let name = steps.map(|_| step.map_or_else(|| "(no step)".to_owned(), StepBand::name));
                let labels = BTreeSet::from([label]);
                sums.push((label, name, AreaSum { labels, ..AreaSum::default() }));
            }
            sums[places[label.index()] as usize].2.add(slice, inside, area);
        }
        busy.push(own_busy);
        // The lanes of a track share the sum of a label, unless it is divided into steps.
        if steps.is_some() {
            forget(places, &sums[first..]);
        }
    }
    forget(places, &sums);
    Ok(TrackSums { track, sums, busy })
}

fn forget(places: &mut [u32], sums: &[(LabelId, Option<String>, AreaSum)]) {
    for (label, ..) in sums {
        places[label.index()] = NOWHERE;
    }
}

/// The slices of a lane with their parts inside the area.
fn slices_inside<'a>(
    model: &'a TraceModel,
    lane: &Lane,
    area: TimeRange,
) -> impl Iterator<Item = (SliceRef<'a>, TimeRange)> {
    model.slices_in(lane, area).filter_map(move |slice| Some((slice, slice.range().intersect(area)?)))
}

/// The time of a slice inside the area without that of its children.
fn self_inside(slice: SliceRef<'_>, inside: TimeRange, area: TimeRange) -> i64 {
    if !slice.has_children() {
        return inside.dur().ps();
    }
    // An area refers to the timeline; durations by the device clock may differ.
    if area.encloses(slice.range()) && slice.device_range().is_none() {
        return slice.self_dur().ps();
    }
    let of_child = |child: SliceRef<'_>| child.range().intersect(area).map_or(Picos::ZERO, TimeRange::dur);
    (inside.dur() - slice.children().map(of_child).sum()).clamped().ps()
}

/// Names of rows.
struct RowNames<'a> {
    model: &'a TraceModel,
    classes: &'a OpClasses,
    pivot: AreaGrouping,
    /// Names that were found before.
    of_labels: BTreeMap<LabelId, String>,
}

impl RowNames<'_> {
    fn of(&mut self, label: LabelId, track: TrackId) -> String {
        if self.pivot == AreaGrouping::Track {
            let track = self.model.track(track);
            return format!("{} · {}", self.model.str(self.model.group(track.group).name), self.model.str(track.name));
        }
        let (model, classes, pivot) = (self.model, self.classes, self.pivot);
        self.of_labels.entry(label).or_insert_with(|| name_of(model, classes, pivot, label)).clone()
    }
}

fn name_of(model: &TraceModel, classes: &OpClasses, pivot: AreaGrouping, label: LabelId) -> String {
    const NONE: &str = "(no op)";
    let label = model.label(label);
    match pivot {
        AreaGrouping::Category => label.op.map_or(NONE, |op| classes.category(op)).to_owned(),
        AreaGrouping::Module => {
            let program = label.op.and_then(|op| model.op(op).program);
            program.map_or_else(|| NONE.to_owned(), |program| model.program_title(program))
        }
        AreaGrouping::Name | AreaGrouping::Step | AreaGrouping::Track => model.str(label.name).to_owned(),
    }
}

/// What the tracks of a kind contain, for areas with several kinds.
fn kind_title(kind: TrackKind) -> &'static str {
    match kind {
        TrackKind::Steps => "steps",
        TrackKind::Modules => "programs",
        TrackKind::Ops => "ops",
        TrackKind::AsyncOps => "asynchronous ops",
        TrackKind::DeviceScopes => "device scopes",
        TrackKind::Derived => "derived",
        TrackKind::LowLevel => "instructions",
        TrackKind::HostThread => "host threads",
        TrackKind::Stream => "GPU streams",
        TrackKind::Async => "asynchronous events",
        TrackKind::Counter => "counters",
        TrackKind::Other => "other tracks",
    }
}

/// Appends a range to ranges in order, and joins it with the last if they touch.
fn join(ranges: &mut Vec<TimeRange>, range: TimeRange) {
    match ranges.last_mut() {
        Some(last) if range.start <= last.end => *last = last.hull(range),
        _ => ranges.push(range),
    }
}

/// Ranges in order, those that touch joined.
fn joined(sorted: &[TimeRange]) -> Vec<TimeRange> {
    let mut all = Vec::new();
    for &range in sorted {
        join(&mut all, range);
    }
    all
}

/// The union of several lists of ranges, each in order and apart. Two at a time: what they share shrinks at once.
fn union_of(mut lists: Vec<Vec<TimeRange>>) -> Vec<TimeRange> {
    while lists.len() > 1 {
        lists = lists.chunks(2).map(|pair| if let [a, b] = pair { merged(a, b) } else { pair.concat() }).collect();
    }
    lists.pop().unwrap_or_default()
}

fn merged(a: &[TimeRange], b: &[TimeRange]) -> Vec<TimeRange> {
    let (mut all, mut a, mut b) = (Vec::new(), a.iter().peekable(), b.iter().peekable());
    loop {
        let next = match (a.peek(), b.peek()) {
            (Some(left), Some(right)) if left.start <= right.start => a.next(),
            (Some(_), None) => a.next(),
            (_, _) => b.next(),
        };
        match next {
            Some(&range) => join(&mut all, range),
            None => return all,
        }
    }
}

fn length(apart: &[TimeRange]) -> i64 {
    apart.iter().fold(0, |sum, range| sum.saturating_add(range.dur().ps()))
}
