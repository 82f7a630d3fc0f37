//! The content of a cost table: ops in blocks that repeat, and the device that runs them.

use trace_model::{Caveat, DeviceInfo, TraceBuilder};

use crate::common::DetectionConfidence;
use crate::common::csv_table::RowArgs;

/// Facts that cost tables do not contain.
pub(super) const CANNOT_KNOW: [&str; 4] = [
    "start times of the parts of an op",
    "overlap between ops",
    "dependencies of ops",
    "directions of memory accesses",
];

/// One row of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OpCost {
    pub(super) name: String,
    /// A second name that the simulator gives it.
    pub(super) description: String,
    /// The corresponding category of XLA, for the analyses.
    pub(super) category: &'static str,
    /// Duration of one execution.
    pub(super) time_ps: i64,
    /// Durations of the parts, in the order of [`CostedDevice::parts`].
    pub(super) parts_ps: Vec<i64>,
    pub(super) flops: Option<u64>,
    pub(super) hbm_bytes: Option<u64>,
    /// Operands and result as HLO text, if the sizes are known.
    pub(super) hlo_text: Option<String>,
    pub(super) args: RowArgs,
}

/// Rows that repeat together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CostBlock {
    pub(super) passes: u64,
    pub(super) costs: Vec<OpCost>,
}

/// A program: blocks in sequence.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CostedProgram {
    pub(super) name: String,
    pub(super) blocks: Vec<CostBlock>,
}

/// The device that runs everything.
#[derive(Clone, Debug, Default)]
pub(super) struct CostedDevice {
    pub(super) info: DeviceInfo,
    /// Names of the parts of the device that an op can use.
    pub(super) parts: &'static [&'static str],
    pub(super) facts: Vec<(String, String)>,
}

pub(super) fn describe(simulator: &str, out: &mut TraceBuilder) {
    let described = out.source_mut();
    described.simulator = Some(simulator.to_owned());
    described.caveats = vec![Caveat::Predicted];
    described.cannot_know = CANNOT_KNOW.to_vec();
}

/// Whether the first line names these columns.
pub(super) fn has_columns(head: &[u8], names: &[&[u8]]) -> DetectionConfidence {
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let all = names.iter().all(|name| memchr::memmem::find(line, name).is_some());
    if all { DetectionConfidence::Certain } else { DetectionConfidence::No }
}
