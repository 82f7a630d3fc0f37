//! `systole hlo --diff` and `systole compare` of programs: by content, whatever the names.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn systole(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    command
        .args(args)
        .env("COLUMNS", "120")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn stdout(args: &[&str]) -> String {
    let output = systole(args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

fn diff(first: &Path, second: &Path) -> Value {
    let paths = [first, second].map(|path| path.to_str().unwrap());
    let json = stdout(&["hlo", paths[0], "--diff", paths[1], "--format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    json["reports"]["hlo"]["report"].clone()
}

/// Programs of `MaxText`, cut at 2,000 lines by who published them.
fn programs() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/hlo");
    if !folder.is_dir() {
        assert!(
            std::env::var_os("SYSTOLE_REQUIRE_CORPUS").is_none(),
            "{}",
            folder.display()
        );
        return Vec::new();
    }
    let files = ["deepseek3", "llama3_8b", "qwen3_1.7b"];
    let path = |name| folder.join(format!("maxtext_reference_hlo_{name}.txt"));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text)
    };
    files.map(path).map(read).into()
}

/// The text with another name for each value and computation, other ids, frames and metadata.
fn renamed(text: &str) -> String {
    let mut names: HashMap<String, usize> = HashMap::new();
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let (before, after) = rest.split_at(at + 1);
        out.push_str(before);
        let end = after.find(|c: char| !(c.is_alphanumeric() || "._-".contains(c)));
        let (name, after) = after.split_at(end.unwrap_or(after.len()));
        let count = names.len();
        let number = *names.entry(name.to_owned()).or_insert(count);
        let _ = write!(out, "n{}", (number * 7919 + 13) % 1_000_003);
        rest = after;
    }
    out.push_str(rest);
    let line = |line: &str| {
        let line = match line.split_once(", metadata={") {
            Some((head, tail)) => {
                let (_, tail) = tail.split_once('}').unwrap();
                format!("{head}, metadata={{op_name=\"other/name\" stack_frame_id=4}}{tail}")
            }
            None => line.to_owned(),
        };
        match line.split_once("channel_id=") {
            Some((head, tail)) => {
                let digits = tail
                    .find(|c: char| !c.is_ascii_digit())
                    .unwrap_or(tail.len());
                format!("{head}channel_id={}{}", 9000 + digits, &tail[digits..])
            }
            None => line,
        }
    };
    let lines: Vec<String> = out.lines().map(line).collect();
    lines
        .join("\n")
        .replacen("jit_train_step", "jit_renamed", 1)
}

fn written(dir: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_renamed_program_does_not_differ() {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in programs() {
        let other = written(&dir, "renamed.txt", &renamed(&text));
        let found = diff(&path, &other);
        assert_eq!(found["rows"], serde_json::json!([]), "{}", path.display());
        assert!(found["same"].as_u64().unwrap() > 500, "{}", found["same"]);
        assert_eq!(found["moved"], 0, "{}", found["order"]);
        let sums = found["sums"].as_array().unwrap();
        assert!(sums.iter().all(|sum| sum["differs"] == false), "{sums:?}");
        let notes = found["notes"].to_string();
        assert!(notes.contains("ends inside computation"), "{notes}");
    }
}

/// The first line of a computation that says what is looked for.
fn line_with<'a>(text: &'a str, what: &str) -> &'a str {
    let lines = text.lines().filter(|line| line.starts_with("  %"));
    lines.into_iter().find(|line| line.contains(what)).unwrap()
}

