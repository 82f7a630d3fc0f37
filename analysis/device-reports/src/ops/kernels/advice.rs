//! Advice on what the report on kernels found.

use facts::prelude::*;

use super::declared::DeclaredCosts;
use super::report::Kernel;

/// Share of waiting for DMA from which a kernel is bound by memory.
const DMA_BOUND: Percent = Percent(30.0);
/// Share of stalls from which a hint is given.
const DMA_STALL: Percent = Percent(10.0);
/// Share of op time from which unknown costs make utilization doubtful.
const WORTH_COSTS: Percent = Percent(5.0);

/// Findings, with their remedies.
pub(super) fn hints(kernels: &[Kernel]) -> Vec<String> {
    let mut hints: Vec<String> = [
        DeclaredCosts::No,
        DeclaredCosts::Partly,
        DeclaredCosts::Impossible,
        DeclaredCosts::TooFew,
    ]
    .into_iter()
    .filter_map(|how| costs_hint(kernels, how))
    .collect();
    for kernel in kernels {
        let name = &kernel.kernel;
        let waiting = kernel
            .pipeline
            .as_ref()
            .and_then(|pipeline| pipeline.dma_wait_percent)
            .unwrap_or_default();
        if waiting >= DMA_BOUND {
            hints.push(format!(
                "{name} waits for DMA {waiting:.1} of its time: memory bound; larger blocks or more buffers hide more"
            ));
        }
        if let Some(stalled) = kernel
            .dma_stall_percent
            .filter(|&percent| percent >= DMA_STALL)
        {
            hints.push(format!("{name} is stalled on DMA {stalled:.1} of its time"));
        }
        if kernel.estimates.iter().any(|series| {
            matches!(series.series.as_str(), "Vector Spills" | "Vector Fills") && series.max > 0.0
        }) {
            hints.push(format!(
                "{name} spills vector registers to VMEM; smaller blocks need fewer registers"
            ));
        }
    }
    hints
}

/// One sentence about kernels with unusable costs that together take considerable time.
fn costs_hint(kernels: &[Kernel], declared: DeclaredCosts) -> Option<String> {
    const SHOWN: usize = 3;
    let declared_kernels: Vec<&Kernel> = kernels
        .iter()
        .filter(|kernel| kernel.declared == declared)
        // The compiler's own kernels declare nothing, and nobody can change that.
        .filter(|kernel| kernel.is_pallas || declared != DeclaredCosts::No)
        .collect();
    let shares = declared_kernels
        .iter()
        .filter_map(|kernel| kernel.of_op_time_percent);
    let of_op_time: Percent = shares.sum();
    let names: Vec<&str> = declared_kernels
        .iter()
        .take(SHOWN)
        .map(|kernel| kernel.kernel.as_str())
        .collect();
    let more = engine::and_more(declared_kernels.len() - names.len());
    let what = match declared {
        DeclaredCosts::Impossible => "declared costs are more than the device can do in that time",
        DeclaredCosts::TooFew => "declared operations are far fewer than these shapes need",
        DeclaredCosts::Partly => {
            "some of the ops declare no operations, so utilization as declared is unknown"
        }
        _ => "no operations are declared, so utilization as declared is unknown",
    };
    let cure = match declared {
        DeclaredCosts::Impossible | DeclaredCosts::TooFew => "correct its",
        _ => "give pallas_call a",
    };
    let names_of = names.join(", ");
    (of_op_time >= WORTH_COSTS).then(|| {
        format!(
            "{what}: {names_of}{more} ({of_op_time:.1} of op time); {cure} \
             cost_estimate=pl.CostEstimate(flops=…, bytes_accessed=…)"
        )
    })
}
