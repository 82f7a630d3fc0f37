//! Ranges that follow each other have what the whole has: nothing is lost, and nothing counts twice.
#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::collections::BTreeMap;

use analysis::facts::category::OpGroup;
use analysis::reports::communication::sparse_cores::SparseCores;
use analysis::reports::steps::devices::Devices;
use analysis::reports::{Dcn, Ops, Overlap, Utilization};
use analysis::{Percent, Scope};
use importers::{InputSource, Progress};
use proptest::prelude::*;
use sample_traces::rare::{MegascaleSample, SparseOffload};
use sample_traces::session::SampleSession;
use sample_traces::write::xspace_bytes;
use trace_model::{
    GroupKind, Op, Picos, SliceAttr, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel,
    TrackKind,
};

use crate::capture::{Capture, corpus, model_at};

/// One outer op: time before it and its length, on the timeline and by the clock of the device; its kind; ops inside.
type DrawnOp = ([i64; 2], [i64; 2], usize, usize);

const KINDS: [(&str, &str); 4] = [
    ("fusion.1", "convolution fusion"),
    ("while.1", "while"),
    ("all-reduce.1", "all-reduce"),
    ("copy-done.1", "copy-done"),
];

fn range(start: i64, len: i64) -> TimeRange {
    TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(len))
}

fn drawn(devices: &[Vec<DrawnOp>], has_clock: bool) -> TraceModel {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let labels = KINDS.map(|(name, category)| {
        let (id, category) = (builder.intern(name), Some(builder.intern(category)));
        let flops = Some(1_000_000);
        let op = builder.op(Op {
            name: id,
            category,
            flops,
            model_flops: flops,
            ..Op::default()
        });
        builder.label(name, Some(op))
    });
    for (ordinal, ops) in devices.iter().enumerate() {
        let kind = GroupKind::TensorCore {
            ordinal: ordinal as u32,
        };
        let core = builder.group(Some(host), kind, &format!("/device:TPU:{ordinal}"));
        let track = builder.track(core, TrackKind::Ops, ordinal as i64, "XLA Ops");
        let (mut shown, mut timed) = (100 * ordinal as i64, 5_000);
        for &([gap, clock_gap], [len, clock_len], kind, inside) in ops {
            (shown, timed) = (shown + gap, timed + clock_gap);
            let device = |at, len| has_clock.then(|| range(at, len));
            let mut add = |shown: TimeRange, device, kind: usize| {
                let key = builder.add_slice(
                    track,
                    SliceSpec {
                        device,
                        ..SliceSpec::new(shown, labels[kind])
                    },
                );
                builder.set_attr(key, SliceAttr::DmaStallPs, 40);
            };
            add(range(shown, len), device(timed, clock_len), kind);
            let parts = inside as i64;
            for part in 0..parts {
                let (at, clock_at) = (len * part / parts, clock_len * part / parts);
                // Half of each part is an op of its own.
                add(
                    range(shown + at, len / parts / 2),
                    device(timed + clock_at, clock_len / parts / 2),
                    0,
                );
            }
            (shown, timed) = (shown + len, timed + clock_len);
        }
    }
    builder.finish()
}

/// Sums that must add up, each by a name; floats may differ by rounding.
fn sums(capture: &Capture, scope: Scope) -> BTreeMap<String, f64> {
    let mut out = BTreeMap::new();
    let mut add = |name: String, value: f64| *out.entry(name).or_default() += value;
    if let Ok(ops) = capture.scoped::<Ops>(scope) {
        for row in &ops.rows {
            add(
                format!("total of {}", row.name),
                row.total_time_ps.as_ps_f64(),
            );
            add(
                format!("self of {}", row.name),
                row.self_time_ps.as_ps_f64(),
            );
            add(
                format!("executions of {}", row.name),
                row.occurrences as f64,
            );
            add(
                format!("parts of executions of {}", row.name),
                row.executions,
            );
        }
        for core in &ops.cores {
            // Windows and idle time are those of devices: without a single op in a part there is no report of ops.
            add(format!("busy of {}", core.name), core.busy_ps.as_ps_f64());
        }
    }
    if let Ok(devices) = capture.scoped::<Devices>(scope) {
        for core in &devices.cores {
            add(
                format!("device window of {}", core.core),
                core.window_ps.as_ps_f64(),
            );
            add(
                format!("device idle of {}", core.core),
                core.idle_ps.unwrap_or_default().as_ps_f64(),
            );
            for group in OpGroup::ALL {
                add(
                    format!("device time of {} in {group:?}", core.core),
                    core.time(group).as_ps_f64(),
                );
            }
        }
    }
    if let Ok(overlap) = capture.scoped::<Overlap>(scope) {
        for core in &overlap.cores {
            add(
                format!("exposed on {}", core.core),
                core.exposed_ps.as_ps_f64(),
            );
            add(
                format!("compute on {}", core.core),
                core.compute_ps.as_ps_f64(),
            );
        }
    }
    out.retain(|_, value: &mut f64| *value != 0.0);
    out
}

