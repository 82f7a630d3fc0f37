//! The steps of a trace: their spans, durations, classes and outliers.
//!
//! The module `detection` finds them; the report gives the source and the reason. All times are on the timeline,
//! because annotations, steps and compilation have no other clock. Step time is the span of the slowest core (`XProf`'s
//! definition), the interval is from its start to the start of the next step.
//!
//! Statistics are over complete steps after warm-up, of each class of steps that do the same work and of all; each
//! excluded step has a reason.

mod annotated;
mod classes;
mod detection;
mod host;
mod marks;
mod programs;
pub(super) mod step;
mod table;

use engine::prelude::*;
use math::stats::{OUTLIER_Z, SPREAD_FLOOR, Stats, modified_z};
use trace_model::SourceId;

use super::compile_events::compiling;
use super::device_shift::shifted;
use marks::RawStep;

pub use detection::StepSource;
pub(crate) use host::is_step_name;
pub use host::{annotated_number, has_annotations};
pub use programs::function_of;
pub use step::{Step, StepClass, StepSpan, on_host};

/// The steps report.
#[engine::reported]
pub struct StepsReport {
    /// The source of steps.
    pub source: StepSource,
    /// The marker of steps: a program, an annotation, the track.
    pub marker: String,
    /// The reasons why better sources were not used and why this one was.
    pub why: Vec<String>,
    /// All steps in time order.
    pub steps: Vec<Step>,
    /// Statistics of `time_ps` over complete steps after warm-up.
    pub time: Option<Stats>,
    /// Statistics of `interval_ps` over the same steps.
    pub interval: Option<Stats>,
    /// Number of steps that the statistics exclude as partial or warm-up.
    pub left_out: usize,
    /// Classes of steps, by programs and duration; the one with the most steps first.
    pub classes: Vec<StepClass>,
}

/// Minimum ratio of an outlier to the median.
pub const OUTLIER_RATIO: f64 = 1.3;
impl StepsReport {
    /// Whether steps were found; otherwise the whole capture counts as one.
    pub fn has_steps(&self) -> bool {
        self.source != StepSource::WholeCapture
    }

    /// Steps `first` to `last` as a range of the timeline.
    pub fn range_of(&self, first: u32, last: u32) -> Option<TimeRange> {
        self.selected(first, last)
            .filter_map(Step::range)
            .reduce(TimeRange::hull)
    }

    /// The time range on one core. A step in which it took no part lasts as long as on the others of its host, else as
    /// on any device or host, as precisely as their clocks are aligned.
    pub fn range_on(
        &self,
        model: &TraceModel,
        core: GroupId,
        first: u32,
        last: u32,
    ) -> Option<TimeRange> {
        let host = |group: GroupId| model.host_of(group);
        let of_step = |step: &Step| {
            let beside = step
                .spans
                .iter()
                .filter(|span| host(span.group) == host(core))
                .map(|span| span.range);
            let own_range = step.span_on(core).map(|span| span.range);
            own_range
                .or_else(|| beside.reduce(TimeRange::hull))
                .or_else(|| step.range())
        };
        self.selected(first, last)
            .filter_map(of_step)
            .reduce(TimeRange::hull)
    }

    /// Whether a file ends in each step that the statistics count: what the rest of their time went to is unknown.
    pub fn is_cut(&self) -> bool {
        self.has_steps()
            && self.counted().all(|step| !step.cut_on.is_empty())
            && !self.steps.is_empty()
    }

    /// Steps by their numbers, the last included.
    pub fn selected(&self, first: u32, last: u32) -> impl Iterator<Item = &Step> {
        self.steps
            .iter()
            .filter(move |step| (first..=last).contains(&step.number))
    }

    /// Steps that the statistics count.
    pub fn counted(&self) -> impl Iterator<Item = &Step> {
        let all_left_out = self
            .steps
            .iter()
            .all(|step| step.is_partial || step.is_warmup);
        self.steps
            .iter()
            .filter(move |step| all_left_out || !(step.is_partial || step.is_warmup))
    }

    /// Numbers of the first and the last counted step.
    pub fn counted_numbers(&self) -> Option<(u32, u32)> {
        let numbers = || self.counted().map(|step| step.number);
        Some((numbers().min()?, numbers().max()?))
    }

    /// Steps that one file of the run holds whole, however much of them the other files lack; `None` if it has none.
    pub fn complete_in(&self, model: &TraceModel, source: SourceId) -> Option<u64> {
        let is_there = |group: GroupId| model.group(group).source == source;
        let mut steps = self.of_file(model, source).peekable();
        steps.peek().filter(|_| self.has_steps())?;
        Some(
            steps
                .filter(|step| !step.partial_on.iter().any(|&group| is_there(group)))
                .count() as u64,
        )
    }

    /// Steps of which one file of the run holds a part.
    pub fn of_file(&self, model: &TraceModel, source: SourceId) -> impl Iterator<Item = &Step> {
        let is_there = move |span: &StepSpan| model.group(span.group).source == source;
        self.steps
            .iter()
            .filter(move |step| step.spans.iter().any(is_there))
    }

