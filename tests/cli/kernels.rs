//! `systole kernels` of two runs.

use crate::place::{Place, corpus, json, stderr, stdout};

#[test]
fn kernels_with_other_blocks_are_compared() {
    let Some(corpus) = corpus() else { return };
    let paths =
        ["a", "b"].map(|name| corpus.join(format!("tpu/v7x_vllm_tp2_{name}.trace.json.gz")));
    let [base, cand] = paths.each_ref().map(|path| path.to_str().unwrap());
    let output = Place::empty().run(&["kernels", base, cand, "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = json(stdout(&output))["reports"]["kernels"]["report"]["rows"].clone();
    let attention = rows
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["base_kernel"] == "RPA-bq_32-bkvp_64-p_64-")
        .unwrap();
    assert_eq!(attention["cand_kernel"], "RPA-bq_32-bkvp_32-p_128-");
    assert_eq!(attention["verdict"], "slower", "{attention}");
    let change = attention["change_percent"].as_f64().unwrap();
    assert!((20.0..25.0).contains(&change), "{change}");
    assert!(
        rows.as_array()
            .unwrap()
            .iter()
            .any(|row| row["verdict"] == "new" && row["base_kernel"].is_null()),
        "{rows}"
    );
    let other = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../assets/samples/jax_cpu_small.xplane.pb"
    );
    let none = Place::empty().run(&["kernels", base, other]);
    assert!(
        stdout(&none).contains("not applicable") && !stdout(&none).contains("gone"),
        "{}",
        stdout(&none)
    );
    assert_eq!(none.status.code(), Some(11), "one side is not known");
    for args in [&["kernels", other][..], &["whatif", other, "--ici", "2x"]] {
        assert_eq!(Place::empty().code(args), 11, "{args:?}");
    }
    let same = Place::empty().run(&["kernels", base, base]);
    let text = stdout(&same);
    assert!(!text.contains("slower") && text.contains('~'), "{text}");
}

/// The tables of a dump match only ops of a program that was played, which needs its chip.
#[test]
fn code_without_a_chip_says_so() {
    const PROGRAM: &[u8] = b"HloModule jit_f, is_scheduled=true\n\n\
        ENTRY %main (p: f32[8,8]) -> f32[8,8] {\n\
        \x20 %p = f32[8,8]{1,0} parameter(0)\n\
        \x20 ROOT %fusion.1 = f32[8,8]{1,0} negate(%p), \
        backend_config={\"window_config\":{\"estimated_cycles\":\"1500\"}}\n}\n";
    const TABLE: &[u8] = b"== CAPACTIY:\nMATMUL, VLOAD\n    4     3\n== UTILIZATION:\n4 3\n0 0\n";
    const TEXT: &[u8] = b"Schedule analysis:\n\ttotal scheduled bundles:    2\n\
        \t2.00 scheduled bundles (100.00%): %fusion.1 = f32[8,8]{1,0} negate(%p)\n";
    let place = Place::empty();
    let table = "jf/5-fusion.1-64-final_hlo-static-per-bundle-utilization.txt";
    place.write(table, TABLE);
    place.write("jf/5-fusion.1-65-schedule-analysis_final_bundles.txt", TEXT);
    for name in ["program.txt", "program.v5e.txt"] {
        place.write(name, PROGRAM);
    }
    let bundles = [
        "--llo", "jf", "--only", "bundles", "--table", "bundles", "--format", "csv",
    ];
    let of = |name| place.run(&[&["analyze", name], &bundles[..]].concat());
    let found = of("program.v5e.txt");
    assert!(stdout(&found).contains("fusion.1"), "{}", stderr(&found));
    let said = stderr(&of("program.txt"));
    for words in [
        "its tables (1) were matched with no op, because the chip that jit_f was compiled for is unknown",
        "there is no table \"bundles\": bundles does not apply: no op of this program is known, because the chip",
    ] {
        assert!(said.contains(words), "{said}");
    }
}