/// Sums of waiting in collectives, of transfers between slices and of work on `SparseCores`.
fn sums_of_transfers(capture: &Capture, scope: Scope) -> BTreeMap<String, f64> {
    let mut out = BTreeMap::new();
    let mut add = |name: String, value: f64| *out.entry(name).or_default() += value;
    if let Ok(overlap) = capture.scoped::<Overlap>(scope) {
        for core in &overlap.cores {
            add(
                format!("waiting of {}", core.core),
                core.skew_wait_ps.unwrap_or_default().as_ps_f64(),
            );
            add(
                format!("waiting for {}", core.core),
                core.awaited_ps.unwrap_or_default().as_ps_f64(),
            );
            add(
                format!("collectives of {}", core.core),
                core.collectives as f64,
            );
        }
        for transfer in &overlap.transfers {
            let skew = transfer.skew.as_ref();
            add(
                format!("matched executions of {}", transfer.op),
                skew.map_or(0.0, |skew| skew.instances as f64),
            );
        }
    }
    if let Ok(dcn) = capture.scoped::<Dcn>(scope) {
        for device in &dcn.devices {
            add(
                format!("stall of {}", device.device),
                device.stall_ps.as_ps_f64(),
            );
        }
        for transfer in &dcn.collectives {
            add(
                format!("stall in {}", transfer.rendezvous),
                transfer.stall_ps.as_ps_f64(),
            );
            add(
                format!("executions of {}", transfer.rendezvous),
                transfer.occurrences as f64,
            );
        }
    }
    if let Ok(sparse) = capture.scoped::<SparseCores>(scope) {
        for core in &sparse.cores {
            add(
                format!("busy of {}", core.core),
                core.busy_ps.unwrap_or_default().as_ps_f64(),
            );
            add(format!("programs of {}", core.core), core.programs as f64);
            add(
                format!("program time of {}", core.core),
                core.program_ps.as_ps_f64(),
            );
        }
        for op in &sparse.ops {
            add(format!("self of {}", op.op), op.self_ps.as_ps_f64());
        }
        for offload in &sparse.offloads {
            add(
                format!("executions of {}", offload.op),
                offload.occurrences as f64,
            );
            add(
                format!("work of {}", offload.op),
                offload.sparse_ps.as_ps_f64(),
            );
            add(
                format!("hidden of {}", offload.op),
                offload.hidden_ps.as_ps_f64(),
            );
            add(
                format!("in flight of {}", offload.op),
                offload.in_flight_ps.as_ps_f64(),
            );
            add(
                format!("waited of {}", offload.op),
                offload.waited_ps.unwrap_or_default().as_ps_f64(),
            );
        }
    }
    out.retain(|_, value: &mut f64| *value != 0.0);
    out
}

/// `cuts` in thousandths of the capture.
fn adds_up(capture: &Capture, cuts: &[i64], sums: fn(&Capture, Scope) -> BTreeMap<String, f64>) {
    let extent = capture.model.extent();
    let at = |cut: &i64| {
        extent.start
            + Picos::from_ps((i128::from(extent.dur().ps()) * i128::from(*cut) / 1000) as i64)
    };
    let mut borders: Vec<Timestamp> = cuts
        .iter()
        .map(at)
        .chain([extent.start, extent.end])
        .collect();
    borders.sort_unstable();
    let mut parts: BTreeMap<String, f64> = BTreeMap::new();
    for pair in borders.windows(2) {
        for (name, value) in sums(capture, Scope::Range(TimeRange::new(pair[0], pair[1]))) {
            *parts.entry(name).or_default() += value;
        }
    }
    let whole = sums(capture, Scope::WholeTrace);
    assert_eq!(
        whole.keys().collect::<Vec<_>>(),
        parts.keys().collect::<Vec<_>>()
    );
    for (name, value) in whole {
        let of_parts = parts[&name];
        // Parts of executions are not whole numbers; all others are exact.
        assert!(
            (value - of_parts).abs() <= 1e-9 * value.min(1e3),
            "{name}: {value} in the whole, {of_parts} in parts {cuts:?}"
        );
    }
}

