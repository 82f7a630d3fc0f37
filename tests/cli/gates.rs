//! Comparing and judging runs, by the built program.

use std::path::Path;

use sample_traces::fleet::FleetSpec;
use sample_traces::write::{trace_json, xspace_bytes};
use serde_json::Value;
use trace_model::Picos;

use crate::gates_outputs::agrees_with_schema;
use crate::place::{Place, json, stderr, stdout};

/// A base of twelve steps, and runs whose matmul takes longer by 1.5 % and by 30 % of a step.
pub(super) fn place_with_runs() -> Place {
    let place = Place::empty();
    let ms = |ms: f64| Picos::from_ps((ms * 1e9) as i64);
    let spec = |work: f64| FleetSpec {
        devices: 2,
        steps: 12,
        work: ms(work),
        ..FleetSpec::default()
    };
    for (name, work) in [("base", 7.0), ("slower", 7.15), ("slow", 10.0)] {
        place.write(
            &format!("{name}.xplane.pb"),
            &xspace_bytes(&spec(work).session()),
        );
    }
    place.write(
        "base.trace.json",
        trace_json(&spec(7.0).session()).as_bytes(),
    );
    place.write(
        "more.xplane.pb",
        &xspace_bytes(
            &FleetSpec {
                devices: 4,
                ..spec(7.0)
            }
            .session(),
        ),
    );
    place
}

