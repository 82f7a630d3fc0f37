//! A finding with what it costs.

use std::collections::BTreeMap;

use trace_model::{OpId, Picos};

use crate::hints::finding::Finding;
use crate::hints::report::SavingBy;
use crate::hints::rule::Rule;
use crate::reports::ops::op_stats::OpRow;

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
}

/// The row of each op, for names and times.
pub(super) type RowByOp<'a> = BTreeMap<OpId, &'a OpRow>;
