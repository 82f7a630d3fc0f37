//! Tests with small programs, intact and damaged.

use trace_model::{IssueKind, TraceBuilder, TraceModel};

use super::*;

/// A copy, and a loop of three iterations with two products each. The chip follows from the clock.
const LOOP: &str = include_str!("../../../tests/fixtures/loop.hlo.txt");

fn import(name: &str, text: &str) -> Result<TraceModel, ImportError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let source = InputSource::open(&path).unwrap();
    let mut builder = TraceBuilder::new();
    ScheduledHlo.import(
        &source,
        &ImportOptions::default(),
        &Progress::new(),
        &mut builder,
    )?;
    Ok(builder.finish())
}

#[test]
fn truncation_and_approximation_are_logged() {
    let count = |text: &str, kind| import("f.v5e.txt", text).unwrap().import_log().count(kind);
    assert_eq!(
        (
            count(LOOP, IssueKind::TextCut),
            count(LOOP, IssueKind::CostRounded)
        ),
        (0, 0)
    );
    let long = LOOP.replacen(
        "backend_config",
        &format!(
            "metadata={{op_name=\"{}\"}}, backend_config",
            "f".repeat(1 << 17)
        ),
        1,
    );
    assert_eq!(count(&long, IssueKind::TextCut), 1);
    let wide = LOOP.replacen(
        "dot(%x, %x), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "convolution(%x, %x), window={size=2000000 pad=1000000_999999}, dim_labels=b0f_i0o->b0f",
        1,
    );
    let wide = wide.replace("%x = f32[8,8]{1,0}", "%x = f32[8,2000000,8]{2,1,0}");
    let wide = wide.replace("%dot.1 = f32[8,8]{1,0}", "%dot.1 = f32[8,2000000,8]{2,1,0}");
    assert_eq!(count(&wide, IssueKind::CostRounded), 1);
}

/// Two frames that are each other's parent, with and without source locations.
#[test]
fn cyclic_stack_frames_end_and_are_counted() {
    let tables = "FileNames\n1 \"a.py\"\n\nFunctionNames\n1 \"f\"\n\nFileLocations\n\
                  1 {file_name_id=1 function_name_id=1 line=3}\n\nStackFrames\n\
                  1 {file_location_id=7 parent_frame_id=2}\n2 {file_location_id=7 parent_frame_id=1}\n\
                  3 {file_location_id=1 parent_frame_id=4}\n4 {file_location_id=1 parent_frame_id=3}\n";
    let text = LOOP.replacen("\n\n", &format!("\n\n{tables}\n"), 1);
    let text = text.replacen(
        "backend_config",
        "metadata={op_name=\"x\" stack_frame_id=1}, backend_config",
        1,
    );
    let text = text.replacen(
        "{1}, rhs_contracting_dims={0}, backend_config",
        "{1}, rhs_contracting_dims={0}, metadata={stack_frame_id=3}, backend_config",
        1,
    );
    let model = import("v5e.txt", &text).unwrap();
    assert_eq!(model.import_log().count(IssueKind::FrameRing), 2);
    let dot = model.op(model
        .all_slices()
        .find(|slice| slice.name() == "dot.2")
        .unwrap()
        .op()
        .unwrap());
    assert_eq!(
        dot.source_stack.map(|stack| model.str(stack)),
        Some("a.py:3\na.py:3")
    );
}

fn names(model: &TraceModel) -> Vec<(String, i64)> {
    let core = model.tensor_cores()[0];
    let ops = model.track_of_kind(core, TrackKind::Ops).unwrap();
    let mut all: Vec<_> = model
        .slices_on(ops)
        .map(|it| (it.name().to_owned(), it.start().ps(), it.dur().ps()))
        .collect();
    all.sort_by_key(|&(_, start, dur)| (start, -dur));
    all.into_iter()
        .map(|(name, _, dur)| (name, dur / 1_000_000))
        .collect()
}

#[test]
fn loop_runs_for_its_known_trip_count() {
    let model = import("loop.v5e.txt", LOOP).unwrap();
    let body = [("dot.1", 1), ("dot.2", 2)];
    let expected: Vec<_> = [("while.1", 9)]
        .into_iter()
        .chain(body.repeat(3))
        .map(|(n, us)| (n.to_owned(), us))
        .collect();
    assert_eq!(names(&model), expected);
    let text = |name: &str| {
        let op = model.op(model
            .all_slices()
            .find(|slice| slice.name() == name)
            .unwrap()
            .op()
            .unwrap());
        model.str(op.hlo_text.unwrap())
    };
    let dot = "%dot.2 = f32[8,8]{1,0} dot(f32[8,8]{1,0} %dot.1, f32[8,8]{1,0} %x), lhs_contracting_dims={1}, rhs_";
    assert!(
        text("dot.2").starts_with(dot) && !text("dot.2").contains("backend_config"),
        "{}",
        text("dot.2")
    );
    assert!(text("while.1").contains("known_trip_count"));
    let unknown = import("loop.v5e.txt", &LOOP.replace("known_trip_count", "other")).unwrap();
    assert_eq!(unknown.import_log().count(IssueKind::TripCountUnknown), 1);
    assert_eq!(names(&unknown)[0], ("while.1".to_owned(), 3));
}

