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
