//! One execution of a program on one device: the time of each op.
//!
//! ```text
//! XLA Ops     s mm1 gelu mm2 dddd ar ...   s = start op, d = done op, which waits for the rest
//! Async       =================            from the start of s to the end of d
//! ```
//!
//! The sums that tests expect are added up here while ops are placed. They come from the
//! durations of ops and not from intervals, so they check the interval arithmetic of the
//! analyses independently.

use super::op::{InnerOp, SyntheticOp, SyntheticRole};

/// Time from the start of a program to its first op.
pub(super) const LEAD_IN_PS: i64 = 5_000;
/// Gap between two ops.
const OP_GAP_PS: i64 = 1_250;
/// Time from the last op to the end of the program.
pub(super) const LEAD_OUT_PS: i64 = 2_500;
/// Duration of a start op, which only issues the transfer.
const ISSUE_PS: i64 = 13_750;
/// Duration of a done op whose transfer is already finished.
const LEAST_WAIT_PS: i64 = 1_250;

/// One execution of an op, with its time relative to the start of the program.
#[derive(Clone, Copy, Debug)]
pub struct ScheduledExecution {
    /// Index into [`SyntheticSchedule::ops`].
    pub op: usize,
    pub start_ps: i64,
    pub dur_ps: i64,
}

/// A transfer in flight.
#[derive(Clone, Copy, Debug)]
pub struct ScheduledTransfer {
    pub start_op: usize,
    pub done_op: usize,
    /// Start of the start op.
    pub start_ps: i64,
    /// Length up to the end of the done op.
    pub dur_ps: i64,
}

/// Sums over one execution of the program on one device, ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScheduleSums {
    /// Time of ops that compute.
    pub compute: i64,
    /// Part of `compute` that matmuls take.
    pub matmul: i64,
    /// Time of collectives, asynchronous and synchronous ones.
    pub comm: i64,
    /// Part of `comm` during which the core computes.
    pub comm_hidden: i64,
    /// Time of collective ops on the core: synchronous ones, start ops and done ops.
    pub comm_blocking: i64,
    /// Time of start ops and done ops of copies.
    pub copy_wait: i64,
    /// Self time of loops.
    pub loop_self: i64,
    /// Time of ops at the top level: everything but the gaps.
    pub busy: i64,
}

impl ScheduleSums {
    /// Communication during which the core computes nothing.
    pub fn comm_exposed(&self) -> i64 {
        self.comm - self.comm_hidden
    }
}

impl std::ops::Add for ScheduleSums {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            compute: self.compute + other.compute,
            matmul: self.matmul + other.matmul,
            comm: self.comm + other.comm,
            comm_hidden: self.comm_hidden + other.comm_hidden,
            comm_blocking: self.comm_blocking + other.comm_blocking,
            copy_wait: self.copy_wait + other.copy_wait,
            loop_self: self.loop_self + other.loop_self,
            busy: self.busy + other.busy,
        }
    }
}

/// One execution of a program.
#[derive(Debug, Default)]
pub struct SyntheticSchedule {
    /// Distinct ops.
    pub ops: Vec<SyntheticOp>,
    /// Executions in time order; a loop comes before its children.
    pub executions: Vec<ScheduledExecution>,
    pub in_flight: Vec<ScheduledTransfer>,
    /// Length of the program.
    pub dur_ps: i64,
    /// The sums that tests expect.
    pub sums: ScheduleSums,
    cursor: i64,
}

/// A transfer that was started and is not yet done.
pub struct PendingTransfer {
    start_op: usize,
    start_ps: i64,
    takes_ps: i64,
    computed_before: i64,
}

impl SyntheticSchedule {
    pub(super) fn new() -> Self {
        Self {
            cursor: LEAD_IN_PS,
            ..Self::default()
        }
    }

