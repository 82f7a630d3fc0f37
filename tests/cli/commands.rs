//! The built program, from outside: exit codes, streams, files.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A custom trace: one process, one thread, nested slices.
pub(super) const CHROME_TRACE: &str = r#"{"traceEvents":[
{"ph":"M","name":"process_name","pid":1,"args":{"name":"simulator"}},
{"ph":"X","name":"outer","pid":1,"tid":1,"ts":0,"dur":10},
{"ph":"X","name":"inner","pid":1,"tid":1,"ts":2,"dur":3}
]}"#;

fn systole() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    command.env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

pub(super) fn run(args: &[&str]) -> Output {
    let output = systole().args(args).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
    output
}

pub(super) fn code(output: &Output) -> i32 {
    output.status.code().expect("not killed by a signal")
}

pub(super) fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

pub(super) fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// A directory with one small trace, and the path of the trace.
pub(super) fn small_trace() -> (TempDir, String) {
    file("small.json", CHROME_TRACE.as_bytes())
}

pub(super) fn file(name: &str, bytes: &[u8]) -> (TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, bytes).unwrap();
    (dir, path.to_str().unwrap().to_owned())
}

#[test]
fn wrong_usage_exits_with_2() {
    for args in [
        &["analyse"][..],
        &["analyze"],
        &["analyze", "x", "--steps", "7..3"],
        &["analyze", "x", "-o", "xml=y"],
    ] {
        assert_eq!(code(&run(args)), 2, "{args:?}");
    }
    let (_dir, path) = small_trace();
    for (args, word) in [
        (["--only", "no-such-analysis"], "the analyses are "),
        (["--device", "7"], "no TPU devices"),
        (["--device-spec", "h100"], "v5e"),
        (["--steps", "40..50"], "steps 0 to 0"),
    ] {
        let output = run(&["analyze", &path, args[0], args[1]]);
        assert_eq!(code(&output), 2, "{args:?}");
        assert!(stderr(&output).contains(word), "{}", stderr(&output));
        assert!(stdout(&output).is_empty(), "{args:?}");
    }
}

#[test]
fn a_device_that_is_not_there_is_an_error_everywhere() {
    let (_dir, path) = small_trace();
    for command in [
        &["compare", &path][..],
        &["init"],
        &["summarize"],
        &["memory"],
        &["compile"],
        &["environment"],
        &["doctor"],
        &["render"],
        &["hlo"],
    ] {
        let output = run(&[command, &[&path, "--device", "7"]].concat());
        assert_eq!(code(&output), 2, "{command:?}: {}", stderr(&output));
        let said = stderr(&output);
        assert!(
            said.contains("--device: 7 is not there"),
            "{command:?}: {said}"
        );
    }
}

#[test]
fn help_and_version_go_to_stdout() {
    for args in [&["--help"][..], &["--version"], &["analyze", "--help"]] {
        let output = run(args);
        assert_eq!(code(&output), 0);
        assert!(
            !output.stdout.is_empty() && output.stderr.is_empty(),
            "{args:?}"
        );
    }
    assert!(stdout(&run(&["--help"])).contains("Exit codes"));
}

#[test]
fn analyzes_a_trace_of_every_format() {
    let (_dir, path) = small_trace();
    for format in ["text", "json", "ndjson", "md"] {
        for command in ["analyze", "doctor"] {
            let output = run(&[command, &path, "--format", format]);
            assert_eq!(code(&output), 0, "{command} {format}: {}", stderr(&output));
            assert!(!stdout(&output).contains('\x1b'), "no colour in a pipe");
        }
    }
    let json: Value =
        serde_json::from_slice(&run(&["analyze", &path, "--format", "json"]).stdout).unwrap();
    assert_eq!(json["schema"], "systole.report/3");
    assert_eq!(json["tool"]["name"], "systole");
    assert_eq!(json["input"][0]["name"], "small.json");
    assert_eq!(json["input"][0]["bytes"], CHROME_TRACE.len());
    assert!(
        json["input"][0]["fingerprint"]
            .as_str()
            .is_some_and(|text| text.starts_with("xxh3-128:"))
    );
    assert_eq!(json["trace"]["slices"], 2);
    assert_eq!(json["import"]["lost"], 0);
}

#[test]
fn output_is_deterministic() {
    let (_dir, path) = small_trace();
    for format in ["text", "json", "ndjson", "md"] {
        let args = ["analyze", &path, "--format", format];
        let one_thread = [&args[..], &["--jobs", "1"]].concat();
        assert_eq!(run(&args).stdout, run(&one_thread).stdout, "{format}");
    }
}

