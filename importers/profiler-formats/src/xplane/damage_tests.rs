//! Tests with lines that are damaged or contain data that no profiler writes.

use importers::import;
use input::{InputSource, Progress};
use sample_traces::write::ProtoMessage;
use trace_model::{IssueKind, TraceModel, TrackKind};

use super::tests::writer::{PlaneWriter, WrittenStat, space};

fn model(bytes: Vec<u8>) -> TraceModel {
    import(
        &InputSource::from_bytes("host0.xplane.pb", bytes).unwrap(),
        &Progress::new(),
    )
    .unwrap()
}

fn malformed(model: &TraceModel) -> u64 {
    let counts = model.import_log().counts();
    counts
        .iter()
        .filter(|issue| [IssueKind::MalformedEvent, IssueKind::DamagedPart].contains(&issue.kind))
        .map(|issue| issue.count)
        .sum()
}

#[test]
fn flows_of_merged_events_lead_to_the_merged_slice() {
    let mut core = PlaneWriter::new("/device:TPU:0");
    let flow = |direction: u64| ("flow", WrittenStat::Uint(7 << 2 | direction));
    let start = core.event("copy-start", 0, 10, &[flow(2)]);
    let consumed = [
        flow(1),
        ("_ct", WrittenStat::Int(1)),
        ("_c", WrittenStat::Uint(9)),
    ];
    let done = core.event("copy-done", 50, 10, &consumed);
    core.line(4, "Async XLA Ops", 0, &[start, done]);
    let mut host = PlaneWriter::new("/host:CPU");
    let produced = [("_pt", WrittenStat::Int(1)), ("_p", WrittenStat::Uint(9))];
    // With two producers of one id, the start of the consumer determines which one it belongs to.
    let producers = [
        host.event("first", 0, 1, &produced),
        host.event("second", 20, 1, &produced),
    ];
    host.line(1, "main", 0, &producers);
    let model = model(space(&[&core, &host]));
    let joined = model
        .all_slices()
        .find(|slice| slice.track_ref().kind == TrackKind::AsyncOps)
        .unwrap();
    assert_eq!((joined.name(), joined.dur().ps()), ("copy-start", 60));
    let from: Vec<_> = model
        .flows_to(joined.id())
        .map(|flow| model.slice(flow.from).name())
        .collect();
    assert_eq!(from, ["first"]);
}

/// Adds a line whose bytes end with `rest`.
fn broken_line(plane: &mut PlaneWriter, id: u64, name: &str, events: &[ProtoMessage], rest: &[u8]) {
    let mut line = ProtoMessage::default();
    line.present(1, id);
    line.bytes(2, name);
    for event in events {
        line.bytes(4, event);
    }
    plane.lines.push([line.as_ref(), rest].concat());
}

#[test]
fn damage_in_a_line_is_counted_once() {
    // An event that extends beyond its line.
    const TOO_LONG: [u8; 2] = [0x22, 0x7f];
    let mut host = PlaneWriter::new("/host:CPU");
    let event = host.event("work", 0, 10, &[]);
    broken_line(&mut host, 1, "first event", &[], &TOO_LONG);
    broken_line(
        &mut host,
        2,
        "second event",
        std::slice::from_ref(&event),
        &TOO_LONG,
    );
    host.line(3, "intact", 0, &[event]);
    let model = model(space(&[&host]));
    assert_eq!((malformed(&model), model.slice_count()), (2, 2));
}

#[test]
fn damage_of_counters_and_of_the_last_line_of_a_whole_file_is_counted() {
    let mut core = PlaneWriter::new("/device:TPU:0");
    let sample = core.event("power", 0, 10, &[("watts", WrittenStat::Double(3.0))]);
    // A field with an invalid wire type.
    broken_line(&mut core, 1, "_counters_", &[sample], &[0x0f]);
    let model = model(space(&[&core]));
    assert_eq!(malformed(&model), 1);
}

#[test]
fn many_line_parts_become_one_track() {
    let mut host = PlaneWriter::new("/host:CPU");
    let event = host.event("work", 0, 10, &[]);
    for _ in 0..300 {
        host.line(1, "main", 0, std::slice::from_ref(&event));
    }
    let model = model(space(&[&host]));
    assert_eq!((model.slice_count(), model.track_ids().count()), (300, 1));
}

#[test]
fn bad_values_are_repaired_and_counted() {
    let mut plane = PlaneWriter::new("/device:TPU:0");
    let known = plane.event("\u{fffd}", 0, -5, &[]);
    let strange = plane.event_of(999, 10, 5, &[]);
    let far = plane.event(
        "far",
        i64::MAX,
        5,
        &[("dropped_traces", WrittenStat::Int(3))],
    );
    let mut broken = ProtoMessage::default();
    broken.bytes(4, b"\x08");
    plane.line(3, "XLA Ops", 1, &[known, strange, far, broken]);
    let mut bytes = space(&[&plane]);
    let name = bytes
        .windows(3)
        .position(|w| w == "\u{fffd}".as_bytes())
        .unwrap();
    bytes[name] = 0xff;
    let model = model(bytes);
    assert_eq!(model.slice_count(), 2);
    let log = model.import_log();
    for (kind, count) in [
        (IssueKind::ImpossibleTime, 1),
        (IssueKind::BadDuration, 1),
        (IssueKind::UnknownMetadata, 1),
        (IssueKind::TimeOutOfRange, 1),
        (IssueKind::DroppedTraces, 3),
        (IssueKind::MalformedEvent, 1),
        (IssueKind::InvalidUtf8, 1),
    ] {
        assert_eq!(log.count(kind), count, "{kind:?}");
    }
}
