//! Which ops and programs of two runs are the same.

use super::*;

fn matched(base: &[&str], cand: &[&str]) -> Vec<(String, String, MatchedBy)> {
    let (base, cand) = (ops_of(base, Some("1")), ops_of(cand, Some("2")));
    let matching = match_ops(&base, &cand);
    let name = |side: &Summary, index: usize| side.ops[index].name.clone();
    matching
        .pairs
        .iter()
        .map(|pair| (name(&base, pair.base), name(&cand, pair.cand), pair.how))
        .collect()
}

#[test]
fn ops_are_matched_by_their_properties() {
    let same = |how| move |base: &str, cand: &str| (base.to_owned(), cand.to_owned(), how);
    let (same_op, renumbered) = (same(MatchedBy::Same), same(MatchedBy::Renumbered));
    // Ops were renumbered: matching by name would pair the wrong ones.
    let base = [
        "fusion.1 loop f32[8] a",
        "dot.2 conv f32[8] b",
        "fusion.3 loop f32[8] c",
    ];
    let cand = [
        "fusion.1 loop f32[8] c",
        "fusion.2 loop f32[8] a",
        "dot.2 conv f32[8] b",
    ];
    let expected = [
        renumbered("fusion.1", "fusion.2"),
        same_op("dot.2", "dot.2"),
        renumbered("fusion.3", "fusion.1"),
    ];
    assert_eq!(matched(&base, &cand), expected);
    let how = |base: &str, cand: &str| matched(&[base], &[cand]).first().map(|pair| pair.2);
    assert_eq!(
        how("fusion.1 loop f32[8] a", "add_fusion.7 loop f32[8] a"),
        Some(MatchedBy::Renamed)
    );
    assert_eq!(
        how("fusion.1 loop f32[8] a", "fusion.7 loop f32[16] a"),
        Some(MatchedBy::Reshaped)
    );
    assert_eq!(
        how(
            "kernel_64_2.1 call f32[8] a",
            "kernel_128_4.7 call f32[16] b"
        ),
        Some(MatchedBy::Retuned)
    );
    assert_eq!(
        how("copy.1 data f32[8] -", "copy.1 data f32[8] -"),
        Some(MatchedBy::SameName)
    );
    assert_eq!(
        how("a loop f32[8] a", "b loop f32[16] a"),
        Some(MatchedBy::SameOrigin)
    );
    assert_eq!(how("a loop f32[8] a", "b other f32[16] c"), None);
}

#[test]
fn ops_are_matched_by_name_only_within_the_same_program() {
    let (base, cand) = (
        ops_of(&["x loop f32[8] a"], Some("1")),
        ops_of(&["x other f32[9] b"], Some("1")),
    );
    assert_eq!(match_ops(&base, &cand).pairs[0].how, MatchedBy::SameProgram);
}

#[test]
fn identical_ops_match_in_order_and_the_extra_one_is_new() {
    // A layer was inserted: its op is the one whose neighbours differ.
    let base = [
        "a.1 loop f32[1] l",
        "fusion.1 loop f32[8] a",
        "b.1 loop f32[2] l",
        "fusion.2 loop f32[8] a",
        "c.1 loop f32[3] l",
    ];
    let cand = [
        "a.1 loop f32[1] l",
        "fusion.1 loop f32[8] a",
        "new.1 loop f32[9] n",
        "fusion.2 loop f32[8] a",
        "b.1 loop f32[2] l",
        "fusion.3 loop f32[8] a",
        "c.1 loop f32[3] l",
    ];
    let (base, cand) = (ops_of(&base, None), ops_of(&cand, None));
    let matching = match_ops(&base, &cand);
    let alone: Vec<&str> = matching
        .cand_only
        .iter()
        .map(|&i| cand.ops[i].name.as_str())
        .collect();
    assert_eq!(matching.base_only, [0_usize; 0]);
    assert_eq!(alone.len(), 2, "{alone:?}");
    assert!(alone.contains(&"new.1"), "{alone:?}");
}

#[test]
fn programs_are_paired_by_fingerprint_then_name_then_size() {
    let programs = |list: &[(&str, Option<&str>)]| {
        let program = |&(name, id): &(&str, Option<&str>)| ProgramFacts {
            name: name.to_owned(),
            id: id.map(str::to_owned),
            ..ProgramFacts::default()
        };
        let programs: Vec<ProgramFacts> = list.iter().map(program).collect();
        let op = |place: usize| OpTimes {
            program: Some(place),
            ..ops_of(&["x loop f32[8] -"], None).ops[0].clone()
        };
        let ops = (0..programs.len()).map(op).collect();
        Summary {
            facts: SummaryFacts {
                programs,
                ..SummaryFacts::default()
            },
            ops,
            ..Summary::default()
        }
    };
    let base = programs(&[
        ("step", Some("1")),
        ("step", Some("2")),
        ("eval", None),
        ("a", Some("7")),
    ]);
    let cand = programs(&[
        ("step", Some("9")),
        ("b", Some("7")),
        ("eval", None),
        ("step", Some("1")),
    ]);
    let pairs: Vec<_> = match_ops(&base, &cand)
        .pairs
        .iter()
        .map(|pair| (pair.base, pair.cand, pair.how))
        .collect();
    let expected = [
        (0, 3, MatchedBy::SameProgram),
        (1, 0, MatchedBy::SameName),
        (2, 2, MatchedBy::SameName),
        (3, 1, MatchedBy::SameName),
    ];
    assert_eq!(pairs, expected);
}
