//! Malformed files, through import and every analysis: the outcome is an error or a report,
//! never a panic. Arithmetic overflows panic in test builds. No report contains an impossible
//! number (`hostile/honest.rs`).
//!
//! The quick form tests 2,500 mutants of small captures, and a hundredth of them through the commands
//! (`hostile/commands.rs`). The long one tests more:
//!
//! ```sh
//! SYSTOLE_MUTANTS=1000000 cargo test -p systole --no-default-features --test reports mutants
//! ```
//!
//! The number of a mutant determines its changes. A failing mutant is written to a file, and
//! `SYSTOLE_MUTANT=4711` repeats it alone.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests may fail loudly too"
)]

mod commands;
mod honest;
mod mutate;
mod seeds;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use analysis::{ANALYSES, Options, Scope};
use importers::{ImportError, ImportOptions, InputSource, Progress};
use session::Session;
use trace_model::{TimeRange, Timestamp, TraceModel};

use self::honest::Schema;
use self::mutate::Rng;
use self::seeds::{Content, Seed};

/// Mutants of the quick form.
const QUICK: u64 = 2_500;

/// The mutant with a number: its original capture, and its bytes.
fn mutant(seeds: &[Seed], number: u64) -> (&Seed, Vec<u8>, Rng) {
    let mut rng = Rng::new(number);
    let seed = &seeds[(number % seeds.len() as u64) as usize];
    let changes = 1 + rng.below(4);
    let mut bytes = match &seed.content {
        Content::Text(text) => {
            let mut text = text.clone();
            (0..changes).for_each(|_| mutate::text(&mut rng, &mut text));
            text.into_bytes()
        }
        Content::Json(document) => {
            let mut document = document.clone();
            (0..changes).for_each(|_| mutate::json(&mut rng, &mut document));
            document.to_string().into_bytes()
        }
        Content::Proto(fields) => {
            let mut fields = fields.clone();
            (0..changes).for_each(|_| mutate::message(&mut rng, &mut fields));
            mutate::encoded(&fields)
        }
        Content::Frames(frames) => {
            let mut frames = frames.clone();
            (0..changes).for_each(|_| {
                let at = rng.below(frames.len());
                mutate::message(&mut rng, &mut frames[at]);
            });
            seeds::framed(&frames)
        }
        Content::Bytes(bytes) => {
            let mut bytes = bytes.clone();
            (0..changes).for_each(|_| mutate::bytes(&mut rng, &mut bytes));
            bytes
        }
    };
    if rng.one_in(8) {
        mutate::bytes(&mut rng, &mut bytes);
    }
    (seed, bytes, rng)
}

/// Imports a mutant as a file with the right name.
fn import(seed: &Seed, bytes: &[u8], folder: &Path) -> Result<TraceModel, ImportError> {
    // Simulators write several files, named after the workload.
    if !matches!(seed.content, Content::Text(_) | Content::Frames(_)) {
        return importers::import(
            &InputSource::from_bytes(seed.name, bytes.to_vec())?,
            &Progress::new(),
        );
    }
    let path = folder.join(seed.name);
    fs::write(&path, bytes)?;
    for (name, content) in &seed.beside {
        fs::write(folder.join(name), content)?;
    }
    importers::import_path(&path, &ImportOptions::default(), &Progress::new())
}

/// The scopes that are tested: the whole trace, and sometimes a part.
fn scopes(model: &TraceModel, rng: &mut Rng) -> Vec<Scope> {
    let extent = model.extent();
    let mut at = || {
        Timestamp::from_ps(
            extent
                .start
                .ps()
                .saturating_add((rng.next() >> 1) as i64 % extent.dur().ps().max(1)),
        )
    };
    let (one, other) = (at(), at());
    match rng.below(8) {
        0 => vec![
            Scope::WholeTrace,
            Scope::Range(TimeRange::new(one.min(other), one.max(other))),
        ],
        1 => vec![Scope::WholeTrace, Scope::Steps { first: 0, last: 1 }],
        2 => vec![Scope::Range(TimeRange::new(one, Timestamp::MAX))],
        _ => vec![Scope::WholeTrace],
    }
}

/// Runs everything on a capture; an impossible number is an error.
fn ask(schema: &Schema, model: TraceModel, rng: &mut Rng) -> Result<(), String> {
    let scopes = scopes(&model, rng);
    let session = Session::from_model(model, Options::default());
    for scope in scopes {
        for entry in ANALYSES {
            match session.report_by_id(entry.id, scope) {
                Ok(report) => {
                    let found = schema.dishonest(entry.id, &*report);
                    if !found.is_empty() {
                        return Err(format!("{} in {scope:?}: {}", entry.id, found.join("; ")));
                    }
                }
                Err(why) if why.to_string().is_empty() => {
                    return Err(format!("{}: an error without a reason", entry.id));
                }
                Err(_) => {}
            }
        }
    }
    Ok(())
}

