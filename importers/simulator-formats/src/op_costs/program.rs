//! The content of a cost table: ops in blocks that repeat, and the device that runs them.

use importer_common::csv_table::RowArgs;
use importer_common::prelude::*;

/// One row of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OpCost {
    pub name: String,
    /// A second name that the simulator gives it.
    pub description: String,
    /// The corresponding category of XLA, for the analyses.
    pub category: &'static str,
    /// Duration of one execution.
    pub time_ps: i64,
    /// Durations of the parts, in the order of [`CostedDevice::parts`].
    pub parts_ps: Vec<i64>,
    pub flops: Option<u64>,
    pub hbm_bytes: Option<u64>,
    /// Operands and result as HLO text, if the sizes are known.
    pub hlo_text: Option<String>,
    pub args: RowArgs,
}

/// Rows that repeat together.
pub(super) struct CostBlock {
    pub passes: u64,
    pub costs: Vec<OpCost>,
}

/// A program: blocks in sequence.
pub(super) struct CostedProgram {
    pub name: String,
    pub blocks: Vec<CostBlock>,
}

/// The device that runs everything.
#[derive(Debug, Default)]
pub(super) struct CostedDevice {
    pub info: DeviceInfo,
    /// Names of the parts of the device that an op can use.
    pub parts: &'static [&'static str],
    pub facts: Vec<(String, String)>,
}
