//! Tests of the whole importer with small documents.

mod damage;

use std::fmt::Write as _;

use importer_common::{DetectionConfidence, ImportOptions, Importer as _};
use input::{ImportError, InputSource, Progress};
use proptest::prelude::{any, prop, proptest};
use sample_traces::write::gzip;
use trace_model::{ArgValue, GroupKind, IssueKind, SliceAttr, TraceBuilder, TraceModel, TrackKind};

use super::TraceEventJson;
use super::collect::EventCollector;
use super::document::DocumentReader;

/// One event of each kind, with defects of real writers.
const EVERYTHING: &str = include_str!("../../../../tests/fixtures/any_program.trace.json");

fn import(text: &[u8]) -> Result<TraceModel, ImportError> {
    let mut builder = TraceBuilder::new();
    let source = InputSource::from_bytes("test.json", text.to_vec())?;
    TraceEventJson.import(
        &source,
        &ImportOptions::default(),
        &Progress::new(),
        &mut builder,
    )?;
    Ok(builder.finish())
}

/// The whole content of a model as text.
fn dump(model: &TraceModel) -> String {
    let mut out = String::new();
    for group in model.groups() {
        writeln!(out, "group {:?} {:?}", group.kind, model.str(group.name)).unwrap();
    }
    for id in model.track_ids() {
        let track = model.track(id);
        writeln!(
            out,
            "track {:?} {:?} {}",
            track.kind,
            model.str(track.name),
            track.external_id
        )
        .unwrap();
        for slice in model.slices_on(id) {
            let attrs = [
                SliceAttr::Instant,
                SliceAttr::Unterminated,
                SliceAttr::StepNum,
            ]
            .map(|attr| slice.attr(attr));
            let args = slice.args();
            writeln!(
                out,
                "  {slice:?} at depth {} {attrs:?} {args:?}",
                slice.depth()
            )
            .unwrap();
        }
        for sample in model
            .counter(id)
            .into_iter()
            .flat_map(trace_model::CounterSeries::samples)
        {
            writeln!(out, "  {sample:?}").unwrap();
        }
    }
    writeln!(
        out,
        "{:?}\n{:?}\n{:?}",
        model.flows(),
        model.import_log(),
        model.sources()[0].facts
    )
    .unwrap();
    out
}

/// Imports with `size` new bytes in each window.
fn in_windows(text: &[u8], size: usize) -> Result<TraceModel, ImportError> {
    let mut builder = TraceBuilder::new();
    builder.source_mut();
    let source = InputSource::from_bytes("test.json", text.to_vec())?;
    let mut collector = EventCollector::new(&mut builder, None);
    let mut document = DocumentReader::new();
    let (mut used, mut end) = (0, 0);
    while end < text.len() {
        end = text.len().min(end + size);
        used += document.consume(&text[used..end], end == text.len(), &mut collector)?;
    }
    super::finish(&document, collector, None, &source)?;
    Ok(builder.finish())
}

