mod flows;
mod host_part;
mod metadata;
mod prefixes;
pub(super) mod writer;

use importers::import;
use input::{ImportError, InputSource, Progress};
use proptest::prelude::{any, prop, proptest};
use proptest::test_runner::Config;
use sample_traces::write::ProtoMessage;
use trace_model::{
    ArgValue, GroupKind, IssueKind, Picos, SliceAttr, SliceRef, Timestamp, TraceModel, TrackId,
    TrackKind,
};

use writer::{PlaneWriter, WrittenStat, space};

pub(super) fn read(bytes: Vec<u8>) -> Result<TraceModel, ImportError> {
    import(
        &InputSource::from_bytes("host0.xplane.pb", bytes)?,
        &Progress::new(),
    )
}

pub(super) fn model(planes: &[&PlaneWriter]) -> TraceModel {
    read(space(planes)).unwrap()
}

pub(super) fn track(model: &TraceModel, kind: TrackKind) -> TrackId {
    model
        .track_ids()
        .find(|&id| model.track(id).kind == kind)
        .unwrap()
}

pub(super) fn slices(model: &TraceModel, kind: TrackKind) -> Vec<SliceRef<'_>> {
    model.slices_on(track(model, kind)).collect()
}

pub(super) fn core() -> PlaneWriter {
    PlaneWriter::new("/device:TPU:0")
}

#[test]
fn self_time_excludes_direct_children() {
    let mut plane = core();
    let events = [
        ("parent", 0, 100),
        ("child1", 10, 30),
        ("child2", 50, 40),
        ("grandchild", 55, 5),
    ];
    let events: Vec<_> = events
        .iter()
        .map(|&(name, at, dur)| plane.event(name, at, dur, &[]))
        .collect();
    plane.line(3, "XLA Ops", 0, &events);
    let model = model(&[&plane]);
    let times: Vec<_> = slices(&model, TrackKind::Ops)
        .iter()
        .map(|s| (s.name(), s.self_dur().ps()))
        .collect();
    assert_eq!(
        times,
        [
            ("parent", 30),
            ("child1", 30),
            ("child2", 35),
            ("grandchild", 5)
        ]
    );
}

#[test]
fn accepts_ids_of_any_size_and_sign() {
    for offset in [0, 1, 9_646_411_105_960_254_074, u64::MAX - 40] {
        let mut plane = core();
        plane.id_offset = offset;
        let stats = [
            ("device_offset_ps", WrittenStat::Uint(5)),
            ("device_duration_ps", WrittenStat::Int(7)),
        ];
        let event = plane.event("op", 1, 2, &stats);
        plane.line(i64::MIN, "XLA Ops", 3, &[event]);
        let model = model(&[&plane]);
        let op = slices(&model, TrackKind::Ops)[0];
        assert_eq!((op.name(), op.start().ps(), op.dur().ps()), ("op", 3001, 2));
        assert_eq!(op.device_range().unwrap().start.ps(), 5);
        assert_eq!(op.measured_dur(), Picos::from_ps(7));
    }
}

#[test]
fn chunks_of_planes_and_lines_are_merged() {
    let (mut first, mut second) = (core(), core());
    let events = [first.event("a", 0, 5, &[])];
    first.line(3, "XLA Ops", 1, &events);
    let events = [second.event("a", 10, 5, &[])];
    second.line(3, "XLA Ops", 2, &events);
    let model = model(&[&first, &second]);
    let starts: Vec<_> = slices(&model, TrackKind::Ops)
        .iter()
        .map(|s| s.start().ps())
        .collect();
    assert_eq!(starts, [1000, 2010]);
    assert_eq!(model.import_log().count(IssueKind::ChunksMerged), 2);
}

