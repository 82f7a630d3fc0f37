//! Gaps of synthetic runs: what the host did in each of them follows from when the run says that each phase of a step
//! started.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use analysis::reports::host::dispatch::Dispatch;
use analysis::reports::host::gaps::GapPlace;
use analysis::reports::{Gaps, GapsReport, IdleCause};
use analysis::{Context, Options, Percent, ReportCache, Scope};
use importers::{InputSource, Progress};
use sample_traces::sample_specs;
use sample_traces::synthetic::{ExpectedCompile, SyntheticRun, SyntheticStepTimes, TrainingSpec};
use sample_traces::write::{trace_json, xspace_bytes};
use trace_model::{Picos, TraceModel};

const US: i64 = 1_000_000;
/// Enqueues of two devices are so far apart.
const PER_DEVICE_PS: i64 = US;
/// How long an enqueue takes.
const ENQUEUE_PS: i64 = US - 100_000;
/// The host annotates a step before it asks for input.
const BEFORE_INPUT_PS: i64 = US;

fn gaps_of(model: &TraceModel) -> GapsReport {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    cx.report::<Gaps>().unwrap().as_ref().clone()
}

/// What the host does between two programs of device `ordinal`, in the order of [`Cause::ALL`].
fn expected(
    run: &SyntheticRun,
    ordinal: i64,
    pair: &[SyntheticStepTimes],
) -> Vec<(IdleCause, i64)> {
    let (last, next) = (pair[0], pair[1]);
    let skew = run.spec.device_skew.ps();
    let enqueued = next.enqueue + ordinal * PER_DEVICE_PS;
    // Corrected by the least shift, programs start when they are enqueued, or earlier than in truth by nothing.
    let least = skew + ordinal * PER_DEVICE_PS - (next.device.0 - next.enqueue);
    let off = least.max(0) - skew;
    let (from, to) = (last.device.1 + off, next.device.0 + off);
    let compile = run
        .expected
        .compile
        .as_ref()
        .filter(|_| next.compile.is_some())
        .map_or(0, ExpectedCompile::wall_ps);
    let in_queue = to.min(enqueued + ENQUEUE_PS);
    let parts = [
        (IdleCause::Compile, compile),
        (
            IdleCause::Input,
            next.input_end - next.begin - BEFORE_INPUT_PS,
        ),
        (IdleCause::HostToDevice, next.call.0 - next.input_end),
        (IdleCause::Dispatch, in_queue - next.call.0 - compile),
        (IdleCause::Wait, last.end - from),
        (IdleCause::Queued, to - in_queue),
        (IdleCause::Unknown, BEFORE_INPUT_PS),
    ];
    parts.into_iter().filter(|&(_, time)| time > 0).collect()
}

fn check(run: &SyntheticRun, report: &GapsReport, name: &str) {
    assert_eq!(report.devices.len(), run.spec.devices() as usize, "{name}");
    for (ordinal, device) in report.devices.iter().enumerate() {
        let mut gaps: Vec<_> = device
            .gaps
            .iter()
            .filter(|gap| gap.place == GapPlace::Between)
            .collect();
        gaps.sort_by_key(|gap| gap.start_ps);
        assert_eq!(gaps.len(), run.steps.len() - 1, "{name}");
        for (gap, pair) in gaps.into_iter().zip(run.steps.windows(2)) {
            let found: Vec<_> = gap
                .causes
                .iter()
                .map(|part| (part.cause, part.time_ps.ps()))
                .collect();
            assert_eq!(
                found,
                expected(run, ordinal as i64, pair),
                "{name} device {ordinal} before step {}",
                pair[1].step
            );
            assert_eq!(
                gap.start_ps.ps(),
                pair[0].device.1 - run.spec.device_skew.ps(),
                "{name}"
            );
        }
        let sum: Picos = IdleCause::ALL
            .map(|cause| device.time_ps(cause))
            .into_iter()
            .sum();
        assert_eq!(
            (sum, device.program_ps.ps()),
            (device.idle_ps, run.expected.module_ps),
            "{name}"
        );
        assert_eq!(
            device.idle_ps + device.program_ps,
            device.window_ps,
            "{name}"
        );
        let inside = device.inside.as_ref().unwrap();
        assert_eq!(
            inside.idle_ps.ps(),
            run.expected.module_ps - run.expected.sums.busy,
            "{name}"
        );
        assert_eq!(inside.program_ps.ps(), run.expected.module_ps, "{name}");
    }
}

