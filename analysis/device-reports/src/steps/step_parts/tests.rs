//! Parts of steps on drawn and on random traces.

use engine::{Options, ReportCache, Tabular as _};
use facts::TraceFacts as _;
use proptest::prelude::*;
use sample_traces::{text_builder, text_trace};
use trace_model::{
    GroupKind, Picos, SliceAttr, SliceSpec, Timestamp, TraceBuilder, TraceModel, TrackKind,
};

use super::*;
use crate::steps::step_times::Steps;

fn report(model: &TraceModel, scope: Scope) -> Result<StepPartsReport> {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model,
        scope,
        options: &options,
        reports: &reports,
    };
    cx.report::<StepParts>()
        .map(|report| report.as_ref().clone())
}

/// Two steps of 20 ns; the second waits for its input and computes no longer.
const STEPS: &str = "
    @device-clock 500ns
    steps: 0000000000000000000011111111111111111111
    ops  : mmmmsvvvvdd.rrcckkii......mmmmmm.WWWW...
         : ..................................bb....
    async: ....ffffffffffff
    m = fusion.1 [convolution fusion]
    v = fusion.2 [loop fusion]
    s = all-gather-start.1 [all-gather-start]
    f = all-gather-start.1 [all-gather-start] done=all-gather-done.1
    d = all-gather-done.1 [all-gather-done]
    r = all-reduce.1 [all-reduce]
    c = copy-done.1 [copy-done]
    k = custom-call.1 [custom-call]
    i = infeed.1 [infeed]
    W = while.1 [while]
    b = copy.3 [copy]
";

fn ns(parts: &TimeByPart) -> Vec<(StepPart, i64)> {
    let of = |part| (part, parts.get(part).ps() / 1000);
    StepPart::ALL
        .map(of)
        .into_iter()
        .filter(|(_, time)| *time != 0)
        .collect()
}

/// A file that ends after the second `m` of the first step: the rest of the steps is no idle time.
#[test]
fn steps_in_which_the_file_ends_have_no_parts() {
    let report_of = |picture: &str| {
        let mut builder = text_builder(picture);
        let device = builder.tracks().next().unwrap().1.group;
        builder.mark_cut(device);
        report(&builder.finish(), Scope::WholeTrace)
    };
    let ops = "m = fusion.1 [convolution fusion]";
    let why = report_of(&format!("steps: 000000000000\nops  : mm.m........\n{ops}")).unwrap_err();
    assert!(why.to_string().contains("the file ends"), "{why}");
    let second = report_of(&format!("steps: 000011112222\nops  : mmm.mmm.m...\n{ops}")).unwrap();
    let numbers: Vec<u32> = second.steps.iter().map(|step| step.step).collect();
    assert_eq!(numbers, [0, 1]);
}

#[test]
fn every_instant_belongs_to_one_part() {
    let report = report(&text_trace(STEPS), Scope::WholeTrace).unwrap();
    let [first, second] = &report.steps[..] else {
        panic!("{:?}", report.steps)
    };
    // Where no op runs (column 11) the all-gather is still in flight; in columns 14 and 15,
    // too, but there the core waits for a copy.
    let expected = [
        (StepPart::MatMul, 4),
        (StepPart::Vector, 4),
        (StepPart::Kernel, 2),
        (StepPart::ExposedComm, 6),
        (StepPart::CopyWait, 2),
        (StepPart::HostIo, 2),
    ];
    assert_eq!(ns(&first.critical().unwrap().parts), expected);
    assert_eq!(
        (
            first.cores[0].time_ps.ps(),
            first.cores[0].parts.total().ps()
        ),
        (20_000, 20_000)
    );
    let expected = [
        (StepPart::MatMul, 6),
        (StepPart::Idle, 10),
        (StepPart::DataMovement, 2),
        (StepPart::Other, 2),
    ];
    assert_eq!(ns(&second.critical().unwrap().parts), expected);
    assert_eq!(second.cores[0].parts.work().ps(), 10_000);
    assert_eq!(
        report
            .tables()
            .iter()
            .map(|table| table.id)
            .collect::<Vec<_>>(),
        ["step_class_parts", "step_parts", "step_core_parts"]
    );
}

