//! Small programs, whole and damaged.

use trace_model::{IssueKind, TraceBuilder, TraceModel};

use super::*;

/// A copy and a loop of three times two products, for a chip that the clock tells.
const LOOP: &str = r#"HloModule jit_loop, is_scheduled=true, num_partitions=4

%body (t: (s32[], f32[8,8])) -> (s32[], f32[8,8]) {
  %t = (s32[]{:S(6)}, f32[8,8]{1,0}) parameter(0)
  %x = f32[8,8]{1,0} get-tuple-element(%t), index=1
  %dot.1 = f32[8,8]{1,0} dot(%x, %x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, backend_config={"window_config":{"estimated_cycles":"1500"}}
  %dot.2 = f32[8,8]{1,0} dot(%dot.1, /*index=1*/%x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, backend_config={"window_config":{"estimated_cycles":"3000"}}
  %i = s32[]{:S(6)} get-tuple-element(%t), index=0
  ROOT %tuple = (s32[]{:S(6)}, f32[8,8]{1,0}) tuple(%i, %dot.2)
}

%cond (c: (s32[], f32[8,8])) -> pred[] {
  %c = (s32[]{:S(6)}, f32[8,8]{1,0}) parameter(0)
  ROOT %lt = pred[] constant(true)
}

ENTRY %main (p: (s32[], f32[8,8])) -> (s32[], f32[8,8]) {
  %p = (s32[]{:S(6)}, f32[8,8]{1,0}) parameter(0)
  ROOT %while.1 = (s32[]{:S(6)}, f32[8,8]{1,0}) while(%p), condition=%cond, body=%body, backend_config={"known_trip_count":{"n":"3"}}
}
"#;

fn import(name: &str, text: &str) -> Result<TraceModel, ImportError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let source = Source::open(&path).unwrap();
    let mut builder = TraceBuilder::new();
    ScheduledHlo.import(&source, &ImportOptions::default(), &Progress::new(), &mut builder)?;
    Ok(builder.finish())
}

fn names(model: &TraceModel) -> Vec<(String, i64)> {
    let core = model.tensor_cores()[0];
    let ops = model.track_of_kind(core, trace_model::TrackKind::Ops).unwrap();
    let mut all: Vec<_> =
        model.slices_on(ops).map(|it| (it.name().to_owned(), it.start().ps(), it.dur().ps())).collect();
    all.sort_by_key(|&(_, start, dur)| (start, -dur));
    all.into_iter().map(|(name, _, dur)| (name, dur / 1_000_000)).collect()
}

#[test]
fn a_loop_runs_as_often_as_the_compiler_knows() {
    let model = import("loop.v5e.txt", LOOP).unwrap();
    let body = [("dot.1", 1), ("dot.2", 2)];
    let expected: Vec<_> =
        [("while.1", 9)].into_iter().chain(body.repeat(3)).map(|(n, us)| (n.to_owned(), us)).collect();
    assert_eq!(names(&model), expected);
    let text = |name: &str| {
        let op = model.op(model.all_slices().find(|slice| slice.name() == name).unwrap().op().unwrap());
        model.str(op.hlo_text.unwrap())
    };
    let dot = "%dot.2 = f32[8,8]{1,0} dot(f32[8,8]{1,0} %dot.1, f32[8,8]{1,0} %x), lhs_contracting_dims={1}, rhs_";
    assert!(text("dot.2").starts_with(dot) && !text("dot.2").contains("backend_config"), "{}", text("dot.2"));
    assert!(text("while.1").contains("known_trip_count"));
    let unknown = import("loop.v5e.txt", &LOOP.replace("known_trip_count", "other")).unwrap();
    assert_eq!(unknown.import_log().count(IssueKind::TripCountUnknown), 1);
    assert_eq!(names(&unknown)[0], ("while.1".to_owned(), 3));
}

#[test]
fn a_loop_without_end_is_folded() {
    let model = import("loop.v5e.txt", &LOOP.replace("\"3\"", "\"1000000000\"")).unwrap();
    assert!(model.slice_count() < 110_000);
    assert_eq!(model.import_log().count(IssueKind::LoopFolded), 1);
    assert_eq!(names(&model)[0], ("while.1".to_owned(), 3_000_000_000));
    // Nor does one that does nothing, or calls itself, hang.
    let empty =
        LOOP.replace("\"3\"", "\"18446744073709551615\"").replace("\"estimated_cycles\":\"1500\"", "\"other\":\"1\"");
    let empty = empty.replace("\"3000\"", "\"0\"");
    assert_eq!(names(&import("loop.v5e.txt", &empty).unwrap()), [("while.1".to_owned(), 0)]);
    let twice =
        "  %w = s32[] while(%t), body=%body, backend_config={\"known_trip_count\":{\"n\":\"9\"}}\n  ROOT %tuple";
    let ring = import("loop.v5e.txt", &LOOP.replace("  ROOT %tuple", twice)).unwrap();
    assert!(ring.slice_count() < 200_000);
}

#[test]
fn the_clock_comes_from_a_schedule_beside() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("module_0001.jit_loop.schedule.txt"), "…\n  cycles_per_microsecond: 3000\n}\n")
        .unwrap();
    let path = folder.path().join("module_0001.jit_loop.after_codegen.v5e.txt");
    std::fs::write(&path, LOOP).unwrap();
    let mut builder = TraceBuilder::new();
    ScheduledHlo
        .import(&Source::open(&path).unwrap(), &ImportOptions::default(), &Progress::new(), &mut builder)
        .unwrap();
    let model = builder.finish();
    let clock = model.sources()[0].facts.iter().find(|(name, _)| name == "clock").unwrap();
    assert_eq!(clock.1, "3000 MHz, of the schedule beside");
    assert_eq!(model.extent().dur().ps(), 4_500_000);
}

