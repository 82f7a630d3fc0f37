use importer_common::roles::RoleKind;
use importer_common::{ImportOptions, Importer as _};
use input::{InputSource, Progress};
use trace_model::{GroupKind, SliceRef, TraceModel};

use super::*;
use crate::trace_event::TraceEventJson;

fn open(text: &str, roles: Option<&str>) -> TraceModel {
    let mut builder = TraceBuilder::new();
    let source = InputSource::from_bytes("test.json", text.as_bytes().to_vec()).unwrap();
    let roles = roles.map(|text| Arc::new(TrackRoles::parse(text).unwrap()));
    let options = ImportOptions {
        roles,
        ..ImportOptions::default()
    };
    TraceEventJson
        .import(&source, &options, &Progress::new(), &mut builder)
        .unwrap();
    builder.finish()
}

/// `category name start-end` of the slices of op tracks, in ns.
fn ops(model: &TraceModel) -> Vec<String> {
    let on_op_line = |slice: &SliceRef<'_>| slice.track_ref().kind == TrackKind::Ops;
    let text = |slice: SliceRef<'_>| {
        let category = slice
            .op()
            .and_then(|op| model.op(op).category)
            .map_or("–", |category| model.str(category));
        format!(
            "{category} {} {}-{}",
            slice.name(),
            slice.range().start.ps() / 1000,
            slice.range().end.ps() / 1000
        )
    };
    model.all_slices().filter(on_op_line).map(text).collect()
}

#[test]
fn built_in_dialects_parse() {
    assert!(CHAKRA.when.is_some() && MODEL.when.is_none());
    assert!(VIDUR.when.is_some() && LOCAL_MEMORY.when.is_some());
    let error = TrackRoles::parse("[[track]]\nrole = \"mxu\"").unwrap_err();
    assert!(
        error.contains("line 2") && error.contains("in-flight"),
        "{error}"
    );
}

#[test]
fn only_device_processes_become_devices() {
    assert_eq!(
        MODEL.role("/device:TPU:3 (model)", "TensorCore 0"),
        Some(RoleKind::Ops)
    );
    for other in [
        "/device:TPU:3",
        "/device:GPU:0 (model)",
        "train (model)",
        " (model)",
    ] {
        assert_eq!(MODEL.role(other, "TensorCore 0"), None, "{other}");
    }
}

#[test]
fn compute_waits_and_links_have_categories() {
    let text = r#"[{"ph":"M","name":"process_name","pid":7,"args":{"name":"/device:TPU:1 (model)"}},
        {"ph":"M","name":"thread_name","pid":7,"tid":1,"args":{"name":"TensorCore 0"}},
        {"ph":"M","name":"thread_name","pid":7,"tid":2,"args":{"name":"ICI tx"}},
        {"ph":"X","pid":7,"tid":1,"name":"matmul_w1","ts":0,"dur":4,"args":{"flops":8}},
        {"ph":"X","pid":7,"tid":1,"name":"wait shard","ts":4,"dur":1},
        {"ph":"X","pid":7,"tid":1,"name":"relu","ts":5,"dur":1},
        {"ph":"X","pid":7,"tid":2,"name":"rdma","ts":1,"dur":4}]"#;
    let model = open(text, None);
    let core = model.tensor_cores()[0];
    assert_eq!(model.group(core).kind, GroupKind::TensorCore { ordinal: 1 });
    assert_eq!(
        ops(&model),
        [
            "dot matmul_w1 0-4000",
            "collective-done wait shard 4000-5000",
            "– relu 5000-6000"
        ]
    );
    let flops = model
        .all_slices()
        .find_map(|slice| model.op(slice.op()?).flops);
    assert_eq!(flops, Some(8));
    let rdma = model
        .all_slices()
        .find(|slice| slice.name() == "rdma")
        .unwrap();
    assert_eq!(
        model
            .op(rdma.op().unwrap())
            .category
            .map(|id| model.str(id)),
        Some("collective-start")
    );
    assert_eq!(
        model.sources()[0].simulator.as_deref(),
        Some("a model of the device")
    );
}

