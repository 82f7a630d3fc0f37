//! Imports a file and prints what it became, how long that took, and how much
//! memory: `cargo run --release -p importers --example import -- FILE`.

#![allow(clippy::print_stdout)]

use std::path::Path;
use std::time::Instant;

use importers::{IMPORTERS, ImportOptions, InputSource, Progress};
use trace_model::TraceBuilder;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: import FILE")?;
    let began = Instant::now();
    let source = InputSource::open(Path::new(&path))?;
    let importer = IMPORTERS
        .iter()
        .max_by_key(|importer| importer.detect(source.head()))
        .ok_or("no importer")?;
    let mut builder = TraceBuilder::new();
    let file = trace_model::Source {
        name: source.name().to_owned(),
        format: importer.format().id,
        ..trace_model::Source::default()
    };
    builder.begin_source(file);
    importer.import(
        &source,
        &ImportOptions::default(),
        &Progress::new(),
        &mut builder,
    )?;
    let imported = began.elapsed();
    let peak_imported = status("VmHWM:");
    let packed = source.packed_len();
    drop(source);
    let model = builder.finish();
    println!(
        "{}: {:?} imported, {:?} with finish",
        importer.format().id,
        imported,
        began.elapsed()
    );
    println!(
        "{packed} bytes on disk; peak RSS {peak_imported} imported, {} finished; now {}",
        status("VmHWM:"),
        status("VmRSS:")
    );
    println!("CPU {:.3} s", cpu_seconds());
    println!("{:?} {:?}", model, model.memory_use());
    println!(
        "{} labels, {} ops, {} programs, {} flows, {} strings",
        model.labels().len(),
        model.ops().len(),
        model.programs().len(),
        model.flows().len(),
        model.strings().len()
    );
    for source in model.sources() {
        println!("{source:?}");
    }
    if std::env::args().nth(2).is_some() {
        for group in model.group_ids() {
            println!(
                "{:?} {:?}",
                model.str(model.group(group).name),
                model.group(group).kind
            );
            for track in model.tracks_of(group) {
                let (info, lanes) = (model.track(track), model.lanes(track));
                let first = lanes.first().and_then(|lane| model.slices_of(lane).next());
                let count: usize = lanes.iter().map(trace_model::Lane::len).sum();
                println!(
                    "  {:?} {:?} {count} slices in {} lanes, first {first:?}",
                    model.str(info.name),
                    info.kind,
                    lanes.len()
                );
            }
        }
    }
    for issue in model.import_log().counts() {
        println!(
            "{} x {}: {:?}",
            issue.count,
            issue.kind.id(),
            issue.examples
        );
    }
    Ok(())
}

/// A line of what the system says about this process.
fn status(key: &str) -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(key))
        .unwrap_or("unknown");
    line.trim().to_owned()
}

/// User and system time of this process.
fn cpu_seconds() -> f64 {
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    fields
        .skip(11)
        .take(2)
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum::<f64>()
        / TICKS
}
