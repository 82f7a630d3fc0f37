//! Gates in CI: checked configuration, baselines of several runs, the history, and reports
//! that name their runs.

use std::fs;
use std::path::Path;

use sample_traces::fleet::FleetSpec;
use sample_traces::write::xspace_bytes;
use trace_model::Picos;

use crate::place::{Place, json, stderr, stdout};

impl Place {
    /// Adds a run of twelve steps whose matmul takes this many milliseconds.
    pub fn with(self, name: &str, work_ms: f64) -> Self {
        self.write(name, &run(work_ms).bytes());
        self
    }
}

struct Run(FleetSpec);

impl Run {
    fn bytes(&self) -> Vec<u8> {
        xspace_bytes(&self.0.session())
    }
}

fn run(work_ms: f64) -> Run {
    let work = Picos::from_ps((work_ms * 1e9) as i64);
    Run(FleetSpec {
        devices: 2,
        steps: 12,
        work,
        calls: true,
        ..FleetSpec::default()
    })
}

#[test]
fn recompiling_loop_fails_preset_and_written_config() {
    let place = Place::empty().with("base.pb", 7.0);
    let again = Run(FleetSpec {
        compiles: vec![4, 8],
        compile: Picos::from_ps(60_000_000_000),
        ..run(7.0).0
    });
    place.write("again.pb", &again.bytes());
    assert_eq!(place.code(&["init", "base.pb", "-o", "systole.toml"]), 0);
    for args in [
        &["--baseline", "base.pb"][..],
        &["--baseline", "base.pb", "--budget", "systole.toml"],
    ] {
        let output = place.run(&[&["analyze", "again.pb", "--top", "0"], args].concat());
        assert_eq!(output.status.code(), Some(10), "{}", stdout(&output));
        for gate in [
            "compile.loop_count (max) is 2, was 0",
            "loop.step_ms (mean) is ",
        ] {
            assert!(stderr(&output).contains(gate), "{}", stderr(&output));
        }
    }
    let output = place.run(&["compare", "base.pb", "again.pb"]);
    for said in [
        "The loop of 12 steps takes ",
        "2 compilations in it (0 before)",
        "2 of 12 steps are slow (0 before)",
    ] {
        assert!(
            stdout(&output).replace('\n', " ").contains(said),
            "{}",
            stdout(&output)
        );
    }
}

#[test]
fn config_from_init_is_conclusive_for_its_run() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/samples");
    let place = Place::empty();
    let mut checked = 0;
    for sample in fs::read_dir(samples)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        if sample
            .extension()
            .is_some_and(|extension| extension == "md")
        {
            continue;
        }
        let sample = sample.to_str().unwrap();
        let _ = fs::remove_file(place.path("own.toml"));
        assert_eq!(
            place.code(&["init", sample, "-o", "own.toml"]),
            0,
            "{sample}"
        );
        let args = [
            "analyze",
            sample,
            "--budget",
            "own.toml",
            "--baseline",
            sample,
            "--format",
            "json",
        ];
        let output = place.run(&args);
        let report = json(stdout(&output));
        for gate in report["gates"]["gates"].as_array().unwrap() {
            let of_preset = place.read("own.toml").matches("[[regression]]").count() == 0;
            let answered = gate["status"] == "pass" || (of_preset && gate["kind"] == "regression");
            assert!(answered, "{sample}: {gate}\n{}", place.read("own.toml"));
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked}");
}

#[test]
fn gate_file_mistakes_are_usage_errors_with_a_suggestion() {
    let place = Place::empty().with("base.pb", 7.0);
    for (text, word) in [
        (
            "[[budget]]\nmetric = \"step.tiem_ms\"\nmax = 1",
            "did you mean \"step.time_ms\"?",
        ),
        (
            "[[budget]]\nmetrics = \"step.time_ms\"\nmax = 1",
            "did you mean `metric`?",
        ),
        (
            "[[budget]]\nmetric = \"step.time_ms\"\nmax = 1\nlevel = \"eror\"",
            "did you mean `error`?",
        ),
        (
            "[[budget]]\nmetric = \"op.time_ms_per_step\"\nop = \"all-redcue*\"\nmax = 1",
            "did you mean \"all-reduce*\"?",
        ),
    ] {
        place.write("wrong.toml", text.as_bytes());
        for quiet in [&[][..], &["-q"]] {
            let output =
                place.run(&[&["analyze", "base.pb", "--budget", "wrong.toml"], quiet].concat());
            assert_eq!(output.status.code(), Some(2), "{text}: {}", stderr(&output));
            assert!(stderr(&output).contains(word), "{}", stderr(&output));
        }
        let output = place.run(&["config", "check", "wrong.toml"]);
        // Names of ops can only be checked against a run.
        let expected = if text.contains("op = ") { 0 } else { 2 };
        assert_eq!(
            output.status.code(),
            Some(expected),
            "{text}: {}",
            stderr(&output)
        );
    }
    assert_eq!(
        place.code(&["config", "check"]),
        3,
        "there is no systole.toml"
    );
    assert_eq!(place.code(&["init", "base.pb", "-o", "systole.toml"]), 0);
    let output = place.run(&["config", "check"]);
    assert!(
        stdout(&output).starts_with("systole.toml: "),
        "{}",
        stdout(&output)
    );
    let listed = json(stdout(&place.run(&["metrics", "--format", "json"])));
    assert!(
        listed["metrics"]
            .as_array()
            .unwrap()
            .iter()
            .any(|metric| metric["name"] == "step.time_ms")
    );
    assert!(stdout(&place.run(&["metrics"])).contains("compile.loop_count"));
}

