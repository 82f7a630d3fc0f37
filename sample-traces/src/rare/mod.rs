//! Sessions with features that no public capture has, built from the documented format, with answers computed by hand:
//! a Pallas kernel with pipeline scopes, hardware counters, work offloaded to a `SparseCore`, an all-reduce over two
//! slices, a server with annotations of its requests.
//!
//! The names of lines and stats come from `xplane_schema.cc` in openxla/xla.

mod counters;
mod kernel;
mod megascale;
mod serving;
mod sparse;

pub use counters::{CounterName, CounterSamples};
pub use kernel::PallasKernel;
pub use megascale::MegascaleSample;
pub use serving::{ServedTimes, ServingSample};
pub use sparse::SparseOffload;

use crate::session::{SampleEvent, SampleEventMetadata, SamplePlane, SampleSession, SampleStat};
use crate::synthetic::SyntheticChip;

/// Remark stored wherever the format has a place for it.
pub(crate) const REMARK: &str = "synthetic: written by hand, not measured";

pub(crate) const MODULES: (i64, &str) = (2, "XLA Modules");
pub(crate) const OPS: (i64, &str) = (3, "XLA Ops");
const SCOPES: (i64, &str) = (6, "XLA TraceMe");
/// Id and name of the counter line; its id is the largest possible one.
const COUNTERS: (i64, &str) = (i64::MAX, "_counters_");

/// How far the device clock is ahead of the timeline.
const DEVICE_AHEAD_PS: i64 = 5_000_000_000;

/// Id of the program that all ops belong to.
const PROGRAM: u64 = 4711;
const MODULE: &str = "jit_step(4711)";

pub(crate) fn session(host: &str, planes: Vec<SamplePlane>) -> SampleSession {
    SampleSession {
        host: host.to_owned(),
        remark: REMARK.to_owned(),
        planes,
    }
}

/// The plane of a device, with its type and peaks.
pub(crate) fn device(ordinal: u32, chip: &SyntheticChip) -> SamplePlane {
    SamplePlane {
        id: 2 + i64::from(ordinal),
        name: format!("/device:TPU:{ordinal}"),
        stats: vec![
            SampleStat::text("device_type_string", chip.type_name),
            SampleStat::double("peak_teraflops_per_second", chip.peak_teraflops),
            SampleStat::double("peak_hbm_bw_gigabytes_per_second", chip.hbm_gigabytes),
            SampleStat::text("synthetic", REMARK),
        ],
        ..SamplePlane::default()
    }
}

/// Adds an op with the compiler's facts about it; returns its index.
pub(crate) fn op(
    plane: &mut SamplePlane,
    text: &str,
    category: &str,
    facts: Vec<SampleStat>,
) -> usize {
    op_of(plane, PROGRAM, text, category, facts)
}

/// Adds an op of this program.
fn op_of(
    plane: &mut SamplePlane,
    program: u64,
    text: &str,
    category: &str,
    facts: Vec<SampleStat>,
) -> usize {
    let display_name = text
        .split_once(" = ")
        .map_or(text, |(name, _)| name.trim_start_matches('%'))
        .to_owned();
    let mut stats = vec![
        SampleStat::shared("hlo_category", category),
        SampleStat::uint("program_id", program),
        SampleStat::uint("symbol_id", plane.metadata.len() as u64 + 1),
    ];
    stats.extend(facts);
    plane.metadata.push(SampleEventMetadata {
        id: None,
        name: text.to_owned(),
        display_name,
        stats,
    });
    plane.metadata.len() - 1
}

/// Adds an execution of an op, with both clocks.
pub(crate) fn execution(
    plane: &mut SamplePlane,
    line: (i64, &str),
    metadata: usize,
    at_ps: i64,
    duration_ps: i64,
    facts: Vec<SampleStat>,
) {
    let mut stats = vec![
        SampleStat::int("device_offset_ps", at_ps + DEVICE_AHEAD_PS),
        SampleStat::int("device_duration_ps", duration_ps),
    ];
    stats.extend(facts);
    let line = plane.line(line.0, line.1);
    plane.lines[line].events.push(SampleEvent {
        metadata,
        offset_ps: at_ps,
        duration_ps,
        stats,
    });
}

/// Adds an event that has no time on the device clock.
pub(crate) fn event(
    plane: &mut SamplePlane,
    line: (i64, &str),
    name: &str,
    at_ps: i64,
    duration_ps: i64,
    stats: Vec<SampleStat>,
) {
    let line = plane.line(line.0, line.1);
    plane.event(line, name, at_ps, duration_ps, stats);
}