#[test]
fn an_added_all_gather_is_one_line() {
    const ADDED: &str = "  %all-gather.98765 = bf16[32,4096]{1,0} all-gather(%NAME), channel_id=77, \
        replica_groups=[2,4]<=[8], use_global_device_ids=true, dimensions={0}, metadata={op_name=\"jit(train_step)/new\" source_file=\"added.py\" \
        source_line=42}";
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in programs() {
        let line = line_with(&text, " fusion(");
        let name = line.trim_start().split(' ').next().unwrap();
        let added = ADDED.replace("%NAME", name);
        let other = text.replacen(line, &format!("{line}\n{added}"), 1);
        let other = written(
            &dir,
            "added.txt",
            &renamed(&other).replace("other/name", "x"),
        );
        let found = diff(&path, &other);
        let rows = found["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 1, "{}: {rows:?}", path.display());
        assert_eq!(rows[0]["difference"], "only-second");
        assert_eq!(rows[0]["second"]["opcode"], "all-gather");
        assert_eq!(rows[0]["second"]["bytes"], 32 * 4096 * 2);
        let peak = found["peak"].as_str().unwrap();
        assert!(
            peak.contains("unknown") && peak.contains("ends before"),
            "{peak}"
        );
        assert_eq!(found["peak_change_bytes"], Value::Null);
        let sums = found["sums"].as_array().unwrap();
        let differing: Vec<&Value> = sums.iter().filter(|sum| sum["differs"] == true).collect();
        let gathers = differing.iter().find(|sum| {
            sum["what"]
                .as_str()
                .unwrap()
                .starts_with("all-gather among 4")
        });
        let bytes = |side: &str| gathers.unwrap()[side].as_u64().unwrap();
        assert_eq!(bytes("second_bytes") - bytes("first_bytes"), 32 * 4096 * 2);
    }
}

/// A small program with its entry computation.
const STEP: &str = "HloModule jit_step, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }

ENTRY %main (a: f32[1024], b: f32[1024]) -> f32[1024] {
  %a = f32[1024]{0} parameter(0)
  %b = f32[1024]{0} parameter(1)
  %c = f32[1024]{0} negate(%b)
  %d = f32[1024]{0} exponential(%b)
  %e = f32[1024]{0} add(%c, %d), metadata={op_name=\"jit(step)/add\" source_file=\"m.py\" source_line=7}
  ROOT %f = f32[1024]{0} multiply(%a, %e)
}
";

#[test]
fn bytes_source_and_peak_of_an_added_collective_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let first = written(&dir, "a.txt", STEP);
    let gather = "  %g = f32[4096]{0} all-gather(%c), replica_groups={{0,1,2,3}}, dimensions={0}, \
        metadata={op_name=\"jit(step)/gather\" source_file=\"m.py\" source_line=9}\n  %d = ";
    let second = written(&dir, "b.txt", &STEP.replacen("  %d = ", gather, 1));
    let found = diff(&first, &second);
    let row = &found["rows"][0]["second"];
    assert_eq!(
        (row["bytes"].as_u64(), row["source"].as_str()),
        (Some(16384), Some("m.py:9"))
    );
    // The result is not kept beyond the instruction; elsewhere two values live, because the sum is written into one of them.
    assert_eq!(
        found["peak_change_bytes"],
        4 * 4096 + 4096 - 2 * 4096,
        "{}",
        found["peak"]
    );
    let text = stdout(&["compare", first.to_str().unwrap(), second.to_str().unwrap()]);
    for word in [
        "all-gather",
        "m.py:9",
        "Peak memory",
        "same order",
        "only second",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(text.lines().count() <= 30, "{text}");
}

#[test]
fn types_and_the_schedule_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let first = written(&dir, "a.txt", STEP);
    let (c, d) = (
        "  %c = f32[1024]{0} negate(%b)\n",
        "  %d = f32[1024]{0} exponential(%b)\n",
    );
    let moved = STEP.replacen(&format!("{c}{d}"), &format!("{d}{c}"), 1);
    let found = diff(&first, &written(&dir, "moved.txt", &moved));
    assert_eq!(
        (found["rows"].as_array().unwrap().len(), &found["moved"]),
        (0, &Value::from(1))
    );
    let narrow = STEP.replace("%d = f32[1024]", "%d = bf16[1024]");
    let found = diff(&first, &written(&dir, "narrow.txt", &narrow));
    let said = found["rows"].to_string();
    assert!(said.contains("f32[1024] → bf16[1024]"), "{said}");
    let donated = STEP.replace(", input_output_alias={ {}: (0, {}, may-alias) }", "");
    let found = diff(&first, &written(&dir, "kept.txt", &donated));
    let sums = found["sums"].as_array().unwrap();
    let row = sums
        .iter()
        .find(|sum| sum["what"] == "results in donated memory")
        .unwrap();
    assert_eq!(
        (&row["first"], &row["second"]),
        (&Value::from(1), &Value::from(0))
    );
}

#[test]
fn different_programs_are_compared_instead_of_refused() {
    let programs = programs();
    for (at, (first, _)) in programs.iter().enumerate() {
        let (second, _) = &programs[(at + 1) % programs.len()];
        let paths = [first, second].map(|path| path.to_str().unwrap());
        let text = stdout(&["compare", paths[0], paths[1]]);
        assert!(
            text.contains("instructions are the same") && text.lines().count() <= 30,
            "{text}"
        );
        let found = diff(first, second);
        assert!(found["rows"].as_array().unwrap().len() > 100);
        assert!(
            found["sums"]
                .as_array()
                .unwrap()
                .iter()
                .any(|sum| sum["differs"] == true)
        );
    }
}

/// `StableHLO` and serialized programs of a dump are compared like texts.
#[test]
fn programs_of_other_forms_are_read() {
    const MLIR: &str = "module @jit_f attributes {mhlo.num_partitions = 1 : i32} {\n  \
        func.func public @main(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {\n    \
        %0 = stablehlo.tanh %arg0 : tensor<8x16xf32>\n    return %0 : tensor<8x16xf32>\n  }\n}\n";
    let dir = tempfile::tempdir().unwrap();
    let first = written(&dir, "a.mlir", MLIR);
    let second = written(&dir, "b.mlir", &MLIR.replace("tanh", "sine"));
    let found = diff(&first, &second);
    assert_eq!(
        found["rows"].as_array().unwrap().len(),
        2,
        "{}",
        found["rows"]
    );
    let list = stdout(&["hlo", first.to_str().unwrap()]);
    assert!(list.contains("jit_f"), "{list}");
    let sums = stdout(&["analyze", first.to_str().unwrap()]);
    assert!(sums.contains("No times"), "{sums}");

    let module = |module: &mut sample_traces::write::ProtoMessage| {
        module.text(1, "jit_g");
        module.text(2, "main");
        module.message(3, |computation| {
            computation.text(1, "main");
            computation.message(2, |instruction| {
                instruction.text(1, "p.1");
                instruction.text(2, "parameter");
            });
        });
    };
    let (mut file, mut bare) = <(sample_traces::write::ProtoMessage, _)>::default();
    file.message(1, module);
    module(&mut bare);
    let dump = tempfile::tempdir().unwrap();
    let name = "module_0001.jit_g.cpu_after_optimizations.hlo.pb";
    fs::write(dump.path().join(name), file.into_bytes()).unwrap();
    let module = dump.path().join("module.pb");
    fs::write(&module, bare.into_bytes()).unwrap();
    // The same file for both, which say which it is.
    let unscheduled = "module_0001.jit_g.before_optimizations.hlo.pb";
    fs::write(dump.path().join(unscheduled), "").unwrap();
    for command in ["hlo", "analyze"] {
        let text = stdout(&[command, dump.path().to_str().unwrap(), "--format", "json"]);
        assert!(text.contains(name) && !text.contains(unscheduled), "{text}");
    }
    for path in [dump.path().to_owned(), dump.path().join(name), module] {
        let path = path.to_str().unwrap();
        assert!(stdout(&["hlo", path]).contains("jit_g"));
        assert!(stdout(&["compare", path, path]).contains("1 instruction is the same, 0 differ"));
    }
}

/// A program with one all-gather among some of four partitions.
fn gathering(groups: &str) -> String {
    format!(
        "HloModule jit_g, num_partitions=4\n\nENTRY %main (p: f32[8]) -> f32[16] {{\n  \
         %p = f32[8] parameter(0)\n  \
         ROOT %g = f32[16] all-gather(%p), channel_id=1, replica_groups={groups}, dimensions={{0}}, \
         use_global_device_ids=true\n}}\n"
    )
}

#[test]
fn groups_of_devices_are_compared_however_they_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let differ = |one: &str, other: &str| {
        let [one, other] = [("a.txt", one), ("b.txt", other)]
            .map(|(name, groups)| written(&dir, name, &gathering(groups)));
        let paths = [&one, &other].map(|path| path.to_str().unwrap());
        let is_same = stdout(&["compare", paths[0], paths[1]]).contains(", 0 differ");
        let rows = diff(&one, &other)["rows"].clone();
        assert_eq!(is_same, rows == serde_json::json!([]), "{rows}");
        (!is_same).then(|| rows.to_string())
    };
    for same in [
        ["{{0,1},{2,3}}", "[2,2]<=[4]"],
        ["{{0,1},{2,3}}", "mesh['data'=2,'model'=2] {'model'}"],
        ["[2,2]<=[2,2]T(1,0)", "mesh['data'=2,'model'=2] {'data'}"],
        ["{{2,3},{0,1}}", "{{0,1},{2,3}}"],
        [
            "{{1,3},{0,2}}",
            "mesh['x'=2,'y'=2], device_ids=([[1,0],[3,2]]) {'x'}",
        ],
        ["{}", "{{0,1,2,3}}"],
        ["{}", "mesh['x'=4] {'x'}"],
    ] {
        assert_eq!(differ(same[0], same[1]), None, "{same:?}");
    }
    for other in [
        ["{{0,1},{2,3}}", "{{1,0},{2,3}}"],
        ["{{0,1},{2,3}}", "mesh['data'=2,'model'=2] {'data'}"],
        ["{}", "{{0,1},{2,3}}"],
    ] {
        let said = differ(other[0], other[1]).unwrap();
        assert!(said.contains("groups "), "{other:?}: {said}");
    }
}

