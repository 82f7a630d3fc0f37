//! Captures of hosts that are imported for reports.

use importer_common::{HostEvents, ImportOptions};
use trace_model::HostEventUse;

use super::*;

/// What is read of the names of these tests.
fn wanted() -> HostEvents {
    HostEvents::new(|name| match name {
        "each" => HostEventUse::Each,
        "with others" => HostEventUse::WithOthers,
        _ => HostEventUse::Count,
    })
}

/// The whole of these planes, and what reports read of them.
fn both(planes: &[&PlaneWriter]) -> (TraceModel, TraceModel) {
    let source = InputSource::from_bytes("host0.xplane.pb", space(planes)).unwrap();
    let options = ImportOptions {
        for_reports: Some(wanted()),
        ..ImportOptions::default()
    };
    let part = importers::import_source(&source, &options, &Progress::new()).unwrap();
    (model(planes), part)
}

type WrittenEvent<'a> = (&'a str, i64, i64, &'a [(&'static str, WrittenStat)]);

fn host(events: &[WrittenEvent<'_>]) -> PlaneWriter {
    let mut plane = PlaneWriter::new("/host:CPU");
    let events: Vec<_> = events
        .iter()
        .map(|&(name, at, dur, stats)| plane.event(name, at, dur, stats))
        .collect();
    plane.line(1, "thread", 0, &events);
    plane
}

const NESTED: [WrittenEvent<'static>; 4] = [
    ("other", 0, 100, &[]),
    ("each", 10, 30, &[]),
    ("other", 50, 40, &[]),
    ("another", 200, 5, &[]),
];

#[test]
fn events_that_no_report_reads_are_counted() {
    let (whole, part) = both(&[&host(&NESTED)]);
    assert!(!whole.is_partial() && whole.unread().is_empty());
    assert!(part.is_partial());
    assert_eq!((whole.recorded_slices(), part.recorded_slices()), (4, 4));
    let kept: Vec<_> = part.all_slices().map(SliceRef::name).collect();
    assert_eq!(kept, ["each"]);
    assert_eq!(part.extent(), whole.extent());
    let counts = part.unread()[0].counts.iter();
    let counts: Vec<_> = counts
        .map(|&(label, count)| (part.str(part.label(label).name), count))
        .collect();
    assert_eq!(counts, [("other", 2), ("another", 1)]);
    let logs = |model: &TraceModel| format!("{:?}", model.import_log().counts());
    assert_eq!(logs(&part), logs(&whole));
}

#[test]
fn events_with_facts_of_their_own_are_kept() {
    let run: &[_] = &[("run_id", WrittenStat::Int(7))];
    let allocator: &[_] = &[("allocator_name", WrittenStat::Text("pool"))];
    let events = [
        ("other", 0, 1, run),
        ("other", 2, 1, allocator),
        ("other", 4, 1, &[]),
    ];
    let (_, part) = both(&[&host(&events)]);
    assert_eq!((part.slice_count(), part.recorded_slices()), (2, 3));
}

#[test]
fn damaged_events_are_logged_whether_they_are_wanted_or_not() {
    let mut plane = host(&[]);
    let mut events: Vec<_> = [0, 10]
        .map(|at| plane.event("other", at, 5, &[("x", WrittenStat::Int(1))]))
        .into();
    let mut broken = plane.event("other", 20, 5, &[]);
    // A stat whose number is cut off.
    broken.bytes(4, [0x08, 0x01, 0x20, 0xff]);
    events.push(broken);
    plane.line(2, "other thread", 0, &events);
    let (whole, part) = both(&[&plane]);
    assert!(part.is_partial());
    for model in [&whole, &part] {
        assert_eq!(model.import_log().count(IssueKind::MalformedEvent), 1);
        assert_eq!(model.recorded_slices(), 2);
    }
}

/// Everything is decoded where counting could be noticed.
#[test]
fn whole_capture_is_read_where_others_matter() {
    let is_whole = |planes: &[&PlaneWriter]| {
        let (whole, part) = both(planes);
        assert_eq!(whole.recorded_slices(), part.recorded_slices());
        let logs = |model: &TraceModel| format!("{:?}", model.import_log().counts());
        assert_eq!(logs(&part), logs(&whole));
        part.slice_count() == whole.slice_count()
    };
    assert!(!is_whole(&[&host(&NESTED)]));
    let mut device = core();
    let op = device.event("op", 0, 10, &[]);
    device.line(3, "XLA Ops", 0, &[op]);
    assert!(is_whole(&[&host(&NESTED), &device]), "a device");
    assert!(
        is_whole(&[&host(&NESTED), &core()]),
        "a device without events"
    );
    let others = [("other", 0, 100, &[][..]), ("with others", 10, 30, &[])];
    assert!(is_whole(&[&host(&others)]), "a name that needs others");
    let sized = [("other", 0, 1, &[("size", WrittenStat::Int(64))][..])];
    assert!(is_whole(&[&host(&sized)]), "transfers");
    let crossing = [("other", 0, 100, &[][..]), ("other", 50, 100, &[])];
    assert!(is_whole(&[&host(&crossing)]), "events that do not nest");
    let late = [("other", 50, 10, &[][..]), ("other", 0, 10, &[])];
    assert!(is_whole(&[&host(&late)]), "events out of order");
    let timed: &[_] = &[
        ("device_offset_ps", WrittenStat::Int(3)),
        ("device_duration_ps", WrittenStat::Int(2)),
    ];
    assert!(
        is_whole(&[&host(&[("other", 0, 9, timed)])]),
        "a clock of a device"
    );
    let weeks = 15 * 24 * 3600 * 1_000_000_000_000;
    let apart = [
        ("other", 0, 10, &[][..]),
        ("other", 10, 10, &[]),
        ("other", weeks, 10, &[]),
    ];
    assert!(is_whole(&[&host(&apart)]), "implausible times");
}