/// Events that repeat parts of others are not parsed, but taken from the first: the result must be the same.
#[test]
fn repeated_parts_of_events_mean_the_same() {
    let heads = [
        r#""ph":"X","pid":1,"tid":1,"#,
        r#""ph":"X","pid":1,"tid":12,"#,
        r#""ph":"i","pid":2,"tid":"two","#,
        r#""pid":1,"tid":1,"#,
        r#""ph":"B","pid":1,"tid":3,"#,
        r#""ph":"E","pid":1,"tid":3,"#,
    ];
    let rests = [
        r#""name":"a"}"#,
        r#""name":"a","args":{}}"#,
        r#""name":"ThreadpoolListener::StartRegion","args":{"_src":"pool.cc"}}"#,
        r#""name":"ThreadpoolListener::StopRegion","args":{"_src":"pool.cc"}}"#,
        r#""name":"ThreadpoolListener::StopRegion","args":{"_src":"other.cc"}}"#,
        r#""name":"ThreadpoolListener::StopRegion","args":{"_src":"pool.cc","step_num":7}}"#,
        r#""name":"a \u00e4 with escapes, of some length","args":{"x":"}"}}"#,
        r#""name":"an op of some length, fused","args":{"hlo_category":"loop fusion","bytes_accessed":12}}"#,
        r#""name":"an op of some length, fused","args":{"hlo_category":"loop fusion","bytes_accessed":13}}"#,
        r#""name":"an event of some length","args":{"y":1},"cat":"late"}"#,
        r#""name":"an event of some length","args":{"y":1},"ph":"X"}"#,
        r#""name":"an event of some length","args":{"y":1},"args":{"z":2}}"#,
        r#""name":"an event of some length","name":"another event of this length","args":{"y":1}}"#,
        r#""args":{"step_num":3},"name":"an event of some length","args":{"y":1}}"#,
        r#""name":17}"#,
    ];
    let events = |space: fn(usize) -> usize| {
        let mut events = Vec::new();
        for round in 0..3 {
            for (at, (head, rest)) in heads
                .iter()
                .flat_map(|head| rests.map(|rest| (head, rest)))
                .enumerate()
            {
                let at = at + round * 1000;
                // With spaces, no event has bytes in common with another one.
                let spaces = " ".repeat(space(at));
                let head = head.replace("\":", &format!("\":{spaces}"));
                let rest = rest.replacen("\":", &format!("\":{spaces}"), 1);
                events.push(format!(r#"{{{head}"ts":{at}.25,"dur":0.5,{rest}"#));
            }
        }
        dump(&import(format!("[{}]", events.join(",")).as_bytes()).unwrap())
    };
    let without_places = |dump: String| -> Vec<String> {
        let is_example = |line: &&str| !line.contains("at byte");
        dump.lines().filter(is_example).map(str::to_owned).collect()
    };
    let (repeated, parsed) = (events(|_| 0), events(|at| at + 1));
    assert_eq!(without_places(repeated), without_places(parsed));
}

#[test]
fn reads_every_event_kind() {
    let model = import(EVERYTHING.as_bytes()).unwrap();
    let slice = |name: &str| {
        model
            .all_slices()
            .find(|slice| slice.name() == name)
            .unwrap()
    };
    let span = |name: &str| (slice(name).start().ps(), slice(name).dur().ps());
    assert_eq!(span("a \"quoted\" näme 😀"), (1_500_000, 10_000_000));
    assert_eq!(span("late phase"), (3_250_000, 10_000_000));
    assert_eq!(span("early"), (2_000_000, 2_000_000));
    assert_eq!(span("outer"), (9_000_000, 10_000_000));
    assert_eq!(slice("outer").attr(SliceAttr::StepNum), Some(7));
    assert_eq!(span("async"), (1_000_000, 7_000_000));
    assert_eq!(slice("inner").track(), slice("async").track());
    assert_eq!(slice("mark").attr(SliceAttr::Instant), Some(1));
    assert_eq!(slice("tick").attr(SliceAttr::Instant), Some(1));
    assert_eq!(model.str(model.track(slice("tick").track()).name), "worker");
    assert_eq!(model.str(model.groups()[0].name), "program");
    assert_eq!(model.groups()[0].kind, GroupKind::Process { pid: 1 });

    let counters: Vec<_> = model
        .counters()
        .iter()
        .map(|c| (model.str(model.track(c.track()).name), c.len()))
        .collect();
    assert_eq!(counters, [("memory used", 2), ("memory free", 1)]);
    assert_eq!(model.flows().len(), 1);
    assert_eq!(model.slice(model.flows()[0].to).name(), "outer");
    assert_eq!(model.import_log().count(IssueKind::UnknownPhase), 1);
    assert_eq!(model.import_log().lost(), 1, "{:?}", model.import_log());
    assert!(
        model.sources()[0]
            .facts
            .contains(&("version".into(), "1.0".into()))
    );
}

#[test]
fn arguments_of_begin_and_end_events_are_joined() {
    let model = import(EVERYTHING.as_bytes()).unwrap();
    let args = |name: &str| {
        let slice = model
            .all_slices()
            .find(|slice| slice.name() == name)
            .unwrap();
        slice
            .args()
            .unwrap()
            .into_iter()
            .map(|arg| (arg.name, arg.value))
            .collect::<Vec<_>>()
    };
    let text = |text: &str| ArgValue::Text(text.into());
    assert_eq!(
        args("a \"quoted\" näme 😀"),
        [
            ("n".into(), ArgValue::Int(1)),
            ("t".into(), text("x]}")),
            ("deep.b".into(), text("[1,2]"))
        ]
    );
    assert_eq!(
        args("outer"),
        [
            ("step_num".into(), ArgValue::Int(7)),
            ("end".into(), ArgValue::Bool(true))
        ]
    );
    assert_eq!(args("last"), [("stack".into(), text("callee\nmain"))]);
}

#[test]
fn gzip_and_chunk_size_do_not_change_the_model() {
    let expected = dump(&import(EVERYTHING.as_bytes()).unwrap());
    assert_eq!(
        dump(&import(&gzip(EVERYTHING.as_bytes())).unwrap()),
        expected
    );
    for size in [1, 2, 3, 7, 16, 64, 100, 1000, 1 << 20] {
        assert_eq!(
            dump(&in_windows(EVERYTHING.as_bytes(), size).unwrap()),
            expected,
            "windows of {size}"
        );
    }
}

#[test]
fn times_far_from_zero_are_counted_from_the_first() {
    let text = r#"[{"ph":"X","ts":1850244461563845.25,"dur":1,"name":"a"},{"ph":"X","ts":1850244461563840,"dur":1,"name":"b"},
        {"ph":"X","ts":-1e30,"dur":1e40,"name":"c"}]"#;
    let model = import(text.as_bytes()).unwrap();
    assert_eq!(model.sources()[0].origin_ps, 1_850_244_461_563_845_250_000);
    let start = |name: &str| {
        model
            .all_slices()
            .find(|slice| slice.name() == name)
            .unwrap()
            .start()
            .ps()
    };
    assert_eq!((start("a"), start("b")), (0, -5_250_000));
    // The time is clipped to the largest one, and then the event is left out.
    assert_eq!(model.import_log().count(IssueKind::TimeOutOfRange), 2);
    assert_eq!(
        (
            model.slice_count(),
            model.import_log().count(IssueKind::ImpossibleTime)
        ),
        (2, 1)
    );
    assert_eq!(
        model.sources()[0].started_unix_ns,
        Some(1_850_244_461_563_845_250)
    );
}

#[test]
fn reads_the_viewer_dialect() {
    let text = r#"{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"details":[{"name":"a","value":"b"}],
      "filteredByVisibility":true,"traceEvents":[
      {"ph":"M","pid":1,"name":"process_name","args":{"name":"worker-0 /device:TPU:0"}},
      {"ph":"M","pid":2,"name":"process_name","args":{"name":"worker-0 /device:TPU:0 SparseCore 1"}},
      {"ph":"M","pid":1001,"name":"process_name","args":{"name":"worker-1 /device:TPU:0"}},
      {"ph":"M","pid":1701,"name":"process_name","args":{"name":"worker-1 /host:CPU"}},
      {"ph":"M","pid":1,"tid":3,"name":"thread_name","args":{"name":"XLA Ops"}},
      {"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"XLA Modules"}},
      {"ph":"M","pid":1,"tid":4,"name":"thread_name","args":{"name":"Async XLA Ops"}},
      {"ph":"X","pid":1,"tid":2,"ts":0,"dur":10,"name":"jit_f(18446744073709551615)","args":{"run_id":-3,"group_id":4}},
      {"ph":"X","pid":1,"tid":3,"ts":1,"dur":2,"name":"fusion.1","z":1,"args":{"flops":10,"model_flops":5,"hlo_category":"loop fusion"}},
      {"ph":"X","pid":1,"tid":3,"ts":4,"dur":2,"name":"fusion.1","z":2,"args":{"flops":12,"model_flops":5,"hlo_category":"loop fusion"}},
      {"ph":"X","pid":1,"tid":3,"ts":20,"dur":2,"name":"fusion.1","args":{"hlo_category":"loop fusion"}},
      {"ph":"b","pid":1,"tid":4,"ts":1,"id":5,"cat":"x","name":"copy-start"},
      {"ph":"e","pid":1,"ts":5,"id":5,"cat":"x","name":"copy-start"},
      {"ph":"C","pid":1,"name":"MXU","event_stats":"% util","entries":[[1,50.5],[2,0],[3,"bad"]]},
      {"ph":"X","pid":1701,"tid":9,"ts":1,"dur":1e-06,"name":"tick"}]}"#;
    let model = import(text.as_bytes()).unwrap();
    let cores = model.tensor_cores();
    assert_eq!(cores.len(), 2);
    let hosts: Vec<_> = model
        .child_groups(None)
        .into_iter()
        .map(|id| model.str(model.group(id).name))
        .collect();
    assert_eq!(hosts, ["worker-0", "worker-1"]);
    let [sparse] = model.child_groups(Some(cores[0]))[..] else {
        panic!()
    };
    assert_eq!(
        model.group(sparse).kind,
        GroupKind::SparseCore { ordinal: 1 }
    );

    let ops: Vec<_> = model
        .slices_on(model.track_of_kind(cores[0], TrackKind::Ops).unwrap())
        .collect();
    let op = |i: usize| model.op(ops[i].op().unwrap());
    assert_eq!(model.program(op(0).program.unwrap()).id, Some(u64::MAX));
    assert_eq!((op(0).flops, op(0).model_flops), (Some(10), Some(5)));
    // The same op, but this execution did more work.
    assert_eq!(ops[0].op(), ops[1].op());
    assert_eq!(
        (ops[0].attr(SliceAttr::Flops), ops[1].attr(SliceAttr::Flops)),
        (None, Some(12))
    );
    // Outside every execution: no program.
    assert_eq!((op(2).program, op(2).flops), (None, None));
    let modules = model.track_of_kind(cores[0], TrackKind::Modules).unwrap();
    let module = model.slices_on(modules).next().unwrap();
    assert_eq!(
        (
            module.attr(SliceAttr::RunId),
            module.attr(SliceAttr::GroupId)
        ),
        (Some(-3), Some(4))
    );

    let spans = model.track_of_kind(cores[0], TrackKind::AsyncOps).unwrap();
    let span = model.slices_on(spans).next().unwrap();
    assert_eq!((span.name(), span.dur().ps()), ("copy-start", 4_000_000));
    let counter = &model.counters()[0];
    assert_eq!(
        (counter.len(), counter.unit().map(|unit| model.str(unit))),
        (2, Some("% util"))
    );
    let tick = model
        .all_slices()
        .find(|slice| slice.name() == "tick")
        .unwrap();
    assert_eq!(
        tick.dur().ps(),
        0,
        "one picosecond is how XProf writes none"
    );
    assert_eq!(model.import_log().count(IssueKind::Downsampled), 1);
    assert_eq!(model.import_log().count(IssueKind::MalformedEvent), 1);
    assert!(!model.sources()[0].cannot_know.contains(&"host names"));
}

#[test]
fn null_text_printed_by_c_is_ignored() {
    let text = r#"{"traceEvents":[
      {"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:TPU:0"}},
      {"ph":"M","pid":1,"tid":3,"name":"thread_name","args":{"name":"XLA Ops"}},
      {"ph":"X","pid":1,"tid":3,"ts":0,"dur":2,"name":"(null)","args":{"tf_op":"(null)","source":"(null)","hlo_category":"(null)"}},
      {"ph":"X","pid":1,"tid":3,"ts":4,"dur":2,"name":"(null)","args":{"long_name":"%add.1 = f32[8]{0} add(f32[8]{0} %p)"}}]}"#;
    let model = import(text.as_bytes()).unwrap();
    let ops: Vec<_> = model
        .all_slices()
        .map(|slice| model.op(slice.op().unwrap()))
        .collect();
    let names: Vec<_> = ops.iter().map(|op| model.str(op.name)).collect();
    assert_eq!(names, ["(no name)", "add.1"]);
    assert_eq!(
        (ops[0].framework_name, ops[0].source, ops[0].category),
        (None, None, None)
    );
}

