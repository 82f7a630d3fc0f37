//! Computes predictions from replayed schedules.

use device_reports::Steps;
use facts::prelude::*;
use math::parallel;
use math::stats::median;

use super::change::{ReplayChanges, Scenario};
use super::engine::{CoreReplay, ReplayInput, play};
use super::schedule::{CoreSchedule, HiddenTransferBound, ReplaySchedule, TimeByGroup};
use super::unchanged::{starts_that_stay, unawaited, without_effect};

/// One step: its span on each core that ran it, by row of [`ReplaySchedule::cores`].
pub(super) type StepOnCores = Vec<(usize, TimeRange)>;

/// The prediction for a set of changes.
#[engine::reported]
pub struct Prediction {
    /// Description of the changes.
    pub changes: Vec<String>,
    /// Length of the window on the core that takes longest, as recorded.
    pub window_ps: Picos,
    /// That length with the changes, if hidden transfers are as short as ever observed.
    pub predicted_ps: Picos,
    /// That length with the changes, if hidden transfers are as long as possible: the prediction lies between both.
    pub predicted_at_most_ps: Picos,
    /// Steps, if there are any.
    pub step: Option<StepPrediction>,
    /// The time of that core by kind, recorded and predicted; both add up to the window.
    pub parts: Vec<PredictedPart>,
    /// The core of these parts.
    pub core: String,
    /// Where the times to compare with are from.
    #[serde(skip)]
    pub times_from: Provenance,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// Medians over complete steps after warm-up; each step counts as long as on its slowest core.
#[engine::reported]
#[derive(Copy)]
pub struct StepPrediction {
    /// Number of steps.
    pub steps: usize,
    /// As recorded.
    pub median_ps: f64,
    /// With the changes, if hidden transfers are as short as ever observed.
    pub predicted_ps: f64,
    /// With the changes, if hidden transfers are as long as possible.
    pub predicted_at_most_ps: f64,
    /// Recorded time per step from the start of the first of these steps to the end of the last, including the time
    /// between steps.
    pub each_ps: f64,
    /// Predicted time per step with the changes, including the time between steps.
    pub predicted_each_ps: f64,
}

/// Time of one kind.
#[engine::reported]
pub struct PredictedPart {
    /// A group of ops, or idle.
    pub group: OpGroup,
    /// As recorded.
    pub recorded_ps: Picos,
    /// With the changes.
    pub predicted_ps: Picos,
}

/// The steps that statistics count, on the cores of the schedule.
pub(super) fn steps(cx: &Context<'_>, schedule: &ReplaySchedule) -> Vec<StepOnCores> {
    let Ok(report) = cx.report::<Steps>() else {
        return Vec::new();
    };
    if !report.has_steps() {
        return Vec::new();
    }
    let rows: BTreeMap<GroupId, usize> = schedule
        .cores
        .iter()
        .enumerate()
        .map(|(row, core)| (core.group, row))
        .collect();
    let counted = report.counted().map(|step| {
        let spans = step
            .spans
            .iter()
            .filter_map(|span| Some((*rows.get(&span.group)?, span.measured)));
        spans.collect::<StepOnCores>()
    });
    counted.filter(|spans| !spans.is_empty()).collect()
}

/// All steps of a core together: from the start of the first to the end of the last.
pub(super) struct ReplayedRun {
    /// On each core, by row of [`ReplaySchedule::cores`].
    spans: BTreeMap<usize, TimeRange>,
    steps: usize,
}

impl ReplayedRun {
    pub(crate) fn of(steps: &[StepOnCores]) -> Self {
        let mut spans: BTreeMap<usize, TimeRange> = BTreeMap::new();
        for &(core, span) in steps.iter().flatten() {
            spans
                .entry(core)
                .and_modify(|all| *all = all.hull(span))
                .or_insert(span);
        }
        Self {
            spans,
            steps: steps.len(),
        }
    }

    /// The time of a step including the time until the next one, on the core that takes longest.
    fn each(&self, time: impl Fn(usize, TimeRange) -> Option<i64>) -> Option<f64> {
        let times: Option<Vec<i64>> = self
            .spans
            .iter()
            .map(|(&core, &span)| time(core, span))
            .collect();
        Some(times?.into_iter().max()? as f64 / self.steps as f64)
    }
}

/// Starts and ends of spans on each core, sorted: a replay computes their new times.
struct AskedInstants(Vec<Vec<Timestamp>>);

impl AskedInstants {
    fn of(cores: usize, spans: impl Iterator<Item = (usize, TimeRange)>) -> Self {
        let mut instants = vec![Vec::new(); cores];
        for (core, span) in spans {
            instants[core].extend([span.start, span.end]);
        }
        for of_core in &mut instants {
            of_core.sort_unstable();
            of_core.dedup();
        }
        Self(instants)
    }

