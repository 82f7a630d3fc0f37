//! Programs against mutations of themselves.

use super::*;
use crate::TextProgram;

/// Two layers and a loop, with labels.
const TEXT: &str = "HloModule jit_step, is_scheduled=true

%fused.1 (p.1: bf16[8,4], p.2: bf16[4,16]) -> f32[8,16] {
  %p.1 = bf16[8,4]{1,0} parameter(0)
  %p.2 = bf16[4,16]{1,0} parameter(1)
  ROOT %conv.1 = f32[8,16]{1,0} convolution(%p.1, %p.2), dim_labels=bf_io->bf
}

%sum.1 (x: f32[], y: f32[]) -> f32[] {
  %x.1 = f32[] parameter(0)
  %y.1 = f32[] parameter(1)
  ROOT %add.1 = f32[] add(%x.1, %y.1)
}

ENTRY %main (a: bf16[8,4], b: bf16[4,16]) -> f32[8,16] {
  %a = bf16[8,4]{1,0} parameter(0), metadata={op_name=\"a\"}
  %b = bf16[4,16]{1,0} parameter(1), metadata={op_name=\"b\"}
  %copy.1 = bf16[4,16]{1,0} copy(%b)
  %fusion.1 = f32[8,16]{1,0:T(8,128)} fusion(%a, %copy.1), kind=kOutput, calls=%fused.1, metadata={op_name=\"jit(f)/dot\" source_file=\"m.py\" source_line=3}
  %all-reduce.2 = f32[8,16]{1,0} all-reduce(%fusion.1), channel_id=1, replica_groups={{0,1},{2,3}}, to_apply=%sum.1, metadata={op_name=\"jit(f)/psum\"}
  %exp.1 = f32[8,16]{1,0} exponential(%all-reduce.2)
  %tanh.1 = f32[8,16]{1,0} tanh(%all-reduce.2)
  %k.1 = f32[8,16]{1,0} custom-call(%exp.1), custom_call_target=\"tpu_custom_call\", backend_config={\"body\":\"AAAA\"}
  ROOT %out.1 = f32[8,16]{1,0} add(%tanh.1, %k.1)
}
";

fn compared(second: &str) -> (HloModule, HloModule, ProgramMatch) {
    compared_with(TEXT, second)
}

fn compared_with(first: &str, second: &str) -> (HloModule, HloModule, ProgramMatch) {
    let read = |text| TextProgram::read(text).unwrap().module;
    let (first, second) = (read(first), read(second));
    let found = ProgramMatch::of(&first, &second);
    (first, second, found)
}

fn names<'a>(module: &'a HloModule, ids: &[InstructionId]) -> Vec<&'a str> {
    let name = |id: &InstructionId| &*module.instruction(*id).unwrap().name;
    ids.iter().map(name).collect()
}

fn changed(module: &HloModule, found: &ProgramMatch) -> Vec<String> {
    let changed = found.pairs.iter().filter(|pair| !pair.is_same);
    let name = |pair: &MatchedInstruction| module.instruction(pair.first).unwrap().name.to_string();
    changed.map(name).collect()
}

#[test]
fn names_numbers_and_labels_do_not_matter() {
    let mut renamed = TEXT
        .replace("m.py", "/other/place/n.py")
        .replace("source_line=3", "source_line=99");
    for (from, to) in [
        ("jit_step", "jit_other"),
        ("%fused.1", "%fn.77"),
        ("%sum.1", "%region_3"),
        ("%p.1", "%q.12"),
        ("%copy.1", "%z"),
        ("%fusion.1", "%loop_fusion.4"),
        ("%all-reduce.2", "%psum.9"),
        ("%exp.1", "%e"),
        ("channel_id=1", "channel_id=40"),
        ("op_name=\"jit(f)/dot\"", "op_name=\"jit(g)/other\""),
    ] {
        renamed = renamed.replace(from, to);
    }
    let (_, _, found) = compared(&renamed);
    assert!(found.is_equal() && found.is_complete, "{found:?}");
    assert_eq!(found.order.unwrap().moved, 0);
    assert_eq!(found.pairs.len(), 9, "what runs, without bodies");
}

#[test]
fn serialized_kernels_are_counted_and_not_compared() {
    let (_, _, found) = compared(&TEXT.replace("AAAA", "BBBB"));
    assert!(found.is_equal());
    assert_eq!(
        (found.configured_otherwise, found.kernels_otherwise),
        (1, 1)
    );
    let other = TEXT.replace("tpu_custom_call", "other_call");
    let (first, _, found) = compared(&other);
    assert_eq!(changed(&first, &found), ["k.1"]);
}

#[test]
fn an_added_collective_is_one_difference() {
    let added = "  %ag = f32[8,16]{1,0} all-gather(%all-reduce.2), dimensions={0}\n  %exp.1 = f32[8,16]{1,0} exponential(%ag)";
    let second = TEXT.replace(
        "  %exp.1 = f32[8,16]{1,0} exponential(%all-reduce.2)",
        added,
    );
    let (first, other, found) = compared(&second);
    assert_eq!(names(&other, &found.only_second), ["ag"]);
    assert_eq!(
        (found.only_first.len(), changed(&first, &found).len()),
        (0, 0)
    );
    let (_, _, back) = compared_with(&second, TEXT);
    assert_eq!((back.only_first.len(), back.only_second.len()), (1, 0));
}

/// What is inside of a fusion belongs to it, but a collective is told by itself.
#[test]
fn a_collective_inside_of_a_body_is_found() {
    let added = "  %ag = bf16[8,4]{1,0} all-gather(%p.1), dimensions={0}\n  ROOT %conv.1";
    let second = TEXT.replace("  ROOT %conv.1", added);
    let (first, other, found) = compared(&second);
    assert_eq!(names(&other, &found.only_second), ["ag"]);
    assert!(found.only_first.is_empty() && changed(&first, &found).is_empty());
    let used = second.replace("convolution(%p.1,", "convolution(%ag,");
    let (first, other, found) = compared(&used);
    assert_eq!(names(&other, &found.only_second), ["ag"]);
    assert_eq!(changed(&first, &found), ["fusion.1"]);
}

#[test]
fn another_operand_is_a_change_of_the_user() {
    let second = TEXT.replace("add(%tanh.1, %k.1)", "add(%exp.1, %k.1)");
    let (first, _, found) = compared(&second);
    assert_eq!(changed(&first, &found), ["out.1"]);
    // What exchanges its operands is not the same.
    let swapped = TEXT.replace("add(%tanh.1, %k.1)", "subtract(%tanh.1, %k.1)");
    let (first, _, found) = compared_with(
        &swapped,
        &swapped.replace("(%tanh.1, %k.1)", "(%k.1, %tanh.1)"),
    );
    assert_eq!(changed(&first, &found), ["out.1"]);
}

#[test]
fn types_layouts_bodies_and_attributes_are_changes() {
    for (from, to, expected) in [
        (
            "f32[8,16]{1,0} exponential",
            "f32[8,16]{0,1} exponential",
            &["exp.1"][..],
        ),
        ("{1,0} tanh", "{1,0:S(1)} tanh", &["tanh.1"]),
        ("{{0,1},{2,3}}", "{{0,2},{1,3}}", &["all-reduce.2"]),
        (
            "dim_labels=bf_io->bf",
            "dim_labels=bf_oi->bf",
            &["fusion.1"],
        ),
        ("add(%x.1, %y.1)", "maximum(%x.1, %y.1)", &["all-reduce.2"]),
        (
            "%copy.1 = bf16[4,16]{1,0} copy",
            "%copy.1 = f32[4,16]{1,0} copy",
            &["copy.1", "fusion.1"],
        ),
    ] {
        let (first, _, found) = compared(&TEXT.replace(from, to));
        assert_eq!(changed(&first, &found), expected, "{from} -> {to}");
        assert_eq!(
            (found.only_first.len(), found.only_second.len()),
            (0, 0),
            "{to}"
        );
    }
}

#[test]
fn another_order_is_told_apart_from_another_program() {
    let (exp, tanh) = (
        "  %exp.1 = f32[8,16]{1,0} exponential(%all-reduce.2)\n",
        "  %tanh.1 = f32[8,16]{1,0} tanh(%all-reduce.2)\n",
    );
    let second = TEXT.replace(&format!("{exp}{tanh}"), &format!("{tanh}{exp}"));
    assert_ne!(second, TEXT);
    let (_, _, found) = compared(&second);
    assert!(found.is_equal());
    assert_eq!(
        found.order,
        Some(ScheduleDifference {
            compared: 7,
            moved: 1
        })
    );
    let (_, _, found) = compared(&second.replace(", is_scheduled=true", ""));
    assert_eq!(found.order, None);
}

#[test]
fn damaged_texts_are_compared_as_far_as_they_go() {
    for cut in "HloModule j".len()..TEXT.len() {
        let _ = compared(TEXT.get(..cut).unwrap());
    }
}

/// A fusion of two operations, in two layers.
const FUSED: &str = "HloModule jit_step

%both.1 (p: f32[8]) -> f32[8] {
  %p = f32[8] parameter(0)
  %exp.1 = f32[8] exponential(%p), metadata={op_name=\"jit(f)/exp\"}
  ROOT %neg.1 = f32[8] negate(%exp.1), metadata={op_name=\"jit(f)/neg\"}
}

%both.2 (p: f32[8]) -> f32[8] {
  %p = f32[8] parameter(0)
  %exp.2 = f32[8] exponential(%p), metadata={op_name=\"jit(f)/next/exp\"}
  ROOT %neg.2 = f32[8] negate(%exp.2), metadata={op_name=\"jit(f)/next/neg\"}
}

ENTRY %main (a: f32[8]) -> f32[8] {
  %a = f32[8] parameter(0)
  %fusion.1 = f32[8] fusion(%a), kind=kLoop, calls=%both.1, metadata={op_name=\"jit(f)/neg\"}
  %sort.1 = f32[8] sort(%fusion.1), dimensions={0}
  ROOT %fusion.2 = f32[8] fusion(%sort.1), kind=kLoop, calls=%both.2, metadata={op_name=\"jit(f)/next/neg\"}
}
";

#[test]
fn fusions_are_split_and_joined() {
    let (start, end) = (
        FUSED.find("%both.1").unwrap(),
        FUSED.find("%both.2").unwrap(),
    );
    let split = format!("{}{}", &FUSED[..start], &FUSED[end..])
        .replace(
            "%fusion.1 = f32[8] fusion(%a), kind=kLoop, calls=%both.1, metadata={op_name=\"jit(f)/neg\"}",
            "%e.1 = f32[8] exponential(%a), metadata={op_name=\"jit(f)/exp\"}\n  \
             %n.1 = f32[8] negate(%e.1), metadata={op_name=\"jit(f)/neg\"}",
        )
        .replace("(%fusion.1)", "(%n.1)");
    let of = |module: &HloModule, other: &HloModule, found: &[DividedFusion]| {
        let one = |it: &DividedFusion| {
            let parts = names(other, &it.parts).join(" ");
            format!("{} = {parts}", names(module, &[it.whole])[0])
        };
        found.iter().map(one).collect::<Vec<_>>()
    };
    let (first, second, found) = compared_with(FUSED, &split);
    assert_eq!(of(&first, &second, &found.split), ["fusion.1 = e.1 n.1"]);
    assert!(found.joined.is_empty() && found.only_first.is_empty() && found.only_second.is_empty());
    assert!(!found.is_equal() && changed(&first, &found).is_empty());
    let (first, second, found) = compared_with(&split, FUSED);
    assert_eq!(of(&second, &first, &found.joined), ["fusion.1 = e.1 n.1"]);
    assert!(found.split.is_empty() && found.only_first.is_empty() && found.only_second.is_empty());
    // Work that is done more often is other work.
    let twice = FUSED.replace(
        "ROOT %neg.1",
        "%exp.3 = f32[8] exponential(%exp.1), metadata={op_name=\"jit(f)/exp\"}\n  ROOT %neg.1",
    );
    let (_, _, found) = compared_with(&twice, &split);
    assert!(found.split.is_empty() && !found.only_second.is_empty());
    // Other work is no part of it.
    let other = split.replace("jit(f)/exp", "jit(f)/sin");
    let (_, _, found) = compared_with(FUSED, &other);
    assert!(found.split.is_empty() && !found.only_second.is_empty());
}