#[test]
fn long_loop_is_folded() {
    let model = import("loop.v5e.txt", &LOOP.replace("\"3\"", "\"1000000000\"")).unwrap();
    assert!(model.slice_count() < 110_000);
    assert_eq!(model.import_log().count(IssueKind::LoopFolded), 1);
    assert_eq!(names(&model)[0], ("while.1".to_owned(), 3_000_000_000));
    // A loop that does nothing and a loop that calls itself do not hang either.
    let empty = LOOP
        .replace("\"3\"", "\"18446744073709551615\"")
        .replace("\"estimated_cycles\":\"1500\"", "\"other\":\"1\"");
    let empty = empty.replace("\"3000\"", "\"0\"");
    assert_eq!(
        names(&import("loop.v5e.txt", &empty).unwrap()),
        [("while.1".to_owned(), 0)]
    );
    let twice = "  %w = s32[] while(%t), body=%body, backend_config={\"known_trip_count\":{\"n\":\"9\"}}\n  ROOT %tuple";
    let ring = import("loop.v5e.txt", &LOOP.replace("  ROOT %tuple", twice)).unwrap();
    assert!(ring.slice_count() < 200_000);
}

#[test]
fn clock_comes_from_an_adjacent_schedule() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("module_0001.jit_loop.schedule.txt"),
        "…\n  cycles_per_microsecond: 3000\n}\n",
    )
    .unwrap();
    let path = folder
        .path()
        .join("module_0001.jit_loop.after_codegen.v5e.txt");
    std::fs::write(&path, LOOP).unwrap();
    let mut builder = TraceBuilder::new();
    ScheduledHlo
        .import(
            &InputSource::open(&path).unwrap(),
            &ImportOptions::default(),
            &Progress::new(),
            &mut builder,
        )
        .unwrap();
    let model = builder.finish();
    let clock = model.sources()[0]
        .facts
        .iter()
        .find(|(name, _)| name == "clock")
        .unwrap();
    assert_eq!(clock.1, "3000 MHz, of the adjacent schedule");
    assert_eq!(model.extent().dur().ps(), 4_500_000);
}

#[test]
fn errors_name_location_and_fix() {
    let refused = |name: &str, text: &str, parts: &[&str]| {
        let error = import(name, text).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    };
    refused(
        "loop.txt",
        LOOP,
        &["cannot use", "jit_loop", "v5p", "schedule.txt"],
    );
    refused(
        "v5e.txt",
        &LOOP.replace(", is_scheduled=true", ""),
        &["not scheduled", "as_text()"],
    );
    refused(
        "v5e.txt",
        &LOOP.replace("estimated_cycles", "cycles"),
        &["not compiled for a TPU"],
    );
    refused(
        "v5e.txt",
        &LOOP[..400],
        &["ends at line 7", "computation body", "save it again"],
    );
}

#[test]
fn any_truncation_is_an_error_or_logged() {
    for cut in 0..LOOP.len() - 2 {
        if let Ok(model) = import("v5e.txt", &LOOP[..cut]) {
            assert_eq!(
                model.import_log().count(IssueKind::TruncatedFile),
                1,
                "cut at {cut}"
            );
        }
    }
}

#[test]
fn damaged_lines_and_huge_numbers_do_not_panic() {
    let broken = LOOP.replace(
        "get-tuple-element(%t), index=0",
        "get-tuple-element(%t, index=0",
    );
    assert_eq!(
        import("v5e.txt", &broken)
            .unwrap()
            .import_log()
            .count(IssueKind::MalformedEvent),
        1
    );
    let absurd = LOOP.replace("\"1500\"", "\"18446744073709551615\"");
    assert!(
        import("v5e.txt", &absurd)
            .unwrap()
            .import_log()
            .count(IssueKind::TimeOutOfRange)
            > 0
    );
    let deep = format!("  %deep = {} tuple()\n  ROOT %while.1", "(".repeat(100_000));
    assert!(import("v5e.txt", &LOOP.replace("  ROOT %while.1", &deep)).is_ok());
}

#[test]
fn conditional_takes_the_longest_branch() {
    let branches = "  %c = f32[8,8]{1,0} conditional(%p, %p, %p), branch_computations={%short, %body}\n  ROOT %while.1";
    let short =
        "%short (s: f32[8,8]) -> f32[8,8] {\n  ROOT %s = f32[8,8]{1,0} parameter(0)\n}\n\nENTRY";
    let text = LOOP
        .replace("  ROOT %while.1", branches)
        .replace("ENTRY", short);
    let names = names(&import("v5e.txt", &text).unwrap());
    assert_eq!(
        names[..3],
        [
            ("c".to_owned(), 3),
            ("dot.1".to_owned(), 1),
            ("dot.2".to_owned(), 2)
        ]
    );
}

