//! Time of each op in each step, on the critical core.
//!
//! ```text
//! ops        [matmul ]  [all-gather-done]   [copy-done]
//! in flight         [all-gather          ]
//! time of     m m m m a a d d d d d d d d . c c c c c     a all-gather, d its done
//! ```
//!
//! An instant belongs to the innermost running op; if there is none, to the collective in flight that started last;
//! else it is idle. This is the partition of the step analysis by parts, op by op, so ops and idle time add up to the
//! step.

use device_reports::steps::step_parts::spans_on;
use device_reports::{CoreTraffic, StepPart, StepParts, TimeByPart};
use facts::prelude::*;
use facts::self_time_segments;

/// What runs at an instant.
struct RunningPiece {
    range: TimeRange,
    label: LabelId,
    /// The op that it executes, or its label if there is none: an index of sums.
    subject: usize,
    part: StepPart,
    /// Whether an execution starts here or continues.
    begins: bool,
}

/// An op over the steps.
pub(super) struct OpSum {
    /// One of its labels.
    pub label: LabelId,
    pub part: StepPart,
    /// Rank by its first execution in the median step.
    pub place: Option<u32>,
    pub runs: u64,
    /// Mean over the steps of the middle half, ps.
    pub middle: Picos,
    /// Time in each sampled step, ps.
    pub values: Vec<f64>,
}

/// The steps of a run, divided among ops.
pub(super) struct DividedSteps<'a> {
    /// Steps in which a core with ops took part.
    pub chosen: Vec<&'a Step>,
    /// Time and parts of each step on its critical core.
    pub steps: Vec<(Picos, TimeByPart)>,
    /// The critical core of each step.
    pub cores: Vec<GroupId>,
    /// Ops, by subject.
    pub ops: Vec<OpSum>,
    /// Which steps are in the middle half.
    pub middle: Vec<usize>,
}

/// Maximum number of values kept for all ops together.
const MOST_VALUES: usize = 2_000_000;
/// Steps in which ops are examined.
const STEPS: std::ops::RangeInclusive<usize> = 16..=256;

/// Divides the steps of several classes. `None` if no device recorded ops in them.
pub(super) fn collect<'a>(
    cx: &Context<'_>,
    steps: &StepsReport,
    chosen: &[Vec<&'a Step>],
) -> Result<Vec<Option<DividedSteps<'a>>>> {
    let model = cx.model;
    let critical = critical_cores(cx, steps);
    let most = MOST_VALUES / (model.ops().len() + 1) / chosen.len().max(1);
    let most = most.clamp(*STEPS.start(), *STEPS.end());
    let mut classes: Vec<ClassSteps<'a>> = chosen
        .iter()
        .map(|chosen| ClassSteps::new(model, chosen, &critical, most))
        .collect();
    let mut cores: Vec<GroupId> = classes
        .iter()
        .flat_map(|class| &class.critical)
        .map(|(core, _)| *core)
        .collect();
    cores.sort_unstable();
    cores.dedup();
    for core in cores {
        let whole = cx.whole();
        // Without ops, the whole step is idle.
        let traffic = CoreTraffic::of(&whole, cx.classes(), core)?;
        let pieces = traffic
            .map(|traffic| pieces(model, &traffic))
            .unwrap_or_default();
        for class in &mut classes {
            class.add(core, &pieces);
        }
    }
    Ok(classes.into_iter().map(ClassSteps::finish).collect())
}

/// The steps of a class while they are being divided.
struct ClassSteps<'a> {
    chosen: Vec<&'a Step>,
    /// The critical core of each of them.
    critical: Vec<(GroupId, TimeRange)>,
    out: Vec<(Picos, TimeByPart)>,
    middle: Vec<usize>,
    sums: SubjectSums,
}

