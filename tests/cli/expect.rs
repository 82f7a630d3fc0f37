//! `systole expect`: expectations of programs and profiles.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::place::{Place, stderr, stdout};

const PROFILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../assets/samples/synthetic_v5e_8chip_serial.xplane.pb"
);
const PROGRAM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../assets/samples/synthetic_v5e_layer_predicted.txt"
);

fn expect(dir: &tempfile::TempDir, toml: &str, more: &[&str]) -> Output {
    let file = dir.path().join("expect.toml");
    fs::write(&file, toml).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    let command = command.arg("expect").arg(file).args(more);
    command
        .env("COLUMNS", "120")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn exit_codes_tell_met_not_met_and_unknown() {
    let dir = tempfile::tempdir().unwrap();
    let one = |condition: &str| format!("[[expect]]\nname = \"the name\"\n{condition}\n");
    for (condition, path, more, code) in [
        ("op = \"fusion\"", PROGRAM, None, 0),
        ("op = \"fusion\"\nmax = 0", PROGRAM, None, 10),
        ("compiles_in_steps = true", PROGRAM, None, 0),
        ("compiles_in_steps = true", PROGRAM, Some("--strict"), 11),
        (
            "op = \"fusion\"\nmax = 0",
            PROGRAM,
            Some("--exit-code-on-fail=3"),
            3,
        ),
        ("collective = \"any\"", PROFILE, None, 0),
        ("share_of = \"*\"\nmin_percent = 0", PROFILE, None, 0),
        // A name that nothing has is no share of 0 %.
        (
            "share_of = \"*/mlpp/*\"\nmax_percent = 10",
            PROFILE,
            Some("--strict"),
            11,
        ),
        ("op = \"fusion\"\nmin = 2\nmax = 1", PROFILE, None, 2),
    ] {
        let more: Vec<&str> = [path].into_iter().chain(more).collect();
        let output = expect(&dir, &one(condition), &more);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{condition} {path}: {said}"
        );
        assert!(said.contains("the name"), "{said}");
    }
    let none = expect(&dir, "version = 1\n", &[PROGRAM]);
    assert_eq!(none.status.code(), Some(2));
    assert!(
        text(&none.stderr).contains("systole expect --init"),
        "{}",
        text(&none.stderr)
    );
}

