//! Tables of analytical simulators: one row per op with its cost and number of executions, without start times.
//! `NeuSim` and `GenZ` write them.
//!
//! Rows follow each other, so they become a timeline: ops one after the other, in blocks (layers) that repeat. An op
//! takes as long as the slowest of its parts (MXU, VPU, HBM, ICI): the models assume that parts overlap perfectly
//! inside an op, and ops not at all. The parts are drawn next to the op from its start; these models have no times of
//! parts.
//!
//! ```text
//! ops    [Q ][K ][all-gather  ] [Q ][K ][all-gather  ] …      pass 1, pass 2 …
//! MXU    [Q ][K ]               [Q ][K ]
//! ICI            [all-gather  ]         [all-gather  ]
//! ```
//!
//! All passes are drawn while there are few. Of longer blocks the first and the last
//! are, and one op for each op between them stands for all of its executions there:
//! sums stay right.

mod genz;
mod neusim;
mod timeline;

use trace_model::{Caveat, DeviceInfo, TraceBuilder};

use crate::common::csv_table::RowArgs;
use crate::common::{DetectionConfidence, ImportOptions, Importer, TraceFormat};
use crate::input::{ImportError, InputSource, Progress};

/// Tables of `NeuSim`.
#[derive(Debug)]
pub struct NeuSim;

/// Tables of `GenZ`.
#[derive(Debug)]
pub struct GenZ;

static NEUSIM: TraceFormat = TraceFormat {
    id: "neusim",
    title: "NeuSim operator CSV",
    extensions: &["csv"],
    markers: &[],
    about: "What NeuSim computes for each operator of a model on a TPU: times of its parts, FLOPs, bytes, what bounds \
            it; peaks from the JSON beside it.",
};

static GENZ: TraceFormat = TraceFormat {
    id: "genz",
    title: "GenZ operator CSV",
    extensions: &["csv"],
    markers: &[],
    about: "What GenZ computes for each operator of a model: compute, memory and communication time, FLOPs, bytes.",
};

/// Facts that cost tables do not contain.
const CANNOT_KNOW: [&str; 4] = [
    "start times of the parts of an op",
    "overlap between ops",
    "dependencies of ops",
    "directions of memory accesses",
];

/// One row of a table.
#[derive(Clone, Debug, Default, PartialEq)]
struct OpCost {
    name: String,
    /// Another name that the simulator gives it.
    description: String,
    /// The corresponding category of XLA, for the analyses.
    category: &'static str,
    /// Duration of one execution.
    time_ps: i64,
    /// Durations of the parts, in the order of [`CostedDevice::parts`].
    parts_ps: Vec<i64>,
    flops: Option<u64>,
    hbm_bytes: Option<u64>,
    /// Operands and result as HLO text, if the sizes are known.
    hlo_text: Option<String>,
    args: RowArgs,
}

/// Rows that repeat together.
#[derive(Clone, Debug, Default, PartialEq)]
struct CostBlock {
    passes: u64,
    costs: Vec<OpCost>,
}

/// A program: blocks in sequence.
#[derive(Clone, Debug, Default, PartialEq)]
struct CostedProgram {
    name: String,
    blocks: Vec<CostBlock>,
}

/// The device that runs everything.
#[derive(Clone, Debug, Default)]
struct CostedDevice {
    info: DeviceInfo,
    /// Names of the parts that work inside an op.
    parts: &'static [&'static str],
    facts: Vec<(String, String)>,
}

impl Importer for NeuSim {
    fn format(&self) -> &'static TraceFormat {
        &NEUSIM
    }

    fn detect(&self, head: &[u8]) -> DetectionConfidence {
        has_columns(head, &[b"OpType", b"Count", b"Bounded-by", b"Execution time", b"ICI/NVLink time"])
    }

    fn import(
        &self,
        source: &InputSource,
        _options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<(), ImportError> {
        let (programs, device) = neusim::read(source, progress, out)?;
        describe("NeuSim", out);
        timeline::write(programs, device, out);
        Ok(())
    }
}

impl Importer for GenZ {
    fn format(&self) -> &'static TraceFormat {
        &GENZ
    }

    fn detect(&self, head: &[u8]) -> DetectionConfidence {
        has_columns(head, &[b"Layer Name", b"Op Type", b"Bound", b"Latency (msec)", b"Num ops (MFLOP)"])
    }

    fn import(
        &self,
        source: &InputSource,
        _options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<(), ImportError> {
        let (programs, device) = genz::read(source, progress, out)?;
        describe("GenZ", out);
        timeline::write(programs, device, out);
        Ok(())
    }
}

fn describe(simulator: &str, out: &mut TraceBuilder) {
    let described = out.source_mut();
    described.simulator = Some(simulator.to_owned());
    described.caveats = vec![Caveat::Predicted];
    described.cannot_know = CANNOT_KNOW.to_vec();
}

/// Whether the first line names these columns.
fn has_columns(head: &[u8], names: &[&[u8]]) -> DetectionConfidence {
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let all = names.iter().all(|name| memchr::memmem::find(line, name).is_some());
    if all { DetectionConfidence::Certain } else { DetectionConfidence::No }
}

#[cfg(test)]
mod tests;
