//! Compilation in synthetic runs with and without it.

use analysis::Percent;
use analysis::reports::host::compile::{ChangeSource, CompileEvidence, DimChange, ShapeChange};
use analysis::reports::{Compile, CompilePlace, Steps};
use sample_traces::synthetic::{SyntheticRun, TrainingSpec};
use trace_model::Picos;

use super::closed_form::{open_json, open_protobuf, runs};

#[test]
fn recompilation_in_step_7_is_explained() {
    let spec = TrainingSpec {
        name: "recompile_7".to_owned(),
        steps: 10,
        recompile_at: Some(7),
        ..TrainingSpec::default()
    };
    let run = SyntheticRun::new(spec);
    let expected = run.expected.compile.as_ref().expect("a recompilation");
    let report = report!(Compile, &open_protobuf(&run));
    let [row] = &report.list[..] else {
        panic!("{:?}", report.list)
    };
    assert_eq!(
        (row.function.as_str(), row.place),
        ("train_step", Some(CompilePlace::InStep(7)))
    );
    assert_eq!(
        (row.again, row.ops_alike_percent),
        (Some(CompileEvidence::RanBefore), Some(Percent(100.0)))
    );
    // The devices wait for all of it, and the step takes that much longer and the
    // pauses between the phases, but computes half the tokens.
    assert_eq!(
        (row.wall_ps.ps(), row.exposed_ps.map(Picos::ps)),
        (expected.wall_ps(), Some(expected.wall_ps()))
    );
    let span = |step: usize| run.expected.steps[step].device.1 - run.expected.steps[step].device.0;
    assert_eq!(row.step_extra_ps.map(Picos::ps), Some(span(7) - span(6)));
    let programs: Vec<_> = report.functions[0]
        .programs
        .iter()
        .map(|run| run.executions)
        .collect();
    assert_eq!(programs, [9, 1]);
    assert_eq!(row.changed_in, Some(ChangeSource::Parameters));
    // Every parameter that has the tokens as its rows, or contracts over them.
    let halved = |change: &ShapeChange| {
        matches!(
            change.dims[..],
            [DimChange {
                from: 2048,
                to: 1024,
                ..
            }]
        )
    };
    assert!(row.changes.iter().all(halved), "{:?}", row.changes);
    let first = row.changes[0].sentence();
    assert_eq!(
        first,
        "parameter 1 (lhs.2) bf16[2048,2048] → bf16[1024,2048]: dim 0 2048 → 1024"
    );
    // An export to JSON has no programs, but the strings of ops.
    let report = report!(Compile, &open_json(&run));
    let [row] = &report.list[..] else {
        panic!("{:?}", report.list)
    };
    assert_eq!(
        (row.changed_in, row.place),
        (Some(ChangeSource::OpText), Some(CompilePlace::InStep(7)))
    );
    assert_eq!(
        row.changes[0].dims,
        [DimChange {
            dim: 0,
            from: 2048,
            to: 1024
        }]
    );
}

#[test]
fn compilation_is_counted_once_if_present() {
    for run in runs() {
        let name = &run.spec.name;
        let report = report!(Compile, &open_protobuf(&run));
        let Some(expected) = &run.expected.compile else {
            assert_eq!((report.wall_ps, report.compilations), (None, 0), "{name}");
            continue;
        };
        assert_eq!(
            report.wall_ps.map(Picos::ps),
            Some(expected.wall_ps()),
            "{name}"
        );
        let phases =
            [report.trace_ps, report.lower_ps, report.compile_ps].map(|time| time.map(Picos::ps));
        assert_eq!(
            phases,
            [
                Some(expected.trace_ps),
                Some(expected.lower_ps),
                Some(expected.backend_ps)
            ],
            "{name}"
        );
        assert_eq!(
            (report.compilations, report.recompilations),
            (1, 1),
            "{name}"
        );
        // No program runs meanwhile: the devices wait for all of it.
        assert_eq!(
            report.exposed_ps.map(Picos::ps),
            Some(expected.wall_ps()),
            "{name}"
        );
        assert_eq!(
            report.execute_mean_ps.map(Picos::ps),
            Some(run.expected.module_ps),
            "{name}"
        );
        let steps = report!(Steps, &open_protobuf(&run));
        let compiling: Vec<_> = steps
            .steps
            .iter()
            .filter(|step| step.compile_ps.ps() > 0)
            .map(|step| step.number)
            .collect();
        assert_eq!(compiling, [expected.step], "{name}");
    }
}
