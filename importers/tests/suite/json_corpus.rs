//! Real exports, against what is known of them: counts by a reader that knows
//! nothing of profiles, and facts of the captures.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;

use common::corpus;
use importers::{InputSource, Progress};
use serde_json::Value;
use trace_model::{GroupId, GroupKind, IssueKind, Picos, SliceAttr, TraceModel, TrackKind};

use crate::common;

fn open(path: &Path) -> TraceModel {
    importers::import(&InputSource::open(path).unwrap(), &Progress::new()).unwrap()
}

/// The same events, read the slow and simple way.
fn events(path: &Path) -> Vec<Value> {
    let source = InputSource::open(path).unwrap();
    let mut document: Value =
        serde_json::from_reader(std::io::BufReader::new(source.reader())).unwrap();
    match document["traceEvents"].take() {
        Value::Array(events) => events,
        other => panic!("{other}"),
    }
}

fn count(events: &[Value], phase: &str) -> usize {
    events.iter().filter(|event| event["ph"] == phase).count()
}

fn recorded(model: &TraceModel) -> usize {
    model
        .all_slices()
        .filter(|slice| slice.attr(SliceAttr::Reconstructed).is_none())
        .count()
}

fn track(model: &TraceModel, group: GroupId, kind: TrackKind) -> Vec<trace_model::SliceRef<'_>> {
    let track = model
        .track_of_kind(group, kind)
        .unwrap_or_else(|| panic!("no {kind:?}"));
    model.slices_on(track).collect()
}

#[test]
fn no_exported_event_is_lost() {
    let Some(corpus) = corpus() else { return };
    for file in [
        "tpu/v5e_matmul.trace.json.gz",
        "tpu/v7x_vllm_tp2_a.trace.json.gz",
        "tpu/v7x_vllm_tp2_b.trace.json.gz",
        "host/tpuvm_cpu_backend.trace.json.gz",
        "host/jax_cpu_transformer_recompiles.trace.json.gz",
        "host/jax_cpu_8dev_collectives.trace.json.gz",
        "host/jax_cpu_8dev_collectives.perfetto_trace.json.gz",
        "big/pytorch_mtia_456k_events.json.gz",
    ] {
        let path = corpus.join(file);
        let (model, events) = (open(&path), events(&path));
        let samples: usize = model
            .counters()
            .iter()
            .map(trace_model::CounterSeries::len)
            .sum();
        let instants = count(&events, "i");
        assert_eq!(
            recorded(&model) + samples,
            count(&events, "X") + instants,
            "{file}"
        );
        assert_eq!(
            model.import_log().lost(),
            0,
            "{file}: {:?}",
            model.import_log()
        );
    }
}

#[test]
fn decimal_times_are_exact() {
    let Some(corpus) = corpus() else { return };
    let path = corpus.join("tpu/v5e_matmul.trace.json.gz");
    let (model, events) = (open(&path), events(&path));
    // A double has 53 bits: microseconds with six decimals survive the way through
    // one here, so the nearest picosecond of the double is the truth.
    let picos = |value: &Value| (value.as_f64().unwrap() * 1e6).round() as i64;
    let mut expected: BTreeMap<(i64, i64), i64> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let dur = Some(picos(&event["dur"]))
            .filter(|&dur| dur > 1)
            .unwrap_or(0);
        *expected.entry((picos(&event["ts"]), dur)).or_default() += 1;
    }
    let mut found: BTreeMap<(i64, i64), i64> = BTreeMap::new();
    for slice in model
        .all_slices()
        .filter(|slice| slice.attr(SliceAttr::Reconstructed).is_none())
    {
        *found
            .entry((slice.start().ps(), slice.dur().ps()))
            .or_default() += 1;
    }
    assert_eq!(found, expected);
}

#[test]
fn v5e_has_twenty_executions_of_two_programs() {
    let Some(corpus) = corpus() else { return };
    let model = open(&corpus.join("tpu/v5e_matmul.trace.json.gz"));
    let [core] = model.tensor_cores()[..] else {
        panic!("{:?}", model.groups())
    };
    let modules = track(&model, core, TrackKind::Modules);
    assert_eq!(modules.len(), 20);
    assert!(
        modules
            .iter()
            .all(|module| module.attr(SliceAttr::RunId).is_some())
    );
    let ops = track(&model, core, TrackKind::Ops);
    assert_eq!(ops.len(), 60);
    assert_eq!(model.programs().len(), 2);
    assert!(model.programs().iter().all(|program| program.id.is_some()));
    // Three ops in each program: equal names, different programs.
    assert_eq!(model.ops().len(), 6);
    assert!(
        model
            .ops()
            .iter()
            .all(|op| op.program.is_some() && op.category.is_some() && op.hlo_text.is_some())
    );

    let fusion = ops.iter().find(|op| op.name() == "fusion").unwrap();
    let facts = model.op(fusion.op().unwrap());
    let text = |id: Option<trace_model::StringId>| model.str(id.unwrap());
    assert_eq!(text(facts.category), "convolution fusion");
    assert_eq!(facts.model_flops, Some(268_435_456));
    assert_eq!(facts.bytes_accessed, Some(1_572_864));
    assert_eq!(facts.raw_bytes_accessed, Some(1_572_864));
    assert_eq!(facts.flops, None);
    assert_eq!(text(facts.shape), "bf16[512,512]{1,0:T(8,128)(2,1)}");
    assert_eq!(
        text(facts.framework_name),
        "jit(matmul)/jit(main)/dot_general:"
    );
    assert!(text(facts.source).ends_with("run_jax_real_tpu.py:93"));
    assert_eq!(text(facts.source_stack).lines().count(), 5);
    assert!(text(facts.hlo_text).starts_with("%fusion = bf16[512,512]"));

    // The export leaves out the line of in-flight spans; they are rebuilt.
    assert_eq!(track(&model, core, TrackKind::AsyncOps).len(), 20);
    let source = &model.sources()[0];
    for fact in ["device type", "device peaks", "HLO protos"] {
        assert!(
            source.cannot_know.contains(&fact),
            "{:?}",
            source.cannot_know
        );
    }
}

