//! Explains slow steps by comparison with the median step of their class.

use facts::CoreTime;
use facts::prelude::*;

use super::host::{HostPhase, HostPhases};
use super::parts::{StepPart, TimeByPart};

/// Maximum number of explained steps; each requires reading all ops of the step.
pub const MOST_EXPLAINED: usize = 20;

/// A slow step beside the median step of its class.
#[engine::reported]
pub struct Explanation {
    /// The slow step.
    pub step: u32,
    /// Its class.
    pub class: String,
    /// Number of the median step.
    pub median_step: u32,
    /// Time of the slow step on its critical core.
    pub time_ps: Picos,
    /// Time of the median step on its critical core.
    pub median_ps: Picos,
    /// By how much it is longer: the sum of `parts`.
    pub longer_ps: Picos,
    /// Changes of the parts, largest first; empty if devices recorded no ops.
    pub parts: Vec<PartChange>,
    /// Ops whose self time differs most, largest first; they are also contained in `parts`.
    pub ops: Vec<StepOpChange>,
    /// Changes of host activity, on the timeline, largest first; empty without host threads.
    pub host: Vec<HostChange>,
    /// In a sentence.
    pub statement: String,
}

/// A part that takes more or less time in a slow step.
#[engine::reported]
#[derive(Copy)]
pub struct PartChange {
    /// Which part.
    pub part: StepPart,
    /// How much more.
    pub change_ps: Picos,
}

/// An op that takes more or less time in a slow step.
#[engine::reported]
pub struct StepOpChange {
    /// Its name.
    pub op: String,
    /// The part that it belongs to.
    pub part: StepPart,
    /// How much more.
    pub change_ps: Picos,
}

/// A host activity that takes more or less time.
#[engine::reported]
#[derive(Copy)]
pub struct HostChange {
    /// What.
    pub phase: HostPhase,
    /// How much more.
    pub change_ps: Picos,
}

/// Number of ops named.
const OPS: usize = 5;

/// Op times on the critical core of slow steps and of the steps they are compared with.
pub(super) struct StepOpTimes {
    /// By number; `None` until a core with ops was found.
    steps: BTreeMap<u32, Option<OnCore>>,
}

struct OnCore {
    time_ps: Picos,
    parts: TimeByPart,
    ops: BTreeMap<(String, StepPart), Picos>,
}

impl StepOpTimes {
    /// Will collect what is needed to explain the slow steps.
    pub fn wanted(steps: &StepsReport) -> Self {
        let slow = steps.outliers();
        let pairs = slow
            .iter()
            .take(MOST_EXPLAINED)
            .flat_map(|step| [Some(*step), steps.median_step(step.class)]);
        Self {
            steps: pairs.flatten().map(|step| (step.number, None)).collect(),
        }
    }

    /// Takes note of a step on a core, if it is wanted and took longest there so far.
    pub fn collect(
        &mut self,
        model: &TraceModel,
        time: &CoreTime,
        step: u32,
        range: TimeRange,
        parts: &TimeByPart,
    ) {
        let time_ps = range.dur();
        let Some(known) = self.steps.get_mut(&step) else {
            return;
        };
        if known.as_ref().is_some_and(|known| known.time_ps >= time_ps) {
            return;
        }
        let from = time
            .segments
            .partition_point(|segment| segment.end <= range.start);
        let inside = time
            .segments
            .rows(from..time.segments.len())
            .take_while(|segment| segment.range.start < range.end);
        let mut by_label: BTreeMap<(LabelId, StepPart), Picos> = BTreeMap::new();
        for segment in inside {
            let taken = segment.range.intersect(range).unwrap_or_default().dur();
            *by_label
                .entry((
                    model.slice(segment.slice).label_id(),
                    StepPart::of(&segment.class),
                ))
                .or_default() += taken;
        }
        // Two programs may have ops of one name.
        let mut ops = BTreeMap::new();
        for ((label, part), taken) in by_label {
            *ops.entry((model.str(model.label(label).name).to_owned(), part))
                .or_default() += taken;
        }
        *known = Some(OnCore {
            time_ps,
            parts: *parts,
            ops,
        });
    }

    /// Slow steps, slowest first, beside the median step of their class.
    pub fn explain(&self, cx: &Context<'_>, steps: &StepsReport) -> Vec<Explanation> {
        let host = HostPhases::new(cx);
        let one = |step: &&Step| {
            let median = steps
                .median_step(step.class)
                .filter(|median| median.number != step.number)?;
            let class = steps
                .class_of(step)
                .map(|class| class.id.clone())
                .unwrap_or_default();
            (step.time_ps > median.time_ps).then(|| self.compare(step, median, class, &host))
        };
        steps
            .outliers()
            .iter()
            .take(MOST_EXPLAINED)
            .filter_map(one)
            .collect()
    }