#[test]
fn sparse_cores_are_below_their_device_in_any_order() {
    let planes = ["/device:TPU:1 SparseCore 0", "/device:TPU:1", "/host:CPU"];
    let writers: Vec<_> = planes.iter().map(|name| PlaneWriter::new(name)).collect();
    let model = model(&writers.iter().collect::<Vec<_>>());
    let find = |kind| {
        model
            .group_ids()
            .find(|&id| model.group(id).kind == kind)
            .unwrap()
    };
    let device = find(GroupKind::TensorCore { ordinal: 1 });
    let host = find(GroupKind::Host);
    assert_eq!(
        model
            .group(find(GroupKind::SparseCore { ordinal: 0 }))
            .parent,
        Some(device)
    );
    assert_eq!(model.group(device).parent, Some(host));
    assert_eq!(model.group(find(GroupKind::HostProcess)).parent, Some(host));
    assert_eq!(model.str(model.group(host).name), "host0");
}

#[test]
fn aggregated_events_are_not_on_the_timeline() {
    let mut plane = core();
    let id = plane.metadata("op", "", &[]);
    let own = plane.stat("self_duration_ps", &WrittenStat::Int(60));
    let mut aggregate = ProtoMessage::default();
    for (field, value) in [(1, id), (5, 4), (3, 100)] {
        aggregate.present(field, value);
    }
    aggregate.bytes(4, own);
    plane.line(3, "XLA Ops", 0, &[aggregate]);
    let model = model(&[&plane]);
    assert_eq!(model.slice_count(), 0);
    let [aggregate] = model.aggregates() else {
        panic!("one aggregate")
    };
    assert_eq!((aggregate.occurrences, aggregate.total.ps()), (4, 100));
    assert_eq!(
        (aggregate.self_time, aggregate.min),
        (Some(Picos::from_ps(60)), None)
    );
}

#[test]
fn counters_end_with_the_enclosing_op() {
    let mut plane = core();
    let op = plane.event("kernel", 100, 100, &[]);
    plane.line(3, "XLA Ops", 0, &[op]);
    let sample = |plane: &mut PlaneWriter, at, dur, value| {
        plane.event("MXU", at, dur, &[("% util", WrittenStat::Double(value))])
    };
    let samples = [
        sample(&mut plane, 100, 50, 10.0),
        sample(&mut plane, 150, 20, 30.0),
        sample(&mut plane, 170, 81_386_618_828, 90.0),
    ];
    plane.line(i64::MAX, "_counters_", 0, &samples);
    let model = model(&[&plane]);
    let counter = model.counter(track(&model, TrackKind::Counter)).unwrap();
    assert_eq!(counter.unit().map(|unit| model.str(unit)), Some("% util"));
    let held: Vec<_> = counter
        .samples()
        .map(|(at, value)| (at.start.ps(), at.end.ps(), value as i64))
        .collect();
    assert_eq!(held, [(100, 150, 10), (150, 170, 30), (170, 200, 90)]);
    assert_eq!(model.import_log().count(IssueKind::CounterClipped), 1);
}

/// A temperature is measured between ops, too.
#[test]
fn series_of_the_chip_do_not_end_with_ops() {
    let mut plane = core();
    let ops = [100, 500].map(|at| plane.event("kernel", at, 100, &[]));
    plane.line(3, "XLA Ops", 0, &ops);
    let sample = |plane: &mut PlaneWriter, at, dur, value| {
        plane.event("Temperature", at, dur, &[("C", WrittenStat::Double(value))])
    };
    let samples = [
        sample(&mut plane, 100, 150, 60.0),
        sample(&mut plane, 250, 150, 61.0),
        sample(&mut plane, 400, 50, 62.0),
    ];
    plane.line(i64::MAX, "_counters_", 0, &samples);
    let model = model(&[&plane]);
    let counter = model.counter(track(&model, TrackKind::Counter)).unwrap();
    assert_eq!(counter.unit().map(|unit| model.str(unit)), Some("C"));
    let held: Vec<_> = counter
        .samples()
        .map(|(at, _)| (at.start.ps(), at.end.ps()))
        .collect();
    assert_eq!(held, [(100, 250), (250, 400), (400, 450)]);
    assert_eq!(model.import_log().count(IssueKind::CounterClipped), 0);
}

