//! Models that go through a snapshot, of every kind of file.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use importers::{InputSource, Progress, from_snapshot, import};
use trace_model::{ProgramBytes, SliceRef, TraceModel};

use crate::common::corpus;

/// Files of a format to try; the arguments of larger ones take long to read in a debug build.
const FILES_OF_A_FORMAT: usize = 4;
const MAX_BYTES: u64 = 400_000;

fn files_below(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => files_below(&path, into),
            Ok(metadata) if metadata.len() < MAX_BYTES => into.push(path),
            _ => {}
        }
    }
}

/// Everything that a model says.
fn lines(model: &TraceModel) -> impl Iterator<Item = String> {
    let facts = format!(
        "{:?} {:?} {:?}",
        model.sources(),
        model.groups(),
        model.import_log()
    );
    let static_facts = format!(
        "{:?} {:?} {:?}",
        model.labels(),
        model.ops(),
        model.aggregates()
    );
    let counters = format!("{:?} {:?}", model.counters(), model.flows());
    let programs = model
        .programs()
        .iter()
        .map(|program| format!("{:?}", program.hlo.as_ref().map(ProgramBytes::bytes)));
    let slices = model.all_slices().map(|slice| {
        let parent = slice.parent().map(SliceRef::id);
        let children = slice.children().count();
        let times = (slice.range(), slice.device_range(), slice.self_dur());
        format!(
            "{} {:?} {parent:?} {children} {times:?} {:?}",
            slice.name(),
            slice.track(),
            slice.args()
        )
    });
    [facts, static_facts, counters]
        .into_iter()
        .chain(programs)
        .chain(slices)
}

#[test]
fn models_survive_with_their_arguments() {
    let Some(corpus) = corpus() else { return };
    let mut files = Vec::new();
    files_below(&corpus, &mut files);
    files.sort();
    let mut tried: BTreeMap<&str, usize> = BTreeMap::new();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Ok(source) = InputSource::from_bytes(name, fs::read(&path).unwrap()) else {
            continue;
        };
        let Ok(model) = import(&source, &Progress::new()) else {
            continue;
        };
        let count = tried.entry(model.sources()[0].format).or_default();
        *count += 1;
        if *count > FILES_OF_A_FORMAT {
            continue;
        }
        let bytes = model.to_snapshot();
        let again = from_snapshot(&bytes, &[source]).unwrap();
        assert!(lines(&again).eq(lines(&model)), "{}", path.display());
        // Without the file, everything but its arguments is there.
        let without = from_snapshot(&bytes, &[]).unwrap();
        assert_eq!(without.slice_count(), model.slice_count());
    }
    for format in ["xplane", "trace-event-json", "chakra"] {
        assert!(
            tried.get(format).is_some_and(|&files| files > 1),
            "{tried:?}"
        );
    }
}
