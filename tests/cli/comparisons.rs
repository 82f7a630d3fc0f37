//! What a comparison says first, of runs with known answers, in every format.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::path::{Path, PathBuf};

use analysis::compare::{CompareOptions, Summary, compare};
use sample_traces::fleet::FleetSpec;
use sample_traces::write::xspace_bytes;
use trace_model::Picos;

use crate::place::{Place, corpus, stderr, stdout};

fn sample(name: &str) -> String {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/samples");
    samples
        .join(format!("synthetic_v5e_8chip_{name}.xplane.pb"))
        .to_str()
        .unwrap()
        .to_owned()
}

fn real(name: &str) -> Option<String> {
    let path: PathBuf = corpus()?.join(name);
    Some(path.to_str().unwrap().to_owned())
}

/// The exit code and the output without its line breaks.
fn compared(args: &[&str]) -> (i32, String) {
    let output = Place::empty().run(&[&["compare"], args].concat());
    (
        output.status.code().unwrap(),
        stdout(&output)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
    )
}

/// A run that is given again, by another name or as its summary, is no second run.
#[test]
fn the_same_capture_given_twice_counts_once() {
    let (place, base, cand) = (Place::empty(), sample("serial"), sample("overlap"));
    place.write("copy.xplane.pb", &fs::read(&base).unwrap());
    place.run(&["summarize", &base, "-o", "saved.json"]);
    for again in [base.as_str(), "copy.xplane.pb", "saved.json"] {
        let args = ["compare", &base, &cand, "--base", again];
        let output = place.run(&[&args[..], &["--format", "json"]].concat());
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["base"]["runs"].as_array().unwrap().len(), 1, "{again}");
        assert_eq!(json["base"]["steps"], 4);
        let notes = json["notes"].to_string();
        let said = stderr(&output).replace('\n', " ");
        for text in [&notes, &said] {
            assert!(text.contains(" once"), "{text}");
        }
    }
    // Another run is one, and a run is no evidence against itself.
    let output = place.run(&["compare", "--base", &base, "--base", &cand, "--cand", &cand]);
    assert!(stdout(&output).contains("8 steady steps"));
    assert_eq!(stderr(&output).matches("is on both sides").count(), 1);
    let output = place.run(&["compare", "saved.json", &base]);
    assert!(output.stderr.is_empty(), "asked for on purpose");
    let run = |name: &str| format!("runs/plugins/profile/{name}/host.xplane.pb");
    place.write(&run("a"), &fs::read(&base).unwrap());
    place.write(&run("b"), &fs::read(&cand).unwrap());
    let output = place.run(&[
        "compare",
        "--base",
        "runs",
        "--cand",
        "runs/plugins/profile/b",
    ]);
    assert_eq!(stderr(&output).matches("is on both sides").count(), 1);
}

/// Of two traces, the one that lacks the steps is named.
#[test]
fn steps_that_one_side_lacks_are_missing_in_a_named_trace() {
    let (place, base, cand) = (Place::empty(), sample("serial"), sample("overlap"));
    let output = place.run(&["compare", &base, &cand, "--steps", "50..60"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(
        said.contains("--steps: the trace has steps 0 to 3: ") && said.contains(&base),
        "{said}"
    );
}

/// To analyze a run again tells nothing about how much runs differ.
#[test]
fn a_capture_that_a_history_has_thrice_is_one_run_of_the_baseline() {
    let (place, base, cand) = (Place::empty(), sample("serial"), sample("overlap"));
    let keep = || place.run(&["analyze", &base, "--history", "runs.jsonl"]);
    let against = || {
        let args = ["analyze", &cand, "--baseline", "runs.jsonl"];
        let args = [&args[..], &["--format", "json"]].concat();
        let output = place.run(&args);
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let comparison = &found["comparison"];
        let runs = comparison["base"]["runs"].as_array().unwrap().len();
        (runs, comparison["statement"].clone())
    };
    keep();
    let once = against();
    assert!(keep().status.success() && keep().status.success());
    assert_eq!((once.0, &once), (1, &against()));
}

#[test]
fn loop_that_the_median_step_hides_is_named_with_its_cause() {
    let (code, said) = compared(&[&sample("serial"), &sample("recompile")]);
    assert!(
        said.contains(
            "The median step is unchanged: 11.74 ms. The loop of 4 steps takes 46.96 ms longer (46.94 ms to 93.90 ms, \
             +100.04 %), of which the median step does not show +46.96 ms: compilation on the host +50.00 ms, 1 compilation in \
             it (0 before), 1 of 4 steps is slow (0 before)."
        ),
        "{said}"
    );
    assert_eq!(code, 0);
    let (code, said) = compared(&[&sample("overlap"), &sample("input_stall")]);
    assert!(
        said.contains(
            "The median step is unchanged: 9.755 ms. The loop of 4 steps takes 25.00 ms longer (39.02 ms to 64.02 ms, +64.1 \
             %), of which the median step does not show +25.00 ms: waiting for input +25.00 ms, 1 of 4 steps is slow (0 before)."
        ),
        "{said}"
    );
    assert_eq!(code, 0);
}

/// Ops of a CPU have no times of their own, but the capture holds their programs.
#[test]
fn programs_of_a_cpu_tell_that_the_work_is_the_same() {
    let sample = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../assets/samples/jax_cpu_small.xplane.pb"
    );
    let (code, said) = compared(&[sample, sample]);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains(
            "The same work, as far as the captures tell: 6 steady steps, all sums of the program"
        ),
        "{said}"
    );
}

