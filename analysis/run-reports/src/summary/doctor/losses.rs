//! What of a file could not be read.

use std::ffi::OsStr;
use std::path::Path;

use engine::{number, sentence};
use facts::prelude::*;
use trace_model::{IssueCount, IssueKind, Severity, Source};

use super::finding::CaptureFinding;

pub(super) fn unreadable_events(cx: &Context<'_>) -> Option<CaptureFinding> {
    let log = cx.model.import_log();
    let known = [
        IssueKind::ExportLimit,
        IssueKind::TruncatedFile,
        IssueKind::DroppedTraces,
    ];
    let lost = log
        .counts()
        .iter()
        .filter(|e| e.kind.severity() == Severity::Loss && !known.contains(&e.kind));
    let is_part = |entry: &&IssueCount| entry.kind == IssueKind::DamagedPart;
    let damaged = lost.clone().find(is_part);
    let events = lost.clone().filter(|entry| !is_part(entry));
    let events: u64 = events.map(|entry| entry.count).sum();
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
        message: files.unwrap_or_else(|| lost_in_words(cx, damaged, events)),
        evidence: parts.join(", "),
        cure: "See the import log for the first events of each kind.",
    })
}

/// How many events a part that was skipped held is not known, but how many bytes.
fn lost_in_words(cx: &Context<'_>, damaged: Option<&IssueCount>, events: u64) -> String {
    let lost = match events {
        1 => "one event could not be read and is missing".to_owned(),
        _ => format!(
            "{} events could not be read and are missing",
            number::count(events as f64)
        ),
    };
    let Some(damaged) = damaged else {
        return sentence(&lost);
    };
    let skipped = damaged.skipped_bytes.unwrap_or_default();
    // The size of a compressed file is not what they are a part of.
    let sources = cx.model.sources();
    let ending = |source: &Source| Path::new(&source.name).extension().map(OsStr::to_owned);
    let is_plain = |source| ending(source).is_none_or(|ending| !ending.eq_ignore_ascii_case("gz"));
    let is_plain = sources.iter().all(is_plain);
    let of = if sources.len() > 1 {
        "all files"
    } else {
        "the file"
    };
    let bytes: u64 = sources.iter().map(|source| source.packed_bytes).sum();
    let share = Percent::ratio(skipped as f64, bytes as f64)
        .filter(|share| is_plain && share.0 <= 100.0)
        .map_or_else(String::new, |share| format!(" ({share:.1} of {of})"));
    let places = match damaged.count {
        1 => "one place is damaged".to_owned(),
        count => format!("{} places are damaged", number::count(count as f64)),
    };
    let others = if events > 0 {
        format!("; besides, {lost}")
    } else {
        String::new()
    };
    sentence(&format!(
        "{places}: at least {}{share} were not read, nor the events in them{others}",
        number::value(skipped as f64, Unit::Bytes)
    ))
}
