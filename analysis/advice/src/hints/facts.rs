//! What rules look at.

use std::sync::{Mutex, OnceLock};

use device_reports::{LikeOps, OpRow, Ops, OpsReport, Steps};
use facts::Framework;
use facts::prelude::*;
use trace_model::{IssueKind, locked};

use super::finding::short_name;
use super::{CountedDevices, Finding, HintEvidence, NoFinding, PossibleSaving, RuleResult};
use crate::what_if::{Scenario, SharedReplay};

/// What changes save; the error says why that is unknown.
type Saving = Result<Picos>;

fn known(savings: &[(Vec<Scenario>, Saving)], changes: &[Scenario]) -> Option<Saving> {
    let known = savings.iter().find(|(asked, _)| asked == changes);
    known.map(|(_, saving)| saving.clone())
}

/// A context, and what all rules need from it, computed once.
pub struct HintFacts<'a> {
    /// The trace, the scope, the other reports.
    pub cx: &'a Context<'a>,
    /// What the program is written in, as far as the trace tells.
    pub framework: Framework,
    /// The class of every op.
    pub classes: &'a OpClasses,
    ops: OnceLock<Result<Arc<OpsReport>>>,
    devices: OnceLock<CountedDevices>,
    savings: Mutex<Vec<(Vec<Scenario>, Saving)>>,
}

/// The time that shares and savings are related to.
#[derive(Debug)]
pub struct StepTime {
    /// From the start of the first counted step to the end of the last, by their number: sums over a run are divided by
    /// the same. The window if there are no steps.
    pub ps: f64,
    /// Steps in the window; 1 if there are none.
    pub count: usize,
    /// For people: `mean of 9 steps`, `whole window`.
    pub of: String,
}

/// [`StepTime::of`] without steps.
const WHOLE_WINDOW: &str = "whole window";

impl StepTime {
    /// What it is the time of: a `step`, or the `window`.
    pub(crate) fn noun(&self) -> &'static str {
        if self.of == WHOLE_WINDOW {
            "window"
        } else {
            "step"
        }
    }

    /// A sum over the steps, of one step.
    pub(crate) fn each(&self, sum: Picos) -> Picos {
        Picos::from_ps(sum.ps() / self.count.max(1) as i64)
    }
}

impl<'a> HintFacts<'a> {
    /// The facts of the scope of `cx`, computed when a rule asks for them.
    pub fn new(cx: &'a Context<'a>) -> Self {
        Self {
            cx,
            framework: Framework::of(cx.model),
            classes: cx.classes(),
            ops: OnceLock::new(),
            devices: OnceLock::new(),
            savings: Mutex::default(),
        }
    }

    /// Another report in the same scope.
    ///
    /// # Errors
    ///
    /// That analysis does not apply; the error is the reason why a rule cannot tell.
    pub fn report<A: Analysis>(&self) -> Result<Arc<A::Report>> {
        self.cx.report::<A>()
    }

    /// Whether the file ends early and no thread of a host is in what came before.
    pub(crate) fn has_lost_its_host(&self) -> bool {
        let is_cut = self.cx.model.import_log().count(IssueKind::TruncatedFile) > 0;
        is_cut && host_threads(self.cx.model).next().is_none()
    }

    /// The value of a threshold: the user's, or its own.
    pub fn limit(&self, threshold: &Threshold) -> f64 {
        threshold.of(self.cx.options)
    }

    /// The value of a threshold that a number reaches; nothing where it does not.
    pub(crate) fn reached(&self, threshold: &Threshold, number: f64) -> RuleResult<f64> {
        let limit = self.limit(threshold);
        if number >= limit {
            Ok(limit)
        } else {
            Err(NoFinding::Nothing)
        }
    }

    /// What the run with changes saves: see [`crate::what_if::Prediction::saving`].
    ///
    /// # Errors
    ///
    /// No device recorded ops, or a scenario needs what the capture does not record.
    pub(crate) fn saving(&self, changes: &[Scenario]) -> Result<Picos> {
        self.play(&[changes]);
        known(&locked(&self.savings), changes)
            .unwrap_or_else(|| Err("these changes were not replayed".into()))
    }

    /// Finds several savings on all CPU cores, before they are asked for.
    pub(crate) fn play(&self, all: &[&[Scenario]]) {
        // A rule may ask what is asked again when its finding gets a price, and another rule the same, which waits here.
        let mut savings = locked(&self.savings);
        let new: Vec<&[Scenario]> = all
            .iter()
            .enumerate()
            .filter(|&(nth, asked)| known(&savings, asked).is_none() && !all[..nth].contains(asked))
            .map(|(_, &asked)| asked)
            .collect();
        if new.is_empty() {
            return;
        }
        let savings_of_new = match self.cx.report::<SharedReplay>() {
            Ok(replay) => replay.savings(self.cx, &new),
            Err(error) => vec![Err(error.clone()); new.len()],
        };
        savings.extend(
            new.into_iter()
                .map(<[Scenario]>::to_vec)
                .zip(savings_of_new),
        );
    }

