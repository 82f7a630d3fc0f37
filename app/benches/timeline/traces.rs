//! What is measured: a model, and captures.

use std::io;
use std::path::{Path, PathBuf};

use analysis::Options;
use importers::{ImportOptions, Progress};
use sample_traces::synthetic::{SyntheticRun, TrainingSpec};
use sample_traces::write::write_xspace;
use session::Session;
use trace_model::{
    GroupKind, Op, Picos, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel, TrackKind,
};

use super::TRACKS;

/// Tracks of short slices between long ones with gaps, each with its own rhythm.
pub fn model(slices_per_track: u32) -> TraceModel {
    let mut builder = TraceBuilder::new();
    let categories = [
        "convolution fusion",
        "loop fusion",
        "copy-done",
        "all-reduce",
        "data formatting",
    ];
    let labels: Vec<_> = (0..500)
        .map(|i| {
            let name = builder.intern(&format!("op.{i}"));
            let category = builder.intern(categories[i % categories.len()]);
            let op = builder.op(Op {
                name,
                category: Some(category),
                ..Op::default()
            });
            builder.label(&format!("op.{i}"), Some(op))
        })
        .collect();
    let host = builder.group(None, GroupKind::Host, "host");
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for track in 0..TRACKS {
        let track = builder.track(
            host,
            TrackKind::Ops,
            i64::from(track),
            &format!("track {track:03}"),
        );
        let mut at = 0;
        for i in 0..slices_per_track {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let dur = if i % 50 == 0 {
                20_000_000
            } else {
                (random % 2_000_000) as i64
            };
            let range = TimeRange::at(Timestamp::from_ps(at), Picos::from_ps(dur));
            builder.add_slice(
                track,
                SliceSpec::new(range, labels[(random >> 32) as usize % labels.len()]),
            );
            at += dur + (random >> 20) as i64 % 500_000;
        }
    }
    builder.finish()
}

/// A capture of a training run.
pub fn capture(folder: &Path, ops: u64) -> io::Result<PathBuf> {
    let path = folder.join("capture.xplane.pb");
    let mut out = io::BufWriter::new(std::fs::File::create(&path)?);
    let spec = TrainingSpec::of_device_events(ops);
    write_xspace("synthetic", SyntheticRun::new(spec).planes(), &mut out)?;
    io::Write::flush(&mut out)?;
    Ok(path)
}

pub fn import(path: &Path) -> io::Result<Session> {
    Session::open(
        path,
        &ImportOptions::default(),
        Options::default(),
        &Progress::default(),
    )
    .map_err(io::Error::other)
}
