//! Rules about kernels: what their costs claim, and why nothing is shown inside them.

use std::fmt::Write as _;

use device_reports::{DeclaredCosts, Kernel, Kernels};
use engine::Environment;
use facts::environment;
use facts::prelude::*;
use trace_model::Severity;

use super::finding::CaptureFinding;
use super::rows::{SCHEDULE, STAGES};

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
    let named = wrong.iter().take(NAMED).filter_map(|kernel| {
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
    });
    (share >= DOUBTFUL).then(|| CaptureFinding {
        id: "Q16",
        name: "too-few-operations",
        severity: Severity::Warning,
        message:
            "Kernels declare fewer operations than their shapes need: utilizations are too low."
                .to_owned(),
        evidence: format!("{share:.1} of op time; {}", joined(named, "; ")),
        cure: "Give pallas_call a cost_estimate of all steps of the grid, not of one block.",
    })
}

/// Versions of libtpu that are reported to leave LLO rows blank with all flags, the chip where it is named, and where that
/// is reported.
const BLANK: [(&str, &str, &str); 4] = [
    ("0.0.36", "", "openxla/xprof#2416"),
    ("0.0.37", "", "openxla/xprof#2416"),
    ("0.0.38", "", "openxla/xprof#2441"),
    ("0.0.44", "v4", "openxla/xprof#3014"),
];

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
    let known = environment(cx)
        .map(|known| known_of_tracing(&known, has_stages, has_schedule))
        .unwrap_or_default();
    let cure = if known.all_set {
        "The flags that record it were set when the program started, so they are not the cause: open the .xplane.pb of \
         the same start, else try another version of libtpu."
    } else {
        cure
    };
    Some(CaptureFinding {
        id: "Q17",
        name: "kernels-not-traced",
        // No number is wrong, some are missing.
        severity: Severity::Info,
        message: message.to_owned(),
        evidence: format!(
            "{count} {verb} {:.1} of op time; recorded of them: scopes {}, LLO series or lines {}, bundle markers {markers}{}",
            share,
            yes(has_stages),
            yes(has_schedule),
            known.said
        ),
        cure,
    })
}

/// What the environment of a run says of tracing.
#[derive(Default)]
struct KnownOfTracing {
    /// In words: flags, and versions that are reported to record nothing with them.
    said: String,
    /// Whether all flags for what is missing were set.
    all_set: bool,
}

fn known_of_tracing(
    environment: &Environment,
    has_stages: bool,
    has_schedule: bool,
) -> KnownOfTracing {
    let mut said = String::new();
    // `None` if the environment does not tell.
    let is_set = |names: &[&str]| -> Option<bool> {
        let value = |&name: &&str| environment.flags.as_ref()?.get(name);
        if let Some(value) = names.iter().find_map(value) {
            return Some(!["false", "0"].contains(&value.as_str()));
        }
        names
            .iter()
            .all(|name| environment.has_looked_for(&format!("flag.{name}")))
            .then_some(false)
    };
    let mut all_set = true;
    for (is_there, names) in [(has_stages, &STAGES[..]), (has_schedule, &SCHEDULE)] {
        if is_there {
            continue;
        }
        let set = is_set(names);
        all_set &= set == Some(true);
        if let Some(set) = set {
            let was = if set { "was" } else { "was not" };
            let _ = write!(said, "; --{} {was} set", names.join(" or --"));
        }
    }
    let version = environment
        .versions
        .as_ref()
        .and_then(|versions| versions.get("libtpu"));
    let chip = environment.chip.as_deref().unwrap_or_default();
    let blank = version
        .filter(|_| all_set && !has_schedule)
        .and_then(|version| {
            BLANK.iter().find(|(blank, of, _)| {
                let rest = version.strip_prefix(blank);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(".dev"))
                    && chip.contains(of)
            })
        });
    if let Some((version, _, issue)) = blank {
        let _ = write!(
            said,
            "; libtpu {version} is reported to leave LLO rows blank even so ({issue}): take another version"
        );
    }
    KnownOfTracing { said, all_set }
}

/// Markers of bundles, which the profiler turns into LLO rows where it knows the schedule.
fn markers(cx: &Context<'_>) -> usize {
    cx.tensor_cores()
        .into_iter()
        .flat_map(|core| cx.model.slices_of_kind(core, TrackKind::LowLevel))
        .filter(|slice| slice.name().starts_with("bundle."))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_versions_that_are_known_are_said() {
        let known = |text: &str, has_stages, has_schedule| {
            known_of_tracing(
                &Environment::read(text.as_bytes()),
                has_stages,
                has_schedule,
            )
        };
        let said =
            |text: &str, has_stages, has_schedule| known(text, has_stages, has_schedule).said;
        let both = r#"{"schema": "systole.run/1", "versions": {"libtpu": "0.0.37"}, "chip": "TPU v4", "flags": {
            "xla_enable_custom_call_region_trace": "true", "xla_xprof_register_llo_debug_info": "true"}}"#;
        let blank = "; --xla_xprof_register_llo_debug_info was set; libtpu 0.0.37 is reported to leave LLO rows blank even so (openxla/xprof#2416): take another version";
        assert_eq!(said(both, true, false), blank);
        assert!(known(both, false, false).all_set && !known("{}", false, false).all_set);
        let other = both.replace("0.0.37", "0.0.44");
        assert!(said(&other, true, false).contains("xprof#3014"));
        assert!(!said(&other.replace("TPU v4", "TPU v6 lite"), true, false).contains("blank"));
        let one = both.replace("xla_xprof_register_llo_debug_info", "xla_other");
        assert_eq!(
            said(&one, true, false),
            "; --xla_xprof_register_llo_debug_info was not set"
        );
        assert!(!known(&one, true, false).all_set);
        assert!(said(&one, false, true).ends_with("_trace was set"));
        assert_eq!(said(r#"{"schema": "systole.run/1"}"#, false, false), "");
    }
}
