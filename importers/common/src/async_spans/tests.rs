use trace_model::{Op, Picos, SliceRef, TraceModel};

use super::*;

/// A core whose op track holds `(name, HLO text, start, end)` in program order.
fn core(ops: &[(&str, &str, i64, i64)], modules: &[(i64, i64)]) -> TraceModel {
    let mut builder = TraceBuilder::new();
    let group = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
    let module_track = builder.track(group, TrackKind::Modules, 2, "XLA Modules");
    let module = builder.label("jit_f(1)", None);
    for &(start, end) in modules {
        builder.add_slice(module_track, SliceSpec::new(range(start, end), module));
    }
    let op_track = builder.track(group, TrackKind::Ops, 3, "XLA Ops");
    for &(name, text, start, end) in ops {
        let hlo_text = (!text.is_empty()).then(|| builder.intern(text));
        let name_id = builder.intern(name);
        let op = builder.op(Op {
            name: name_id,
            hlo_text,
            ..Op::default()
        });
        let label = builder.label(name, Some(op));
        let device = Some(range(1000 + start, 1000 + end));
        builder.add_slice(
            op_track,
            SliceSpec {
                device,
                ..SliceSpec::new(range(start, end), label)
            },
        );
    }
    complete(&mut builder);
    builder.finish()
}

fn range(start: i64, end: i64) -> TimeRange {
    TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end))
}

/// `(name, start, end)` of every span, in time order.
fn spans(model: &TraceModel) -> Vec<(String, i64, i64)> {
    let mut spans: Vec<_> = slices(model)
        .map(|s| (s.name().to_owned(), s.start().ps(), s.range().end.ps()))
        .collect();
    spans.sort_by_key(|span| (span.1, span.2));
    spans
}

fn slices(model: &TraceModel) -> impl Iterator<Item = SliceRef<'_>> {
    let track = model
        .track_ids()
        .find(|&id| model.track(id).kind == TrackKind::AsyncOps);
    track.into_iter().flat_map(|track| model.slices_on(track))
}

fn span_of(name: &str, start: i64, end: i64) -> (String, i64, i64) {
    (name.to_owned(), start, end)
}

#[test]
fn span_runs_from_start_begin_to_done_end_on_both_clocks() {
    let model = core(
        &[
            ("copy-start.3", "", 10, 12),
            ("fusion", "", 12, 30),
            ("copy-done.3", "", 30, 45),
        ],
        &[(0, 50)],
    );
    assert_eq!(spans(&model), [span_of("copy-start.3", 10, 45)]);
    let span = slices(&model).next().unwrap();
    assert_eq!(span.device_range(), Some(range(1010, 1045)));
    assert_eq!(span.attr(SliceAttr::Reconstructed), Some(1));
    let done = model.strings().find("copy-done.3").unwrap();
    assert_eq!(span.attr(SliceAttr::DoneOp), Some(done.index() as i64));
    assert_eq!(model.flows().len(), 1);
}

#[test]
fn done_operand_decides_the_pairing() {
    let done = "%copy-done.9 = bf16[8]{0:S(1)} copy-done((bf16[8]{0:S(1)}, bf16[8], u32[]{:S(2)}) %copy-start.2)";
    let ops = [
        ("copy-start.1", "", 0, 1),
        ("copy-start.2", "", 2, 3),
        ("copy-done.9", done, 5, 6),
    ];
    let model = core(&ops, &[(0, 10)]);
    assert_eq!(
        spans(&model),
        [
            span_of("copy-start.1", 0, 10),
            span_of("copy-start.2", 2, 6)
        ]
    );
}

#[test]
fn unnamed_done_ops_pair_in_start_order_within_their_family() {
    let start = |n: u32| format!("%copy-start.{n} = (s8[1], s8[1], u32[]) copy-start(%p)");
    let (one, two) = (start(1), start(2));
    let done = "%wait = s8[1] copy-done(%bitcast)";
    let ops = [
        ("copy-start.1", &*one, 0, 1),
        ("copy-start.2", &*two, 2, 3),
        ("wait", done, 5, 6),
        ("wait", done, 8, 9),
    ];
    assert_eq!(
        spans(&core(&ops, &[])),
        [span_of("copy-start.1", 0, 6), span_of("copy-start.2", 2, 9)]
    );
}

