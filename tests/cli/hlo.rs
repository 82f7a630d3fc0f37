//! `systole hlo`: programs, the neighbourhood of an op, text, search, diff.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::mcp::Client;

const SAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../assets/samples/synthetic_v5e_layer_predicted.txt"
);
const OVERLAP: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../assets/samples/synthetic_v5e_8chip_overlap.xplane.pb"
);
const SERIAL: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../assets/samples/synthetic_v5e_8chip_serial.xplane.pb"
);

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    command
        .arg("hlo")
        .args(args)
        .env("COLUMNS", "200")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn stdout(args: &[&str]) -> String {
    let output = run(args);
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn document(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[args, &["--format", "json"]].concat())).unwrap()
}

fn report(args: &[&str]) -> Value {
    document(args)["reports"]["hlo"]["report"].clone()
}

#[test]
fn programs_are_listed_with_their_times() {
    let list = report(&[SAMPLE]);
    let rows = list["rows"].as_array().unwrap();
    assert_eq!(rows[0]["origin"], "program");
    assert_eq!(
        (rows.len(), rows[0]["program"].as_str()),
        (1, Some("jit_layer"))
    );
    assert_eq!(rows[0]["self_of_op_time_percent"].as_f64(), Some(100.0));
}

#[test]
fn neighbourhood_is_equal_as_text_json_and_graph() {
    let found = report(&[SAMPLE, "--op", "%fusion.2", "--radius", "2"]);
    let nodes = found["nodes"].as_array().unwrap();
    assert_eq!(
        (nodes[0]["name"].as_str(), nodes[0]["relation"].as_str()),
        (Some("fusion.2"), Some("center"))
    );
    assert!(nodes[0]["self_time_ps"].as_i64().unwrap() > 0 && !nodes[0]["shape"].is_null());
    assert!(
        nodes.iter().any(|node| node["relation"] == "operand")
            && nodes.iter().any(|node| node["relation"] == "user")
    );
    let parameter = nodes
        .iter()
        .find(|node| node["opcode"] == "parameter")
        .unwrap();
    assert!(
        parameter["self_time_ps"].is_null(),
        "it never ran: {parameter}"
    );
    let text = stdout(&[SAMPLE, "--op", "fusion.2", "--radius", "2", "--top", "0"]);
    let dot = stdout(&[
        SAMPLE, "--op", "fusion.2", "--radius", "2", "--graph", "dot",
    ]);
    let svg = stdout(&[
        SAMPLE, "--op", "fusion.2", "--radius", "2", "--graph", "svg",
    ]);
    for node in nodes {
        let name = node["name"].as_str().unwrap();
        assert!(
            text.contains(name) && dot.contains(name) && svg.contains(name),
            "{name}"
        );
    }
    assert_eq!(
        dot.matches(" -> ").count(),
        found["edges"].as_array().unwrap().len()
    );
    assert!(dot.starts_with("digraph") && svg.trim_end().ends_with("</svg>"));
}

