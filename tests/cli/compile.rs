//! `systole compile`.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A log of one compilation of `step`.
fn log(day: u32, seconds: u32, cache: &str) -> String {
    let at = |second: u32, ms: u32| {
        format!("WARNING:2026-03-{day:02} 10:00:{second},{ms:03}:jax._src.dispatch:1: ")
    };
    let (traced, lowered, compiled) = (at(10, 0), at(10, 250), at(10 + seconds, 250));
    format!(
        "import jax\nstep 0\n{traced}Finished tracing step for jit in 0.5 sec\n\
         {lowered}Finished jaxpr to MLIR module conversion jit(step) in 0.25 sec\n\
         {lowered}{cache} for 'jit_step' with key 'jit_step-01'\n\
         {compiled}Finished XLA compilation of jit(step) in {seconds} sec\n"
    )
}

const MISS: &str = "PERSISTENT COMPILATION CACHE MISS";

fn run(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_systole"))
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn logs_of_several_runs_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("monday.log"), log(2, 10, MISS)).unwrap();
    fs::write(folder.path().join("tuesday.log"), log(3, 8, MISS)).unwrap();
    fs::write(folder.path().join("other.log"), "import jax\nloss 0.5\n").unwrap();
    let args = ["compile", "monday.log", "tuesday.log", "other.log"];
    let output = run(folder.path(), &args);
    assert!(output.status.success(), "{output:?}");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    for said in [
        "2 compilations in 2 runs took 19.50 s, 18.00 s of it in the compiler or its cache.",
        "A persistent cache would have saved at most 8.000 s of these 18.00 s",
        "1 compilation of programs",
        "the same program had been compiled in monday.log: the cache did not keep it",
        "2026-03-03",
    ] {
        assert!(out.contains(said), "{said}: {out}");
    }
    assert!(out.lines().count() <= 30, "{out}");
    assert!(
        err.contains("JAX_LOG_COMPILES=1") && err.contains("other.log"),
        "{err}"
    );
    let json = run(
        folder.path(),
        &[&args[..], &["--format", "json", "-q"]].concat(),
    );
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["schema"], "systole.compilations/1");
    assert_eq!(json["compilations"]["saved_ps"], 8_000_000_000_000_i64);
    let csv = [&args[..], &["--format", "csv", "--table", "days", "-q"]].concat();
    let csv = run(folder.path(), &csv);
    assert_eq!(
        text(&csv.stdout).lines().nth(2),
        Some("2026-03-03,1,8750000000000,8000000000000")
    );
}

#[test]
fn what_cannot_answer_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.log"), "import jax\nloss 0.5\n").unwrap();
    let none = run(folder.path(), &["compile", "a.log"]);
    assert!(!none.status.success());
    assert!(
        text(&none.stderr).contains("JAX_LOG_COMPILES=1"),
        "{none:?}"
    );
    let without = log(2, 10, MISS).replace("2026-03-02 ", "");
    fs::write(folder.path().join("b.log"), without).unwrap();
    let days = ["compile", "b.log", "--table", "days", "--format", "csv"];
    let none = run(folder.path(), &days);
    assert!(text(&none.stderr).contains("no run has a date"), "{none:?}");
    let recorded = ["compile", "b.log", "--table", "recorded", "--format", "csv"];
    let none = run(folder.path(), &recorded);
    assert!(text(&none.stderr).contains("needs --history"), "{none:?}");
}

#[test]
fn a_history_tells_of_earlier_runs() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.log"), log(2, 10, MISS)).unwrap();
    run(
        folder.path(),
        &["analyze", "a.log", "--history", "runs.ndjson"],
    );
    let output = run(folder.path(), &["compile", "--history", "runs.ndjson"]);
    assert!(output.status.success(), "{output:?}");
    let row = text(&output.stdout)
        .lines()
        .find(|line| line.contains("a.log"));
    assert!(row.unwrap().contains("10.75 s"), "{output:?}");
}
