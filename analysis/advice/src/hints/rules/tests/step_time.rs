//! Which time is of a step, of the loop, and outside of it.

use engine::HintOptions;
use trace_model::{
    GroupKind, Picos, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel, TrackKind,
};

use super::{report, report_of};
use crate::hints::LoopLimit;

fn ms(ms: i64) -> Picos {
    Picos::from_ps(ms * 1_000_000_000)
}

fn limit(picture: &str) -> LoopLimit {
    report(picture).limit.unwrap()
}

/// Before its first op and after its last a device is idle, too.
#[test]
fn outside_of_the_loop_devices_are_idle_where_they_run_no_op() {
    let limit = limit(
        "
        @column 1ms
        steps      : ..............000000001111111122222222......
        ops        : ....m.........mmmm.mmmmmmm.mmmmmmmmmmm..mm..
        host python: .cccc......................................p
        m = fusion.1 [convolution fusion]
        c = backend_compile
        ",
    );
    let outside = limit.outside.unwrap();
    assert_eq!((outside.time_ps, outside.of_ps), (ms(19), ms(43)));
    assert_eq!(outside.idle_ps, ms(19 - 3));
}

/// A loop without a gap. The timeline shows every second of its steps a quarter longer than it took.
fn stretched() -> TraceModel {
    let mut builder = TraceBuilder::new();
    let kind = GroupKind::TensorCore { ordinal: 0 };
    let core = builder.group(None, kind, "/device:TPU:0");
    let steps = builder.track(core, TrackKind::Steps, 0, "Steps");
    let ops = builder.track(core, TrackKind::Ops, 1, "XLA Ops");
    let op = builder.label("fusion.1", None);
    let mut now = Timestamp::from_ps(ms(10).ps());
    for step in 0..12 {
        let shown = TimeRange::at(now, if step % 2 == 0 { ms(8) } else { ms(10) });
        let timed = Timestamp::from_ps(ms(5_000 + 8 * step).ps());
        let label = builder.label(&step.to_string(), None);
        builder.add_slice(steps, SliceSpec::new(shown, label));
        let device = Some(TimeRange::at(timed, ms(8)));
        builder.add_slice(
            ops,
            SliceSpec {
                device,
                ..SliceSpec::new(shown, op)
            },
        );
        now = shown.end;
    }
    builder.finish()
}

#[test]
fn nothing_is_outside_of_a_loop_that_fills_the_timeline() {
    let report = report_of(&stretched(), HintOptions::default());
    let limit = report.limit.unwrap();
    assert_eq!(limit.percent.0.round() as i64, 100);
    assert_eq!(limit.outside.map(|outside| outside.time_ps), None);
}
