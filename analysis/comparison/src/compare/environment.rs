//! What summaries tell of the environment of their runs.

use std::borrow::Cow;

use engine::Environment;
use facts::{EnvironmentChange, EnvironmentSide, environment_changes};

use super::summary::{Summary, SummaryFacts};

impl SummaryFacts {
    /// `SIMULATED by ASTRA-sim`; `None` if times were measured.
    pub fn badge(&self) -> Option<String> {
        self.simulator
            .as_deref()
            .map(|by| trace_model::badge(by, self.is_predicted))
    }

    /// The badge and what stands behind it.
    pub fn badge_in_words(&self) -> Option<String> {
        let about = trace_model::about_times(|caveat| self.caveats.contains(&caveat));
        self.badge().map(|badge| format!("{badge}: {about}"))
    }

    /// The versions that its files record.
    pub(super) fn versions_in_words(&self) -> Option<String> {
        let texts: Vec<String> = self
            .versions
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// The environment; of a summary without one what its versions tell.
    pub(super) fn environment(&self) -> Option<Cow<'_, Environment>> {
        if let Some(known) = &self.environment {
            return Some(Cow::Borrowed(known));
        }
        let mut environment = Environment::default();
        for (name, value) in &self.versions {
            environment.add_recorded(name, value);
        }
        environment.is_known().then_some(Cow::Owned(environment))
    }
}

fn side(runs: &[Summary]) -> EnvironmentSide {
    let known = runs.iter().filter_map(|run| run.facts.environment());
    let chips = runs.iter().filter_map(|run| run.facts.device_type.clone());
    EnvironmentSide::new(known.map(Cow::into_owned).collect(), chips)
}

/// In what the environments differ.
pub(super) fn changes(base: &[Summary], cand: &[Summary]) -> Vec<EnvironmentChange> {
    environment_changes(side(base), side(cand))
}

/// Versions and flags that differ, of each side.
pub(super) fn versions(base: &Summary, cand: &Summary) -> Option<[String; 2]> {
    let mut sides: [Vec<String>; 2] = [Vec::new(), Vec::new()];
    for change in changes(std::slice::from_ref(base), std::slice::from_ref(cand)) {
        if !change.id.starts_with("version.") && !change.id.starts_with("flag.") {
            continue;
        }
        if let (Some(base), Some(cand)) = (change.base, change.cand) {
            sides[0].push(format!("{} {base}", change.title));
            sides[1].push(format!("{} {cand}", change.title));
        }
    }
    (!sides[0].is_empty()).then(|| sides.map(|texts| texts.join(", ")))
}
