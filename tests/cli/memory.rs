//! `systole memory`: error messages in logs, plans of captures, and what is neither.

use std::process::Stdio;

use crate::place::{Place, corpus, json, stderr, stdout};

const MESSAGE: &str = r#"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 17.00G of 15.50G hbm. Exceeded hbm capacity by 1.50G.

Total hbm usage >= 17.50G:
    reserved        512.00M
    program          14.00G
    arguments         3.00G

Output size 2.00G; shares 0B with arguments.

Program hbm requirement 14.00G:
    HLO temp         13.90G (90.0% utilization: Unpadded (9.50G) Padded (13.50G), 1.0% fragmentation (100.00M))

  Largest program allocations in hbm:

  1. Size: 4.00G
     Operator: op_name="jit(step)/jvp(Model)/layers/mlp/dot_general" source_file="/home/u/mlp.py" source_line=88
     Shape: f32[1024,1024,8]{2,1,0:T(8,128)}
     Unpadded size: 256.00M
     Extra memory due to padding: 3.75G (16.0x expansion)
     XLA label: %fusion.7 = f32[1024,1024,8]{2,1,0:T(8,128)} fusion(%p.1)
     Allocation type: HLO temp
     ==========================
"#;

#[test]
fn message_in_megabytes_of_noise_is_explained_on_one_screen() {
    let place = Place::empty();
    let noise = "I0101 00:00:00.0 1 train.py:7] step 1: loss 2.5, 1.2G tokens\n".repeat(60_000);
    let runtime = "RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 129.50M. That was not possible. \
                   There are 78.00M free.; (0x0x0_HBM0)\n";
    place.write(
        "train.log",
        format!("{noise}{MESSAGE}\n{noise}{MESSAGE}{runtime}{noise}").as_bytes(),
    );
    let output = place.run(&["memory", "train.log"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.lines().count() <= 30, "{text}");
    for said in [
        "1.50 GiB too few",
        "4.00 GiB of it padding",
        "mlp.py:88",
        "donate_argnums",
        "which suffices",
        "Also: the next allocation",
    ] {
        assert!(text.contains(said), "{said} in {text}");
    }
    let said = json(stdout(&place.run(&[
        "memory",
        "train.log",
        "--format",
        "json",
    ])));
    assert_eq!(said["shortages"].as_array().unwrap().len(), 2);
    assert_eq!(said["shortages"][0]["over_bytes"], 3_u64 << 29);
    assert_eq!(said["shortages"][0]["fixes"][0]["suffices"], true);
    let md = place.run(&["memory", "train.log", "--format", "md"]);
    assert!(stdout(&md).contains("| fusion.7 |"), "{}", stdout(&md));
    assert!(stdout(&place.run(&["memory", "train.log", "--format", "csv"])).contains("mlp.py:88"));
}

#[test]
fn log_on_standard_input_is_read() {
    let place = Place::empty();
    place.write("train.log", MESSAGE.as_bytes());
    let log = std::fs::File::open(place.path("train.log")).unwrap();
    let output = place
        .command()
        .args(["memory", "-"])
        .stdin(Stdio::from(log))
        .output()
        .unwrap();
    assert!(
        stdout(&output).contains("1.50 GiB too few"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn what_has_neither_message_nor_plan_says_so() {
    let place = Place::empty();
    place.write("empty.log", b"");
    place.write("other.log", b"nothing happened\n");
    for name in ["empty.log", "other.log", "missing.log"] {
        let output = place.run(&["memory", name]);
        assert!(
            matches!(output.status.code(), Some(3 | 4)),
            "{name}: {}",
            stderr(&output)
        );
    }
    let sample = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../assets/samples/synthetic_v5e_8chip_serial.xplane.pb"
    );
    let output = place.run(&["memory", sample]);
    assert!(
        matches!(output.status.code(), Some(0 | 11)),
        "{}",
        stderr(&output)
    );
}

#[test]
fn plans_beside_each_other_are_taken_as_a_dump() {
    let place = Place::empty();
    let plan = |name: &str, bytes: u64| {
        let text = format!(
            "BufferAssignment:\nallocation 0: size {bytes}, preallocated-temp:\n value: <1 x @0> (size={bytes},offset=0): u8[{bytes}]{{0}}\n"
        );
        place.write(
            &format!("dump/module_{name}.cpu_after_optimizations-buffer-assignment.txt"),
            text.as_bytes(),
        );
    };
    std::fs::create_dir(place.path("dump")).unwrap();
    plan("0001.jit_small", 2048);
    plan("0002.jit_large", 65536);
    let output = place.run(&["memory", "dump"]);
    let text = stdout(&output);
    assert!(
        text.starts_with("module_0002.jit_large needs 64.00 KiB of main memory.")
            && text.contains("Also: module_0001.jit_small needs 2.00 KiB of main memory."),
        "{text}{}",
        stderr(&output)
    );
    // A program without a plan gives an estimate only.
    place.write(
        "dump/module_0002.jit_large.cpu_after_optimizations.txt",
        b"HloModule jit_large, is_scheduled=true\n\nENTRY %main (a: f32[8]) -> f32[8] {\n  %a = f32[8]{0} parameter(0)\n  ROOT %n = f32[8]{0} negate(%a)\n}\n",
    );
    let output = place.run(&["memory", "dump"]);
    assert!(
        stdout(&output).starts_with("module_0002.jit_large needs 64.00 KiB"),
        "{output:?}"
    );
    place.write("empty/readme.txt", b"nothing");
    assert_ne!(place.run(&["memory", "empty"]).status.code(), Some(0));
}

#[test]
fn plan_of_a_capture_adds_up() {
    let Some(corpus) = corpus() else { return };
    let path = corpus.join("tpu/v5e_matmul.xplane.pb");
    let output = Place::empty().run(&["memory", path.to_str().unwrap(), "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = json(stdout(&output));
    let shortage = &said["shortages"][0];
    let kinds = shortage["kinds"].as_array().unwrap();
    let sum: u64 = kinds.iter().filter_map(|kind| kind["bytes"].as_u64()).sum();
    assert_eq!(Some(sum), shortage["needed_bytes"].as_u64());
    assert_eq!(shortage["over_bytes"], 0, "it ran");
}
