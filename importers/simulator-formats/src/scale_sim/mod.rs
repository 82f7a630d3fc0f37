//! Output directories of SCALE-Sim v2 and v3, the cycle-accurate simulator of one
//! systolic array.
//!
//! ```text
//! DRAM read   [ifmap][filter]                               negative cycles
//! array                      [ layer 0        ]             from cycle 0 of the layer
//! DRAM write                                   [ofmap]
//! next layer                                          [...
//! ```
//!
//! - Every layer counts cycles from its own first compute cycle. Layers are drawn one
//!   after the other, because the simulator models no overlap between them.
//! - The array has no clock; [`ImportOptions::clock_mhz`] gives the length of a cycle.
//! - Utilization × cycles × array size is the number of multiplications. The array size
//!   is in the configuration, which is searched next to and above the reports, or follows
//!   from the topology. Both are used only if the numbers of all layers agree.
//! - The counts of v3 include cells of its DRAM traces without an address. If the trace
//!   exists, its words are counted again (in pieces, because it can have gigabytes);
//!   otherwise counts above those of the SRAM are left out.
//!
//! Ignored: `BANDWIDTH_REPORT.csv` (averages of the data that is read here), SRAM traces,
//! and `SPARSE_REPORT.csv` (storage without times).
//!
//! Written from the output of SCALE-Sim 3.0.0 and of v2 at commit 22f88b1.

mod dram_trace;
mod inputs;
mod layer;
mod layers;
mod timeline;

use importer_common::csv_table::CsvTable;
use importer_common::prelude::*;
use importer_common::simulated::describe;
use input::sniffing::contains;

/// The importer of this module.
#[derive(Debug)]
pub struct ScaleSim;

static FORMAT: TraceFormat = TraceFormat {
    id: "scale-sim",
    title: "SCALE-Sim reports",
    extensions: &["csv"],
    markers: &[REPORT],
    about: "Output directories of SCALE-Sim v2 and v3: layers on a systolic array, DRAM traffic, utilization; \
            name the clock with --clock.",
};

/// The report that every run has.
const REPORT: &str = "COMPUTE_REPORT.csv";

/// Facts that the reports do not contain.
const CANNOT_KNOW: [&str; 3] = [
    "times of stalls inside a layer",
    "peak DRAM bandwidth",
    "dependencies of layers",
];

impl Importer for ScaleSim {
    fn format(&self) -> &'static TraceFormat {
        &FORMAT
    }

    fn detect(&self, head: &[u8]) -> DetectionConfidence {
        let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let has = |text: &[u8]| contains(line, text);
        let is_report = line.starts_with(b"LayerID,")
            && (has(b"Total Cycles") || has(b"SRAM") || has(b"Storage"));
        DetectionConfidence::certain_if(is_report)
    }

    /// DRAM traces, which can have gigabytes, are not among them.
    fn beside(&self, _name: &str) -> Vec<String> {
        inputs::near()
    }

    fn import(
        &self,
        source: &InputSource,
        options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<()> {
        let mut compute = CsvTable::read(source, FORMAT.title, progress, out)?;
        if !compute.has("Total Cycles")
            && let Some(beside) = source.beside(REPORT)
        {
            // The user named another report of the run.
            compute = CsvTable::read(&beside, FORMAT.title, progress, out)?;
        }
        let access = source.beside("DETAILED_ACCESS_REPORT.csv");
        let access = access
            .map(|source| CsvTable::read(&source, FORMAT.title, progress, out))
            .transpose()?;
        let mut layers = layers::read(&compute, access.as_ref(), out)?;
        let inputs = inputs::find(source, &layers);
        layers::name(&mut layers, inputs.topology.as_ref());
        dram_trace::count(source, &mut layers, progress, out)?;
        layers::leave_out_padded(&mut layers, out);
        let is_v3 = compute.has(layers::WITH_PREFETCH);
        let simulator = if is_v3 {
            "SCALE-Sim v3"
        } else {
            "SCALE-Sim v2"
        };
        describe(simulator, &CANNOT_KNOW, out);
        timeline::write(&layers, &inputs, options.clock_mhz, out);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
