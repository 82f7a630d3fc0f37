//! The written files contain the session, and the checked-in files are up to date.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use sample_traces::big::{BigSpec, big_model, big_xspace};
use sample_traces::session::{SampleSession, SampleValue};
use sample_traces::synthetic::{SyntheticRun, TrainingSpec};
use sample_traces::write::{gzip, trace_json, write_xspace, xspace_bytes};
use sample_traces::{sample_files, sample_specs};
use trace_model::{IssueKind, TraceModel};

fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Field<'a> {
    Varint(u64),
    Fixed(u64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn number(self) -> u64 {
        match self {
            Self::Varint(value) | Self::Fixed(value) => value,
            Self::Bytes(_) => panic!("not a number"),
        }
    }
    fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            other => panic!("{other:?} is not bytes"),
        }
    }
    fn text(self) -> &'a str {
        std::str::from_utf8(self.bytes()).unwrap()
    }
}

/// All fields of a message, by the wire format's own rules.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let field = match tag & 7 {
            0 => Field::Varint(varint(&mut bytes)),
            1 => {
                let (value, rest) = bytes.split_at(8);
                bytes = rest;
                Field::Fixed(u64::from_le_bytes(value.try_into().unwrap()))
            }
            2 => {
                let len = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(len);
                bytes = rest;
                Field::Bytes(value)
            }
            other => panic!("wire type {other}"),
        };
        out.push((tag >> 3, field));
    }
    out
}

fn one<'a>(message: &[(u64, Field<'a>)], number: u64) -> Option<Field<'a>> {
    message
        .iter()
        .find(|(at, _)| *at == number)
        .map(|&(_, field)| field)
}

fn map<'a>(message: &[(u64, Field<'a>)], number: u64) -> BTreeMap<i64, Vec<(u64, Field<'a>)>> {
    message
        .iter()
        .filter(|(at, _)| *at == number)
        .map(|(_, entry)| {
            let entry = fields(entry.bytes());
            (
                one(&entry, 1).map_or(0, Field::number) as i64,
                fields(one(&entry, 2).unwrap().bytes()),
            )
        })
        .collect()
}

