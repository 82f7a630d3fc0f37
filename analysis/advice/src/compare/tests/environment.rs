//! Differences of the environment, and what they have to do with the time.

use engine::Environment;

use super::*;

fn with(mut run: Summary, jaxlib: &str, flags: Option<&str>) -> Summary {
    let mut environment = Environment::default();
    environment.add_recorded("jaxlib_version", jaxlib);
    if let Some(flags) = flags {
        environment.add_recorded("XLA_FLAGS", flags);
    }
    run.facts.environment = Some(environment);
    run
}

/// Each row as `title base → cand`.
fn shown(compared: &Comparison) -> Vec<String> {
    compared
        .environment
        .iter()
        .map(EnvironmentChange::in_words)
        .collect()
}

#[test]
fn only_what_differs_is_listed_and_comes_first() {
    let (first, second) = (
        with(base(), "0.10.1", Some("--xla_a=1 --xla_same=7")),
        with(cand(), "0.10.2", Some("--xla_b=2 --xla_same=7")),
    );
    let compared = compare(&[first], &[second], &CompareOptions::default());
    assert_eq!(
        shown(&compared),
        [
            "jaxlib 0.10.1 → 0.10.2",
            "--xla_a 1 → not set",
            "--xla_b not set → 2"
        ]
    );
    assert_eq!(compared.tables()[0].id, "environment");
    let versions = compared.differences.iter().find(|one| one.id == "versions");
    assert!(
        versions.is_some_and(|one| !one.base.contains("xla_same")),
        "{versions:?}"
    );
}

#[test]
fn what_one_side_does_not_know_is_unknown_with_the_reason() {
    let compared = compare(
        &[with(base(), "0.10.1", None)],
        &[cand()],
        &CompareOptions::default(),
    );
    assert_eq!(shown(&compared), ["jaxlib 0.10.1 → unknown"]);
    let note = compared.environment[0].note.as_deref().unwrap();
    assert!(note.starts_with("cand has no systole.run.json"), "{note}");
    let neither = compare(&[base()], &[cand()], &CompareOptions::default());
    assert!(neither.environment.is_empty());
    assert_eq!(neither.tables()[0].id, "differences");
    let json = serde_json::to_value(&neither).unwrap();
    assert!(
        json.get("environment").is_none(),
        "absent where nothing is known"
    );
}

#[test]
fn runs_of_one_side_that_differ_are_all_named() {
    let side = [with(base(), "0.10.1", None), with(base(), "0.10.3", None)];
    let compared = compare(
        &side,
        &[with(cand(), "0.10.2", None)],
        &CompareOptions::default(),
    );
    assert_eq!(shown(&compared), ["jaxlib 0.10.1 or 0.10.3 → 0.10.2"]);
}

#[test]
fn causes_name_the_environment_the_ops_the_source_and_the_time() {
    let (first, second) = (with(base(), "0.10.1", None), with(cand(), "0.10.2", None));
    let compared = compare(&[first], &[second], &CompareOptions::default());
    let causes = compared.causes.as_ref().unwrap();
    // Two nanoseconds more of the product, one less of the gather: nothing else moved.
    assert_eq!(
        causes.lines[0].text,
        "jaxlib 0.10.1 → 0.10.2 · fusion.1 → fusion.9 slower (XLA f32 fusions) · a.py:1 · +2.000 ns"
    );
    assert!(causes.unexplained_ps.abs() < 1.0, "{causes:?}");
    assert!(causes.note.contains("is a candidate"), "{}", causes.note);
}

