//! The sums of an area, collected on all CPU cores.
//!
//! Each thread adds up the slices of some tracks by label (and by step or track, if rows are those), without looking at
//! names, and notes the times of every slice. The few sums are then combined into rows, and the times are laid out row
//! by row: a row's union and quantiles need all of them. A slice costs a few additions and two copies of its times.

use std::collections::{BTreeMap, BTreeSet};

use analysis::OpClasses;
use analysis::math::quantile::in_place;
use importers::Progress;
use rayon::prelude::{IntoParallelIterator as _, ParallelIterator as _};
use trace_model::{LabelId, Lane, Picos, SliceRef, SliceSpans, TimeRange, TraceModel, TrackId, TrackKind};

use super::marked::{AreaGrouping, MarkedArea};
use crate::view::timeline::bands::{StepBand, step_at};

/// Slices between two checks for cancellation.
const CHECK_EVERY: usize = 1 << 14;

/// Counts and sums of some slices.
#[derive(Clone, Copy, Debug, Default)]
struct AreaSum {
    slices: usize,
    /// Those entirely inside the area.
    whole: usize,
    total_ps: i64,
    self_ps: i64,
}

impl AreaSum {
    fn append(&mut self, other: Self) {
        self.slices += other.slices;
        self.whole += other.whole;
        self.total_ps = self.total_ps.saturating_add(other.total_ps);
        self.self_ps = self.self_ps.saturating_add(other.self_ps);
    }
}

/// One row.
#[derive(Debug, Default)]
pub(super) struct AreaRow {
    pub(super) slices: usize,
    pub(super) total_ps: i64,
    pub(super) self_ps: i64,
    pub(super) labels: BTreeSet<LabelId>,
    /// Time in which at least one of its slices runs.
    pub(super) union_ps: i64,
    /// Mean, median and 95th percentile of slices entirely inside the area; `None` without any.
    pub(super) lengths: [Option<f64>; 3],
}

/// The rows, by name and kind of their tracks, and the sums of everything.
pub(super) struct AreaSums {
    pub(super) rows: Vec<((String, &'static str), AreaRow)>,
    pub(super) slices: usize,
    pub(super) tracks: usize,
    pub(super) union_ps: i64,
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
    let mut tracks: Vec<TrackId> = model.track_ids().filter(wanted).collect();
    // Tracks of one kind share the sums of their labels.
    tracks.sort_by_key(|&track| model.track(track).kind);
    let mut found: Vec<FoundSlices<'_>> = tracks
        .into_par_iter()
        .try_fold(
            || FoundSlices::new(model, steps, area),
            |mut found, track| {
                found.add(track, progress)?;
                Ok(found)
            },
        )
        .collect::<Result<_, String>>()?;
    let mut names = RowNames { model, classes, pivot: area.pivot, of_labels: BTreeMap::new() };
    let mut numbers: BTreeMap<(String, &'static str), usize> = BTreeMap::new();
    let mut rows: Vec<(AreaSum, BTreeSet<LabelId>)> = Vec::new();
    // The rows of the parts of each thread.
    let mut rows_of: Vec<Vec<usize>> = Vec::new();
    for part in found.iter().map(|found| &found.parts) {
        let row_of = |part: &AreaPart<'_>| {
            let kind = kind_title(model.track(part.track).kind);
            let row = *numbers.entry((names.of(part), kind)).or_insert(rows.len());
            if row == rows.len() {
                rows.push(Default::default());
            }
            rows[row].0.append(part.sum);
            rows[row].1.insert(part.label);
            row
        };
        rows_of.push(part.iter().map(row_of).collect());
    }
    let tracks = found.iter().map(|found| found.tracks).sum();
    let busy = union_of(found.iter_mut().flat_map(|found| std::mem::take(&mut found.busy)).collect());
    let mut times = RowTimes::new(&rows);
    for (found, rows) in found.into_iter().zip(rows_of) {
        times.add(&found.times, &rows);
    }
    progress.check().map_err(|error| error.to_string())?;
    let times = times.summarised();
    let mut rows: Vec<AreaRow> = rows
        .into_iter()
        .zip(times)
        .map(|((AreaSum { slices, total_ps, self_ps, .. }, labels), (union_ps, lengths))| AreaRow {
            slices,
            total_ps,
            self_ps,
            labels,
            union_ps,
            lengths,
        })
        .collect();
    let slices = rows.iter().map(|row| row.slices).sum();
    let rows = numbers.into_iter().map(|(name, row)| (name, std::mem::take(&mut rows[row]))).collect();
    Ok(AreaSums { rows, slices, tracks, union_ps: length(&busy) })
}

/// A label without a part so far.
const NOWHERE: u32 = u32::MAX;

/// What a thread has found of one label (in one step or on one track, if rows are those).
struct AreaPart<'a> {
    label: LabelId,
    /// Its first track; all have the same kind.
    track: TrackId,
    step: Option<&'a StepBand>,
    sum: AreaSum,
}

/// The times of a slice inside the area.
#[derive(Clone, Copy)]
struct FoundTimes {
    inside: TimeRange,
    part: u32,
    /// Whether it lies in the area as a whole.
    is_whole: bool,
}

/// What one thread has found on some tracks.
struct FoundSlices<'a> {
    model: &'a TraceModel,
    steps: Option<&'a [StepBand]>,
    area: &'a MarkedArea,
    parts: Vec<AreaPart<'a>>,
    times: Vec<FoundTimes>,
    /// Times in which a slice runs, for each lane in order and apart. Slices inside others add nothing.
    busy: Vec<Vec<TimeRange>>,
    tracks: usize,
    /// The part that slices of each label belong to; [`NOWHERE`] if there is none yet.
    places: Vec<u32>,
    /// The first part that `places` may name.
    first: usize,
    kind: Option<TrackKind>,
}

