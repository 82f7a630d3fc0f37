use importers::import;
use input::{ImportError, InputSource, Progress};
use proptest::prelude::{any, prop, proptest};
use proptest::test_runner::Config;
use sample_traces::write::ProtoMessage;
use trace_model::{
    ArgValue, GroupKind, IssueKind, Picos, SliceAttr, SliceRef, Timestamp, TraceModel, TrackId,
    TrackKind,
};

use super::writer::{PlaneWriter, WrittenStat, space};

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
fn op_metadata_becomes_an_op_of_its_program() {
    let mut plane = core();
    let text = "%fusion.3 = f32[8]{0} fusion(f32[8]{0} %p), kind=kLoop, calls=%fused";
    let id = plane.metadata(
        text,
        "fusion.3",
        &[
            ("hlo_category", WrittenStat::Ref("loop fusion")),
            ("program_id", WrittenStat::Uint(11_287_434_908_481_120_160)),
            ("symbol_id", WrittenStat::Int(4)),
            ("flops", WrittenStat::Int(8)),
            ("tf_op", WrittenStat::Text("jit(f)/add:")),
            ("bytes_accessed", WrittenStat::Text("64")),
        ],
    );
    let events = [plane.event_of(id, 0, 10, &[("flops", WrittenStat::Uint(12))])];
    plane.line(3, "XLA Ops", 0, &events);
    let module = plane.event(
        "jit_f(11287434908481120160)",
        0,
        10,
        &[("run_id", WrittenStat::Int(-3))],
    );
    plane.line(2, "XLA Modules", 0, &[module]);
    let model = model(&[&plane]);
    let slice = slices(&model, TrackKind::Ops)[0];
    let op = model.op(slice.op().unwrap());
    let program = model.program(op.program.unwrap());
    assert_eq!(
        (model.str(program.name), program.id),
        ("jit_f", Some(11_287_434_908_481_120_160))
    );
    assert_eq!(model.str(op.name), "fusion.3");
    assert_eq!(op.hlo_text.map(|id| model.str(id)), Some(text));
    assert_eq!(op.category.map(|id| model.str(id)), Some("loop fusion"));
    assert_eq!(
        op.framework_name.map(|id| model.str(id)),
        Some("jit(f)/add:")
    );
    assert_eq!(
        (op.flops, op.model_flops, op.bytes_accessed, op.symbol_id),
        (Some(8), None, Some(64), Some(4))
    );
    assert_eq!(slice.attr(SliceAttr::Flops), Some(12));
    assert_eq!(
        slices(&model, TrackKind::Modules)[0].attr(SliceAttr::RunId),
        Some(-3)
    );

    let args = slice.args().unwrap();
    let flops: Vec<_> = args
        .iter()
        .filter(|arg| arg.name == "flops")
        .map(|arg| &arg.value)
        .collect();
    assert_eq!(
        flops,
        [&ArgValue::Uint(12)],
        "the event's own value hides that of its metadata"
    );
    let category = args.iter().find(|arg| arg.name == "hlo_category").unwrap();
    assert_eq!(category.value, ArgValue::Text("loop fusion".to_owned()));
}