    fn place(&mut self, op: usize, dur_ps: i64) {
        self.executions.push(ScheduledExecution {
            op,
            start_ps: self.cursor,
            dur_ps,
        });
        self.cursor += dur_ps;
        let sums = &mut self.sums;
        match self.ops[op].role {
            SyntheticRole::Matmul => {
                (sums.compute, sums.matmul) = (sums.compute + dur_ps, sums.matmul + dur_ps);
            }
            SyntheticRole::Vector => sums.compute += dur_ps,
            SyntheticRole::SyncCollective => {
                sums.comm += dur_ps;
                sums.comm_blocking += dur_ps;
            }
            SyntheticRole::CollectiveStart | SyntheticRole::CollectiveDone => {
                sums.comm_blocking += dur_ps;
            }
            SyntheticRole::CopyStart | SyntheticRole::CopyDone => sums.copy_wait += dur_ps,
            SyntheticRole::Loop => {}
        }
    }

    fn place_at_top(&mut self, op: usize, dur_ps: i64) {
        self.place(op, dur_ps);
        self.sums.busy += dur_ps;
        self.cursor += OP_GAP_PS;
    }

    /// Adds an execution of an op.
    pub(super) fn run(&mut self, op: SyntheticOp) {
        let dur_ps = op.dur_ps;
        self.ops.push(op);
        self.place_at_top(self.ops.len() - 1, dur_ps);
    }

    /// Starts a transfer that takes `takes_ps`.
    pub(super) fn start(&mut self, op: SyntheticOp, takes_ps: i64) -> PendingTransfer {
        let start_ps = self.cursor;
        self.run(SyntheticOp {
            dur_ps: ISSUE_PS,
            ..op
        });
        PendingTransfer {
            start_op: self.ops.len() - 1,
            start_ps,
            takes_ps,
            computed_before: self.sums.compute,
        }
    }

    pub(super) fn op_of(&self, pending: &PendingTransfer) -> &SyntheticOp {
        &self.ops[pending.start_op]
    }

    /// Waits for the rest of a transfer.
    pub(super) fn finish(&mut self, pending: &PendingTransfer, op: SyntheticOp) {
        let elapsed = self.cursor - pending.start_ps;
        let wait = (pending.takes_ps - elapsed).max(LEAST_WAIT_PS);
        self.run(SyntheticOp { dur_ps: wait, ..op });
        let done_op = self.ops.len() - 1;
        let dur_ps = elapsed + wait;
        if self.ops[done_op].role == SyntheticRole::CollectiveDone {
            self.sums.comm += dur_ps;
            self.sums.comm_hidden += self.sums.compute - pending.computed_before;
        }
        self.in_flight.push(ScheduledTransfer {
            start_op: pending.start_op,
            done_op,
            start_ps: pending.start_ps,
            dur_ps,
        });
    }

    /// Runs `body` `times` times inside the loop `outer`, with `own_ps` of self time before each iteration.
    pub(super) fn repeat(
        &mut self,
        outer: SyntheticOp,
        body: Vec<SyntheticOp>,
        times: u32,
        own_ps: i64,
    ) {
        let iteration = own_ps + body.iter().map(|op| op.dur_ps).sum::<i64>();
        let total = i64::from(times) * iteration;
        self.ops.push(SyntheticOp {
            dur_ps: total,
            inner: InnerOp::Loop {
                times: u64::from(times),
            },
            ..outer
        });
        let outer = self.ops.len() - 1;
        let start = self.cursor;
        self.place(outer, total);
        let first = self.ops.len();
        self.ops.extend(body.into_iter().map(|op| SyntheticOp {
            inside: Some(outer),
            ..op
        }));
        self.cursor = start;
        for _ in 0..times {
            self.cursor += own_ps;
            for inner in first..self.ops.len() {
                self.place(inner, self.ops[inner].dur_ps);
            }
        }
        self.cursor += OP_GAP_PS;
        self.sums.busy += total;
        self.sums.loop_self += i64::from(times) * own_ps;
    }

    pub(super) fn close(mut self) -> Self {
        self.dur_ps = self.cursor - OP_GAP_PS + LEAD_OUT_PS;
        self
    }
}
