//! What hints say of every sample and every real capture is short enough for a card.

use std::path::{Path, PathBuf};

use analysis::Scope;
use analysis::hints::Hints;
use importers::{ImportOptions, Progress};

use crate::capture::{Capture, corpus};

/// Letters of the longest statement.
const LONGEST: usize = 190;

fn captures() -> Vec<PathBuf> {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/samples");
    let mut folders = vec![samples];
    folders.extend(corpus().into_iter().flat_map(|corpus| {
        ["tpu", "host", "gpu", "planted", "regressions"].map(|folder| corpus.join(folder))
    }));
    let is_capture = |path: &PathBuf| {
        let name = path.to_string_lossy();
        [".pb", ".pb.gz", "trace.json.gz", "predicted.txt"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    let files = folders.iter().flat_map(|folder| {
        let entries = std::fs::read_dir(folder).expect("a folder of captures");
        entries.filter_map(|entry| Some(entry.ok()?.path()))
    });
    files.filter(is_capture).collect()
}

#[test]
fn statements_are_short_sentences() {
    let (mut statements, mut long) = (0, Vec::new());
    for path in captures() {
        let model = importers::import_path(&path, &ImportOptions::default(), &Progress::default())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let Ok(report) = Capture::new(model).scoped::<Hints>(Scope::WholeTrace) else {
            continue;
        };
        for hint in &report.hints {
            let also = hint.also.iter().map(|other| (other.id, &other.statement));
            for (id, statement) in std::iter::once((hint.id, &hint.statement)).chain(also) {
                statements += 1;
                if statement.chars().count() >= LONGEST {
                    long.push(format!("{}: {id}: {statement}", path.display()));
                }
            }
        }
    }
    assert!(statements > 40, "{statements}");
    assert!(long.is_empty(), "{long:#?}");
}
