//! `systole compile`.

use crate::place::{Place, json, stderr, stdout};

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

#[test]
fn logs_of_several_runs_are_compared() {
    let place = Place::empty();
    place.write("monday.log", log(2, 10, MISS).as_bytes());
    place.write("tuesday.log", log(3, 8, MISS).as_bytes());
    place.write("other.log", b"import jax\nloss 0.5\n");
    let args = ["compile", "monday.log", "tuesday.log", "other.log"];
    let output = place.run(&args);
    assert!(output.status.success(), "{output:?}");
    let (out, err) = (stdout(&output), stderr(&output));
    for said in [
        "2 compilations in 2 runs took 19.50 s, 18.00 s of it in the compiler or its cache.",
        "A persistent cache would have saved at most 8.000 s of these 18.00 s",
        "1 compilation of programs",
        "the same program had been compiled in monday.log: the cache did not keep it",
        "On the last two of 2 days: 10.75 s on 2026-03-02, 8.750 s on 2026-03-03.",
    ] {
        assert!(out.contains(said), "{said}: {out}");
    }
    assert!(out.lines().count() <= 30, "{out}");
    let of_folder = place.run(&["compile", "."]);
    assert!(
        stdout(&of_folder).contains("2 compilations in 2 runs"),
        "{of_folder:?}"
    );
    // Profiles of several sessions are no run, but can be compared all the same.
    let samples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/samples");
    for name in ["jax_cpu_small", "synthetic_v5e_8chip_recompile"] {
        let name = format!("{name}.xplane.pb");
        let bytes = std::fs::read(samples.join(&name)).unwrap();
        place.write(&format!("mixed/{name}"), &bytes);
    }
    let mixed = place.run(&["compile", "mixed"]);
    assert!(stdout(&mixed).contains("in 2 runs"), "{mixed:?}");
    assert!(
        err.contains("JAX_LOG_COMPILES=1") && err.contains("other.log"),
        "{err}"
    );
    let answer = place.run(&[&args[..], &["--format", "json", "-q"]].concat());
    let json = json(stdout(&answer));
    assert_eq!(json["schema"], "systole.compilations/1");
    assert_eq!(json["compilations"]["saved_ps"], 8_000_000_000_000_i64);
    let csv = [&args[..], &["--format", "csv", "--table", "days", "-q"]].concat();
    let csv = place.run(&csv);
    assert_eq!(
        stdout(&csv).lines().nth(2),
        Some("2026-03-03,1,8750000000000,8000000000000")
    );
}

#[test]
fn what_cannot_answer_is_named() {
    let place = Place::empty();
    place.write("a.log", b"import jax\nloss 0.5\n");
    let none = place.run(&["compile", "a.log"]);
    assert!(!none.status.success());
    assert!(stderr(&none).contains("JAX_LOG_COMPILES=1"), "{none:?}");
    let without = log(2, 10, MISS).replace("2026-03-02 ", "");
    place.write("b.log", without.as_bytes());
    let days = ["compile", "b.log", "--table", "days", "--format", "csv"];
    let none = place.run(&days);
    assert!(stderr(&none).contains("no run has a date"), "{none:?}");
    let recorded = ["compile", "b.log", "--table", "recorded", "--format", "csv"];
    let none = place.run(&recorded);
    assert!(stderr(&none).contains("needs --history"), "{none:?}");
}

#[test]
fn a_history_tells_of_earlier_runs() {
    let place = Place::empty();
    place.write("a.log", log(2, 10, MISS).as_bytes());
    place.run(&["analyze", "a.log", "--history", "runs.ndjson"]);
    let output = place.run(&["compile", "--history", "runs.ndjson"]);
    assert!(output.status.success(), "{output:?}");
    let row = stdout(&output).lines().find(|line| line.contains("a.log"));
    assert!(row.unwrap().contains("10.75 s"), "{output:?}");
}
