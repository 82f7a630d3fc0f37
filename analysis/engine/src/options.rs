//! The assumptions under which reports are computed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use hardware::chips::Chip;
use hardware::ici::Topology;
use math::unit::Unit;
use serde::{Serialize, Serializer};

use crate::{Environment, glob};

/// Assumptions that hold for all reports of one trace.
#[engine::reported]
#[derive(Default)]
pub struct Options {
    /// Name of the chip whose peaks to use where the capture records none
    /// (`v5e`, `v6e`, `v7x` …).
    pub device_spec: Option<String>,
    /// That chip, where a file of the user describes it; otherwise it is a published one.
    #[serde(serialize_with = "chip_id")]
    #[schemars(with = "Option<String>")]
    pub own_chip: Option<Arc<Chip>>,
    /// The grid of chips; without it every grid that the generation allows is considered.
    #[schemars(with = "Option<String>")]
    pub topology: Option<Topology>,
    /// Only devices with these ordinals; all devices if empty.
    pub devices: Vec<u32>,
    /// Steps at the start that statistics leave out, besides partial ones.
    pub warmup_steps: u32,
    /// Names of annotations that servers write, in addition to those that are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub serving: Vec<ServingPattern>,
    /// Thresholds and suppressions of hints.
    pub hints: HintOptions,
    /// What a file beside the profile says about the run; it stands elsewhere in what is written.
    #[serde(skip)]
    pub environment: Option<Arc<Environment>>,
}

/// Annotations whose names match are of this phase of serving.
#[engine::reported]
#[derive(Eq)]
pub struct ServingPattern {
    /// The phase: queue, prefill, decode, request or batch.
    pub phase: String,
    /// A name, in which `*` stands for any characters.
    pub pattern: String,
}

impl fmt::Display for ServingPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.phase, self.pattern)
    }
}

impl Options {
    /// The chip that the user names.
    pub fn chip(&self) -> Option<&Chip> {
        self.own_chip
            .as_deref()
            .or_else(|| Chip::named(self.device_spec.as_deref()?))
    }
}

/// By name: its facts are shown by the command that lists chips.
#[expect(clippy::ref_option, reason = "as serde calls it")]
fn chip_id<S: Serializer>(chip: &Option<Arc<Chip>>, serializer: S) -> Result<S::Ok, S::Error> {
    chip.as_ref().map(|chip| &chip.id).serialize(serializer)
}

/// The user's thresholds for hints, and hints to suppress.
#[engine::reported]
#[derive(Default)]
pub struct HintOptions {
    /// Values by the id of the threshold (`K01.exposed_percent`).
    pub thresholds: BTreeMap<String, f64>,
    /// Suppressions that are in force today.
    pub suppressions: Vec<Suppression>,
}

/// Hints that are known and accepted. Every condition that is given must hold.
#[engine::reported]
#[derive(Default)]
pub struct Suppression {
    /// Id of the rule.
    pub hint: String,
    /// All ops of the hint must match this pattern, in which `*` matches any characters.
    pub op: Option<String>,
    /// All ops must come from source files that match this pattern.
    pub source: Option<String>,
    /// Why it is accepted.
    pub reason: String,
}

impl Suppression {
    /// Whether it covers a hint of the rule `id` about `ops`, each with its name and source.
    pub fn covers(&self, id: &str, ops: &[(&str, Option<&str>)]) -> bool {
        let names = || ops.iter().map(|op| Some(op.0));
        let sources = || ops.iter().map(|op| op.1);
        self.hint == id
            && every(self.op.as_deref(), names())
            && every(self.source.as_deref(), sources())
    }
}

/// Whether there is no pattern, or there are strings and all of them match it.
fn every<'a>(
    pattern: Option<&str>,
    mut texts: impl ExactSizeIterator<Item = Option<&'a str>>,
) -> bool {
    pattern.is_none_or(|pattern| {
        texts.len() > 0 && texts.all(|text| text.is_some_and(|text| glob(pattern, text)))
    })
}

/// A limit above or below which a rule reports a hint. Users override it by its id.
#[derive(Debug, Serialize)]
pub struct Threshold {
    /// `K01.exposed_percent`: the rule and what is compared.
    pub id: &'static str,
    /// The default value.
    pub value: f64,
    /// Unit of the value.
    pub unit: Unit,
    /// Why this value.
    pub why: &'static str,
}

impl Threshold {
    /// A limit of any unit; see the fields for what is what.
    pub const fn new(id: &'static str, value: f64, unit: Unit, why: &'static str) -> Self {
        Self {
            id,
            value,
            unit,
            why,
        }
    }

    /// A limit in percent.
    pub const fn percent(id: &'static str, value: f64, why: &'static str) -> Self {
        Self::new(id, value, Unit::Percent, why)
    }

    /// The user's value, or the default.
    pub fn of(&self, options: &Options) -> f64 {
        options
            .hints
            .thresholds
            .get(self.id)
            .copied()
            .unwrap_or(self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_must_hold_for_every_op() {
        let by_op = Suppression {
            hint: "K11".into(),
            op: Some("fusion.*".into()),
            ..Suppression::default()
        };
        assert!(by_op.covers("K11", &[("fusion.1", None)]));
        assert!(!by_op.covers("K12", &[("fusion.1", None)]));
        assert!(!by_op.covers("K11", &[("fusion.1", None), ("dot.1", None)]));
        assert!(!by_op.covers("K11", &[]));
        let by_source = Suppression {
            source: Some("*/model.py:*".into()),
            ..by_op
        };
        assert!(by_source.covers("K11", &[("fusion.1", Some("a/model.py:12"))]));
        assert!(!by_source.covers("K11", &[("fusion.1", None)]));
    }
}
