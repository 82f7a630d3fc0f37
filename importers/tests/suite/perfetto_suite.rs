//! The trace-event cases of Perfetto's test suite, against the answers it expects.
//!
//! Each case names the columns of its answer; the same columns are read from the
//! model and compared as sets of rows. Where the model deliberately says something
//! else, the rows and the reason stand in [`CASES`].

#![allow(clippy::unwrap_used)]

use common::corpus;
use importers::{ImportError, InputSource, Progress};
use trace_model::{GroupKind, IssueKind, TraceModel, TrackKind};

use super::perfetto_rows::{Ask, answers, cells, is_compared, render};
use crate::common;

struct Case {
    file: &'static str,
    ask: Ask,
    /// Rows that Perfetto expects and the model does not have.
    not: &'static [&'static str],
    /// Rows that the model has beyond.
    but: &'static [&'static str],
    why: &'static str,
}

const fn same(file: &'static str, ask: Ask) -> Case {
    Case {
        file,
        ask,
        not: &[],
        but: &[],
        why: "",
    }
}

const DURATION_KEPT: &str = "an event without a usable duration happened all the same: it is kept with length zero, and \
                             counted as bad-duration";

const CASES: &[Case] = &[
    same("parser_json_tests__args_ordered", Ask::Async),
    Case {
        but: &["300000,0,InvalidDur"],
        why: DURATION_KEPT,
        ..same("parser_json_tests__invalid_string_ts_and_dur", Ask::Slices)
    },
    same("parser_json_tests__json_all_slice_types", Ask::Slices),
    same("parser_json_tests__json_async", Ask::Slices),
    same("parser_json_tests__json_counter_args", Ask::Counters),
    Case {
        but: &["1000000,0,CompleteNoDur,[NULL],101,[NULL],100,[NULL],[NULL],[NULL],[NULL]"],
        why: DURATION_KEPT,
        ..same("parser_json_tests__json_extreme_vals", Ask::Slices)
    },
    same("parser_json_tests__json_id2", Ask::Slices),
    same("parser_json_tests__json_id2_global_int_id", Ask::Async),
    same("parser_json_tests__json_id2_global_string_id", Ask::Async),
    same("parser_json_tests__json_id2_local_int_id", Ask::Async),
    same("parser_json_tests__json_id2_local_string_id", Ask::Async),
    same("parser_json_tests__json_incomplete", Ask::Slices),
    same("parser_json_tests__json_metadata", Ask::Slices),
    same(
        "parser_json_tests__json_metadata_missing_or_invalid_ts",
        Ask::Processes,
    ),
    same("parser_json_tests__json_pid_tid_zero", Ask::Async),
    same("parser_json_tests__json_trace_metadata", Ask::Facts),
    same("parser_json_tests__json_trailing_comma", Ask::Slices),
    same("parser_json_tests__json_thread_state", Ask::Slices),
    Case {
        not: &[],
        but: &["6000000,10000000,[NULL],101,100"],
        why: "states are shown as they are; only Perfetto's scheduler table is about running threads alone",
        ..same("parser_json_tests__json_thread_state_sched", Ask::Slices)
    },
    same("parser_json_tests__string_pid_tid", Ask::Slices),
    same("parser_json_tests__string_ts_and_dur", Ask::Slices),
    Case {
        but: &["TrailingCharsDur,200000,0"],
        why: DURATION_KEPT,
        ..same("parser_json_tests__string_ts_trailing_chars", Ask::Slices)
    },
    same("parser_json_tests__string_tts_and_tdur", Ask::Slices),
    same("parser_json_tests__x_event_order", Ask::Slices),
    same(
        "parser_parsing_tests__counters_json_counters",
        Ask::Counters,
    ),
    same(
        "parser_parsing_tests__decimal_timestamp_slices",
        Ask::Slices,
    ),
    same(
        "parser_parsing_tests__display_time_unit_slices",
        Ask::Slices,
    ),
    same(
        "parser_parsing_tests__same_ts_duration_slice_then_zero_duration_slice_unnesting",
        Ask::Slices,
    ),
    same(
        "parser_parsing_tests__same_ts_two_duration_slice_unnesting",
        Ask::Slices,
    ),
    Case {
        not: &["Slice 2,1"],
        but: &["Slice 2,0"],
        why: "instants at one time are siblings: else the depth of a track would depend on how many there are",
        ..same(
            "parser_parsing_tests__same_ts_two_zero_duration_slice_nesting",
            Ask::Slices,
        )
    },
    Case {
        not: &["Slice 1,0"],
        but: &["Slice 1,1"],
        why: "an instant at the start of a slice lies in it, whether the slice was written as X or as B and E; Perfetto \
              itself expects that in the next case",
        ..same(
            "parser_parsing_tests__same_ts_zero_duration_slice_then_begin_end_slice_unnesting",
            Ask::Slices,
        )
    },
    same(
        "parser_parsing_tests__same_ts_zero_duration_slice_then_duration_slice_unnesting",
        Ask::Slices,
    ),
];

