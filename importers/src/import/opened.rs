//! Files that are open, and what the log says about those left out.

use std::path::PathBuf;

use importer_common::Importer;
use input::InputSource;
use input::source::file_name;
use trace_model::{IssueKind, TraceBuilder};

use super::locate::{LocatedRun, shortened};

/// A file with the importer that recognized it.
pub(super) struct OpenedFile<'a> {
    pub host: Option<&'a str>,
    pub source: InputSource,
    pub importer: &'a dyn Importer,
    /// Files with the same events in other formats, read if this one fails.
    pub others: &'a [PathBuf],
}

/// Removes files with the same content as another and logs them: one capture under two names would count as two hosts.
pub(super) fn drop_copies(opened: &mut Vec<OpenedFile<'_>>) -> Vec<String> {
    let mut notes = Vec::new();
    let mut kept: Vec<OpenedFile<'_>> = Vec::with_capacity(opened.len());
    for open in opened.drain(..) {
        let is_copy = |other: &&OpenedFile<'_>| {
            !open.importer.name_tells() && other.source.has_content_of(&open.source)
        };
        match kept.iter().find(is_copy) {
            Some(other) => {
                notes.push(format!(
                    "{} is {} under another name",
                    shown(&open.source),
                    shown(&other.source)
                ));
            }
            None => kept.push(open),
        }
    }
    *opened = kept;
    notes
}

/// The folder and name of a file, for messages.
fn shown(source: &InputSource) -> String {
    let folder = source
        .path()
        .and_then(|path| path.parent()?.file_name())
        .map(|name| name.to_string_lossy());
    folder.map_or_else(
        || source.name().to_owned(),
        |folder| format!("{folder}/{}", source.name()),
    )
}

/// Records which runs were joined, which may belong to them, and which files were copies.
pub(super) fn note_runs(builder: &mut TraceBuilder, located: &LocatedRun, same: &[String]) {
    if let (Some(run), false) = (&located.run, located.joined_runs.is_empty()) {
        builder.log(IssueKind::RunsJoined, || {
            format!("{run} with {}", located.joined_runs.join(", "))
        });
    }
    for run in &located.nearby_runs {
        builder.log(IssueKind::RunNearby, || format!("--run {run}"));
    }
    if !located.beside_runs.is_empty() {
        const SHOWN: usize = 3;
        let names = located.beside_runs.iter().map(|path| file_name(path));
        let names = shortened(names.collect(), SHOWN);
        builder.log(IssueKind::BesideRuns, || {
            format!("{}: {names}", located.beside_runs.len())
        });
    }
    for note in same {
        builder.log(IssueKind::SameContent, || note.clone());
    }
}

pub(super) fn note_what_was_left_out(
    builder: &mut TraceBuilder,
    opened: &[OpenedFile<'_>],
    skipped: &[String],
) {
    for why in skipped {
        builder.log(IssueKind::SourceSkipped, || why.clone());
    }
    for open in opened {
        for other in open.others {
            let name = file_name(other);
            builder.log(IssueKind::Duplicate, || {
                format!("{name} holds the same session as {}", open.source.name())
            });
        }
    }
}
