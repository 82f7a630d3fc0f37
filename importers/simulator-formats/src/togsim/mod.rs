//! Logs of `TOGSim`, the timing simulator of `PyTorchSim`, written with
//! `--log_level trace`.
//!
//! ```text
//! [Config/Core] Core 0: core_freq_mhz: 940, systolic_arrays_per_core: 2
//! [100][Core 0][INST_ISSUED    ][INST_ID=7] MOVIN (addr_name=arg0 …)
//! [180][Core 0][INST_FINISHED  ][INST_ID=7] MOVIN (addr_name=arg0 …)
//! [181][Core 0][INST_ISSUED    ][INST_ID=8] COMP (compute_type=1 … sa=0 …)
//! [Scheduler 0] Kernel 0 has completed - … operation: gemm finished at cycle 400
//! ```
//!
//! - Each core is a device. The instructions of its compute units become ops. Units work in
//!   parallel, but ops of a device must not overlap: an instruction that starts while another
//!   one runs is shown from the end of that one, and not at all if it ends earlier; the import
//!   counts both cases. Each unit also has a track of its own that analyses ignore. If nothing
//!   computes while a load or store is in flight, the core waits; these waits are derived here
//!   and marked as reconstructed.
//! - The newer generation of the simulator numbers instructions. The older one gives the end
//!   of a computation at its issue, and loads end in the order in which they started.
//! - Operators (kernels) are the programs of every core. If cores and kernels are too many,
//!   only the first cores have them.
//! - Statistics of the cores are printed at intervals and at the end. They refer to the whole
//!   run only if the run finished.
//! - Logs of the newer generation contain the clock; for other logs, `--clock` gives it.
//!
//! Ignored: barriers, tiles, activity of caches and memory channels.
//!
//! No log of this simulator was available: the importer was written from the messages in the
//! simulator's source code, and is tested with lines in the same format.

mod line;
mod run;
mod timeline;

use importer_common::cycles::CycleClock;
use importer_common::prelude::*;
use importer_common::simulated::{describe, log_unended_run, read_log};
use input::sniffing::contains;

use run::TogSimRun;

/// The importer of this module.
#[derive(Debug)]
pub struct TogSim;

static FORMAT: TraceFormat = TraceFormat {
    id: "togsim",
    title: "PyTorchSim log",
    extensions: &["log", "txt"],
    markers: &[],
    about: "What PyTorchSim's TOGSim prints of a run with --log_level trace: what each core computes, loads and stores, \
            and what it waits for; operators.",
};

/// Facts that the log does not contain.
const CANNOT_KNOW: [&str; 5] = [
    "operations",
    "bytes transferred",
    "peaks",
    "dependencies of instructions",
    "durations of overlapping ops (times of ops are shares of the core: one op at a time)",
];

impl Importer for TogSim {
    fn format(&self) -> &'static TraceFormat {
        &FORMAT
    }

    fn detect(&self, head: &[u8]) -> DetectionConfidence {
        let has = |text: &[u8]| contains(head, text);
        let is_log = has(b"][INST_ISSUED") || has(b"[TOGSim]") || has(b"[Config/Core] Core ");
        DetectionConfidence::certain_if(is_log)
    }

    fn import(
        &self,
        source: &InputSource,
        options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<()> {
        let mut run = TogSimRun::default();
        read_log(source, progress, out, |message, out| run.add(message, out))?;
        if run.cores.values().all(|core| core.spans.is_empty()) {
            let what = "no instruction is issued in it: run the simulator with --log_level trace";
            return Err(FORMAT.unusable(what));
        }
        if run.ended.is_none() {
            log_unended_run(out);
        }
        describe("PyTorchSim", &CANNOT_KNOW, out);
        let clock = options.clock_mhz.or(run.mhz).map(|mhz| CycleClock { mhz });
        let from = if options.clock_mhz.is_some() {
            "named"
        } else {
            "the log"
        };
        let clock_fact = match clock {
            Some(CycleClock { mhz }) => format!("{mhz} MHz ({from})"),
            None => "not known; a cycle is 1 ns here".to_owned(),
        };
        out.source_mut()
            .facts
            .push(("clock".to_owned(), clock_fact));
        if clock.is_none() {
            let why =
                "a cycle is shown as a nanosecond: give the clock with --clock, 940MHz for TPU v3";
            out.log(IssueKind::AssumedClock, || why.to_owned());
        }
        timeline::write(&run, clock.unwrap_or(CycleClock::NONE), progress, out)
    }
}

#[cfg(test)]
mod tests;