#[test]
fn unix_timestamps_are_rebased() {
    let mut host = PlaneWriter::new("/host:CPU");
    let events = [host.event("late", 5, 5, &[])];
    host.line(1, "main", 1_779_098_263_000_000_100, &events);
    let events = [host.event("early", 7, 5, &[])];
    host.line(2, "other", 1_779_098_263_000_000_000, &events);
    let model = model(&[&host]);
    let start = |name: &str| {
        model
            .all_slices()
            .find(|slice| slice.name() == name)
            .map(SliceRef::start)
    };
    assert_eq!(start("early"), Some(Timestamp::from_ps(7)));
    assert_eq!(start("late"), Some(Timestamp::from_ps(100_005)));
    assert_eq!(model.sources()[0].origin_ps, 1_779_098_263_000_000_000_000);
}

/// A line whose start is far from that of all others is left out.
#[test]
fn lines_with_invalid_start_are_skipped_and_counted() {
    for begin_ns in [i64::MIN, 1 << 53] {
        let mut plane = core();
        let op = |plane: &mut PlaneWriter, offset| plane.event("fusion.1", offset, 5, &[]);
        let events = [op(&mut plane, 0), op(&mut plane, 10), op(&mut plane, 20)];
        plane.line(3, "XLA Ops", 1, &events);
        let far = [op(&mut plane, 30), op(&mut plane, 40)];
        plane.line(2, "XLA Modules", begin_ns, &far);
        let model = model(&[&plane]);
        assert_eq!(
            (
                model.slice_count(),
                model.import_log().count(IssueKind::ImpossibleTime)
            ),
            (3, 2),
            "{begin_ns}"
        );
        assert_eq!(model.extent().dur(), Picos::from_ps(25));
    }
}

#[test]
fn dropped_event_markers_are_counted() {
    let mut plane = core();
    let events = [
        plane.event("barrier-cores", 0, 5, &[]),
        plane.event("Dropped traces", 9, 5, &[]),
    ];
    plane.line(6, "XLA TraceMe", 0, &events);
    assert_eq!(
        model(&[&plane])
            .import_log()
            .count(IssueKind::DroppedTraces),
        1
    );
}

#[test]
fn reading_continues_after_a_plane_with_wrong_lengths() {
    let mut metadata = PlaneWriter::new("/host:metadata");
    metadata.metadata(
        "jit_a(1)",
        "",
        &[("Hlo Proto", WrittenStat::Bytes(b"0123456789".to_vec()))],
    );
    let mut host = PlaneWriter::new("/host:CPU");
    let events = [host.event("work", 0, 5, &[])];
    host.line(1, "main", 0, &events);
    let mut bytes = space(&[&metadata, &host]);
    let cut = bytes.windows(5).position(|w| w == b"34567").unwrap();
    bytes.drain(cut..cut + 5);
    let next = bytes.windows(9).position(|w| w == b"/host:CPU").unwrap() as u64;
    let model = read(bytes).unwrap();
    assert_eq!(model.slice_count(), 1);
    let [damaged] = model.import_log().counts() else {
        panic!("{:?}", model.import_log())
    };
    assert_eq!((damaged.kind, damaged.count), (IssueKind::DamagedPart, 1));
    // From the entry whose text was cut to the next plane.
    assert!(
        damaged
            .skipped_bytes
            .is_some_and(|bytes| (1..next).contains(&bytes)),
        "{damaged:?}"
    );
}