#[test]
fn export_limit_is_logged() {
    let events = |count: usize| {
        let mut text = String::from(
            r#"{"traceEvents":[{"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}},"#,
        );
        for i in 0..count {
            write!(
                text,
                r#"{{"ph":"X","pid":701,"tid":1,"ts":{i},"dur":1,"name":"n"}},"#
            )
            .unwrap();
        }
        text + "{}]}"
    };
    let limit = |count| {
        import(events(count).as_bytes())
            .unwrap()
            .import_log()
            .count(IssueKind::ExportLimit)
    };
    assert_eq!((limit(1_000_000), limit(999_999)), (1, 0));
}

#[test]
fn only_trace_events_are_claimed() {
    let detect = |head: &str| TraceEventJson.detect(head.as_bytes());
    assert_eq!(
        detect("\u{feff}\n {\"displayTimeUnit\":\"ns\",\"traceEvents\":[{"),
        DetectionConfidence::Certain
    );
    assert_eq!(
        detect("[\n{\"name\":\"x\",\"ph\":\"X\""),
        DetectionConfidence::Certain
    );
    assert_eq!(
        detect("{\"schemaVersion\":1,\"deviceProperties\":["),
        DetectionConfidence::Possible
    );
    assert_eq!(detect("[]"), DetectionConfidence::Possible);
    for other in [
        "{\"a\":1}",
        "[1,2,3]",
        "{}",
        "text",
        "",
        "[\"ph\"]",
        "{\"meta\":{\"categories\":[]},\"threads\":[]}",
    ] {
        assert_eq!(detect(other), DetectionConfidence::No, "{other}");
    }
    assert!(matches!(
        import(b"{\"displayTimeUnit\":\"ns\"}"),
        Err(ImportError::Unusable { .. })
    ));
    assert!(matches!(
        import(b"{\"displayTimeUnit\":\"ns\""),
        Err(ImportError::Malformed { .. })
    ));
}

