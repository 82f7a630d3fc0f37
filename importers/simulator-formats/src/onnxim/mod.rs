//! Logs of `ONNXim`, the cycle-level simulator of chips with several systolic arrays.
//!
//! ```text
//! Start layer Gemm_0
//! Layer Gemm_0 Core 2 Get Tile at 0                          with --log_level debug
//! Layer 9 Core 2 Finish Tile at 8580 Remain tile 2           a number instead of the name
//! Layer Gemm_0 finish at 8595
//! Total compute time 8595                                    of the layer in the previous line
//! ```
//!
//! - Layers are the ops of one device, because all of its cores work on the same layer.
//!   Tiles are on tracks of the cores, for display only.
//! - Schedulers of several models write `Layer MODEL Gemm_0 finish at 8595`; all other
//!   lines contain only the layer.
//! - The costs of matrix products are printed before the run, in graph order, which is the
//!   order of the layer numbers but not the order of execution. They are used only if their
//!   number equals that of the layers (or of the layers named as products), if the mapping
//!   to layers is certain (by layer numbers, because all products are equal, or because only
//!   one layer at a time could be started), and if no layer is shorter than its minimum time.
//! - The log has peaks, but the clock is in the configuration (JSON). A clock from the user
//!   has priority, then a configuration next to the log with the same peak and a clock that
//!   is consistent with the end of the log. Otherwise the clock follows, less exactly, from
//!   that end.
//! - Utilization of the cores is printed at intervals, each time for the time since the
//!   previous line; the last line is for the whole run.
//! - If a log ends while all cores are idle and layers are unfinished, the run hangs, and
//!   the import log reports this.
//!
//! Ignored: instruction counts, individual DRAM channels, and the mapping of products to
//! tiles.
//!
//! Written from the output of a version of 2025, and from the messages in the source code
//! of other versions.

mod config;
mod labels;
mod line;
mod run;
mod timeline;

use importer_common::prelude::*;
use importer_common::simulated::{describe, log_earlier_runs, log_unended_run, read_log};
use input::sniffing::contains;
use trace_model::Caveat;

use run::{OnnximRun, OnnximRuns};

/// The importer of this module.
#[derive(Debug)]
pub struct OnnxIm;

static FORMAT: TraceFormat = TraceFormat {
    id: "onnxim",
    title: "ONNXim log",
    extensions: &["log", "txt"],
    markers: &[],
    about: "What ONNXim prints of a run (tiles with --log_level debug): layers, FLOPs, bytes, tiles and utilization of \
            each core; the clock from the configuration (JSON) beside it, or --clock.",
};

/// Facts that the log does not contain.
const CANNOT_KNOW: [&str; 4] = [
    "actual DRAM traffic of layers",
    "DRAM utilization over time",
    "dependencies of layers",
    "directions of memory accesses",
];

impl Importer for OnnxIm {
    fn format(&self) -> &'static TraceFormat {
        &FORMAT
    }

    fn detect(&self, head: &[u8]) -> DetectionConfidence {
        let has = |text: &[u8]| contains(head, text);
        let of_layers = (has(b"] Layer ") || has(b"\nLayer "))
            && (has(b" finish at ") || has(b" Get Tile at "));
        let is_log = has(b"Systolic Array Throughput: ") || of_layers;
        DetectionConfidence::certain_if(is_log)
    }

    fn beside(&self, _name: &str) -> Vec<String> {
        vec!["*.json".to_owned()]
    }

    fn import(
        &self,
        source: &InputSource,
        options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<()> {
        let mut runs = OnnximRuns::default();
        read_log(source, progress, out, |message, out| runs.add(message, out))?;
        let OnnximRuns { last: run, earlier } = runs;
        if run.is_empty() {
            return Err(FORMAT.unusable(nothing_ran(&run)));
        }
        log_earlier_runs(earlier, out);
        if run.is_stuck() {
            let last_cycle = run.now;
            out.log(IssueKind::ProfilerError, || {
                format!(
                    "the run hangs: the log ends at cycle {last_cycle} with all cores idle and layers unfinished (a deadlock)"
                )
            });
        } else if run.ended.is_none() {
            log_unended_run(out);
        }
        describe("ONNXim", &CANNOT_KNOW, out);
        // Each operand counts once, however often tiles read it.
        out.source_mut().caveats.push(Caveat::LeastBytes);
        let config = config::find(source, &run, out);
        timeline::write(&run, config.as_ref(), options.clock_mhz, out);
        Ok(())
    }
}

/// Why a run without layers cannot be shown.
fn nothing_ran(run: &OnnximRun) -> &'static str {
    if run.is_stuck() {
        "the run hangs: all cores are idle and no layer ever started (a deadlock)"
    } else if run.ended.is_some() {
        "the run ended, but the log names no layer: log with --log_level info or debug"
    } else {
        "no layer starts or ends in it: let the simulation run longer, and log with --log_level info or debug"
    }
}

#[cfg(test)]
mod tests;