#[test]
fn truncated_file_keeps_intact_parts() {
    let mut host = PlaneWriter::new("/host:CPU");
    let events: Vec<_> = (0..10)
        .map(|i| host.event("work", i * 10, 5, &[]))
        .collect();
    host.line(1, "main", 0, &events);
    let bytes = space(&[&host]);
    let line = host.lines[0].len();
    let model = read(bytes[..24 + line / 2].to_vec()).unwrap();
    assert!(
        (3..9).contains(&model.slice_count()),
        "{}",
        model.slice_count()
    );
    assert_eq!(model.import_log().count(IssueKind::TruncatedFile), 1);
    assert_eq!(model.import_log().count(IssueKind::MalformedEvent), 0);
}

/// What the file lost of a device is no idle time of it, and no work of an unknown kind.
#[test]
fn a_device_in_which_the_file_ends_is_marked() {
    let planes = ["/device:TPU:0", "/device:TPU:1"].map(|name| {
        let mut plane = PlaneWriter::new(name);
        let ops = [100, 500].map(|at| plane.event("fusion.1", at, 100, &[]));
        plane.line(3, "XLA Ops", 0, &ops);
        plane
    });
    let first = space(&[&planes[0]]).len();
    let bytes = space(&[&planes[0], &planes[1]]);
    let cut = |length: usize| {
        let model = read(bytes[..length].to_vec()).unwrap();
        let cores = model.tensor_cores().into_iter();
        let found: Vec<bool> = cores.map(|core| model.group(core).is_cut).collect();
        let logged = model.import_log().count(IssueKind::DeviceCut);
        assert_eq!(logged, found.iter().filter(|&&cut| cut).count() as u64);
        found
    };
    assert_eq!(cut(bytes.len()), [false, false]);
    // The names of its ops are missing; its ops; between two planes.
    assert_eq!(cut(bytes.len() - 8), [false, true]);
    assert_eq!(cut(first + 24), [false, true]);
    assert_eq!(cut(first), [false]);
}

#[test]
fn file_without_usable_data_is_an_error_with_offset() {
    let huge_length = [
        0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
    ];
    for bytes in [&b""[..], &huge_length, b"\x0a\x03\x12\xff\x01"] {
        let source = InputSource::from_bytes("x", bytes.to_vec()).unwrap();
        let mut builder = trace_model::TraceBuilder::new();
        let error = importer_common::Importer::import(
            &super::XPlane,
            &source,
            &importer_common::ImportOptions::default(),
            &Progress::new(),
            &mut builder,
        )
        .unwrap_err();
        assert!(matches!(error, ImportError::Malformed { .. }), "{error}");
    }
}

#[test]
fn op_without_device_clock_takes_none_from_others() {
    let mut device = core();
    let clock = |at, dur| {
        vec![
            ("device_offset_ps", WrittenStat::Int(at)),
            ("device_duration_ps", WrittenStat::Int(dur)),
        ]
    };
    // The slices take 20 ps on the device clock and 10 ps on the timeline.
    let clocks = [
        clock(1000, 20),
        clock(1020, 20),
        Vec::new(),
        clock(1060, 20),
    ];
    let events: Vec<_> = [0, 10, 25, 40]
        .into_iter()
        .zip(&clocks)
        .map(|(at, clock)| {
            device.event(
                &format!("%fusion.{at} = f32[8] fusion(f32[8] %p)"),
                at,
                10,
                clock,
            )
        })
        .collect();
    device.line(3, "XLA Ops", 0, &events);
    let model = model(&[&device]);
    let spans = slices(&model, TrackKind::Ops)
        .into_iter()
        .map(|op| op.device_range().unwrap());
    let spans: Vec<_> = spans
        .map(|span| (span.start.ps(), span.dur().ps()))
        .collect();
    // The third slice starts 5 ps after the previous one, and both distance and length are those of the timeline.
    assert_eq!(spans, [(1000, 20), (1020, 20), (1045, 10), (1060, 20)]);
    assert_eq!(model.import_log().count(IssueKind::DeviceClockMissing), 1);
}