#[test]
fn output_files_are_written_alongside_stdout() {
    let (dir, path) = small_trace();
    let out = |name: &str| dir.path().join(name);
    fs::write(out("report.json"), r#"{"schema":"systole.report/1"}"#).unwrap();
    let json = format!("json={}", out("report.json").display());
    let markdown = format!("md={}", out("report.md").display());
    let output = run(&[
        "analyze", &path, "-o", &json, "-o", &markdown, "--format", "ndjson",
    ]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&fs::read(out("report.json")).unwrap()).unwrap();
    assert_eq!(report["schema"], "systole.report/3");
    assert!(
        fs::read_to_string(out("report.md"))
            .unwrap()
            .contains("- Run: `small.json` · ")
    );
    let mut names: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["report.json", "report.md", "small.json"]);
}

#[test]
fn unwritable_output_fails_before_the_work() {
    let (dir, path) = small_trace();
    let nowhere = dir.path().join("no/such/dir/x.json");
    let output = run(&[
        "analyze",
        &path,
        "-o",
        &format!("json={}", nowhere.display()),
    ]);
    assert_eq!(code(&output), 3);
    assert!(stdout(&output).is_empty());
    assert!(stderr(&output).contains("x.json"), "{}", stderr(&output));
}

#[test]
fn closed_output_pipe_is_no_error() {
    let (_dir, path) = small_trace();
    let mut child = systole()
        .args(["analyze", &path, "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{said}");
    assert_eq!(said, "");
}

#[test]
fn log_directory_opens_its_newest_or_named_run() {
    let dir = tempfile::tempdir().unwrap();
    for (run, name) in [
        ("2026_01_01_00_00_00", "old"),
        ("2026_02_02_00_00_00", "new"),
    ] {
        let run_dir = dir.path().join("plugins/profile").join(run);
        fs::create_dir_all(&run_dir).unwrap();
        fs::write(run_dir.join(format!("{name}.trace.json")), CHROME_TRACE).unwrap();
    }
    let path = dir.path().to_str().unwrap();
    let input = |args: &[&str]| {
        let output = run(&[&["analyze", path, "--format", "json"], args].concat());
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        json["input"][0]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(input(&[]), "new.trace.json");
    assert_eq!(input(&["--run", "2026_01_01_00_00_00"]), "old.trace.json");
    let output = run(&["analyze", path, "--run", "nope"]);
    assert_eq!(code(&output), 3);
    assert!(
        stderr(&output).contains("2026_02_02_00_00_00"),
        "{}",
        stderr(&output)
    );
}

/// The hosts use the same numbers for devices and executions, which must not be mixed up.
#[test]
fn hosts_of_a_run_are_one_trace() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/samples");
    let dir = tempfile::tempdir().unwrap();
    for (sample, host) in [
        ("synthetic_v5e_8chip_overlap", "host0"),
        ("synthetic_v5e_8chip_serial", "host1"),
    ] {
        let name = format!("{host}.xplane.pb");
        fs::copy(
            samples.join(sample).with_extension("xplane.pb"),
            dir.path().join(name),
        )
        .unwrap();
    }
    fs::copy(
        samples.join("synthetic_v5e_8chip_overlap.trace.json.gz"),
        dir.path().join("host0.trace.json.gz"),
    )
    .unwrap();
    let json = |path: &Path| -> Value {
        let output = run(&["doctor", path.to_str().unwrap(), "--format", "json"]);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let both = json(dir.path());
    assert_eq!(
        both["input"].as_array().map(Vec::len),
        Some(2),
        "the JSON of host0 is a duplicate"
    );
    assert_eq!(both["import"]["issues"][0]["kind"], "duplicate");
    let shifts = |json: &Value, host: &str| {
        let mut shifts = json["reports"]["doctor"]["report"]["clock_shifts"]
            .as_array()
            .unwrap()
            .clone();
        for shift in &mut shifts {
            // Each host counts its devices from 0, so the names of hosts distinguish them.
            shift["core"] = shift["core"]
                .as_str()
                .unwrap()
                .replace("/device:", &format!("{host} "))
                .into();
        }
        shifts
    };
    let alone = ["host0", "host1"].map(|host| {
        shifts(
            &json(&dir.path().join(host).with_extension("xplane.pb")),
            host,
        )
    });
    assert!(shifts(&both, "") == alone.concat());
}

#[test]
fn strict_exits_with_11_on_lost_data() {
    let whole = CHROME_TRACE.len() - 40;
    let (_dir, path) = file("cut.json", &CHROME_TRACE.as_bytes()[..whole]);
    assert_eq!(code(&run(&["analyze", &path])), 0);
    let output = run(&["analyze", &path, "--strict"]);
    assert_eq!(code(&output), 11, "{}", stderr(&output));
    assert!(
        !output.stdout.is_empty(),
        "the report is printed all the same"
    );
}

#[test]
fn render_works_without_a_window() {
    let (dir, trace) = small_trace();
    let picture = run(&["render", &trace]);
    assert_eq!(code(&picture), 0, "{}", stderr(&picture));
    assert!(
        stdout(&picture).starts_with("<svg") && stdout(&picture).trim_end().ends_with("</svg>")
    );
    let out = dir.path().join("timeline.svg");
    let written = run(&[
        "render",
        &trace,
        "--dark",
        "--size",
        "800x400",
        "-o",
        out.to_str().unwrap(),
    ]);
    assert_eq!((code(&written), stdout(&written)), (0, ""));
    assert!(fs::read_to_string(&out).unwrap().contains("width=\"800\""));
    let other = run(&["render", &trace, "-o", "picture.bmp"]);
    assert_eq!(code(&other), 2);
    assert!(stderr(&other).contains(".svg"));
    let out = dir.path().join("steps.PNG");
    let points = run(&[
        "render",
        &trace,
        "--size",
        "800x400",
        "--scale",
        "2",
        "-o",
        out.to_str().unwrap(),
    ]);
    // The first chunk of a PNG contains width and height.
    assert_eq!(
        fs::read(&out).unwrap()[16..20],
        1600_u32.to_be_bytes(),
        "{}",
        stderr(&points)
    );
}

#[test]
fn chips_lists_generations_with_sources() {
    let json: Value = serde_json::from_slice(&run(&["chips", "--format", "json"]).stdout).unwrap();
    let chips = json["chips"].as_array().unwrap();
    assert!(chips.iter().any(|chip| chip["id"] == "v5e") && chips.len() >= 10);
    for chip in chips {
        for fact in chip["facts"].as_array().unwrap() {
            assert!(
                json["sources"][fact["source"].as_str().unwrap()].is_string(),
                "{fact}"
            );
        }
    }
    for format in ["text", "csv", "md"] {
        assert!(
            stdout(&run(&["chips", "--format", format])).contains("v6e"),
            "{format}"
        );
    }
    let one = run(&["chips", "v6e"]);
    let one = stdout(&one);
    assert!(
        one.contains("918.0 TFLOP/s") && one.contains("capture: 946.7 TFLOP/s"),
        "{one}"
    );
    assert_eq!(code(&run(&["chips", "v99"])), 2);
}

#[test]
fn peaks_from_a_chip_file_are_marked_assumed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lab.toml");
    fs::write(&file, "base = \"v5e\"\nbf16_flops = 100e12\n").unwrap();
    let trace = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../assets/samples/synthetic_v5e_8chip_overlap.trace.json.gz"
    );
    let report = |format: &str| {
        let args = [
            "analyze",
            trace,
            "--device-spec",
            file.to_str().unwrap(),
            "--only",
            "utilization,ops,roofline",
        ];
        stdout(&run(&[&args[..], &["--format", format]].concat())).to_owned()
    };
    let text = report("text");
    assert!(
        text.contains("100.0 TFLOP/s (lab as named by you, assumed)")
            && text.contains("of FLOP/s†"),
        "{text}"
    );
    assert!(report("md").contains("of FLOP/s†"));
    assert!(report("ndjson").contains("\"assumed\""));
    assert!(report("json").contains("\"assumed-peak\""));
    fs::write(&file, "base = \"v5e\"\nbf16_flop = 100e12\n").unwrap();
    let refused = run(&["analyze", trace, "--device-spec", file.to_str().unwrap()]);
    assert_eq!(code(&refused), 2);
    assert!(stderr(&refused).contains("bf16_flops"));
}

