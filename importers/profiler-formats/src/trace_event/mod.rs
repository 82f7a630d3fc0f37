//! Trace-event JSON: exports of XProf and JAX, responses of XProf's viewer, and traces of any other program for
//! Chrome's trace viewer.
//!
//! ```text
//! source ─ windows ─▶ document ─ events ─▶ phases ─▶ collect ─▶ convert ─▶ TraceBuilder
//!  (inflate thread)   (JSON around)  event │          (state)   (names known)
//!                                    facts ┘
//! ```
//!
//! Format: "Trace Event Format" (Chromium project) and the two dialects of
//! `xla/tsl/profiler/convert/trace_events_to_json` and of XProf's trace viewer.
//! Read: phases X, B/E, b/n/e, S/T/p/F, C, M, i/I/R, s/t/f, `bind_id`, stack
//! frames. Ignored, and counted: N/D/O objects, P samples, c clock syncs, v/V
//! memory dumps, and data of other recorders next to the events (V8's `samples`,
//! ftrace). Arguments stay in the file, except for facts of ops and executions.
//! Times are exact: decimal microseconds are converted to picoseconds.

mod args;
mod asynchronous;
mod collect;
mod convert;
mod counters;
mod dialects;
mod document;
mod event;
mod facts;
mod flows;
mod json;
mod metadata;
mod names;
mod number;
mod ops;
mod phases;
mod places;
mod repeats;
mod stack;
mod threads;

use importer_common::prelude::*;
use input::SharedBytes;
use input::sniffing::contains;
use input::source::{HEAD_BYTES, NOT_GZIP};
use trace_model::ArgSource;

use collect::EventCollector;
use document::DocumentReader;

pub(crate) use document::FORMAT;

/// The importer of this module.
#[derive(Debug)]
pub struct TraceEventJson;

impl Importer for TraceEventJson {
    fn format(&self) -> &'static TraceFormat {
        &FORMAT
    }

    fn detect(&self, head: &[u8]) -> DetectionConfidence {
        let is_cut = head.len() >= HEAD_BYTES;
        let head = head
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(head)
            .trim_ascii_start();
        let has = |text: &[u8]| contains(head, text);
        match head.first() {
            Some(b'{') if has(b"\"traceEvents\"") => DetectionConfidence::Certain,
            Some(b'{') if OTHER_KEYS.iter().any(|key| has(key)) => DetectionConfidence::Possible,
            // The members before the events can have any length.
            Some(b'{') if is_cut && head[1..].trim_ascii_start().starts_with(b"\"") => {
                DetectionConfidence::Possible
            }
            Some(b'[') => match head[1..].trim_ascii_start() {
                [b'{', ..] if has(b"\"ph\"") => DetectionConfidence::Certain,
                [] | [b']', ..] => DetectionConfidence::Possible,
                _ => DetectionConfidence::No,
            },
            _ => DetectionConfidence::No,
        }
    }

    fn import(
        &self,
        source: &InputSource,
        options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<()> {
        let roles = options
            .roles
            .clone()
            .or_else(|| dialects::of_head(source.head()));
        let mut collector = EventCollector::new(out, roles);
        let mut document = DocumentReader::new();
        let fed = source.feed(progress, |window, last| {
            document.consume(window, last, &mut collector)
        })?;
        finish(&document, collector, fed.damage, source)
    }

    fn reopen_args(
        &self,
        source: &InputSource,
        _content: &dyn Fn() -> Option<SharedBytes>,
        state: &[u8],
    ) -> Option<Arc<dyn ArgSource>> {
        args::JsonArgs::reopen(source, state).map(|args| Arc::new(args) as _)
    }
}

/// Builds the model, or returns why there is none.
fn finish(
    document: &DocumentReader,
    mut collector: EventCollector<'_>,
    damage: Option<String>,
    source: &InputSource,
) -> Result<()> {
    let offset = document.seen();
    if !document.found_events() {
        if damage.is_none() && document.is_complete() {
            let what = "the JSON document is complete, but has no array \"traceEvents\"";
            return Err(FORMAT.unusable(what));
        }
        let what = damage.unwrap_or_else(|| "the file ends without an array of events".into());
        return Err(FORMAT.malformed(offset, what));
    }
    if let Some(damage) = damage {
        let follows = document.is_complete() && damage == NOT_GZIP;
        collector.is_cut = !document.is_past_events();
        let kind = if follows {
            IssueKind::ContentAfterEnd
        } else {
            IssueKind::TruncatedFile
        };
        collector.log(kind, || damage);
    } else if document.is_truncated() {
        collector.is_cut = !document.is_past_events();
        collector.log(IssueKind::TruncatedFile, || {
            format!("the file ends at byte {offset}, inside a value")
        });
    }
    convert::convert(collector, source);
    Ok(())
}

/// Keys that may precede the events, for files whose head shows no events.
const OTHER_KEYS: &[&[u8]] = &[
    b"\"displayTimeUnit\"",
    b"\"stackFrames\"",
    b"\"highres-ticks\"",
    b"\"useNewBackend\"",
    b"\"returnedEventsSize\"",
    b"\"fullTimespan\"",
    b"\"deviceProperties\"",
];

#[cfg(test)]
mod tests;
