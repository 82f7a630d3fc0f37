//! The list of analyses. To add one: a file in its folder below `reports`, and a line here.

use advice::{critical_path, hints};
use device_reports::communication::{collectives, dcn, overlap, sparse_cores};
use device_reports::memory::{buffers, hbm, shortage};
use device_reports::ops::{
    bundles, expected, hardware_counters, kernels, loops, matmuls, op_stats, roofline,
};
use device_reports::steps::{balance, devices, step_parts, step_times};
use engine::{AnalysisEntry, Options, entry};
use run_reports::host::{clocks, compile, dispatch, gaps, input, serving};
use run_reports::summary::{doctor, targets, utilization, verdict};
use trace_model::HostEventUse;

/// Every analysis, in the order of a report.
#[rustfmt::skip]
pub static ANALYSES: &[AnalysisEntry] = &[
    entry::<verdict::RunVerdict>(),
    entry::<targets::Targets>(),
    entry::<hints::Hints>(),
    entry::<step_times::Steps>(),
    entry::<step_parts::StepParts>(),
    entry::<critical_path::CriticalPaths>(),
    entry::<devices::Devices>(),
    entry::<balance::Balance>(),
    entry::<utilization::Utilization>(),
    entry::<op_stats::Ops>(),
    entry::<roofline::Roofline>(),
    entry::<expected::Expected>(),
    entry::<matmuls::Matmuls>(),
    entry::<loops::Loops>(),
    entry::<kernels::Kernels>(),
    entry::<bundles::Code>(),
    entry::<hardware_counters::HardwareCounters>(),
    entry::<sparse_cores::SparseCores>(),
    entry::<overlap::Overlap>(),
    entry::<collectives::Collectives>(),
    entry::<dcn::Dcn>(),
    entry::<hbm::Memory>(),
    entry::<buffers::Buffers>(),
    entry::<shortage::MemoryNeed>(),
    entry::<compile::Compile>(),
    entry::<gaps::Gaps>(),
    entry::<dispatch::Dispatch>(),
    entry::<input::Input>(),
    entry::<serving::Serving>(),
    entry::<clocks::Clocks>(),
    entry::<doctor::Doctor>(),
];

/// What all analyses read of events on host threads with this name, in captures without devices: an import for reports
/// may leave the others out.
pub fn host_event_use(name: &str, options: &Options) -> HostEventUse {
    facts::host_event_use(name)
        .max(dcn::host_event_use(name))
        .max(run_reports::host::host_event_use(name, options))
}

#[cfg(test)]
mod tests {
    use engine::{AnalysisError, Context, Options, ReportCache, Result, Scope};
    use sample_traces::big::{BigSpec, big_model};
    use trace_model::TraceModel;

    use super::*;

    /// Ops of one device, more than twice as many as a loop processes between two checks.
    const OPS: u64 = 3_000;

    struct Run {
        report: Result<serde_json::Value>,
        checks: u64,
    }

    /// Runs an analysis that is stopped by its n-th check; by none if that is 0.
    fn run(model: &TraceModel, entry: &AnalysisEntry, stopped_by: u64) -> Run {
        let (options, reports) = (Options::default(), ReportCache::counting_checks(stopped_by));
        let cx = Context {
            model,
            scope: Scope::WholeTrace,
            options: &options,
            reports: &reports,
        };
        let report = (entry.run)(&cx).map(|report| report.json());
        Run {
            checks: reports.checks().unwrap(),
            report,
        }
    }

    /// Counted and not timed: once stopped, every loop looks once and ends.
    #[test]
    fn every_analysis_stops_at_its_next_check() {
        let trace = |slices| big_model(BigSpec { slices, tracks: 1 });
        let (model, small) = (trace(OPS), trace(500));
        for entry in ANALYSES {
            let (whole, short) = (run(&model, entry, 0), run(&small, entry, 0));
            for nth in [1, whole.checks / 2, whole.checks] {
                let stopped = run(&model, entry, nth);
                assert_eq!(
                    stopped.report,
                    Err(AnalysisError::Cancelled),
                    "{} at check {nth}",
                    entry.id
                );
                // Facts and reports of before may be requested once more.
                let later = stopped.checks - nth;
                assert!(
                    later <= 2 * short.checks,
                    "{}: {later} checks after the {nth}th",
                    entry.id
                );
            }
        }
    }

    #[test]
    fn loops_over_ops_look_again_and_again() {
        for entry in ANALYSES
            .iter()
            .filter(|entry| ["ops", "devices", "overlap", "utilization"].contains(&entry.id))
        {
            let checks = [500, OPS]
                .map(|slices| run(&big_model(BigSpec { slices, tracks: 1 }), entry, 0).checks);
            assert!(checks[1] >= checks[0] + 2, "{}: {checks:?}", entry.id);
        }
    }
}
