use engine::{Options, ReportCache, Scope};
use facts::TraceFacts as _;
use facts::clock_alignment::*;
use trace_model::*;

use super::*;

const US: i64 = 1_000_000;

/// Host events of a program.
#[derive(Clone, Copy)]
enum LaunchEvidence {
    RunIds,
    Flows,
    Nothing,
}

/// Programs of 10 µs on one device that start at `begins`; the host launches each `launch` µs after that and notices
/// its end `done` µs after its end.
fn capture(told: LaunchEvidence, programs: &[(i64, i64, i64)]) -> TraceModel {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let core = builder.group(
        Some(host),
        GroupKind::TensorCore { ordinal: 0 },
        "/device:TPU:0",
    );
    let cpu = builder.group(Some(host), GroupKind::HostProcess, "/host:CPU");
    let modules = builder.track(core, TrackKind::Modules, 0, "XLA Modules");
    let thread = builder.track(cpu, TrackKind::HostThread, 1, "main");
    let [module, enqueue, complete, launch, done] = [
        "jit_f(1)",
        "DoEnqueueProgram",
        "CompleteCallbacks",
        "X::ExecuteLaunch",
        "tpu::System::Execute=>Done",
    ]
    .map(|name| builder.label(name, None));
    let (enqueue, complete) = if matches!(told, LaunchEvidence::RunIds) {
        (enqueue, complete)
    } else {
        (launch, done)
    };
    for (run, &(begin, launched, noticed)) in programs.iter().enumerate() {
        let at = |us: i64, dur: i64| {
            TimeRange::at(Timestamp::from_ps(us * US), Picos::from_ps(dur * US))
        };
        let program = builder.add_slice(modules, SliceSpec::new(at(begin, 10), module));
        let start = builder.add_slice(thread, SliceSpec::new(at(begin + launched, 1), enqueue));
        let end = builder.add_slice(
            thread,
            SliceSpec::new(at(begin + 10 + noticed, 1), complete),
        );
        match told {
            LaunchEvidence::RunIds => {
                for key in [program, start, end] {
                    builder.set_attr(key, SliceAttr::RunId, run as i64);
                }
            }
            LaunchEvidence::Flows => {
                builder.add_flow(FlowEnd::Slice(start), FlowEnd::Slice(program), run as u64);
            }
            LaunchEvidence::Nothing => {}
        }
    }
    builder.finish()
}

fn shift_of(model: &TraceModel) -> Option<ClockShift> {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    cx.report::<Clocks>()
        .ok()
        .map(|report| report.devices[0].clone())
}

#[test]
fn run_ids_flows_and_order_give_the_same_shift() {
    for (told, by) in [
        (LaunchEvidence::RunIds, PairedBy::RunId),
        (LaunchEvidence::Flows, PairedBy::Flows),
        (LaunchEvidence::Nothing, PairedBy::Order),
    ] {
        let shift = shift_of(&capture(told, &[(0, 30, 60), (100, 40, 55)])).unwrap();
        assert_eq!((shift.paired_by, shift.pairs, shift.ends), (by, 2, 2));
        assert_eq!(
            (
                shift.bounds.at_least_ps.ps(),
                shift.bounds.at_most_ps.map(Picos::ps)
            ),
            (40 * US, Some(55 * US))
        );
        assert_eq!(
            (shift.shift_ps.ps(), shift.sync),
            (40 * US, ClockSync::Shifted)
        );
        assert_eq!((shift.evidence.len(), shift.first_third), (2, None));
    }
}

#[test]
fn clocks_within_bounds_are_not_shifted() {
    let model = capture(LaunchEvidence::RunIds, &[(0, -5, 5), (100, -9, 7)]);
    assert_eq!(
        shift_of(&model).map(|shift| (shift.shift_ps.ps(), shift.sync)),
        Some((0, ClockSync::Aligned))
    );
    // Devices can be late as well as early.
    let model = capture(LaunchEvidence::RunIds, &[(0, -90, -20), (100, -80, -30)]);
    assert_eq!(
        shift_of(&model).map(|shift| (shift.shift_ps.ps(), shift.sync)),
        Some((-30 * US, ClockSync::Shifted))
    );
}

#[test]
fn without_launches_there_is_no_shift() {
    let model = sample_traces::text_trace("modules: AA.BB\nhost main: aaaaa");
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    assert!(cx.report::<Clocks>().is_err());
    let extent = model.extent();
    assert_eq!(cx.to_host(model.tensor_cores()[0], extent), extent);
}