#[test]
fn every_format_has_the_answers() {
    let dir = tempfile::tempdir().unwrap();
    let toml = "[[expect]]\nname = \"no <fusions>\"\nop = \"fusion\"\nmax = 0\n\
        [[expect]]\nname = \"steps\"\ncompiles_in_steps = false\n\
        [[expect]]\nname = \"some\"\nop = \"fusion\"\n";
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let outputs =
        ["json", "md", "junit", "sarif", "csv"].map(|name| format!("{name}={}", path(name)));
    let mut more = vec![PROGRAM];
    more.extend(outputs.iter().flat_map(|output| ["-o", output]));
    let output = expect(&dir, toml, &more);
    assert_eq!(output.status.code(), Some(10), "{}", text(&output.stderr));
    let read = |name: &str| fs::read_to_string(path(name)).unwrap();
    let json: Value = serde_json::from_str(&read("json")).unwrap();
    let rows = json["reports"]["expect"]["report"]["rows"]
        .as_array()
        .unwrap()
        .clone();
    let verdicts: Vec<&str> = rows
        .iter()
        .map(|row| row["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["not-met", "unknown", "met"]);
    assert!(rows[0]["self_time_ps"].as_i64().unwrap() > 0, "{}", rows[0]);
    assert!(rows[0]["instructions"][0]["name"].is_string());
    let junit = read("junit");
    for part in [
        "tests=\"3\" failures=\"1\"",
        "no &lt;fusions&gt;",
        "<skipped",
        "systole.expectation",
    ] {
        assert!(junit.contains(part), "{part}: {junit}");
    }
    assert!(
        junit.contains("synthetic_v5e_layer_predicted.txt\" tests="),
        "{junit}"
    );
    assert!(junit.contains("name=\"steps\""), "{junit}");
    let sarif: Value = serde_json::from_str(&read("sarif")).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(
        (results.len(), &results[0]["ruleId"]),
        (1, &Value::from("expectation"))
    );
    assert!(
        read("md").contains("NOT MET") && read("csv").contains("NOT MET"),
        "{}",
        read("csv")
    );
    let said = text(&output.stdout);
    assert!(
        said.contains("NOT MET") && said.lines().count() <= 30,
        "{said}"
    );
}

#[test]
fn the_present_state_is_written_and_met() {
    let dir = tempfile::tempdir().unwrap();
    for (at, path) in [PROGRAM, PROFILE].into_iter().enumerate() {
        let file = dir.path().join(format!("{at}.toml"));
        let init = format!("--init={}", file.display());
        let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
        let written = command.args(["expect", &init, path]).output().unwrap();
        assert!(written.status.success(), "{}", text(&written.stderr));
        let toml = fs::read_to_string(&file).unwrap();
        assert!(toml.matches("[[expect]]").count() >= 4, "{toml}");
        let checked = expect(&dir, &toml, &[path, "--strict"]);
        let said = text(&checked.stdout) + &text(&checked.stderr);
        assert!(checked.status.success(), "{said}\n{toml}");
        let again = Command::new(env!("CARGO_BIN_EXE_systole"))
            .args(["expect", &init, path])
            .output()
            .unwrap();
        assert_eq!(again.status.code(), Some(2), "a file that is there stays");
    }
}

/// A program with an attention of matrix products, or as a kernel.
fn attention(kernel: bool) -> String {
    let attend = if kernel {
        "custom-call(%q, %k), custom_call_target=\"tpu_custom_call\", metadata={op_name=\"flash_attention\"}"
    } else {
        "dot(%q, %k), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name=\"attention\"}"
    };
    format!(
        "HloModule jit_step, is_scheduled=true\n\nENTRY %main (q: f32[64,64], k: f32[64,64]) -> f32[64,64] {{\n  \
         %q = f32[64,64]{{1,0}} parameter(0)\n  %k = f32[64,64]{{1,0}} parameter(1)\n  \
         ROOT %out = f32[64,64]{{1,0}} {attend}\n}}\n"
    )
}

/// The commands of the instructions for agents: what they print about a change, and whether the expectation is met.
fn judged(base: &str, cand: &str, expected: &str) -> (String, bool) {
    let place = Place::empty();
    place.write("base.txt", base.as_bytes());
    place.write("cand.txt", cand.as_bytes());
    let expected = format!("version = 1\n[[expect]]\nname = \"the change\"\n{expected}\n");
    place.write("expect.toml", expected.as_bytes());
    let answer = place.run(&["expect", "expect.toml", "cand.txt"]);
    let diff = place.run(&["hlo", "base.txt", "--diff", "cand.txt", "--top", "10"]);
    let said = [&answer, &diff].map(|output| format!("{}{}", stdout(output), stderr(output)));
    (said.concat(), answer.status.success())
}

#[test]
fn changes_without_effect_are_found_in_few_words() {
    let (base, kernel) = (attention(false), attention(true));
    // A flag that only renames instructions, and a kernel that the program does not take.
    let renamed = base
        .replace("%out", "%out.7")
        .replace("jit_step", "jit_step.2");
    let gathers = "collective = \"all-gather\"\nmin = 1";
    let (said, is_met) = judged(&base, &renamed, gathers);
    assert!(!is_met && said.contains("0 differ"), "{said}");
    // Whose programs these are.
    assert!(
        said.contains("first   ") && said.contains("base.txt ·") && said.contains("cand.txt ·"),
        "{said}"
    );
    assert!(said.len() < 12_000, "{}", said.len());
    let taken = "kernel = \"flash_attention*\"";
    let (said, is_met) = judged(&base, &base, taken);
    assert!(!is_met && said.contains("NOT MET"), "{said}");
    assert!(said.len() < 12_000, "{}", said.len());
    let (said, is_met) = judged(&base, &kernel, taken);
    assert!(is_met && !said.contains(" 0 differ"), "{said}");
}

#[test]
fn what_a_program_does_not_tell_yet_is_unknown() {
    let before = "module @jit_f {\n  func.func public @main(%a: tensor<8x4xf32> {mhlo.sharding = \"{devices=[2,1]<=[2]}\"}) \
                  -> tensor<8x4xf32> {\n    %0 = stablehlo.tanh %a : tensor<8x4xf32>\n    return %0 : tensor<8x4xf32>\n  }\n}\n";
    let sum = "HloModule jit_f, is_scheduled=true\n\n%add (x: f32[], y: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  \
               %y = f32[] parameter(1)\n  ROOT %s = f32[] add(%x, %y)\n}\n\n%body (p: f32[64]) -> f32[64] {\n  \
               %p = f32[64]{0} parameter(0)\n  ROOT %r = f32[64]{0} all-reduce(%p), replica_groups={{0,1}}, to_apply=%add\n}\n\n\
               %cond (c: f32[64]) -> pred[] {\n  %c = f32[64]{0} parameter(0)\n  ROOT %t = pred[] constant(true)\n}\n\n\
               ENTRY %main (q: f32[64]) -> f32[64] {\n  %q = f32[64]{0} parameter(0)\n  \
               ROOT %w = f32[64]{0} while(%q), condition=%cond, body=%body\n}\n";
    for (program, condition, why) in [
        (
            before,
            "collective = \"all-gather\"\nmax = 0",
            "divides the program",
        ),
        (before, "rematerialized = false", "no framework names"),
        (
            sum,
            "collective = \"all-reduce\"\nmax_bytes = 1000",
            "how often a loop runs",
        ),
    ] {
        let place = Place::empty();
        place.write("program.txt", program.as_bytes());
        let expected = format!("version = 1\n[[expect]]\nname = \"it\"\n{condition}\n");
        place.write("expect.toml", expected.as_bytes());
        let answer = place.run(&["expect", "expect.toml", "program.txt", "--strict"]);
        assert_eq!(answer.status.code(), Some(11), "{condition}: {answer:?}");
        let said = stdout(&answer)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(said.contains(why), "{condition}: {said}");
    }
}
