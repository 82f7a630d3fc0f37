//! Comparisons of real captures.
#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use analysis::Scope;
use analysis::compare::{
    ChangeVerdict, CompareOptions, Comparison, MatchedBy, Summary, Weight, compare,
};
use analysis::facts::TimeUse;
use analysis::math::stats::median;
use analysis::reports::StepParts;

use crate::capture::open;

fn summary(name: &str) -> Option<Summary> {
    let capture = open(name)?;
    let cx = capture.cx(Scope::WholeTrace);
    let summary = Summary::of(&cx).unwrap();
    if let Ok(parts) = cx.report::<StepParts>() {
        agrees_with_parts(name, &summary, &parts);
    }
    Some(summary)
}

/// Ops, the rest and idle time of a summary are those of the step analysis.
fn agrees_with_parts(name: &str, summary: &Summary, parts: &analysis::reports::StepPartsReport) {
    // Captures of hosts alone have steps, but no parts of them.
    let Some(class) = parts.classes.first() else {
        return;
    };
    for part in &class.parts {
        let id = format!("step.{}", part.part.id());
        let median = summary
            .series(&id)
            .map_or(Some(0.0), |series| median(&series.values));
        assert_eq!(median, Some(part.median_ps), "{name} {id}");
    }
}

fn both(base: &str, cand: &str) -> Option<Comparison> {
    Some(compare(
        &[summary(base)?],
        &[summary(cand)?],
        &CompareOptions::default(),
    ))
}

const ALL: [&str; 8] = [
    "tpu/v5e_matmul.xplane.pb",
    "tpu/v5e_matmul.trace.json.gz",
    "tpu/v6e_x4_host_offload.xplane.pb",
    "tpu/v6e_x4_host_offload_steps_added.xplane.pb",
    "tpu/v7x_vllm_tp2_a.trace.json.gz",
    "tpu/v7x_vllm_tp2_b.trace.json.gz",
    "host/jax_cpu_transformer_recompiles.xplane.pb",
    "gpu/tf2_8xV100.xplane.pb",
];

#[test]
fn every_capture_equals_itself_and_its_saved_summary() {
    for name in ALL {
        let Some(run) = summary(name) else { return };
        let ops: f64 = run.ops.iter().map(|op| op.middle_ps).sum();
        let rest: f64 = run.rest.iter().map(|rest| rest.middle_ps).sum();
        if !run.ops.is_empty() {
            assert!(
                (ops + rest - run.steps.middle_ps).abs() < 1.0,
                "{name}: {ops} + {rest}"
            );
        }
        let saved = run.clone().shortened(50, 5).to_json().unwrap();
        for other in [run.clone(), Summary::from_json(&saved).unwrap()] {
            let compared = compare(
                std::slice::from_ref(&run),
                &[other],
                &CompareOptions::default(),
            );
            assert!(
                compared.is_comparable && compared.differences.is_empty(),
                "{name}: {:?}",
                compared.differences
            );
            let steady = |finding: ChangeVerdict| {
                !matches!(finding, ChangeVerdict::Changed | ChangeVerdict::OneSided)
            };
            assert!(
                compared
                    .steps
                    .iter()
                    .all(|series| series.change.change == Some(0.0)),
                "{name}"
            );
            assert!(
                compared
                    .ops
                    .iter()
                    .all(|op| op.change.change == Some(0.0) && steady(op.change.finding)),
                "{name}"
            );
            assert!(
                compared
                    .values
                    .iter()
                    .all(|value| value.number.change.change == Some(0.0)),
                "{name}"
            );
            let uses = compared.attribution.iter().flat_map(|one| &one.uses);
            assert!(
                uses.map(|one| one.times.change_ps.abs()).sum::<f64>() < 1.0,
                "{name}"
            );
            assert_eq!(compared.classes.len(), run.classes.len(), "{name}");
            let others = compared.classes.iter().flat_map(|class| &class.steps);
            assert!(
                others
                    .into_iter()
                    .all(|series| series.change.change == Some(0.0)),
                "{name}"
            );
        }
    }
}

#[test]
fn both_formats_of_one_session_are_equal() {
    let Some(compared) = both("tpu/v5e_matmul.trace.json.gz", "tpu/v5e_matmul.xplane.pb") else {
        return;
    };
    assert!(
        compared
            .differences
            .iter()
            .all(|found| found.weight == Weight::Note),
        "{:?}",
        compared.differences
    );
    assert!(
        compared
            .steps
            .iter()
            .all(|series| series.change.change == Some(0.0)),
        "{:?}",
        compared.steps
    );
    assert_eq!(compared.ops.len(), 6);
    assert!(
        compared
            .ops
            .iter()
            .all(|op| op.how == Some(MatchedBy::SameProgram) && op.change.change == Some(0.0))
    );
}

#[test]
fn quantized_model_is_a_different_program() {
    let Some(compared) = both(
        "tpu/v7x_vllm_tp2_a.trace.json.gz",
        "tpu/v7x_vllm_tp2_b.trace.json.gz",
    ) else {
        return;
    };
    let shapes = compared
        .differences
        .iter()
        .find(|found| found.id == "shapes")
        .unwrap();
    assert_eq!(shapes.weight, Weight::OtherWork);
    let attribution = compared.attribution.unwrap();
    assert!(
        (attribution.change_ps / 1e9 + 1.417).abs() < 0.001,
        "{}",
        attribution.change_ps
    );
    let sum: f64 = attribution.uses.iter().map(|one| one.times.change_ps).sum();
    assert!((sum - attribution.change_ps).abs() < 1.0);
    // Matrices moved from XLA's fusions into kernels; the attention kernel has other blocks.
    let of = |id: TimeUse| attribution.uses.iter().find(|one| one.id == id).unwrap();
    let products = of(TimeUse::MatMul);
    assert!(
        (products.times.base_ps / 1e9 - 41.97).abs() < 0.01,
        "{products:?}"
    );
    assert!(
        (products.times.cand_ps / 1e9 - 25.20).abs() < 0.01,
        "{products:?}"
    );
    let names: Vec<&str> = products
        .groups
        .iter()
        .map(|group| group.name.as_str())
        .collect();
    assert_eq!(
        names[..2],
        ["XLA bf16 fusions", "quantized_matmul f4e2m1fn"]
    );
    // The all-reduces are called `psum` in one of them.
    let waiting = of(TimeUse::Collective).groups.iter();
    let reduced =
        waiting.filter(|group| group.name.contains("reduce") || group.name.contains("psum"));
    assert_eq!(reduced.count(), 1);
    let brief = &compared.brief;
    assert_eq!(
        brief.conclusion.as_deref(),
        Some(
            "4-bit weights (f4e2m1fn for bf16) save 16.77 ms of matrix products; 15.35 ms come back elsewhere, most in \
             element-wise work (aten::mul.Tensor/mul mostly at jaten.py:334, +4.688 ms)"
        )
    );
    assert!(
        brief
            .differ
            .as_ref()
            .unwrap()
            .contains("model file (qwen2.py ↔ qwen3.py)")
    );
    let attention = compared
        .ops
        .iter()
        .filter(|op| op.how == Some(MatchedBy::Retuned))
        .count();
    assert!(attention >= 64, "{attention}");
    assert_eq!(compared.steps[0].change.finding, ChangeVerdict::Untested);
}