#[test]
fn run_is_unchanged_against_itself_in_both_formats_and_saved() {
    let place = place_with_runs();
    assert_eq!(
        place.code(&["summarize", "base.xplane.pb", "-o", "json=saved.json"]),
        0
    );
    for other in ["base.xplane.pb", "base.trace.json", "saved.json"] {
        let output = place.run(&["compare", "base.xplane.pb", other]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stdout(&output).replace('\n', " ");
        assert!(
            text.contains("The loop of 12 steps is unchanged")
                && text.contains("median step is unchanged"),
            "{other}: {text}"
        );
    }
    // The same bytes every time.
    let twice = || place.run(&["summarize", "base.xplane.pb"]).stdout;
    assert_eq!(twice(), twice());
    assert_eq!(
        stdout(&place.run(&["summarize", "base.xplane.pb"])),
        place.read("saved.json")
    );
}

/// The directory of the real captures, if this machine has it.
#[test]
fn both_formats_of_a_real_session_are_unchanged() {
    let file = |name: &str| {
        format!(
            "{}/../../shared/corpus/tpu/v5e_matmul.{name}",
            env!("CARGO_MANIFEST_DIR")
        )
    };
    let (json, protobuf) = (file("trace.json.gz"), file("xplane.pb"));
    for base in [&json, &protobuf]
        .into_iter()
        .filter(|base| Path::new(base).is_file())
    {
        let output = place_with_runs().run(&["compare", base, &protobuf]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(
            stdout(&output)
                .replace('\n', " ")
                .contains("The median step is unchanged"),
            "{}",
            stdout(&output)
        );
        assert!(
            !["slower", "faster"]
                .iter()
                .any(|word| stdout(&output).contains(word)),
            "{}",
            stdout(&output)
        );
    }
}

#[test]
fn slower_run_is_found_with_its_op() {
    let place = place_with_runs();
    let output = place.run(&[
        "compare",
        "base.xplane.pb",
        "slow.xplane.pb",
        "--format",
        "json",
    ]);
    let compared = json(stdout(&output));
    let step = compared["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|series| series["id"] == "step.time_ps")
        .unwrap();
    assert_eq!(
        (step["finding"].as_str(), step["change"].as_f64()),
        (Some("changed"), Some(3e9))
    );
    assert_eq!(compared["ops"][0]["change_ps"], 3e9);
    for format in ["text", "ndjson", "md"] {
        assert_eq!(
            place.code(&[
                "compare",
                "base.xplane.pb",
                "slow.xplane.pb",
                "--format",
                format
            ]),
            0,
            "{format}"
        );
    }
    // More runs of a side are pooled.
    let args = [
        "compare",
        "--base",
        "base.xplane.pb",
        "--base",
        "slower.xplane.pb",
        "--cand",
        "slow.xplane.pb",
    ];
    assert!(
        stdout(&place.run(&args))
            .replace('\n', " ")
            .contains("The median step is slower by")
    );
}

/// Baselines that earlier versions saved name files by their SHA-256 only.
#[test]
fn chain_of_causes_names_both_runs_and_the_work() {
    let place = place_with_runs();
    let why = |more: &[&str]| {
        let args = ["compare", "base.xplane.pb", "slow.xplane.pb", "--why"];
        stdout(&place.run(&[&args, more].concat())).to_owned()
    };
    for (text, parts) in [
        (
            why(&[]),
            &[
                "base  base.xplane.pb",
                "cand  slow.xplane.pb",
                "The same work",
                "The loop of",
                "From cause to milliseconds",
                "Not explained by these lines",
            ][..],
        ),
        (
            why(&["--format", "md"]),
            &[
                "Base: base.xplane.pb",
                "Cand: slow.xplane.pb",
                "The same work",
                "Not explained by these lines",
            ],
        ),
    ] {
        for part in parts {
            assert_eq!(text.matches(part).count(), 1, "{part}: {text}");
        }
    }
}

#[test]
fn saved_baselines_are_compared_whatever_identifies_their_files() {
    let place = place_with_runs();
    assert_eq!(
        place.code(&["summarize", "base.xplane.pb", "-o", "new.json"]),
        0
    );
    let mut saved = json(&place.read("new.json"));
    let input = saved["inputs"][0].as_object_mut().unwrap();
    assert_eq!(input["sha256"].as_str().map(str::len), Some(64));
    assert!(
        input
            .remove("fingerprint")
            .is_some_and(|text| text.as_str().unwrap().starts_with("xxh3-128:"))
    );
    place.write("old.json", saved.to_string().as_bytes());
    let compared = |base: &str| {
        let args = ["compare", base, "slow.xplane.pb", "--format", "json"];
        json(&stdout(&place.run(&args)).replace(base, "saved"))
    };
    assert_eq!(compared("old.json"), compared("new.json"));
    for base in ["old.json", "new.json"] {
        assert_eq!(
            place.code(&["compare", base, "base.xplane.pb"]),
            0,
            "{base}"
        );
        // What a file is identified by stays with it.
        let again = json(stdout(&place.run(&["summarize", base])));
        assert_eq!(again["inputs"], json(&place.read(base))["inputs"]);
    }
}

#[test]
fn incomparable_runs_say_why() {
    let place = place_with_runs();
    let output = place.run(&["compare", "base.xplane.pb", "more.xplane.pb"]);
    assert_eq!(output.status.code(), Some(11), "also without --strict");
    assert!(
        stdout(&output).contains("Not the same work: the runs differ in devices"),
        "{}",
        stdout(&output)
    );
    assert!(!stdout(&output).contains('%'), "{}", stdout(&output));
    assert_eq!(
        place.code(&["compare", "base.xplane.pb", "more.xplane.pb", "--strict"]),
        11
    );
    for told in ["--force", "--exit-zero"] {
        assert_eq!(
            place.code(&["compare", "base.xplane.pb", "more.xplane.pb", told]),
            0,
            "{told}"
        );
    }
    place.write("broken.json", b"{\"schema\": \"systole.summary/1\"");
    assert_eq!(place.code(&["compare", "base.xplane.pb", "broken.json"]), 4);
    assert_eq!(place.code(&["compare", "base.xplane.pb"]), 2);
    assert_eq!(place.code(&["compare", "base.xplane.pb", "missing.pb"]), 3);
}

#[test]
fn gates_decide_the_exit_code() {
    let place = place_with_runs();
    let with = |run: &str, more: &[&str]| {
        place.code(&[&["analyze", run, "--baseline", "base.xplane.pb"], more].concat())
    };
    assert_eq!(with("base.xplane.pb", &[]), 0);
    // 1.5 % is a real change, and below the allowed 5 %.
    assert_eq!(with("slower.xplane.pb", &[]), 0);
    assert_eq!(with("slow.xplane.pb", &[]), 10);
    assert_eq!(with("slow.xplane.pb", &["--exit-zero"]), 0);
    assert_eq!(with("slow.xplane.pb", &["--exit-code-on-fail", "1"]), 1);
    assert_eq!(with("more.xplane.pb", &[]), 0);
    assert_eq!(with("more.xplane.pb", &["--strict"]), 11);
    place.write(
        "strict.toml",
        b"[[regression]]\nmetric = \"step.time_ms\"\nmax_increase_pct = 1\n",
    );
    assert_eq!(with("slower.xplane.pb", &["--budget", "strict.toml"]), 10);
    place.write(
        "warn.toml",
        b"[[budget]]\nmetric = \"step.time_ms\"\nmax = 1\nlevel = \"warn\"\n",
    );
    let output = place.run(&["analyze", "base.xplane.pb", "--budget", "warn.toml"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        stderr(&output).starts_with("warning: step.time_ms is "),
        "{}",
        stderr(&output)
    );
    place.write("wrong.toml", b"[[budget]]\nmetric = \"step.time_ms\"\n");
    assert_eq!(
        place.code(&["analyze", "base.xplane.pb", "--budget", "wrong.toml"]),
        2
    );
}

#[test]
fn config_written_from_a_run_passes_that_run() {
    let place = place_with_runs();
    assert_eq!(
        place.code(&["init", "base.xplane.pb", "-o", "systole.toml"]),
        0
    );
    assert_eq!(
        place.code(&["init", "base.xplane.pb", "-o", "systole.toml"]),
        2,
        "it is not overwritten"
    );
    let judged = [
        "--budget",
        "systole.toml",
        "--baseline",
        "base.xplane.pb",
        "--strict",
    ];
    let output = place.run(&[&["analyze", "base.xplane.pb"], &judged[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(
        place.code(&[&["analyze", "slow.xplane.pb"], &judged[..]].concat()),
        10
    );
}

#[test]
fn steps_can_be_chosen_for_both_sides() {
    let place = place_with_runs();
    let output = place.run(&[
        "compare",
        "base.xplane.pb",
        "slow.xplane.pb",
        "--steps",
        "2..9",
        "--format",
        "json",
    ]);
    let compared = json(stdout(&output));
    assert_eq!(
        (
            compared["base"]["steps"].as_u64(),
            compared["cand"]["steps"].as_u64()
        ),
        (Some(8), Some(8))
    );
    assert_eq!(
        place.code(&[
            "compare",
            "base.xplane.pb",
            "slow.xplane.pb",
            "--steps",
            "90..99"
        ]),
        2
    );
    assert_eq!(
        place.code(&["summarize", "base.xplane.pb", "-o", "saved.json"]),
        0
    );
    let output = place.run(&["compare", "saved.json", "slow.xplane.pb", "--steps", "2..9"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("saved summary"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn every_common_step_class_is_compared() {
    let place = place_with_runs();
    let ms = |ms: i64| Picos::from_ps(ms * 1_000_000_000);
    for (name, evaluation) in [("eval", 3), ("eval_slow", 5)] {
        let spec = FleetSpec {
            devices: 2,
            steps: 40,
            evaluation: Some((4, ms(evaluation))),
            ..FleetSpec::default()
        };
        place.write(&format!("{name}.xplane.pb"), &xspace_bytes(&spec.session()));
    }
    let output = place.run(&[
        "compare",
        "eval.xplane.pb",
        "eval_slow.xplane.pb",
        "--format",
        "json",
    ]);
    let compared = json(stdout(&output));
    agrees_with_schema(&place, "comparison", &compared);
    let step = |comparison: &Value| {
        let steps = comparison["steps"].as_array().unwrap();
        let step = steps
            .iter()
            .find(|series| series["id"] == "step.time_ps")
            .unwrap();
        (
            step["finding"].as_str().unwrap().to_owned(),
            step["change"].as_f64().unwrap(),
        )
    };
    // Only evaluation changed; the headline is about the class with the most time.
    assert_eq!(step(&compared), ("noise".to_owned(), 0.0), "{compared}");
    assert_eq!(compared["classes"].as_array().unwrap().len(), 1);
    assert_eq!(step(&compared["classes"][0]), ("changed".to_owned(), 2e9));
    assert!(
        stdout(&place.run(&["compare", "eval.xplane.pb", "eval_slow.xplane.pb"]))
            .contains("Other classes of steps: 1 compared, 1 changed by more than noise")
    );
    // A saved summary has all of them, too.
    assert_eq!(
        place.code(&["summarize", "eval.xplane.pb", "-o", "saved.json"]),
        0
    );
    agrees_with_schema(&place, "summary", &json(&place.read("saved.json")));
    let output = place.run(&[
        "compare",
        "saved.json",
        "eval_slow.xplane.pb",
        "--format",
        "json",
    ]);
    assert_eq!(
        step(&json(stdout(&output))["classes"][0]),
        ("changed".to_owned(), 2e9)
    );
    // Only one side evaluates.
    let spec = FleetSpec {
        devices: 2,
        steps: 40,
        ..FleetSpec::default()
    };
    place.write("train.xplane.pb", &xspace_bytes(&spec.session()));
    let compared = json(stdout(&place.run(&[
        "compare",
        "eval.xplane.pb",
        "train.xplane.pb",
        "--format",
        "json",
    ])));
    assert_eq!(step(&compared), ("noise".to_owned(), 0.0), "{compared}");
    assert!(
        compared["notes"]
            .to_string()
            .contains("only base has steady steps of"),
        "{compared}"
    );
    // A gate with `module` evaluates the steps of that program.
    let program = json(&place.read("saved.json"))["classes"][0]["programs"][0]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let gate = format!(
        "[[regression]]\nmetric = \"step.time_ms\"\nmax_increase_pct = 5\nmodule = {program:?}\n"
    );
    place.write("eval.toml", gate.as_bytes());
    let judged =
        |run: &str| place.code(&["compare", "eval.xplane.pb", run, "--budget", "eval.toml"]);
    assert_eq!(
        (judged("eval_slow.xplane.pb"), judged("eval.xplane.pb")),
        (10, 0)
    );
}
