//! What of a file could not be read.

use std::ffi::OsStr;
use std::path::Path;

use engine::{number, sentence};
use facts::prelude::*;
use trace_model::{IssueCount, IssueKind, Severity, Source};

use super::finding::CaptureFinding;

/// Skipped bytes of at most this part of the files are few.
const FEW_BYTES: Percent = Percent(0.1);

fn losses(model: &TraceModel) -> impl Iterator<Item = &IssueCount> + Clone {
    model
        .import_log()
        .counts()
        .iter()
        .filter(|entry| entry.kind.severity() == Severity::Loss)
}

/// Whether what the import lost is too little to affect the figures: at most one event per thousand slices, and few bytes.
/// Of the end of a file, and of what the profiler lost, it is not known how much it is.
pub fn is_little_lost(model: &TraceModel) -> bool {
    const ONE_IN: u64 = 1000;
    let mut lost = losses(model).peekable();
    let is_known = lost.peek().is_some();
    let mut events = 0_u64;
    let are_few = lost.all(|entry| match entry.kind {
        IssueKind::TruncatedFile | IssueKind::ContentAfterEnd => false,
        IssueKind::DamagedPart => skipped(model, entry).is_some_and(|share| share <= FEW_BYTES),
        _ => {
            events = events.saturating_add(entry.count);
            events.saturating_mul(ONE_IN) <= model.slice_count() as u64
        }
    });
    is_known && are_few
}

/// The skipped part of all files; `None` where it is not known, as of compressed files.
fn skipped(model: &TraceModel, damaged: &IssueCount) -> Option<Percent> {
    let sources = model.sources();
    let ending = |source: &Source| Path::new(&source.name).extension().map(OsStr::to_owned);
    let bytes: u64 = sources.iter().map(|source| source.packed_bytes).sum();
    Percent::ratio(damaged.skipped_bytes? as f64, bytes as f64).filter(|share| {
        sources
            .iter()
            .all(|source| ending(source).is_none_or(|ending| !ending.eq_ignore_ascii_case("gz")))
            && share.0 <= 100.0
    })
}

pub(super) fn unreadable_events(cx: &Context<'_>) -> Option<CaptureFinding> {
    let log = cx.model.import_log();
    let known = [
        IssueKind::ExportLimit,
        IssueKind::TruncatedFile,
        IssueKind::DroppedTraces,
    ];
    let lost = losses(cx.model).filter(|entry| !known.contains(&entry.kind));
    let of_kind = |kind| lost.clone().find(|entry| entry.kind == kind);
    let damaged = of_kind(IssueKind::DamagedPart);
    let rest = of_kind(IssueKind::ContentAfterEnd);
    let events: u64 = lost
        .clone()
        .filter(|entry| ![damaged, rest].contains(&Some(entry)))
        .map(|entry| entry.count)
        .sum();
    let parts: Vec<String> = lost
        .map(|entry| format!("{} × {}", entry.count, entry.kind.id()))
        .collect();
    let skipped = log
        .counts()
        .iter()
        .find(|entry| entry.kind == IssueKind::SourceSkipped);
    let files = skipped.map(|entry| {
        let first = entry.examples.first().map_or("", String::as_str);
        let more = if entry.count > 1 {
            format!(", and {} more", entry.count - 1)
        } else {
            String::new()
        };
        format!("A part of the run could not be read, and all sums lack it: {first}{more}.")
    });
    (!parts.is_empty()).then(|| CaptureFinding {
        id: "Q12",
        name: "unreadable-events",
        severity: Severity::Loss,
        message: files.unwrap_or_else(|| lost_in_words(cx.model, (damaged, rest), events)),
        evidence: parts.join(", "),
        cure: "See the import log for the first events of each kind.",
    })
}

/// How many events a part that was skipped, or what follows the end of a document, held is not known; of the former, how
/// many bytes.
fn lost_in_words(
    model: &TraceModel,
    (damaged, rest): (Option<&IssueCount>, Option<&IssueCount>),
    events: u64,
) -> String {
    let events = match events {
        0 => None,
        1 => Some("one event could not be read and is missing".to_owned()),
        _ => Some(format!(
            "{} events could not be read and are missing",
            number::count(events as f64)
        )),
    };
    let damaged = damaged.map(|damaged| {
        let of = if model.sources().len() > 1 {
            "all files"
        } else {
            "the file"
        };
        let share = skipped(model, damaged)
            .map_or_else(String::new, |share| format!(" ({share:.1} of {of})"));
        let places = match damaged.count {
            1 => "one place is damaged".to_owned(),
            count => format!("{} places are damaged", number::count(count as f64)),
        };
        let bytes = number::value(
            damaged.skipped_bytes.unwrap_or_default() as f64,
            Unit::Bytes,
        );
        format!("{places}: at least {bytes}{share} were not read, nor the events in them")
    });
    let rest = rest.map(|_| "what follows the end of the document was not read".to_owned());
    sentence(&joined(
        [damaged, rest, events].into_iter().flatten(),
        "; besides, ",
    ))
}