#[test]
fn loops_of_another_length_differ() {
    let place = tempfile::tempdir().unwrap();
    let program = |name: &str, times: u32| {
        let text = format!(
            "HloModule jit_f, is_scheduled=true\n\n\
             %body (t: (s32[], f32[8,8])) -> (s32[], f32[8,8]) {{\n  \
             %t = (s32[], f32[8,8]) parameter(0)\n  %i = s32[] get-tuple-element(%t), index=0\n  \
             %x = f32[8,8] get-tuple-element(%t), index=1\n  \
             %dot = f32[8,8] dot(%x, %x), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n  \
             ROOT %r = (s32[], f32[8,8]) tuple(%i, %dot)\n}}\n\n\
             %cond (c: (s32[], f32[8,8])) -> pred[] {{\n  %c = (s32[], f32[8,8]) parameter(0)\n  \
             ROOT %p = pred[] constant(true)\n}}\n\n\
             ENTRY %main (a: (s32[], f32[8,8])) -> (s32[], f32[8,8]) {{\n  \
             %a = (s32[], f32[8,8]) parameter(0)\n  \
             ROOT %w = (s32[], f32[8,8]) while(%a), condition=%cond, body=%body, \
             backend_config={{\"known_trip_count\":{{\"n\":\"{times}\"}}}}\n}}\n"
        );
        let path = place.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (first, second) = (program("a.hlo.txt", 12), program("b.hlo.txt", 24));
    let said = stdout(&["compare", &first, &second]);
    assert!(
        said.contains("1 differs")
            && said.contains("iterations 12 → 24")
            && !said.contains("trip count"),
        "{said}"
    );
    assert!(!said.contains("other tiles"), "{said}");
    let rows = stdout(&["hlo", &first, "--diff", &second, "--format", "json"]);
    assert!(rows.contains("\"second_executions\": 24"), "{rows}");
    // What init writes of a program judges programs.
    let gates = stdout(&["init", &first, "-o", "-"]);
    let path = place.path().join("gates.toml");
    fs::write(&path, gates).unwrap();
    let judged = stdout(&[
        "compare",
        &first,
        &first,
        "--budget",
        path.to_str().unwrap(),
    ]);
    assert!(!judged.contains("step.time_ms"), "{judged}");
}
