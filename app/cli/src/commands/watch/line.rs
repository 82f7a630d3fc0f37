//! The line that is said of a run.

use crate::prelude::*;
use serde::Serialize;
use trace_model::Picos;

/// What is said of a run.
#[derive(Default, Serialize)]
pub(super) struct RunLine<'a> {
    pub(super) run: &'a str,
    pub(super) status: &'static str,
    pub(super) step_ps: Option<f64>,
    pub(super) steps: Option<usize>,
    pub(super) verdict: Option<String>,
    pub(super) change: Option<String>,
    /// What is missing of a damaged run.
    pub(super) lost: Option<String>,
    pub(super) failed: Vec<String>,
    /// Why gates could not be judged.
    pub(super) inconclusive: Vec<String>,
    pub(super) error: Option<String>,
}

impl<'a> RunLine<'a> {
    pub(super) fn of(run: &'a str) -> Self {
        Self {
            run,
            status: "unreadable",
            ..Self::default()
        }
    }

    pub(super) fn text(&self) -> String {
        if let Some(error) = &self.error {
            return format!("{}  {}  {error}\n", self.run, self.status)
                .replace('\n', " ")
                .trim_end()
                .to_owned()
                + "\n";
        }
        let step = self.step_ps.map_or_else(
            || "no steps".to_owned(),
            |ps| format!("step {}", Picos::from_ps(ps as i64)),
        );
        let lost = self.lost.as_ref();
        let lost = lost.map_or_else(String::new, |lost| format!("damaged: {lost}  "));
        format!(
            "{}  {}  {step}  {lost}{}\n",
            self.run,
            self.status,
            self.why().replace('\n', " ")
        )
    }

    /// What failed; else what changed and could not be judged; else what limits the run.
    fn why(&self) -> String {
        if !self.failed.is_empty() {
            return self.failed.join("; ");
        }
        let is_said = |change: &&String| self.inconclusive.iter().any(|why| why.contains(*change));
        let said: Vec<&str> = self
            .change
            .iter()
            .filter(|change| !is_said(change))
            .chain(&self.inconclusive)
            .map(String::as_str)
            .collect();
        if said.is_empty() {
            self.verdict.clone().unwrap_or_default()
        } else {
            said.join("; ")
        }
    }

    /// Whether somebody should look: a gate failed, or the run cannot be read.
    pub(super) fn is_bad(&self) -> bool {
        !self.failed.is_empty() || self.error.is_some()
    }

    pub(super) fn json(&self) -> String {
        format!("{}\n", json!(self))
    }
}
