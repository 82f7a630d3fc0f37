//! Ops, programs and facts of the session.

use super::*;

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