#[test]
fn refusals_say_where_and_what_to_do() {
    let refused = |name: &str, text: &str, parts: &[&str]| {
        let error = import(name, text).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    };
    refused("loop.txt", LOOP, &["cannot use", "jit_loop", "v5p", "schedule.txt"]);
    refused("v5e.txt", &LOOP.replace(", is_scheduled=true", ""), &["not scheduled", "as_text()"]);
    refused("v5e.txt", &LOOP.replace("estimated_cycles", "cycles"), &["not compiled for a TPU"]);
    refused("v5e.txt", &LOOP[..400], &["ends at line 7", "computation body", "save it again"]);
}

#[test]
fn cut_anywhere_it_is_refused_or_says_so() {
    for cut in 0..LOOP.len() - 2 {
        if let Ok(model) = import("v5e.txt", &LOOP[..cut]) {
            assert_eq!(model.import_log().count(IssueKind::TruncatedFile), 1, "cut at {cut}");
        }
    }
}

#[test]
fn damaged_lines_and_absurd_numbers_are_survived() {
    let broken = LOOP.replace("get-tuple-element(%t), index=0", "get-tuple-element(%t, index=0");
    assert_eq!(import("v5e.txt", &broken).unwrap().import_log().count(IssueKind::MalformedEvent), 1);
    let absurd = LOOP.replace("\"1500\"", "\"18446744073709551615\"");
    assert!(import("v5e.txt", &absurd).unwrap().import_log().count(IssueKind::TimeOutOfRange) > 0);
    let deep = format!("  %deep = {} tuple()\n  ROOT %while.1", "(".repeat(100_000));
    assert!(import("v5e.txt", &LOOP.replace("  ROOT %while.1", &deep)).is_ok());
}

#[test]
fn a_conditional_takes_the_longest_branch() {
    let branches = "  %c = f32[8,8]{1,0} conditional(%p, %p, %p), branch_computations={%short, %body}\n  ROOT %while.1";
    let short = "%short (s: f32[8,8]) -> f32[8,8] {\n  ROOT %s = f32[8,8]{1,0} parameter(0)\n}\n\nENTRY";
    let text = LOOP.replace("  ROOT %while.1", branches).replace("ENTRY", short);
    let names = names(&import("v5e.txt", &text).unwrap());
    assert_eq!(names[..3], [("c".to_owned(), 3), ("dot.1".to_owned(), 1), ("dot.2".to_owned(), 2)]);
}

/// Each of thirty loops calls the next one nine times: more than anybody can wait for.
#[test]
fn loops_in_loops_in_loops_end() {
    let body = |n: usize| {
        let inner = format!("while(%t{n}), body=%b{}, backend_config={{\"known_trip_count\":{{\"n\":\"9\"}}}}", n - 1);
        let two = format!("  %x{n} = s32[] {inner}\n  ROOT %w{n} = s32[] {inner}\n");
        format!("%b{n} (t: s32[]) -> s32[] {{\n  %t{n} = s32[] parameter(0)\n{two}}}\n\n")
    };
    let bodies: String = (1..30).map(body).collect();
    let text = LOOP
        .replace("%body (t", "%b0 (t")
        .replace("ENTRY", &format!("{bodies}ENTRY"))
        .replace("body=%body", "body=%b29");
    let model = import("v5e.txt", &text).unwrap();
    assert!(model.slice_count() < 200_000);
    assert!(model.import_log().count(IssueKind::LoopFolded) > 0);
}
