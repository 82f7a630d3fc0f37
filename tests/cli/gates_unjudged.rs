//! Runs that gates could not judge: every output says so, and the reason once.

use crate::gates::place_with_runs;
use crate::place::{Place, corpus, json, stderr, stdout};

#[test]
fn no_output_says_that_a_run_of_other_work_passed() {
    let place = place_with_runs();
    place.write(
        "systole.toml",
        b"[[budget]]\nmetric = \"step.time_ms\"\nmax = 1000\n\
          [[regression]]\nmetric = \"step.time_ms\"\nmax_increase_pct = 5\n\
          [[regression]]\nmetric = \"step.time_ms\"\naggregate = \"p90\"\nmax_increase_pct = 5\n\
          [[regression]]\nmetric = \"op.time_ms_per_step\"\nop = \"fusion*\"\nmax_increase_pct = 5\n",
    );
    let judged = ["--budget", "systole.toml", "--strict"];
    let analyze = ["analyze", "more.xplane.pb", "--baseline", "base.xplane.pb"];
    let compare = ["compare", "base.xplane.pb", "more.xplane.pb"];
    let reason = "not the same work: the runs differ in devices (2 against 4)";
    for command in [&analyze[..], &compare] {
        let args = [command, &judged].concat();
        let written = [&args[..], &["--format", "md", "-o", "sarif=s.sarif"]].concat();
        let output = place.run(&written);
        assert_eq!(output.status.code(), Some(11), "{command:?}");
        let markdown = stdout(&output);
        let headline = "## ❔ Inconclusive: 4 gates: 3 inconclusive (not the same work), 1 passed";
        assert!(markdown.contains(headline), "{markdown}");
        assert!(!markdown.contains("✅ Passed"), "{markdown}");
        let said = stderr(&output);
        let three = "3 gates (op.time_ms_per_step of fusion*, step.time_ms (p90), step.time_ms): ";
        assert!(said.contains(&format!("{three}{reason}")), "{said}");
        assert_eq!(said.matches(reason).count(), 1, "{said}");
        let sarif = json(&place.read("s.sarif"));
        let results = sarif["runs"][0]["results"].as_array().unwrap();
        let notes = results
            .iter()
            .filter(|result| result["ruleId"] == "inconclusive" && result["level"] == "note");
        assert_eq!(notes.count(), 1, "{results:#?}");
        // On the screen the comparison says what differs.
        let output = place.run(&args);
        let text = stdout(&output).split_whitespace().collect::<Vec<_>>();
        let text = text.join(" ");
        assert!(
            text.contains(&format!("{three}not the same work ")),
            "{text}"
        );
        let differs = text.to_lowercase().matches("the runs differ in").count();
        assert_eq!(differs, 1, "{text}");
    }
}

#[test]
fn a_gate_on_ops_names_them_and_small_numbers_have_no_exponent() {
    let place = place_with_runs();
    place.write(
        "systole.toml",
        b"[[budget]]\nmetric = \"op.time_ms_per_step\"\nop = \"fusion*\"\nmax = 0.002\n",
    );
    let args = ["analyze", "base.xplane.pb", "--budget", "systole.toml"];
    let output = place.run(&[&args[..], &["-o", "junit=j.xml"]].concat());
    assert_eq!(output.status.code(), Some(10));
    for text in [stderr(&output), place.read("j.xml")] {
        assert!(
            text.contains("op.time_ms_per_step of fusion* is "),
            "{text}"
        );
        assert!(text.contains("allowed at most 0.002 ms"), "{text}");
    }
}

