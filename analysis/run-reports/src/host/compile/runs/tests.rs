use engine::{Options, ReportCache, Scope};
use importers::{ImportOptions, InputSource, Progress};

use super::*;
use crate::host::compile::{Compile, CompileEvidence};

/// A compilation in a log: day and second of its end, function, seconds, types of arguments, key with its flags.
fn logged(
    day: u32,
    second: u32,
    function: &str,
    (seconds, types, cache): (f64, &str, &str),
) -> String {
    let at = format!("WARNING:2026-03-{day:02} 10:00:{second:02},000:jax:1: ");
    let types = if types.is_empty() {
        String::new()
    } else {
        format!(
            "{at}Compiling jit({function}) with global shapes and types (ShapedArray({types}),). Argument mapping: (U,).\n"
        )
    };
    let cache = match cache.split_once(' ') {
        Some((words, key)) => {
            let flags = key.split('-').next_back().unwrap_or(key);
            format!(
                "{at}get_cache_key hash of serialized computation: c\n\
                 {at}get_cache_key hash of serialized XLA flags: {flags}\n\
                 {at}{} for 'jit_{function}' with key '{key}'\n",
                if words == "hit" {
                    "Persistent compilation cache hit"
                } else {
                    "PERSISTENT COMPILATION CACHE MISS"
                }
            )
        }
        None => String::new(),
    };
    format!("{types}{cache}{at}Finished XLA compilation of jit({function}) in {seconds} sec\n")
}

fn report(logs: &[(&str, String)]) -> CompileRuns {
    let models: Vec<TraceModel> = logs
        .iter()
        .map(|(name, text)| {
            let source = InputSource::from_bytes(*name, text.clone().into_bytes()).unwrap();
            importers::import_source(&source, &ImportOptions::default(), &Progress::new()).unwrap()
        })
        .collect();
    let reports: Vec<_> = models
        .iter()
        .map(|model| {
            let (options, reports) = (Options::default(), ReportCache::default());
            let cx = Context {
                model,
                scope: Scope::WholeTrace,
                options: &options,
                reports: &reports,
            };
            cx.report::<Compile>().unwrap()
        })
        .collect();
    let runs = logs.iter().zip(&models).zip(&reports);
    let runs = runs.map(|(((name, _), model), report)| RunCompilations::new(name, model, report));
    CompileRuns::new(runs.collect())
}

fn seconds(time: Picos) -> f64 {
    time.as_secs_f64()
}

#[test]
fn what_a_cache_would_have_saved_is_told_by_keys() {
    let runs = report(&[
        (
            "monday",
            logged(2, 30, "step", (10.0, "float32[8]", "miss k-x")),
        ),
        (
            "tuesday",
            logged(3, 30, "step", (12.0, "float32[8]", "miss k-x")),
        ),
        (
            "wednesday",
            logged(4, 30, "step", (1.0, "float32[8]", "hit k-x")),
        ),
        (
            "thursday",
            logged(5, 30, "step", (11.0, "float32[8]", "miss l-y")),
        ),
    ]);
    assert_eq!((runs.runs, runs.compilations), (4, 4));
    assert_eq!(
        (seconds(runs.compile_ps), seconds(runs.saved_ps)),
        (34.0, 12.0)
    );
    assert_eq!((runs.saved_compilations, runs.unknown_compilations), (1, 0));
    let why = |run: &str| {
        let row = runs.list.iter().find(|row| row.run == run).unwrap();
        row.why.as_str()
    };
    assert_eq!(
        why("monday"),
        "the first compilation of this function in these runs"
    );
    assert_eq!(
        why("tuesday"),
        "the same program had been compiled in monday: the cache did not keep it"
    );
    assert_eq!(why("wednesday"), "read from the persistent cache");
    assert_eq!(
        why("thursday"),
        "the cache key differs from that in wednesday in XLA flags"
    );
    let days: Vec<_> = runs
        .days
        .iter()
        .map(|day| {
            (
                day.day.as_str(),
                seconds(day.wall_ps),
                seconds(day.saved_ps),
            )
        })
        .collect();
    assert_eq!(
        days,
        [
            ("2026-03-02", 10.0, 0.0),
            ("2026-03-03", 12.0, 12.0),
            ("2026-03-04", 1.0, 0.0),
            ("2026-03-05", 11.0, 0.0)
        ]
    );
    let hits: Vec<_> = runs
        .functions
        .iter()
        .map(|row| (row.run.as_str(), row.cache_hits, row.cache_misses))
        .collect();
    assert!(hits.contains(&("wednesday", Some(1), Some(0))), "{hits:?}");
    assert!(hits.contains(&("monday", Some(0), Some(1))), "{hits:?}");
}

#[test]
fn changed_arguments_are_named() {
    let log = [
        logged(2, 30, "step", (10.0, "float32[8,4]", "")),
        logged(2, 50, "step", (5.0, "float32[16,4]", "")),
    ]
    .concat();
    let runs = report(&[("run", log)]);
    let row = runs.list.last().unwrap();
    assert_eq!(
        row.why,
        "argument 0 f32[8,4] → f32[16,4], compared with what was compiled before in this run"
    );
    assert_eq!(row.cache, None);
    assert_eq!(runs.saved_ps, Picos::ZERO);
}

#[test]
fn fingerprints_are_told_from_numbers() {
    assert!(has_fingerprint("jit_step(13541243454351324)"));
    assert!(!has_fingerprint("jit_step(12)"));
    assert!(!has_fingerprint("jit_step"));
}

#[test]
fn unknown_programs_save_nothing() {
    let log = |day| logged(day, 30, "step", (10.0, "", ""));
    let runs = report(&[("a", log(2)), ("b", log(3))]);
    assert_eq!((runs.saved_compilations, runs.unknown_compilations), (0, 2));
    assert!(
        runs.statements
            .iter()
            .any(|said| said.contains("For 2 of 2 compilations it is not known")),
        "{:?}",
        runs.statements
    );
}

#[test]
fn what_the_capture_shows_is_told_of_a_program_that_ran_before() {
    let changed = Compilation {
        again: Some(CompileEvidence::RanBefore),
        changed_in: Some(ChangeSource::Annotation),
        changes: vec![ShapeChange {
            what: "seq_len".to_owned(),
            from: "64".to_owned(),
            to: "96".to_owned(),
            dims: Vec::new(),
        }],
        ..Compilation::default()
    };
    let said = |now: &Compilation, last| why("run", now, last, None);
    assert_eq!(
        said(&changed, None),
        "it had run before, compiled before the capture began: seq_len 64 → 96, compared with the steps before"
    );
    let before = Compilation::default();
    assert_eq!(
        said(&changed, Some(("run", &before))),
        "seq_len 64 → 96, compared with the steps before"
    );
}
