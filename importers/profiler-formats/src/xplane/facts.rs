//! Facts about devices, hosts and the session: the stats of planes.

use std::ops::Range;

use hashbrown::HashSet;
use importer_common::prelude::*;
use trace_model::wire::{WireCursor, WireValue};

use super::known::Known;
use super::tables::{PlaneMetadata, StatValue, stat};

/// The stats of a plane; unreadable ones are skipped.
fn plane_stats<'a>(
    tables: &'a PlaneMetadata,
    stats: &'a [Range<usize>],
) -> impl Iterator<Item = (u64, StatValue)> + 'a {
    stats
        .iter()
        .filter_map(|range| stat(tables.bytes(), range.clone()).ok())
}

/// Stores the stats of a plane as facts of its group, and the type and peaks of a core as its device.
pub(super) fn group_facts(
    builder: &mut TraceBuilder,
    group: GroupId,
    tables: &PlaneMetadata,
    stats: &[Range<usize>],
    is_core: bool,
) {
    let mut device = DeviceInfo::default();
    for (id, value) in plane_stats(tables, stats) {
        if let Some(name) = tables.stat_name(id) {
            builder.set_group_fact(group, name, tables.arg_value(&value));
        }
        if let Some(wrong) = device_fact(&mut device, tables, tables.known(id), &value) {
            let name = tables.stat_name(id).unwrap_or_default();
            builder.log(IssueKind::ImplausibleValue, || {
                format!("{name} is {wrong:e}: the peak is unknown")
            });
        }
    }
    if is_core && device != DeviceInfo::default() {
        builder.set_device(group, device);
    }
}

/// Sets a fact of a device; the number if it is a peak that no device has.
fn device_fact(
    device: &mut DeviceInfo,
    tables: &PlaneMetadata,
    known: Known,
    value: &StatValue,
) -> Option<f64> {
    const TERA: f64 = 1e12;
    const GIGA: f64 = 1e9;
    /// From one operation or byte a millisecond to a thousand times what a pod has.
    const PLAUSIBLE: std::ops::RangeInclusive<f64> = 1e-9..=1e9;
    // A peak of zero means that the device lacks that memory.
    let written = || tables.float(value).filter(|&v| v != 0.0);
    let peak = |unit: f64| {
        written()
            .filter(|v| PLAUSIBLE.contains(v))
            .map(|v| v * unit)
    };
    let flag = || tables.int(value).map(|v| v != 0);
    match known {
        Known::DeviceType => {
            device.type_name = tables.text(value).map(std::borrow::Cow::into_owned);
        }
        Known::PeakTeraflops => device.peak_flops = peak(TERA),
        Known::PeakHbm => device.peak_hbm_bytes = peak(GIGA),
        Known::PeakCmemRead => device.peak_cmem_read_bytes = peak(GIGA),
        Known::PeakCmemWrite => device.peak_cmem_write_bytes = peak(GIGA),
        Known::PeakVmemRead => device.peak_vmem_read_bytes = peak(GIGA),
        Known::PeakVmemWrite => device.peak_vmem_write_bytes = peak(GIGA),
        Known::HasMegacore => device.has_megacore = flag(),
        Known::HasMergedVmem => device.has_merged_vmem = flag(),
        Known::CoreDetails => {
            if let StatValue::Bytes(range) = value {
                let details = tables.slice(range.clone());
                // An absent number is 0 in this encoding, but an empty message contains no information.
                let number = |field| {
                    (!details.is_empty()).then(|| varint_field(details, field).unwrap_or(0) as i64)
                };
                (device.local_chip_id, device.global_chip_id) = (number(4), number(5));
            }
        }
        _ => {}
    }
    let is_peak = matches!(
        known,
        Known::PeakTeraflops
            | Known::PeakHbm
            | Known::PeakCmemRead
            | Known::PeakCmemWrite
            | Known::PeakVmemRead
            | Known::PeakVmemWrite
    );
    written().filter(|v| is_peak && !PLAUSIBLE.contains(v))
}

/// A number of a small message.
fn varint_field(message: &[u8], wanted: u32) -> Option<u64> {
    let mut cursor = WireCursor::new(message, 0..message.len());
    let mut last = None;
    while let Ok(Some(field)) = cursor.next() {
        if let (number, WireValue::Varint(value)) = field
            && number == wanted
        {
            last = Some(value);
        }
    }
    last
}

/// Records the session times and other facts of the plane.
pub(super) fn session_facts(
    builder: &mut TraceBuilder,
    tables: &PlaneMetadata,
    stats: &[Range<usize>],
) {
    let source = builder.source_mut();
    let mut known: HashSet<String> = source.facts.iter().map(|(name, _)| name.clone()).collect();
    for (id, value) in plane_stats(tables, stats) {
        let Some(name) = tables.stat_name(id) else {
            continue;
        };
        match (tables.known(id), tables.int(&value)) {
            (Known::ProfileStart, Some(ns)) => source.started_unix_ns = Some(ns),
            (Known::ProfileStop, Some(ns)) => source.stopped_unix_ns = Some(ns),
            _ if matches!(value, StatValue::Bytes(_)) => {}
            _ => {
                if known.insert(name.to_owned()) {
                    source
                        .facts
                        .push((name.to_owned(), tables.arg_value(&value).to_string()));
                }
            }
        }
    }
}