/// A device whose clock is 50 ppm slow, over 20 s: the bounds of the thirds contradict each other, the line through
/// all of them is found, and times follow it.
#[test]
fn clock_drift_is_corrected() {
    let programs: Vec<_> = (0..20)
        .map(|second| {
            let shift = 500 + 50 * second;
            (second * 1_000_000, shift - 8, shift + 8)
        })
        .collect();
    let model = capture(LaunchEvidence::RunIds, &programs);
    let shift = shift_of(&model).unwrap();
    assert_eq!(shift.sync, ClockSync::Drifting);
    let drift = shift.drift.unwrap();
    assert!((drift.drift_ppm - 50.0).abs() < 0.5, "{drift:?}");
    let (first, last) = (shift.first_third.unwrap(), shift.last_third.unwrap());
    assert!(first.at_most_ps.unwrap() < last.at_least_ps);
    let (clock, second) = (shift.clock(), |s: i64| {
        Timestamp::from_ps(s * 1_000_000 * US)
    });
    for s in [0, 7, 19] {
        let off = (clock.to_host(second(s)) - second(s)).ps() - (500 + 50 * s) * US;
        assert!(off.abs() < 8 * US, "{s}: {off}");
    }
}

/// The profiler maps the second program 300 µs too late; the times of its ops are correct.
#[test]
fn out_of_order_timeline_uses_the_device_clock() {
    let model = |with_ops: bool| {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let core = builder.group(
            Some(host),
            GroupKind::TensorCore { ordinal: 0 },
            "/device:TPU:0",
        );
        let cpu = builder.group(Some(host), GroupKind::HostProcess, "/host:CPU");
        let modules = builder.track(core, TrackKind::Modules, 0, "XLA Modules");
        let ops = builder.track(core, TrackKind::Ops, 1, "XLA Ops");
        let thread = builder.track(cpu, TrackKind::HostThread, 2, "main");
        let names = [
            "jit_f(1)",
            "fusion.1",
            "DoEnqueueProgram",
            "CompleteCallbacks",
        ];
        let [module, op, enqueue, complete] = names.map(|name| builder.label(name, None));
        let at = |us: i64, dur: i64| {
            TimeRange::at(Timestamp::from_ps(us * US), Picos::from_ps(dur * US))
        };
        // Begin on the host, and on the timeline; the device clock is 700 µs ahead of the host's.
        for (run, (truth, shown)) in [(1000, 1000), (2000, 2300), (3000, 3000)]
            .into_iter()
            .enumerate()
        {
            let program = builder.add_slice(modules, SliceSpec::new(at(shown, 50), module));
            if with_ops {
                let device = Some(at(truth + 702, 46));
                builder.add_slice(
                    ops,
                    SliceSpec {
                        device,
                        ..SliceSpec::new(at(shown + 2, 46), op)
                    },
                );
            }
            let start = builder.add_slice(thread, SliceSpec::new(at(truth - 20, 5), enqueue));
            let end = builder.add_slice(thread, SliceSpec::new(at(truth + 60, 5), complete));
            for key in [program, start, end] {
                builder.set_attr(key, SliceAttr::RunId, run as i64);
            }
        }
        builder.finish()
    };
    assert_eq!(
        shift_of(&model(false)).map(|shift| (shift.sync, shift.base)),
        Some((ClockSync::Poor, ClockBase::Timeline))
    );
    let model = model(true);
    let shift = shift_of(&model).unwrap();
    assert_eq!(
        (shift.sync, shift.base),
        (ClockSync::Shifted, ClockBase::DeviceClock)
    );
    assert_eq!(
        (
            shift.bounds.at_least_ps.ps(),
            shift.bounds.at_most_ps.map(Picos::ps)
        ),
        (-720 * US, Some(-690 * US))
    );
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    let begins: Vec<i64> = cx
        .programs_on_host(model.tensor_cores()[0])
        .iter()
        .map(|(_, range)| range.start.ps() / US)
        .collect();
    assert_eq!(
        begins,
        [1010, 2010, 3010],
        "within the 30 µs that the bounds leave"
    );
}

#[test]
fn contradicting_bounds_are_poor_sync() {
    let shift = shift_of(&capture(
        LaunchEvidence::RunIds,
        &[(0, 100, 110), (100, 20, 30), (200, 100, 110)],
    ))
    .unwrap();
    assert_eq!(
        (shift.sync, shift.shift_ps.ps()),
        (ClockSync::Poor, 100 * US)
    );
}

#[test]
fn tables_are_rectangular() {
    let programs: Vec<_> = (0..9).map(|k| (k * 100, 30, 60)).collect();
    let model = capture(LaunchEvidence::RunIds, &programs);
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    let tables = Tabular::tables(cx.report::<Clocks>().unwrap().as_ref());
    assert_eq!(tables.len(), 2);
    assert!(tables.iter().all(|table| {
        table
            .rows
            .iter()
            .all(|row| row.len() == table.columns.len())
    }));
}