    /// The replayed length of a recorded span of a core; `None` if its ends were not requested.
    fn span(&self, played: &[CoreReplay], core: usize, span: TimeRange) -> Option<i64> {
        let moved = |time: Timestamp| {
            let place = self.0.get(core)?.binary_search(&time).ok()?;
            played.get(core)?.instants.get(place).copied()
        };
        Some((moved(span.end)? - moved(span.start)?).ps())
    }
}

fn step_prediction(
    run: &ReplayedRun,
    steps: &[StepOnCores],
    asked: &AskedInstants,
    changed: &ReplayChanges,
    [short, long]: [&[CoreReplay]; 2],
) -> Option<StepPrediction> {
    let of_median = |time: &dyn Fn(usize, TimeRange) -> Option<i64>| {
        let longest = |spans: &StepOnCores| {
            let times: Option<Vec<i64>> =
                spans.iter().map(|&(core, span)| time(core, span)).collect();
            Some(times?.into_iter().max()? as f64)
        };
        median(&steps.iter().map(longest).collect::<Option<Vec<f64>>>()?)
    };
    let median_ps = of_median(&|_, span| Some(span.dur().ps()))?;
    let each_ps = run.each(|_, span| Some(span.dur().ps()))?;
    Some(StepPrediction {
        steps: steps.len(),
        median_ps,
        predicted_ps: changed.bounded(
            of_median(&|core, span| asked.span(short, core, span))?,
            median_ps,
        ),
        predicted_at_most_ps: changed.bounded(
            of_median(&|core, span| asked.span(long, core, span))?,
            median_ps,
        ),
        each_ps,
        predicted_each_ps: changed.bounded(
            run.each(|core, span| asked.span(short, core, span))?,
            each_ps,
        ),
    })
}

pub(super) fn predict(
    cx: &Context<'_>,
    recorded: &ReplaySchedule,
    run: &ReplayedRun,
    changed: &ReplayChanges,
    changes: &[Scenario],
    mut notes: Vec<String>,
) -> Prediction {
    let steps = steps(cx, recorded);
    let asked = AskedInstants::of(recorded.cores.len(), steps.iter().flatten().copied());
    let beliefs = [HiddenTransferBound::Shortest, HiddenTransferBound::Longest];
    // Without hidden transfers, both replays are the same.
    let beliefs = if recorded.least.is_empty() {
        &beliefs[..1]
    } else {
        &beliefs[..]
    };
    let pieces: usize = recorded.cores.iter().map(|core| core.pieces().len()).sum();
    let played = parallel::map(beliefs, pieces * beliefs.len(), |&belief| {
        play(ReplayInput {
            model: cx.model,
            schedule: recorded,
            changed,
            belief,
            instants: &asked.0,
        })
    });
    let short = &played[0];
    let long = &played[beliefs.len() - 1];
    let slowest = (0..recorded.cores.len())
        .max_by_key(|&core| lasts(recorded, short, core))
        .unwrap_or(0);
    if recorded.unmatched > 0 {
        notes.push(format!(
            "{} executions of collectives could not be matched over the cores: their participants are assumed \
             to arrive as recorded",
            recorded.unmatched
        ));
    }
    let window_ps = window(recorded);
    notes.extend(without_effect(recorded, changes));
    notes.extend(changes.iter().filter_map(|change| {
        let of_unknown_start = unawaited(cx, recorded, change);
        let is_unknown = of_unknown_start > 0 && !change.leaves_no_transfer();
        is_unknown.then(|| {
            format!(
                "Only the awaited part of {} in flight is scaled: faster ones may save more, and slower ones cost more",
                counted(of_unknown_start, "transfer")
            )
        })
    }));
    notes.extend(
        recorded
            .cores
            .get(slowest)
            .filter(|_| changes.iter().any(Scenario::is_about_collectives))
            .and_then(|core| starts_that_stay(cx, core)),
    );
    let step = step_prediction(run, &steps, &asked, changed, [short, long]);
    // A bound of steps leaves the same share of the window.
    let each_ps = step.map_or(window_ps.as_ps_f64(), |step| step.each_ps);
    let least_ps = window_ps.as_ps_f64() * changed.bounded(0.0, each_ps) / each_ps.max(1.0);
    let in_window = |predicted: Picos| predicted.max(Picos::rounded(least_ps));
    Prediction {
        changes: changes.iter().map(Scenario::title).collect(),
        window_ps,
        predicted_ps: in_window(longest(recorded, short)),
        predicted_at_most_ps: in_window(longest(recorded, long)),
        step,
        parts: short
            .get(slowest)
            .map(|played| parts(&recorded.cores[slowest], played))
            .unwrap_or_default(),
        core: cx.model.device_name(recorded.cores[slowest].group),
        times_from: Provenance::Measured.in_trace(cx.model),
        notes,
    }
}

/// Only [`Prediction::saving`], for callers that need many of them.
pub(super) fn saving(
    cx: &Context<'_>,
    recorded: &ReplaySchedule,
    run: &ReplayedRun,
    changed: &ReplayChanges,
) -> Picos {
    let asked = AskedInstants::of(
        recorded.cores.len(),
        run.spans.iter().map(|(&core, &span)| (core, span)),
    );
    let short = play(ReplayInput {
        model: cx.model,
        schedule: recorded,
        changed,
        belief: HiddenTransferBound::Shortest,
        instants: &asked.0,
    });
    let predicted = run.each(|core, span| asked.span(&short, core, span));
    let (recorded, predicted) = run
        .each(|_, span| Some(span.dur().ps()))
        .zip(predicted)
        .unwrap_or_else(|| {
            (
                window(recorded).as_ps_f64(),
                longest(recorded, &short).as_ps_f64(),
            )
        });
    Picos::rounded(recorded - changed.bounded(predicted, recorded))
}

/// The time of a core from the start of its window.
fn lasts(recorded: &ReplaySchedule, played: &[CoreReplay], core: usize) -> Picos {
    let end = played
        .get(core)
        .map(|played| played.end)
        .unwrap_or_default();
    end - recorded.cores[core].window.start
}

/// The window of the core that takes longest, as recorded.
fn window(recorded: &ReplaySchedule) -> Picos {
    let windows = recorded.cores.iter().map(|core| core.window.dur());
    windows.max().unwrap_or_default()
}

/// The time of the core that takes longest, as replayed.
fn longest(recorded: &ReplaySchedule, played: &[CoreReplay]) -> Picos {
    (0..recorded.cores.len())
        .map(|core| lasts(recorded, played, core))
        .max()
        .unwrap_or_default()
}

/// The time of a core by kind; both columns add up to its window.
fn parts(core: &CoreSchedule, played: &CoreReplay) -> Vec<PredictedPart> {
    // A start op only issues: its own time counts towards its kind like all other time.
    let mut recorded = core.groups;
    let mut predicted = played.groups;
    let rest = |window: Picos, groups: &TimeByGroup| window - groups.iter().copied().sum::<Picos>();
    let idle = OpGroup::Idle.index();
    recorded[idle] += rest(core.window.dur(), &recorded);
    predicted[idle] += rest(played.end - core.window.start, &predicted);
    let part = |group: OpGroup| PredictedPart {
        group,
        recorded_ps: recorded[group.index()],
        predicted_ps: predicted[group.index()],
    };
    let parts = OpGroup::ALL.iter().map(|&group| part(group));
    parts
        .filter(|part| part.recorded_ps != Picos::ZERO || part.predicted_ps != Picos::ZERO)
        .collect()
}

impl Tabular for Prediction {
    fn tables(&self) -> Vec<Table> {
        let mut rows = Vec::new();
        if let Some(step) = self.step {
            let row = |what, predicted| PredictedRow::new(what, step.median_ps, predicted);
            let what = format!("step, median of {}", step.steps);
            rows.push(row(what, step.predicted_ps));
            if step.predicted_at_most_ps > step.predicted_ps {
                let what = "step, if hidden transfers are as slow as possible".to_owned();
                rows.push(row(what, step.predicted_at_most_ps));
            }
        }
        let row = |what: &str, predicted: Picos| {
            PredictedRow::new(
                what.to_owned(),
                self.window_ps.as_ps_f64(),
                predicted.as_ps_f64(),
            )
        };
        rows.push(row("whole window", self.predicted_ps));
        if self.predicted_at_most_ps > self.predicted_ps {
            let what = "whole window, if hidden transfers are as slow as possible";
            rows.push(row(what, self.predicted_at_most_ps));
        }
        let mut notes = vec![format!("What if {}.", self.changes.join(", and "))];
        notes.extend(self.notes.iter().map(|note| format!("{note}.")));
        let parts: Vec<_> = self
            .parts
            .iter()
            .map(|part| {
                PredictedRow::new(
                    part.group.title().to_owned(),
                    part.recorded_ps.as_ps_f64(),
                    part.predicted_ps.as_ps_f64(),
                )
            })
            .collect();
        let mut tables = vec![
            Table::of("prediction", "What if", &rows)
                .remaining()
                .notes(notes)
                .build(),
            Table::of(
                "prediction_parts",
                format!("What {} does in the whole window", self.core),
                &parts,
            )
            .remaining()
            .note("Parts add up to the window; % is of the time of the part without the change.")
            .build(),
        ];
        let columns = tables.iter_mut().flat_map(|table| &mut table.columns);
        for column in columns.filter(|column| column.id == "recorded_ps") {
            column.title = match self.times_from {
                Provenance::Simulated => "Simulated",
                Provenance::Predicted => "As predicted",
                _ => column.title,
            };
        }
        tables
    }
}

/// A kind of time, as recorded and as predicted.
#[derive(engine::Columns)]
#[columns(predicted)]
struct PredictedRow {
    #[column(measured)]
    what: String,
    #[column(measured)]
    recorded_ps: f64,
    #[column]
    predicted_ps: f64,
    #[column]
    saved_ps: f64,
    #[column]
    saved_percent: Option<Percent>,
}

impl PredictedRow {
    fn new(what: String, recorded_ps: f64, predicted_ps: f64) -> Self {
        let saved_ps = recorded_ps - predicted_ps;
        Self {
            what,
            recorded_ps,
            predicted_ps,
            saved_ps,
            // Of a part that grows, what it grew by says nothing about the part as it was.
            saved_percent: Percent::ratio(saved_ps, recorded_ps).filter(|_| saved_ps >= 0.0),
        }
    }
}