/// Thirty nested loops with nine iterations each, which would take practically forever.
#[test]
fn deeply_nested_loops_terminate() {
    let body = |n: usize| {
        let inner = format!(
            "while(%t{n}), body=%b{}, backend_config={{\"known_trip_count\":{{\"n\":\"9\"}}}}",
            n - 1
        );
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

/// The strings of all ops together stay small.
#[test]
fn huge_shared_operand_shape_is_not_copied() {
    let shape = format!("({})", vec!["f32[8,8]{1,0}"; 10_000].join(", "));
    let op = |n: usize| {
        format!(
            "  %dot.x{n} = f32[8,8]{{1,0}} dot(%big, %p), backend_config={{\"estimated_cycles\":\"5\"}}\n"
        )
    };
    let ops: String = (0..400).map(op).collect();
    let text = LOOP.replace(
        "  ROOT %while.1",
        &format!("  %big = {shape} parameter(1)\n{ops}  ROOT %while.1"),
    );
    let model = import("v5e.txt", &text).unwrap();
    let texts: Vec<&str> = model
        .ops()
        .iter()
        .filter_map(|op| op.hlo_text)
        .map(|text| model.str(text))
        .collect();
    assert!(texts.len() > 400);
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    assert!(
        bytes < 10 * text.len() + (1 << 18),
        "{bytes} bytes of a program of {}",
        text.len()
    );
    assert!(
        texts
            .iter()
            .any(|text| text.starts_with("%dot.x399 = f32[8,8]{1,0} dot(") && text.ends_with('…'))
    );
}

#[test]
fn skipped_instructions_are_counted() {
    let count = |text: &str, kind| import("v5e.txt", text).unwrap().import_log().count(kind);
    // A loop whose body is not in the file, and infinite recursion.
    assert_eq!(
        count(
            &LOOP.replace("body=%body", "body=%lost"),
            IssueKind::NotPlayed
        ),
        1
    );
    let ring = LOOP.replace(
        "  ROOT %tuple",
        "  %again = s32[] call(%t), to_apply=%body\n  ROOT %tuple",
    );
    assert!(count(&ring, IssueKind::NotPlayed) > 0);
    assert_eq!(count(LOOP, IssueKind::NotPlayed), 0);
}

/// Beyond the limits, a computation takes as long as in its last simulated execution.
#[test]
fn nested_folded_loop_keeps_its_time() {
    let inner = "%outer (t: (s32[], f32[8,8])) -> (s32[], f32[8,8]) {\n  %u = (s32[]{:S(6)}, f32[8,8]{1,0}) \
                 parameter(0)\n  ROOT %inner = (s32[]{:S(6)}, f32[8,8]{1,0}) while(%u), condition=%cond, body=%body, \
                 backend_config={\"known_trip_count\":{\"n\":\"1000\"}}\n}\n\nENTRY";
    let text = LOOP.replace(
        "body=%body, backend_config={\"known_trip_count\":{\"n\":\"3\"}}",
        "body=%outer, \
        backend_config={\"known_trip_count\":{\"n\":\"200\"}}",
    );
    let model = import("v5e.txt", &text.replace("ENTRY", inner)).unwrap();
    assert_eq!(names(&model)[0], ("while.1".to_owned(), 200 * 1000 * 3));
    assert_eq!(model.import_log().count(IssueKind::NotPlayed), 0);
}

#[test]
fn import_can_be_cancelled() {
    let endless = LOOP.replace("\"3\"", "\"1000000000\"");
    let read = TextProgram::read(&endless).unwrap();
    let program = ScheduledProgram::new(&read.module, &read.lines, endless.len());
    let machine =
        MachineModel::find(&program, Some(std::path::Path::new("v5e/a")), None, None).unwrap();
    let progress = Progress::new();
    progress.cancel();
    assert!(matches!(
        simulate::play(&program, &machine, &progress),
        Err(ImportError::Cancelled)
    ));
}

#[test]
fn last_clock_is_found_across_chunks() {
    let clock = |text: &str| last_clock(text.as_bytes(), &Progress::new()).unwrap();
    let long = "x".repeat(PIECE as usize - 10);
    assert_eq!(
        clock(&format!(
            "{long}\n cycles_per_microsecond: 1500\n{long}{long}{long}"
        )),
        Some(1500.0)
    );
    assert_eq!(
        clock("cycles_per_microsecond: 1500\ncycles_per_microsecond: 1750\n"),
        Some(1750.0)
    );
    assert_eq!(clock("cycles_per_microsecond: 17"), None);
    assert_eq!(clock("cycles_per_microsecond: 0\n"), None);
}