    /// Mean time from begin to begin of the complete steps of one file, on the core or host where it is longest, in
    /// picoseconds: steps of other files, which may be other ones, do not count. `None` below two steps.
    pub fn interval_in(&self, model: &TraceModel, source: SourceId) -> Option<f64> {
        let groups = model
            .group_ids()
            .filter(|&group| model.group(group).source == source);
        let means = groups.filter_map(|group| {
            let whole = self
                .steps
                .iter()
                .filter(|step| !step.partial_on.contains(&group));
            let mut begins: Vec<Timestamp> = whole
                .filter_map(|step| Some(step.span_on(group)?.range.start))
                .collect();
            begins.sort_unstable();
            let first = begins.first()?;
            let last = begins.last()?;
            (begins.len() > 1).then(|| (*last - *first).ps() as f64 / (begins.len() - 1) as f64)
        });
        means.max_by(f64::total_cmp)
    }

    /// Whether all complete steps are warm-up: [`StepsReport::counted`] then returns all of them.
    pub fn is_all_warmup(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.all(|step| step.is_partial || step.is_warmup)
            && self.steps.iter().any(|step| step.is_warmup)
    }

    /// The longest run of steady steps: complete, after warm-up, without outliers. Of equally long runs the first.
    /// Metrics over them describe the program and not other work in the capture. `None` if no steps were found.
    pub fn steady(&self) -> Option<&[Step]> {
        let is_steady = |step: &Step| !(step.is_partial || step.is_warmup || step.is_outlier);
        let follows = |a: &Step, b: &Step| a.number.checked_add(1) == Some(b.number);
        let runs = self
            .steps
            .chunk_by(|a, b| is_steady(a) == is_steady(b) && follows(a, b))
            .filter(|run| self.has_steps() && run.first().is_some_and(is_steady));
        runs.reduce(|best, run| if run.len() > best.len() { run } else { best })
    }

    /// Steps that took unusually long, slowest first.
    pub fn outliers(&self) -> Vec<&Step> {
        let mut slow: Vec<&Step> = self.steps.iter().filter(|step| step.is_outlier).collect();
        slow.sort_by_key(|step| (Reverse(step.time_ps), step.number));
        slow
    }

    /// The class of a step.
    pub fn class_of(&self, step: &Step) -> Option<&StepClass> {
        self.classes.get(step.class)
    }

    /// The step with the median time of a class (the shorter of two), as the reference for others: unlike a mean or
    /// median time, a step has parts.
    pub fn median_step(&self, class: usize) -> Option<&Step> {
        let mut members: Vec<&Step> = self.counted().filter(|step| step.class == class).collect();
        members.sort_by_key(|step| (step.time_ps, step.number));
        members.get(members.len().checked_sub(1)? / 2).copied()
    }

    /// Recomputes the statistics of the remaining steps.
    pub fn summarise(&mut self) {
        let stats = |class: Option<usize>| {
            let counted = || {
                self.counted()
                    .filter(|step| class.is_none_or(|class| step.class == class))
            };
            let times: Vec<f64> = counted().map(|step| step.time_ps.as_ps_f64()).collect();
            let intervals: Vec<f64> = counted()
                .filter_map(|step| step.interval_ps)
                .map(Picos::as_ps_f64)
                .collect();
            (Stats::of(&times), Stats::of(&intervals))
        };
        let all = stats(None);
        let of_classes: Vec<_> = (0..self.classes.len())
            .map(|class| stats(Some(class)))
            .collect();
        let steps = |class: usize| self.steps.iter().filter(|step| step.class == class).count();
        let sizes: Vec<usize> = (0..self.classes.len()).map(steps).collect();
        self.left_out = self.steps.len() - self.counted().count();
        (self.time, self.interval) = all;
        for ((class, (time, interval)), steps) in self.classes.iter_mut().zip(of_classes).zip(sizes)
        {
            (class.time, class.interval, class.steps) = (time, interval, steps);
        }
    }
}

impl StepsReport {
    /// Keeps the mark of outliers that are slow beside the steps that the statistics count: the median that is named with
    /// them is theirs.
    fn compare_slow_steps(&mut self) {
        for step in &mut self.steps {
            let median = self
                .classes
                .get(step.class)
                .and_then(|class| class.time)
                .map(|time| time.median);
            step.is_outlier &=
                median.is_none_or(|median| step.time_ps.as_ps_f64() > OUTLIER_RATIO * median);
        }
    }

    /// Outliers with the median of their class, above which they are, slowest first.
    pub fn slow_steps(&self) -> Vec<(&Step, f64)> {
        let slow = self
            .outliers()
            .into_iter()
            .filter_map(|step| Some((step, self.class_of(step)?.time?.median)));
        // In a part of the steps, the median can be that of slow ones.
        slow.filter(|(step, median)| step.time_ps.as_ps_f64() > *median)
            .collect()
    }
}