#[test]
fn formats_lists_every_importer() {
    let json: Value =
        serde_json::from_slice(&run(&["formats", "--format", "json"]).stdout).unwrap();
    let listed: Vec<_> = json["formats"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["id"].as_str().unwrap())
        .collect();
    let expected: Vec<_> = importers::IMPORTERS
        .iter()
        .map(|importer| importer.format().id)
        .collect();
    assert_eq!(listed, expected);
    for id in expected {
        assert!(stdout(&run(&["formats"])).contains(id));
    }
}

#[test]
fn roles_turn_simulator_processes_into_devices() {
    let trace = r#"[{"ph":"M","name":"process_name","pid":4,"args":{"name":"chip 0"}},
        {"ph":"X","pid":4,"tid":1,"name":"mm","ts":10,"dur":5}]"#;
    let (dir, path) = file("sim.json", trace.as_bytes());
    let roles = dir.path().join("roles.toml");
    fs::write(
        &roles,
        "time_unit = \"ns\"\n[[track]]\nprocess = \"chip *\"\nrole = \"ops\"",
    )
    .unwrap();
    let output = run(&[
        "analyze",
        &path,
        "--roles",
        roles.to_str().unwrap(),
        "--only",
        "devices",
        "--format",
        "json",
    ]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cores = json["reports"]["devices"]["report"]["cores"]
        .as_array()
        .unwrap();
    assert_eq!(
        (cores.len(), &cores[0]["window_ps"]),
        (1, &Value::from(5000))
    );
    fs::write(&roles, "[[track]]\nrole = \"mxu\"").unwrap();
    let output = run(&["analyze", &path, "--roles", roles.to_str().unwrap()]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("in-flight"), "{}", stderr(&output));
}
