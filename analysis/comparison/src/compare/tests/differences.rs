//! In what two runs differ, and how much that matters.

use super::{CompareOptions, compare, summary};
use crate::compare::comparable::{IDS, differences};
use crate::compare::summary::{HealthFact, ProgramFacts, SummaryFacts};
use crate::compare::{RunDifference, Summary, Weight};

fn run(device_type: Option<&str>, devices: usize) -> Summary {
    let facts = SummaryFacts {
        device_type: device_type.map(str::to_owned),
        devices,
        ..SummaryFacts::default()
    };
    Summary {
        facts,
        ..Summary::default()
    }
}

fn weights(base: &Summary, cand: &Summary, require: &[&str]) -> Vec<(&'static str, Weight)> {
    let require: Vec<String> = require.iter().map(|&id| id.to_owned()).collect();
    differences(base, cand, &require)
        .into_iter()
        .map(|found| (found.id, found.weight))
        .collect()
}

#[test]
fn other_chip_is_not_comparable_and_unknown_chip_is_a_note() {
    let (v5e, v6e) = (run(Some("TPU v5 Lite"), 4), run(Some("TPU v6 Lite"), 4));
    assert_eq!(weights(&v5e, &v5e, &[]), []);
    assert_eq!(
        weights(&v5e, &v6e, &[]),
        [("device_type", Weight::Incomparable)]
    );
    assert_eq!(
        weights(&v5e, &run(None, 4), &[]),
        [("device_type", Weight::Note)]
    );
    assert_eq!(
        weights(&v5e, &run(None, 4), &["device_type"]),
        [("device_type", Weight::Incomparable)]
    );
    assert_eq!(
        weights(&v5e, &run(Some("TPU v5 Lite"), 8), &[]),
        [("device_count", Weight::Incomparable)]
    );
}

#[test]
fn other_chips_models_and_step_counts_are_other_work() {
    let steps = |counted: usize| {
        let mut run = run(Some("TPU v5 Lite"), 4);
        run.steps.counted = counted;
        run
    };
    let is_other = |base: &Summary, cand: &Summary| {
        differences(base, cand, &[])
            .iter()
            .any(RunDifference::is_other_work)
    };
    assert!(is_other(&steps(20), &run(Some("TPU v6 Lite"), 4)));
    assert!(is_other(&steps(20), &run(Some("TPU v5 Lite"), 8)));
    assert!(is_other(&steps(20), &steps(12)));
    // Captures of the same time differ by a step or two.
    assert!(!is_other(&steps(20), &steps(19)));
    // A faster run has more steps in captures of the same time.
    let timed = |counted: usize, ms: f64| {
        let mut run = steps(counted);
        run.steps.middle_ps = ms * 1e9;
        run
    };
    assert!(!is_other(&timed(20, 10.0), &timed(25, 8.0)));
    assert!(is_other(&timed(20, 10.0), &timed(40, 8.0)));
    let mut recorded = steps(20);
    (recorded.facts.formats, recorded.facts.lost) = (vec!["xplane".to_owned()], 3);
    assert!(!is_other(&steps(20), &recorded));
}

#[test]
fn every_difference_can_be_required_by_name() {
    let mut other = run(Some("x"), 2);
    other.steps.source = "modules".to_owned();
    other.steps.counted = 9;
    other.facts.hosts = 2;
    other.facts.topology = Some("2x2".to_owned());
    other.facts.lost = 4;
    other.facts.formats = vec!["xplane".to_owned()];
    let found = weights(&run(Some("y"), 4), &other, &[]);
    assert!(found.len() >= 7, "{found:?}");
    assert!(found.iter().all(|(id, _)| IDS.contains(id)), "{found:?}");
}

/// A device that runs less of the loop did less work, however long a step takes on the others.
#[test]
fn a_device_that_runs_fewer_steps_is_a_difference() {
    let steps = |of_devices: Option<[usize; 2]>| {
        let mut run = run(Some("TPU v6 Lite"), 4);
        run.facts.device_steps = of_devices;
        run
    };
    let found = |base, cand| weights(&steps(base), &steps(cand), &[]);
    assert_eq!(
        found(Some([1, 19]), Some([9, 19])),
        [("device_steps", Weight::Care)]
    );
    assert_eq!(found(Some([9, 9]), Some([19, 19])), []);
    assert_eq!(found(Some([18, 19]), Some([19, 19])), []);
    assert_eq!(found(None, Some([9, 19])), []);
}