#[test]
fn device_durations_match_the_device_clock() {
    let Some(corpus) = corpus() else { return };
    for (file, path) in ["v5e_matmul", "v7x_vllm_tp2_a", "v7x_vllm_tp2_b"]
        .map(|file| (file, corpus.join(format!("tpu/{file}.trace.json.gz"))))
    {
        let model = open(&path);
        let arg = |event: &Value, name: &str| event["args"][name].as_str()?.parse::<i64>().ok();
        let mut expected: Vec<(i64, i64)> = events(&path)
            .iter()
            .filter(|event| !event["args"]["hlo_category"].is_null())
            .filter_map(|event| {
                Some((
                    arg(event, "device_offset_ps")?,
                    arg(event, "device_duration_ps")?,
                ))
            })
            .collect();
        let mut found: Vec<(i64, i64)> = Vec::new();
        for core in model.tensor_cores() {
            for op in track(&model, core, TrackKind::Ops) {
                let range = op.device_range().unwrap();
                found.push((range.start.ps(), range.dur().ps()));
            }
        }
        expected.sort_unstable();
        found.sort_unstable();
        assert!(!found.is_empty());
        assert_eq!(found, expected, "{file}");
    }
}

#[test]
fn v7x_has_two_cores_with_matching_collectives() {
    let Some(corpus) = corpus() else { return };
    for file in ["a", "b"] {
        let path = corpus.join(format!("tpu/v7x_vllm_tp2_{file}.trace.json.gz"));
        let (model, events) = (open(&path), events(&path));
        assert_eq!(model.tensor_cores().len(), 2);
        let mut instances: BTreeMap<i64, Vec<GroupId>> = BTreeMap::new();
        for core in model.tensor_cores() {
            assert!(matches!(
                model.group(model.group(core).parent.unwrap()).kind,
                GroupKind::Host
            ));
            for op in track(&model, core, TrackKind::Ops) {
                let facts = model.op(op.op().unwrap());
                assert!(facts.program.is_some(), "{} is in no program", op.name());
                if let Some(instance) = op.attr(SliceAttr::CollectiveInstance) {
                    instances.entry(instance).or_default().push(core);
                }
            }
        }
        let with_id = events
            .iter()
            .filter(|event| !event["args"]["all_reduce_unique_id"].is_null())
            .count();
        assert_eq!(instances.values().map(Vec::len).sum::<usize>(), with_id);
        assert!(with_id > 0);
        // The performance state is a counter, not slices.
        assert!(
            model
                .counters()
                .iter()
                .all(|series| model.str(model.track(series.track()).name) == "P state")
        );
    }
}

#[test]
fn op_facts_match_each_event() {
    let Some(corpus) = corpus() else { return };
    let path = corpus.join("tpu/v7x_vllm_tp2_b.trace.json.gz");
    let (model, events) = (open(&path), events(&path));
    let mut by_start: BTreeMap<i64, Vec<&Value>> = BTreeMap::new();
    for event in &events {
        if let Some(offset) = event["args"]["device_offset_ps"].as_str() {
            by_start
                .entry(offset.parse().unwrap())
                .or_default()
                .push(event);
        }
    }
    let mut checked = 0;
    for core in model.tensor_cores() {
        for slice in track(&model, core, TrackKind::Ops) {
            let op = model.op(slice.op().unwrap());
            let said = |name: &str, event: &Value| event["args"][name].as_str().map(str::to_owned);
            let known = |id: Option<trace_model::StringId>| id.map(|id| model.str(id).to_owned());
            let number = |value: Option<u64>| value.map(|value| value.to_string());
            let same = |event: &&&Value| {
                event["name"] == slice.name()
                    && said("long_name", event) == known(op.hlo_text)
                    && said("hlo_category", event) == known(op.category)
                    && said("shape_with_layout", event) == known(op.shape)
                    && said("tf_op", event) == known(op.framework_name)
                    && said("source", event) == known(op.source)
                    && said("source_stack", event) == known(op.source_stack)
                    && said("deduplicated_name", event) == known(op.deduplicated_name)
                    && said("bytes_accessed", event) == number(op.bytes_accessed)
                    && said("raw_bytes_accessed", event) == number(op.raw_bytes_accessed)
                    && said("model_flops", event) == number(op.model_flops)
            };
            let start = slice.device_range().unwrap().start.ps();
            assert!(
                by_start[&start].iter().find(same).is_some(),
                "{} at {start}: {op:?}",
                slice.name()
            );
            checked += 1;
        }
    }
    assert!(checked > 1000);
}

