//! The parts of an import, each on its own: `cargo bench -p systole --no-default-features --bench parts [-- EVENTS]`
//!
//! Medians of the CPU time of all threads and of the wall time, for a generated session of so many slices (a million if
//! none are named), half of them ops of 8 devices.

use std::hint::black_box;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use flate2::{Compression, write::GzEncoder};
use importers::{InputSource, Progress, import};
use sample_traces::big::{BigSpec, big_xspace};
use std::io::{Read as _, Write as _};
use trace_model::wire::{WireCursor, WireValue};
use trace_model::{
    FlowPoint, FlowRole, GroupKind, Picos, SliceBatch, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel,
    TrackKind,
};

const RUNS: usize = 7;
const TRACKS: u32 = 16;

#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
fn main() {
    let slices = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(1_000_000);
    let xspace = big_xspace(BigSpec { slices: u64::from(slices), tracks: TRACKS });
    let json = json(slices);
    let packed = gzip(&json);
    println!("{slices} slices, {} MB of protobuf, {} MB of JSON", xspace.len() >> 20, json.len() >> 20);
    println!("{:32} {:>9} {:>9}", "", "CPU ms", "wall ms");

    measure("walk all messages", || &xspace, |bytes| walk(bytes, 0..bytes.len()));
    measure("import protobuf", || source("big.xplane.pb", &xspace), |source| imported(&source));
    measure("finish tracks", || collected(slices), |builder| builder.finish().slice_count());
    measure("link flows", || collected(slices).finish(), |model| model.flows().len());
    measure("inflate", || &packed, |packed| unpack(packed));
    measure("import JSON", || source("big.trace.json", &json), |source| imported(&source));
    measure("import JSON, gzipped", || source("big.trace.json.gz", &packed), |source| imported(&source));
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
/// Prints the medians of what `work` takes; `make` is not counted.
fn measure<T, R>(name: &str, make: impl Fn() -> T, work: impl Fn(T) -> R) {
    let mut times: Vec<(Duration, Duration)> = Vec::new();
    for _ in 0..RUNS {
        let made = make();
        let (cpu, wall) = (ProcessTime::now(), Instant::now());
        let result = black_box(work(made));
        times.push((cpu.elapsed(), wall.elapsed()));
        drop(result);
    }
    let median = |of: fn(&(Duration, Duration)) -> Duration| {
        let mut column: Vec<Duration> = times.iter().map(of).collect();
        column.sort_unstable();
        column[RUNS / 2].as_secs_f64() * 1e3
    };
    println!("{name:32} {:9.1} {:9.1}", median(|&(cpu, _)| cpu), median(|&(_, wall)| wall));
}

fn source(name: &str, bytes: &[u8]) -> InputSource {
    InputSource::from_bytes(name, bytes.to_vec()).expect("it is not a broken gzip")
}

fn imported(source: &InputSource) -> TraceModel {
    import(source, &Progress::new()).expect("it is a trace")
}

/// Number of fields, those of planes, lines and events included.
fn walk(bytes: &[u8], range: std::ops::Range<usize>) -> usize {
    let mut cursor = WireCursor::new(bytes, range);
    let mut fields = 0;
    while let Ok(Some((_, value))) = cursor.next() {
        fields += 1;
        if let WireValue::Bytes(range) = value {
            fields += walk(bytes, range);
        }
    }
    fields
}

/// Slices on tracks, nested in pairs; a quarter of them are ends of flows.
fn collected(slices: u32) -> TraceBuilder {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let label = builder.label("work", None);
    let mut points = Vec::new();
    for number in 0..TRACKS {
        let track = builder.track(host, TrackKind::HostThread, i64::from(number), "thread");
        let mut batch = SliceBatch::with_capacity((slices / TRACKS) as usize, false);
        let mut ends = Vec::new();
        for i in 0..slices / TRACKS {
            let (start, dur) = (i64::from(i) * 1_000 + i64::from(number), if i % 2 == 0 { 1_900 } else { 700 });
            let range = TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(dur));
            let index = batch.push(SliceSpec::new(range, label));
            if i % 4 == 0 {
                let role = if number % 2 == 0 { FlowRole::Out } else { FlowRole::In };
                ends.push(FlowPoint::new(u64::from(i) << 4 | u64::from(number / 2), 0, role, index));
            }
        }
        builder.append(track, batch);
        points.push((track, ends));
    }
    builder.add_flow_points(points);
    builder
}

fn json(slices: u32) -> Vec<u8> {
    let mut text = b"{\"traceEvents\":[\n".to_vec();
    for i in 0..slices {
        let (track, at) = (i % TRACKS, f64::from(i) * 1.5);
        let comma = if i == 0 { "" } else { ",\n" };
        write!(
            text,
            "{comma}{{\"ph\":\"X\",\"pid\":1,\"tid\":{track},\"ts\":{at},\"dur\":1.25,\"name\":\"op.{}\",\
             \"args\":{{\"run_id\":\"{i}\",\"long_name\":\"thunk {}\"}}}}",
            i % 997,
            i % 31
        )
        .expect("memory can be written");
    }
    text.extend(b"\n]}\n");
    text
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory can be written");
    encoder.finish().expect("memory can be written")
}

fn unpack(packed: &[u8]) -> usize {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).expect("it was just packed");
    bytes.len()
}