/// Eight steps of four devices: one works `own` columns, the others 4, and wait for it in a collective of at least one.
fn of_four(slow: usize, own: usize, cut: bool) -> Summary {
    let ops = |works: usize| {
        // The same work as one op, or as two.
        let work = if cut {
            format!("m{}", "n".repeat(works - 1))
        } else {
            "m".repeat(works)
        };
        format!("{work}{}", "r".repeat(own + 1 - works)).repeat(8)
    };
    let steps: String = (0..8)
        .map(|step: usize| step.to_string().repeat(own + 1))
        .collect();
    let device = |nth: usize| {
        let works = if nth == slow { own } else { 4 };
        format!("TPU:{nth} steps: {steps}\nTPU:{nth} ops: {}\n", ops(works))
    };
    let legend = "
        m = fusion.1 [convolution fusion] source=a.py:1
        n = fusion.2 [convolution fusion] source=a.py:1
        r = all-reduce.1 [all-reduce] source=a.py:9
        ";
    let devices: String = (0..4).map(device).collect();
    summary(&format!("@column 1ms\n{devices}{legend}"))
}

/// Whichever device became slower, and in however many ops it works: the others wait for it, and it is not their waiting
/// that is to blame.
#[test]
fn a_slower_device_is_not_the_waiting_of_the_others() {
    for (slow, cut) in [(0, false), (2, false), (3, true)] {
        let sides = [of_four(slow, 4, cut), of_four(slow, 6, cut)];
        let compared = compare(&sides[..1], &sides[1..], &CompareOptions::default());
        let brief = compared.brief;
        let conclusion = brief.conclusion.unwrap_or_default();
        assert!(
            conclusion.starts_with("2.000 ms more in matrix products"),
            "{conclusion}"
        );
        let straggler = format!(
            "straggling device (none ↔ /device:TPU:{slow} (50.0 % more work than the median device))"
        );
        let differ = brief.differ.unwrap_or_default();
        assert!(differ.contains(&straggler), "{differ}");
    }
    // A collective that takes longer on all of them is to blame itself.
    let nobody = 4;
    let sides = [4, 6].map(|own| of_four(nobody, own, false));
    let compared = compare(&sides[..1], &sides[1..], &CompareOptions::default());
    let conclusion = compared.brief.conclusion.unwrap_or_default();
    assert!(
        conclusion.starts_with("2.000 ms more waiting for communication"),
        "{conclusion}"
    );
    assert_eq!(compared.brief.differ, None);
}

/// The same program of which other ops ran has the same fingerprint.
#[test]
fn other_ops_of_a_program_are_no_other_fingerprint() {
    let with = |id: &str, ops: usize| {
        let mut run = run(Some("TPU v6 Lite"), 4);
        run.facts.programs = vec![ProgramFacts {
            name: "jit_step".to_owned(),
            id: Some(id.to_owned()),
            ops,
            ..ProgramFacts::default()
        }];
        run
    };
    let titles = |base: &Summary, cand: &Summary| -> Vec<&str> {
        let found = differences(base, cand, &[]);
        found.iter().map(|found| found.title).collect()
    };
    assert_eq!(
        titles(&with("7", 6), &with("7", 60)),
        ["Ops of the program that ran"]
    );
    assert_eq!(
        titles(&with("7", 6), &with("8", 6)),
        ["Program fingerprint"]
    );
}

/// Codes alone say nothing: what only one capture has is named.
#[test]
fn health_names_what_only_one_capture_has() {
    let with = |ids: &[&str]| {
        let mut run = run(Some("TPU v6 Lite"), 4);
        let fact = |id: &&str| HealthFact {
            id: (*id).to_owned(),
            severity: "warning".to_owned(),
            message: "Steps are not recorded.".to_owned(),
        };
        run.facts.health = ids.iter().map(fact).collect();
        run
    };
    let said = |base: &[&str], cand: &[&str]| {
        let found = differences(&with(base), &with(cand), &[]);
        let health = found.into_iter().find(|found| found.id == "health")?;
        Some((health.base, health.cand))
    };
    let pair = |base: &str, cand: &str| Some((base.to_owned(), cand.to_owned()));
    let steps = "Q03: Steps are not recorded";
    assert_eq!(said(&[], &["Q03"]), pair("clean", steps));
    assert_eq!(said(&["Q10", "Q03"], &["Q10"]), pair(steps, "nothing else"));
    assert_eq!(said(&["Q10"], &["Q10"]), None);
}