/// Marks outliers among all steps of their class but those left out as asked for, which nobody judges: others that prove
/// to be warm-up stay visible as slow.
fn mark_outliers(steps: &mut [Step], classes: usize) {
    for class in 0..classes {
        let is_member = |step: &Step| step.class == class && !step.is_warmup;
        let members = || steps.iter().filter(|step| is_member(step));
        let times: Vec<f64> = members().map(|step| step.time_ps.as_ps_f64()).collect();
        let Some(stats) = Stats::of(&times).filter(|stats| stats.count >= 3) else {
            continue;
        };
        let scores = modified_z(&times, SPREAD_FLOOR * stats.median);
        let members = steps.iter_mut().filter(|step| is_member(step));
        for ((step, z), time) in members.zip(scores).zip(times) {
            step.z = Some(z);
            step.is_outlier = z > OUTLIER_Z && time > OUTLIER_RATIO * stats.median;
        }
    }
}

/// Leaves out the first complete steps, as asked for.
fn leave_out_first(steps: &mut [Step], count: u32) {
    let complete = steps.iter_mut().filter(|step| !step.is_partial);
    for step in complete.take(count as usize) {
        step.left_out = Some(format!("warm-up: among the first {count}, as asked for"));
        step.is_warmup = true;
    }
}

/// Leaves out the first of the others that compile: the first steps of a capture often do, and do not represent the rest.
fn leave_out_compiling(steps: &mut [Step]) {
    let others = steps
        .iter_mut()
        .filter(|step| !(step.is_partial || step.is_warmup));
    for step in others.take_while(|step| step.is_outlier && step.mostly_compiles()) {
        let part = step.compile_ps;
        let whole = step.time_ps;
        step.left_out = Some(format!("warm-up: compiles for {part} of {whole}"));
        step.is_warmup = true;
    }
}

impl Fact for StepsReport {
    fn find(cx: &Context<'_>) -> Self {
        found(cx)
    }
}

fn found(cx: &Context<'_>) -> StepsReport {
    let model = cx.model;
    let detected = detection::find(cx, &detection::devices(model, cx.tensor_cores()));
    let compiling = compiling(cx);
    let mut names = BTreeMap::new();
    let raw = &detected.steps;
    let numbers: BTreeSet<u32> = raw.iter().filter_map(|step| step.number).collect();
    let numbered = numbers.len() == raw.len();
    let steps = raw.iter().enumerate().map(|(k, raw_step)| {
        trace_model::may_pause();
        let number = raw_step.number.filter(|_| numbered).unwrap_or(k as u32);
        step(cx, raw_step, raw.get(k + 1), number, &compiling, &mut names)
    });
    let mut steps: Vec<Step> = steps.collect();
    let classes = classes::classify(model, &detected.marker, &mut steps);
    leave_out_first(&mut steps, cx.options.warmup_steps);
    mark_outliers(&mut steps, classes.len());
    leave_out_compiling(&mut steps);
    let mut report = StepsReport {
        source: detected.source,
        marker: detected.marker,
        why: detected.why,
        steps,
        time: None,
        interval: None,
        left_out: 0,
        classes,
    };
    report.summarise();
    report.compare_slow_steps();
    report
}

fn step(
    cx: &Context<'_>,
    raw: &RawStep,
    next: Option<&RawStep>,
    number: u32,
    compiling: &IntervalSet,
    names: &mut BTreeMap<GroupId, Arc<str>>,
) -> Step {
    let model = cx.model;
    let span = |&(group, range): &(GroupId, TimeRange)| StepSpan {
        group,
        range,
        measured: shifted(cx.model, group, range),
    };
    let mut spans: Vec<StepSpan> = raw.spans.iter().map(span).collect();
    spans.sort_by_key(|span| span.group);
    let slowest = spans
        .iter()
        .min_by_key(|span| Reverse(span.measured.dur()))
        .copied();
    let interval = slowest.and_then(|slowest| {
        let following = next?
            .spans
            .iter()
            .find(|(group, _)| *group == slowest.group)
            .map(span)?;
        // on the device clock a step can start before the one that the timeline shows before it.
        Some(following.measured.start - slowest.measured.start).filter(|&time| time >= Picos::ZERO)
    });
    let hull = raw
        .spans
        .iter()
        .map(|(_, range)| *range)
        .reduce(TimeRange::hull)
        .unwrap_or_default();
    let on_host = on_host(cx, &spans);
    Step {
        number,
        label: raw.label.as_str().into(),
        recorded: raw.number.filter(|&recorded| recorded != number),
        start_ps: hull.start,
        time_ps: slowest.map_or(Picos::ZERO, |span| span.measured.dur()),
        interval_ps: interval,
        slowest: slowest.filter(|_| spans.len() > 1).map(|span| {
            let name = names
                .entry(span.group)
                .or_insert_with(|| model.device_name(span.group).into());
            name.clone()
        }),
        compile_ps: on_host.map_or(Picos::ZERO, |range| compiling.measure_in(range)),
        is_partial: raw.partial.is_some(),
        partial_on: raw.partial_on.clone(),
        cut_on: raw.cut_on.clone(),
        left_out: raw.partial.as_ref().map(|why| format!("partial: {why}")),
        spans,
        ..Step::default()
    }
}
