//! Rules about kernels: what their costs claim, and why nothing is shown inside them.

use device_reports::ops::kernels::{DeclaredCosts, Kernel, Kernels};
use engine::{Context, Percent};
use trace_model::{Severity, TrackKind};

use super::finding::CaptureFinding;

/// Maximum number of kernels that are named as evidence.
const NAMED: usize = 3;
/// Share of op time from which kernels with wrong costs make utilizations doubtful.
const DOUBTFUL: Percent = Percent(1.0);

/// Kernels that declare the costs of one block for the whole grid.
pub(super) fn too_few_operations(cx: &Context<'_>) -> Option<CaptureFinding> {
    let report = cx.report::<Kernels>().ok()?;
    let wrong: Vec<_> = report
        .kernels
        .iter()
        .filter(|kernel| kernel.declared == DeclaredCosts::TooFew)
        .collect();
    let share: Percent = wrong
        .iter()
        .filter_map(|kernel| kernel.of_op_time_percent)
        .sum();
    let named: Vec<String> = wrong
        .iter()
        .take(NAMED)
        .filter_map(|kernel| {
            let factor = kernel.needed_flops? as f64 / kernel.flops? as f64;
            let steps = kernel
                .pipeline
                .as_ref()
                .and_then(|pipeline| pipeline.grid_steps);
            let grid = steps.map_or(String::new(), |steps| {
                format!(", its grid has {steps:.0} steps")
            });
            Some(format!(
                "{}: its shapes need {factor:.1} times as many{grid}",
                engine::shortened(&kernel.kernel, 48)
            ))
        })
        .collect();
    (share >= DOUBTFUL).then(|| CaptureFinding {
        id: "Q16",
        name: "too-few-operations",
        severity: Severity::Warning,
        message:
            "Kernels declare fewer operations than their shapes need: utilizations are too low."
                .to_owned(),
        evidence: format!("{share:.1} of op time; {}", named.join("; ")),
        cure: "Give pallas_call a cost_estimate of all steps of the grid, not of one block.",
    })
}

/// Share of op time from which it matters what kernels do inside.
const WORTH_TRACING: Percent = Percent(1.0);

/// Kernels of Pallas whose stages or LLO rows are empty: which flag was missing follows from what is there.
pub(super) fn untraced_kernels(cx: &Context<'_>) -> Option<CaptureFinding> {
    if cx.model.simulator().is_some() {
        return None;
    }
    let report = cx.report::<Kernels>().ok()?;
    let kernels: Vec<&Kernel> = report
        .kernels
        .iter()
        .filter(|kernel| kernel.is_pallas)
        .collect();
    let share: Percent = kernels
        .iter()
        .filter_map(|kernel| kernel.of_op_time_percent)
        .sum();
    if share < WORTH_TRACING {
        return None;
    }
    let has_stages = kernels.iter().any(|kernel| kernel.pipeline.is_some());
    let has_schedule = kernels
        .iter()
        .any(|kernel| !kernel.estimates.is_empty() || !kernel.lines.is_empty());
    let markers = markers(cx);
    let (message, cure) = match (has_stages, has_schedule) {
        (true, true) => return None,
        (false, false) => (
            "Kernels were not traced: their stages and LLO rows are empty.",
            "Start the program with LIBTPU_INIT_ARGS=\"--xla_xprof_enable_custom_call_tracing=true \
             --xla_xprof_register_llo_debug_info=true\" (before libtpu 0.0.44 the first is \
             --xla_enable_custom_call_region_trace=true), and open the .xplane.pb.",
        ),
        (true, false) => (
            "LLO rows are empty: the capture does not know the compiler's schedule of kernels.",
            "Start the program with LIBTPU_INIT_ARGS=\"--xla_xprof_register_llo_debug_info=true\" as well, and open the \
             .xplane.pb.",
        ),
        (false, true) => (
            "The stages of kernels are not recorded.",
            "Start the program with LIBTPU_INIT_ARGS=\"--xla_xprof_enable_custom_call_tracing=true\" (before libtpu \
             0.0.44: --xla_enable_custom_call_region_trace=true).",
        ),
    };
    let (count, verb) = if kernels.len() == 1 {
        ("1 kernel".to_owned(), "takes")
    } else {
        (format!("{} kernels", kernels.len()), "take")
    };
    let yes = |is_there| if is_there { "yes" } else { "no" };
    Some(CaptureFinding {
        id: "Q17",
        name: "kernels-not-traced",
        // No number is wrong, some are missing.
        severity: Severity::Info,
        message: message.to_owned(),
        evidence: format!(
            "{count} {verb} {:.1} of op time; recorded of them: scopes {}, LLO series or lines {}, bundle markers {markers}",
            share,
            yes(has_stages),
            yes(has_schedule)
        ),
        cure,
    })
}

/// Markers of bundles, which the profiler turns into LLO rows where it knows the schedule.
fn markers(cx: &Context<'_>) -> usize {
    let cores = cx.tensor_cores().into_iter();
    cores
        .flat_map(|core| cx.model.slices_of_kind(core, TrackKind::LowLevel))
        .filter(|slice| slice.name().starts_with("bundle."))
        .count()
}
