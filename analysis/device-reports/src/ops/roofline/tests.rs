//! Ridges, points of ops and of the average step, and the roof of the links.

use hardware::limits::OpWork;
use hardware::peaks::{Peak, PeakSource};

use super::*;

#[test]
fn small_batch_lies_on_the_memory_slope() {
    let peak = |per_second| {
        Some(Peak {
            per_second,
            source: PeakSource::Recorded,
        })
    };
    let peaks = Peaks {
        flops: peak(1.97e14),
        hbm: peak(8.19e11),
        ..Peaks::default()
    };
    // bf16 64 × 8192 × 8192 at the least time that the bandwidth allows.
    let work = OpWork {
        flops: Some(8_589_934_592.0),
        hbm_bytes: Some(136_314_880.0),
        ..OpWork::default()
    };
    let point = RooflinePoint::new("op", work, Picos::from_ps(166_440_633), &peaks);
    let near = |value: Option<f64>, expected: f64| {
        assert!((value.unwrap() / expected - 1.0).abs() < 1e-3, "{value:?}");
    };
    assert_eq!(point.bound_by, Some(BoundBy::Hbm));
    near(point.efficiency_percent.map(|share| share.0), 100.0);
    near(point.flops_per_hbm_byte, 63.0);
    near(point.attainable_flops_per_second, 63.015 * 8.19e11);
    near(point.ideal_time_ps, 166.44e6);
    near(
        point.flops_percent.map(|share| share.0),
        100.0 * 43.60 / 166.44,
    );
}

#[test]
fn links_are_shared_by_the_devices_of_a_chip() {
    let v5p = Chip::named("v5p").unwrap();
    let roof = IciRoof::of(v5p).unwrap();
    assert_eq!((roof.links, roof.devices), (6, 1));
    assert!(
        (roof.device_bytes_per_second() / (6.0 * roof.link_bytes_per_second) - 1.0).abs() < 1e-12
    );
    let shared = IciRoof { devices: 2, ..roof };
    assert!(
        (shared.device_bytes_per_second() / (3.0 * roof.link_bytes_per_second) - 1.0).abs() < 1e-12
    );
    let note = |from| shared.note("x", from);
    assert!(
        note(NetworkFrom::Published).contains("shared by 2 devices"),
        "{}",
        note(NetworkFrom::Published)
    );
    assert!(
        note(NetworkFrom::Recorded).ends_with("(recorded)"),
        "{}",
        note(NetworkFrom::Recorded)
    );
    assert_eq!(roof.ceilings().len(), 2);
    assert_eq!(
        IciRoof { links: 1, ..roof }.ceilings(),
        [("ICI", roof.link_bytes_per_second)]
    );
    assert_eq!(
        IciRoof::of(&Chip {
            links: None,
            ..v5p.clone()
        }),
        None
    );
}

#[test]
fn collectives_are_bound_by_links_or_waiting() {
    let model = sample_traces::text_trace(
        "@column 1us\n@device flops=197e12 hbm=819e9 TPU v5 lite\nops: AAAAFF\n\
         A = all-reduce.1 [all-reduce] flops=1000 hbm_read=400000\n\
         F = fusion.1 [loop fusion] flops=1000 hbm_read=400000",
    );
    let (options, reports) = (engine::Options::default(), engine::ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    let report = Roofline::run(&cx).unwrap();
    let bound = |name: &str| {
        let point = report
            .ops
            .iter()
            .find(|point| *point.name == *name)
            .unwrap();
        (point.bound_by, point.efficiency_percent.is_some())
    };
    assert_eq!(
        bound("all-reduce.1"),
        (Some(BoundBy::LinksOrWaiting), false)
    );
    assert_eq!(bound("fusion.1"), (Some(BoundBy::Hbm), true));
}

#[test]
fn unknown_bytes_give_no_verdict() {
    let work = OpWork {
        flops: Some(1.0),
        ..OpWork::default()
    };
    let point = RooflinePoint::new(
        "op",
        work,
        Picos::from_ps(1_000),
        &Peaks::choose(None, Chip::named("v5e")),
    );
    assert_eq!((point.bound_by, point.efficiency_percent), (None, None));
    assert!(point.flops_percent.is_some());
}

/// Two steps, the second twice as long: 40 ns of work at the peak in 80 ns, then infeed.
#[test]
fn average_step_uses_complete_steps_and_can_exclude_infeed() {
    let model = two_steps();
    let (options, reports) = (engine::Options::default(), engine::ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    let report = Roofline::run(&cx).unwrap();
    let near = |point: &RooflinePoint, time: i64, percent: f64| {
        assert_eq!(point.time_ps.ps(), time, "{}", point.name);
        assert!(
            (point.flops_percent.unwrap().0 - percent).abs() < 1e-9,
            "{point:?}"
        );
    };
    near(&report.program, 300_000, 100.0 * 80.0 / 300.0);
    near(
        report.program_without_host_io.as_ref().unwrap(),
        160_000,
        50.0,
    );
    near(
        report.average_step.as_ref().unwrap(),
        150_000,
        100.0 * 40.0 / 150.0,
    );
    near(&report.steps[0], 100_000, 40.0);
    near(&report.steps[1], 200_000, 20.0);
    let memory = report.program.memories[0];
    assert_eq!(
        (memory.memory, report.program.memories.len()),
        (BoundBy::Hbm, 1)
    );
    assert!((memory.flops_per_byte.unwrap() - 20.0).abs() < 1e-9);
    // A part of the trace has no average step.
    let part = cx.scoped(Scope::Steps { first: 0, last: 0 });
    assert_eq!(Roofline::run(&part).unwrap().average_step, None);
}

/// Each step: a matmul of 40,000 operations and 1000 bytes, an infeed of as many bytes.
fn two_steps() -> TraceModel {
    use trace_model::{
        Access, DeviceInfo, GroupKind, MemoryAccess, MemorySpace, Op, SliceSpec, TimeRange,
        Timestamp, TrackKind,
    };
    let mut builder = trace_model::TraceBuilder::new();
    let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
    let peak = Some(1e12);
    builder.set_device(
        core,
        DeviceInfo {
            peak_flops: peak,
            peak_hbm_bytes: peak,
            ..DeviceInfo::default()
        },
    );
    let steps = builder.track(core, TrackKind::Steps, 0, "Steps");
    let ops = builder.track(core, TrackKind::Ops, 1, "XLA Ops");
    let [matmul, infeed] = [("convolution", 40_000), ("infeed", 0)].map(|(name, flops)| {
        let text = builder.intern(name);
        let memory = vec![MemoryAccess {
            space: MemorySpace::Hbm,
            access: Access::Read,
            bytes: 1_000,
        }];
        let op = Op {
            name: text,
            category: Some(text),
            flops: Some(flops),
            memory,
            ..Op::default()
        };
        let op = builder.op(op);
        builder.label(name, Some(op))
    });
    let range =
        |start: i64, end: i64| TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
    for (number, start, end) in [("0", 0, 100_000), ("1", 100_000, 300_000)] {
        let step = builder.label(number, None);
        builder.add_slice(steps, SliceSpec::new(range(start, end), step));
        builder.add_slice(ops, SliceSpec::new(range(start, start + 80_000), matmul));
        builder.add_slice(ops, SliceSpec::new(range(start + 80_000, end), infeed));
    }
    builder.finish()
}
