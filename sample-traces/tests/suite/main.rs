//! Synthetic traces: their files, and the reports about them.
//!
//! One program, so that it links once: `cargo test -p sample-traces --test suite NAME`.

/// An analysis of the whole trace.
macro_rules! report {
    ($analysis:ty, $model:expr) => {{
        let (options, reports) = (
            analysis::Options::default(),
            analysis::ReportCache::default(),
        );
        let scope = analysis::Scope::WholeTrace;
        let cx = analysis::Context {
            model: $model,
            scope,
            options: &options,
            reports: &reports,
        };
        cx.report::<$analysis>().unwrap()
    }};
}

mod arithmetic;
mod closed_form;
mod compilation;
mod files;
mod fleet;
mod gaps;
mod host_clocks;
mod real_capture;