fn path(file: &str, ending: &str) -> Option<std::path::PathBuf> {
    Some(
        corpus()?
            .join("json-suite/perfetto")
            .join(format!("{file}.{ending}")),
    )
}

fn open(file: &str) -> Option<TraceModel> {
    let source = InputSource::open(&path(file, "json")?).unwrap();
    Some(
        importers::import(&source, &Progress::new())
            .unwrap_or_else(|error| panic!("{file}: {error}")),
    )
}

#[test]
fn every_perfetto_case_gives_the_expected_result() {
    if corpus().is_none() {
        return;
    }
    for case in CASES {
        let model = open(case.file).unwrap();
        let csv = std::fs::read_to_string(path(case.file, "expected.csv").unwrap()).unwrap();
        let mut lines = csv.lines();
        let header = cells(lines.next().unwrap());
        // Of two columns of one name the last is the one that the case is about.
        let kept: Vec<usize> = (0..header.len())
            .filter(|&i| is_compared(header[i]) && !header[i + 1..].contains(&header[i]))
            .collect();
        let columns: Vec<&str> = kept.iter().map(|&i| header[i]).collect();
        let mut expected: Vec<String> = lines
            .map(|line| {
                let cells = cells(line);
                kept.iter().map(|&i| cells[i]).collect::<Vec<_>>().join(",")
            })
            .collect();
        for row in case.not {
            let at = expected.iter().position(|expected| expected == row);
            expected.remove(
                at.unwrap_or_else(|| panic!("{}: Perfetto does not expect {row:?}", case.file)),
            );
        }
        expected.extend(case.but.iter().map(|row| (*row).to_owned()));
        assert_eq!(
            case.why.is_empty(),
            case.not.is_empty() && case.but.is_empty(),
            "{}: why?",
            case.file
        );
        let mut found: Vec<String> = answers(&model, &case.ask, &columns)
            .iter()
            .map(|row| render(row, &columns))
            .collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{}: {columns:?}", case.file);
    }
}

#[test]
fn async_spans_need_no_category_or_id() {
    // Perfetto's answers to these are about threads, where both find nothing.
    for (file, count) in [
        ("parser_json_tests__json_async", 3),
        ("parser_json_tests__json_id2", 2),
    ] {
        let Some(model) = open(file) else { return };
        let durs: Vec<_> = model.all_slices().map(|slice| slice.dur().ps()).collect();
        assert_eq!(durs, vec![100_000_000; count], "{file}");
        assert!(
            model
                .tracks()
                .iter()
                .all(|track| track.kind == TrackKind::Async || track.kind == TrackKind::HostThread)
        );
    }
}

#[test]
fn sort_index_becomes_track_order() {
    let Some(model) = open("parser_json_tests__json_sort_index_ordering") else {
        return;
    };
    let pid = |id| match model.group(id).kind {
        GroupKind::Process { pid } => pid,
        other => panic!("{other:?}"),
    };
    // Perfetto's answer also has a process 0, which is its own.
    let processes = model.child_groups(None);
    let order: Vec<_> = processes
        .iter()
        .map(|&id| (pid(id), model.group(id).sort))
        .collect();
    assert_eq!(order, [(40, -5), (20, 50), (10, 100), (30, 200)]);
    let threads: Vec<_> = model
        .tracks_of(processes[2])
        .into_iter()
        .map(|id| (model.track(id).external_id, model.track(id).sort))
        .collect();
    assert_eq!(threads, [(14, -3), (13, 5), (11, 10), (12, 20)]);

    let Some(model) = open("parser_json_tests__json_sort_index_hints") else {
        return;
    };
    let hints: Vec<_> = model.groups().iter().map(|group| group.sort).collect();
    assert_eq!(hints, [-2, 10]);
    let hints: Vec<_> = model
        .tracks()
        .iter()
        .map(|track| (track.external_id, track.sort))
        .collect();
    assert_eq!(hints, [(31, 5)]);
}

