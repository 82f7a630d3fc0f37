//! What if: the recorded step, played again with other durations.
//!
//! ```text
//! recorded   s [matmul      ] dddd [matmul]   idle  s ...      s = start, d = waiting for it
//! ici 2x     s [matmul      ] [matmul]   idle  s ...           the transfer has arrived in time
//! matmul ½   s [matmul] dddddddddd [mat]   idle  s ...         it comes to light
//! ```
//!
//! A core runs its ops one after the other. Between them it is idle, waiting for
//! the host or for nothing that was recorded: those gaps are kept unless a change
//! is about them, because a faster device does not make a host faster. What waits
//! for a transfer ends when that arrives; a transfer between cores starts when the
//! last of them has come. So shortening one thing can bring another to light, and
//! savings never add up to more than there is.
//!
//! **What it cannot know.** A transfer that had arrived before anyone waited for it
//! shows only that it took less than what hid it. The prediction then has two ends:
//! it took as little as was ever seen of it, or as much as was possible. Device
//! gaps caused by the host do not move with the host. Changed durations do not
//! change the compiler's order of ops.

mod build;
mod change;
mod engine;
mod predict;
mod schedule;
#[cfg(test)]
mod tests;

use trace_model::Picos;

use crate::engine::{AnalysisError, Context};

pub use change::Scenario;
pub use predict::{PredictedPart, Prediction, StepPrediction};

/// The ops and transfers of the scope of a context, ready to be played again.
pub struct Replay {
    recorded: schedule::Schedule,
    run: predict::ReplayedRun,
}

impl Replay {
    /// The schedule of what `cx` looks at. Errors where no device recorded ops.
    pub fn new(cx: &Context<'_>) -> Result<Self, AnalysisError> {
        let recorded = build::build(cx)?;
        let run = predict::ReplayedRun::of(&predict::steps(cx, &recorded));
        Ok(Self { recorded, run })
    }

    /// What would have happened with all `changes` together. Errors where a change
    /// needs what this capture does not tell.
    pub fn with(&self, cx: &Context<'_>, changes: &[Scenario]) -> Result<Prediction, AnalysisError> {
        let (changed, notes) = self.changed(cx, changes)?;
        Ok(predict::predict(cx, self, &changed, changes, notes))
    }

    /// [`Prediction::saving`] of the same, sooner.
    pub fn saving(&self, cx: &Context<'_>, changes: &[Scenario]) -> Result<Picos, AnalysisError> {
        Ok(predict::saving(cx, self, &self.changed(cx, changes)?.0))
    }

    fn changed<'a>(
        &self,
        cx: &Context<'_>,
        changes: &'a [Scenario],
    ) -> Result<(change::Changed<'a>, Vec<String>), AnalysisError> {
        let mut changed = change::Changed::default();
        let mut notes = Vec::new();
        for change in changes {
            notes.extend(change::apply(cx, change, &self.recorded, &mut changed)?);
        }
        Ok((changed, notes))
    }
}