    fn on_core(&self, step: &Step) -> Option<&OnCore> {
        self.steps.get(&step.number)?.as_ref()
    }

    fn compare(
        &self,
        step: &Step,
        median: &Step,
        class: String,
        host: &HostPhases<'_>,
    ) -> Explanation {
        let phases = |step: &Step| host.within(step).unwrap_or_default();
        let mut host: Vec<HostChange> = phases(step)
            .into_iter()
            .zip(phases(median))
            .map(|((phase, slow), (_, median))| HostChange {
                phase,
                change_ps: slow - median,
            })
            .filter(|change| change.change_ps != Picos::ZERO)
            .collect();
        host.sort_by_key(|change| Reverse(change.change_ps.abs()));
        let mut parts = Vec::new();
        let mut ops = Vec::new();
        let mut time_ps = step.time_ps;
        let mut median_ps = median.time_ps;
        // What took long may be on a core without ops: those of the others do not explain it.
        if let (Some(slow), Some(usual)) = (self.on_core(step), self.on_core(median))
            && slow.time_ps > usual.time_ps
        {
            (time_ps, median_ps) = (slow.time_ps, usual.time_ps);
            let change = slow.parts.minus(&usual.parts);
            let changes = StepPart::ALL.map(|part| PartChange {
                part,
                change_ps: change.get(part),
            });
            parts = changes
                .into_iter()
                .filter(|change| change.change_ps != Picos::ZERO)
                .collect();
            parts.sort_by_key(|change| Reverse(change.change_ps.abs()));
            ops = op_changes(slow, usual);
        }
        let longer_ps = time_ps - median_ps;
        Explanation {
            step: step.number,
            class,
            median_step: median.number,
            time_ps,
            median_ps,
            longer_ps,
            statement: statement(step.number, median.number, longer_ps, &parts, &ops, &host),
            parts,
            ops,
            host,
        }
    }
}

fn op_changes(slow: &OnCore, usual: &OnCore) -> Vec<StepOpChange> {
    let mut changes = slow.ops.clone();
    for (op, time) in &usual.ops {
        *changes.entry(op.clone()).or_default() -= *time;
    }
    let change = |((op, part), change_ps)| StepOpChange {
        op,
        part,
        change_ps,
    };
    let mut ops: Vec<StepOpChange> = changes
        .into_iter()
        .filter(|(_, change)| *change != Picos::ZERO)
        .map(change)
        .collect();
    ops.sort_by_key(|change| Reverse(change.change_ps.abs()));
    ops.truncate(OPS);
    ops
}

/// Changes below this share of the difference are not mentioned.
const WORTH_SAYING: f64 = 0.1;

fn statement(
    step: u32,
    median: u32,
    longer: Picos,
    parts: &[PartChange],
    ops: &[StepOpChange],
    host: &[HostChange],
) -> String {
    let is_large = |change: Picos| change.as_ps_f64() >= WORTH_SAYING * longer.as_ps_f64();
    let more = |what: &str, change: Picos| format!("{what} +{change}");
    let host: Vec<String> = host
        .iter()
        .filter(|change| {
            is_large(change.change_ps)
                && !matches!(change.phase, HostPhase::Other | HostPhase::Waiting)
        })
        .map(|change| more(change.phase.title(), change.change_ps))
        .collect();
    let device = parts
        .iter()
        .filter(|change| is_large(change.change_ps))
        .map(|change| {
            let most = ops
                .iter()
                .find(|op| op.part == change.part && is_large(op.change_ps));
            let title = change.part.title().to_lowercase();
            match most {
                Some(op) => format!(
                    "{}, most of it {}",
                    more(&title, change.change_ps),
                    more(&op.op, op.change_ps)
                ),
                None => more(&title, change.change_ps),
            }
        });
    let device: Vec<String> = device.collect();
    let why = match (device.is_empty(), host.is_empty()) {
        (false, false) => format!(
            "{}; on the host at that time: {}",
            device.join(", "),
            host.join(", ")
        ),
        (false, true) => device.join(", "),
        (true, false) => format!("on the host {}", host.join(", ")),
        (true, true) => "no recorded event explains it".to_owned(),
    };
    format!("step {step} takes {longer} longer than step {median}, the median of its class: {why}")
}
