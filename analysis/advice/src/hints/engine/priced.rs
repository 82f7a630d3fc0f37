//! A finding with what it costs.

use device_reports::OpRow;
use facts::prelude::*;

use crate::hints::finding::{Finding, PossibleSaving};
use crate::hints::report::SavingBy;
use crate::hints::rule::Rule;
use crate::what_if::Scenario;

/// A finding with its price.
pub(super) struct PricedFinding {
    pub(super) rule: &'static Rule,
    pub(super) finding: Finding,
    pub(super) saving: Option<Picos>,
    /// Saved once in the capture, and not per step.
    pub(super) once: Option<Picos>,
    /// `saving` without a bound that the replay does not know.
    pub(super) unbounded: Picos,
    pub(super) by: SavingBy,
    /// Another hint saves more, at the cost of what this one saves.
    pub(super) gives_way: bool,
}

impl PricedFinding {
    /// The changes whose replay gave the saving, if one did.
    pub(super) fn played(&self) -> Option<&[Scenario]> {
        match &self.finding.saving {
            PossibleSaving::Replay { changes, .. } if self.by == SavingBy::Replay => Some(changes),
            _ => None,
        }
    }

    /// The changes that are played with those of the others.
    pub(super) fn combined(&self) -> Option<&[Scenario]> {
        self.played().filter(|_| !self.gives_way)
    }

    /// Whether it saves less than its replay, because of a bound.
    pub(super) fn is_bounded(&self) -> bool {
        self.saving.is_some_and(|saving| saving < self.unbounded)
    }
}

/// The row of each op, for names and times.
pub(super) type RowByOp<'a> = BTreeMap<OpId, &'a OpRow>;