#[test]
fn longer_wait_for_input_is_not_called_idle() {
    let (Some(base), Some(cand)) = (real("planted/cA.xplane.pb"), real("planted/cIN.xplane.pb"))
    else {
        return;
    };
    let (code, said) = compared(&[&base, &cand]);
    let headline = said.as_str();
    assert!(
        headline.contains("1.000 ms more waiting for input"),
        "{headline}"
    );
    assert!(!headline.contains("idle"), "{headline}");
    // 5 % of one run against one may be the spread between runs.
    assert!(
        headline.contains("runs of the same program may differ by up to 6.4 % (assumed"),
        "{headline}"
    );
    assert_eq!(code, 0);
}

#[test]
fn runs_that_did_other_work_say_so_first_with_a_code_of_their_own() {
    let pairs = [
        // Another chip, another number of chips.
        (
            "tpu/v5e_matmul.xplane.pb",
            "tpu/v6e_x4_host_offload.xplane.pb",
            "device (TPU v5 Lite against TPU v6 Lite)",
        ),
        (
            "planted/base_v6e.xplane.pb",
            "planted/late_joiner.xplane.pb",
            "devices (1 against 4)",
        ),
        // Another model.
        (
            "tpu/v7x_vllm_tp2_a.trace.json.gz",
            "tpu/v7x_vllm_tp2_b.trace.json.gz",
            "op time in shapes that the other run does not have (67 % against 69 %)",
        ),
        // Another number of steps.
        (
            "planted/k06_2steps_sl0.xplane.pb",
            "planted/k06_4steps_sl0.xplane.pb",
            "steady steps (1 against 3)",
        ),
    ];
    for (base, cand, differs) in pairs {
        let (Some(base), Some(cand)) = (real(base), real(cand)) else {
            return;
        };
        let (code, said) = compared(&[&base, &cand]);
        // What stands before it are the names of the runs.
        let (_, said) = said
            .split_once("Not the same work: the runs differ in ")
            .unwrap();
        let headline = said.split([';', ',', '.']).take(2).collect::<String>();
        assert!(headline.contains(differs), "{headline}");
        assert_eq!(code, 11, "{said}");
    }
    // Captures of the same loop that differ by a step did the same work.
    let names = [
        "tpu/v6e_x4_host_offload.xplane.pb",
        "tpu/v6e_x4_host_offload_steps_added.xplane.pb",
    ];
    let [Some(base), Some(cand)] = names.map(real) else {
        return;
    };
    let (code, said) = compared(&[&base, &cand]);
    assert!(
        said.contains(" The same work, as far as the captures tell: ")
            && said.contains(" The loop takes ")
            && code == 0,
        "{code}: {said}"
    );
}

fn steps(count: usize, work_ms: f64) -> Vec<u8> {
    let work = Picos::from_ps((work_ms * 1e9) as i64);
    xspace_bytes(
        &FleetSpec {
            devices: 2,
            steps: count as u32,
            work,
            ..FleetSpec::default()
        }
        .session(),
    )
}

