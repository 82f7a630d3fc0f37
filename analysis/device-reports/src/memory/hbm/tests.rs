//! Memory in captures built by hand: one memory of 1000 bytes.

use engine::{Options, ReportCache, Tabular as _};
use trace_model::{
    GroupKind, Picos, SliceAttr, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel,
    TrackKind,
};

use super::*;

/// Allocates (`+`) or releases (`-`) `size` bytes at `address`.
#[derive(Clone, Copy)]
struct Event(i64, char, i64, i64);

/// A capture in which `events` happen to the memory of device 0, at nanoseconds.
fn capture(events: &[Event], reserved: i64) -> TraceModel {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let core = builder.group(
        Some(host),
        GroupKind::TensorCore { ordinal: 0 },
        "/device:TPU:0",
    );
    builder.track(core, TrackKind::Ops, 1, "XLA Ops");
    let threads = builder.group(Some(host), GroupKind::HostProcess, "/host:CPU");
    let track = builder.track(threads, TrackKind::HostThread, 1, "main");
    let other = builder.label("other", None);
    let whole = TimeRange::new(Timestamp::ZERO, Timestamp::from_ps(100_000));
    builder.add_slice(track, SliceSpec::new(whole, other));
    let mut heap = 0_i64;
    for &Event(ns, sign, address, size) in events {
        let is_allocation = sign == '+';
        heap += if is_allocation { size } else { -size };
        let at = Timestamp::from_ps(ns * 1000);
        let label = builder.label(if is_allocation { ALLOCATION } else { RELEASE }, None);
        let key = builder.add_slice(track, SliceSpec::new(TimeRange::new(at, at), label));
        let mut set = |attr, value| builder.set_attr(key, attr, value);
        set(SliceAttr::DeviceOrdinal, 0);
        set(SliceAttr::MemoryReserved, reserved);
        set(SliceAttr::MemoryAllocated, heap);
        set(SliceAttr::MemoryAvailable, 1000 - reserved - heap);
        set(SliceAttr::FragmentationBits, 0.25_f64.to_bits() as i64);
        set(SliceAttr::Address, address);
        if is_allocation {
            set(SliceAttr::RequestedBytes, size - 4);
            set(SliceAttr::AllocationBytes, size);
        }
    }
    builder.finish()
}

const ALLOCATION: &str = "MemoryAllocation";
const RELEASE: &str = "MemoryDeallocation";

fn report_in(model: &TraceModel, scope: Scope) -> Result<MemoryReport> {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model,
        scope,
        options: &options,
        reports: &reports,
    };
    cx.report::<Memory>().map(|report| report.as_ref().clone())
}

fn memory(model: &TraceModel, scope: Scope) -> MemoryTimeline {
    let mut report = report_in(model, scope).unwrap();
    assert_eq!(report.memories.len(), 1);
    report.memories.remove(0)
}

/// ```text
/// ns        10   20   30   40   50   60
/// a  100    |==============|
/// b  200         |==============|
/// c   50                        |====…   at the address of b
/// ```
const THREE: [Event; 5] = [
    Event(10, '+', 1, 100),
    Event(20, '+', 2, 200),
    Event(40, '-', 1, 100),
    Event(50, '-', 2, 200),
    Event(60, '+', 2, 50),
];

#[test]
fn peak_is_stack_plus_heap() {
    let memory = memory(&capture(&THREE, 300), Scope::WholeTrace);
    assert_eq!(
        (memory.memory.as_str(), memory.capacity_bytes),
        ("/device:TPU:0", Some(1000))
    );
    assert_eq!(
        (
            memory.peak_bytes,
            memory.peak_reserved_bytes,
            memory.peak_heap_bytes
        ),
        (600, 300, 300)
    );
    assert_eq!(
        (memory.peak_percent, memory.peak_at_ps.ps()),
        (Some(Percent(60.0)), 20_000)
    );
    // A quarter of the 400 free bytes is outside the largest block.
    assert_eq!(
        (memory.peak_free_bytes, memory.peak_largest_free_bytes),
        (Some(400), Some(300))
    );
    let parts: Vec<_> = memory
        .at_peak
        .iter()
        .map(|part| (part.what.as_str(), part.bytes))
        .collect();
    assert_eq!(
        parts,
        [("programs (stack)", 300), ("buffer", 200), ("buffer", 100)]
    );
}

#[test]
fn allocations_are_matched_with_releases_by_address() {
    let memory = memory(&capture(&THREE, 0), Scope::WholeTrace);
    assert_eq!(
        (memory.allocations, memory.releases, memory.allocated_bytes),
        (3, 2, 350)
    );
    assert_eq!((memory.requested_bytes, memory.rounding_bytes), (338, 12));
    assert_eq!(
        (memory.kept_count, memory.kept_bytes, memory.growth_bytes),
        (1, 50, -50)
    );
    assert_eq!((memory.unknown_releases, memory.lost_releases), (0, 0));
    let sizes: Vec<_> = memory
        .sizes
        .iter()
        .map(|s| {
            (
                s.bytes,
                s.count,
                s.released,
                s.mean_lifetime_ps.map(Picos::ps),
            )
        })
        .collect();
    assert_eq!(
        sizes,
        [
            (200, 1, 1, Some(30_000)),
            (100, 1, 1, Some(30_000)),
            (50, 1, 0, None)
        ]
    );
    // 100 for 10 ns, 300 for 20, 200 for 10, 0 for 10, 50 for 40.
    assert!((memory.mean_bytes.unwrap() - 11_000.0 / 90.0).abs() < 1e-9);
}

