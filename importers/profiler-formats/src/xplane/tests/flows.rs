//! Flows from producers to consumers.

use super::*;

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