#[test]
fn unused_gates_are_reported() {
    let place = Place::empty().with("base.pb", 7.0);
    assert_eq!(place.code(&["init", "base.pb", "-o", "systole.toml"]), 0);
    for args in [
        &["analyze", "base.pb"][..],
        &["analyze", "base.pb", "--baseline", "base.pb"],
        &["compare", "base.pb", "base.pb"],
    ] {
        let output = place.run(args);
        assert!(
            stderr(&output).contains("of systole.toml are not judged: give --budget systole.toml"),
            "{args:?}"
        );
    }
    let output = place.run(&["analyze", "base.pb", "--budget", "systole.toml"]);
    assert!(
        !stderr(&output).contains("not judged"),
        "{}",
        stderr(&output)
    );
    place.write(
        "systole.toml",
        b"version = 1\n[[budget]]\nmetric = \"step.time_ms\"\nmax = 100.0\n",
    );
    let output = place.run(&["analyze", "base.pb"]);
    assert!(
        stderr(&output).contains("1 budget and 0 regressions of systole.toml"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn warm_up_covering_the_run_is_inconclusive() {
    let place = Place::empty().with("base.pb", 7.0);
    place.write(
        "budget.toml",
        b"[[budget]]\nmetric = \"step.time_ms\"\nmax = 1\n",
    );
    let judged = |warmup: &str, more: &[&str]| {
        place.run(
            &[
                &[
                    "analyze",
                    "base.pb",
                    "--budget",
                    "budget.toml",
                    "--warmup",
                    warmup,
                ],
                more,
            ]
            .concat(),
        )
    };
    assert_eq!(judged("2", &[]).status.code(), Some(10));
    for (more, code) in [(&[][..], 0), (&["--strict"], 11)] {
        let output = judged("30", more);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(
            stderr(&output).contains("the first 30 are excluded as warm-up"),
            "{}",
            stderr(&output)
        );
    }
    place.write(
        "budget.toml",
        b"[defaults]\nwarmup_steps = 30\n[[budget]]\nmetric = \"step.time_ms\"\nmax = 1\n",
    );
    assert_eq!(
        place.code(&["analyze", "base.pb", "--budget", "budget.toml", "--strict"]),
        11
    );
}

#[test]
fn inconclusive_gates_are_annotations() {
    let place = Place::empty().with("base.pb", 7.0);
    place.write(
        "budget.toml",
        b"[[budget]]\nmetric = \"memory.peak_gib\"\nmax = 1\n",
    );
    let mut command = place.command();
    command
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", place.path("step.md"));
    let output = command
        .args(["analyze", "base.pb", "-q", "--budget", "budget.toml"])
        .output()
        .unwrap();
    let said = stderr(&output);
    assert!(
        said.starts_with("::warning title=memory.peak_gib at most 1 GiB::inconclusive: "),
        "{said}"
    );
}

#[test]
fn several_runs_make_a_baseline() {
    let mut place = Place::empty();
    for (name, work) in [
        ("a.pb", 7.0),
        ("b.pb", 7.3),
        ("c.pb", 7.1),
        ("slow.pb", 8.5),
        ("alike.pb", 7.2),
    ] {
        place = place.with(name, work);
    }
    assert_eq!(
        place.code(&["summarize", "a.pb", "b.pb", "c.pb", "-o", "base.json"]),
        0
    );
    assert_eq!(
        json(&place.read("base.json"))["runs"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let judged = |run: &str| place.code(&["analyze", run, "--baseline", "base.json", "--strict"]);
    assert_eq!((judged("alike.pb"), judged("slow.pb")), (0, 10));
    let compared = json(stdout(&place.run(&[
        "compare",
        "base.json",
        "alike.pb",
        "--format",
        "json",
    ])));
    assert_eq!(compared["base"]["runs"].as_array().unwrap().len(), 3);
    assert_eq!(compared["base"]["runs"][1], "b.pb (saved in base.json)");
}

#[test]
fn history_gives_baseline_and_trend() {
    let place = Place::empty()
        .with("good.pb", 7.0)
        .with("alike.pb", 7.01)
        .with("slow.pb", 9.0);
    let keep = |run: &str| {
        let args = [
            "analyze",
            run,
            "--baseline",
            "good.pb",
            "--history",
            "runs.jsonl",
        ];
        let output = place
            .command()
            .args(args)
            .env("GITHUB_SHA", "0123456789abcdef")
            .output()
            .unwrap();
        output.status.code().unwrap()
    };
    assert_eq!(
        [keep("good.pb"), keep("slow.pb"), keep("alike.pb")],
        [0, 10, 0]
    );
    let compared = json(stdout(&place.run(&[
        "compare",
        "runs.jsonl",
        "slow.pb",
        "--format",
        "json",
    ])));
    // A failed run is not part of a baseline.
    assert_eq!(
        compared["base"]["runs"].as_array().unwrap().len(),
        2,
        "{}",
        compared["base"]
    );
    assert_eq!(
        place.code(&["analyze", "good.pb", "--baseline", "runs.jsonl"]),
        0
    );
    assert_eq!(
        place.code(&["analyze", "slow.pb", "--baseline", "runs.jsonl"]),
        10
    );
    assert_eq!(
        place.code(&["summarize", "runs.jsonl", "-o", "base.json"]),
        0
    );
    assert_eq!(
        json(&place.read("base.json"))["runs"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let trend = json(stdout(&place.run(&[
        "history",
        "runs.jsonl",
        "--format",
        "json",
        "--last",
        "2",
    ])));
    let verdicts: Vec<&str> = trend["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["FAIL", "pass"]);
    for format in ["text", "csv", "md"] {
        let output = place.run(&["history", "runs.jsonl", "--format", format]);
        assert!(
            stdout(&output).contains("0123456789"),
            "{}",
            stdout(&output)
        );
    }
    place.write(
        "broken.jsonl",
        format!("{}{{\"schema\": 1", place.read("runs.jsonl")).as_bytes(),
    );
    let output = place.run(&["history", "broken.jsonl"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        stderr(&output).contains("1 damaged line left out: line 4"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn reports_name_the_run_of_a_log_directory() {
    let place = Place::empty();
    for (log, name, work) in [
        ("old", "2027_01_30", 7.0),
        ("new", "2027_01_31", 7.0),
        ("new", "2027_02_01", 7.1),
    ] {
        place.write(
            &format!("{log}/plugins/profile/{name}/host.xplane.pb"),
            &run(work).bytes(),
        );
    }
    let (base, cand) = ("2027_01_30/host.xplane.pb", "2027_02_01/host.xplane.pb");
    let outputs = [
        "-o",
        "junit=j.xml",
        "-o",
        "sarif=s.sarif",
        "-o",
        "md=m.md",
        "-o",
        "html=h.html",
        "-o",
        "json=r.json",
    ];
    for args in [
        &[
            "analyze",
            "new",
            "--baseline",
            "old",
            "--history",
            "h.jsonl",
        ][..],
        &["compare", "old", "new"],
    ] {
        let mut command = place.command();
        command.env("GITHUB_STEP_SUMMARY", place.path("step.md"));
        let output = command.args(args).args(outputs).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(
            stdout(&output).replace("\n    ", "").contains(cand),
            "{}",
            stdout(&output)
        );
        for name in ["j.xml", "s.sarif", "m.md", "h.html", "r.json", "step.md"] {
            let text = place.read(name).replace('\\', "");
            assert!(
                text.contains(cand) && text.contains(base),
                "{args:?} {name}: {text}"
            );
        }
        let junit = place.read("j.xml");
        assert!(
            junit.contains("property name=\"baseline\"") && junit.contains("property name=\"run\"")
        );
    }
    assert!(place.read("h.jsonl").contains(cand));
}

#[test]
fn markdown_fits_a_pull_request_comment() {
    let place = Place::empty();
    let spec = FleetSpec {
        devices: 256,
        steps: 40,
        ..FleetSpec::default()
    };
    place.write("many.pb", &xspace_bytes(&spec.session()));
    let args = [
        "analyze",
        "many.pb",
        "--baseline",
        "many.pb",
        "--top",
        "0",
        "-o",
        "md=m.md",
    ];
    assert_eq!(place.code(&args), 0);
    let text = place.read("m.md");
    assert!(text.len() < 65_536 && text.len() > 10_000, "{}", text.len());
    assert!(
        text.contains("do not fit here"),
        "{}",
        &text[text.len() - 500..]
    );
}