    /// The step, or the window if there are no steps.
    ///
    /// # Errors
    ///
    /// No device recorded anything in this scope.
    pub(crate) fn step(&self) -> Result<StepTime> {
        if let Some((ps, count)) = self.steps().and_then(|steps| each(&steps)) {
            let of = if count == 1 {
                "one step".to_owned()
            } else {
                format!("mean of {count} steps")
            };
            return Ok(StepTime { ps, count, of });
        }
        let longest = match self.ops() {
            Ok(ops) => ops
                .cores
                .iter()
                .map(|core| core.total_time_ps)
                .max()
                .unwrap_or_default(),
            Err(_) => self.cx.host_window()?.dur(),
        };
        Ok(StepTime {
            ps: longest.as_ps_f64(),
            count: 1,
            of: WHOLE_WINDOW.to_owned(),
        })
    }

    /// Another report over the counted steps and nothing else: its sums, divided by [`StepTime::count`], are those of one
    /// step. In the same scope where there are no steps.
    ///
    /// # Errors
    ///
    /// That analysis does not apply to these steps.
    pub(crate) fn in_steps<A: Analysis>(&self) -> Result<Arc<A::Report>> {
        self.cx.scoped(self.step_scope()).report::<A>()
    }

    /// The counted steps; what is looked at where there are no steps.
    pub(crate) fn step_scope(&self) -> Scope {
        match self.steps().and_then(|steps| steps.counted_numbers()) {
            Some((first, last)) => Scope::Steps { first, last },
            None => self.cx.scope,
        }
    }

    /// What shares of such a report are of, for a device, and which steps these are: the loop, time between steps included;
    /// its step; its window where there are no steps.
    pub(crate) fn whole_of(&self, device: &str) -> (&'static str, String) {
        match self.step_scope() {
            Scope::Steps { first, last } if first == last => {
                ("its step", format!("step {first} of {device}"))
            }
            Scope::Steps { first, last } => {
                ("the loop", format!("steps {first} to {last} of {device}"))
            }
            _ => ("its window", format!("window of {device}")),
        }
    }

    /// A sum over such a report, of one step.
    ///
    /// # Errors
    ///
    /// As [`Self::in_steps`], or there is no such sum.
    pub(crate) fn each_step<A: Analysis>(
        &self,
        sum: impl FnOnce(&A::Report) -> Option<f64>,
    ) -> Result<f64> {
        let nothing = || AnalysisError::from("nothing of it lies in the counted steps");
        let sum = sum(self.in_steps::<A>()?.as_ref()).ok_or_else(nothing)?;
        Ok(sum / self.step()?.count.max(1) as f64)
    }

    /// Steps, unless the whole capture was taken for one, or none lies in the scope.
    pub(crate) fn steps(&self) -> Option<Arc<StepsReport>> {
        self.report::<Steps>()
            .ok()
            .filter(|steps| steps.has_steps() && !steps.steps.is_empty() && !steps.is_cut())
    }

    /// All ops.
    ///
    /// # Errors
    ///
    /// The trace has no ops in this scope.
    pub(crate) fn ops(&self) -> Result<&OpsReport> {
        match self.ops.get_or_init(|| self.report::<Ops>()) {
            Ok(ops) => Ok(ops),
            Err(error) => Err(error.clone()),
        }
    }

    /// The devices that shares of device time are of.
    ///
    /// # Errors
    ///
    /// The trace has no ops in this scope.
    pub(crate) fn devices(&self) -> Result<&CountedDevices> {
        let ops = self.ops()?;
        Ok(self
            .devices
            .get_or_init(|| CountedDevices::busy(self.cx, ops)))
    }

    /// Ops for which `wanted`, most self time first.
    ///
    /// # Errors
    ///
    /// The trace has no ops in this scope.
    pub(crate) fn select(&self, wanted: impl Fn(&OpRow) -> bool) -> Result<OpSelection<'_>> {
        let rows = self.ops()?.rows.iter().filter(|row| wanted(row));
        Ok(OpSelection::of(rows, self.devices()?, None))
    }

    /// Ops for which `wanted`, if together they take at least `limit` percent of device time.
    ///
    /// # Errors
    ///
    /// The trace has no ops in this scope.
    pub(crate) fn heavy(
        &self,
        limit: &Threshold,
        wanted: impl Fn(&OpRow) -> bool,
    ) -> RuleResult<OpSelection<'_>> {
        self.heavy_alike(limit, wanted, |_| true)
    }

    /// Ops of a kind whose rates are `wanted`, where together they take at least `limit` percent of device time. Rates
    /// are those of like ops together, so that it does not matter into how many ops a program is cut.
    ///
    /// # Errors
    ///
    /// The trace has no ops in this scope.
    pub(crate) fn heavy_alike(
        &self,
        limit: &Threshold,
        kind: impl Fn(&OpRow) -> bool,
        wanted: impl Fn(&LikeOps<'_>) -> bool,
    ) -> RuleResult<OpSelection<'_>> {
        let alike = LikeOps::of(self.ops()?.rows.iter().filter(|row| kind(row)));
        let rows = alike.into_iter().filter(wanted).flat_map(|like| like.rows);
        let least = self.limit(limit);
        let selection = OpSelection::of(rows, self.devices()?, Some(least));
        if selection.rows.is_empty() || selection.percent() < least {
            return Err(NoFinding::Nothing);
        }
        Ok(selection)
    }
}

