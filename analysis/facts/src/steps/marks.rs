//! Marks of steps, and how the marks of all devices are joined into steps.

use engine::prelude::*;

/// One step before classification.
#[derive(Debug, Default)]
pub(super) struct RawStep {
    pub number: Option<u32>,
    pub label: String,
    /// One span for each core (or host) that took part.
    pub spans: Vec<(GroupId, TimeRange)>,
    /// Reason why it is partial, if it is.
    pub partial: Option<String>,
    /// Cores or hosts whose part of it is cut or missing.
    pub partial_on: Vec<GroupId>,
    /// Devices whose ops in it the file does not hold to the end.
    pub cut_on: Vec<GroupId>,
}

/// Marks of one source.
pub(super) struct MarkedSteps {
    pub marker: String,
    pub steps: Vec<RawStep>,
    pub why: String,
}

/// A mark of one step on one core or host.
pub(super) struct StepMark {
    pub number: Option<u32>,
    pub label: String,
    pub range: TimeRange,
    /// Why it is not complete, if it is not.
    pub partial: Option<&'static str>,
}

/// Reason for steps that had not ended when the capture ended.
pub(super) const CUT_OFF: &str = "the capture ended in it";
/// Reason for steps that last until the next one, which was not captured.
pub(super) const NO_NEXT: &str = "the capture ended before the next one began";

/// Joins the marks of several cores or hosts: by number if each has unique numbers. Else the k-th of each are one step
/// where all have the same numbers, or equally many without; otherwise marks that overlap, of those with the same number.
pub(super) fn join(
    model: &TraceModel,
    mut by_group: Vec<(GroupId, Vec<StepMark>)>,
) -> Vec<RawStep> {
    by_group.retain(|(_, marks)| !marks.is_empty());
    let numbers = |marks: &[StepMark]| marks.iter().map(|mark| mark.number).collect::<Vec<_>>();
    let numbered = by_group.iter().all(|(_, marks)| {
        let mut numbers = numbers(marks);
        numbers.sort_unstable();
        numbers.windows(2).all(|pair| pair[0] != pair[1]) && numbers.iter().all(Option::is_some)
    });
    let alike = by_group
        .windows(2)
        .all(|pair| numbers(&pair[0].1) == numbers(&pair[1].1));
    let ranges = |marks: &[StepMark]| marks.iter().map(|mark| mark.range).collect();
    let group_ranges: Vec<(GroupId, IntervalSet)> = by_group
        .iter()
        .map(|(group, marks)| (*group, ranges(marks)))
        .collect();
    let mut steps = if numbered || alike {
        by_key(by_group, numbered)
    } else {
        by_time(by_group)
    };
    for step in &mut steps {
        let missing: Vec<GroupId> = group_ranges
            .iter()
            .filter(|(group, own)| is_missing(model, step, *group, own))
            .map(|(group, _)| *group)
            .collect();
        if !missing.is_empty() && step.partial.is_none() {
            step.partial = Some(format!(
                "not recorded on {} of {} devices or hosts",
                missing.len(),
                group_ranges.len()
            ));
        }
        step.partial_on.extend(missing);
    }
    steps.sort_by_key(RawStep::start);
    steps
}

/// Marks with the same number, or the k-th marks.
fn by_key(by_group: Vec<(GroupId, Vec<StepMark>)>, numbered: bool) -> Vec<RawStep> {
    let mut steps: BTreeMap<u32, RawStep> = BTreeMap::new();
    for (group, marks) in by_group {
        for (k, mark) in marks.into_iter().enumerate() {
            let key = if numbered {
                mark.number.unwrap_or(k as u32)
            } else {
                k as u32
            };
            steps
                .entry(key)
                .or_insert_with(|| RawStep::of(&mark))
                .add(group, &mark);
        }
    }
    steps.into_values().collect()
}

/// Each mark joins the step that it overlaps longest, or of steps with its number one as near as a mark is long.
fn by_time(mut by_group: Vec<(GroupId, Vec<StepMark>)>) -> Vec<RawStep> {
    by_group.sort_by_key(|(group, marks)| (Reverse(marks.len()), *group));
    let mut steps: Vec<RawStep> = Vec::new();
    for (group, marks) in by_group {
        let known = steps.len();
        for mark in &marks {
            let overlap = |step: &RawStep| {
                step.spans
                    .first()
                    .and_then(|(_, span)| span.intersect(mark.range))
            };
            let near = |step: &RawStep| {
                let apart = step.spans.first().map_or(Picos::ZERO, |(_, span)| {
                    (mark.range.start - span.end)
                        .max(span.start - mark.range.end)
                        .clamped()
                });
                (apart <= mark.range.dur() && mark.number.is_some()).then_some(apart)
            };
            // Steps are in time order, but for those that earlier marks of this group made.
            let from = steps[..known]
                .partition_point(|step| step.end() <= mark.range.start - mark.range.dur());
            let until = steps[..known]
                .partition_point(|step| step.start() < mark.range.end + mark.range.dur());
            let around = steps
                .get_mut(from..until.max(from))
                .unwrap_or_default()
                .iter_mut()
                .filter(|step| {
                    step.number == mark.number
                        && step.spans.last().is_some_and(|&(last, _)| last != group)
                });
            let rank = |step: &RawStep| match overlap(step) {
                Some(shared) => Some((1, shared.dur())),
                None => near(step).map(|apart| (0, Picos::ZERO - apart)),
            };
            let best = around
                .filter_map(|step| Some((rank(step)?, step)))
                .max_by_key(|(rank, _)| *rank);
            if let Some((_, step)) = best {
                step.add(group, mark);
            } else {
                let mut step = RawStep::of(mark);
                step.add(group, mark);
                steps.push(step);
            }
        }
        steps.sort_by_key(RawStep::start);
    }
    steps
}

