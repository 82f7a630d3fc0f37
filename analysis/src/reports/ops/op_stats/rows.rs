//! The rows of the op table, and how cores are merged into them.

use std::cmp::Reverse;
use std::sync::Arc;

use trace_model::{GroupId, Picos, TraceModel};

use super::costs::OpCostModel;
use super::row::OpRow;
use super::sums::{CoreSums, OpKey, OpSums, SumsByOp};
use crate::hardware::peaks::Peaks;

/// Sums of one op over all cores.
#[derive(Clone)]
pub(super) struct OpTotal {
    pub subject: OpKey,
    pub sums: OpSums,
    /// The core that ran it first. Its sums are `sums` minus those of the other cores.
    first: GroupId,
    /// Row of [`OpRows::shares`] of the last other core; [`NOBODY`] if there is none.
    last: u32,
}

/// Sums of one op on one core.
#[derive(Clone, Copy)]
pub(super) struct CoreShare {
    pub core: GroupId,
    /// Row of the core before that was not the first; else [`NOBODY`].
    before: u32,
    pub occurrences: u64,
    pub total: Picos,
    pub own: Picos,
}

const NOBODY: u32 = u32::MAX;

/// All rows of a report, in its order.
#[derive(Clone)]
pub struct OpRows {
    pub(super) basis: Arc<OpCostModel>,
    /// What rates are measured against.
    pub(super) peaks: Peaks,
    /// Windows of all cores.
    pub(super) total_time_ps: i64,
    /// Self time of all ops.
    pub(super) op_time_ps: i64,
    totals: Vec<OpTotal>,
    shares: Vec<CoreShare>,
}

/// Rows in the making: one core after the other.
pub(super) struct MergedRows {
    sums: SumsByOp,
    /// By row of `sums`: [`OpTotal::first`] and [`OpTotal::last`].
    cores: Vec<(GroupId, u32)>,
    shares: Vec<CoreShare>,
}

impl MergedRows {
    pub fn new(model: &TraceModel) -> Self {
        Self { sums: SumsByOp::new(model), cores: Vec::new(), shares: Vec::new() }
    }

    pub fn add(&mut self, core: CoreSums) {
        let group = core.core;
        for (subject, sums) in core.into_subjects() {
            let (row, merged) = self.sums.at(subject);
            merged.merge(&sums);
            let Some((_, last)) = self.cores.get_mut(row) else {
                self.cores.push((group, NOBODY));
                continue;
            };
            let before = std::mem::replace(last, self.shares.len() as u32);
            let share = CoreShare {
                core: group,
                before,
                occurrences: sums.occurrences,
                total: sums.total,
                own: sums.self_time,
            };
            self.shares.push(share);
        }
    }

    /// In the order of the report: by self time, the largest first; ties by name, then program.
    pub fn finish(self, basis: Arc<OpCostModel>, peaks: Peaks, total_time_ps: i64, op_time_ps: i64) -> OpRows {
        let totals = self.sums.into_found().into_iter().zip(self.cores);
        let total = |((subject, sums), (first, last))| OpTotal { subject, sums, first, last };
        let mut totals: Vec<OpTotal> = totals.map(total).collect();
        totals.sort_by(|a, b| {
            let name = |total: &OpTotal| (basis.name(total.subject), basis.program_title(total.subject));
            let names = || name(a).cmp(&name(b)).then_with(|| a.subject.cmp(&b.subject));
            Reverse(a.sums.self_time).cmp(&Reverse(b.sums.self_time)).then_with(names)
        });
        OpRows { basis, peaks, total_time_ps, op_time_ps, totals, shares: self.shares }
    }
}

impl OpRows {
    /// How many.
    pub fn len(&self) -> usize {
        self.totals.len()
    }

    /// Whether nothing ran.
    pub fn is_empty(&self) -> bool {
        self.totals.is_empty()
    }

    /// All rows.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = OpRow<'_>> + ExactSizeIterator + Clone {
        self.totals.iter().map(|total| OpRow { rows: self, total })
    }

    /// The row of this number.
    pub fn get(&self, row: usize) -> Option<OpRow<'_>> {
        Some(OpRow { rows: self, total: self.totals.get(row)? })
    }

    /// The row with most self time.
    pub fn first(&self) -> Option<OpRow<'_>> {
        self.get(0)
    }

    /// What each core did of an op.
    pub(super) fn shares_of(&self, total: &OpTotal) -> Vec<CoreShare> {
        let share = |row: u32| self.shares.get(row as usize).copied();
        let others = std::iter::successors(share(total.last), |last| share(last.before));
        let OpSums { occurrences, total: time, self_time: own, .. } = total.sums;
        let mut first = CoreShare { core: total.first, before: NOBODY, occurrences, total: time, own };
        let mut shares: Vec<CoreShare> = others.collect();
        for share in &shares {
            first.occurrences -= share.occurrences;
            first.total -= share.total;
            first.own -= share.own;
        }
        shares.push(first);
        shares.reverse();
        shares
    }

    /// How many rows come first whose self time is at least `time_ps`.
    pub fn at_least(&self, time_ps: i64) -> usize {
        self.totals.partition_point(|total| total.sums.self_time.ps() >= time_ps)
    }
}

impl std::fmt::Debug for OpRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
