//! Large traces, for benchmarks: any number of slices on any number of tracks.
//!
//! Half of the tracks are op tracks of devices, half are host threads. Each track holds a
//! sequence of parents of 1 µs to 1 ms with occasional gaps. Each parent has up to seven
//! children. There are two hundred distinct ops.

use trace_model::{
    GroupKind, Picos, SliceBatch, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel,
    TrackKind,
};

use crate::write::ProtoMessage;

const DISTINCT_OPS: u64 = 200;
const CATEGORIES: [&str; 5] = [
    "convolution fusion",
    "loop fusion",
    "all-reduce",
    "copy",
    "data formatting",
];

/// How large a trace to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BigSpec {
    /// Total number of slices on all tracks.
    pub slices: u64,
    pub tracks: u32,
}

/// The trace as a model, built directly and not through a file.
pub fn big_model(spec: BigSpec) -> TraceModel {
    let mut out = TraceBuilder::new();
    let host = out.group(None, GroupKind::Host, "synthetic");
    let threads = out.group(Some(host), GroupKind::HostProcess, "/host:CPU");
    let labels: Vec<_> = (0..DISTINCT_OPS)
        .map(|op| out.label(&op_name(op), None))
        .collect();
    for track in 0..spec.tracks {
        let id = match device_of(track) {
            Some(ordinal) => {
                let name = format!("/device:TPU:{ordinal}");
                let device = out.group(Some(host), GroupKind::TensorCore { ordinal }, &name);
                out.track(device, TrackKind::Ops, 3, "XLA Ops")
            }
            None => out.track(
                threads,
                TrackKind::HostThread,
                i64::from(track),
                &format!("thread/{track}"),
            ),
        };
        let mut batch = SliceBatch::default();
        for event in EventRows::of(spec, track) {
            let range = TimeRange::at(Timestamp::from_ps(event.start), Picos::from_ps(event.dur));
            batch.push(SliceSpec::new(range, labels[event.op as usize]));
        }
        out.append(id, batch);
    }
    out.finish()
}

/// The trace as the bytes of an `*.xplane.pb` file.
pub fn big_xspace(spec: BigSpec) -> Vec<u8> {
    let mut space = ProtoMessage::default();
    for track in (0..spec.tracks).filter(|&track| device_of(track).is_some()) {
        let ordinal = device_of(track).unwrap_or_default();
        space.message(1, |plane| {
            plane.int(1, 2 + i64::from(ordinal));
            plane.text(2, &format!("/device:TPU:{ordinal}"));
            plane.message(3, |line| write_line(spec, track, 3, "XLA Ops", line));
            write_metadata(plane);
        });
    }
    space.message(1, |plane| {
        plane.int(1, 700);
        plane.text(2, "/host:CPU");
        for track in (0..spec.tracks).filter(|&track| device_of(track).is_none()) {
            let name = format!("thread/{track}");
            plane.message(3, |line| {
                write_line(spec, track, u64::from(track), &name, line);
            });
        }
        write_metadata(plane);
    });
    space.text(4, "synthetic");
    space.into_bytes()
}

fn write_line(spec: BigSpec, track: u32, id: u64, name: &str, line: &mut ProtoMessage) {
    line.uint(1, id);
    line.text(2, name);
    for event in EventRows::of(spec, track) {
        line.message(4, |out| {
            out.uint(1, event.op + 1);
            out.present(2, event.start as u64);
            out.int(3, event.dur);
        });
    }
}

fn write_metadata(plane: &mut ProtoMessage) {
    const CATEGORY: u64 = 1;
    for op in 0..DISTINCT_OPS {
        plane.message(4, |entry| {
            entry.uint(1, op + 1);
            entry.message(2, |metadata| {
                metadata.uint(1, op + 1);
                metadata.text(2, &op_name(op));
                metadata.message(5, |stat| {
                    stat.uint(1, CATEGORY);
                    stat.text(5, CATEGORIES[op as usize % CATEGORIES.len()]);
                });
            });
        });
    }
    plane.message(5, |entry| {
        entry.uint(1, CATEGORY);
        entry.message(2, |metadata| {
            metadata.uint(1, CATEGORY);
            metadata.text(2, "hlo_category");
        });
    });
}

fn op_name(op: u64) -> String {
    format!("fusion.{op}")
}

/// Even tracks are devices.
fn device_of(track: u32) -> Option<u32> {
    track.is_multiple_of(2).then_some(track / 2)
}

#[derive(Clone, Copy)]
struct BigEvent {
    start: i64,
    dur: i64,
    op: u64,
}

/// Events of one track in time order, parents before their children.
struct EventRows {
    left: u64,
    random: u64,
    /// End of the last parent.
    cursor: i64,
    /// Remaining children: their number, the length of each, and the start of the next.
    children: (u64, i64, i64),
}

impl EventRows {
    fn of(spec: BigSpec, track: u32) -> Self {
        let (tracks, track) = (u64::from(spec.tracks.max(1)), u64::from(track));
        let left = spec.slices / tracks + u64::from(track < spec.slices % tracks);
        Self {
            left,
            random: track,
            cursor: track as i64 * 1000,
            children: (0, 0, 0),
        }
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % below
    }
}

impl Iterator for EventRows {
    type Item = BigEvent;

    fn next(&mut self) -> Option<BigEvent> {
        self.left = self.left.checked_sub(1)?;
        let op = self.random(DISTINCT_OPS);
        let (children, each, at) = self.children;
        if children > 0 {
            self.children = (children - 1, each, at + each);
            return Some(BigEvent {
                start: at,
                dur: each,
                op,
            });
        }
        let gap = if self.random(10) == 0 {
            self.random(50_000_000) as i64
        } else {
            0
        };
        let start = self.cursor + gap;
        let magnitude = self.random(10);
        let dur = (1_000_000 << magnitude) + self.random(1_000_000) as i64;
        let children = self.random(8);
        self.children = (children, dur / (children as i64 + 1), start + 1_000);
        self.cursor = start + dur;
        Some(BigEvent { start, dur, op })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_sample_has_every_slice_nested() {
        let model = big_model(BigSpec {
            slices: 10_007,
            tracks: 10,
        });
        assert_eq!(model.slice_count(), 10_007);
        assert_eq!(model.tracks().len(), 10);
        assert_eq!(model.import_log().counts(), []);
        assert!(model.track_ids().all(|track| model.lanes(track).len() == 2));
    }
}
