//! Captures with planted causes: the advice is the planted one, however the program is cut into ops.
#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use analysis::Scope;
use analysis::hints::{Hint, HintSeverity, Hints, HintsReport};
use analysis::reports::summary::targets::{TargetColor, Targets};
use analysis::reports::summary::utilization::Utilization;
use analysis::reports::summary::verdict::Verdict;

use crate::capture::{Capture, corpus, open};

fn hints(capture: &Capture) -> HintsReport {
    capture.cx(Scope::WholeTrace).report::<Hints>().unwrap().as_ref().clone()
}

fn about_program(report: &HintsReport) -> Vec<&Hint> {
    report.hints.iter().filter(|hint| hint.severity != HintSeverity::Health).collect()
}

/// One program cut into 6 and into 60 ops, and decoding: what takes 90 % of the time comes first.
#[test]
fn planted_causes_are_found_in_programs_of_few_and_of_many_ops() {
    let cases = [
        // 18 of 20 ms at a fifth of the peak: four fifths of it can go.
        ("lowmxu", ["6", "60"], "K12", Some(0.72)),
        ("lowbw", ["6", "60"], "K14", Some(0.72)),
        // At 90 % of HBM only fewer bytes help.
        ("hbm90", ["6", "60"], "K13", None),
    ];
    for (name, cuts, id, share) in cases {
        let mut verdicts = Vec::new();
        for cut in cuts {
            let Some(capture) = open(&format!("planted/{name}_{cut}.xplane.pb")) else { return };
            let report = hints(&capture);
            let found = about_program(&report);
            let first = found.first().unwrap_or_else(|| panic!("{name}_{cut}: no hint"));
            assert_eq!(first.id, id, "{name}_{cut}");
            let saved = first.saving_ps.map(|saving| saving as f64 / report.step_ps);
            match (saved, share) {
                (Some(saved), Some(share)) => assert!((saved - share).abs() < 0.01, "{name}_{cut}: {saved}"),
                (saved, share) => assert_eq!(saved, share, "{name}_{cut}"),
            }
            verdicts.push(capture.cx(Scope::WholeTrace).report::<Verdict>().unwrap().statement.clone());
        }
        assert_eq!(verdicts[0], verdicts[1], "{name}");
    }
}

#[test]
fn memory_bound_decoding_is_told_to_move_fewer_bytes() {
    for name in ["decode10", "decode_hbm92"] {
        let Some(capture) = open(&format!("planted/{name}.xplane.pb")) else { return };
        let report = hints(&capture);
        let ids: Vec<&str> = about_program(&report).iter().map(|hint| hint.id).collect();
        assert!(ids.iter().any(|id| ["K13", "K16"].contains(id)), "{name}: {ids:?}");
        assert!(!ids.iter().any(|id| ["K12", "K14"].contains(id)), "{name}: {ids:?}");
    }
}

/// Ops of unknown traffic take about 70 % of op time in both.
#[test]
fn hbm_of_a_part_is_a_lower_bound_and_not_judged() {
    for (name, chip) in [("planted/kernel70_unknown.xplane.pb", "v6e"), ("tpu/v7x_vllm_tp2_b.trace.json.gz", "v7x")] {
        let Some(mut capture) = open(name) else { return };
        capture.options.device_spec = Some(chip.to_owned());
        let cx = capture.cx(Scope::WholeTrace);
        let utilization = cx.report::<Utilization>().unwrap();
        let hbm = utilization.metric("hbm_util_window_percent").unwrap();
        let note = hbm.note.clone().unwrap_or_default();
        assert!(hbm.is_lower_bound && note.contains("a lower bound: ops of unknown traffic"), "{name}: {hbm:?}");
        let targets = cx.report::<Targets>().unwrap();
        for id in ["hbm", "mxu"] {
            let target = targets.targets.iter().find(|target| target.id == id).unwrap();
            assert!(matches!(target.light, TargetColor::NotJudged | TargetColor::Unknown), "{name}: {target:?}");
            assert!(!target.note.as_ref().unwrap().contains("needs more"), "{name}: {target:?}");
        }
        assert!(!targets.statement.contains("HBM"), "{name}: {}", targets.statement);
    }
}

/// Only HBM decides whether the tighter limit is known: here transfers are hidden, and all traffic is recorded.
#[test]
fn bound_of_another_target_does_not_leave_the_limits_unknown() {
    let Some(capture) = open("planted/base_v6e.xplane.pb") else { return };
    let targets = capture.cx(Scope::WholeTrace).report::<Targets>().unwrap();
    let target = |id: &str| targets.targets.iter().find(|target| target.id == id).unwrap();
    assert_eq!((target("mxu").light, target("hbm").light), (TargetColor::Amber, TargetColor::NotJudged));
    assert!(target("hbm").note.as_ref().unwrap().contains("more compute"), "{:?}", target("hbm"));
}

/// Every capture of the corpus and every sample.
fn all_captures() -> Vec<std::path::PathBuf> {
    let here = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![here.join("../assets/samples")];
    folders.extend(corpus().iter().flat_map(|corpus| ["planted", "tpu", "host"].map(|folder| corpus.join(folder))));
    let mut files: Vec<_> = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap()).collect();
    let paths = files.drain(..).map(|entry| entry.unwrap().path());
    let is_capture = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        path.is_dir() && name.starts_with("mh_") || name.ends_with(".xplane.pb") || name.ends_with(".trace.json.gz")
    };
    let mut paths: Vec<_> = paths.filter(is_capture).collect();
    paths.sort();
    paths
}

/// All hints together save at least as much as any of them, and a replay of what a hint changes saves what it says.
#[test]
fn savings_agree_with_each_other_and_with_their_replay() {
    let mut replayed = 0;
    for path in all_captures() {
        let capture = Capture::new(crate::capture::model_at(&path));
        let cx = capture.cx(Scope::WholeTrace);
        let Ok(report) = cx.report::<Hints>() else { continue };
        let path = path.display();
        let largest = report.hints.iter().filter_map(|hint| hint.saving_ps).max();
        if let Some(together) = report.combined_saving_ps {
            assert!(Some(together) >= largest, "{path}: {together} together, {largest:?} alone");
            assert!(together as f64 <= report.step_ps + 1.0, "{path}: {together} of {}", report.step_ps);
        }
        for hint in report.hints.iter().filter(|hint| !hint.changes.is_empty()) {
            let prediction = analysis::what_if::Replay::new(&cx).unwrap().with(&cx, &hint.changes).unwrap();
            let saved = match prediction.step {
                Some(step) => step.each_ps - step.predicted_each_ps,
                None => (prediction.window_ps - prediction.predicted_ps) as f64,
            };
            let said = hint.saving_ps.unwrap() as f64;
            assert!((saved - said).abs() <= 1e-4 * report.step_ps + 2.0, "{path}: {} {said} and {saved}", hint.id);
            replayed += 1;
        }
    }
    assert!(replayed > 0);
}
