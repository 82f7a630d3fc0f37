//! Times of the instructions of one program.

use facts::prelude::*;

use device_reports::{Ops, Overlap};

/// What the capture measured of one instruction.
#[derive(Debug, Default)]
pub(super) struct InstructionTimes {
    pub group: OpGroup,
    pub occurrences: u64,
    pub self_time_ps: Picos,
    pub exposed_ps: Option<Picos>,
    pub ops: Vec<OpId>,
}

/// Times by the name of the instruction.
#[derive(Default)]
pub(super) struct ProgramTimes {
    by_name: BTreeMap<Arc<str>, InstructionTimes>,
    /// Self time of all ops of all programs of the scope.
    whole_ps: Picos,
}

impl ProgramTimes {
    pub fn of(cx: &Context<'_>, program: ProgramId) -> Self {
        let mut out = Self::default();
        // Without ops nothing was measured: the program is still there to be read.
        let Ok(ops) = cx.report::<Ops>() else {
            return out;
        };
        out.whole_ps = ops.op_time_ps;
        for row in &ops.rows {
            let Some(op) = row
                .op
                .filter(|&op| cx.model.op(op).program == Some(program))
            else {
                continue;
            };
            let times =
                out.by_name
                    .entry(Arc::clone(&row.name))
                    .or_insert_with(|| InstructionTimes {
                        group: row.group,
                        ..InstructionTimes::default()
                    });
            times.occurrences += row.occurrences;
            times.self_time_ps += row.self_time_ps;
            times.ops.push(op);
        }
        for transfer in cx
            .report::<Overlap>()
            .iter()
            .flat_map(|report| &report.transfers)
        {
            if transfer.issued_by.and_then(|op| cx.model.op(op).program) == Some(program)
                && let Some(times) = out.by_name.get_mut(transfer.op.as_str())
            {
                *times.exposed_ps.get_or_insert_default() += transfer.exposed_ps;
            }
        }
        out
    }

    pub fn of_op(&self, name: &str) -> Option<&InstructionTimes> {
        self.by_name.get(name)
    }

    /// The share of a time in the self time of all ops.
    pub fn share(&self, time_ps: Picos) -> Option<Percent> {
        Percent::of(time_ps, self.whole_ps)
    }

    /// Self time of the program; `None` if nothing of it was recorded.
    pub fn sum(&self) -> Option<Picos> {
        let times = self.by_name.values().map(|times| times.self_time_ps);
        times.reduce(|sum, time| sum + time)
    }
}
