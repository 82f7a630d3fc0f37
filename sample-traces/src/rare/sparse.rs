//! A `TensorCore` that offloads lookups to a `SparseCore`.

use super::{MODULE, MODULES, OPS};
use crate::session::{SampleSession, SampleStat};
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
const SPARSE_MODULES: (i64, &str) = (2, "Sparse Core Modules");
const SPARSE_OPS: (i64, &str) = (3, "Sparse Core Ops");
const SPARSE_STEPS: (i64, &str) = (1, "Sparse Core Steps");

impl SparseOffload {
    pub fn session(&self) -> SampleSession {
        let mut core = super::device(0, &SyntheticChip::V6E);
        let start = "%lookup-start.1 = ((s32[64]{0}), f32[64,128]{1,0}, u32[]) async-start(s32[64]{0} %ids), calls=%lookup";
        let start = super::op(&mut core, start, "async-start", Vec::new());
        let fusion = "%fusion.1 = f32[64]{0} fusion(f32[64]{0} %p), kind=kOutput, calls=%dense";
        let fusion = super::op(&mut core, fusion, "convolution fusion", Vec::new());
        let done = "%lookup-done.1 = f32[64,128]{1,0} async-done(%lookup-start.1)";
        let done = super::op(&mut core, done, "async-done", Vec::new());
        let mut sparse = super::device(0, &SyntheticChip::V6E);
        (sparse.id, sparse.name) = (100, "/device:TPU:0 SparseCore 1".to_owned());
        let gather = super::op(
            &mut sparse,
            "%gather.1 = f32[64,128]{1,0} gather(s32[64]{0} %ids)",
            "gather",
            Vec::new(),
        );
        let scatter = super::op(
            &mut sparse,
            "%scatter.1 = f32[64,128]{1,0} scatter(f32[64,128]{1,0} %g)",
            "scatter",
            Vec::new(),
        );
        for lookup in 0..self.lookups {
            let at = |us: i64| 100 * US + lookup * PERIOD_PS + us * US;
            super::event(
                &mut core,
                MODULES,
                MODULE,
                at(0),
                10 * US,
                vec![SampleStat::int("run_id", lookup)],
            );
            let mut handed = vec![
                SampleStat::int("offload_core_id", 1),
                SampleStat::int("tc_offload_start_id", START_ID),
                SampleStat::int("offload_execution_index", lookup),
            ];
            if self.with_flows {
                handed.extend([
                    SampleStat::int("_p", 1000 + lookup),
                    SampleStat::int("_pt", SC_OFFLOAD),
                ]);
            }
            super::execution(&mut core, OPS, start, at(0), US, handed);
            super::execution(&mut core, OPS, fusion, at(1), 6 * US, Vec::new());
            super::execution(&mut core, OPS, done, at(7), 3 * US, Vec::new());
            if self.lose_last && lookup + 1 == self.lookups {
                continue;
            }
            let number = vec![SampleStat::int("tc_offload_start_id", START_ID)];
            super::event(
                &mut sparse,
                SPARSE_MODULES,
                "lookup(9)",
                at(1) + US / 2,
                8 * US,
                number,
            );
            super::event(
                &mut sparse,
                SPARSE_STEPS,
                &lookup.to_string(),
                at(1),
                9 * US,
                Vec::new(),
            );
            let arrow = [
                SampleStat::int("_c", 1000 + lookup),
                SampleStat::int("_ct", SC_OFFLOAD),
            ];
            let arrow = arrow.into_iter().filter(|_| self.with_flows).collect();
            super::execution(&mut sparse, SPARSE_OPS, gather, at(2), 4 * US, arrow);
            super::execution(&mut sparse, SPARSE_OPS, scatter, at(6), 3 * US, Vec::new());
        }
        core.sort();
        sparse.sort();
        super::session("sparse", vec![core, sparse])
    }
}
