//! What of the data that is offloaded to the host fits on the device.

use super::prelude::*;
use device_reports::memory::buffers::{HBM, PlannedBuffer};
use device_reports::memory::hbm::bytes_text;
use device_reports::{Buffers, Memory};

use super::arrays::text_of;

/// Number of host memory in shapes.
const HOST: u64 = 5;

/// What of the loaded data fits into HBM.
pub(super) struct FittingArrays {
    /// How many of the arrays, as a sentence.
    pub advice: String,
    /// Their share of all bytes that are loaded, 0 to 1.
    pub of_loads: f64,
}

/// How many of the arrays that these ops load from the host could stay in HBM; `None` where their sizes or the free
/// memory are not known.
pub(super) fn what_fits(facts: &HintFacts<'_>, waits: &[&OpRow]) -> Option<FittingArrays> {
    let mut loads: Vec<LoadedArray> = waits
        .iter()
        .filter_map(|row| LoadedArray::of(facts, row))
        .collect();
    let (free, when) = free_hbm(facts).filter(|_| !loads.is_empty())?;
    loads.sort_unstable();
    let count = loads.len();
    let fitting = loads
        .iter()
        .scan(0_i64, |sum, load| {
            *sum = sum.saturating_add(load.more_bytes);
            (*sum <= free).then_some(())
        })
        .count();
    let kept = loads.get(..fitting).unwrap_or_default();
    let sum = |of: fn(&LoadedArray) -> i64, loads: &[LoadedArray]| {
        loads.iter().map(of).fold(0, i64::saturating_add)
    };
    let moved = |loads: &[LoadedArray]| -> f64 {
        loads
            .iter()
            .map(|load| load.bytes as f64 * load.times as f64)
            .sum()
    };
    let of_loads = moved(kept) / moved(&loads).max(1.0);
    let replaced = sum(|load| load.bytes - load.more_bytes, kept);
    let free = bytes_text(free);
    let all = bytes_text(sum(|load| load.bytes, &loads));
    let copies = if replaced > 0 {
        let replaced = bytes_text(replaced);
        format!(", and their copies, no longer needed, fill another {replaced} then")
    } else {
        String::new()
    };
    let room = format!("{free} are free {when}{copies}");
    let arrays = if count == 1 {
        "The array".to_owned()
    } else {
        format!("The {count} arrays")
    };
    let advice = match fitting {
        _ if fitting == count => {
            let (fit, them) = if count == 1 {
                ("fits", "it")
            } else {
                ("fit", "them")
            };
            format!(
                "{arrays} loaded from the host ({all}) {fit} into HBM: {room}. Keep {them} there."
            )
        }
        1.. => format!(
            "{fitting} of the {count} arrays loaded from the host ({} of {all}) fit into HBM: {room}. Keep them there.",
            bytes_text(sum(|load| load.bytes, kept))
        ),
        0 => format!("No array loaded from the host ({all} in all) fits into HBM: {room}."),
    };
    Some(FittingArrays { advice, of_loads })
}

/// An array that an op waits for, from the host.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct LoadedArray {
    /// Bytes of HBM that it needs at the peak in addition to what is in use then, if it stays there: none where the buffer
    /// that it is loaded into is in use.
    more_bytes: i64,
    bytes: i64,
    /// Loads of it.
    times: u64,
}

impl LoadedArray {
    fn of(facts: &HintFacts<'_>, row: &OpRow) -> Option<Self> {
        let text = text_of(facts, row)?;
        let result = text.result()?;
        let is_load = result.arrays().iter().all(|it| it.memory_space != HOST);
        let bytes = i64::try_from(result.bytes()?).ok()?;
        let start = text
            .operand_list()
            .first()
            .map_or("", |operand| operand.name);
        let is_in_use = is_filled_at_peak(facts, row, start, bytes).unwrap_or(false);
        (is_load && bytes > 0).then_some(Self {
            more_bytes: if is_in_use { 0 } else { bytes },
            bytes,
            times: row.occurrences,
        })
    }
}

/// Whether the buffer that a copy fills is one of those in use when its program needs the most HBM, and this program is the
/// one that needs most, which the free memory is counted beside.
fn is_filled_at_peak(facts: &HintFacts<'_>, row: &OpRow, start: &str, bytes: i64) -> Option<bool> {
    let buffers = facts.report::<Buffers>().ok()?;
    let program = buffers.programs.first()?;
    let own_program = facts.cx.model.op(row.op?).program?;
    let at_peak = &program.plan(HBM)?.at_peak;
    // What it copies is the first part of its result, the others are of a few bytes.
    let is_filled = |buffer: &PlannedBuffer| {
        let part = buffer.instruction.strip_prefix(start);
        part.is_some_and(|part| part.starts_with('{'))
            && i64::try_from(buffer.bytes).is_ok_and(|all| all >= bytes)
    };
    Some(program.id == own_program && at_peak.iter().any(is_filled))
}

/// Bytes of HBM that nothing uses, and when.
fn free_hbm(facts: &HintFacts<'_>) -> Option<(i64, &'static str)> {
    let recorded = facts.report::<Memory>().ok().and_then(|memory| {
        let free = |peak: i64, capacity: Option<i64>| Some(capacity?.saturating_sub(peak).max(0));
        memory
            .device_peaks()
            .filter_map(|(device, _)| free(device.peak_bytes, device.capacity_bytes))
            .min()
    });
    if let Some(free) = recorded {
        return Some((free, "at the peak of the fullest device"));
    }
    let buffers = facts.report::<Buffers>().ok()?;
    let planned = buffers.programs.first()?.hbm_bytes();
    let free = buffers.capacity.as_ref()?.bytes.saturating_sub(planned);
    Some((
        i64::try_from(free).ok()?,
        "beside the largest program, by the compiler's plan",
    ))
}
