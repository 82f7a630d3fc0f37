//! Communication and transfers: how much is hidden behind compute.
//!
//! ```text
//! ops     s [fusion     ] [done]  [all-reduce]     s = start, d = done
//! async   [-------------------]                    in flight: F
//! C         ============                           compute
//! hidden    ============                           F ∩ C
//! exposed =              ======  ============      (S ∪ F) \ hidden
//! ```
//!
//! Per core and window, by the clock that timed the ops, with `C` compute ops, `S` synchronous collectives, `F` spans
//! in flight of asynchronous collectives, `D` their start and done ops:
//!
//! - `comm_total = |S ∪ F|`
//! - `overlapped = |F ∩ C|`, `overlap_ratio = overlapped ÷ comm_total`
//! - `exposed = comm_total − overlapped`
//! - `exposed_blocking = |S ∪ D|`: time in which the core is known to wait. During the rest of `exposed` a collective
//!   is in flight while the core is idle, waits for something else or does host I/O.
//!
//! The op track of a core is serial, so a synchronous collective is always exposed. A fused collective cannot be
//! split: it counts as exposed, and its time is also summed separately. Copies and other asynchronous transfers are
//! measured the same way but never added to communication.

mod cores;
mod hiding_ops;
mod kinds;
mod report;
mod rows;
pub mod skew;
mod sums;
mod table;
mod times;

use facts::prelude::*;
use facts::window::ran_nothing;

use cores::CoreActivity;

/// The overlap analysis.
pub struct Overlap;

impl Analysis for Overlap {
    type Report = OverlapReport;
    const ID: &str = "overlap";
    const TITLE: &str = "Communication and overlap";

    fn run(cx: &Context<'_>) -> Result<OverlapReport> {
        let classes = cx.classes();
        // A device that ran nothing is no participant.
        let ran = |core: &GroupId| !ran_nothing(cx.model, *core);
        let ran: Vec<GroupId> = cx.tensor_cores().into_iter().filter(ran).collect();
        let mut captured = 0;
        for &core in &ran {
            captured += usize::from(cx.window(core)?.is_some());
        }
        let mut rows = rows::OverlapRows::new(captured);
        let mut cores = Vec::with_capacity(captured);
        let mut has_ops = false;
        for core in ran {
            let Some(traffic) = CoreTraffic::of(cx, classes, core)? else {
                continue;
            };
            let meanwhile = CoreActivity::of(cx, &traffic);
            rows.add(cx, cores.len(), &traffic, &meanwhile);
            has_ops |= !traffic.time.segments.is_empty();
            cores.push(traffic.summary(cx.model, &meanwhile));
        }
        if !has_ops {
            return Err("no TPU device recorded ops here".into());
        }
        let (transfers, waits, times) = rows.finish(cx, &cores);
        for (index, core) in cores.iter_mut().enumerate() {
            core.skew_wait_ps = waits.own.get(&index).copied();
            core.awaited_ps = core
                .skew_wait_ps
                .map(|_| waits.caused.get(&index).copied().unwrap_or_default());
        }
        Ok(OverlapReport {
            summary: OverlapSummary::of(&cores),
            kinds: kinds::kinds(&transfers, &times),
            sums_over: SumOver::of(cx, cores.len()),
            cores,
            times,
            transfers,
        })
    }
}

pub use cores::{CoreTraffic, Partition, partition};
pub use report::{CoreOverlap, HiddenBy, KindTotal, OverlapReport, OverlapSummary, Skew, Transfer};

#[cfg(test)]
pub(crate) mod tests;
