//! What the first screen says: the verdict and the hints name the same causes and the
//! same figures, on every sample and on every real capture.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::path::{Path, PathBuf};

use analysis::hints::{Hints, HintsReport};
use analysis::time_use::TimeUse;
use analysis::verdict::{Verdict, VerdictReport};
use analysis::{Options, Scope};
use importers::{ImportOptions, Progress};
use systole::session::Session;

/// Where this machine has real captures.
fn corpus() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus");
    if path.is_dir() {
        return Some(path);
    }
    assert!(std::env::var_os("SYSTOLE_REQUIRE_CORPUS").is_none(), "no corpus at {}", path.display());
    println!("skipped: no corpus at {}", path.display());
    None
}

/// Samples, and real captures up to a size that a test can afford.
fn traces() -> Vec<PathBuf> {
    const MOST_BYTES: u64 = 8 << 20;
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/samples");
    let mut folders = vec![samples];
    if let Some(corpus) = corpus() {
        folders.extend(["tpu", "host", "gpu"].map(|folder| corpus.join(folder)));
    }
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    let is_trace = |path: &PathBuf| {
        let name = path.to_str().unwrap();
        let is_file = [".pb", ".pb.gz", ".json", ".json.gz", ".txt"].iter().any(|ending| name.ends_with(ending));
        is_file && path.metadata().unwrap().len() <= MOST_BYTES
    };
    let mut found: Vec<PathBuf> = entries.filter(is_trace).collect();
    found.sort();
    found
}

/// What is the matter with the first screen of a trace.
fn disagreements(verdict: &VerdictReport, hints: &HintsReport) -> Vec<String> {
    let mut wrong = Vec::new();
    for named in verdict.named() {
        let open = hints.unanswered.iter().find(|open| open.id == named.id);
        if open.is_some_and(|_| !named.id.is_work()) {
            wrong.push(format!("no hint about: {}", named.statement));
        }
        let share = format!("{:.1} %", named.share_percent.unwrap());
        let says = |id: &str| {
            let hint = hints.hints.iter().find(|hint| hint.id == id);
            hint.is_none_or(|hint| hint.statement.contains(&share))
        };
        let ids: &[&str] = match named.id {
            TimeUse::Compile => &["K36", "K49"],
            TimeUse::Idle => &["K31"],
            _ => &[],
        };
        wrong.extend(ids.iter().filter(|id| !says(id)).map(|id| format!("{id} does not say {share}")));
    }
    if let (Some(leading), Some(first)) = (verdict.leading(), hints.hints.iter().find(|hint| !hint.id.starts_with('Q')))
    {
        let is_compiling = ["K36", "K37", "K38", "K49"].contains(&first.id);
        if leading == TimeUse::Compile && !is_compiling {
            wrong.push(format!("the verdict begins with compiling, the hints with {}", first.id));
        }
    }
    wrong
}

#[test]
fn what_the_verdict_names_the_hints_answer() {
    let mut wrong = Vec::new();
    let mut named = 0;
    for path in traces() {
        let Ok(session) = Session::open(&path, &ImportOptions::default(), Options::default(), &Progress::new()) else {
            continue;
        };
        let verdict = session.report::<Verdict>(Scope::WholeTrace).unwrap();
        let hints = match session.report::<Hints>(Scope::WholeTrace) {
            Ok(hints) => hints,
            Err(why) => {
                wrong.extend(verdict.named().next().map(|_| format!("{}: {why}", path.display())));
                continue;
            }
        };
        named += verdict.named().count();
        wrong.extend(disagreements(&verdict, &hints).into_iter().map(|text| format!("{}: {text}", path.display())));
    }
    assert!(named > 20, "only {named} causes were named");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
