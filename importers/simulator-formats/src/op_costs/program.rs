//! The content of a cost table: ops in blocks that repeat, and the device that runs them.

use importer_common::csv_table::RowArgs;
use trace_model::DeviceInfo;

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