#[test]
fn text_and_search_have_every_instruction() {
    let text = stdout(&[SAMPLE, "--text"]);
    let line = text
        .lines()
        .find(|line| line.contains("fusion.2 = "))
        .unwrap();
    assert!(
        line.trim_start().starts_with(|c: char| c.is_ascii_digit()),
        "its time comes first: {line}"
    );
    let found = report(&[SAMPLE, "--find", "opcode:fusion source:layer.py:2"]);
    let names = found["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap());
    let names: Vec<&str> = names.collect();
    assert!(
        names.contains(&"fusion.2") && !names.contains(&"fusion.4"),
        "{names:?}"
    );
}

#[test]
fn diff_names_instructions_of_only_one_program() {
    assert_eq!(
        report(&[SAMPLE, "--diff", SAMPLE])["rows"]
            .as_array()
            .unwrap()
            .len(),
        0
    );
    let found = report(&[SERIAL, "--diff", OVERLAP]);
    let rows = found["rows"].as_array().unwrap();
    let only_second = |row: &&Value| row["difference"] == "only-second";
    let opcodes: Vec<&str> = rows
        .iter()
        .filter(only_second)
        .map(|row| row["second"]["opcode"].as_str().unwrap())
        .collect();
    assert!(
        opcodes.iter().any(|opcode| opcode.ends_with("-start")),
        "overlapped collectives have halves: {opcodes:?}"
    );
}

#[test]
fn diff_says_which_two_files_it_read() {
    let input = document(&[SERIAL, "--diff", OVERLAP])["input"].clone();
    let names = [&input[0], &input[1]].map(|file| file["name"].as_str().unwrap());
    assert!(
        SERIAL.ends_with(names[0]) && OVERLAP.ends_with(names[1]),
        "{input}"
    );
    let hash = |nth: usize| input[nth]["fingerprint"].as_str().unwrap();
    assert_ne!(hash(0), hash(1));
}

#[test]
fn missing_programs_and_ops_are_errors() {
    for (args, why) in [
        (
            &[SAMPLE, "--op", "no.such"][..],
            "no program of this capture has an instruction",
        ),
        (
            &[SAMPLE, "--text", "--program", "jit_other"],
            "no program is called",
        ),
        (&[SAMPLE, "--find", " "], "write a word"),
        (&[SAMPLE, "--graph", "svg"], "--op"),
    ] {
        let output = run(args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(why), "{args:?}: {stderr}");
    }
}

fn ops_of(trace: &str) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    let output = command
        .args(["analyze", trace, "--only", "ops", "--format", "json"])
        .output()
        .unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = json["reports"]["ops"]["report"]["rows"].as_array().unwrap();
    rows.iter()
        .map(|row| row["name"].as_str().unwrap().to_owned())
        .collect()
}

/// A program of this name, as the compiler dumps it.
fn dumped(name: &str, ops: &[String]) -> Vec<u8> {
    let mut file = sample_traces::write::ProtoMessage::default();
    file.message(1, |module| {
        module.text(1, name);
        module.message(3, |computation| {
            computation.text(1, "main");
            for op in ops {
                computation.message(2, |instruction| {
                    instruction.text(1, op);
                    instruction.text(2, "fusion");
                });
            }
        });
    });
    file.into_bytes()
}

#[test]
fn programs_of_a_dump_are_added_to_exported_events() {
    let exported = OVERLAP.replace(".xplane.pb", ".trace.json.gz");
    let dump = tempfile::tempdir().unwrap();
    let path = dump.path().to_str().unwrap();
    let rows = |args: &[&str]| report(args)["rows"].as_array().unwrap().clone();
    let without = rows(&[&exported]);
    assert_eq!(without[0]["origin"], "op-texts");

    let empty = run(&[&exported, "--hlo", path]);
    assert_eq!(empty.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&empty.stderr).contains("--xla_dump_hlo_as_proto"));

    // XProf puts the id into the name of the file.
    let program = without[0]["program"].as_str().unwrap();
    fs::write(
        dump.path().join(format!("{program}.hlo_proto.pb")),
        dumped("jit_train_step", &ops_of(&exported)),
    )
    .unwrap();
    fs::write(
        dump.path()
            .join("module_0002.jit_other.after_codegen.hlo.pb"),
        dumped("jit_other", &[]),
    )
    .unwrap();
    let list = rows(&[&exported, "--hlo", path]);
    assert_eq!(
        (&list[0]["origin"], &list[0]["program"]),
        (&Value::from("program"), &without[0]["program"])
    );
    let said = run(&[&exported, "--hlo", path, "-v"]);
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(
        said.contains(&format!("{program}.hlo_proto.pb by its id")),
        "{said}"
    );
    assert!(said.contains("programs: 2, used: 1"), "{said}");

    // Each side of a comparison has its own.
    let other = tempfile::tempdir().unwrap();
    let beside = other.path().to_str().unwrap();
    let mut fewer = ops_of(&exported);
    fewer.pop();
    fs::write(
        other.path().join(format!("{program}.hlo_proto.pb")),
        dumped("jit_train_step", &fewer),
    )
    .unwrap();
    let sums = |more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_systole"))
            .args(["compare", &exported, &exported, "--hlo", path])
            .args(["--format", "json"])
            .args(more)
            .output()
            .unwrap();
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let sums = json["program"]["sums"].as_array().unwrap().clone();
        sums.iter().filter(|sum| sum["differs"] == true).count()
    };
    assert_eq!(sums(&[]), 0);
    assert!(sums(&["--base-hlo", beside]) > 0);

    // Agents say it by the same names.
    fs::copy(&exported, dump.path().join("run.trace.json.gz")).unwrap();
    let only = format!("{program}.hlo_proto.pb");
    fs::create_dir(dump.path().join("base")).unwrap();
    fs::copy(
        other.path().join(&only),
        dump.path().join("base").join(&only),
    )
    .unwrap();
    let asked = json!({"base": "run.trace.json.gz", "cand": "run.trace.json.gz", "hlo": only});
    let mut of_one = asked.clone();
    of_one["base_hlo"] = "base".into();
    let mut client = Client::below(dump.path());
    let mut differ = |asked: &Value| {
        let answer = client.tool("compare", asked);
        let mut tables = answer["tables"].as_array().unwrap().iter();
        let sums = tables.find(|table| table["id"] == "program_sums").unwrap();
        sums["total_rows"].as_u64().unwrap()
    };
    assert_eq!(differ(&asked), 0);
    assert!(differ(&of_one) > 0);
}

