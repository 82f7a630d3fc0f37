//! Logs of JAX programs with `jax_log_compiles`: what was compiled, how long that took, whether the persistent cache had
//! it, and why it was traced again.
//!
//! ```text
//! TRACING CACHE MISS at train.py:18:21 (main):                 jax_explain_cache_misses
//!   for train_step defined at train.py:11
//!   different input types:
//!   * at x, now f32[16,64] and before f32[8,64]
//! Finished tracing train_step for jit in 0.009 sec             jax_log_compiles
//! Compiling jit(train_step) with global shapes and types (ShapedArray(float32[16,64]),). Argument mapping: …
//! Finished jaxpr to MLIR module conversion jit(train_step) in 0.012 sec
//! Persistent compilation cache hit for 'jit_train_step' with key 'jit_train_step-0123…'
//! Finished XLA compilation of jit(train_step) in 0.015 sec
//! ```
//!
//! - A phase is logged when it ends, so it is drawn from its length before the time of its line. Lines have a time only
//!   if the logger of the program writes one; without it, phases are drawn one after another in their order, and what
//!   was compiled while another function was traced counts in the time of both.
//! - With messages of level DEBUG, the log contains hashes of the parts of each cache key.
//! - Launchers put the name of a process before each line: each process has a track.
//! - Everything else in the log is passed over.
//!
//! Written from logs of JAX 0.10 and the messages in the sources of earlier versions.

mod collect;
mod line;
mod timeline;

use importer_common::prelude::*;
use input::lines;
use input::sniffing::{contains, is_python};

use collect::LogCollector;
use line::LogLine;

/// The importer of this module.
#[derive(Debug)]
pub struct JaxLog;

static FORMAT: TraceFormat = TraceFormat {
    id: "jax-log",
    title: "JAX log",
    extensions: &["log", "txt"],
    markers: &[],
    about: "What a JAX program logs with jax_log_compiles: tracing, lowering and compiling of each function, use of the \
            persistent cache, and with jax_explain_cache_misses why a function was traced again.",
};

impl Importer for JaxLog {
    fn format(&self) -> &'static TraceFormat {
        &FORMAT
    }

    fn detect(&self, head: &[u8]) -> DetectionConfidence {
        let has = |texts: &[&str]| texts.iter().any(|text| contains(head, text.as_bytes()));
        if has(&SURE) {
            DetectionConfidence::Certain
        } else if has(&HINTS) && !head.contains(&0) && !is_python(head) {
            DetectionConfidence::Possible
        } else {
            DetectionConfidence::No
        }
    }

    fn import(
        &self,
        source: &InputSource,
        _options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<()> {
        let mut log = LogCollector::default();
        let seen = lines::read(source, progress, |line| {
            if let Some(line) = LogLine::parse(line.message) {
                log.add(&line);
            }
            Ok(())
        })?;
        seen.log(source.name(), out);
        if log.phases == 0 {
            return Err(FORMAT.unusable(
                "no compilation is logged in it: run the program with JAX_LOG_COMPILES=1",
            ));
        }
        if log.without_time > 0 {
            let what = || {
                format!(
                    "{} of {} phases have no time: they are drawn one after another",
                    log.without_time, log.phases
                )
            };
            out.log(IssueKind::AssumedClock, what);
        }
        let first = log.first.filter(|first| first.has_year);
        let about = out.source_mut();
        about.started_unix_ns = first.map(|first| first.ns);
        about.cannot_know = CANNOT_KNOW.to_vec();
        for (writer, programs) in log.finish() {
            progress.check()?;
            timeline::write(&writer, &programs, out);
        }
        Ok(())
    }
}

/// What only such a log has.
const SURE: [&str; 5] = [
    "Finished tracing ",
    "Finished jaxpr to MLIR module conversion ",
    "Finished XLA compilation of ",
    "TRACING CACHE MISS at ",
    "ersistent compilation cache hit for ",
];

/// What the beginning of such a log often has.
const HINTS: [&str; 4] = ["jax._src.", "xla_bridge.py", "import jax", "JAX_"];

/// Facts that the log does not contain.
const CANNOT_KNOW: [&str; 4] = [
    "executions",
    "steps",
    "devices",
    "the time zone of its clock",
];

#[cfg(test)]
mod tests;
