//! Sessions with features that no public capture has, built from the documented format, with answers computed by hand:
//! a Pallas kernel with pipeline scopes, hardware counters, work offloaded to a `SparseCore`, an all-reduce over two
//! slices, a server with annotations of its requests.
//!
//! The names of lines and stats come from `xplane_schema.cc` in openxla/xla.

mod counters;
mod kernel;
mod megascale;
mod serving;
mod sparse;

pub use counters::{CounterName, CounterSamples};
pub use kernel::PallasKernel;
pub use megascale::MegascaleSample;
pub use serving::{ServedTimes, ServingSample};
pub use sparse::SparseOffload;

use crate::session::{
    LineKey, MODULES, SampleEventMetadata, SamplePlane, SampleSession, SampleStat, double, int,
    text, uint,
};
use crate::synthetic::SyntheticChip;

/// Remark stored wherever the format has a place for it.
pub(crate) const REMARK: &str = "synthetic: written by hand, not measured";

const SCOPES: LineKey<'_> = (6, "XLA TraceMe");
/// Id and name of the counter line; its id is the largest possible one.
const COUNTERS: LineKey<'_> = (i64::MAX, "_counters_");

/// How far the device clock is ahead of the timeline.
const DEVICE_AHEAD_PS: i64 = 5_000_000_000;

/// Id of the program that all ops belong to.
const PROGRAM: u64 = 4711;
pub(crate) const MODULE: &str = "jit_step(4711)";

pub(crate) fn session(host: &str, planes: Vec<SamplePlane>) -> SampleSession {
    SampleSession::new(host, REMARK, planes)
}

/// The plane of a device, with its type and peaks.
pub(crate) fn device(ordinal: u32, chip: &SyntheticChip) -> SamplePlane {
    let facts = vec![
        text("device_type_string", chip.type_name),
        double("peak_teraflops_per_second", chip.peak_teraflops),
        double("peak_hbm_bw_gigabytes_per_second", chip.hbm_gigabytes),
        text("synthetic", REMARK),
    ];
    SamplePlane::device(ordinal, DEVICE_AHEAD_PS, facts)
}

impl SamplePlane {
    /// Adds a reading of a hardware counter.
    fn reading(&mut self, line: LineKey<'_>, counter: CounterName, at_ps: i64, value: u64) {
        let name = format!("counter_{}", counter as u64);
        if !self.metadata.iter().any(|known| known.name == name) {
            let id = vec![uint("performance_counter_id", counter as u64)];
            self.add(SampleEventMetadata::new(&name, id));
        }
        self.event(
            line,
            &name,
            at_ps,
            1_000_000,
            [uint("counter_value", value)],
        );
    }

    /// Adds a run of a program.
    pub(crate) fn run(&mut self, program: &str, run_id: i64, at_ps: i64, duration_ps: i64) {
        let facts = [int("run_id", run_id)];
        self.event(MODULES, program, at_ps, duration_ps, facts);
    }

    /// Adds an op with the compiler's facts about it; returns its index.
    pub(crate) fn op(
        &mut self,
        instruction: &str,
        category: &str,
        facts: impl IntoIterator<Item = SampleStat>,
    ) -> usize {
        self.op_of(PROGRAM, instruction, category, facts)
    }

    /// Adds an op of this program.
    fn op_of(
        &mut self,
        program: u64,
        instruction: &str,
        category: &str,
        facts: impl IntoIterator<Item = SampleStat>,
    ) -> usize {
        let symbol = self.metadata.len() as u64 + 1;
        let ids = [program, symbol];
        self.add(SampleEventMetadata::op(instruction, category, ids, facts))
    }
}
