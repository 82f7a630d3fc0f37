//! The parts of an import, each on its own: `cargo bench -p systole --no-default-features --bench parts [-- FILTER]`
//!
//! Wall times, for a generated session of a million slices, half of them ops of 8 devices. Criterion compares them with
//! those of the run before; `--save-baseline NAME` and `--baseline NAME` compare with others.

use std::hint::black_box;
use std::io::{Read as _, Write as _};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use flate2::{Compression, write::GzEncoder};
use importers::{InputSource, Progress, import};
use sample_traces::big::{BigSpec, big_xspace};
use sample_traces::wire_walk::walk_fields;
use trace_model::{
    FlowPoint, FlowRole, GroupKind, Picos, SliceBatch, SliceSpec, TimeRange, Timestamp,
    TraceBuilder, TraceModel, TrackKind,
};

const SLICES: u32 = 1_000_000;
const TRACKS: u32 = 16;

criterion_group! {
    name = parts;
    config = Criterion::default().sample_size(10);
    targets = protobuf, model, trace_json
}
criterion_main!(parts);

/// Times `work` on what `make` returns; making it does not count.
fn measure<T, R>(
    bench: &mut Criterion,
    name: &str,
    throughput: Throughput,
    make: impl Fn() -> T,
    work: impl Fn(T) -> R,
) {
    let mut group = bench.benchmark_group("parts");
    group.throughput(throughput);
    group.bench_function(name, |bencher| {
        bencher.iter_batched(&make, |made| black_box(work(made)), BatchSize::PerIteration);
    });
}

fn bytes(data: &[u8]) -> Throughput {
    Throughput::Bytes(data.len() as u64)
}

fn protobuf(bench: &mut Criterion) {
    let xspace = big_xspace(BigSpec {
        slices: u64::from(SLICES),
        tracks: TRACKS,
    });
    measure(
        bench,
        "walk all messages",
        bytes(&xspace),
        || &xspace,
        |bytes| walk_fields(bytes, 0..bytes.len()),
    );
    measure(
        bench,
        "import protobuf",
        bytes(&xspace),
        || source("big.xplane.pb", &xspace),
        |source| imported(&source),
    );
    // A file with one line: nothing to share among threads but the line itself.
    let line = big_xspace(BigSpec {
        slices: u64::from(SLICES),
        tracks: 1,
    });
    measure(
        bench,
        "import one line",
        bytes(&line),
        || source("line.xplane.pb", &line),
        |source| imported(&source),
    );
}

fn model(bench: &mut Criterion) {
    let slices = Throughput::Elements(u64::from(SLICES));
    measure(
        bench,
        "finish tracks",
        slices.clone(),
        collected,
        |builder| builder.finish().slice_count(),
    );
    measure(
        bench,
        "link flows",
        slices,
        || collected().finish(),
        |model| model.flows().len(),
    );
}

fn trace_json(bench: &mut Criterion) {
    let json = json();
    let packed = gzip(&json);
    measure(
        bench,
        "inflate",
        bytes(&json),
        || &packed,
        |packed| unpack(packed),
    );
    measure(
        bench,
        "import JSON",
        bytes(&json),
        || source("big.trace.json", &json),
        |source| imported(&source),
    );
    let packed_source = || source("big.trace.json.gz", &packed);
    measure(
        bench,
        "import JSON, gzipped",
        bytes(&json),
        packed_source,
        |source| imported(&source),
    );
}

fn source(name: &str, bytes: &[u8]) -> InputSource {
    InputSource::from_bytes(name, bytes.to_vec()).expect("it is not a broken gzip")
}

fn imported(source: &InputSource) -> TraceModel {
    import(source, &Progress::new()).expect("it is a trace")
}

/// Slices on tracks, nested in pairs; a quarter of them are ends of flows.
fn collected() -> TraceBuilder {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let label = builder.label("work", None);
    let mut points = Vec::new();
    for number in 0..TRACKS {
        let track = builder.track(host, TrackKind::HostThread, i64::from(number), "thread");
        let mut batch = SliceBatch::with_capacity((SLICES / TRACKS) as usize, false);
        let mut ends = Vec::new();
        for i in 0..SLICES / TRACKS {
            let (start, dur) = (
                i64::from(i) * 1_000 + i64::from(number),
                if i % 2 == 0 { 1_900 } else { 700 },
            );
            let range = TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(dur));
            let index = batch.push(SliceSpec::new(range, label));
            if i % 4 == 0 {
                let role = if number % 2 == 0 {
                    FlowRole::Out
                } else {
                    FlowRole::In
                };
                ends.push(FlowPoint::new(
                    u64::from(i) << 4 | u64::from(number / 2),
                    0,
                    role,
                    index,
                ));
            }
        }
        builder.append(track, batch);
        points.push((track, ends));
    }
    builder.add_flow_points(points);
    builder
}

fn json() -> Vec<u8> {
    let mut text = b"{\"traceEvents\":[\n".to_vec();
    for i in 0..SLICES {
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
    flate2::read::GzDecoder::new(packed)
        .read_to_end(&mut bytes)
        .expect("it was just packed");
    bytes.len()
}
