use trace_model::{IssueKind, TimeRange, TraceModel};

use super::*;

fn imported(text: &str) -> TraceModel {
    let source = InputSource::from_bytes("train.log", text.as_bytes().to_vec()).unwrap();
    let mut out = TraceBuilder::new();
    out.begin_source(trace_model::Source::default());
    JaxLog
        .import(
            &source,
            &ImportOptions::default(),
            &Progress::new(),
            &mut out,
        )
        .unwrap();
    out.finish()
}

/// Names with begin and length in milliseconds, by track.
fn drawn(model: &TraceModel) -> Vec<Vec<(String, i64, i64)>> {
    let ms = |ps: i64| ps / 1_000_000_000;
    let slices = |track| {
        let slice = |slice: SliceRef<'_>| {
            let TimeRange { start, .. } = slice.range();
            (
                slice.name().to_owned(),
                ms(start.ps()),
                ms(slice.dur().ps()),
            )
        };
        model.slices_on(track).map(slice).collect()
    };
    model.track_ids().map(slices).collect()
}

const RECOMPILED: &str = "\
step 0
TRACING CACHE MISS at train.py:18:21 (main):
  for train_step defined at train.py:11
  all previously seen cache keys differ. For the closest previous key:
  different input types:
  * at x, now f32[16,64] and before f32[8,64]
Finished tracing train_step for jit in 0.009 sec
Compiling jit(train_step) with global shapes and types (ShapedArray(float32[16,64]),). Argument mapping: (U,).
Finished jaxpr to MLIR module conversion jit(train_step) in 0.012 sec
get_cache_key hash of serialized computation: aa
get_cache_key hash of serialized XLA flags: bb
Persistent compilation cache hit for 'jit_train_step' with key 'jit_train_step-01'
Finished XLA compilation of jit(train_step) in 0.015 sec
";

/// As JAX prints it where a loop wraps a new function in each turn.
#[test]
fn functions_that_are_defined_again_are_the_cause() {
    let again = RECOMPILED.replace(
        "  for train_step defined at train.py:11\n",
        "  never seen function:\n    train_step id=14 defined at train.py:11\n  \
         but seen another function defined on the same line; maybe the function is\n  being re-defined repeatedly\n",
    );
    let model = imported(&again);
    let track = model.track_ids().next().unwrap();
    let compile = model.slices_on(track).nth(3).unwrap();
    let args = compile.args().unwrap();
    let reason = args.iter().find(|arg| &*arg.name == "reason").unwrap();
    let reason = reason.value.to_string();
    assert!(reason.starts_with(collect::NEW_EACH_TIME), "{reason}");
}

#[test]
fn phases_without_times_follow_each_other() {
    let model = imported(RECOMPILED);
    let slice = |name: &str, start, dur| (name.to_owned(), start, dur);
    let expected = vec![
        slice("Compilation of train_step", 0, 36),
        slice("trace_to_jaxpr", 0, 9),
        slice("jaxpr_to_mlir_module", 9, 12),
        slice("backend_compile", 21, 15),
        slice("Persistent compilation cache hit", 21, 0),
    ];
    assert_eq!(drawn(&model), [expected]);
    assert_eq!(model.import_log().count(IssueKind::AssumedClock), 1);
    let track = model.track_ids().next().unwrap();
    let compile = model.slices_on(track).nth(3).unwrap();
    let args: Vec<String> = compile
        .args()
        .unwrap()
        .iter()
        .map(|arg| format!("{}={}", arg.name, arg.value))
        .collect();
    assert_eq!(
        args,
        [
            "function=train_step",
            "cache=hit",
            "reason=different input types: at x, now f32[16,64] and before f32[8,64] (called at train.py:18:21 (main))",
            "cache_key=jit_train_step-01",
            "cache_key.computation=aa",
            "cache_key.XLA flags=bb",
            "argument 0=f32[16,64]",
        ]
    );
}

#[test]
fn times_of_lines_are_ends_of_phases() {
    let model = imported(
        "DEBUG:2023-06-07 00:00:10,000:jax._src.dispatch:1: Finished tracing f for jit in 1.0 sec\n\
         DEBUG:2023-06-07 00:00:10,500:jax._src.dispatch:1: Finished XLA compilation of jit(one) in 0.1 sec\n\
         DEBUG:2023-06-07 00:00:12,000:jax._src.dispatch:1: Finished XLA compilation of jit(f) in 2.0005 sec\n",
    );
    let slice = |name: &str, start, dur| (name.to_owned(), start, dur);
    // The compilation of the constant lies in the time of f; half a millisecond of overlap is rounding of the clock.
    let expected = vec![
        slice("Compilation of f", -1000, 3000),
        slice("trace_to_jaxpr", -1000, 1000),
        slice("backend_compile", 0, 2000),
        slice("Compilation of one", 400, 100),
        slice("backend_compile", 400, 100),
    ];
    assert_eq!(drawn(&model), [expected]);
    assert_eq!(model.import_log().count(IssueKind::AssumedClock), 0);
    let source = model.sources().first().unwrap();
    assert_eq!(source.zero_unix_ns(), Some(1_686_096_010_000_000_000));
}

#[test]
fn processes_and_threads_have_tracks_of_their_own() {
    let line = |writer: &str, second: u32, function: &str| {
        format!(
            "{writer}WARNING:2023-06-07 00:00:{second},000:jax:1: Finished XLA compilation of jit({function}) in 4 sec\n"
        )
    };
    let model = imported(
        &[
            line("(worker pid=7) ", 10, "f"),
            line("(worker pid=8) ", 10, "f"),
            line("(worker pid=8) ", 12, "g"),
        ]
        .concat(),
    );
    let tracks: Vec<_> = drawn(&model)
        .into_iter()
        .map(|slices| slices.len())
        .collect();
    assert_eq!(tracks, [2, 2, 2], "g ran beside f on another thread");
}

#[test]
fn what_is_no_log_of_compilations_is_refused() {
    let source = InputSource::from_bytes("a.log", b"import jax\nloss 0.5\n".to_vec()).unwrap();
    let mut out = TraceBuilder::new();
    out.begin_source(trace_model::Source::default());
    let refused = JaxLog.import(
        &source,
        &ImportOptions::default(),
        &Progress::new(),
        &mut out,
    );
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("JAX_LOG_COMPILES=1"), "{error}");
    for (head, confidence) in [
        (
            "Finished XLA compilation of jit(f) in 1 sec",
            DetectionConfidence::Certain,
        ),
        (
            "DEBUG:jax._src.xla_bridge: x",
            DetectionConfidence::Possible,
        ),
        ("loss 0.5", DetectionConfidence::No),
        (
            "'''Trains.'''\nimport os\nfrom jax import numpy\nimport jax, sys\n",
            DetectionConfidence::No,
        ),
        (
            "Traceback:\n    import jax\n",
            DetectionConfidence::Possible,
        ),
    ] {
        assert_eq!(JaxLog.detect(head.as_bytes()), confidence, "{head}");
    }
}