#[test]
fn document_with_model_metadata_is_a_prediction() {
    let of = |said: &str| {
        let text = format!(
            r#"{{"traceEvents": [{{"ph":"X","pid":0,"tid":"TensorCore","name":"fusion.28","ts":0,"dur":4}}],
            "otherData": {{{said}}}}}"#
        );
        open(&text, None).badge()
    };
    let badge = of(r#""modelled": "collectives and HBM copies""#);
    assert!(
        badge
            .as_deref()
            .is_some_and(|badge| badge.starts_with("PREDICTED")),
        "{badge:?}"
    );
    assert_eq!(
        (of(r#""modelled": false"#), of(r#""version": "1""#)),
        (None, None)
    );
}

/// Threads of ops of one device share a track, which all analyses read. With a transfer, the device waits while neither
/// thread has an op.
#[test]
fn device_with_two_threads_of_ops_has_one_track_and_waits_once() {
    let text = r#"[{"ph":"M","name":"process_name","pid":4,"args":{"name":"chip 0"}},
        {"ph":"M","name":"thread_name","pid":4,"tid":1,"args":{"name":"MXU"}},
        {"ph":"M","name":"thread_name","pid":4,"tid":2,"args":{"name":"VPU"}},
        {"ph":"M","name":"thread_name","pid":4,"tid":3,"args":{"name":"link"}},
        {"ph":"X","pid":4,"tid":1,"name":"mm","ts":0,"dur":3},
        {"ph":"X","pid":4,"tid":2,"name":"add","ts":5,"dur":1},
        {"ph":"X","pid":4,"tid":3,"name":"shard","ts":1,"dur":7}]"#;
    let roles = "time_unit = \"ns\"\n[[track]]\nthread = \"?PU\"\nrole = \"ops\"\n[[track]]\nthread = \"MXU\"\nrole = \
                 \"ops\"\n[[track]]\nthread = \"link\"\nrole = \"in-flight\"\n[[op]]\nrole = \"in-flight\"\ncategory = \
                 \"all-gather-start\"";
    let model = open(text, Some(roles));
    let tracks = model
        .tracks()
        .iter()
        .filter(|track| track.kind == TrackKind::Ops);
    assert_eq!(
        tracks
            .map(|track| model.str(track.name))
            .collect::<Vec<_>>(),
        ["MXU, VPU"]
    );
    let mut found = ops(&model);
    found.sort();
    let waits = [
        "all-gather-done wait shard 3-5",
        "all-gather-done wait shard 6-8",
    ];
    assert_eq!(found, [waits[0], waits[1], "– add 5-6", "– mm 0-3"]);
}

#[test]
fn any_number_of_threads_of_ops_has_a_short_name() {
    let threads = (0..2_000).map(|tid| {
        format!(
            r#"{{"ph":"M","name":"thread_name","pid":4,"tid":{tid},"args":{{"name":"unit {tid}"}}}},
            {{"ph":"X","pid":4,"tid":{tid},"name":"mm","ts":{tid},"dur":1}}"#
        )
    });
    let text = format!("[{}]", threads.collect::<Vec<_>>().join(","));
    let model = open(&text, Some("[[track]]\nrole = \"ops\""));
    let tracks: Vec<_> = model
        .tracks()
        .iter()
        .filter(|track| track.kind == TrackKind::Ops)
        .collect();
    let [track] = tracks[..] else {
        panic!("{} tracks of ops", tracks.len())
    };
    let name = model.str(track.name);
    assert!(
        name.starts_with("unit 0, unit 1, ") && name.len() < 110,
        "{name}"
    );
    assert_eq!(ops(&model).len(), 2_000);
}

/// Batches of a serving simulator have no ops, but named tracks and the name of the simulator.
#[test]
fn vidur_batches_are_on_replica_stages() {
    let text = r#"{"traceEvents": [{"name": "[0]", "ph": "X", "ts": 0.0, "dur": 2.5, "pid": 0, "tid": 0, "args":
        {"batch_id": 0, "batch_size": 1, "request_ids": [0], "num_tokens": [512]}}]}"#;
    let model = open(text, None);
    assert_eq!(model.sources()[0].simulator.as_deref(), Some("Vidur"));
    let slice = model.all_slices().next().unwrap();
    let track = slice.track_ref();
    assert_eq!(
        (
            model.str(model.group(track.group).name),
            model.str(track.name)
        ),
        ("replica 0", "pipeline stage 0")
    );
    assert_eq!(
        (slice.dur().ps(), model.tensor_cores().len()),
        (2_500_000, 0)
    );
    let other = open(&text.replace("num_tokens", "tokens"), None);
    assert_eq!(other.sources()[0].simulator, None);
}

#[test]
fn chakra_visualizer_times_are_milliseconds() {
    let text = r#"{"meta_user": "aras", "traceEvents": [
        {"pid": 3, "tid": 4, "ts": 0.0, "dur": 0.003664, "ph": "X", "name": "x_all-gather_0"},
        {"pid": 3, "tid": 3, "ts": 0.003664, "dur": 0.002334, "ph": "X", "name": "COMP_matmul"}]}"#;
    let expected = [
        "all-gather-done wait x_all-gather_0 0-3664",
        "dot COMP_matmul 3664-5998",
    ];
    assert_eq!(ops(&open(text, None)), expected);
}

#[test]
fn custom_dialect_describes_a_simulator() {
    let text = r#"[{"ph":"M","name":"process_name","pid":4,"args":{"name":"chip 0"}},
        {"ph":"M","name":"process_name","pid":9,"args":{"name":"chip 1"}},
        {"ph":"M","name":"process_name","pid":2,"args":{"name":"host"}},
        {"ph":"X","pid":4,"tid":1,"name":"mm","ts":10,"dur":5},
        {"ph":"X","pid":9,"tid":1,"name":"mm","ts":20,"dur":5},
        {"ph":"X","pid":2,"tid":1,"name":"mm","ts":0,"dur":5}]"#;
    let roles = "simulator = \"mysim\"\ntime_unit = \"ns\"\n[[track]]\nprocess = \"chip *\"\nrole = \"ops\"\n\
                 [[op]]\nrole = \"ops\"\nname = \"mm\"\ncategory = \"dot\"";
    let model = open(text, Some(roles));
    assert_eq!(ops(&model), ["dot mm 10-15", "dot mm 20-25"]);
    let kinds: Vec<_> = model
        .tensor_cores()
        .into_iter()
        .map(|core| model.group(core).kind)
        .collect();
    assert_eq!(
        kinds,
        [
            GroupKind::TensorCore { ordinal: 0 },
            GroupKind::TensorCore { ordinal: 1 }
        ]
    );
    assert_eq!(model.sources()[0].simulator.as_deref(), Some("mysim"));
}
