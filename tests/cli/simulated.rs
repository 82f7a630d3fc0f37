//! Times that were not measured: marked wherever they are shown, and not judged like
//! measured ones.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::place::corpus;

pub const PREDICTED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../assets/samples/synthetic_v5e_layer_predicted.txt"
);
const BADGE: &str = "PREDICTED by XLA's cost model";

pub fn run(args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_systole"))
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        !String::from_utf8_lossy(&output.stderr).contains("panicked"),
        "{args:?}: {output:?}"
    );
    output
}

pub fn text(args: &[&str]) -> String {
    let output = run(args);
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

pub fn reports(path: &str, ids: &str) -> Value {
    serde_json::from_str::<Value>(&text(&["analyze", path, "--only", ids, "--format", "json"]))
        .unwrap()["reports"]
        .clone()
}

pub fn file(name: &str, bytes: &[u8]) -> (TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, bytes).unwrap();
    (dir, path.to_str().unwrap().to_owned())
}

#[test]
fn every_output_of_a_prediction_is_marked() {
    for args in [
        &["analyze", PREDICTED][..],
        &["analyze", PREDICTED, "--only", "ops"],
        &["analyze", PREDICTED, "--format", "md"],
        &["analyze", PREDICTED, "--only", "targets", "--format", "csv"],
        &[
            "analyze", PREDICTED, "--only", "targets", "--format", "json",
        ],
        &["doctor", PREDICTED],
        &["render", PREDICTED],
        &["render", PREDICTED, "--panel", "steps"],
        &["render", PREDICTED, "--panel", "roofline"],
    ] {
        assert!(
            text(args)
                .replace("&#39;", "'")
                .replace("&apos;", "'")
                .contains(BADGE),
            "{args:?}"
        );
    }
    let screen = text(&["analyze", PREDICTED]);
    assert!(
        screen.contains(&format!("[{BADGE}]")) && !screen.contains("[measured]"),
        "{screen}"
    );
    let csv = text(&["analyze", PREDICTED, "--only", "targets", "--format", "csv"]);
    assert!(
        csv.lines()
            .all(|line| line.ends_with("times_from") || line.ends_with(BADGE)),
        "{csv}"
    );
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("systole.toml");
    fs::write(
        &config,
        "[[budget]]\nmetric = \"step.time_ms\"\nmax = 5000\n",
    )
    .unwrap();
    for format in ["html", "junit", "sarif", "md"] {
        let path = dir.path().join(format);
        let out = format!("{format}={}", path.display());
        run(&[
            "analyze",
            PREDICTED,
            "--budget",
            config.to_str().unwrap(),
            "--output",
            &out,
        ]);
        let written = fs::read_to_string(&path).unwrap();
        assert!(
            written
                .replace("&#39;", "'")
                .replace("&apos;", "'")
                .contains(BADGE),
            "{format}: {written}"
        );
        assert!(!written.contains(", measured<"), "{written}");
    }
    let measured = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../assets/samples/synthetic_v5e_layer_measured.xplane.pb"
    );
    let page = dir.path().join("compared.html");
    run(&[
        "compare",
        measured,
        PREDICTED,
        "--output",
        &format!("html={}", page.display()),
    ]);
    let page = fs::read_to_string(page).unwrap().replace("&#39;", "'");
    let (header, _) = page.split_once("</header>").unwrap();
    assert!(
        header.contains(&format!("cand <b class=\"warn\">{BADGE}")) && !header.contains("base <b"),
        "{header}"
    );
    let measured = text(&[
        "analyze",
        concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../assets/samples/jax_cpu_small.xplane.pb"
        ),
    ]);
    assert!(
        !measured.contains("no time here was measured"),
        "{measured}"
    );
}

#[test]
fn modelled_link_rate_is_not_judged() {
    let found = reports(PREDICTED, "targets,hints");
    let targets = found["targets"]["report"]["targets"]
        .as_array()
        .unwrap()
        .clone();
    let ici = targets.iter().find(|target| target["id"] == "ici").unwrap();
    assert_eq!(ici["light"], "not-judged", "{ici}");
    assert!(
        ici["note"]
            .as_str()
            .unwrap()
            .contains("computed from the speed of the links"),
        "{ici}"
    );
    let hints = found["hints"]["report"]["hints"]
        .as_array()
        .unwrap()
        .clone();
    let narrow = hints.iter().find(|hint| hint["id"] == "K18").unwrap();
    assert_eq!(
        (&narrow["confidence"], &narrow["severity"]),
        (&"low".into(), &"high".into())
    );
    assert!(narrow["saving_percent"].as_f64().unwrap() > 15.0);
}