/// Time of a step and what follows it, mean over the steps from the first counted one to the last, and how many these
/// are.
fn each(steps: &StepsReport) -> Option<(f64, usize)> {
    let mut run: BTreeMap<GroupId, TimeRange> = BTreeMap::new();
    for span in steps.counted().flat_map(|step| &step.spans) {
        run.entry(span.group)
            .and_modify(|all| *all = all.hull(span.measured))
            .or_insert(span.measured);
    }
    let (first, last) = steps.counted_numbers()?;
    let longest = run.values().map(|span| span.dur().ps()).max()?;
    let count = steps.selected(first, last).count();
    (longest > 0).then(|| (longest as f64 / count.max(1) as f64, count))
}

/// Some ops and their share of the device time.
pub struct OpSelection<'r> {
    /// Most self time first.
    pub rows: Vec<&'r OpRow>,
    /// Σ self time, over `devices`.
    pub self_ps: Picos,
    /// The devices that shares are of.
    pub devices: &'r CountedDevices,
    /// The share of device time, in percent, from which on they matter.
    limit: Option<f64>,
}

impl<'r> OpSelection<'r> {
    /// Those of `rows` that take time.
    fn of(
        rows: impl Iterator<Item = &'r OpRow>,
        devices: &'r CountedDevices,
        limit: Option<f64>,
    ) -> Self {
        let mut rows: Vec<&OpRow> = rows.filter(|row| row.self_time_ps > Picos::ZERO).collect();
        rows.sort_by_key(|row| Reverse(row.self_time_ps));
        Self {
            self_ps: rows.iter().map(|row| devices.self_time(row)).sum(),
            rows,
            devices,
            limit,
        }
    }

    /// Those of them for which `wanted`.
    pub(crate) fn part(&self, wanted: impl Fn(&OpRow) -> bool) -> Self {
        let rows: Vec<&OpRow> = self
            .rows
            .iter()
            .copied()
            .filter(|row| wanted(row))
            .collect();
        Self {
            self_ps: rows.iter().map(|row| self.devices.self_time(row)).sum(),
            rows,
            ..*self
        }
    }

    /// Σ self time ÷ device time, percent; 0 without device time.
    pub(crate) fn percent(&self) -> f64 {
        self.devices.share(self.self_ps).0
    }

    /// Their ids.
    pub(crate) fn ops(&self) -> Vec<OpId> {
        self.rows.iter().filter_map(|row| row.op).collect()
    }

    /// Each with what is left of its time when it could take `ideal` instead, where
    /// that is known and less.
    pub(crate) fn shrink(&self, ideal: impl Fn(&OpRow) -> Option<Picos>) -> Vec<(OpId, f64)> {
        self.rows
            .iter()
            .filter_map(|row| {
                let time = row.total_time_ps;
                let ideal = ideal(row)?;
                let left = ideal.clamped().fraction_of(time)?;
                Some((row.op.filter(|_| ideal < time)?, left))
            })
            .collect()
    }

    /// Names of the first ops, for a sentence: those that take a considerable part of the time, and at least one.
    pub(crate) fn names(&self) -> String {
        const SHOWN: usize = 3;
        const LEAST: f64 = 0.05;
        let rows = self.rows.iter().enumerate().take(SHOWN);
        let names: Vec<String> = rows
            .take_while(|&(nth, row)| {
                nth == 0
                    || self.devices.self_time(row).as_ps_f64() >= LEAST * self.self_ps.as_ps_f64()
            })
            .map(|(_, row)| short_name(&row.name))
            .collect();
        names.join(", ") + &engine::and_more(self.rows.len().saturating_sub(names.len()))
    }

    /// `what` takes so much of the device time, as a clause.
    pub(crate) fn take(&self, what: &str) -> String {
        let share = Percent(self.percent());
        format!("{what} take {share:.1} of {}", self.devices.time())
    }

    /// What most rules about ops say: `what` takes so much of the device time.
    pub(crate) fn finding(&self, what: &str, saving: PossibleSaving) -> Finding {
        Finding {
            statement: format!("{} ({})", self.take(what), self.names()),
            evidence: vec![self.evidence(what)],
            ops: self.ops(),
            saving,
            ..Finding::default()
        }
    }

    /// The share of `what` in device time.
    pub(crate) fn evidence(&self, what: &str) -> HintEvidence {
        HintEvidence::percent(what, self.percent(), self.devices.time(), self.limit)
    }

    /// Each takes no time.
    pub(crate) fn vanish(&self) -> Vec<(OpId, f64)> {
        self.ops().into_iter().map(|op| (op, 0.0)).collect()
    }
}
