//! Traces with their reports, and where the real ones are.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests may fail loudly too"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::{Analysis, AnalysisError, Context, Options, ReportCache, Scope};
use importers::{ImportOptions, InputSource, Progress};
use trace_model::TraceModel;

/// Captures of TPUs.
pub const TPUS: [&str; 6] = [
    "tpu/v5e_matmul.xplane.pb",
    "tpu/v5e_matmul.trace.json.gz",
    "tpu/v6e_x4_host_offload.xplane.pb",
    "tpu/v6e_x4_host_offload_steps_added.xplane.pb",
    "tpu/v7x_vllm_tp2_a.trace.json.gz",
    "tpu/v7x_vllm_tp2_b.trace.json.gz",
];

/// The real captures, or `None`, said once, where this machine has none.
pub fn corpus() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus");
    if path.is_dir() {
        return Some(path);
    }
    let is_required = std::env::var_os("SYSTOLE_REQUIRE_CORPUS").is_some_and(|value| value == "1");
    assert!(!is_required, "{} is required but absent", path.display());
    println!("skipped: {} is absent", path.display());
    None
}

/// A real capture.
pub fn open(name: &str) -> Option<Capture> {
    Some(Capture::new(open_model(name)?))
}

/// The model of a capture, without reports.
pub fn open_model(name: &str) -> Option<TraceModel> {
    Some(model_at(&corpus()?.join(name)))
}

/// A file or folder as it is imported without options.
pub fn model_at(path: &Path) -> TraceModel {
    importers::import_path(path, &ImportOptions::default(), &Progress::default()).unwrap()
}

/// A trace and its reports.
pub struct Capture {
    pub model: TraceModel,
    pub options: Options,
    pub reports: ReportCache,
}

impl Capture {
    pub fn new(model: TraceModel) -> Self {
        Self {
            model,
            options: Options::default(),
            reports: ReportCache::default(),
        }
    }

    /// From the bytes of a file of this name.
    pub fn of(name: &str, bytes: Vec<u8>) -> Self {
        let source = InputSource::from_bytes(name, bytes).unwrap();
        Self::new(importers::import(&source, &Progress::default()).unwrap())
    }

    pub fn cx(&self, scope: Scope) -> Context<'_> {
        Context {
            model: &self.model,
            scope,
            options: &self.options,
            reports: &self.reports,
        }
    }

    pub fn scoped<A: Analysis>(&self, scope: Scope) -> Result<Arc<A::Report>, AnalysisError> {
        self.cx(scope).report::<A>()
    }

    /// The report about the whole trace.
    pub fn report<A: Analysis>(&self) -> Arc<A::Report> {
        self.scoped::<A>(Scope::WholeTrace).unwrap()
    }
}
