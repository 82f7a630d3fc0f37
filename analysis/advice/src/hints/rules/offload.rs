//! What of the data that is offloaded to the host fits on the device.

use device_reports::memory::buffers::Buffers;
use device_reports::memory::hbm::{Memory, bytes_text};
use device_reports::ops::op_stats::OpRow;
use hlo::HloText;

use crate::hints::HintFacts;

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
    let bytes_and_times = |row: &&OpRow| Some((loaded_bytes(facts, row)?, row.occurrences));
    let mut loads: Vec<(i64, u64)> = waits.iter().filter_map(bytes_and_times).collect();
    let (free, when) = free_hbm(facts).filter(|_| !loads.is_empty())?;
    loads.sort_unstable();
    let loaded: Vec<i64> = loads.iter().map(|&(bytes, _)| bytes).collect();
    let fits = |sum: &mut i64, bytes: &i64| {
        *sum = sum.saturating_add(*bytes);
        (*sum <= free).then_some(*sum)
    };
    let kept: Vec<i64> = loaded.iter().scan(0, fits).collect();
    let moved = |loads: &[(i64, u64)]| -> f64 {
        let each = |&(bytes, times): &(i64, u64)| bytes as f64 * times as f64;
        loads.iter().map(each).sum()
    };
    let of_loads = moved(loads.get(..kept.len()).unwrap_or_default()) / moved(&loads).max(1.0);
    let (count, all) = (
        loaded.len(),
        loaded
            .iter()
            .fold(0, |sum: i64, bytes| sum.saturating_add(*bytes)),
    );
    let (free, all) = (bytes_text(free), bytes_text(all));
    let arrays = if count == 1 {
        "The array".to_owned()
    } else {
        format!("The {count} arrays")
    };
    let advice = match kept.last() {
        Some(_) if kept.len() == count => {
            let it = if count == 1 { "fits" } else { "fit" };
            format!(
                "{arrays} loaded from the host ({all}) {it} into the {free} of HBM that are free {when}: keep them there."
            )
        }
        Some(&bytes) => format!(
            "{} of the {count} arrays loaded from the host ({} of {all}) fit into the {free} of HBM that are free {when}: \
             keep them there.",
            kept.len(),
            bytes_text(bytes)
        ),
        None => {
            format!(
                "No array loaded from the host ({all} in all) fits into the {free} of HBM that are free {when}."
            )
        }
    };
    Some(FittingArrays { advice, of_loads })
}

/// Bytes that an op waits for, if they come from the host.
fn loaded_bytes(facts: &HintFacts<'_>, row: &OpRow) -> Option<i64> {
    let model = facts.cx.model;
    let hlo = HloText::parse(model.str(model.op(row.op?).hlo_text?))?;
    let result = hlo.result()?;
    let is_load = result.arrays().iter().all(|it| it.memory_space != HOST);
    i64::try_from(result.bytes()?)
        .ok()
        .filter(|&bytes| is_load && bytes > 0)
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
