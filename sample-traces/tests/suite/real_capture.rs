//! The small real capture: reports must find what its script did.

use std::path::Path;

use analysis::facts::StepSource;
use analysis::reports::{Compile, Steps};
use analysis::{Context, Options, ReportCache, Scope};
use importers::{ImportOptions, Progress};
use trace_model::{TraceModel, TrackKind};

fn open(name: &str) -> TraceModel {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../assets/samples")
        .join(name);
    importers::import_path(&path, &ImportOptions::default(), &Progress::new()).expect(name)
}

#[test]
fn fourth_of_six_steps_recompiles() {
    for name in ["jax_cpu_small.xplane.pb", "jax_cpu_small.trace.json.gz"] {
        let model = open(name);
        let (options, reports) = (Options::default(), ReportCache::default());
        let cx = Context {
            model: &model,
            scope: Scope::WholeTrace,
            options: &options,
            reports: &reports,
        };
        let steps = cx.report::<Steps>().expect(name);
        assert_eq!(
            (steps.source, steps.steps.len()),
            (StepSource::HostAnnotations, 6),
            "{name}"
        );
        let compiling: Vec<_> = steps
            .steps
            .iter()
            .filter(|step| step.compile_ps.ps() > 0)
            .map(|step| step.number)
            .collect();
        assert_eq!(compiling, [3], "{name}");
        let slow: Vec<_> = steps.outliers().iter().map(|step| step.number).collect();
        assert_eq!(slow[0], 3, "{name}");
        let compile = cx.report::<Compile>().expect(name);
        assert_eq!(
            (compile.compilations, compile.recompilations),
            (1, 1),
            "{name}"
        );
        // The longest step, and the compiler for most of it; no device waits, there is none.
        let (step, wall) = (
            steps.steps[3].time_ps.ps(),
            compile.wall_ps.expect(name).ps(),
        );
        assert!(wall > step / 2 && wall < step, "{name}: {wall} of {step}");
        assert_eq!(compile.exposed_ps, None, "{name}");
        assert!(model.tensor_cores().is_empty(), "{name}");
    }
}

#[test]
fn both_formats_have_the_same_host_events() {
    let count = |model: &TraceModel| {
        let threads = model
            .track_ids()
            .filter(|&track| model.track(track).kind == TrackKind::HostThread);
        let mut slices: Vec<_> = threads
            .flat_map(|track| model.slices_on(track))
            .map(|slice| {
                (
                    slice.start().ps(),
                    slice.dur().ps().max(1),
                    slice.name().to_owned(),
                )
            })
            .collect();
        slices.sort();
        slices
    };
    let (protobuf, json) = (
        count(&open("jax_cpu_small.xplane.pb")),
        count(&open("jax_cpu_small.trace.json.gz")),
    );
    assert!(protobuf.len() > 1000);
    assert_eq!(protobuf, json);
}