/// A program of one large product, near its peak.
#[test]
fn prediction_near_peak_passes_a_gate() {
    let program = "HloModule jit_f, is_scheduled=true\n\nENTRY %main (a: bf16[4096,4096]) -> bf16[4096,4096] {\n  \
                   %a = bf16[4096,4096]{1,0} parameter(0)\n  ROOT %dot.1 = bf16[4096,4096]{1,0} dot(%a, %a), \
                   lhs_contracting_dims={1}, rhs_contracting_dims={0}, \
                   backend_config={\"window_config\":{\"estimated_cycles\":\"1080000\"}}\n}\n";
    let (_dir, path) = file("dot.v5e.txt", program.as_bytes());
    let output = run(&["analyze", &path, "--fail-on", "critical"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("K18") && output.status.success(), "{said}");
}

/// A loop whose total time is in the schedule, with its body as a separate computation.
#[test]
fn loop_with_separate_body_is_no_overhead() {
    let schedule = "hlo_module {\n  name: \"jit_f\"\n  computations {\n    name: \"body\"\n    instructions { name: \"t\" \
                    opcode: \"parameter\" shape { element_type: F32 dimensions: 8 } id: 0 }\n    id: 1\n    root_id: 0\n  \
                    }\n  computations {\n    name: \"main\"\n    instructions { name: \"p\" opcode: \"parameter\" shape { \
                    element_type: F32 dimensions: 8 } id: 0 }\n    instructions { name: \"while.1\" opcode: \"while\" \
                    shape { element_type: F32 dimensions: 8 } id: 1 operand_ids: 0 called_computation_ids: 1 }\n    \
                    instructions { name: \"add.1\" opcode: \"add\" shape { element_type: F32 dimensions: 8 } id: 2 \
                    operand_ids: 1 operand_ids: 1 }\n    id: 0\n    root_id: 2\n  }\n}\ncomputation_schedules {\n  \
                    instructions { end_timestamp_cycles: 1 }\n  instructions { id: 1 start_timestamp_cycles: 1 \
                    end_timestamp_cycles: 90000 }\n  instructions { id: 2 start_timestamp_cycles: 90000 \
                    end_timestamp_cycles: 100000 }\n  scheduler_statistics { total_cycles: 100000 }\n  \
                    cycles_per_microsecond: 1000\n}\n";
    let (_dir, path) = file("jit_f.schedule.txt", schedule.as_bytes());
    let screen = text(&["analyze", &path]);
    assert!(
        screen.contains("Loops, whose bodies appear as separate ops, take 90.0 %"),
        "{screen}"
    );
    assert!(
        !screen.contains("overhead of loops") && !screen.contains("K22"),
        "{screen}"
    );
    let hints = reports(&path, "hints")["hints"]["report"].clone();
    let silent = hints["cannot_tell"]
        .as_array()
        .unwrap()
        .iter()
        .find(|rule| rule["id"] == "K22");
    assert!(
        silent.is_some_and(|rule| rule["reason"]
            .as_str()
            .unwrap()
            .contains("appear as separate ops")),
        "{hints}"
    );
}

/// A graph of two nodes without times: a matmul, and an all-gather after it.
#[test]
fn placeholders_are_not_judged() {
    let node = |id: u8, name: &str, kind: u8, needs: &[u8]| {
        let mut node = vec![0x08, id, 0x12, name.len() as u8];
        node.extend(name.as_bytes());
        node.extend([0x18, kind]);
        node.extend(needs.iter().flat_map(|&need| [0x28, need]));
        [vec![node.len() as u8], node].concat()
    };
    let graph = [
        b"\x07\x0a\x050.0.4".to_vec(),
        node(1, "matmul", 4, &[]),
        node(2, "gather", 7, &[1]),
    ]
    .concat();
    let (_dir, path) = file("f.0.et", &graph);
    let screen = text(&["analyze", &path]);
    assert!(
        screen.contains("PREDICTED by the longest path")
            && screen.contains("Times are placeholders"),
        "{screen}"
    );
    for judged in [
        "of device time",
        "What to do",
        "critical",
        "hidden",
        "green",
        "red (",
    ] {
        assert!(!screen.contains(judged), "{judged} in {screen}");
    }
    let found = reports(&path, "verdict,hints");
    assert_eq!(
        found["verdict"]["report"]["findings"]
            .as_array()
            .map(Vec::len),
        Some(0)
    );
    assert!(
        found["hints"]["not_applicable"]
            .as_str()
            .unwrap()
            .contains("placeholders"),
        "{found}"
    );
    let page = tempfile::tempdir().unwrap();
    let html = page.path().join("page.html");
    run(&[
        "analyze",
        &path,
        "--output",
        &format!("html={}", html.display()),
    ]);
    assert!(!fs::read_to_string(&html).unwrap().contains("Top ops of"));
}

/// Computed times have no noise: one step is enough to compare and to guard.
#[test]
fn one_step_of_computed_times_is_compared_and_guarded() {
    let Some(corpus) = corpus() else {
        return;
    };
    let path = |name: &str| corpus.join(name).to_str().unwrap().to_owned();
    let [base, cand] =
        ["is", "ws"].map(|flow| path(&format!("simulators/scalesim/v3.0.0_decoder_{flow}")));
    let said = text(&["compare", &base, &cand]);
    assert!(said.contains("slower by 13.05 µs"), "{said}");
    assert!(said.contains("matrix products: s8 dots"), "{said}");
    for wrong in ["too few", "may be noise", "XLA"] {
        assert!(!said.contains(wrong), "{wrong}: {said}");
    }
    let output = run(&[
        "init",
        &path("simulators/neusim/llama3-8b-tpuv6e-tp4_decode.csv"),
    ]);
    let config = String::from_utf8_lossy(&output.stdout);
    assert!(
        config.contains("[[budget]]                # 75.066 in this run"),
        "{config}"
    );
    let warned = String::from_utf8_lossy(&output.stderr);
    assert!(!warned.contains("steady steps"), "{warned}");
}
