//! What most rules name: `use super::prelude::*`.

pub(super) use device_reports::{OpRow, Ops, Steps};
pub(super) use facts::prelude::*;

pub(super) use crate::hints::NoFinding::Nothing;
pub(super) use crate::hints::{
    Finding, FindingPlace, HintEvidence, HintFacts, PossibleSaving, Rule, RuleResult, short_name,
};
pub(super) use crate::what_if::Scenario;
