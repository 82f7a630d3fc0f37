//! Tests with documents of various programs.

use input::{ImportError, InputSource, Progress};
use sample_traces::write::gzip;
use trace_model::{GroupKind, IssueKind, TraceModel};

use sample_traces::slices;

const EVENT: &str = r#"{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":5}"#;

/// Opens a document with format detection, as for files.
fn open(bytes: impl Into<Vec<u8>>) -> Result<TraceModel, ImportError> {
    importers::import(
        &InputSource::from_bytes("trace.json", bytes.into())?,
        &Progress::new(),
    )
}

#[test]
fn events_may_come_after_any_amount_of_other_members() {
    for len in [10, 4000, 5000, 2_000_000] {
        let note = "x".repeat(len);
        for first in [
            format!(r#""metadata": {{"note": "{note}"}}"#),
            format!(r#""note": "{note}""#),
            format!(r#""other": [{{"deep": ["{note}"]}}]"#),
        ] {
            let model = open(format!(r#"{{{first}, "traceEvents": [{EVENT}]}}"#)).unwrap();
            assert_eq!(
                (model.slice_count(), model.import_log().lost()),
                (1, 0),
                "{len}"
            );
        }
        let error = open(format!(r#"{{"metadata": {{"note": "{note}"}}}}"#))
            .unwrap_err()
            .to_string();
        assert!(error.contains("JSON"), "{error}");
    }
}

#[test]
fn web_page_trace_has_no_device() {
    for head in [
        r#""metadata":{"highres-ticks":true},"#,
        r#""tasks":[],"details":[],"#,
        "",
    ] {
        let named =
            r#"{"ph":"M","name":"process_name","pid":5,"tid":1,"args":{"name":"Renderer"}}"#;
        let model = open(format!(r#"{{{head}"traceEvents":[{EVENT},{named}]}}"#)).unwrap();
        assert!(model.tensor_cores().is_empty(), "{head}");
        assert!(
            !model.sources()[0]
                .cannot_know
                .contains(&"hardware utilization counters"),
            "{head}"
        );
    }
}

#[test]
fn only_tpu_named_planes_are_tpus() {
    let named = |pid: u32, name: &str| {
        format!(r#"{{"ph":"M","name":"process_name","pid":{pid},"args":{{"name":"{name}"}}}}"#)
    };
    let line = |pid: u32, tid: u32, name: &str| {
        format!(
            r#"{{"ph":"M","name":"thread_name","pid":{pid},"tid":{tid},"args":{{"name":"{name}"}}}},
               {{"ph":"X","name":"op","pid":{pid},"tid":{tid},"ts":1,"dur":5}}"#
        )
    };
    let names = |events: &[String]| {
        let model = open(format!("[{}]", events.join(","))).unwrap();
        let cores = model.tensor_cores().into_iter();
        cores
            .map(|core| model.str(model.group(core).name).to_owned())
            .collect::<Vec<_>>()
    };
    // A process without a name next to a host process of XProf.
    assert_eq!(names(&[named(9, "/host:CPU"), EVENT.to_owned()]), [""; 0]);
    let core = [line(3, 1, "XLA Modules"), line(3, 2, "XLA Ops")];
    assert_eq!(names(&core), ["device 0"]);
    assert_eq!(
        names(&[core.to_vec(), vec![named(3, "/device:TPU:4")]].concat()),
        ["/device:TPU:4"]
    );
    assert_eq!(
        names(&[core.to_vec(), vec![named(3, "/device:GPU:4")]].concat()),
        [""; 0]
    );
    assert_eq!(
        names(&[core.to_vec(), vec![line(3, 3, "Stream #3")]].concat()),
        [""; 0]
    );
    let model = open(format!("[{},{EVENT}]", named(9, "/host:CPU"))).unwrap();
    assert!(
        model
            .groups()
            .iter()
            .any(|group| model.str(group.name) == "process 1" && group.kind == GroupKind::Custom)
    );
}

#[test]
fn content_after_the_document_is_counted() {
    let one = format!("[{EVENT}]");
    let object = format!(r#"{{"traceEvents":{one}}}"#);
    let told = |bytes: Vec<u8>| {
        let model = open(bytes).unwrap();
        let log = model.import_log();
        assert_eq!(model.slice_count(), 1);
        (
            log.count(IssueKind::ContentAfterEnd),
            log.count(IssueKind::TruncatedFile),
        )
    };
    for document in [&one, &object] {
        assert_eq!(told(format!("{document} \n").into_bytes()), (0, 0));
        assert_eq!(told(format!("{document}{document}").into_bytes()), (1, 0));
        assert_eq!(told(format!("{document}\n\0\0\0").into_bytes()), (1, 0));
        assert_eq!(
            told(format!("{document}{}x", " ".repeat(2 << 20)).into_bytes()),
            (1, 0)
        );
        assert_eq!(told(gzip(document.repeat(2))), (1, 0));
        assert_eq!(told([gzip(document), gzip(document)].concat()), (1, 0));
        assert_eq!(
            told([gzip(document), b"garbage that follows".to_vec()].concat()),
            (1, 0)
        );
        // Padding to whole blocks, as on tapes and in some copies.
        assert_eq!(told([gzip(document), vec![0; 512]].concat()), (1, 0));
    }
}

#[test]
fn lone_bracket_is_an_unwritten_file() {
    for text in ["[", "[\n", "[ \n "] {
        let model = open(text).unwrap();
        assert_eq!(
            model.import_log().count(IssueKind::TruncatedFile),
            1,
            "{text:?}"
        );
    }
    assert_eq!(open("[]").unwrap().import_log().lost(), 0);
}

#[test]
fn unsupported_sections_are_counted() {
    let counted = |member: &str| {
        let model = open(format!(r#"{{"traceEvents":[{EVENT}],{member}}}"#)).unwrap();
        (
            model.slice_count(),
            model.import_log().count(IssueKind::NotRead),
            model.import_log().lost(),
        )
    };
    assert_eq!(counted(r#""samples":[]"#), (1, 0, 0));
    assert_eq!(
        counted(r#""samples":[{"sf":1,"ts":[2,3]},{"sf":2,"name":"],["}]"#),
        (1, 2, 2)
    );
    assert_eq!(counted(r#""samples":[1, 2, 3]"#), (1, 3, 3));
    assert_eq!(counted(r#""systemTraceEvents":"sched_switch""#), (1, 1, 1));
    assert_eq!(counted(r#""somebodysOwn":[{"a":1}]"#), (1, 0, 0));
}

#[test]
fn asynchronous_steps_have_names_and_lengths() {
    let event = |ph: &str, ts: u32, step: &str| {
        let args = if step.is_empty() {
            String::new()
        } else {
            format!(r#","args":{{"step":"{step}"}}"#)
        };
        format!(r#"{{"ph":"{ph}","cat":"c","id":1,"pid":1,"tid":1,"name":"load","ts":{ts}{args}}}"#)
    };
    let spans = |events: &[(&str, u32, &str)]| {
        let events: Vec<_> = events
            .iter()
            .map(|(ph, ts, step)| event(ph, *ts, step))
            .collect();
        let model = open(format!("[{}]", events.join(","))).unwrap();
        assert_eq!(model.import_log().lost(), 0);
        slices(&model, "load")
    };
    assert_eq!(
        spans(&[
            ("S", 1, ""),
            ("T", 2, "dns"),
            ("T", 5, "send"),
            ("F", 9, "")
        ]),
        [
            "load 1000-9000",
            "load:dns 2000-5000",
            "load:send 5000-9000"
        ]
    );
    assert_eq!(
        spans(&[
            ("S", 1, ""),
            ("p", 2, "dns"),
            ("p", 5, "send"),
            ("F", 9, "")
        ]),
        [
            "load 1000-9000",
            "load:dns 1000-2000",
            "load:send 2000-5000"
        ]
    );
    // Steps without a span become instants with the name of the step.
    assert_eq!(
        spans(&[("T", 2, "dns"), ("T", 3, "")]),
        ["load:dns 2000-2000", "load 3000-3000"]
    );
    // A span that never ends.
    assert_eq!(
        spans(&[("S", 1, ""), ("T", 2, "dns"), ("n", 4, "")]),
        ["load 1000-4000", "load 4000-4000", "load:dns 2000-4000"]
    );
}