#[test]
fn a_fusion_that_was_split_says_so() {
    let whole = "v = fusion.12 [loop fusion] tf=jit(f)/norm/mul source=/p/layernorm.py:147 :: \
                 %fusion.12 = f32[8,8] fusion(f32[8,8] %p)";
    let parts = ["v", "w", "x"].map(|sign| {
        whole.replacen('v', sign, 1).replace(
            "fusion.12",
            &format!(
                "fusion.{}",
                20 + sign.len() + usize::from(sign.as_bytes()[0])
            ),
        )
    });
    let run = |ops: &str, legend: &str| {
        let steps = |sign: &str| sign.repeat(ops.len());
        let modules = format!("{}.", "M".repeat(ops.len() - 1));
        summary(&format!(
            "
        steps: {}{}
        modules: {modules}{modules}
        ops  : {ops}{ops}
        M = jit_step(7)
        {legend}
        ",
            steps("0"),
            steps("1")
        ))
    };
    let (first, second) = (
        run("vvvv.", whole),
        run("vvvwwwxxx.", &parts.join("\n        ")),
    );
    let options = CompareOptions {
        force: true,
        ..CompareOptions::default()
    };
    let compared = compare(&[first], &[second], &options);
    let causes = compared.causes.as_ref().unwrap();
    assert_eq!(
        causes.lines[0].text,
        "fusion.12 split in three (norm/mul) · layernorm.py:147 · +5.000 ns"
    );
}

#[test]
fn an_op_beside_one_that_kept_its_time_is_new_or_gone() {
    let run = |ops: &str| {
        let steps = |sign: &str| sign.repeat(ops.len());
        let modules = format!("{}.", "M".repeat(ops.len() - 1));
        summary(&format!(
            "
        steps: {}{}
        modules: {modules}{modules}
        ops  : {ops}{ops}
        M = jit_step(7)
        v = fusion.1 [loop fusion] tf=jit(f)/a source=/p/m.py:7 :: %fusion.1 = f32[8,8] fusion(f32[8,8] %p)
        w = fusion.2 [loop fusion] tf=jit(f)/a source=/p/m.py:7 :: %fusion.2 = f32[8,8] fusion(f32[8,8] %p)
        ",
            steps("0"),
            steps("1")
        ))
    };
    let options = CompareOptions {
        force: true,
        ..CompareOptions::default()
    };
    let line = |base: &str, cand: &str| {
        let compared = compare(&[run(base)], &[run(cand)], &options);
        compared.causes.unwrap().lines[0].text.clone()
    };
    assert!(line("vvvv.", "vvvvwwww.").starts_with("fusion.2 new"));
    assert!(line("vvvvwwww.", "vvvv.").starts_with("fusion.2 gone"));
}

#[test]
fn a_step_that_did_not_change_has_no_cause() {
    let compared = compare(&[base()], &[base()], &CompareOptions::default());
    assert_eq!(compared.causes, None);
}

#[test]
fn flags_of_a_compilers_list_are_no_differences_to_flags_that_were_set() {
    let run = |flags: &[(&str, &str)], has_defaults: bool| {
        let mut environment = Environment {
            has_default_flags: has_defaults,
            flags: Some(std::collections::BTreeMap::default()),
            topology: Some(if has_defaults { "2x2x1" } else { "2x2" }.to_owned()),
            ..Environment::default()
        };
        for (name, value) in flags {
            let id = format!("flag.{name}");
            environment.from_dump.extend(has_defaults.then_some(id));
            let flags = environment.flags.get_or_insert_default();
            flags.insert((*name).to_owned(), (*value).to_owned());
        }
        let mut run = Summary::default();
        run.facts.environment = Some(environment);
        run
    };
    let list = run(
        &[("xla_tpu_a", "1"), ("xla_tpu_b", "false"), ("xla_c", "2")],
        true,
    );
    let set = run(&[("xla_tpu_a", "2"), ("xla_other", "x")], false);
    let changes = super::super::environment::changes(std::slice::from_ref(&list), &[set]);
    let rows: Vec<String> = changes.iter().map(EnvironmentChange::in_words).collect();
    assert_eq!(
        rows,
        [
            "--xla_tpu_a 1 → 2",
            "Flags of one side only 2 values → 1 value"
        ]
    );
    let note = changes[1].note.as_deref().unwrap();
    assert!(
        note.contains("cand records only flags that were set"),
        "{note}"
    );
    // Two lists are compared flag by flag.
    let other = run(&[("xla_tpu_a", "1"), ("xla_tpu_b", "true")], true);
    let changes = super::super::environment::changes(&[list], &[other]);
    let rows: Vec<String> = changes.iter().map(EnvironmentChange::in_words).collect();
    assert_eq!(rows, ["--xla_c 2 → not set", "--xla_tpu_b false → true"]);
}
