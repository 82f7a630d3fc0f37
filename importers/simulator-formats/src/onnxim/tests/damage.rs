//! Logs with problems, extreme numbers or a torn last line.

use super::*;

#[test]
fn log_problems_are_logged() {
    let count = |parts: &[&[&str]], kind| open(parts).import_log().count(kind);
    assert_eq!(count(&[&BEGIN, &LAYER], IssueKind::TruncatedFile), 1);
    assert_eq!(
        count(
            &[&BEGIN, &LAYER, &BEGIN, &LAYER, &END],
            IssueKind::Duplicate
        ),
        1
    );
    assert_eq!(
        count(
            &[&BEGIN, &LAYER, &["Layer a finish at 50"], &END],
            IssueKind::BadTimestamp
        ),
        1
    );
    assert_eq!(
        count(
            &[&BEGIN, &LAYER, &["Layer a finish at 1x"], &END],
            IssueKind::MalformedEvent
        ),
        1
    );
    assert_eq!(
        count(
            &[
                &BEGIN,
                &[
                    "Start layer a",
                    "Layer a finish at 9",
                    "Total compute time 10"
                ],
                &END
            ],
            IssueKind::BadDuration
        ),
        1
    );
    assert_eq!(
        count(
            &[&BEGIN, &LAYER, &["Layer 9 Core 0 Finish Tile at 100"], &END],
            IssueKind::EndWithoutBegin
        ),
        1
    );
    assert_eq!(
        count(
            &[&BEGIN, &LAYER, &["Layer a finish at 150"], &END],
            IssueKind::EndWithoutBegin
        ),
        1
    );
    let (first, second, later) = (idle(0, 500), idle(1, 500), idle(1, 600));
    let begun = ["Start layer b", "Layer b Core 0 Get Tile at 101"];
    let stuck = open(&[&BEGIN, &LAYER, &begun, &[&first, &second]]);
    assert_eq!(stuck.import_log().count(IssueKind::ProfilerError), 1);
    let errors = |parts: &[&[&str]]| {
        count(
            &[&[&BEGIN as &[&str], &LAYER], parts].concat(),
            IssueKind::ProfilerError,
        )
    };
    assert_eq!(
        errors(&[&begun, &[&first]]),
        0,
        "what the other core does is not known"
    );
    assert_eq!(
        errors(&[&begun, &[&first, &later]]),
        0,
        "nor what the first one does by then"
    );
    assert_eq!(errors(&[&[&first, &second]]), 0, "nothing is left to do");
    assert_eq!(slices(&stuck, "Layers"), ["Gemm_0 0-100", "b 101-500"]);

    let error = |lines: &[&str]| try_open(lines, None).unwrap_err().to_string();
    assert!(error(&[&BEGIN as &[&str], &[&first, &second]].concat()).contains("hangs"));
    assert!(error(&[&BEGIN as &[&str], &END].concat()).contains("--log_level"));
}

#[test]
fn extreme_numbers_do_not_panic() {
    let far = i64::MAX.to_string();
    let model = open(&[
        &BEGIN,
        &[
            "[GemmWs] Keys K = 1099511627776, N = 1099511627776, M = 1099511627776",
            "[GemmWS]: total 1e308 GFLOPs, 1e308 GB",
        ],
        &[
            "Start layer a",
            "Layer a Core 4294967295 Get Tile at 0",
            "Layer a Core 0 Get Tile at 1",
        ],
        &[
            &format!("Layer 1 Core 0 Finish Tile at {far}"),
            &format!("Layer a finish at {far}"),
            "Total compute time 1",
        ],
        &[&format!("Simulation Finished at {far} cycle {far} us")],
    ]);
    let log = model.import_log();
    assert_eq!(
        log.count(IssueKind::BeyondTimeline),
        4,
        "the layer, its tile, the model, and all of the run"
    );
    assert_eq!(
        log.count(IssueKind::TimeOutOfRange),
        0,
        "nothing was clipped"
    );
    assert_eq!(
        model
            .tracks()
            .iter()
            .filter(|track| track.kind == TrackKind::Counter)
            .count(),
        0
    );
}

#[test]
fn unterminated_last_line_is_ignored() {
    let lines = [
        &BEGIN as &[&str],
        &LAYER,
        &END[..1],
        &["Core [0] : Systolic Array Utilization(%) 50.00"],
    ]
    .concat();
    let open = |cut: &str| {
        let text = String::from_utf8(log(&lines)).unwrap();
        let text = text.split_inclusive(cut).next().unwrap().to_owned();
        let source = InputSource::from_bytes("run.log", text.into_bytes()).unwrap();
        let mut builder = TraceBuilder::new();
        OnnxIm
            .import(
                &source,
                &ImportOptions::default(),
                &Progress::new(),
                &mut builder,
            )
            .unwrap();
        builder.finish()
    };
    let said = |model: &TraceModel| {
        let counts = model.import_log().counts().to_vec();
        counts
            .into_iter()
            .find(|issue| issue.kind == IssueKind::TruncatedFile)
            .map(|issue| issue.examples)
    };
    let model = open("Layer Gemm_0 finish at 10");
    assert_eq!(
        slices(&model, "Layers"),
        ["Gemm_0 0-100"],
        "until the last tile ends"
    );
    let log = said(&model).unwrap();
    assert_eq!(
        log[0],
        "run.log: line 10 has no end, so it may be cut: it was passed over"
    );
    // A log without its last line end is otherwise complete.
    assert_eq!(
        said(&open("Simulation Finished at 2000 cycle 2 us\n")),
        None
    );
    assert_eq!(
        said(&open("Simulation Finished at 2000 cycle 2 us"))
            .unwrap()
            .len(),
        2
    );
}