impl<'a> FoundSlices<'a> {
    fn new(model: &'a TraceModel, steps: &'a [StepBand], area: &'a MarkedArea) -> Self {
        Self {
            model,
            steps: (area.pivot == AreaGrouping::Step).then_some(steps),
            area,
            parts: Vec::new(),
            times: Vec::new(),
            busy: Vec::new(),
            tracks: 0,
            places: vec![NOWHERE; model.labels().len()],
            first: 0,
            kind: None,
        }
    }

    /// The slices that follow belong to other parts.
    fn start_parts(&mut self) {
        for part in &self.parts[self.first..] {
            self.places[part.label.index()] = NOWHERE;
        }
        self.first = self.parts.len();
    }

    fn add(&mut self, track: TrackId, progress: &Progress) -> Result<(), String> {
        let (model, area) = (self.model, self.area.range);
        let kind = Some(model.track(track).kind);
        if kind != self.kind || self.area.pivot == AreaGrouping::Track {
            self.start_parts();
            self.kind = kind;
        }
        let before = self.times.len();
        for lane in model.lanes(track) {
            let mut busy: Vec<TimeRange> = Vec::new();
            let mut step: Option<&StepBand> = None;
            if self.steps.is_some() {
                self.start_parts();
            }
            for (i, (SliceSpans { slice, shown, .. }, inside)) in slices_inside(model, lane, area).enumerate() {
                if i % CHECK_EVERY == 0 {
                    progress.check().map_err(|error| error.to_string())?;
                }
                // A slice that overlaps its neighbour lies in a deeper lane without being inside another.
                if lane.depth == 0 || slice.parent().is_none() {
                    join(&mut busy, inside);
                }
                if let Some(steps) = self.steps {
                    let own = step_at(steps, shown.start);
                    if own.map(|own| own.number) != step.map(|step| step.number) {
                        self.start_parts();
                        step = own;
                    }
                }
                let part = self.part_of(slice.label_id(), track, step);
                let sum = &mut self.parts[part as usize].sum;
                let is_whole = area.encloses(shown);
                sum.append(AreaSum {
                    slices: 1,
                    whole: usize::from(is_whole),
                    total_ps: inside.dur().ps(),
                    self_ps: self_inside(slice, inside, area),
                });
                self.times.push(FoundTimes { inside, part, is_whole });
            }
            self.busy.push(busy);
        }
        self.tracks += usize::from(self.times.len() > before);
        Ok(())
    }