/// Analyses read one track of ops for each core.
#[test]
fn two_lines_of_ops_are_one_track() {
    let process = r#"{"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:TPU:0"}}"#;
    let line = |tid| {
        format!(
            r#"{{"ph":"M","pid":3,"tid":{tid},"name":"thread_name","args":{{"name":"XLA Ops"}}}}"#
        )
    };
    let op = |tid, ts, name| {
        format!(
            r#"{{"ph":"X","pid":3,"tid":{tid},"ts":{ts},"dur":2,"name":"{name}","args":{{"hlo_category":"kind of {name}"}}}}"#
        )
    };
    let events = [
        process.to_owned(),
        line(3),
        line(4),
        op(3, 0, "a.1"),
        op(4, 5, "b.2"),
        op(3, 10, "a.1"),
    ];
    let model = import(
        format!(
            r#"{{"displayTimeUnit":"ns","traceEvents":[{}]}}"#,
            events.join(",")
        )
        .as_bytes(),
    )
    .unwrap();
    let ops: Vec<_> = model
        .track_ids()
        .filter(|&id| model.track(id).kind == TrackKind::Ops)
        .collect();
    let [track] = ops[..] else {
        panic!("{}", dump(&model))
    };
    let ops: Vec<_> = model
        .slices_on(track)
        .map(|slice| (slice.name(), slice.args().unwrap().len()))
        .collect();
    assert_eq!(ops, [("a.1", 1), ("b.2", 1), ("a.1", 1)]);
    let categories = model
        .slices_on(track)
        .filter_map(|slice| model.op(slice.op()?).category);
    let categories: Vec<_> = categories.map(|category| model.str(category)).collect();
    assert_eq!(
        categories,
        ["kind of a.1", "kind of b.2", "kind of a.1"],
        "each line has its own facts"
    );
    assert_eq!(model.import_log().count(IssueKind::ChunksMerged), 1);
}
