//! Compilation in real captures.

use analysis::Scope;
use analysis::facts::StepSource;
use analysis::reports::host::compile::{ChangeSource, ShapeChange};
use analysis::reports::steps::devices::Devices;
use analysis::reports::{Compile, CompilePlace, Overlap, Steps};
use trace_model::Picos;

use super::time_corpus::{V5E, near};
use crate::capture::open;

#[test]
fn matmul_compilation_is_equal_in_both_formats() {
    for name in V5E {
        let Some(capture) = open(name) else { return };
        let compile = capture.report::<Compile>();
        // Two backend_compile_and_load: 117,675,082 + 38,215,677 ns.
        assert_eq!(
            compile.compile_ps,
            Some(Picos::from_ps(155_890_759_000)),
            "{name}"
        );
        assert_eq!(
            (compile.compilations, compile.recompilations),
            (2, 0),
            "{name}"
        );
        let functions: Vec<&str> = compile
            .functions
            .iter()
            .take(2)
            .map(|function| function.function.as_str())
            .collect();
        assert_eq!(functions, ["matmul", "_reduce_sum"], "{name}");
        // Nearly all of it while the device had nothing to do.
        assert!(
            compile.exposed_ps.unwrap() > Picos::from_ps(155_000_000_000),
            "{name}"
        );
    }
    let compile = open(V5E[0]).unwrap().report::<Compile>();
    let programs: Vec<_> = compile
        .list
        .iter()
        .map(|row| row.program.as_deref().unwrap())
        .collect();
    assert_eq!(
        programs,
        [
            "jit_matmul(7387342164949680137)",
            "jit__reduce_sum(7131411788155273425)"
        ]
    );
    let executions = compile
        .functions
        .iter()
        .flat_map(|function| &function.programs)
        .map(|run| run.executions);
    assert_eq!(executions.collect::<Vec<_>>(), [10, 10]);
    // The first load of the program, on a thread of the runtime, belongs to the call that waits for it.
    assert_eq!(compile.list[0].load_ps, Some(Picos::from_ps(1_114_270_000)));
    assert_eq!(
        (
            compile.cache.lookups,
            compile.cache.hits,
            compile.cache.misses
        ),
        (Some(2), Some(0), Some(2))
    );
    assert_eq!(
        compile.statement,
        "2 compilations took 166.6 ms of 244.5 ms (68.2 %)"
    );
    // The timeline, the same in both formats: from the first slice to the end of the last.
    assert!(
        near(compile.window_ps.as_ps_f64(), 244.5e9, 0.1e9),
        "{}",
        compile.window_ps
    );
}

#[test]
fn three_recompiling_steps_are_named() {
    for name in [
        "host/jax_cpu_transformer_recompiles.trace.json.gz",
        "host/jax_cpu_transformer_recompiles.xplane.pb",
    ] {
        let Some(capture) = open(name) else { return };
        let steps = capture.report::<Steps>();
        assert_eq!(
            (steps.source, steps.marker.as_str(), steps.steps.len()),
            (StepSource::HostAnnotations, "train", 20)
        );
        let slow: Vec<(u32, i64)> = steps
            .outliers()
            .iter()
            .map(|step| (step.number, step.time_ps.ps() / 100_000_000_000))
            .collect();
        // 12.4, 11.2 and 9.7 s against about 0.1 s.
        assert_eq!(slow, [(14, 123), (9, 111), (5, 97)], "{name}");
        assert!(
            steps
                .outliers()
                .iter()
                .all(|step| step.compile_ps.ps() > step.time_ps.ps() * 8 / 10)
        );
        let others = steps.steps.iter().filter(|step| !step.is_outlier);
        assert!(
            others
                .into_iter()
                .all(|step| step.compile_ps.ps() == 0 && step.time_ps.ps() < 130_000_000_000)
        );
        let compile = capture.report::<Compile>();
        let [function] = &compile.functions[..] else {
            panic!("{:?}", compile.functions)
        };
        // It ran before the capture's first compilation, so all three are again.
        assert_eq!(
            (
                function.function.as_str(),
                function.compilations,
                function.recompilations
            ),
            ("train_step", 3, 3)
        );
        assert_eq!(
            (function.calls, function.module.as_deref()),
            (Some(20), Some("jit_train_step"))
        );
        // The script made sequences of 64, but of 96, 80 and 112 in these steps. No shape is
        // in the capture; the annotation of the step tells, where its arguments are recorded.
        let places: Vec<_> = compile.list.iter().map(|row| row.place).collect();
        assert_eq!(
            places,
            [5, 9, 14].map(|step| Some(CompilePlace::InStep(step))),
            "{name}"
        );
        let changes: Vec<_> = compile
            .list
            .iter()
            .flat_map(|row| &row.changes)
            .map(ShapeChange::sentence)
            .collect();
        let length = |to: u32| format!("seq_len of load_batch 64 → {to}");
        assert_eq!(changes, [length(96), length(80), length(112)], "{name}");
        assert!(
            compile
                .list
                .iter()
                .all(|row| row.changed_in == Some(ChangeSource::Annotation)),
            "{name}"
        );
        for row in &compile.list {
            // Nearly all of what the step took longer is the compilation and the call around it.
            let (extra, call) = (row.step_extra_ps.unwrap(), row.call_ps.unwrap());
            assert!(
                row.wall_ps < call && call < extra && row.wall_ps.ps() > extra.ps() * 8 / 10,
                "{row:?}"
            );
        }
        assert!(near(
            compile.compile_ps.unwrap().as_ps_f64(),
            28.111e12,
            0.001e12
        ));
        assert_eq!((compile.exposed_ps, compile.execute_mean_ps), (None, None));
        assert!(capture.scoped::<Devices>(Scope::WholeTrace).is_err());
        assert!(capture.scoped::<Overlap>(Scope::WholeTrace).is_err());
        assert!(capture.findings().contains(&"Q04"));
    }
}

#[test]
fn host_capture_without_steps_reports_compilation() {
    for name in [
        "host/tpuvm_cpu_backend.xplane.pb",
        "host/tpuvm_cpu_backend.trace.json.gz",
    ] {
        let Some(capture) = open(name) else { return };
        let compile = capture.report::<Compile>();
        assert_eq!(compile.compilations, 2, "{name}");
        assert!(
            near(compile.compile_ps.unwrap().as_ps_f64(), 68.52e9, 0.01e9),
            "{name}: {:?}",
            compile.compile_ps
        );
        let steps = capture.report::<Steps>();
        assert_eq!(
            (steps.source, steps.steps.len()),
            (StepSource::WholeCapture, 1),
            "{name}"
        );
        assert!(steps.steps[0].time_ps.ps() > 0);
    }
}
