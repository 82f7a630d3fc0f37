//! Tests with a small schedule, intact and damaged.

use trace_model::{TraceModel, TrackKind};

use super::*;

/// An all-gather that is hidden by one product and exposed before another.
const SCHEDULE: &str = include_str!("../../../../tests/fixtures/schedule.txt");

fn import(text: &str, clock_mhz: Option<f64>) -> Result<TraceModel> {
    let source = InputSource::from_bytes("jit_f.schedule.txt", text.as_bytes().to_vec()).unwrap();
    let mut builder = TraceBuilder::new();
    let options = ImportOptions {
        clock_mhz,
        ..ImportOptions::default()
    };
    LatencyHidingSchedule.import(&source, &options, &Progress::new(), &mut builder)?;
    Ok(builder.finish())
}

/// Name, start and length of the slices of a track, in cycles of 1 GHz.
fn slices(model: &TraceModel, kind: TrackKind) -> Vec<(String, i64, i64)> {
    let track = model.track_of_kind(model.tensor_cores()[0], kind).unwrap();
    model
        .slices_on(track)
        .map(|it| {
            (
                it.name().to_owned(),
                it.start().ps() / 1000,
                it.dur().ps() / 1000,
            )
        })
        .collect()
}

#[test]
fn gaps_become_waits_and_pairs_become_spans() {
    let model = import(SCHEDULE, None).unwrap();
    let owned = |rows: &[(&str, i64, i64)]| {
        rows.iter()
            .map(|&(n, s, d)| (n.to_owned(), s, d))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        slices(&model, TrackKind::Ops),
        owned(&[
            ("dot.1", 2, 1000),
            ("ag-done", 1002, 1999),
            ("dot.2", 3002, 4000)
        ])
    );
    assert_eq!(
        slices(&model, TrackKind::AsyncOps),
        owned(&[("ag-start", 1, 3001)])
    );
    assert_eq!(model.import_log().counts(), []);
    let dot = model
        .all_slices()
        .find(|slice| slice.name() == "dot.1")
        .unwrap()
        .op()
        .unwrap();
    let (text, op) = (
        |id: Option<StringId>| id.map(|id| model.str(id)),
        model.op(dot),
    );
    assert_eq!(text(op.source), Some("train.py:7"));
    assert_eq!(text(op.shape), Some("f32[8,8]{1,0:S(1)}"));
    assert_eq!(text(op.framework_name), Some("jit(f)/dot \"x\""));
    assert_eq!(op.flops, Some(2 * 8 * 8 * 8));
    let memory = model.counters().iter().find(|it| it.len() == 5).unwrap();
    assert_eq!(memory.value_at(Timestamp::from_ps(1_500_000)), Some(512.0));
    assert!(
        model.sources()[0]
            .facts
            .contains(&("scheduler.total_cycles".to_owned(), "7002".to_owned()))
    );
}

#[test]
fn clock_is_required_and_can_be_given() {
    let without = SCHEDULE.replace("cycles_per_microsecond", "other");
    let error = import(&without, None).unwrap_err().to_string();
    assert!(
        error.contains("line 31")
            && error.contains("main has no clock")
            && error.contains("--clock"),
        "{error}"
    );
    let slow = import(&without, Some(500.0)).unwrap();
    assert_eq!(slow.extent().dur().ps(), 2 * 7_002_000);
}

#[test]
fn damaged_schedule_is_an_error_with_its_line() {
    let refused = |text: &str, parts: &[&str]| {
        let error = import(text, None).map(|_| ()).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    };
    refused(
        &SCHEDULE.replace("end_timestamp_cycles: 1002", "end_timestamp_cycles: 1"),
        &["line 34", "cycle 2 to 1"],
    );
    refused(
        &SCHEDULE.replace("end_timestamp_cycles: 1002", "end_timestamp_cycles: nan"),
        &["line 34"],
    );
    refused(
        &SCHEDULE[..700],
        &[
            "without the schedule of a computation",
            "dump the schedule again",
        ],
    );
    refused(
        &SCHEDULE.replace("opcode: \"dot\"", "opcode \"dot\""),
        &["line 13", "after opcode"],
    );
    let deep = SCHEDULE.replace("cycles_per", &"x {".repeat(1000));
    refused(&deep, &["nesting"]);
}