/// The outcome of a mutant.
enum Outcome {
    Refused,
    Reported,
    Failed(String),
}

fn outcome(schema: &Schema, seed: &Seed, bytes: &[u8], mut rng: Rng, folder: &Path) -> Outcome {
    let asked = catch_unwind(AssertUnwindSafe(|| match import(seed, bytes, folder) {
        Ok(model) => ask(schema, model, &mut rng).map(|()| Outcome::Reported),
        Err(why) if why.to_string().is_empty() => Err("an error without a reason".to_owned()),
        Err(_) => Ok(Outcome::Refused),
    }));
    match asked {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(why)) => Outcome::Failed(why),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            Outcome::Failed(format!(
                "panic: {}",
                text.or(panic.downcast_ref().copied()).unwrap_or("?")
            ))
        }
    }
}

/// Saves a failing mutant as a file, and reports it.
fn keep(number: u64, (title, name): (&str, &str), bytes: &[u8], why: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("mutant-{number}-{name}"));
    fs::write(&path, bytes).unwrap();
    format!("mutant {number} of {title}: {why}\n  {}", path.display())
}

fn number_of(variable: &str) -> Option<u64> {
    std::env::var(variable)
        .ok()
        .map(|text| text.parse().expect("a number"))
}

#[test]
fn mutated_files_are_rejected_or_reported() {
    let (schema, seeds) = (Schema::new(), seeds::all());
    let (from, to) = match number_of("SYSTOLE_MUTANT") {
        Some(only) => (only, only + 1),
        None => (0, number_of("SYSTOLE_MUTANTS").unwrap_or(QUICK)),
    };
    let next = AtomicU64::new(from);
    let failures = Mutex::new(Vec::new());
    let counts: Mutex<BTreeMap<(&str, &str), [u64; 2]>> = Mutex::default();
    let work = || {
        let folder = tempfile::tempdir().unwrap();
        let mut mine: BTreeMap<(&str, &str), [u64; 2]> = BTreeMap::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= to || failures.lock().unwrap().len() >= 20 {
                break;
            }
            let (seed, bytes, rng) = mutant(&seeds, number);
            let count = mine.entry((seed.title, seed.name)).or_default();
            match outcome(&schema, seed, &bytes, rng, folder.path()) {
                Outcome::Refused => count[0] += 1,
                Outcome::Reported => count[1] += 1,
                Outcome::Failed(why) => {
                    failures.lock().unwrap().push(keep(
                        number,
                        (seed.title, seed.name),
                        &bytes,
                        &why,
                    ));
                }
            }
        }
        let mut all = counts.lock().unwrap();
        for (seed, count) in mine {
            let sum = all.entry(seed).or_default();
            *sum = [sum[0] + count[0], sum[1] + count[1]];
        }
    };
    thread::scope(|scope| {
        for number in 0..thread::available_parallelism().map_or(2, usize::from) {
            let name = format!("mutants-{number}");
            thread::Builder::new()
                .name(name)
                .spawn_scoped(scope, work)
                .unwrap();
        }
    });
    let (counts, failures) = (counts.into_inner().unwrap(), failures.into_inner().unwrap());
    for ((title, name), [refused, reported]) in &counts {
        println!("{title} ({name}): {refused} refused, {reported} reported");
        // If all mutants of a capture are refused, no analysis was tested.
        assert!(
            to - from < QUICK || *reported > refused / 4,
            "{title} ({name}) is only refused"
        );
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// The unchanged captures must be valid.
#[test]
fn unmutated_inputs_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    for seed in seeds::all() {
        let bytes = seed.content.to_bytes();
        let model = import(&seed, &bytes, folder.path())
            .unwrap_or_else(|why| panic!("{}: {why}", seed.title));
        assert!(model.slice_count() > 0, "{} ({})", seed.title, seed.name);
        println!(
            "{} ({}): {} bytes, {} slices",
            seed.title,
            seed.name,
            bytes.len(),
            model.slice_count()
        );
    }
}

#[cfg(unix)]
#[test]
fn waiting_for_an_idle_pipe_prints_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.json");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    command
        .args(["doctor", "--format", "json"])
        .arg(&pipe)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    assert!(
        said.contains("waiting") && said.contains("pipe.json") && said.contains("Ctrl+C"),
        "{said}"
    );
    // Data that arrives later is read as the whole input; the program does not wait a second time.
    fs::write(
        &pipe,
        r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":5,"args":{"k":1}}]"#,
    )
    .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success()
            && String::from_utf8_lossy(&output.stdout).contains("trace-event-json")
    );
}