#[test]
fn done_in_a_loop_pairs_with_the_latest_start() {
    let ops = [
        ("copy-start", "", 0, 1),
        ("copy-done", "", 4, 5),
        ("copy-start", "", 6, 7),
        ("copy-done", "", 8, 9),
    ];
    assert_eq!(
        spans(&core(&ops, &[(0, 10)])),
        [span_of("copy-start", 0, 5), span_of("copy-start", 6, 9)]
    );
}

#[test]
fn unpaired_starts_and_dones_are_kept_and_counted() {
    let start = "%all-gather-start = (f32[2], f32[8]) all-gather-start(%x)";
    let done = "%copy-done.1 = f32[8] copy-done(%copy-start.1)";
    let ops = [
        ("copy-done.1", done, 3, 7),
        ("all-gather-start", start, 10, 11),
        ("fusion.1", "", 25, 26),
    ];
    let model = core(&ops, &[(0, 20), (24, 30)]);
    assert_eq!(
        spans(&model),
        [
            span_of("copy-done.1", 3, 7),
            span_of("all-gather-start", 10, 20)
        ]
    );
    assert_eq!(model.import_log().count(IssueKind::AsyncWithoutStart), 1);
    assert_eq!(model.import_log().count(IssueKind::AsyncUnterminated), 1);
}

#[test]
fn name_alone_does_not_make_an_op_async() {
    let text = "%my-start = f32[8]{0} add(f32[8] %a, f32[8] %b)";
    assert_eq!(spans(&core(&[("my-start", text, 0, 5)], &[])), []);
    let fusion = "%async-collective-start = (f32[8]) fusion(%a), kind=kCustom, calls=%async_collective_fusion";
    let done = "%async-collective-done = f32[8] fusion(%async-collective-start), kind=kCustom";
    let model = core(
        &[
            ("async-collective-start", fusion, 0, 1),
            ("async-collective-done", done, 5, 8),
        ],
        &[],
    );
    assert_eq!(spans(&model), [span_of("async-collective-start", 0, 8)]);
}

#[test]
fn recorded_spans_take_the_clock_of_their_ops() {
    let mut builder = TraceBuilder::new();
    let group = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
    let op_track = builder.track(group, TrackKind::Ops, 3, "XLA Ops");
    let recorded = builder.track(group, TrackKind::AsyncOps, 4, ASYNC_TRACK);
    for (name, start, end) in [("copy-start", 0, 2), ("copy-done", 7, 9)] {
        let name_id = builder.intern(name);
        let op = builder.op(Op {
            name: name_id,
            ..Op::default()
        });
        let label = builder.label(name, Some(op));
        let device = Some(range(100 + start, 103 + end));
        builder.add_slice(
            op_track,
            SliceSpec {
                device,
                ..SliceSpec::new(range(start, end), label)
            },
        );
        if start == 0 {
            builder.add_slice(recorded, SliceSpec::new(range(0, 9), label));
        }
    }
    complete(&mut builder);
    let model = builder.finish();
    let span = slices(&model).next().unwrap();
    assert_eq!(span.attr(SliceAttr::Reconstructed), None);
    assert_eq!(
        (span.dur(), span.measured_dur()),
        (Picos::from_ps(9), Picos::from_ps(12))
    );
}

#[test]
fn recorded_span_without_ops_has_no_device_clock() {
    let mut builder = TraceBuilder::new();
    let group = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
    let op_track = builder.track(group, TrackKind::Ops, 3, "XLA Ops");
    let recorded = builder.track(group, TrackKind::AsyncOps, 4, ASYNC_TRACK);
    let op = |builder: &mut TraceBuilder, name: &str| {
        let name_id = builder.intern(name);
        let op = builder.op(Op {
            name: name_id,
            ..Op::default()
        });
        builder.label(name, Some(op))
    };
    for (name, start, end) in [("copy-start", 10, 12), ("copy-done", 17, 19)] {
        let label = op(&mut builder, name);
        let device = Some(range(100 + start, 100 + end));
        builder.add_slice(
            op_track,
            SliceSpec {
                device,
                ..SliceSpec::new(range(start, end), label)
            },
        );
    }
    // The first started before the capture.
    for (name, start, end) in [("copy-start.1", 0, 5), ("copy-start", 10, 19)] {
        let label = op(&mut builder, name);
        builder.add_slice(recorded, SliceSpec::new(range(start, end), label));
    }
    complete(&mut builder);
    let model = builder.finish();
    let clocks: Vec<_> = slices(&model)
        .map(|span| span.device_range().unwrap())
        .collect();
    assert_eq!(clocks, [range(100, 105), range(110, 119)]);
    assert_eq!(model.import_log().count(IssueKind::DeviceClockMissing), 1);
}
