//! What users change about hints.

use std::collections::BTreeMap;

use serde::Serialize;

/// Thresholds of one's own, and hints that one does not want to see.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct HintOptions {
    /// Values by the id of the threshold (`K01.exposed_percent`).
    pub thresholds: BTreeMap<String, f64>,
    /// In force today.
    pub suppressions: Vec<Suppression>,
}

/// Hints that are known and accepted. Every condition that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Suppression {
    /// Which rule.
    pub hint: String,
    /// All ops of the hint match this pattern: `*` stands for anything.
    pub op: Option<String>,
    /// All of them come from source files that match this pattern.
    pub source: Option<String>,
    /// Why it is accepted.
    pub reason: String,
}

impl Suppression {
    /// Whether it covers a hint of the rule `id` about `ops`, each with its name and source.
    pub(super) fn covers(&self, id: &str, ops: &[(&str, Option<&str>)]) -> bool {
        let names = || ops.iter().map(|op| Some(op.0));
        let sources = || ops.iter().map(|op| op.1);
        self.hint == id && every(self.op.as_deref(), names()) && every(self.source.as_deref(), sources())
    }
}

/// Whether there is no pattern, or there are texts and all of them match it.
fn every<'a>(pattern: Option<&str>, mut texts: impl ExactSizeIterator<Item = Option<&'a str>>) -> bool {
    pattern.is_none_or(|pattern| texts.len() > 0 && texts.all(|text| text.is_some_and(|text| glob(pattern, text))))
}

/// Whether `text` is what `pattern` says, where `*` stands for anything.
pub fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let Some(last) = pattern.rsplit_once('*').map(|(_, last)| last) else { return rest.is_empty() };
    let count = pattern.matches('*').count();
    for part in parts.take(count.saturating_sub(1)) {
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, is) in [
            ("fusion.1", "fusion.1", true),
            ("fusion.1", "fusion.12", false),
            ("fusion.*", "fusion.12", true),
            ("*.12", "fusion.12", true),
            ("*us*n*", "fusion.12", true),
            ("a*a", "a", false),
            ("*", "", true),
            ("f*x*2", "fusion.12", false),
        ] {
            assert_eq!(glob(pattern, text), is, "{pattern} {text}");
        }
    }

    #[test]
    fn every_condition_must_hold_for_every_op() {
        let by_op = Suppression { hint: "K11".into(), op: Some("fusion.*".into()), ..Suppression::default() };
        assert!(by_op.covers("K11", &[("fusion.1", None)]));
        assert!(!by_op.covers("K12", &[("fusion.1", None)]));
        assert!(!by_op.covers("K11", &[("fusion.1", None), ("dot.1", None)]));
        assert!(!by_op.covers("K11", &[]));
        let by_source = Suppression { source: Some("*/model.py:*".into()), ..by_op };
        assert!(by_source.covers("K11", &[("fusion.1", Some("a/model.py:12"))]));
        assert!(!by_source.covers("K11", &[("fusion.1", None)]));
    }
}