#[test]
fn mean_parts_sum_to_the_mean_step() {
    let report = report(&text_trace(STEPS), Scope::WholeTrace).unwrap();
    let class = &report.classes[0];
    assert_eq!((class.steps, class.time_ps as i64), (2, 20_000));
    assert!(
        (class.parts.iter().map(|part| part.mean_ps).sum::<f64>() - class.time_ps).abs() < 1e-6
    );
    assert!(
        (class
            .parts
            .iter()
            .map(|part| part.cores_mean_ps)
            .sum::<f64>()
            - class.time_ps)
            .abs()
            < 1e-6
    );
    assert_eq!(class.parts[0].median_ps as i64, 5_000);
}

fn critical(report: &StepPartsReport) -> Vec<&str> {
    let steps = report.steps.iter();
    steps.map(|step| &*step.critical().unwrap().core).collect()
}

#[test]
fn of_equally_long_cores_the_one_that_waits_least_counts() {
    let model = text_trace(
        "
        TPU:0 steps: 0000000011111111
        TPU:0 ops  : mmrrrrrrmmmmrrrr
        TPU:1 steps: 0000000011111111
        TPU:1 ops  : mmmm..rrmmrrrrrr
        m = fusion.1 [convolution fusion]
        r = all-reduce.1 [all-reduce]
        ",
    );
    let report = report(&model, Scope::WholeTrace).unwrap();
    assert_eq!(critical(&report), ["/device:TPU:1", "/device:TPU:0"]);
}

#[test]
fn slowest_core_of_each_step_counts() {
    let model = text_trace(
        "
        steps      : 0000000011111111
        ops        : mm......mmmm....
        TPU:1 steps: 000000..11111111
        TPU:1 ops  : mmm.....mm......
        m = fusion.1 [convolution fusion]
        ",
    );
    let report = report(&model, Scope::WholeTrace).unwrap();
    assert_eq!(critical(&report), ["/device:TPU:0", "/device:TPU:0"]);
    assert_eq!(report.steps[0].sum().get(StepPart::MatMul).ps(), 5_000);
    let means: Vec<f64> = report.classes[0]
        .parts
        .iter()
        .map(|part| part.cores_mean_ps)
        .collect();
    assert_eq!(
        (means[0] as i64, report.classes[0].parts[0].mean_ps as i64),
        (2_750, 3_000)
    );
}

#[test]
fn scope_selects_steps_without_changing_them() {
    let model = text_trace(STEPS);
    let (whole, one) = (
        report(&model, Scope::WholeTrace),
        report(&model, Scope::Steps { first: 1, last: 1 }),
    );
    let (whole, one) = (whole.unwrap(), one.unwrap());
    assert_eq!(one.steps[..], whole.steps[1..]);
    assert_eq!(
        (one.classes[0].steps, one.classes[0].parts[0].mean_ps as i64),
        (1, 6_000)
    );
}

/// Eleven steps of 10 ns; step 7 takes 40: its matmul 5 more, a wait of 20 for input, 5 of nothing.
const SLOW: &str = "
    steps      : 0000000000111111111122222222223333333333444444444455555555556666666666777777777777777777777777777777777777777788888888889999999999
    ops        : mmmmvv....mmmmvv....mmmmvv....mmmmvv....mmmmvv....mmmmvv....mmmmvv....mmmmmmmmmvviiiiiiiiiiiiiiiiiiii.........mmmmvv....mmmmvv....
    host python: hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhNNNNNNNNNNNNNNNNNNNNNNNNNNhhhhhhhhhhhhhhhhhhhh
    m = fusion.1 [convolution fusion]
    v = fusion.2 [loop fusion]
    i = infeed.1 [infeed]
    h = main
    N = IteratorGetNext
";

