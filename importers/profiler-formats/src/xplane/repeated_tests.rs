//! What occurs more than once where most files have it once: planes of one name, fields of an event, stats.

use sample_traces::write::ProtoMessage;
use trace_model::{ArgValue, IssueKind, SliceRef, TrackKind};

use super::tests::writer::{PlaneWriter, WrittenStat};
use super::tests::{core, model, slices};

fn arg(slice: SliceRef<'_>, name: &str) -> Vec<ArgValue> {
    let args = slice.args().unwrap().into_iter();
    args.filter(|arg| arg.name == name)
        .map(|arg| arg.value)
        .collect()
}

/// Files that were concatenated: protobuf merges them to one, in which ids are only valid in their plane.
#[test]
fn planes_of_one_name_keep_their_own_metadata() {
    let (mut first, mut second) = (core(), core());
    let facts = |shape| {
        [
            ("shape_with_layout", WrittenStat::Text(shape)),
            ("symbol_id", WrittenStat::Int(1)),
        ]
    };
    let run = |id| [("run_id", WrittenStat::Int(id))];
    let a = first.metadata("%a = f32[8] fusion()", "a", &facts("f32[8]"));
    let events = [first.event_of(a, 0, 5, &run(1))];
    first.line(3, "XLA Ops", 0, &events);
    // The ids of the second plane mean other events and other stats.
    second.stat("bytes_accessed", &WrittenStat::Int(0));
    let b = second.metadata("%b = f32[4] fusion()", "b", &facts("f32[4]"));
    let a = second.metadata("%a = f32[8] fusion()", "a", &facts("f32[8]"));
    let events = [
        second.event_of(b, 10, 5, &run(2)),
        second.event_of(a, 20, 5, &run(3)),
    ];
    second.line(3, "XLA Ops", 0, &events);

    let model = model(&[&first, &second]);
    let ops = slices(&model, TrackKind::Ops);
    let names: Vec<_> = ops.iter().map(|slice| slice.name()).collect();
    assert_eq!(names, ["a", "b", "a"], "on one track");
    assert_eq!(ops[0].op(), ops[2].op());
    for (slice, (run, shape)) in ops
        .iter()
        .zip([(1, "f32[8]"), (2, "f32[4]"), (3, "f32[8]")])
    {
        assert_eq!(arg(*slice, "run_id"), [ArgValue::Int(run)]);
        assert_eq!(
            arg(*slice, "shape_with_layout"),
            [ArgValue::Text(shape.to_owned())]
        );
    }
    assert_eq!(model.import_log().count(IssueKind::ChunksMerged), 1);
    assert_eq!(model.import_log().count(IssueKind::UnknownMetadata), 0);
}

/// Two fields of which protobuf keeps the last: an event has a place on the timeline, or a number of occurrences.
#[test]
fn the_last_of_offset_and_occurrences_counts() {
    const OFFSET: (u32, u64) = (2, 7);
    const OCCURRENCES: (u32, u64) = (5, 4);
    for (fields, on_timeline) in [
        ([OCCURRENCES, OFFSET], true),
        ([OFFSET, OCCURRENCES], false),
    ] {
        let mut plane = core();
        let id = plane.metadata("op", "", &[]);
        let mut event = ProtoMessage::default();
        event.present(1, id);
        for (field, value) in fields {
            event.present(field, value);
        }
        event.present(3, 100);
        plane.line(3, "XLA Ops", 0, &[event]);
        let model = model(&[&plane]);
        assert_eq!(
            (model.slice_count(), model.aggregates().len()),
            (on_timeline.into(), (!on_timeline).into())
        );
        assert!(!on_timeline || slices(&model, TrackKind::Ops)[0].start().ps() == 7);
    }
}

#[test]
fn the_last_of_repeated_stats_counts() {
    let mut plane = core();
    let twice = |first, last| {
        [
            ("run_id", WrittenStat::Int(first)),
            ("run_id", WrittenStat::Int(last)),
        ]
    };
    let own = plane.event("jit_f(1)", 0, 5, &twice(1, 2));
    let id = plane.metadata("jit_g(2)", "", &twice(3, 4));
    let of_metadata = plane.event_of(id, 10, 5, &[]);
    plane.line(2, "XLA Modules", 0, &[own, of_metadata]);
    let model = model(&[&plane]);
    let modules = slices(&model, TrackKind::Modules);
    assert_eq!(modules[0].attr(trace_model::SliceAttr::RunId), Some(2));
    assert_eq!(arg(modules[0], "run_id"), [ArgValue::Int(2)]);
    assert_eq!(arg(modules[1], "run_id"), [ArgValue::Int(4)]);
}

/// What an execution records about itself hides what is known of all executions.
#[test]
fn the_own_long_name_of_an_event_is_kept() {
    let mut plane = PlaneWriter::new("/device:TPU:0");
    let id = plane.metadata("bundle.1 of all", "bundle.1", &[]);
    let event = plane.event_of(
        id,
        0,
        5,
        &[("long_name", WrittenStat::Text("bundle.1 of this one"))],
    );
    plane.line(9, "Tensor Core", 0, &[event]);
    let model = model(&[&plane]);
    let slice = model.all_slices().next().unwrap();
    assert_eq!(
        arg(slice, "long_name"),
        [ArgValue::Text("bundle.1 of this one".to_owned())]
    );
}

/// Analyses read one track of ops for each core.
#[test]
fn two_lines_of_ops_are_one_track() {
    let mut plane = core();
    let events = [plane.event("a", 0, 5, &[]), plane.event("a", 20, 5, &[])];
    plane.line(3, "XLA Ops", 0, &events);
    let events = [
        plane.event("b", 10, 5, &[("run_id", WrittenStat::Int(7))]),
        plane.event("b", 18, 5, &[]),
    ];
    plane.line(4, "XLA Ops", 0, &events);
    let model = model(&[&plane]);
    assert_eq!(model.track_ids().count(), 1);
    let mut ops: Vec<_> = slices(&model, TrackKind::Ops)
        .iter()
        .map(|s| (s.start().ps(), s.name(), s.self_dur().ps()))
        .collect();
    ops.sort_unstable();
    assert_eq!(
        ops,
        [(0, "a", 5), (10, "b", 5), (18, "b", 2), (20, "a", 5)],
        "each instant counts once"
    );
    let second = model
        .all_slices()
        .find(|slice| slice.start().ps() == 10)
        .unwrap();
    assert_eq!(arg(second, "run_id"), [ArgValue::Int(7)]);
    assert_eq!(model.import_log().count(IssueKind::ChunksMerged), 1);
}
