//! Which time is of a step, of the loop, and outside of it.

use std::cmp::Reverse;

use engine::{HintOptions, Provenance};
use facts::TimeUse;
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

/// The parts in whole microseconds, the longest first.
fn parts(limit: &LoopLimit) -> Vec<(TimeUse, i64)> {
    let parts = limit.parts.iter();
    let parts = parts.map(|part| (part.id, (part.time_ps / 1e6).round() as i64));
    let mut parts: Vec<_> = parts.collect();
    parts.sort_by_key(|&(id, time)| (Reverse(time), id));
    parts
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

/// A device works in the steps of others, too, whether or not it runs their program or shows steps of its own.
#[test]
fn a_device_without_steps_of_its_own_is_idle_only_where_it_runs_no_op() {
    let five = |step: &str| step.repeat(5);
    let programs = |rows: &[&str]| {
        let row = |(at, ops): (usize, &&str)| {
            let modules = ops.replace('m', "A").replace('v', "B");
            format!(
                "TPU:{at} modules: {}\nTPU:{at} ops: {}\n",
                five(&modules),
                five(ops)
            )
        };
        rows.iter().enumerate().map(row).collect::<String>()
    };
    let legend =
        "A = jit_a(1)\nB = jit_b(2)\nm = fusion.1 [convolution fusion]\nv = fusion.2 [loop fusion]";
    let of = |rows: &str| parts(&limit(&format!("@column 1ms\n{rows}{legend}")));
    // A pipeline of two devices.
    let pipeline = programs(&["mmmmmm....", "......vvvv"]);
    let expected = [
        (TimeUse::Idle, 5_000),
        (TimeUse::MatMul, 3_000),
        (TimeUse::Vector, 2_000),
    ];
    assert_eq!(of(&pipeline), expected);
    // Two devices train, one makes their samples.
    let samples = programs(&["mmmmmm....", "mmmmmm....", "vvvvvvvvv."]);
    let expected = [
        (TimeUse::MatMul, 4_000),
        (TimeUse::Vector, 3_000),
        (TimeUse::Idle, 3_000),
    ];
    assert_eq!(of(&samples), expected);
    // Only one of two equal devices shows its steps.
    let numbers: String = (0..5).map(|step| step.to_string().repeat(10)).collect();
    let ops = five("mmmmvv....");
    let marked = format!("TPU:0 steps: {numbers}\nTPU:0 ops: {ops}\nTPU:1 ops: {ops}\n");
    let expected = [
        (TimeUse::MatMul, 4_000),
        (TimeUse::Idle, 4_000),
        (TimeUse::Vector, 2_000),
    ];
    assert_eq!(of(&marked), expected);
}

/// What runs between two steps is no idle time of what a step and what follows it takes.
#[test]
fn what_runs_between_steps_is_not_idle() {
    let limit = limit(
        "
        @column 1ms
        steps: 0000000...1111111...2222222...
        ops  : mmmmmmm.vvmmmmmmm.vvmmmmmmm.vv
        m = fusion.1 [convolution fusion]
        v = fusion.2 [loop fusion]
        ",
    );
    // 27 ms from the begin of the first step to the end of the last.
    let expected = [
        (TimeUse::MatMul, 7_000),
        (TimeUse::Vector, 1_333),
        (TimeUse::Idle, 667),
    ];
    assert_eq!(parts(&limit), expected);
}

/// All steps take 7 ms and a gap of 1 ms, once of 33 ms while the host compiles or reads input.
fn once(event: &str) -> String {
    let steps: Vec<String> = (0..8).map(|step| step.to_string().repeat(7)).collect();
    let gap = |at: usize| ".".repeat(if at == 3 { 33 } else { 1 });
    let row =
        |cell: &dyn Fn(usize) -> String| (0..8).map(|at| cell(at) + &gap(at)).collect::<String>();
    let ops = row(&|_| "m".repeat(7));
    let host = format!("{}{}", ".".repeat(3 * 8 + 7), "h".repeat(33));
    format!(
        "@column 1ms\nsteps: {}\nmodules: {}\nops: {ops}\nhost python: {host}\n\
         A = jit_step(1)\nm = fusion.1 [convolution fusion]\nh = {event}",
        row(&|at| steps[at].clone()),
        ops.replace('m', "A"),
    )
}

#[test]
fn a_gap_between_two_steps_is_not_of_each_step() {
    let report = report(&once("backend_compile"));
    assert!(report.is_above_median);
    let statement = report.limit.unwrap().statement;
    assert_eq!(
        statement,
        "The loop waits for compilation 34.7 % of the mean step: 4.125 ms of 11.88 ms"
    );
}

#[test]
fn a_wait_between_two_steps_is_of_the_loop() {
    let report = report(&once("IteratorGetNext"));
    let hint = report.hints.iter().find(|hint| hint.id == "K34").unwrap();
    assert_eq!(
        hint.statement,
        "/device:TPU:0 waits for input for 34.7 % of the loop (IteratorGetNext)"
    );
}

/// Infeed ops and gaps in which the host prepares input are one wait, as in the hint about it.
#[test]
fn infeed_is_waiting_for_input() {
    let picture = |cause: &str| {
        format!(
            "
            @column 1ms
            steps      : 000000000011111111112222222222
            modules    : AAAAAAA...BBBBBBB...AAAAAAA...
            ops        : ddmmmmv...ddmmmmv...ddmmmmv...
            host python: .......ii........ii........ii.
            A = jit_step(1)
            B = jit_step(1)
            d = infeed.1 [infeed]
            m = fusion.1 [convolution fusion]
            v = fusion.2 [loop fusion]
            i = {cause}
            "
        )
    };
    let found = report(&picture("IteratorGetNext"));
    let limit = found.limit.unwrap();
    assert_eq!(
        limit.statement,
        "The loop waits for input 40.0 % of each step: 4.000 ms of 10.00 ms"
    );
    let hint = found.hints.iter().find(|hint| hint.id == "K34");
    assert_eq!(hint.and_then(|hint| hint.saving_ps), Some(ms(4)));
    let expected = [
        (TimeUse::MatMul, 4_000),
        (TimeUse::Input, 4_000),
        (TimeUse::Vector, 1_000),
        (TimeUse::Idle, 1_000),
    ];
    assert_eq!(parts(&limit), expected);
    assert_eq!(limit.provenance, Provenance::Inferred, "half of it");
    // Another cause of the idle time is a part of its own beside it.
    let found = report(&picture("backend_compile")).limit.unwrap();
    let other = [TimeUse::Input, TimeUse::Compile].map(|id| (id, 2_000));
    assert!(
        other.iter().all(|part| parts(&found).contains(part)),
        "{found:?}"
    );
}

/// Infeed ops are no idle time.
#[test]
fn infeed_without_gaps_is_measured() {
    let found = report(
        "
        @column 1ms
        steps: 000000000011111111112222222222
        ops  : ddddddmmmmddddddmmmmddddddmmmm
        d = infeed.1 [infeed]
        m = fusion.1 [convolution fusion]
        ",
    );
    let limit = found.limit.unwrap();
    assert_eq!(
        (limit.id, limit.provenance),
        (TimeUse::Input, Provenance::Measured)
    );
    assert!(
        limit.parts.iter().all(|part| part.idle_ps() <= 0.0),
        "{limit:?}"
    );
}