impl<'a> ClassSteps<'a> {
    /// Steps without a core with ops are left out.
    fn new(model: &TraceModel, chosen: &[&'a Step], critical: &CriticalCores, most: usize) -> Self {
        let (chosen, critical): (Vec<_>, Vec<_>) = chosen
            .iter()
            .filter_map(|&step| Some((step, *critical.get(&step.number)?)))
            .unzip();
        let times: Vec<Picos> = critical.iter().map(|(_, range)| range.dur()).collect();
        let middle = middle_half(&times);
        let out = times
            .iter()
            .map(|&time| (time, TimeByPart::default()))
            .collect();
        Self {
            sums: SubjectSums::new(model, chosen.len(), most, &middle),
            chosen,
            critical,
            out,
            middle,
        }
    }

    fn add(&mut self, core: GroupId, pieces: &[RunningPiece]) {
        let steps = self.critical.iter().zip(&mut self.out).enumerate();
        for (index, ((_, range), out)) in steps.filter(|(_, ((on, _), _))| *on == core) {
            out.1 = self.sums.add(index, *range, pieces);
        }
    }

    fn finish(self) -> Option<DividedSteps<'a>> {
        let Self {
            chosen,
            critical,
            out,
            middle,
            sums,
        } = self;
        let cores = critical.into_iter().map(|(core, _)| core).collect();
        (!chosen.is_empty()).then(|| DividedSteps {
            chosen,
            steps: out,
            cores,
            ops: sums.finish(),
            middle,
        })
    }
}

/// The critical core and the span of each step, by the number of the step.
type CriticalCores = BTreeMap<u32, (GroupId, TimeRange)>;

/// The critical core of each step, and the span of the step on the clock of its ops.
fn critical_cores(cx: &Context<'_>, steps: &StepsReport) -> CriticalCores {
    let whole = cx.whole();
    let cores = cx.tensor_cores();
    // Where nothing divides the trace into steps, or there is one core, the longest will do.
    let divided = (cores.len() > 1).then(|| whole.report::<StepParts>().ok());
    let known: BTreeMap<u32, GroupId> = divided
        .flatten()
        .iter()
        .flat_map(|report| &report.steps)
        .filter_map(|step| Some((step.step, step.critical()?.group)))
        .collect();
    let mut critical = CriticalCores::new();
    let has_ops = |core: GroupId| {
        cx.model
            .tracks_of(core)
            .into_iter()
            .filter(|&track| cx.model.track(track).kind == TrackKind::Ops)
            .any(|track| cx.model.slices_on(track).next().is_some())
    };
    for core in cores.into_iter().filter(|&core| has_ops(core)) {
        for (index, range) in spans_on(cx, steps, core) {
            let Some(step) = steps.steps.get(index) else {
                continue;
            };
            if known.get(&step.number).is_some_and(|known| *known != core) {
                continue;
            }
            let longest = critical.entry(step.number).or_insert((core, range));
            if range.dur() > longest.1.dur() {
                *longest = (core, range);
            }
        }
    }
    critical
}

/// The steps whose time is neither in the lowest nor in the highest quarter.
fn middle_half(times: &[Picos]) -> Vec<usize> {
    let mut order: Vec<(Picos, usize)> = times
        .iter()
        .enumerate()
        .map(|(index, &time)| (time, index))
        .collect();
    order.sort_unstable();
    let quarter = order.len() / 4;
    let middle = order
        .get(quarter..order.len() - quarter)
        .unwrap_or_default();
    middle.iter().map(|(_, index)| *index).collect()
}

