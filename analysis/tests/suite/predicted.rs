//! What a simulator predicted beside what was measured, of a program with known ratios.
#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::path::Path;

use analysis::compare::{
    CompareOptions, Comparison, MatchedBy, PredictionError, Summary, Weight, compare,
};

use analysis::{Context, Options, ReportCache, Scope, Tabular as _};
use importers::{ImportOptions, Progress};
use sample_traces::prediction;

fn summary(name: &str) -> Summary {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../assets/samples")
        .join(name);
    let model =
        importers::import_path(&path, &ImportOptions::default(), &Progress::default()).unwrap();
    let (options, reports) = (Options::default(), ReportCache::default());
    Summary::of(&Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    })
    .unwrap()
}

fn predicted() -> Summary {
    summary("synthetic_v5e_layer_predicted.txt")
}

fn measured() -> Summary {
    summary("synthetic_v5e_layer_measured.xplane.pb")
}

fn both(base: Summary, cand: Summary) -> Comparison {
    compare(&[base], &[cand], &CompareOptions::default())
}

#[test]
fn every_op_has_its_planted_ratio() {
    let comparison = both(predicted(), measured());
    assert!(comparison.is_comparable, "{}", comparison.statement);
    let prediction = comparison.prediction.as_ref().unwrap();
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
    for op in prediction::ops() {
        let found = prediction
            .ops
            .iter()
            .find(|found| found.name == op.name)
            .unwrap();
        let (predicted_ps, measured_ps) =
            (op.predicted_ps.map(|ps| ps as f64), op.measured_ps as f64);
        assert_eq!(found.predicted_ps, predicted_ps, "{}", op.name);
        assert_eq!(found.measured_ps, Some(measured_ps), "{}", op.name);
        assert_eq!(found.how.is_some(), predicted_ps.is_some(), "{}", op.name);
        if let (Some(ratio), Some(predicted_ps)) = (found.ratio, predicted_ps) {
            assert!(
                close(ratio, measured_ps / predicted_ps),
                "{}: {ratio}",
                op.name
            );
            assert!(
                matches!(
                    found.how,
                    Some(MatchedBy::SameProgram | MatchedBy::Same | MatchedBy::SameName)
                ),
                "{found:?}"
            );
        }
    }
    let sum = |of: &dyn Fn(&prediction::OpAndPrediction) -> i64| {
        prediction::ops().iter().map(of).sum::<i64>() as f64
    };
    let (predicted_ps, measured_ps) = (
        sum(&|op| op.predicted_ps.unwrap_or(0)),
        sum(&|op| op.measured_ps),
    );
    assert_eq!(
        (prediction.predicted_ps, prediction.measured_ps),
        (predicted_ps, measured_ps)
    );
    assert!(close(prediction.ratio.unwrap(), measured_ps / predicted_ps));
    assert!(close(
        prediction.error_percent.unwrap().0,
        100.0 * (predicted_ps - measured_ps) / measured_ps
    ));
    let off = sum(&|op| (op.measured_ps - op.predicted_ps.unwrap_or(0)).abs());
    assert!(close(
        prediction.op_error_percent.unwrap().0,
        100.0 * off / measured_ps
    ));
}

#[test]
fn unlisted_ops_count_as_one_and_error_is_a_lower_bound() {
    let whole = both(predicted(), measured()).prediction.unwrap();
    assert!(!whole.op_error_is_at_least);
    let cut = both(predicted(), measured().shortened(2, 20))
        .prediction
        .unwrap();
    let (all, least) = (
        whole.op_error_percent.unwrap().0,
        cut.op_error_percent.unwrap().0,
    );
    assert!(cut.op_error_is_at_least && least <= all, "{least} of {all}");
    assert!(
        cut.statement().contains("are off by at least"),
        "{}",
        cut.statement()
    );
    // The measured time of all of them is what the error is of, listed or not.
    let sum = |prediction: &PredictionError| {
        prediction
            .ops
            .iter()
            .filter_map(|op| op.measured_ps)
            .sum::<f64>()
    };
    assert!(
        (sum(&cut) - sum(&whole)).abs() < 1.0,
        "{} of {}",
        sum(&cut),
        sum(&whole)
    );
    // The model lists everything: of what it does not have it says nothing, not zero.
    let others = cut.ops.iter().filter(|op| op.name.contains("not listed"));
    assert!(others.clone().count() > 0 && others.clone().all(|op| op.predicted_ps != Some(0.0)));
}

#[test]
fn ops_are_sorted_from_optimistic_to_pessimistic() {
    let prediction = both(predicted(), measured()).prediction.unwrap();
    let rows: Vec<(&str, &str)> = prediction
        .ops
        .iter()
        .map(|op| (op.name.as_str(), op.verdict()))
        .collect();
    let expected = [
        ("all-reduce.1", "optimistic"),
        ("attention.1", "not predicted"),
        ("fusion.2", "optimistic"),
        ("fusion.1", "close"),
        ("fusion.3", "close"),
        ("copy-done.1", "not predicted"),
        ("fusion.4", "pessimistic"),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn headline_is_about_the_cost_model() {
    let comparison = both(predicted(), measured());
    let expected = "XLA's cost model predicts 1.878 ms per step, measured are 2.277 ms: measured ÷ predicted is 1.213, \
                    total error -17.6 % of the measured step";
    assert!(
        comparison.statement.starts_with(expected),
        "{}",
        comparison.statement
    );
    assert!(
        comparison
            .statement
            .contains("most optimistic at all-reduce.1 +113.4 µs (× 1.40)"),
        "{}",
        comparison.statement
    );
    assert!(
        !comparison.statement.contains("slower"),
        "{}",
        comparison.statement
    );
    let tables: Vec<&str> = comparison.tables().iter().map(|table| table.id).collect();
    assert_eq!(tables[..2], ["differences", "prediction"]);
    assert!(
        !tables.contains(&"ops") && !tables.contains(&"attribution"),
        "{tables:?}"
    );
}

/// Whichever side is named first: the prediction is the simulated one.
#[test]
fn order_of_sides_does_not_matter() {
    let (first, second) = (both(predicted(), measured()), both(measured(), predicted()));
    let (mut first, second) = (first.prediction.unwrap(), second.prediction.unwrap());
    assert!(first.is_base && !second.is_base);
    first.is_base = false;
    assert_eq!(first.ratio, second.ratio);
    assert_eq!(first.ops, second.ops);
}

#[test]
fn two_predictions_or_two_measurements_compare_normally() {
    for side in [predicted, measured] {
        let comparison = both(side(), side());
        assert!(comparison.prediction.is_none() && comparison.is_comparable);
        assert!(
            comparison
                .differences
                .iter()
                .all(|found| found.id != "simulator")
        );
    }
}

#[test]
fn simulated_device_represents_all_devices_of_the_same_chip() {
    let differences = |other: Summary| both(predicted(), other).differences;
    let found = differences(measured());
    let weight = |id: &str| {
        found
            .iter()
            .find(|found| found.id == id)
            .map(|found| found.weight)
    };
    assert_eq!(
        (weight("device_count"), weight("device_type")),
        (Some(Weight::Care), Some(Weight::Note))
    );
    assert_eq!(weight("simulator"), Some(Weight::Note));
    let mut other = measured();
    other.facts.device_type = Some("TPU v6 Lite".to_owned());
    let comparison = both(predicted(), other);
    assert!(
        !comparison.is_comparable && comparison.prediction.is_none(),
        "{}",
        comparison.statement
    );
}