#[test]
fn slow_step_is_explained_by_its_excess() {
    let report = report(&text_trace(SLOW), Scope::WholeTrace).unwrap();
    let [slow] = &report.slow[..] else {
        panic!("{:?}", report.slow)
    };
    assert_eq!(
        (
            slow.step,
            slow.time_ps.ps(),
            slow.median_ps.ps(),
            slow.longer_ps.ps()
        ),
        (7, 40_000, 10_000, 30_000)
    );
    let parts: Vec<_> = slow
        .parts
        .iter()
        .map(|change| (change.part, change.change_ps.ps() / 1000))
        .collect();
    assert_eq!(
        parts,
        [
            (StepPart::HostIo, 20),
            (StepPart::MatMul, 5),
            (StepPart::Idle, 5)
        ]
    );
    assert_eq!(
        slow.parts
            .iter()
            .map(|change| change.change_ps.ps())
            .sum::<i64>(),
        slow.longer_ps.ps()
    );
    let ops: Vec<_> = slow
        .ops
        .iter()
        .map(|op| (op.op.as_str(), op.change_ps.ps() / 1000))
        .collect();
    assert_eq!(ops, [("infeed.1", 20), ("fusion.1", 5)]);
    // The host fed input for 26 of these 40, and did nothing known in the others.
    assert_eq!(
        (slow.host[0].phase, slow.host[0].change_ps.ps()),
        (HostPhase::Input, 26_000)
    );
    assert_eq!(
        slow.host
            .iter()
            .map(|change| change.change_ps.ps())
            .sum::<i64>(),
        slow.longer_ps.ps()
    );
    assert!(
        slow.statement.contains("host i/o +20 ns") || slow.statement.contains("host i/o +20.00 ns"),
        "{}",
        slow.statement
    );
    assert!(
        slow.statement.contains("feeding input"),
        "{}",
        slow.statement
    );
}

/// Step 4 takes 40 ns on a core that recorded no ops; the other one was faster than usual.
#[test]
fn ops_of_a_faster_core_explain_no_slow_step() {
    let steps = "000000000011111111112222222222333333333344444444";
    let model = text_trace(&format!(
        "
        steps      : {steps}................................555555555566666666667777777777
        ops        : {ops}............................................{ops}
        TPU:1 steps: {steps}44444444444444444444444444444444555555555566666666667777777777
        m = fusion.1 [convolution fusion]
        ",
        ops = "mmmmmm....mmmmmm....mmmmmm....",
    ));
    let report = report(&model, Scope::WholeTrace).unwrap();
    let [slow] = &report.slow[..] else {
        panic!("{:?}", report.slow)
    };
    assert_eq!(
        (
            slow.step,
            slow.time_ps.ps(),
            slow.median_ps.ps(),
            slow.longer_ps.ps()
        ),
        (4, 40_000, 10_000, 30_000)
    );
    assert!(slow.parts.is_empty() && slow.ops.is_empty(), "{slow:?}");
    assert!(
        slow.statement.contains("takes 30.00 ns longer"),
        "{}",
        slow.statement
    );
}

#[test]
fn host_time_explains_steps_without_devices() {
    let mut builder = text_builder("host main: .");
    let (track, _) = builder
        .tracks()
        .find(|(_, track)| track.kind == TrackKind::HostThread)
        .unwrap();
    let [train, compile] = ["train", "backend_compile"].map(|name| builder.label(name, None));
    let range =
        |start: i64, len: i64| TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(len));
    for number in 0..10 {
        let (start, len) = (number * 2_000, if number == 5 { 1_000 } else { 100 });
        let key = builder.add_slice(track, SliceSpec::new(range(start, len), train));
        builder.set_attr(key, SliceAttr::StepNum, number);
        if number == 5 {
            builder.add_slice(track, SliceSpec::new(range(start + 20, 880), compile));
        }
    }
    let report = report(&builder.finish(), Scope::WholeTrace).unwrap();
    assert!(report.steps.is_empty() && report.classes.is_empty());
    let host: Vec<_> = report.slow[0]
        .host
        .iter()
        .map(|change| (change.phase, change.change_ps.ps()))
        .collect();
    assert_eq!(host, [(HostPhase::Compiling, 880), (HostPhase::Other, 20)]);
    assert_eq!(report.slow[0].longer_ps.ps(), 900);
}

#[test]
fn not_applicable_without_steps() {
    assert!(report(&text_trace("host main: aaaa"), Scope::WholeTrace).is_err());
    assert!(report(&TraceBuilder::new().finish(), Scope::WholeTrace).is_err());
}