#[test]
fn allocations_alive_at_range_start_count() {
    let range = |from: i64, to: i64| {
        Scope::Range(TimeRange::new(
            Timestamp::from_ps(from * 1000),
            Timestamp::from_ps(to * 1000),
        ))
    };
    // Nothing happens inside, but 300 bytes are in use all the time.
    let inside = memory(&capture(&THREE, 0), range(25, 35));
    assert_eq!(
        (inside.peak_bytes, inside.peak_at_ps.ps(), inside.mean_bytes),
        (300, 25_000, Some(300.0))
    );
    assert_eq!((inside.allocations, inside.at_peak.len()), (0, 2));
    // A buffer from before the range that is released in it is known.
    let after = memory(&capture(&THREE, 0), range(45, 70));
    assert_eq!(
        (after.peak_bytes, after.releases, after.unknown_releases),
        (200, 1, 0)
    );
    assert_eq!((after.kept_count, after.sizes.len()), (1, 1));
    // Before the first event the use is unknown.
    assert!(report_in(&capture(&THREE, 0), range(1, 5)).is_err());
}

#[test]
fn unmatched_allocations_and_releases_are_counted() {
    let events = [
        Event(10, '-', 9, 0),
        Event(20, '+', 1, 10),
        Event(30, '+', 1, 20),
        Event(40, '-', 1, 20),
        Event(50, '-', 1, 0),
    ];
    let memory = memory(&capture(&events, 0), Scope::WholeTrace);
    assert_eq!(
        (
            memory.unknown_releases,
            memory.lost_releases,
            memory.kept_count
        ),
        (2, 1, 0)
    );
    // The first buffer has no recorded release, so it is still in the sum at the peak.
    let parts: Vec<_> = memory
        .at_peak
        .iter()
        .map(|part| (part.what.as_str(), part.bytes))
        .collect();
    assert_eq!(parts, [("buffer", 20), ("older buffers", 10)]);
}

#[test]
fn implausible_memory_values_are_ignored() {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let track = builder.track(host, TrackKind::HostThread, 1, "main");
    for (name, allocated) in [
        (ALLOCATION, i64::MIN),
        (RELEASE, i64::MAX),
        (ALLOCATION, -1),
        ("other", 5),
    ] {
        let label = builder.label(name, None);
        let at = Timestamp::from_ps(5);
        let key = builder.add_slice(track, SliceSpec::new(TimeRange::new(at, at), label));
        builder.set_attr(key, SliceAttr::MemoryAllocated, allocated);
        builder.set_attr(key, SliceAttr::MemoryReserved, i64::MAX);
        builder.set_attr(key, SliceAttr::MemoryAvailable, i64::MAX);
        builder.set_attr(key, SliceAttr::AllocationBytes, i64::MAX);
        builder.set_attr(key, SliceAttr::FragmentationBits, f64::NAN.to_bits() as i64);
    }
    let report = report_in(&builder.finish(), Scope::WholeTrace).unwrap();
    let memory = &report.memories[0];
    assert_eq!(
        (memory.memory.as_str(), memory.peak_bytes),
        ("memory", i64::MAX)
    );
    assert_eq!((memory.allocations, memory.releases), (2, 1));
    assert_eq!(memory.peak_fragmentation_percent, None);
    for table in report.tables() {
        assert!(
            table
                .rows
                .iter()
                .all(|row| row.len() == table.columns.len()),
            "{}",
            table.id
        );
    }
}

#[test]
fn capture_without_memory_events_is_not_applicable() {
    let error = report_in(&capture(&[], 0), Scope::WholeTrace).unwrap_err();
    assert!(error.to_string().contains("no memory events"), "{error}");
}

#[test]
fn bytes_print_with_four_digits() {
    let texts = [0, 999, 1000, 21_492_671_104, 999_960_000, i64::MAX].map(bytes_text);
    assert_eq!(
        texts,
        [
            "0 B", "999 B", "1.000 kB", "21.49 GB", "1.000 GB", "9.223 EB"
        ]
    );
}

#[test]
fn live_buffers_are_known_at_every_time() {
    let model = capture(&THREE, 300);
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    let at = |ns: i64| {
        memory_curve(
            &cx,
            "/device:TPU:0",
            Some(Timestamp::from_ps(ns * 1000)),
            10,
        )
        .unwrap()
    };
    let sizes = |curve: &MemoryCurve| curve.live.iter().map(|row| row.bytes).collect::<Vec<_>>();
    assert_eq!(
        (at(5).used_bytes, sizes(&at(5))),
        (0, vec![]),
        "before the first event nothing is known"
    );
    assert_eq!((at(15).used_bytes, sizes(&at(15))), (400, vec![300, 100]));
    assert_eq!((at(45).used_bytes, sizes(&at(45))), (500, vec![300, 200]));
    assert_eq!((at(90).used_bytes, sizes(&at(90))), (350, vec![300, 50]));
    let peak = memory_curve(&cx, "/device:TPU:0", None, 10).unwrap();
    assert_eq!(
        (peak.at.ps(), peak.used_bytes, sizes(&peak)),
        (20_000, 600, vec![300, 200, 100])
    );
    let columns: Vec<Option<i64>> = peak.columns;
    let used = [
        None,
        Some(400),
        Some(600),
        Some(600),
        Some(600),
        Some(500),
        Some(350),
        Some(350),
        Some(350),
        Some(350),
    ];
    assert_eq!(
        columns, used,
        "the most of each column, in which several values hold"
    );
    assert!(memory_curve(&cx, "no such memory", None, 10).is_err());
}
