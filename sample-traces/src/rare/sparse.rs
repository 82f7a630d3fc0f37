//! A `TensorCore` that offloads lookups to a `SparseCore`.

use super::MODULE;
use crate::session::{LineKey, OPS, SampleSession, int};
use crate::synthetic::SyntheticChip;

/// Identical offloaded lookups. Times are µs after the start of a lookup:
///
/// ```text
///             0123456789
/// TensorCore  SffffffDDD    start, fusion, done
/// SparseCore  .MMMMMMMMM    program (from 1.5 to 9.5)
///             ..ggggsss     ops
/// ```
///
/// 7 µs of work, 5 µs of it hidden; 3 µs of waiting; 10 µs in flight.
#[derive(Clone, Copy, Debug)]
pub struct SparseOffload {
    pub lookups: i64,
    /// Whether the runtime records a flow from each start op to the first op of the offloaded work.
    pub with_flows: bool,
    /// Whether the last program is missing, so that the last start op has no counterpart.
    pub lose_last: bool,
}

impl Default for SparseOffload {
    fn default() -> Self {
        Self {
            lookups: 4,
            with_flows: true,
            lose_last: false,
        }
    }
}

const US: i64 = 1_000_000;
/// Time from one lookup to the next.
const PERIOD_PS: i64 = 20 * US;
/// Context type of flows to a `SparseCore`.
const SC_OFFLOAD: i64 = 17;
/// Number that each start op shares with the program that it starts.
const START_ID: i64 = 9;
const SPARSE_MODULES: LineKey<'_> = (2, "Sparse Core Modules");
const SPARSE_OPS: LineKey<'_> = (3, "Sparse Core Ops");
const SPARSE_STEPS: LineKey<'_> = (1, "Sparse Core Steps");

impl SparseOffload {
    pub fn session(&self) -> SampleSession {
        let mut core = super::device(0, &SyntheticChip::V6E);
        let start = "%lookup-start.1 = ((s32[64]{0}), f32[64,128]{1,0}, u32[]) async-start(s32[64]{0} %ids), calls=%lookup";
        let start = core.op(start, "async-start", []);
        let fusion = "%fusion.1 = f32[64]{0} fusion(f32[64]{0} %p), kind=kOutput, calls=%dense";
        let fusion = core.op(fusion, "convolution fusion", []);
        let done = "%lookup-done.1 = f32[64,128]{1,0} async-done(%lookup-start.1)";
        let done = core.op(done, "async-done", []);
        let mut sparse = super::device(0, &SyntheticChip::V6E);
        (sparse.id, sparse.name) = (100, "/device:TPU:0 SparseCore 1".to_owned());
        let gather = sparse.op(
            "%gather.1 = f32[64,128]{1,0} gather(s32[64]{0} %ids)",
            "gather",
            [],
        );
        let scatter = sparse.op(
            "%scatter.1 = f32[64,128]{1,0} scatter(f32[64,128]{1,0} %g)",
            "scatter",
            [],
        );
        for lookup in 0..self.lookups {
            let at = |us: i64| 100 * US + lookup * PERIOD_PS + us * US;
            core.run(MODULE, lookup, at(0), 10 * US);
            let mut handed = vec![
                int("offload_core_id", 1),
                int("tc_offload_start_id", START_ID),
                int("offload_execution_index", lookup),
            ];
            if self.with_flows {
                handed.extend([int("_p", 1000 + lookup), int("_pt", SC_OFFLOAD)]);
            }
            core.execution(OPS, start, at(0), US, handed);
            core.execution(OPS, fusion, at(1), 6 * US, []);
            core.execution(OPS, done, at(7), 3 * US, []);
            if self.lose_last && lookup + 1 == self.lookups {
                continue;
            }
            let number = [int("tc_offload_start_id", START_ID)];
            let begin = at(1) + US / 2;
            sparse.event(SPARSE_MODULES, "lookup(9)", begin, 8 * US, number);
            sparse.event(SPARSE_STEPS, &lookup.to_string(), at(1), 9 * US, []);
            let arrow = [int("_c", 1000 + lookup), int("_ct", SC_OFFLOAD)];
            let arrow = arrow.into_iter().filter(|_| self.with_flows);
            sparse.execution(SPARSE_OPS, gather, at(2), 4 * US, arrow);
            sparse.execution(SPARSE_OPS, scatter, at(6), 3 * US, []);
        }
        core.sort();
        sparse.sort();
        super::session("sparse", vec![core, sparse])
    }
}