/// Disjoint, in time order.
fn pieces(model: &TraceModel, traffic: &CoreTraffic) -> Vec<RunningPiece> {
    let subject = |label: LabelId| match model.label(label).op {
        Some(op) => op.index(),
        None => model.ops().len() + label.index(),
    };
    let op_piece = |segment: SelfTimeSegment| {
        let slice = model.slice(segment.slice);
        RunningPiece {
            range: segment.range,
            label: slice.label_id(),
            subject: subject(slice.label_id()),
            part: StepPart::of(&segment.class),
            begins: slice.measured_start() == segment.range.start,
        }
    };
    let mut pieces: Vec<RunningPiece> = traffic.time.segments.iter().map(op_piece).collect();
    let busy: IntervalSet = traffic
        .time
        .segments
        .iter()
        .map(|segment| segment.range)
        .collect();
    let flights = traffic
        .in_flight
        .iter()
        .filter(|span| span.class.is_collective());
    let spans = flights.map(|span| SelfTimeSegment {
        range: span.range,
        slice: span.slice,
        class: span.class,
    });
    for flight in self_time_segments(spans.collect()) {
        let label = model.slice(flight.slice).label_id();
        let subject = subject(label);
        let unhidden = IntervalSet::of(flight.range).subtract(&busy.clip(flight.range));
        pieces.extend(unhidden.ranges().iter().map(|&range| RunningPiece {
            range,
            label,
            subject,
            part: StepPart::ExposedComm,
            begins: false,
        }));
    }
    pieces.sort_by_key(|piece| piece.range.start);
    pieces
}

struct SubjectSums {
    /// Index of the sum of each subject.
    index: Vec<Option<u32>>,
    ops: Vec<OpSum>,
    is_middle: Vec<bool>,
    /// Index into the values, for each sampled step.
    sample: Vec<Option<usize>>,
    samples: usize,
    /// The step that defines the order of ops.
    reference: Option<usize>,
    places: u32,
}

impl SubjectSums {
    fn new(model: &TraceModel, steps: usize, most: usize, middle: &[usize]) -> Self {
        let samples = steps.min(most);
        let mut sample = vec![None; steps];
        for i in 0..samples {
            if let Some(slot) = sample.get_mut(i * steps / samples) {
                *slot = Some(i);
            }
        }
        let mut is_middle = vec![false; steps];
        for &step in middle {
            if let Some(slot) = is_middle.get_mut(step) {
                *slot = true;
            }
        }
        Self {
            index: vec![None; model.ops().len() + model.labels().len()],
            ops: Vec::new(),
            is_middle,
            sample,
            samples,
            reference: middle.get(middle.len().saturating_sub(1) / 2).copied(),
            places: 0,
        }
    }

    fn add(&mut self, step: usize, range: TimeRange, pieces: &[RunningPiece]) -> TimeByPart {
        let from = pieces.partition_point(|piece| piece.range.end <= range.start);
        let inside = pieces
            .get(from..)
            .unwrap_or_default()
            .iter()
            .take_while(|piece| piece.range.start < range.end);
        let is_middle = self.is_middle.get(step).copied().unwrap_or_default();
        let sample = self.sample.get(step).copied().flatten();
        let mut parts = TimeByPart::default();
        for piece in inside {
            let Some(time) = piece.range.intersect(range).map(TimeRange::dur) else {
                continue;
            };
            parts.add(piece.part, time);
            let Some(slot) = self.index.get_mut(piece.subject) else {
                continue;
            };
            let index = *slot.get_or_insert(self.ops.len() as u32) as usize;
            if index == self.ops.len() {
                self.ops.push(OpSum {
                    label: piece.label,
                    part: piece.part,
                    place: None,
                    runs: 0,
                    middle: Picos::ZERO,
                    values: vec![0.0; self.samples],
                });
            }
            let Some(op) = self.ops.get_mut(index) else {
                continue;
            };
            if is_middle {
                op.middle += time;
                op.runs += u64::from(piece.begins);
            }
            if self.reference == Some(step) && op.place.is_none() {
                op.place = Some(self.places);
                self.places += 1;
            }
            if let Some(value) = sample.and_then(|sample| op.values.get_mut(sample)) {
                *value += time.as_ps_f64();
            }
        }
        parts.add(StepPart::Idle, range.dur() - parts.total());
        parts
    }

    /// Ops that the reference step does not have come last, in input order.
    fn finish(mut self) -> Vec<OpSum> {
        for op in self.ops.iter_mut().filter(|op| op.place.is_none()) {
            op.place = Some(self.places);
            self.places += 1;
        }
        self.ops
    }
}