/// Real programs of `MaxText`, cut at 2,000 lines by who published them: what is there is read, and what is cut is said.
/// Counts are those of lines with the text of an instruction.
#[test]
fn a_program_that_is_cut_is_read_up_to_there() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/hlo");
    if !folder.is_dir() {
        println!("skipped: {} is absent", folder.display());
        return;
    }
    for name in ["deepseek3", "llama3_8b", "qwen3_1.7b"] {
        let file = folder.join(format!("maxtext_reference_hlo_{name}.txt"));
        let text = fs::read_to_string(&file).unwrap();
        let path = file.to_str().unwrap();
        let has = |opcode: &str| {
            text.lines()
                .filter(|line| line.contains(&format!(" {opcode}(")))
                .count()
        };
        let head = text.lines().rfind(|line| line.ends_with(" {")).unwrap();
        let last = head.trim_start_matches('%').split(' ').next().unwrap();
        let instructions = text
            .lines()
            .filter(|line| line.starts_with("  ") && line.contains(" = "))
            .count();
        let cut = format!(
            "ends inside computation {last}: the {} instructions",
            instructions.to_string().replacen('1', "1,", 1)
        );

        let found = report(&[path, "--find", "opcode:convolution"]);
        let exact = |row: &&Value| row["opcode"] == "convolution";
        assert_eq!(
            found["rows"]
                .as_array()
                .unwrap()
                .iter()
                .filter(exact)
                .count(),
            has("convolution"),
            "{name}"
        );
        assert!(
            found["unread"][0].as_str().unwrap().contains(&cut),
            "{}: {cut}",
            found["unread"]
        );
        let listed = report(&[path, "--text"]);
        let lines = listed["lines"].as_array().unwrap();
        let named = lines
            .iter()
            .filter(|line| !line["instruction"].is_null())
            .count();
        assert_eq!(
            (lines.len(), named),
            (text.lines().count(), instructions),
            "{name}"
        );
        assert!(
            listed["notes"][0].as_str().unwrap().contains(&cut),
            "{}",
            listed["notes"]
        );
        // The list of programs names the loss, and no other command takes the program for a profile.
        let list = run(&[path]);
        let said = String::from_utf8_lossy(&list.stdout).into_owned()
            + &String::from_utf8_lossy(&list.stderr);
        assert!(
            list.status.success()
                && said.contains("jit_train_step")
                && said.contains("before the ENTRY"),
            "{said}"
        );
        let mut analyze = Command::new(env!("CARGO_BIN_EXE_systole"));
        let refused = analyze
            .args(["analyze", path])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(
            refused.status.code(),
            Some(4),
            "{}",
            String::from_utf8_lossy(&refused.stderr)
        );
        assert!(String::from_utf8_lossy(&refused.stderr).contains("systole hlo"));
    }
}
