//! Sessions with features that no public capture has, built from the documented format, with answers computed by hand:
//! a Pallas kernel with pipeline scopes, hardware counters, work handed to a `SparseCore`, an all-reduce over two
//! slices.
//!
//! Names of lines and stats are those of `xplane_schema.cc` in openxla/xla.

mod counters;
mod kernel;
mod megascale;
mod sparse;

pub use counters::{CounterName, CounterSamples};
pub use kernel::PallasKernel;
pub use megascale::Megascale;
pub use sparse::SparseOffload;

use crate::session::{Event, EventMetadata, Plane, Session, Stat};
use crate::synthetic::Chip;

/// Said in every place that has room for it.
pub(crate) const REMARK: &str = "synthetic: written by hand, not measured";

pub(crate) const MODULES: (i64, &str) = (2, "XLA Modules");
pub(crate) const OPS: (i64, &str) = (3, "XLA Ops");
const SCOPES: (i64, &str) = (6, "XLA TraceMe");
/// The line of counters has the largest number that there is.
const COUNTERS: (i64, &str) = (i64::MAX, "_counters_");

/// By how much the device clock is ahead of the timeline.
const DEVICE_AHEAD_PS: i64 = 5_000_000_000;

/// The program of every op here.
const PROGRAM: u64 = 4711;
const MODULE: &str = "jit_step(4711)";

pub(crate) fn session(host: &str, planes: Vec<Plane>) -> Session {
    Session { host: host.to_owned(), remark: REMARK.to_owned(), planes }
}

/// The plane of a device that records its type and peaks.
pub(crate) fn device(ordinal: u32, chip: &Chip) -> Plane {
    Plane {
        id: 2 + i64::from(ordinal),
        name: format!("/device:TPU:{ordinal}"),
        stats: vec![
            Stat::text("device_type_string", chip.type_name),
            Stat::double("peak_teraflops_per_second", chip.peak_teraflops),
            Stat::double("peak_hbm_bw_gigabytes_per_second", chip.hbm_gigabytes),
            Stat::text("synthetic", REMARK),
        ],
        ..Plane::default()
    }
}

/// Adds an op with its facts from the compiler; returns its index.
pub(crate) fn op(plane: &mut Plane, text: &str, category: &str, facts: Vec<Stat>) -> usize {
    let display_name = text.split_once(" = ").map_or(text, |(name, _)| name.trim_start_matches('%')).to_owned();
    let mut stats = vec![
        Stat::shared("hlo_category", category),
        Stat::uint("program_id", PROGRAM),
        Stat::uint("symbol_id", plane.metadata.len() as u64 + 1),
    ];
    stats.extend(facts);
    plane.metadata.push(EventMetadata { id: None, name: text.to_owned(), display_name, stats });
    plane.metadata.len() - 1
}

/// Adds an execution of an op, with both clocks.
pub(crate) fn execution(
    plane: &mut Plane,
    line: (i64, &str),
    metadata: usize,
    at_ps: i64,
    duration_ps: i64,
    facts: Vec<Stat>,
) {
    let mut stats =
        vec![Stat::int("device_offset_ps", at_ps + DEVICE_AHEAD_PS), Stat::int("device_duration_ps", duration_ps)];
    stats.extend(facts);
    let line = plane.line(line.0, line.1);
    plane.lines[line].events.push(Event { metadata, offset_ps: at_ps, duration_ps, stats });
}

/// Adds an event that only the timeline knows.
pub(crate) fn event(plane: &mut Plane, line: (i64, &str), name: &str, at_ps: i64, duration_ps: i64, stats: Vec<Stat>) {
    let line = plane.line(line.0, line.1);
    plane.event(line, name, at_ps, duration_ps, stats);
}
