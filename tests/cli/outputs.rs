//! The output of the built program: formats, standard input and output, files that are missing.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

pub fn sample(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .join("assets/samples")
        .join(name);
    path.to_str().unwrap().to_owned()
}

pub fn recompile() -> String {
    sample("synthetic_v5e_8chip_recompile.xplane.pb")
}

pub(super) fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    for name in [
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "WAYLAND_SOCKET",
        "COLUMNS",
        "LC_ALL",
        "LC_CTYPE",
        "LANG",
        "GITHUB_STEP_SUMMARY",
    ] {
        command.env_remove(name);
    }
    command.args(args).stdin(Stdio::null());
    command
}

pub fn run(args: &[&str]) -> Output {
    program(args).output().unwrap()
}

/// With a profile on standard input.
fn piped(args: &[&str], input: &[u8]) -> Output {
    let mut child = program(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that refuses its arguments reads nothing.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

pub fn printed(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{args:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout).to_owned()
}

/// Wrong usage, and the expected message.
pub fn refused(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(
        output.status.code(),
        Some(2),
        "{args:?}: {}",
        text(&output.stderr)
    );
    assert!(output.stdout.is_empty(), "{args:?}");
    text(&output.stderr).to_owned()
}

#[test]
fn standard_input_is_read_like_a_file() {
    let bytes = fs::read(recompile()).unwrap();
    let json = |output: &Output| -> Value { serde_json::from_slice(&output.stdout).unwrap() };
    let from_file = json(&run(&["analyze", &recompile(), "--format", "json"]));
    for input in [bytes.clone(), sample_traces::write::gzip(&bytes)] {
        let output = piped(&["analyze", "-", "--format", "json"], &input);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let piped = json(&output);
        for report in ["steps", "ops", "compile", "verdict"] {
            assert_eq!(piped["reports"][report], from_file["reports"][report]);
        }
        let (input, file) = (&piped["input"][0], &from_file["input"][0]);
        assert_eq!(
            (&input["name"], &input["path"]),
            (&"standard input".into(), &Value::Null)
        );
        assert_eq!(
            input["fingerprint"] == file["fingerprint"],
            input["bytes"] == file["bytes"],
            "{input}"
        );
        assert!(input["fingerprint"].is_string());
    }
    assert_eq!(piped(&["analyze", "-"], b"").status.code(), Some(4));
    let twice = piped(&["compare", "-", "-"], &bytes);
    assert_eq!(twice.status.code(), Some(2), "{}", text(&twice.stderr));
}

#[cfg(unix)]
#[test]
fn standard_input_leaves_no_files() {
    let dir = tempfile::tempdir().unwrap();
    let left = || fs::read_dir(dir.path()).unwrap().count();
    let mut child = program(&["analyze", "-", "-v"])
        .env("TMPDIR", dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // More than a pipe buffer holds: once it is written, the program has begun to read.
    stdin.write_all(&vec![b'x'; 1 << 20]).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(left(), 0);

    let output = program(&["analyze", "-", "-v", "--only", "steps"])
        .env("TMPDIR", dir.path())
        .stdin(fs::File::open(recompile()).unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stderr).to_owned() + text(&output.stdout);
    assert!(said.contains("read standard input as xplane"), "{said}");
    assert!(
        !said.contains(dir.path().to_str().unwrap()) && left() == 0,
        "{said}"
    );
}

#[test]
fn a_dash_as_output_is_standard_output() {
    let printed = printed(&["analyze", &recompile(), "-o", "json=-"]);
    let json: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(json["schema"], "systole.report/3");
    assert!(
        refused(&["analyze", &recompile(), "-o", "json=-", "-o", "md=-"])
            .contains("only one format")
    );
    for args in [
        vec!["summarize", "-o", "-"],
        vec!["init", "-o", "-"],
        vec!["render", "-o", "-"],
    ] {
        let args: Vec<&str> = args.into_iter().chain([]).collect();
        let path = recompile();
        let output = run(&[&args[..], &[&path]].concat());
        assert_eq!(
            output.status.code(),
            Some(0),
            "{args:?}: {}",
            text(&output.stderr)
        );
        assert!(output.stdout.len() > 100, "{args:?}");
        assert!(!Path::new("-").exists());
    }
}

#[test]
fn csv_is_one_table_or_a_directory_of_them() {
    let path = recompile();
    let several = refused(&["analyze", &path, "--only", "ops", "--format", "csv"]);
    assert!(
        several.contains("--table") && several.contains("ops.op_groups"),
        "{several}"
    );
    assert!(
        refused(&["analyze", &path, "--format", "csv", "--table", "oops"]).contains("steps.steps")
    );
    assert!(refused(&["analyze", &path, "--table", "ops"]).contains("--format csv"));
    for name in ["ops", "ops.ops"] {
        let table = printed(&[
            "analyze", &path, "--only", "ops", "--table", name, "--format", "csv",
        ]);
        is_one_table(&table);
        assert!(table.starts_with("name,self_time_each_ps,"), "{table}");
    }
    let top = printed(&[
        "analyze", &path, "--only", "ops", "--table", "ops", "--format", "csv", "--top", "3",
    ]);
    assert_eq!(top.lines().count(), 4);
    let dir = TempDir::new().unwrap();
    let tables = dir.path().join("tables");
    printed(&[
        "analyze",
        &path,
        "-o",
        &format!("csv={}/", tables.display()),
    ]);
    let names: Vec<_> = fs::read_dir(&tables)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        is_one_table(&fs::read_to_string(name).unwrap());
    }
}

/// Every row has as many fields as the first one; a field in quotes may have several lines.
fn is_one_table(table: &str) {
    let fields = |line: &str| {
        let mut quoted = false;
        1 + line
            .chars()
            .filter(|&c| {
                quoted ^= c == '"';
                c == ',' && !quoted
            })
            .count()
    };
    let mut quoted = false;
    let rows: Vec<&str> = table
        .split(|c| {
            quoted ^= c == '"';
            c == '\n' && !quoted
        })
        .filter(|row| !row.is_empty())
        .collect();
    let first = fields(rows[0]);
    assert!(rows.iter().all(|row| fields(row) == first), "{table}");
}

#[test]
fn ndjson_has_one_object_per_line() {
    let lines = printed(&[
        "analyze",
        &recompile(),
        "--only",
        "steps,ops,kernels",
        "--format",
        "ndjson",
        "--top",
        "2",
    ]);
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let steps: Vec<_> = lines
        .iter()
        .filter(|line| line["table"] == "steps")
        .collect();
    assert_eq!(
        (steps.len(), &steps[0]["time_ps"]),
        (3, &11_735_127_412_i64.into())
    );
    assert_eq!(
        (&steps[2]["truncated"], &steps[2]["total"]),
        (&true.into(), &4.into())
    );
    assert!(
        lines
            .iter()
            .any(|line| line["report"] == "kernels" && line["not_applicable"].is_string())
    );
}

#[test]
fn top_limits_json_and_reports_omissions() {
    let path = recompile();
    let json = |args: &[&str]| -> Value {
        serde_json::from_str(&printed(
            &[&["analyze", &path, "--format", "json"], args].concat(),
        ))
        .unwrap()
    };
    let (all, top) = (json(&[]), json(&["--top", "3"]));
    assert_eq!(
        (&all["truncated"], &top["truncated"]),
        (&false.into(), &true.into())
    );
    assert_eq!(
        top["reports"]["ops"]["report"]["rows"]
            .as_array()
            .map(Vec::len),
        Some(3)
    );
    let cut = top["truncated_lists"].as_array().unwrap();
    let rows = cut
        .iter()
        .find(|cut| cut["path"] == "/reports/ops/report/rows")
        .unwrap();
    assert_eq!((&rows["shown"], &rows["total"]), (&3.into(), &80.into()));
    assert_eq!(
        all["reports"]["ops"]["report"]["rows"]
            .as_array()
            .map(Vec::len),
        Some(80)
    );
    for cut in cut {
        let path = cut["path"].as_str().unwrap();
        assert_eq!(
            top.pointer(path).and_then(Value::as_array).map(Vec::len),
            Some(3),
            "{path}"
        );
        assert_eq!(
            all.pointer(path)
                .and_then(Value::as_array)
                .map(|all| all.len().into()),
            Some(cut["total"].clone())
        );
    }
}

#[test]
fn markdown_has_all_rows_of_hints_on_request() {
    let path = recompile();
    let all = printed(&["analyze", &path, "--format", "md", "--top", "0"]);
    assert!(!all.contains("more row"), "{all}");
    let some = printed(&["analyze", &path, "--format", "md"]);
    assert!(some.contains("more row"), "{some}");
}

#[test]
fn pictures_of_several_hosts_name_them() {
    let path = sample("synthetic_two_hosts");
    let place = TempDir::new().unwrap();
    let page = place.path().join("page.html");
    printed(&["analyze", &path, "-o", &format!("html={}", page.display())]);
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page.contains("host_a TPU:0</p>"),
        "the caption lacks the host"
    );
    assert!(!page.contains(">/device:TPU:0</p>"));
}

#[test]
fn range_needs_units_and_captured_data() {
    let path = recompile();
    for range in ["1..2", "0..5", "5..", "100s..200s", "200s.."] {
        let said = refused(&["analyze", &path, "--range", range]);
        assert!(said.contains("--range"), "{said}");
    }
    printed(&["analyze", &path, "--range", "0..50ms"]);
    printed(&["analyze", &path, "--range", "10ms.."]);
}

/// A path that is missing is no mistake in the words of the command.
#[test]
fn missing_files_of_options_are_named_with_a_cure() {
    let path = sample("jax_cpu_small.xplane.pb");
    let missing = "/no/such/file";
    for (option, cure) in [
        ("--budget", "systole init"),
        ("--config", "systole init"),
        ("--roles", "docs/simulators.md"),
    ] {
        let output = run(&["analyze", &path, option, missing]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{option}: {said}");
        assert!(
            said.contains(cure) && said.trim_end().ends_with(missing),
            "{option}: {said}"
        );
    }
    let output = run(&["analyze", &path, "--hlo", missing]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains("--hlo /no/such/file: No such file") && said.contains("--xla_dump_to"),
        "{said}"
    );
    assert!(
        !said.contains("no profile") && !said.contains("jax_cpu_small"),
        "{said}"
    );
}

#[test]
fn json_identifies_the_file_and_has_its_sha256_on_request() {
    let path = sample("jax_cpu_small.xplane.pb");
    let bytes = fs::read(&path).unwrap();
    let digest = Sha256::digest(&bytes)
        .iter()
        .fold(String::new(), |digits, byte| {
            digits + &format!("{byte:02x}")
        });
    let input = |output: &Output| -> Value {
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        report["input"][0].clone()
    };
    for words in [&["--format", "json"][..], &["-o", "json=-"]] {
        for is_asked in [false, true] {
            let digest = digest.as_str();
            let more = if is_asked { &["--digest"][..] } else { &[] };
            let args = |path| [&["analyze", path], words, more].concat();
            for input in [
                input(&run(&args(path.as_str()))),
                input(&piped(&args("-"), &bytes)),
            ] {
                // By `xxh128sum`.
                let expected = "xxh3-128:c5aa4805fa0e43f9b72492a416c890e1";
                assert_eq!(input["fingerprint"], expected, "{words:?}");
                let sha256 = input.get("sha256").and_then(Value::as_str);
                assert_eq!(sha256, is_asked.then_some(digest), "{words:?}");
            }
        }
    }
}