/// Nested ops, spans in flight and overlapping steps of one core, at random.
fn random_trace(ops: &[(u8, i64, i64)], spans: &[(i64, i64)], steps: &[(i64, i64)]) -> TraceModel {
    const KINDS: [&str; 8] = [
        "loop fusion",
        "all-reduce",
        "all-gather-start",
        "all-gather-done",
        "copy-done",
        "infeed",
        "while",
        "custom-call",
    ];
    let mut builder = TraceBuilder::new();
    let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
    let track = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
    let flight = builder.track(core, TrackKind::AsyncOps, 1, "Async XLA Ops");
    let line = builder.track(core, TrackKind::Steps, 2, "Steps");
    let mut label = |kind: &str| {
        let (name, category) = (builder.intern(&format!("{kind}.1")), builder.intern(kind));
        let op = builder.op(trace_model::Op {
            name,
            category: Some(category),
            ..trace_model::Op::default()
        });
        builder.label(&format!("{kind}.1"), Some(op))
    };
    let labels = KINDS.map(&mut label);
    let range =
        |start: i64, len: i64| TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(len));
    for &(kind, start, len) in ops {
        builder.add_slice(
            track,
            SliceSpec::new(range(start, len), labels[usize::from(kind) % KINDS.len()]),
        );
    }
    for &(start, len) in spans {
        builder.add_slice(flight, SliceSpec::new(range(start, len), labels[2]));
    }
    for (number, &(start, len)) in steps.iter().enumerate() {
        let step = builder.label(&number.to_string(), None);
        builder.add_slice(line, SliceSpec::new(range(start, len), step));
    }
    builder.finish()
}

proptest! {
    /// Against a count of every single picosecond.
    #[test]
    fn parts_are_exact_for_overlapping_steps_and_ops(
        ops in prop::collection::vec((0_u8..8, 0_i64..200, 1_i64..60), 1..25),
        spans in prop::collection::vec((0_i64..200, 1_i64..60), 0..6),
        steps in prop::collection::vec((0_i64..200, 1_i64..120), 1..8),
    ) {
        let model = random_trace(&ops, &spans, &steps);
        let (options, reports) = (Options::default(), ReportCache::default());
        let cx = Context { model: &model, scope: Scope::WholeTrace, options: &options, reports: &reports };
                let core = model.tensor_cores()[0];
        let traffic = CoreTraffic::of(&cx, cx.classes(), core).unwrap().unwrap();
        let flight = traffic.in_flight_without_ops();
        let report = cx.report::<StepParts>().unwrap();
        let found = cx.report::<Steps>().unwrap();
        prop_assert_eq!(report.steps.len(), found.steps.len());
        for (step, divided) in found.steps.iter().zip(&report.steps) {
            let range = step.spans[0].measured;
            let mut expected = TimeByPart::default();
            for ps in range.start.ps()..range.end.ps() {
                let at = Timestamp::from_ps(ps);
                let op = traffic.time.segments.iter().find(|segment| segment.range.contains(at));
                let idle = if flight.ranges().iter().any(|range| range.contains(at)) { StepPart::ExposedComm } else { StepPart::Idle };
                expected.add(op.map_or(idle, |op| StepPart::of(&op.class)), Picos::from_ps(1));
            }
            prop_assert_eq!(divided.cores[0].parts, expected);
            prop_assert_eq!(expected.total(), step.time_ps);
        }
    }
}

/// The last step is incomplete; chosen alone, it counts.
#[test]
fn chosen_steps_that_are_all_incomplete_count() {
    let model = text_trace(
        "
        modules: AAAAA...AAAAA...AAAAA.hh
        ops    : mmmmm...mmmmm...mmmmm.mm
        A = jit_f(1)
        h = jit_helper(2)
        m = fusion.1 [convolution fusion]
        ",
    );
    let chosen = |first, last| report(&model, Scope::Steps { first, last }).unwrap();
    assert!(!chosen(0, 2).steps[2].is_counted);
    let alone = chosen(2, 2);
    assert!(alone.steps[0].is_counted);
    let [class] = &alone.classes[..] else {
        panic!("{:?}", alone.classes)
    };
    assert_eq!((class.steps, class.time_ps), (1, 5_000.0));
}