#[test]
fn arguments_are_read_lazily_from_gzip() {
    let Some(corpus) = corpus() else { return };
    let path = corpus.join("tpu/v5e_matmul.trace.json.gz");
    let (model, events) = (open(&path), events(&path));
    let [core] = model.tensor_cores()[..] else {
        panic!()
    };
    let ops = track(&model, core, TrackKind::Ops);
    for op in [&ops[59], &ops[0], &ops[30]] {
        let args = op.args().unwrap();
        let start = op.device_range().unwrap().start.ps().to_string();
        let event = events
            .iter()
            .find(|event| event["args"]["device_offset_ps"] == start.as_str())
            .unwrap();
        let Value::Object(expected) = &event["args"] else {
            panic!()
        };
        assert_eq!(args.len(), expected.len());
        for arg in args {
            assert_eq!(
                Some(arg.value.to_string().as_str()),
                expected[&arg.name].as_str(),
                "{}",
                arg.name
            );
        }
    }
}

#[test]
fn jax_steps_carry_their_number() {
    let Some(corpus) = corpus() else { return };
    let model = open(&corpus.join("host/jax_cpu_transformer_recompiles.trace.json.gz"));
    let mut steps: Vec<(i64, Picos)> = model
        .all_slices()
        .filter(|slice| slice.name() == "train")
        .map(|slice| (slice.attr(SliceAttr::StepNum).unwrap(), slice.dur()))
        .collect();
    steps.sort_unstable();
    assert_eq!(
        steps.iter().map(|&(step, _)| step).collect::<Vec<_>>(),
        (0..20).collect::<Vec<_>>()
    );
    let slow: Vec<f64> = steps
        .iter()
        .map(|(_, dur)| dur.as_secs_f64())
        .filter(|&dur| dur > 5.0)
        .map(|dur| (dur * 10.0).round() / 10.0)
        .collect();
    assert_eq!(slow, [9.7, 11.2, 12.4]);
}

#[test]
fn perfetto_dialect_gives_the_same_slices() {
    let Some(corpus) = corpus() else { return };
    let export = open(&corpus.join("host/jax_cpu_8dev_collectives.trace.json.gz"));
    let perfetto = open(&corpus.join("host/jax_cpu_8dev_collectives.perfetto_trace.json.gz"));
    let shape = |model: &TraceModel| -> Vec<(String, usize)> {
        let tracks = model.track_ids();
        tracks
            .map(|id| {
                (
                    model.str(model.track(id).name).to_owned(),
                    model.slices_on(id).count(),
                )
            })
            .collect()
    };
    assert_eq!(shape(&export), shape(&perfetto));
    let starts = |model: &TraceModel| {
        model
            .all_slices()
            .map(|slice| (slice.range(), slice.name().to_owned()))
            .collect::<Vec<_>>()
    };
    assert!(starts(&export) == starts(&perfetto));
}

#[test]
fn pytorch_trace_opens_with_its_names() {
    let Some(corpus) = corpus() else { return };
    let model = open(&corpus.join("big/pytorch_mtia_456k_events.json.gz"));
    let names: Vec<&str> = model
        .groups()
        .iter()
        .map(|group| model.str(group.name))
        .collect();
    assert!(
        names.contains(&"MTIA 9")
            && names
                .iter()
                .any(|name| name.starts_with("launcher_test_mtia")),
        "{names:?}"
    );
    let tracks: Vec<&str> = model
        .tracks()
        .iter()
        .map(|track| model.str(track.name))
        .collect();
    assert!(
        tracks.contains(&"Stream 1 FW") && tracks.contains(&"DMA_REQUEST"),
        "{tracks:?}"
    );
    assert_eq!(model.import_log().count(IssueKind::FlowWithoutEnd), 0);
    assert_eq!(model.flows().len(), 3658);
    let source = &model.sources()[0];
    assert_eq!(source.host.as_deref(), Some("devgpu109.atn2.facebook.com"));
    // 2024-10-01 by `baseTimeNanoseconds`, plus the first timestamp.
    assert_eq!(
        source.started_unix_ns.map(|ns| ns / 1_000_000_000),
        Some(1_727_743_122 + 3_605_057)
    );
    let op = model
        .all_slices()
        .find(|slice| slice.name() == "aten::unsqueeze")
        .unwrap();
    let args = op.args().unwrap();
    assert!(args.iter().any(|arg| arg.name == "External id"), "{args:?}");
    assert!(
        args.iter()
            .any(|arg| arg.name == "cat" && arg.value.as_str() == Some("cpu_op"))
    );
}