#[test]
fn overlapping_slices_are_kept_and_counted() {
    for file in [
        "overlapping_complete_event_recovered",
        "overlapping_complete_event_import_log",
    ] {
        let Some(model) = open(&format!("parser_json_tests__{file}")) else {
            return;
        };
        assert_eq!(model.slice_count(), 2);
        assert_eq!(model.import_log().count(IssueKind::OverlapSpilled), 1);
        assert_eq!(model.import_log().lost(), 0);
        let spilled = &model.import_log().counts()[0].examples[0];
        assert!(
            spilled.contains("inner") && spilled.contains("150000000"),
            "{spilled}"
        );
    }
}

#[test]
fn trailing_empty_event_is_accepted() {
    let Some(model) = open("parser_json_tests__trailing_empty_event") else {
        return;
    };
    assert_eq!(model.slice_count(), 1);
    assert!(
        model.import_log().counts().is_empty(),
        "{:?}",
        model.import_log()
    );
}

#[test]
fn flow_arrows() {
    let arrows = |file: &str| -> Option<Vec<String>> {
        let model = open(file)?;
        let name = |id| model.slice(id).name().to_owned();
        let mut arrows: Vec<_> = model
            .flows()
            .iter()
            .map(|flow| format!("{} > {}", name(flow.from), name(flow.to)))
            .collect();
        arrows.sort();
        Some(arrows)
    };
    let Some(none) = arrows("parser_json_tests__json_flow") else {
        return;
    };
    assert!(none.is_empty());
    let first = arrows("file__flow_events_json_v1").unwrap();
    assert_eq!(
        first,
        [
            "OtherSlice > SomeSlice",
            "SenderA > OtherSlice",
            "SenderB > Blergh"
        ]
    );
    let second = arrows("file__flow_events_json_v2").unwrap();
    assert_eq!(
        second,
        [
            "OtherSlice > SomeOtherSlice",
            "OtherSlice > SomeSlice",
            "SenderA > OtherSlice",
            "SenderB > Blergh"
        ]
    );
    let connected = arrows("file__connected_flow_data").unwrap();
    assert_eq!(
        connected,
        [
            "Flow0_Slice0 > Flow0_Slice1",
            "Flow1_Slice0 > Flow1_Slice1a",
            "Flow1_Slice0 > Flow1_Slice1b",
            "Flow2_Slice0 > Flow2_Slice1",
            "Flow2_Slice1 > Flow2_Slice2",
            "Flow2_Slice2 > Flow2_Slice3b",
            "Flow2_Slice2a > Flow2_Slice3a",
        ]
    );
}

#[test]
fn firefox_profile_is_rejected() {
    // Perfetto reads it with another importer; half reading it here would show nothing.
    let Some(path) = path("parser_gecko_tests__gecko_markers", "json") else {
        return;
    };
    let source = InputSource::open(&path).unwrap();
    let result = importers::import(&source, &Progress::new());
    assert!(
        matches!(result, Err(ImportError::UnknownFormat { .. })),
        "{result:?}"
    );
}

#[test]
fn all_perfetto_cases_are_covered() {
    let Some(corpus) = corpus() else { return };
    let others = [
        "file__connected_flow_data",
        "file__flow_events_json_v1",
        "file__flow_events_json_v2",
        "parser_gecko_tests__gecko_markers",
        "parser_json_tests__json_flow",
        "parser_json_tests__json_sort_index_hints",
        "parser_json_tests__json_sort_index_ordering",
        "parser_json_tests__overlapping_complete_event_import_log",
        "parser_json_tests__overlapping_complete_event_recovered",
        "parser_json_tests__trailing_empty_event",
    ];
    let mut known: Vec<_> = CASES.iter().map(|case| case.file).chain(others).collect();
    known.sort_unstable();
    let mut files: Vec<_> = std::fs::read_dir(corpus.join("json-suite/perfetto"))
        .unwrap()
        .filter_map(|entry| {
            entry
                .unwrap()
                .file_name()
                .to_str()?
                .strip_suffix(".json")
                .map(str::to_owned)
        })
        .collect();
    files.sort();
    assert_eq!(known, files);
}
