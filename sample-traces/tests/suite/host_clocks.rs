//! Hosts with different clocks: their offset is found from shared collectives.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use analysis::facts::clock_alignment::HostOffset;
use analysis::reports::host::clocks::Clocks;
use analysis::{Context, Options, ReportCache, Scope};
use importers::{ImportOptions, Progress};
use sample_traces::synthetic::{HostClock, SyntheticRun, TrainingSpec};
use sample_traces::write::xspace_bytes;
use trace_model::Picos;

/// Host `b` against host `a`, which has the right time.
fn offset(spec: TrainingSpec, clock: HostClock) -> Option<HostOffset> {
    let run = SyntheticRun::new(spec);
    let dir = tempfile::tempdir().unwrap();
    for (host, clock) in [("a", HostClock::default()), ("b", clock)] {
        let path = dir.path().join(format!("{host}.xplane.pb"));
        std::fs::write(path, xspace_bytes(&run.host_session(host, clock))).unwrap();
    }
    let model = importers::import_path(dir.path(), &ImportOptions::default(), &Progress::default())
        .unwrap();
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    let report = cx.report::<Clocks>().unwrap();
    assert_eq!(report.devices.len(), 2 * run.spec.devices() as usize);
    assert!(report.hosts.len() < 2);
    report.hosts.first().cloned()
}

#[test]
fn clock_offset_shows_in_every_collective() {
    for ahead in [0, 750_000_000, -2_000_000_000] {
        let found = offset(
            TrainingSpec::default(),
            HostClock {
                ahead: Picos::from_ps(ahead),
                drift_ppm: 0.0,
            },
        )
        .unwrap();
        assert_eq!(
            (found.offset_ps.ps(), found.spread_ps.ps()),
            (ahead, 0),
            "{found:?}"
        );
        assert!(
            found.collectives > 20 && found.drift_ppm.is_none(),
            "{found:?}"
        );
    }
}

/// 40 ppm over a run with a compilation of 50 s in its middle.
#[test]
fn clock_drift_shows_between_first_and_last_third() {
    let spec = || TrainingSpec {
        recompile_at: Some(3),
        steps: 6,
        ..TrainingSpec::default()
    };
    let ahead = Picos::from_ps(100_000_000);
    let found = offset(
        spec(),
        HostClock {
            ahead,
            drift_ppm: 40.0,
        },
    )
    .unwrap();
    let drift = found.drift_ppm.unwrap();
    assert!((drift - 40.0).abs() < 0.1, "{found:?}");
    let (first, last) = (
        found.first_third_ps.unwrap().ps(),
        found.last_third_ps.unwrap().ps(),
    );
    let run = SyntheticRun::new(spec());
    let gained = |step: usize| (run.steps[step].device.1 as f64 * 40e-6) as i64;
    assert!(
        (gained(0)..gained(2)).contains(&(first - ahead.ps())),
        "{found:?}"
    );
    assert!(
        (gained(4)..=gained(5) + 1_000_000).contains(&(last - ahead.ps())),
        "{found:?}"
    );
}

#[test]
fn hosts_without_common_collectives_are_not_compared() {
    let alone = TrainingSpec {
        data: 1,
        model: 1,
        ..TrainingSpec::default()
    };
    assert_eq!(offset(alone, HostClock::default()), None);
}
