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

/// The first line of causes between two runs of these ops.
fn first_line(ops: [&str; 2], legends: [&str; 2]) -> String {
    let run = |side: usize| {
        let legend = format!("M = jit_step(7)\n{}", legends[side]);
        [why::steps_of(ops[side], &legend)]
    };
    let options = CompareOptions {
        force: true,
        ..CompareOptions::default()
    };
    let compared = compare(&run(0), &run(1), &options);
    compared.causes.unwrap().lines[0].text.clone()
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
    let parts = parts.join("\n");
    assert_eq!(
        first_line(["vvvv", "vvvwwwxxx"], [whole, &parts]),
        "fusion.12 split in three (norm/mul) · layernorm.py:147 · +5.000 ns"
    );
    // No part takes several times as long as the whole took.
    assert_eq!(
        first_line(["v", "vvwwwwwwxxxxx"], [whole, &parts]),
        "fusion.140 and one more new, fusion.12 → fusion.139 slower (norm/mul) · layernorm.py:147 · +12.00 ns"
    );
}

#[test]
fn an_op_beside_one_that_kept_its_time_is_new_or_gone() {
    let legend = "
        v = fusion.1 [loop fusion] tf=jit(f)/a source=/p/m.py:7 :: %fusion.1 = f32[8,8] fusion(f32[8,8] %p)
        w = fusion.2 [loop fusion] tf=jit(f)/a source=/p/m.py:7 :: %fusion.2 = f32[8,8] fusion(f32[8,8] %p)";
    let line = |base, cand| first_line([base, cand], [legend; 2]);
    assert!(line("vvvv", "vvvvwwww").starts_with("fusion.2 new"));
    assert!(line("vvvvwwww", "vvvv").starts_with("fusion.2 gone"));
}

/// The words of a line name the ops that its time is of: the ops of the group, also where another group has the counterpart.
#[test]
fn ops_that_another_group_replaces_are_gone_from_theirs() {
    let product = |sign: char, number: u32, name: &str| {
        format!(
            "{sign} = {name}.{number} [custom-call] tf=jit(f)/mlp{number}/{name}/pallas_call :: \
             %{name}.{number} = bf16[8,{number}] custom-call(bf16[8,32] %x, bf16[{number},32] %w)\n"
        )
    };
    let of = |name: &str| product('v', 16, name) + &product('w', 24, name);
    let lines = |base: &str, cand: &str| {
        first_line(
            [base, cand],
            [&of("fast"), &(of("quick") + &product('x', 40, "quick"))],
        )
    };
    assert_eq!(
        lines("vvvvvvvvvwwwwww", "vvww"),
        "fast.16 and one more gone (fast bf16) · -15.00 ns"
    );
    assert_eq!(
        lines("vw", "vvvvvwwwwwwxxxxxxx"),
        "quick.40 and two more new (quick bf16) · +18.00 ns"
    );
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
            flags: Some(BTreeMap::default()),
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
