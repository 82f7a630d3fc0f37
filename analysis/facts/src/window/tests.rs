//! Windows of scopes on the clocks of cores.

use engine::{Options, ReportCache};
use trace_model::{SliceSpec, TraceBuilder};

use super::*;
use crate::TraceFacts as _;

fn range(start: i64, end: i64) -> TimeRange {
    TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end))
}

/// Ops at 100..200 and 300..400, 1000 ps later on the device clock, inside a host slice.
fn two_ops() -> TraceModel {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let core = builder.group(
        Some(host),
        GroupKind::TensorCore { ordinal: 0 },
        "/device:TPU:0",
    );
    let ops = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
    let op = builder.label("op", None);
    for start in [100, 300] {
        let device = Some(range(start + 1000, start + 1100));
        builder.add_slice(
            ops,
            SliceSpec {
                device,
                ..SliceSpec::new(range(start, start + 100), op)
            },
        );
    }
    let cpu = builder.group(Some(host), GroupKind::HostProcess, "/host:CPU");
    let thread = builder.track(cpu, TrackKind::HostThread, 1, "main");
    builder.add_slice(thread, SliceSpec::new(range(0, 10_000), op));
    builder.finish()
}

fn window_of(model: &TraceModel, scope: Scope) -> Result<Option<TimeWindow>, AnalysisError> {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model,
        scope,
        options: &options,
        reports: &reports,
    };
    cx.window(model.tensor_cores()[0])
}

#[test]
fn whole_trace_scope_covers_the_recorded_time_of_a_core() {
    let window = window_of(&two_ops(), Scope::WholeTrace);
    assert_eq!(
        window,
        Ok(Some(TimeWindow {
            range: range(100, 400),
            measured: range(1100, 1400)
        }))
    );
}

#[test]
fn range_is_clipped_to_the_core_and_shifted_to_its_clock() {
    let model = two_ops();
    let window = window_of(&model, Scope::Range(range(250, 9_000)));
    assert_eq!(
        window,
        Ok(Some(TimeWindow {
            range: range(250, 400),
            measured: range(1250, 1400)
        }))
    );
    assert_eq!(
        window_of(&model, Scope::Range(range(5_000, 9_000))),
        Ok(None)
    );
}

#[test]
fn window_length_uses_the_device_clock_of_its_ops() {
    // On the timeline the ops take 50 and 10; by their own clock 80 and 20, with 5 between.
    let mut builder = TraceBuilder::new();
    let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
    let ops = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
    let op = builder.label("op", None);
    let both = [
        (range(0, 9), range(0, 9)),
        (range(100, 150), range(500, 580)),
        (range(150, 160), range(585, 605)),
    ];
    for (shown, timed) in both {
        builder.add_slice(
            ops,
            SliceSpec {
                device: Some(timed),
                ..SliceSpec::new(shown, op)
            },
        );
    }
    let model = builder.finish();
    // In the middle of a gap of 91 on the timeline and 491 by the device: time passes evenly.
    let window = window_of(&model, Scope::Range(range(90, 160)))
        .unwrap()
        .unwrap();
    assert_eq!(window.measured, range(446, 605));
    // Inside an op of 50 on the timeline and 80 by the device.
    let window = window_of(&model, Scope::Range(range(120, 130)))
        .unwrap()
        .unwrap();
    assert_eq!(window.measured, range(532, 548));
}

#[test]
fn step_without_device_clock_is_as_long_as_its_ops() {
    let mut builder = TraceBuilder::new();
    let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
    let ops = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
    let steps = builder.track(core, TrackKind::Steps, 1, "Steps");
    let label = builder.label("0", None);
    for (shown, timed) in [
        (range(100, 150), range(500, 580)),
        (range(150, 160), range(585, 605)),
    ] {
        builder.add_slice(
            ops,
            SliceSpec {
                device: Some(timed),
                ..SliceSpec::new(shown, label)
            },
        );
    }
    builder.add_slice(steps, SliceSpec::new(range(90, 160), label));
    let model = builder.finish();
    let step = model
        .slices_on(model.track_of_kind(core, TrackKind::Steps).unwrap())
        .next()
        .unwrap();
    assert_eq!(measured_range(step, &model), range(490, 605));
    let op = model
        .slices_on(model.track_of_kind(core, TrackKind::Ops).unwrap())
        .next()
        .unwrap();
    assert_eq!(measured_range(op, &model), range(500, 580));
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    let report = cx.steps();
    assert_eq!(
        measured_range(step, &model).dur().ps(),
        report.steps[0].time_ps.ps(),
        "reports say the same"
    );
}

#[test]
fn unknown_steps_are_an_error() {
    assert!(window_of(&two_ops(), Scope::Steps { first: 7, last: 9 }).is_err());
}

#[test]
fn core_window_uses_a_single_clock() {
    let mut builder = sample_traces::text_builder(
        "
        @device-clock 500ns
        ops: ..AA..BB
        ",
    );
    let core = GroupKind::TensorCore { ordinal: 0 };
    let host = builder.group(None, GroupKind::Host, "text");
    let core = builder.group(Some(host), core, "/device:TPU:0");
    // Steps have times on the timeline only, as in real captures.
    let steps = builder.track(core, TrackKind::Steps, 1, "Steps");
    let step = builder.label("0", None);
    builder.add_slice(steps, SliceSpec::new(range(0, 9_000), step));
    let model = builder.finish();
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    let window = cx.window(core).unwrap().unwrap();
    assert_eq!(
        (window.range, window.measured),
        (range(0, 9_000), range(500_000, 509_000))
    );
}