fn check_stat(
    stat: Field<'_>,
    expected: &sample_traces::session::SampleStat,
    names: &BTreeMap<i64, Vec<(u64, Field<'_>)>>,
) {
    let stat = fields(stat.bytes());
    let name_of = |id: u64| one(&names[&(id as i64)], 2).map_or("", |field| field.text());
    assert_eq!(name_of(one(&stat, 1).unwrap().number()), expected.name);
    match &expected.value {
        SampleValue::Double(value) => assert_eq!(one(&stat, 2).unwrap().number(), value.to_bits()),
        SampleValue::Uint(value) => assert_eq!(one(&stat, 3).unwrap().number(), *value),
        SampleValue::Int(value) => assert_eq!(one(&stat, 4).unwrap().number() as i64, *value),
        SampleValue::Text(value) => assert_eq!(one(&stat, 5).unwrap().text(), value),
        SampleValue::Bytes(value) => assert_eq!(one(&stat, 6).unwrap().bytes(), value),
        SampleValue::Ref(value) => assert_eq!(name_of(one(&stat, 7).unwrap().number()), value),
    }
}

#[test]
fn protobuf_matches_the_session() {
    let session = overlapped();
    let bytes = xspace_bytes(&session);
    let space = fields(&bytes);
    assert_eq!(one(&space, 4).unwrap().text(), "synthetic");
    let planes: Vec<_> = space
        .iter()
        .filter(|(at, _)| *at == 1)
        .map(|(_, plane)| fields(plane.bytes()))
        .collect();
    assert_eq!(planes.len(), session.planes.len());
    for (plane, expected) in planes.iter().zip(&session.planes) {
        assert_eq!(one(plane, 2).unwrap().text(), expected.name);
        let (metadata, names) = (map(plane, 4), map(plane, 5));
        assert_eq!(metadata.len(), expected.metadata.len());
        let stats: Vec<_> = plane.iter().filter(|(at, _)| *at == 6).collect();
        assert_eq!(stats.len(), expected.stats.len());
        for ((_, stat), expected) in stats.into_iter().zip(&expected.stats) {
            check_stat(*stat, expected, &names);
        }
        let lines: Vec<_> = plane
            .iter()
            .filter(|(at, _)| *at == 3)
            .map(|(_, line)| fields(line.bytes()))
            .collect();
        assert_eq!(lines.len(), expected.lines.len());
        for (line, expected_line) in lines.iter().zip(&expected.lines) {
            assert_eq!(one(line, 1).unwrap().number() as i64, expected_line.id);
            let events: Vec<_> = line.iter().filter(|(at, _)| *at == 4).collect();
            assert_eq!(events.len(), expected_line.events.len());
            for ((_, event), expected_event) in events.into_iter().zip(&expected_line.events) {
                let event = fields(event.bytes());
                let number = |at| one(&event, at).map_or(0, Field::number) as i64;
                let of = &expected.metadata[expected_event.metadata];
                assert_eq!(one(&metadata[&number(1)], 2).unwrap().text(), of.name);
                assert_eq!(
                    (number(2), number(3)),
                    (expected_event.offset_ps, expected_event.duration_ps)
                );
                for (stat, expected) in event
                    .iter()
                    .filter(|(at, _)| *at == 4)
                    .zip(&expected_event.stats)
                {
                    check_stat(stat.1, expected, &names);
                }
            }
        }
    }
}

fn overlapped() -> SampleSession {
    SyntheticRun::new(TrainingSpec {
        overlap: true,
        steps: 2,
        data: 2,
        ..TrainingSpec::default()
    })
    .session()
}

#[test]
fn export_has_every_event_except_the_async_line() {
    let session = overlapped();
    let json: serde_json::Value = serde_json::from_str(&trace_json(&session)).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    assert_eq!(events.last().unwrap(), &serde_json::json!({}));
    let exported = |pid: i64, tid: u32| {
        events
            .iter()
            .filter(|e| e["ph"] == "X" && e["pid"] == pid && e["tid"] == tid)
            .count()
    };
    for plane in &session.planes {
        let pid = if plane.name == "/host:CPU" {
            701
        } else {
            plane.id + 1
        };
        for line in &plane.lines {
            let expected = if line.name == "Async XLA Ops" {
                0
            } else {
                line.events.len()
            };
            assert_eq!(
                exported(pid, line.id as u32),
                expected,
                "{} {}",
                plane.name,
                line.name
            );
        }
    }
    let args = events
        .iter()
        .filter_map(|event| event.get("args"))
        .filter(|args| args.get("long_name").is_some());
    let values: Vec<_> = args
        .flat_map(|args| args.as_object().unwrap().iter())
        .collect();
    assert!(!values.is_empty() && values.iter().all(|(_, value)| value.is_string()));
    assert!(
        values
            .iter()
            .all(|(name, _)| !matches!(name.as_str(), "flops" | "program_id" | "symbol_id"))
    );
    // Times survive the detour through microseconds to the picosecond.
    let ops = session.planes[0]
        .lines
        .iter()
        .find(|line| line.name == "XLA Ops")
        .unwrap();
    let times = events
        .iter()
        .filter(|e| e["ph"] == "X" && e["pid"] == 3 && e["tid"] == 3);
    for (event, expected) in times.zip(&ops.events) {
        let ps = |key: &str| (event[key].as_f64().unwrap() * 1e6).round() as i64;
        assert_eq!(
            (ps("ts"), ps("dur")),
            (
                ops.timestamp_ns * 1000 + expected.offset_ps,
                expected.duration_ps
            )
        );
    }
}

#[test]
fn every_synthetic_plane_is_marked() {
    let session = overlapped();
    for plane in &session.planes {
        assert!(
            plane.stats.iter().any(|stat| stat.name == "synthetic"),
            "{}",
            plane.name
        );
    }
    assert!(
        sample_specs()
            .iter()
            .all(|(spec, _)| spec.name.starts_with("synthetic_"))
    );
    assert!(trace_json(&session)[..200].contains("synthetic"));
}

#[test]
fn checked_in_samples_are_up_to_date() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/samples");
    let unpacked = |bytes: &[u8]| {
        // Compressed bytes may change with the compressor; what they hold must not.
        if !is_packed(bytes) {
            return bytes.to_vec();
        }
        let mut out = Vec::new();
        flate2::read::GzDecoder::new(bytes)
            .read_to_end(&mut out)
            .unwrap();
        out
    };
    for file in sample_files() {
        let kept = std::fs::read(directory.join(&file.name))
            .unwrap_or_else(|error| panic!("{}: {error}", file.name));
        let same = unpacked(&kept) == unpacked(&file.bytes);
        assert!(
            same,
            "{} differs: run `cargo run -p sample-traces --bin write_samples`",
            file.name
        );
        let packed = if is_packed(&file.bytes) {
            file.bytes.len()
        } else {
            gzip(&file.bytes).len()
        };
        assert!(packed < 300_000, "{} has {packed} bytes", file.name);
    }
}

#[test]
fn large_trace_is_equal_after_a_file_round_trip() {
    let spec = BigSpec {
        slices: 30_000,
        tracks: 7,
    };
    let direct = big_model(spec);
    let source =
        importers::InputSource::from_bytes("big.xplane.pb", big_xspace(spec)).expect("large trace");
    let read = importers::import(&source, &importers::Progress::new()).expect("large trace");
    assert_eq!(read.import_log().count(IssueKind::OverlapSpilled), 0);
    let slices = |model: &TraceModel| {
        let mut slices: Vec<_> = model
            .all_slices()
            .map(|s| {
                (
                    s.start(),
                    s.dur(),
                    s.self_dur(),
                    s.depth(),
                    s.name().to_owned(),
                )
            })
            .collect();
        slices.sort();
        slices
    };
    let (read, direct) = (slices(&read), slices(&direct));
    assert_eq!(read.len(), direct.len());
    let differs = read.iter().zip(&direct).find(|(a, b)| a != b);
    assert_eq!(differs, None);
}

#[test]
fn large_capture_has_the_requested_events() {
    for wanted in [2_000, 600_000] {
        let run = SyntheticRun::new(TrainingSpec::of_device_events(wanted));
        let mut bytes = Vec::new();
        write_xspace("synthetic", run.planes(), &mut bytes).unwrap();
        let source = importers::InputSource::from_bytes("big.xplane.pb", bytes).unwrap();
        let model = importers::import(&source, &importers::Progress::new()).unwrap();
        let cores = model.tensor_cores();
        let on_devices = |track: &trace_model::TrackId| cores.contains(&model.track(*track).group);
        let events: usize = model
            .track_ids()
            .filter(on_devices)
            .map(|track| model.slices_on(track).count())
            .sum();
        assert!(
            events as f64 > 0.8 * wanted as f64 && (events as f64) < 1.3 * wanted as f64,
            "{events} of {wanted}"
        );
        assert!(
            model.ops().len() > 100 && model.programs().iter().all(|program| program.hlo.is_some())
        );
    }
}
