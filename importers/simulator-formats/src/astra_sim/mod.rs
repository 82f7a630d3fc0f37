//! Logs of ASTRA-sim 2 (`log/log.log`, written if the system configuration contains
//! `"trace-enabled": 1`): when each node of each NPU started and ended.
//!
//! - Ticks are nanoseconds, although the log calls them cycles.
//! - The file is rotated at 10 MiB (`log.1.log` is older than `log.log`). A second run
//!   appends to the log of the first; only the last run is read.
//! - Compute nodes become the ops of a device, all other nodes become spans in flight.
//!   While nothing computes and transfers are in flight, the device waits for the one
//!   that ends first; these waits are derived here and marked as reconstructed.
//! - The peaks of the device follow from the roofline of its compute nodes: the log has
//!   a rate and its share of the peak.
//! - The log has no message sizes and no dependencies. They are read from the Chakra
//!   graphs of the run (`<prefix>.<rank>.et`), if these are next to the log or in its
//!   parent directory and all nodes agree.
//!
//! - The network is read from a configuration (YAML) in the same places, if it has the same
//!   number of NPUs: rings of equal links become links of the devices.
//!
//! The lines of nodes alone, as the timeline visualizer reads them, are whole if each node ends.
//!
//! Ignored: the log's description of the topology.
//!
//! Written from the output of ASTRA-sim 2 with its analytical network, July 2025.

mod line;
mod network;
mod nodes;
mod write;

use importer_common::prelude::*;
use importer_common::simulated::{describe, log_earlier_runs};
use input::lines;
use input::sniffing::contains;

use nodes::{AstraSimRun, AstraSimRuns};

/// The importer of this module.
#[derive(Debug)]
pub struct AstraSim;

static FORMAT: TraceFormat = TraceFormat {
    id: "astra-sim",
    title: "ASTRA-sim log",
    extensions: &["log"],
    markers: &["log/log.log", "log.log"],
    about: "Trace log of an ASTRA-sim 2 run (log/log.log): compute and communication of each NPU.",
};

/// Maximum number of parts of a rotated log.
const MAX_PARTS: usize = 1000;

impl Importer for AstraSim {
    fn format(&self) -> &'static TraceFormat {
        &FORMAT
    }

    fn detect(&self, head: &[u8]) -> DetectionConfidence {
        let has = |text: &[u8]| contains(head, text);
        if has(b",sys->id=") && has(b"node->name=") {
            DetectionConfidence::Certain
        } else if has(b"[system::topology::") || (has(b"[statistics]") && has(b"sys[")) {
            // The description of a large system is longer than the head.
            DetectionConfidence::Possible
        } else {
            DetectionConfidence::No
        }
    }

    fn beside(&self, name: &str) -> Vec<String> {
        let parts = name
            .strip_suffix(".log")
            .map(|stem| format!("{stem}.*.log"));
        let inputs = [
            "*.yml",
            "*.yaml",
            "*.et",
            "../*.yml",
            "../*.yaml",
            "../*.et",
        ]
        .map(str::to_owned);
        parts.into_iter().chain(inputs).collect()
    }

    fn import(
        &self,
        source: &InputSource,
        _options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<()> {
        let mut runs = AstraSimRuns::default();
        for name in older_parts(source) {
            // One part at a time, because all parts may not fit into memory.
            match source.beside(&name) {
                Some(part) => read_part(&part, &mut runs, progress, out)?,
                None => out.log(IssueKind::SourceSkipped, || {
                    format!("{name}: an older part of the log, which cannot be opened")
                }),
            }
        }
        read_part(source, &mut runs, progress, out)?;
        log_earlier_runs(runs.earlier, out);
        if runs.last.is_empty() && source.has_beside(TRACE) {
            let what = format!(
                "it is what the simulator printed; its trace is {TRACE} beside it: open that, or the folder"
            );
            return Err(FORMAT.unusable(what));
        }
        if runs.last.is_empty() {
            return Err(FORMAT.malformed(0, untraced(&runs.last)));
        }
        let cannot_know = ["steps", "directions of memory accesses"];
        describe("ASTRA-sim", &cannot_know, out);
        write::write(runs.last, source, progress, out)
    }
}

/// Where the simulator writes the log of a run, below the folder where it starts.
const TRACE: &str = "log/log.log";

/// The older parts of a rotated log, oldest first.
fn older_parts(source: &InputSource) -> Vec<String> {
    let Some(stem) = source.name().strip_suffix(".log") else {
        return Vec::new();
    };
    let names = (1..MAX_PARTS).map(|number| format!("{stem}.{number}.log"));
    let mut parts: Vec<String> = names.take_while(|name| source.has_beside(name)).collect();
    parts.reverse();
    parts
}

fn read_part(
    part: &InputSource,
    runs: &mut AstraSimRuns,
    progress: &Progress,
    out: &mut TraceBuilder,
) -> Result<()> {
    let content = part.content(progress)?;
    let (name, bytes) = (part.name(), (*content.bytes).as_ref());
    let is_damaged = content.damage.is_some();
    if let Some(damage) = content.damage {
        out.log(IssueKind::TruncatedFile, || format!("{name}: {damage}"));
    }
    let mut begin = 0;
    let mut whole = 0;
    for (number, end) in memchr::memchr_iter(b'\n', bytes).enumerate() {
        if number % 4096 == 0 {
            progress.check()?;
        }
        let text = String::from_utf8_lossy(bytes.get(begin..end).unwrap_or_default());
        if let Some(line) = line::parse(&text) {
            runs.add(line, out).map_err(|what| {
                let what = format!("line {} of {name}: {what}", number + 1);
                FORMAT.malformed(begin as u64, what)
            })?;
        }
        (begin, whole) = (end + 1, number as u64 + 1);
    }
    // The logger ends every line, so a number in an unterminated line may be cut.
    if !is_damaged
        && bytes
            .get(begin..)
            .is_some_and(|rest| !rest.trim_ascii().is_empty())
    {
        lines::log_unended(name, whole + 1, out);
    }
    Ok(())
}

/// Why a run without nodes cannot be shown.
fn untraced(run: &AstraSimRun) -> &'static str {
    if run.is_finished() {
        "the run ended, but none of its nodes was traced: set \"trace-enabled\": 1 in the system configuration"
    } else {
        "no node starts or ends in it"
    }
}

#[cfg(test)]
mod tests;
