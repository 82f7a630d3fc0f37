//! What-if predictions: replays the recorded steps with changed durations.
//!
//! ```text
//! recorded   s [matmul      ] dddd [matmul]   idle  s ...      s = start, d = waiting for it
//! ici 2x     s [matmul      ] [matmul]   idle  s ...           the transfer has arrived in time
//! matmul ½   s [matmul] dddddddddd [mat]   idle  s ...         it becomes exposed
//! ```
//!
//! A core runs its ops one after the other. Between ops it is idle, waiting for the host or for an unrecorded reason.
//! Those gaps are kept unless a change is about them, because a faster device does not make the host faster. An op that
//! waits for a transfer ends when the transfer arrives; a transfer between cores starts when the last core has arrived.
//! So shortening one op can expose another, and savings never exceed the recorded time.
//!
//! **What it cannot know.** The duration of a transfer that arrived before it was awaited is only known to be shorter
//! than what hid it. The prediction is then a range: from the shortest duration observed for it to the longest possible
//! one. Device gaps caused by the host do not move with the host. Changed durations do not change the compiler's order
//! of ops.

mod build;
mod change;
mod engine;
mod idle_causes;
mod path;
mod predict;
mod schedule;
#[cfg(test)]
mod tests;
mod transfers;
mod unchanged;

use facts::prelude::*;

use math::parallel;

pub use change::Scenario;
pub use path::{CriticalPath, PathKind, PathPiece, WaitsFor};
pub use predict::{PredictedPart, Prediction, StepPrediction};

/// The ops and transfers in the scope of a context, ready for replays.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub struct Replay {
    #[serde(skip)]
    recorded: schedule::ReplaySchedule,
    #[serde(skip)]
    run: predict::ReplayedRun,
}

/// Makes the replay that reports share: it is no report by itself, and no list of analyses has it.
pub struct SharedReplay;

impl Analysis for SharedReplay {
    type Report = Replay;
    const ID: &str = "replay";
    const TITLE: &str = "Replay";

    fn run(cx: &Context<'_>) -> Result<Replay> {
        Replay::new(cx)
    }
}

impl Tabular for Replay {
    fn tables(&self) -> Vec<Table> {
        Vec::new()
    }
}

impl Replay {
    /// Builds the schedule for the scope of `cx`.
    ///
    /// # Errors
    ///
    /// No device recorded ops.
    pub fn new(cx: &Context<'_>) -> Result<Self> {
        let recorded = build::build(cx)?;
        let run = predict::ReplayedRun::of(&predict::steps(cx, &recorded));
        Ok(Self { recorded, run })
    }

    /// Replays with all `changes` together.
    ///
    /// # Errors
    ///
    /// A change needs data that the capture does not have.
    pub fn with(&self, cx: &Context<'_>, changes: &[Scenario]) -> Result<Prediction> {
        let (changed, notes) = self.changed(cx, changes)?;
        unchanged::require_awaited(cx, &self.recorded, changes)?;
        Ok(predict::predict(
            cx,
            &self.recorded,
            &self.run,
            &changed,
            changes,
            notes,
        ))
    }

    /// [`Prediction::saving`] of several sets of changes, faster, and on all CPU cores; an error if a scenario needs what
    /// the capture does not record.
    pub(crate) fn savings(&self, cx: &Context<'_>, changes: &[&[Scenario]]) -> Vec<Result<Picos>> {
        // Not on several threads: changes may request reports.
        let changed: Vec<_> = changes
            .iter()
            .map(|changes| self.changed(cx, changes))
            .collect();
        let pieces: usize = self
            .recorded
            .cores
            .iter()
            .map(|core| core.pieces().len())
            .sum();
        parallel::map(&changed, pieces * changed.len(), |changed| match changed {
            Ok((changed, _)) => Ok(predict::saving(cx, &self.recorded, &self.run, changed)),
            Err(error) => Err(error.clone()),
        })
    }

    fn changed(
        &self,
        cx: &Context<'_>,
        changes: &[Scenario],
    ) -> Result<(change::ReplayChanges, Vec<String>)> {
        let mut changed = change::ReplayChanges::default();
        let mut notes = Vec::new();
        for change in changes {
            notes.extend(change::apply(cx, change, &self.recorded, &mut changed)?);
        }
        Ok((changed, notes))
    }
}