impl RawStep {
    fn of(mark: &StepMark) -> Self {
        Self {
            number: mark.number,
            label: mark.label.clone(),
            ..Self::default()
        }
    }

    fn add(&mut self, group: GroupId, mark: &StepMark) {
        self.spans.push((group, mark.range));
        self.partial_on.extend(mark.partial.map(|_| group));
        self.partial = self.partial.take().or(mark.partial.map(str::to_owned));
    }

    fn start(&self) -> Timestamp {
        self.spans
            .first()
            .map_or(Timestamp::MIN, |_| self.hull().start)
    }

    fn end(&self) -> Timestamp {
        self.hull().end
    }

    fn hull(&self) -> TimeRange {
        self.spans
            .iter()
            .map(|(_, range)| *range)
            .reduce(TimeRange::hull)
            .unwrap_or_default()
    }
}

/// Whether the capture lacks a step of `group`. Between its `own` steps it took no part in it; so did a device beside
/// others of its host that have the step, unless outside of its own steps it ran one of their programs then, or ops of a
/// program whose beginning was not recorded.
fn is_missing(model: &TraceModel, step: &RawStep, group: GroupId, marked: &IntervalSet) -> bool {
    let source = |group: GroupId| model.group(group).source;
    let beside: Vec<&(GroupId, TimeRange)> = step
        .spans
        .iter()
        .filter(|(other, _)| source(*other) == source(group))
        .collect();
    if beside.iter().any(|(other, _)| *other == group) {
        return false;
    }
    let records = |kind| {
        model
            .tracks_of_kind(group, kind)
            .any(|track| !model.lanes(track).is_empty())
    };
    let range = beside
        .iter()
        .map(|(_, range)| *range)
        .reduce(TimeRange::hull);
    let Some(range) = range.filter(|_| records(TrackKind::Modules) || records(TrackKind::Ops))
    else {
        let marked = marked.ranges().iter().copied().reduce(TimeRange::hull);
        return !marked.is_some_and(|marked| marked.encloses(step.hull()));
    };
    let programs = |group: GroupId, range: TimeRange| {
        let modules = model.tracks_of_kind(group, TrackKind::Modules);
        modules
            .flat_map(|track| model.lanes(track))
            .flat_map(move |lane| model.slices_in(lane, range))
            .filter(move |run| range.contains(run.start()))
    };
    let theirs: BTreeSet<&str> = beside
        .iter()
        .flat_map(|(other, range)| programs(*other, *range))
        .map(SliceRef::name)
        .collect();
    let is_outside = |slice: &SliceRef<'_>| {
        marked.measure_in(TimeRange::at(slice.start(), Picos::from_ps(1))) == Picos::ZERO
    };
    let is_alone = |op: &SliceRef<'_>| {
        let mut modules = model.tracks_of_kind(group, TrackKind::Modules);
        is_outside(op) && !modules.any(|track| model.slice_at(track, op.start()).is_some())
    };
    let tracks = model.tracks_of_kind(group, TrackKind::Ops);
    let lanes = tracks.filter_map(|track| model.lanes(track).first());
    let mut ops = lanes.flat_map(|lane| model.slices_in(lane, range));
    let ran_theirs =
        programs(group, range).any(|run| theirs.contains(run.name()) && is_outside(&run));
    ran_theirs || ops.any(|op| is_alone(&op))
}

/// Slices of a track that have no parent, in time order.
pub(super) fn top_slices(model: &TraceModel, track: TrackId) -> Vec<SliceRef<'_>> {
    let mut slices: Vec<_> = model
        .slices_on(track)
        .filter(|slice| slice.parent().is_none())
        .collect();
    slices.sort_by_key(|slice| (slice.start(), slice.id()));
    slices
}

/// The number at the end of `train 12` or `12`.
pub(super) fn trailing_number(name: &str) -> Option<u32> {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    name.get(name.len() - digits..)?.parse().ok()
}

pub(super) fn step_number(slice: SliceRef<'_>) -> Option<u32> {
    let attr = slice
        .attr(SliceAttr::StepNum)
        .or_else(|| slice.attr(SliceAttr::GroupId));
    attr.and_then(|number| u32::try_from(number).ok())
        .or_else(|| trailing_number(slice.name()))
}