#[test]
fn null_text_printed_by_c_is_ignored() {
    let null = || WrittenStat::Text("(null)");
    let mut plane = core();
    let facts = [
        ("tf_op", null()),
        ("source", null()),
        ("hlo_category", null()),
    ];
    let nameless = plane.metadata("(null)", "(null)", &facts);
    let named = plane.metadata("%add.1 = f32[8]{0} add(f32[8]{0} %p)", "(null)", &[]);
    let events = [
        plane.event_of(nameless, 0, 10, &[]),
        plane.event_of(named, 20, 10, &[]),
    ];
    plane.line(3, "XLA Ops", 0, &events);
    let model = model(&[&plane]);
    let ops: Vec<_> = slices(&model, TrackKind::Ops)
        .into_iter()
        .map(|slice| model.op(slice.op().unwrap()))
        .collect();
    let names: Vec<_> = ops.iter().map(|op| model.str(op.name)).collect();
    assert_eq!(names, ["(no name)", "add.1"]);
    assert_eq!(
        (ops[0].framework_name, ops[0].source, ops[0].category),
        (None, None, None)
    );
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

#[test]
fn flow_start_and_end_form_a_span_unless_bidirectional() {
    let mut plane = core();
    let flow = |id: u64, direction: u64| [("flow", WrittenStat::Uint(id << 2 | direction))];
    let events = [
        plane.event("%s = f32[] all-gather-start(f32[] %p)", 10, 1, &flow(5, 2)),
        plane.event("%s = f32[] all-gather-start(f32[] %p)", 40, 2, &flow(5, 1)),
        plane.event("%c = f32[] copy-start(f32[] %p)", 20, 7, &flow(6, 3)),
        plane.event("%c = f32[] copy-start(f32[] %p)", 50, 7, &flow(6, 3)),
    ];
    plane.line(4, "Async XLA Ops", 0, &events);
    let model = model(&[&plane]);
    let mut spans: Vec<_> = slices(&model, TrackKind::AsyncOps)
        .iter()
        .map(|s| (s.start().ps(), s.dur().ps()))
        .collect();
    spans.sort_unstable();
    assert_eq!(spans, [(10, 32), (20, 7), (50, 7)]);
}

#[test]
fn flows_lead_from_producers_to_consumers() {
    let mut host = PlaneWriter::new("/host:CPU");
    let from = |id: i64| [("_pt", WrittenStat::Int(7)), ("_p", WrittenStat::Int(id))];
    let to = |kind: i64| {
        [
            ("_ct", WrittenStat::Int(kind)),
            ("_c", WrittenStat::Uint(1)),
        ]
    };
    let events = [
        host.event("launch", 0, 5, &from(1)),
        host.event("launch again", 20, 5, &from(1)),
        host.event("work", 10, 5, &to(7)),
        host.event("more work", 30, 5, &to(7)),
        host.event("other", 40, 5, &to(8)),
    ];
    host.line(1, "main", 0, &events);
    let model = model(&[&host]);
    let flows: Vec<_> = model
        .flows()
        .iter()
        .map(|flow| (model.slice(flow.from).name(), model.slice(flow.to).name()))
        .collect();
    assert_eq!(flows, [("launch", "work"), ("launch again", "more work")]);
}

#[test]
fn equal_run_ids_link_enqueue_and_module() {
    let (mut host, mut device) = (
        PlaneWriter::new("/host:CPU"),
        PlaneWriter::new("/device:TPU:1"),
    );
    let run = |ordinal: i64| {
        [
            ("run_id", WrittenStat::Int(9)),
            ("device_ordinal", WrittenStat::Int(ordinal)),
        ]
    };
    let events = [
        host.event("DoEnqueueProgram", 0, 5, &run(0)),
        host.event("DoEnqueueProgram", 10, 5, &run(1)),
        host.event("Execute", 20, 5, &run(1)),
    ];
    host.line(1, "main", 0, &events);
    let module = device.event("jit_f(1)", 50, 5, &[("run_id", WrittenStat::Uint(9))]);
    device.line(2, "XLA Modules", 0, &[module]);
    let model = model(&[&host, &device]);
    let [flow] = model.flows() else {
        panic!("one arrow, not {:?}", model.flows())
    };
    assert_eq!(model.slice(flow.from).start().ps(), 10);
    assert_eq!(model.slice(flow.to).name(), "jit_f(1)");
}

#[test]
fn hlo_protos_are_found_by_both_spellings_and_all_ids() {
    let mut plane = PlaneWriter::new("/host:metadata");
    let proto = |name: &'static str, len| (name, WrittenStat::Bytes(vec![1; len]));
    plane.metadata(
        "jit_a",
        "",
        &[proto("Hlo Proto", 3), ("program_id", WrittenStat::Int(42))],
    );
    plane.metadata("jit_b(77)", "", &[proto("HLO Proto", 4)]);
    plane.id_offset = 0;
    plane.metadata("jit_c", "", &[proto("Hlo Proto", 5)]);
    plane.metadata("SYMBOL_MAP:1", "", &[("symbol_id", WrittenStat::Text("1"))]);
    let model = model(&[&plane]);
    let programs: Vec<_> = model
        .programs()
        .iter()
        .map(|program| {
            (
                model.str(program.name),
                program.id,
                program.hlo.as_ref().unwrap().bytes().len(),
            )
        })
        .collect();
    assert_eq!(
        programs,
        [
            ("jit_a", Some(42), 3),
            ("jit_b", Some(77), 4),
            ("jit_c", Some(2), 5)
        ]
    );
}

#[test]
fn session_details_and_warnings_are_read() {
    let mut environment = PlaneWriter::new("Task Environment");
    environment.plane_stat(
        "profile_start_time",
        &WrittenStat::Uint(1_779_098_263_865_619_879),
    );
    environment.plane_stat(
        "profile_stop_time",
        &WrittenStat::Uint(1_779_098_264_108_272_449),
    );
    let mut host = PlaneWriter::new("/host:CPU");
    host.plane_stat("matrix_unit_utilization_percent", &WrittenStat::Double(0.5));
    let mut bytes = space(&[&environment, &host]);
    let mut rest = ProtoMessage::default();
    for (field, text) in [(2, "lost"), (3, "slow"), (4, "vm-0")] {
        rest.text(field, text);
    }
    bytes.extend(rest.into_bytes());
    let model = read(bytes).unwrap();
    let source = &model.sources()[0];
    assert_eq!(source.host.as_deref(), Some("vm-0"));
    assert_eq!(source.started_unix_ns, Some(1_779_098_263_865_619_879));
    assert_eq!(source.stopped_unix_ns, Some(1_779_098_264_108_272_449));
    let group = model
        .group_ids()
        .find(|&id| model.group(id).kind == GroupKind::HostProcess)
        .unwrap();
    let fact = model.group_fact(group, "matrix_unit_utilization_percent");
    assert_eq!(fact, Some(&ArgValue::Float(0.5)));
    let log = model.import_log();
    assert_eq!(
        (
            log.count(IssueKind::ProfilerError),
            log.count(IssueKind::ProfilerWarning)
        ),
        (1, 1)
    );
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
    let model = read(bytes).unwrap();
    assert_eq!(model.slice_count(), 1);
    assert_eq!(model.import_log().count(IssueKind::MalformedEvent), 1);
    assert_eq!(model.import_log().count(IssueKind::TruncatedFile), 0);
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

/// A small file with every kind of content.
fn sample() -> Vec<u8> {
    let mut device = core();
    let id = device.metadata(
        "%copy-start.1 = (f32[8], f32[8], u32[]) copy-start(f32[8] %p)",
        "copy-start.1",
        &[
            ("hlo_category", WrittenStat::Text("copy-start")),
            ("program_id", WrittenStat::Uint(7)),
            ("symbol_id", WrittenStat::Int(1)),
        ],
    );
    let clock = |at| {
        [
            ("device_offset_ps", WrittenStat::Int(at)),
            ("device_duration_ps", WrittenStat::Int(3)),
        ]
    };
    let events = [
        device.event_of(id, 0, 2, &clock(0)),
        device.event(
            "%copy-done.1 = f32[8] copy-done((f32[8]) %copy-start.1)",
            9,
            4,
            &clock(9),
        ),
    ];
    device.line(3, "XLA Ops", 0, &events);
    let module = device.event(
        "jit_f(7)",
        0,
        20,
        &[
            ("run_id", WrittenStat::Int(1)),
            ("_ct", WrittenStat::Int(12)),
            ("_c", WrittenStat::Int(5)),
        ],
    );
    device.line(2, "XLA Modules", 0, &[module]);
    let sample = device.event("MXU", 1, 500, &[("% util", WrittenStat::Double(4.0))]);
    device.line(9, "_counters_", 0, &[sample]);
    device.plane_stat("core_details", &WrittenStat::Bytes(vec![0x20, 2]));
    device.plane_stat("peak_teraflops_per_second", &WrittenStat::Double(197.0));
    let mut host = PlaneWriter::new("/host:CPU");
    let launch = host.event(
        "launch",
        0,
        5,
        &[
            ("_pt", WrittenStat::Int(12)),
            ("_p", WrittenStat::Int(5)),
            ("shape", WrittenStat::Ref("x")),
        ],
    );
    host.line(1, "main", 10, &[launch]);
    let mut metadata = PlaneWriter::new("/host:metadata");
    metadata.metadata(
        "jit_f(7)",
        "",
        &[("Hlo Proto", WrittenStat::Bytes(vec![8; 20]))],
    );
    space(&[&device, &host, &metadata])
}

/// Reads everything in a model that could be wrong.
fn visit(model: &TraceModel) {
    for slice in model.all_slices() {
        drop((
            slice.args(),
            slice.name(),
            slice.measured_range(),
            slice.parent(),
        ));
        assert!(slice.self_dur() >= Picos::ZERO);
    }
    for program in model.programs() {
        assert!(
            program
                .hlo
                .as_ref()
                .is_none_or(|hlo| hlo.bytes().len() < 10_000)
        );
    }
}

#[test]
fn sample_is_read_without_issues() {
    let model = read(sample()).unwrap();
    assert_eq!(
        model.slice_count(),
        5,
        "two ops, a module, a launch, and the span in flight"
    );
    let counts: Vec<_> = model
        .import_log()
        .counts()
        .iter()
        .map(|count| count.kind)
        .collect();
    assert_eq!(counts, [IssueKind::CounterClipped]);
    assert_eq!(model.flows().len(), 2);
    visit(&model);
}

#[test]
fn every_prefix_of_the_sample_opens_or_is_an_error() {
    let bytes = sample();
    for len in 0..bytes.len() {
        let _ = read(bytes[..len].to_vec()).map(|model| visit(&model));
    }
}

proptest! {
    #![proptest_config(Config { cases: 512, ..Config::default() })]

    #[test]
    fn damaged_bytes_never_panic(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = sample();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(model) = read(bytes) {
            visit(&model);
        }
    }

    #[test]
    fn noise_never_panics(noise in prop::collection::vec(any::<u8>(), 0..300), at in any::<prop::sample::Index>()) {
        let mut bytes = sample();
        let at = at.index(bytes.len());
        bytes.splice(at..at, noise);
        if let Ok(model) = read(bytes) {
            visit(&model);
        }
    }
}