    fn part_of(&mut self, label: LabelId, track: TrackId, step: Option<&'a StepBand>) -> u32 {
        let place = &mut self.places[label.index()];
        if *place == NOWHERE {
            *place = self.parts.len() as u32;
            self.parts.push(AreaPart { label, track, step, sum: AreaSum::default() });
        }
        *place
    }
}

/// The times of all slices, row after row.
struct RowTimes {
    ranges: Vec<TimeRange>,
    /// Lengths of the slices entirely inside the area.
    lengths: Vec<f64>,
    /// Where the next ones of each row go in both.
    next: Vec<(usize, usize)>,
}

impl RowTimes {
    /// Space for those of all rows.
    fn new(rows: &[(AreaSum, BTreeSet<LabelId>)]) -> Self {
        let (mut ranges, mut lengths) = (0, 0);
        let mut next = Vec::with_capacity(rows.len());
        for (sum, _) in rows {
            next.push((ranges, lengths));
            ranges += sum.slices;
            lengths += sum.whole;
        }
        Self { ranges: vec![TimeRange::default(); ranges], lengths: vec![0.0; lengths], next }
    }

    /// Adds what a thread has found, with the row of each of its parts.
    fn add(&mut self, times: &[FoundTimes], rows: &[usize]) {
        for &FoundTimes { inside, part, is_whole } in times {
            let (range, length) = &mut self.next[rows[part as usize]];
            self.ranges[*range] = inside;
            *range += 1;
            if is_whole {
                self.lengths[*length] = inside.dur().ps() as f64;
                *length += 1;
            }
        }
    }

    /// Union and lengths of each row, once everything was added.
    fn summarised(mut self) -> Vec<(i64, [Option<f64>; 3])> {
        let (mut ranges, mut lengths) = (self.ranges.as_mut_slice(), self.lengths.as_mut_slice());
        let mut rows = Vec::with_capacity(self.next.len());
        let mut before = (0, 0);
        for end in self.next {
            rows.push((
                ranges.split_off_mut(..end.0 - before.0).unwrap_or_default(),
                lengths.split_off_mut(..end.1 - before.1).unwrap_or_default(),
            ));
            before = end;
        }
        rows.into_par_iter().map(|(ranges, lengths)| (union_length(ranges), lengths_of(lengths))).collect()
    }
}

/// Time that at least one of the ranges covers. Reorders them.
fn union_length(ranges: &mut [TimeRange]) -> i64 {
    ranges.sort_unstable_by_key(|range| range.start);
    let Some((&first, later)) = ranges.split_first() else { return 0 };
    let (mut sum, mut current) = (0_i64, first);
    for &range in later {
        if range.start <= current.end {
            current = current.hull(range);
        } else {
            sum = sum.saturating_add(current.dur().ps());
            current = range;
        }
    }
    sum.saturating_add(current.dur().ps())
}

/// Mean, median and 95th percentile. Reorders the values.
fn lengths_of(values: &mut [f64]) -> [Option<f64>; 3] {
    let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    [mean, in_place(values, 0.5), in_place(values, 0.95)]
}

/// The slices of a lane with their parts inside the area.
fn slices_inside<'a>(
    model: &'a TraceModel,
    lane: &Lane,
    area: TimeRange,
) -> impl Iterator<Item = (SliceSpans<'a>, TimeRange)> {
    model.spans_in(lane, area).filter_map(move |spans| Some((spans, spans.shown.intersect(area)?)))
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
    fn of(&mut self, part: &AreaPart<'_>) -> String {
        if self.pivot == AreaGrouping::Step {
            return part.step.map_or_else(|| "(no step)".to_owned(), StepBand::name);
        }
        if self.pivot == AreaGrouping::Track {
            let track = self.model.track(part.track);
            return format!("{} · {}", self.model.str(self.model.group(track.group).name), self.model.str(track.name));
        }
        let (model, classes, pivot) = (self.model, self.classes, self.pivot);
        self.of_labels.entry(part.label).or_insert_with(|| name_of(model, classes, pivot, part.label)).clone()
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