#[test]
fn gap_causes_match_the_host() {
    for (spec, _) in sample_specs() {
        let run = SyntheticRun::new(spec);
        let name = &run.spec.name;
        let open = |name: &str, bytes| {
            importers::import(
                &InputSource::from_bytes(name, bytes).unwrap(),
                &Progress::new(),
            )
            .unwrap()
        };
        check(
            &run,
            &gaps_of(&open("sample.xplane.pb", xspace_bytes(&run.session()))),
            name,
        );
        check(
            &run,
            &gaps_of(&open(
                "sample.trace.json",
                trace_json(&run.session()).into_bytes(),
            )),
            name,
        );
    }
}

/// Only the cause moves when the input is late, and by just that.
#[test]
fn input_stall_is_attributed_to_input() {
    let open = |stall| {
        let run = SyntheticRun::new(TrainingSpec {
            stall,
            ..TrainingSpec::default()
        });
        let source =
            InputSource::from_bytes("sample.xplane.pb", xspace_bytes(&run.session())).unwrap();
        gaps_of(&importers::import(&source, &Progress::new()).unwrap())
    };
    let (with, without) = (open(Some((2, Picos::from_ps(7_000 * US)))), open(None));
    for (with, without) in with.devices.iter().zip(&without.devices) {
        for cause in IdleCause::ALL {
            let more = if cause == IdleCause::Input {
                7_000 * US
            } else {
                0
            };
            assert_eq!(
                (with.time_ps(cause) - without.time_ps(cause)).ps(),
                more,
                "{cause:?}"
            );
        }
    }
}

/// The host waits for each step before it launches the next: never ahead, and by the
/// least shift every launch is 0 late, of 25 + 12 µs that the bounds leave.
#[test]
fn waiting_host_never_runs_ahead() {
    let run = SyntheticRun::new(TrainingSpec {
        data: 1,
        model: 1,
        ..TrainingSpec::default()
    });
    let source = InputSource::from_bytes("sample.xplane.pb", xspace_bytes(&run.session())).unwrap();
    let model = importers::import(&source, &Progress::new()).unwrap();
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    let report = cx.report::<Dispatch>().unwrap();
    let [device] = &report.devices[..] else {
        panic!("{:?}", report.devices)
    };
    assert_eq!(
        (device.launches, device.latency_max_ps),
        (run.steps.len(), Picos::ZERO)
    );
    let launch = run.steps[0].device.0 - run.steps[0].enqueue;
    let (at_least, at_most) = run.expected.clock_shift_ps;
    assert_eq!(
        device.uncertainty_ps.map(Picos::ps),
        Some(at_most - at_least)
    );
    assert_eq!(at_most - at_least, launch + 12 * US);
    assert_eq!(
        (device.ahead_max, device.dry_percent),
        (0, Some(Percent(100.0)))
    );
    let gap = run.steps[1].device.0 - run.steps[0].device.1;
    let program = run.steps[0].device.1 - run.steps[0].device.0;
    assert_eq!(
        (
            device.gap_median_ps.map(Picos::ps),
            device.program_median_ps.ps()
        ),
        (Some(gap), program)
    );
    // Nothing is bound by dispatch where gaps are short beside programs.
    assert_eq!(device.is_dispatch_bound, gap * 20 >= program);
}