/// What one report says of a device another must say, too: they stand on one screen.
fn screen_has_one_denominator(capture: &Capture, scope: Scope) {
    let (Ok(ops), Ok(devices)) = (
        capture.scoped::<Ops>(scope),
        capture.scoped::<Devices>(scope),
    ) else {
        return;
    };
    let utilization = capture.scoped::<Utilization>(scope).unwrap();
    for core in &ops.cores {
        let device = devices
            .cores
            .iter()
            .find(|device| device.group == core.core)
            .unwrap();
        assert_eq!(
            (core.total_time_ps, core.idle_ps),
            (device.window_ps, device.idle_ps.unwrap()),
            "{scope:?}"
        );
        let of_device = utilization
            .devices
            .iter()
            .find(|device| device.device == core.name)
            .unwrap();
        let idle = of_device
            .metrics
            .iter()
            .find(|metric| metric.id == "device_idle_percent")
            .unwrap()
            .value;
        let expected = Percent::of(core.idle_ps, core.total_time_ps)
            .unwrap_or_default()
            .0;
        assert!(
            idle.is_none_or(|idle| (idle - expected).abs() < 1e-9),
            "{idle:?} {expected}"
        );
    }
}

fn an_op() -> impl Strategy<Value = DrawnOp> {
    let (gap, len) = ([0_i64..50, 0_i64..90], [1_i64..100, 1_i64..100]);
    (gap, len, 0..KINDS.len(), 0_usize..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn parts_of_a_capture_add_up_to_the_whole(
        devices in prop::collection::vec(prop::collection::vec(an_op(), 1..12), 1..4),
        cuts in prop::collection::vec(0_i64..1000, 0..5),
        has_clock in any::<bool>(),
    ) {
        let capture = Capture::new(drawn(&devices, has_clock));
        adds_up(&capture, &cuts, sums);
        let extent = capture.model.extent();
        screen_has_one_denominator(&capture, Scope::WholeTrace);
        screen_has_one_denominator(&capture, Scope::Range(TimeRange::at(extent.start, Picos::from_ps(extent.dur().ps() / 3))));
    }
}

#[test]
fn parts_of_real_captures_add_up_to_the_whole() {
    let Some(corpus) = corpus() else { return };
    for name in [
        "tpu/v5e_matmul.xplane.pb",
        "planted/norec_v6e.xplane.pb",
        "planted/late_joiner.xplane.pb",
    ] {
        let capture = Capture::new(model_at(&corpus.join(name)));
        adds_up(&capture, &[123, 400, 777], sums);
        screen_has_one_denominator(&capture, Scope::WholeTrace);
    }
    // Its device clock jumps against the timeline.
    let jumps = Capture::new(model_at(&corpus.join("tpu/v6e_x4_host_offload.xplane.pb")));
    adds_up(&jumps, &[250, 500], sums);
    for part in [0, 3] {
        let extent = jumps.model.extent();
        let length = Picos::from_ps(extent.dur().ps() / 8);
        let start = extent.start + Picos::from_ps(length.ps() * part);
        screen_has_one_denominator(&jumps, Scope::Range(TimeRange::at(start, length)));
    }
}

#[test]
fn transfers_and_waiting_add_up_to_the_whole() {
    let samples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/samples");
    let written = |session: &SampleSession| {
        let source = InputSource::from_bytes("sample.xplane.pb", xspace_bytes(session)).unwrap();
        importers::import(&source, &Progress::new()).unwrap()
    };
    let mut captures = vec![
        (
            "straggler",
            model_at(&samples.join("synthetic_v5e_8chip_straggler.xplane.pb")),
        ),
        ("slices", written(&MegascaleSample::default().session())),
        ("offload", written(&SparseOffload::default().session())),
    ];
    for name in ["planted/k06_4steps_sl0.xplane.pb", "planted/mh_skew0"] {
        captures.extend(corpus().map(|corpus| (name, model_at(&corpus.join(name)))));
    }
    for (name, model) in captures {
        let capture = Capture::new(model);
        let whole = sums_of_transfers(&capture, Scope::WholeTrace);
        assert!(
            whole
                .keys()
                .any(|sum| sum.starts_with("wait") || sum.starts_with("stall")),
            "{name}: {whole:?}"
        );
        let cuts = |count: i64| (1..count).map(|cut| 1000 * cut / count).collect::<Vec<_>>();
        for count in [2, 7, 23] {
            adds_up(&capture, &cuts(count), sums_of_transfers);
        }
    }
}

/// From the planted truth: steps of 20 ms with 12 ms matmul, 3 HBM, 3 exposed communication and 2 idle.
#[test]
fn time_beyond_the_border_is_cut() {
    let Some(corpus) = corpus() else { return };
    let capture = Capture::new(model_at(&corpus.join("planted/norec_v6e.xplane.pb")));
    let at = |us: i64| Timestamp::from_ps(us * 1_000_000);
    let ops = capture
        .scoped::<Ops>(Scope::Range(TimeRange::new(at(116_000), at(120_500))))
        .unwrap();
    let idle = Percent::of(ops.idle_ps, ops.total_time_ps).unwrap().0;
    assert!((idle - 44.4).abs() < 0.1, "{idle}");
}
