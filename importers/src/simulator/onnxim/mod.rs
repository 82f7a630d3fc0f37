//! Logs of `ONNXim`, the cycle-level simulator of chips with several systolic arrays.
//!
//! ```text
//! Start layer Gemm_0
//! Layer Gemm_0 Core 2 Get Tile at 0                          with --log_level debug
//! Layer 9 Core 2 Finish Tile at 8580 Remain tile 2           a number instead of the name
//! Layer Gemm_0 finish at 8595
//! Total compute time 8595                                    of the line before
//! ```
//!
//! - Layers are the ops of one device, because all of its cores work at the same one.
//!   Tiles are on tracks of the cores, for display only.
//! - Schedulers of several models write `Layer MODEL Gemm_0 finish at 8595` where all other
//!   lines have the layer only.
//! - What a product of matrices costs is printed before the run, in the order of the graph,
//!   which is that of the numbers, not that in which layers run. It is believed where there
//!   are as many as layers (or as layers that are named for it), where numbers tell which is
//!   whose, or all are equal, or the log never had a choice of layers, and if none is
//!   shorter than it can be.
//! - The log has peaks, but its clock is in the configuration (JSON). What the user names
//!   comes first, then a configuration beside the log that makes the same peak and whose
//!   clock the end of the log allows; else the clock follows, less exactly, from that end.
//! - Utilization of the cores is printed now and then, each time of the time since; the
//!   last line is of all of the run.
//! - A log that ends while all cores stand still and layers are unfinished is one of a run
//!   that hangs, and says so.
//!
//! Ignored: instruction counts, channels of the DRAM one by one, the mapping of products
//! to tiles.
//!
//! Written from the output of a version of 2025 and from its messages in the source of
//! other versions.

mod config;
mod line;
mod run;
mod timeline;

use trace_model::{IssueKind, TraceBuilder};

use crate::common::{DetectionConfidence, ImportOptions, Importer, TraceFormat};
use crate::input::{ImportError, InputSource, Progress, lines};
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
        let has = |text: &[u8]| memchr::memmem::find(head, text).is_some();
        let of_layers = (has(b"] Layer ") || has(b"\nLayer ")) && (has(b" finish at ") || has(b" Get Tile at "));
        if has(b"Systolic Array Throughput: ") || of_layers {
            DetectionConfidence::Certain
        } else {
            DetectionConfidence::No
        }
    }

    fn import(
        &self,
        source: &InputSource,
        options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<(), ImportError> {
        let mut runs = OnnximRuns::default();
        let seen = lines::read(source, progress, |line| {
            runs.add(line, source.name(), out);
            Ok(())
        })?;
        seen.log(source.name(), out);
        let OnnximRuns { last: run, earlier } = runs;
        if run.is_empty() {
            return Err(nothing_ran(&run));
        }
        if earlier > 0 {
            out.log(IssueKind::Duplicate, || format!("{earlier} earlier runs in the same log; the last one is shown"));
        }
        if run.is_stuck() {
            let at = run.now;
            out.log(IssueKind::ProfilerError, || {
                format!(
                    "the run hangs: the log ends at cycle {at} with all cores idle and layers unfinished (a deadlock)"
                )
            });
        } else if run.ended.is_none() {
            out.log(IssueKind::TruncatedFile, || "the log ends before the run does".to_owned());
        }
        let described = out.source_mut();
        described.simulator = Some("ONNXim".to_owned());
        described.cannot_know = CANNOT_KNOW.to_vec();
        let config = config::find(source.path(), &run, out);
        timeline::write(&run, config.as_ref(), options.clock_mhz, out);
        Ok(())
    }
}

fn nothing_ran(run: &OnnximRun) -> ImportError {
    let what = if run.is_stuck() {
        "the run hangs: all cores are idle and no layer was ever begun (a deadlock)"
    } else if run.ended.is_some() {
        "the run ended, but the log names no layer: log with --log_level info or debug"
    } else {
        "no layer begins or ends in it: let the simulation run on, and log with --log_level info or debug"
    };
    ImportError::Unusable { format: FORMAT.title, what: what.to_owned() }
}

#[cfg(test)]
mod tests;
