//! The rows of the op table: the executions of each op on all cores.

use facts::prelude::*;

use super::costs::OpCostModel;
use super::row::{CoreOpTime, OpRow};
use super::sums::{CoreSums, SumsByOp};

/// Rows while they are built, one core after the other.
pub(super) struct MergedRows<'a> {
    model: &'a TraceModel,
    sums: SumsByOp,
    /// Index of the row, by row of `sums`.
    per_core: Vec<Vec<CoreOpTime>>,
}

impl<'a> MergedRows<'a> {
    pub fn new(model: &'a TraceModel) -> Self {
        Self {
            model,
            sums: SumsByOp::new(model),
            per_core: Vec::new(),
        }
    }

    pub fn add(&mut self, core: CoreSums) {
        let name: Arc<str> = self.model.device_name(core.core).into();
        for (key, sums) in core.into_subjects() {
            let (row, merged) = self.sums.at(key);
            merged.merge(&sums);
            let time = CoreOpTime {
                core: Arc::clone(&name),
                occurrences: sums.occurrences,
                total_time_ps: sums.total,
                self_time_ps: sums.self_time,
            };
            match self.per_core.get_mut(row) {
                Some(times) => times.push(time),
                None => self.per_core.push(vec![time]),
            }
        }
    }

    /// In the order of the report: by self time, the largest first; ties by name, then program.
    pub fn finish(
        self,
        basis: &OpCostModel,
        peaks: &Peaks,
        total_time_ps: Picos,
        op_time_ps: Picos,
    ) -> Vec<OpRow> {
        let sums = self.sums.into_found().into_iter().zip(self.per_core);
        let row = |((key, sums), per_core)| OpRow::new(basis, peaks, key, &sums, per_core);
        let mut rows: Vec<_> = sums.map(row).collect();
        for row in &mut rows {
            row.self_of_total_percent = Percent::of(row.self_time_ps, total_time_ps);
            row.self_of_op_time_percent = Percent::of(row.self_time_ps, op_time_ps);
        }
        rows.sort_unstable_by(|a, b| {
            let names = || (&a.name, &a.program, a.op).cmp(&(&b.name, &b.program, b.op));
            b.self_time_ps.cmp(&a.self_time_ps).then_with(names)
        });
        rows
    }
}