#[test]
fn any_truncation_is_an_error_or_logged() {
    for cut in 0..SCHEDULE.len() - 2 {
        if let Ok(model) = import(&SCHEDULE[..cut], Some(1000.0)) {
            assert_eq!(
                model.import_log().count(IssueKind::TruncatedFile),
                1,
                "cut at {cut}"
            );
        }
    }
}

#[test]
fn overlaps_and_unknown_instructions_are_counted() {
    let model = import(
        &SCHEDULE.replace(
            "start_timestamp_cycles: 3002",
            "start_timestamp_cycles: 2000",
        ),
        None,
    )
    .unwrap();
    assert_eq!(model.import_log().count(IssueKind::ScheduleOverlaps), 1);
    let model = import(
        &SCHEDULE.replace("instructions { id: 3 start", "instructions { id: 77 start"),
        None,
    )
    .unwrap();
    assert_eq!(model.import_log().count(IssueKind::UnknownMetadata), 1);
    assert_eq!(model.import_log().count(IssueKind::AsyncUnterminated), 1);
    let huge = import(&SCHEDULE.replace("7002", "1e300"), None).unwrap();
    assert_eq!(huge.extent().end.ps(), 100_000_000_000_000_000);
}

#[test]
fn truncated_last_row_is_not_read() {
    // The end of the last row is missing and must not be read as 0.
    let cut = SCHEDULE.split("end_timestamp_cycles: 7002").next().unwrap();
    let model = import(cut, Some(1000.0)).unwrap();
    let ops: Vec<String> = slices(&model, TrackKind::Ops)
        .into_iter()
        .map(|(name, _, _)| name)
        .collect();
    assert_eq!(ops, ["dot.1", "ag-done"]);
    let module = model
        .all_slices()
        .find(|slice| slice.name() == "jit_f")
        .unwrap();
    assert_eq!(module.attr(SliceAttr::Unterminated), Some(1));
    let whole = import(SCHEDULE, None).unwrap();
    assert!(
        whole
            .all_slices()
            .all(|slice| slice.attr(SliceAttr::Unterminated).is_none())
    );
}

/// A file that ends after the schedule of a loop's body does not contain the schedule of the program.
#[test]
fn schedule_without_entry_computation_has_no_program() {
    let other = "computations { name: \"body\" id: 7 }\n  stack_frame_index";
    let text = SCHEDULE.replace("stack_frame_index", other).replace(
        "computation_schedules {",
        "computation_schedules {\n  computation_id: 7",
    );
    let model = import(&text, None).unwrap();
    assert!(model.tensor_cores().is_empty());
    assert!(model.all_slices().all(|slice| slice.name() != "jit_f"));
    assert_eq!(model.import_log().count(IssueKind::TruncatedFile), 1);
}

/// Names are stored once and referred to by number; the texts of all ops that contain them stay small.
#[test]
fn repeated_names_are_not_copied() {
    let operands = "operand_ids: 0 ".repeat(2000);
    let tuple = format!("instructions {{ name: \"x\" opcode: \"tuple\" id: 9 {operands} }}\n");
    let long = "p".repeat(100_000);
    let text = SCHEDULE
        .replace("name: \"p\"", &format!("name: \"{long}\""))
        .replace(
            "    id: 0\n    root_id",
            &format!("{tuple}    id: 0\n    root_id"),
        )
        .replace("instructions { id: 3 start", "instructions { id: 9 start");
    let model = import(&text, None).unwrap();
    let texts = model.ops().iter().filter_map(|op| op.hlo_text);
    let texts: Vec<&str> = texts.map(|text| model.str(text)).collect();
    assert!(
        texts
            .iter()
            .any(|text| text.starts_with("%x = () tuple(") && text.ends_with('…'))
    );
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    assert!(
        bytes < 10 * text.len() + (1 << 18),
        "{bytes} of {}",
        text.len()
    );
    assert!(model.import_log().count(IssueKind::TextCut) > 0);
}
