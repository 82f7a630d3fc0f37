//! What no public capture shows: sessions written from the facts of the format,
//! imported like any file, with answers that follow by hand.
#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::sync::Arc;

use analysis::kernels::{Declared, Kernels};
use analysis::{Analysis, AnalysisError, Context, Options, ReportCache, Scope};
use importers::{Progress, Source};
use sample_traces::rare::PallasKernel;
use sample_traces::session::Session;
use sample_traces::write::{trace_json, xspace_bytes};
use trace_model::{IssueKind, TraceModel};

struct Capture {
    model: TraceModel,
    options: Options,
    reports: ReportCache,
}

impl Capture {
    fn of(name: &str, bytes: Vec<u8>) -> Self {
        let model = importers::import(&Source::from_bytes(name, bytes).unwrap(), &Progress::default()).unwrap();
        Self { model, options: Options::default(), reports: ReportCache::default() }
    }
    fn xplane(session: &Session) -> Self {
        Self::of("rare.xplane.pb", xspace_bytes(session))
    }
    fn json(session: &Session) -> Self {
        Self::of("rare.trace.json", trace_json(session).into_bytes())
    }
    fn try_report<A: Analysis>(&self) -> Result<Arc<A::Report>, AnalysisError> {
        let Self { model, options, reports } = self;
        Context { model, scope: Scope::WholeTrace, options, reports }.report::<A>()
    }
    fn report<A: Analysis>(&self) -> Arc<A::Report> {
        self.try_report::<A>().unwrap()
    }
}

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= 1e-6 * expected.abs().max(1.0)
}

/// Both forms of one capture; the export has no costs of single executions.
#[test]
fn a_pallas_kernel_and_its_pipeline() {
    let spec = PallasKernel::default();
    let session = spec.session();
    for (capture, is_json) in [(Capture::xplane(&session), false), (Capture::json(&session), true)] {
        let report = capture.report::<Kernels>();
        let kernel = &report.kernels[0];
        assert_eq!((report.kernels.len(), kernel.kernel.as_str(), kernel.is_pallas), (1, "matmul", true));
        assert_eq!((kernel.occurrences, kernel.time_ps), (3, 3 * spec.call_ps));
        assert_eq!(kernel.source.as_deref(), Some("kernel.py:42"));

        let pipeline = kernel.pipeline.as_ref().unwrap();
        assert_eq!((pipeline.executions, pipeline.time_ps), (3, 3 * spec.call_ps));
        assert_eq!(pipeline.dma_wait_ps, 3 * 173_374_000);
        assert!((pipeline.dma_wait_percent.unwrap() - 76.288).abs() < 0.001);
        let sums: Vec<_> = pipeline.stages.iter().map(|s| (s.stage.as_str(), s.total_ps, s.self_ps)).collect();
        let times = 3 * spec.steps;
        let own = spec.run_ps - spec.scope_ps;
        assert_eq!(
            sums,
            [
                ("ep_wait_in", times * spec.wait_in_ps, times * spec.wait_in_ps),
                ("dot", times * spec.scope_ps, times * spec.scope_ps),
                ("ep_run_kernel", times * spec.run_ps, times * own),
                ("ep_copy_in", times * spec.copy_in_ps, times * spec.copy_in_ps),
                ("ep_copy_out", times * spec.copy_out_ps, times * spec.copy_out_ps),
                ("ep_initialize", 3 * spec.initialize_ps, 3 * spec.initialize_ps),
                ("ep_finalize", 3 * spec.finalize_ps, 3 * spec.finalize_ps),
            ]
        );
        assert_eq!(pipeline.outside_ps, 3 * spec.outside_ps());
        assert_eq!(pipeline.grid_steps, Some(16.0));

        let mxu = &kernel.estimates[0];
        assert_eq!((mxu.series.as_str(), mxu.unit.as_str()), ("MXU", "% util"));
        assert!(near(mxu.mean, 20.0) && near(mxu.max, 30.0), "{mxu:?}");
        assert!(near(mxu.covered_percent.unwrap(), 100.0), "{mxu:?}");
        if is_json {
            assert_eq!(kernel.declared, Declared::Yes);
        } else {
            assert!(capture.model.import_log().count(IssueKind::CounterClipped) > 0);
            assert_eq!((kernel.declared, kernel.flops), (Declared::Yes, Some(3 * 1_076_887_552)));
            let seconds = 3.0 * 227.262e-6;
            assert!(near(kernel.flops_percent.unwrap(), 100.0 * 3.0 * 1_076_887_552.0 / seconds / 918e12));
            // It declares no bytes: zero is not a measurement.
            assert_eq!((kernel.bytes, kernel.hbm_percent), (None, None));
        }
        assert!(report.hints.iter().any(|hint| hint.contains("memory bound")), "{:?}", report.hints);
    }
}