/// The first 12,000 bytes hold the ops of the device, not its facts and not the host.
#[test]
fn a_file_that_was_cut_off_is_a_loss_and_no_other_chip() {
    let Some(corpus) = corpus() else { return };
    let place = Place::empty();
    let whole = std::fs::read(corpus.join("planted/base_v6e.xplane.pb")).unwrap();
    place.write("base.xplane.pb", &whole);
    place.write("cut.xplane.pb", &whole[..12_000]);
    place.write(
        "systole.toml",
        b"[comparable]\nrequire = [\"device_type\"]\n[[regression]]\nmetric = \"step.time_ms\"\nmax_increase_pct = 5\n",
    );
    let baseline = ["--baseline", "base.xplane.pb", "--budget", "systole.toml"];
    let output = place.run(&[&["analyze", "cut.xplane.pb"][..], &baseline].concat());
    let text = stdout(&output).split_whitespace().collect::<Vec<_>>();
    let text = text.join(" ");
    for said in [
        "The capture of the run is incomplete, 1 event or file was lost on import: the runs differ in",
        "Copy the whole file, or capture again.",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    for wrong in ["the same work", "lax.scan", "nothing recorded on the host"] {
        assert!(!text.contains(wrong), "{wrong}: {text}");
    }
}

const BUDGETS: &[u8] = b"[[budget]]\nmetric = \"step.time_ms\"\nmax = 11\n\
    [[regression]]\nmetric = \"step.time_ms\"\nmax_increase_pct = 5\n";

/// A history that is kept is the baseline as soon as it can be, so that the same command is for the first run, too.
#[test]
fn a_history_without_a_run_to_compare_with_is_begun() {
    let place = Place::empty()
        .with("good.pb", 7.0)
        .with("alike.pb", 7.01)
        .with("slow.pb", 9.0);
    place.write("systole.toml", BUDGETS);
    let judged = |run: &str, baseline: &str| {
        let gates = ["--budget", "systole.toml", "--baseline", baseline];
        let output = place.run(&[&["analyze", run, "--history", "h.jsonl"], &gates[..]].concat());
        (output.status.code().unwrap(), stderr(&output))
    };
    let begins = |(code, said): (i32, String), expected: i32| {
        assert_eq!(code, expected, "{said}");
        assert!(
            said.contains("no other run of this history passed"),
            "{said}"
        );
    };
    // Another file that is missing is an error.
    assert_eq!(judged("good.pb", "other.jsonl").0, 3);
    begins(judged("slow.pb", "h.jsonl"), 10);
    begins(judged("good.pb", "./h.jsonl"), 0);
    let (code, said) = judged("alike.pb", "h.jsonl");
    assert_eq!((code, said.as_str()), (0, ""));
    let gates: Vec<_> = place
        .read("h.jsonl")
        .lines()
        .map(|line| json(line)["gates"].clone())
        .collect();
    assert_eq!(gates.len(), 3, "each run is appended");
    let is_judged = gates
        .iter()
        .map(|gates| gates.to_string().contains("inconclusive"));
    assert_eq!(is_judged.collect::<Vec<_>>(), [true, true, false]);
    // What is no history of this command must have a run.
    place.write(
        "failed.jsonl",
        place.read("h.jsonl").lines().next().unwrap().as_bytes(),
    );
    assert_eq!(judged("good.pb", "failed.jsonl").0, 4);
}

/// To judge a run again by the history that has it shows no smaller change.
#[test]
fn a_run_is_no_baseline_of_itself() {
    let mut place = Place::empty();
    for at in 0..6 {
        place = place.with(&format!("{at}.pb"), 7.0 + 0.01 * f64::from(at));
    }
    let place = place.with("slow.pb", 7.3);
    for at in 0..6 {
        place.run(&["analyze", &format!("{at}.pb"), "--history", "h.jsonl"]);
    }
    let judged = || {
        let kept = ["--baseline", "h.jsonl", "--history", "h.jsonl"];
        let args = [&["analyze", "slow.pb", "--format", "json"], &kept[..]].concat();
        json(stdout(&place.run(&args)))["comparison"].clone()
    };
    let first = judged();
    assert_eq!(first["base"]["runs"].as_array().unwrap().len(), 5);
    for _ in 0..5 {
        assert_eq!(judged(), first);
    }
}
