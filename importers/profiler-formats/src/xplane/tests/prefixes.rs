//! A sample of every part of the format, cut at every byte and changed at random.

use super::*;

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