#[test]
fn gates_of_a_short_run_find_a_slower_one_and_say_what_they_cannot() {
    let place = Place::empty();
    for (name, work) in [("base.pb", 7.0), ("slow.pb", 9.5)] {
        place.write(name, &steps(5, work));
    }
    let output = place.run(&["init", "base.pb", "--strict", "-o", "strict.toml"]);
    assert_eq!(output.status.code(), Some(11), "{}", stderr(&output));
    for unguarded in [
        "step.time_ms (median)",
        "step.time_ms (p90)",
        "loop.slow_pct (mean)",
        "needs 6 steady steps",
    ] {
        assert!(
            stderr(&output).contains(unguarded),
            "{unguarded}: {}",
            stderr(&output)
        );
    }
    assert!(
        stderr(&output).starts_with("error: inconclusive: not guarded: "),
        "{}",
        stderr(&output)
    );
    let output = place.run(&["init", "base.pb", "-o", "systole.toml"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        stderr(&output).contains("warning: not guarded: "),
        "{}",
        stderr(&output)
    );
    assert_eq!(
        place.read("strict.toml"),
        place.read("systole.toml"),
        "it is written either way"
    );
    let judged = |run: &str| {
        place.run(&[
            "analyze",
            run,
            "--budget",
            "systole.toml",
            "--baseline",
            "base.pb",
            "--strict",
        ])
    };
    assert_eq!(
        judged("base.pb").status.code(),
        Some(0),
        "{}",
        stderr(&judged("base.pb"))
    );
    let output = judged("slow.pb");
    assert_eq!(output.status.code(), Some(10), "{}", stderr(&output));
    for gate in [
        "loop.step_ms (mean) is ",
        "op.time_ms_per_step of * (mean) is ",
    ] {
        assert!(
            stderr(&output).contains(gate),
            "{gate}: {}",
            stderr(&output)
        );
    }
}

/// Text without marks, entities and line breaks.
fn plain(text: &str) -> String {
    let text = text
        .replace("&gt;", ">")
        .replace("&#39;", "'")
        .replace(['\\', '*'], "");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_format_says_the_same_of_the_spread_between_runs() {
    let place = Place::empty();
    let (base, cand) = (steps(12, 7.0), steps(12, 7.3));
    place.write("base.pb", &base);
    place.write("cand.pb", &cand);
    for name in ["base", "cand"] {
        assert_eq!(
            place.code(&[
                "summarize",
                &format!("{name}.pb"),
                "-o",
                &format!("{name}.json")
            ]),
            0
        );
    }
    let outputs = [
        "-o",
        "text=out.text",
        "-o",
        "md=out.md",
        "-o",
        "html=out.html",
    ];
    assert_eq!(
        place.code(&[&["compare", "base.pb", "cand.pb", "--all"], &outputs[..]].concat()),
        0
    );
    let run = |name: &str| Summary::from_json(&place.read(name)).unwrap();
    let expected = compare(
        &[run("base.json")],
        &[run("cand.json")],
        &CompareOptions::default(),
    );
    let begins = |text: &Option<String>| text.as_ref().unwrap().split_at(1).1.to_owned();
    let (step, conclusion) = (
        begins(&expected.brief.step),
        begins(&expected.brief.conclusion),
    );
    assert!(
        step.contains("runs of the same program may differ by up to"),
        "{step}"
    );
    let note = expected
        .notes
        .iter()
        .find(|note| note.contains("between runs"))
        .unwrap()
        .split_at(1)
        .1
        .to_owned();
    for format in ["text", "md", "html"] {
        let said = plain(&place.read(&format!("out.{format}")));
        let legends = [&expected.legend(), &expected.ops_legend()];
        for text in [&step, &conclusion, &note].into_iter().chain(legends) {
            assert!(said.contains(&plain(text)), "{format}: {text}\n{said}");
        }
        assert!(said.contains("? slower"), "{format}");
    }
}

/// One saved side of two chips is refused later, so whoever saves it hears of it.
#[test]
fn summaries_of_unlike_runs_are_saved_with_a_warning() {
    let place = Place::empty();
    let other = sample("serial").replace("v5e_8chip_serial", "v6e_4chip_padded");
    let save = |second: &str, to: &str| {
        let output = place.run(&["summarize", &sample("serial"), second, "-o", to]);
        assert_eq!(output.status.code(), Some(0));
        stderr(&output)
    };
    let said = save(&other, "unlike.json");
    assert!(
        said.contains("these runs are not alike (") && said.contains("are refused"),
        "{said}"
    );
    assert_ne!(
        place.code(&["compare", "unlike.json", &sample("serial")]),
        0
    );
    assert_eq!(save(&sample("serial"), "alike.json"), "");
}
