//! Real profiles against what is known of them: the specification's golden
//! vectors, and what XProf says of the same files.
//!
//! The corpus lies beside the repository. Without it these tests say so and
//! pass, unless `SYSTOLE_REQUIRE_CORPUS=1`.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use importers::{InputSource, Progress, import};
use trace_model::{
    Access, ArgValue, GroupId, GroupKind, IssueKind, MemorySpace, Picos, SliceAttr, SliceRef,
    TraceModel, TrackKind,
};

pub(super) fn corpus(file: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/corpus")
        .join(file);
    if path.exists() {
        return Some(path);
    }
    assert!(
        std::env::var_os("SYSTOLE_REQUIRE_CORPUS").is_none_or(|v| v != "1"),
        "{} is missing",
        path.display()
    );
    println!("skipped: no corpus at {}", path.display());
    None
}

pub(super) fn open(file: &str) -> Option<TraceModel> {
    let source = InputSource::open(&corpus(file)?).unwrap();
    Some(import(&source, &Progress::new()).unwrap())
}

pub(super) fn cores(model: &TraceModel) -> Vec<GroupId> {
    model
        .group_ids()
        .filter(|&id| matches!(model.group(id).kind, GroupKind::TensorCore { .. }))
        .collect()
}

pub(super) fn slices(model: &TraceModel, group: GroupId, kind: TrackKind) -> Vec<SliceRef<'_>> {
    model
        .track_of_kind(group, kind)
        .map_or_else(Vec::new, |track| model.slices_on(track).collect())
}

/// `(program id, op name)` → occurrences, total, self: of the whole file.
type OpTimes = BTreeMap<(String, String), (u64, i64, i64)>;

fn op_times(model: &TraceModel) -> OpTimes {
    let mut times = OpTimes::new();
    for core in cores(model) {
        for slice in slices(model, core, TrackKind::Ops) {
            let op = model.op(slice.op().unwrap());
            let program = model.program(op.program.unwrap()).id.unwrap();
            let entry = times
                .entry((program.to_string(), model.str(op.name).to_owned()))
                .or_default();
            entry.0 += 1;
            entry.1 += slice.measured_dur().ps();
            entry.2 += slice.self_dur().ps();
        }
    }
    times
}

/// Times of ops, as XProf's tool `hlo_stats` answers.
fn xprof_op_times(file: &str) -> Option<OpTimes> {
    let text = std::fs::read(corpus(file)?).unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let columns: Vec<_> = answer["cols"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["id"].as_str().unwrap())
        .collect();
    let cell = |row: &serde_json::Value, name: &str| {
        let at = columns.iter().position(|&column| column == name).unwrap();
        let value = &row["c"][at]["v"];
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let ps = |row: &serde_json::Value, name: &str| {
        (cell(row, name).parse::<f64>().unwrap() * 1e6).round() as i64
    };
    let row = |row: &serde_json::Value| {
        let occurrences = cell(row, "occurrences").parse::<f64>().unwrap() as u64;
        let key = (cell(row, "program_id"), cell(row, "hlo_op_name"));
        (
            key,
            (
                occurrences,
                ps(row, "total_time"),
                ps(row, "total_self_time"),
            ),
        )
    };
    Some(
        answer["rows"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|r| cell(r, "category") != "IDLE")
            .map(row)
            .collect(),
    )
}

#[test]
fn v5e_has_its_programs_executions_and_ops() {
    let Some(model) = open("tpu/v5e_matmul.xplane.pb") else {
        return;
    };
    let programs: Vec<_> = model
        .programs()
        .iter()
        .map(|p| (model.str(p.name), p.id.unwrap()))
        .collect();
    assert_eq!(programs.len(), 2);
    assert!(programs.contains(&("jit_matmul", 7_387_342_164_949_680_137)));
    assert!(programs.contains(&("jit__reduce_sum", 7_131_411_788_155_273_425)));
    let mut protos: Vec<_> = model
        .programs()
        .iter()
        .map(|p| p.hlo.as_ref().unwrap().bytes().len())
        .collect();
    protos.sort_unstable();
    assert_eq!(protos, [2077, 2945]);

    let [core] = cores(&model)[..] else {
        panic!("one core")
    };
    assert_eq!(slices(&model, core, TrackKind::Modules).len(), 20);
    assert_eq!(slices(&model, core, TrackKind::Ops).len(), 60);
    assert_eq!(slices(&model, core, TrackKind::AsyncOps).len(), 20);
    assert!(
        model.import_log().counts().is_empty(),
        "{:?}",
        model.import_log()
    );

    let source = &model.sources()[0];
    assert_eq!(source.host.as_deref(), Some("t1v-n-3072d20e-w-0"));
    assert_eq!(source.started_unix_ns, Some(1_779_098_263_865_619_879));
    assert_eq!(source.stopped_unix_ns, Some(1_779_098_264_108_272_449));
    let device = model.group(core).device.as_ref().unwrap();
    assert_eq!(device.type_name.as_deref(), Some("TPU v5 Lite"));
    assert_eq!(device.peak_flops, Some(202.7e12));
    assert_eq!(
        device.peak_hbm_bytes.map(|v| (v / 1e5).round()),
        Some(8_191_576.0)
    );
    assert_eq!(
        (device.peak_cmem_read_bytes, device.has_megacore),
        (None, Some(false))
    );
    // Empty core details say nothing.
    assert_eq!(device.local_chip_id, None);
}

#[test]
fn v5e_times_are_exact() {
    let Some(model) = open("tpu/v5e_matmul.xplane.pb") else {
        return;
    };
    // Line at 25,709,746 ns, event at 14,962,499,000 ps.
    let passes = model
        .all_slices()
        .find(|s| s.name() == "Phase 1 pre-layout assignment passes")
        .unwrap();
    assert_eq!(
        (passes.start().ps(), passes.dur().ps()),
        (40_672_245_000, 494_800_000)
    );

    let core = cores(&model)[0];
    let span = slices(&model, core, TrackKind::AsyncOps)[0];
    assert_eq!(
        (span.name(), span.start().ps(), span.dur().ps()),
        ("copy-start", 151_685_792_500, 1_088_750)
    );
    let done = slices(&model, core, TrackKind::Ops)
        .into_iter()
        .find(|s| s.name() == "copy-done")
        .unwrap();
    assert_eq!(done.range().end, span.range().end);
    let name = model.strings().find("copy-done").unwrap();
    assert_eq!(span.attr(SliceAttr::DoneOp), Some(name.index() as i64));
    assert_eq!(span.attr(SliceAttr::Reconstructed), None);
}

#[test]
fn v5e_ops_have_compiler_facts() {
    let Some(model) = open("tpu/v5e_matmul.xplane.pb") else {
        return;
    };
    let core = cores(&model)[0];
    let fusion = slices(&model, core, TrackKind::Ops)
        .into_iter()
        .find(|s| s.name() == "fusion")
        .unwrap();
    let op = model.op(fusion.op().unwrap());
    assert_eq!(
        (op.flops, op.model_flops),
        (Some(268_435_456), Some(268_435_456))
    );
    assert_eq!(
        op.category.map(|id| model.str(id)),
        Some("convolution fusion")
    );
    assert!(
        op.hlo_text
            .is_some_and(|id| model.str(id).starts_with("%fusion = bf16[512,512]"))
    );
    let memory: Vec<_> = op
        .memory
        .iter()
        .map(|m| (m.access, m.space, m.bytes))
        .collect();
    let expected = [
        (Access::Read, MemorySpace::Hbm, 524_288),
        (Access::Write, MemorySpace::Hbm, 524_288),
        (Access::Read, MemorySpace::Vmem, 524_288),
    ];
    assert_eq!(memory, expected);
    assert_eq!(op.bytes_accessed, Some(1_572_864));

    let args = fusion.args().unwrap();
    let arg = |name: &str| {
        args.iter()
            .find(|arg| arg.name == name)
            .map(|arg| arg.value.clone())
    };
    assert_eq!(
        arg("device_duration_ps").and_then(|v| v.as_i64()),
        Some(fusion.measured_dur().ps())
    );
    assert_eq!(
        arg("hlo_category"),
        Some(ArgValue::Text("convolution fusion".to_owned()))
    );
    assert!(arg("long_name").is_some());
    assert!(matches!(
        arg("memory_access_breakdown"),
        Some(ArgValue::Opaque(30))
    ));
    let module = slices(&model, core, TrackKind::Modules)[0];
    assert_eq!(module.attr(SliceAttr::RunId), Some(7));
}

#[test]
fn op_times_match_xprof_to_the_picosecond() {
    for file in [
        "v5e_matmul",
        "v6e_x4_host_offload",
        "v6e_x4_host_offload_steps_added",
    ] {
        let Some(model) = open(&format!("tpu/{file}.xplane.pb")) else {
            return;
        };
        let Some(xprof) = xprof_op_times(&format!("tpu/xprof/{file}/hlo_stats.json")) else {
            return;
        };
        let ours = op_times(&model);
        assert!(xprof.len() >= 6);
        for (op, expected) in &xprof {
            assert_eq!(ours.get(op), Some(expected), "{file}: {op:?}");
        }
    }
}

#[test]
fn v6e_has_four_devices_with_their_clocks() {
    let Some(model) = open("tpu/v6e_x4_host_offload.xplane.pb") else {
        return;
    };
    let cores = cores(&model);
    assert_eq!(cores.len(), 4);
    for (ordinal, &core) in cores.iter().enumerate() {
        assert_eq!(
            model.group(core).kind,
            GroupKind::TensorCore {
                ordinal: ordinal as u32
            }
        );
        let device = model.group(core).device.as_ref().unwrap();
        assert_eq!(device.type_name.as_deref(), Some("TPU v6 Lite"));
        assert!(device.local_chip_id.is_some());
        let ops = slices(&model, core, TrackKind::Ops);
        assert_eq!(ops.len(), if ordinal == 0 { 1504 } else { 1503 });
        assert!(ops.iter().all(|op| op.device_range().is_some()));
        assert!(
            slices(&model, core, TrackKind::Modules)
                .iter()
                .all(|op| op.device_range().is_none())
        );
    }
    let all_reduces: Vec<_> = cores
        .iter()
        .flat_map(|&core| slices(&model, core, TrackKind::Ops))
        .filter(|op| op.attr(SliceAttr::CollectiveInstance).is_some())
        .collect();
    assert_eq!(all_reduces.len(), 12);
    assert!(
        all_reduces
            .iter()
            .all(|op| op.name().starts_with("all-reduce"))
    );
    // Four protos among eight entries of the metadata plane.
    assert_eq!(model.programs().len(), 4);
    assert!(
        model
            .programs()
            .iter()
            .all(|p| !p.hlo.as_ref().unwrap().bytes().is_empty())
    );
    let first = slices(&model, cores[0], TrackKind::Ops)[0];
    assert_eq!(first.start().ps(), 5_439_011_744_500);
    assert_eq!(first.device_range().unwrap().start.ps(), 5_438_997_127_500);
    assert_eq!(first.measured_dur(), Picos::from_ps(4_443_766_250));
}

#[test]
fn rebuilt_spans_match_recorded_ones() {
    let Some(model) = open("tpu/v6e_x4_host_offload.xplane.pb") else {
        return;
    };
    let cores = cores(&model);
    // In-flight spans as pairs of the op line, the k-th start of a name with its k-th done.
    let pairs = |core: GroupId| {
        let mut halves: BTreeMap<String, Vec<SliceRef<'_>>> = BTreeMap::new();
        let mut ops = slices(&model, core, TrackKind::Ops);
        ops.sort_by_key(|op| op.measured_range().start);
        for op in ops {
            halves.entry(op.name().to_owned()).or_default().push(op);
        }
        let mut spans: Vec<(i64, i64, i64, i64)> = Vec::new();
        for (name, starts) in halves.iter().filter(|(name, _)| name.contains("-start")) {
            let dones = &halves[&name.replace("-start", "-done")];
            assert_eq!(starts.len(), dones.len());
            spans.extend(starts.iter().zip(dones).map(|(start, done)| {
                let (first, last) = (start.measured_range(), done.measured_range());
                (
                    start.start().ps(),
                    done.range().end.ps(),
                    first.start.ps(),
                    last.end.ps(),
                )
            }));
        }
        spans.sort_unstable();
        spans
    };
    for (ordinal, &core) in cores.iter().enumerate() {
        let spans = slices(&model, core, TrackKind::AsyncOps);
        assert_eq!(spans.len(), 600, "core {ordinal}");
        let recorded = spans
            .iter()
            .filter(|span| span.attr(SliceAttr::Reconstructed).is_none())
            .count();
        assert_eq!(recorded, if ordinal == 0 { 600 } else { 0 });
        // Recorded or rebuilt: the same rule gives both, on both clocks.
        let mut found: Vec<_> = spans
            .iter()
            .map(|span| {
                let device = span.device_range().unwrap();
                (
                    span.start().ps(),
                    span.range().end.ps(),
                    device.start.ps(),
                    device.end.ps(),
                )
            })
            .collect();
        found.sort_unstable();
        assert_eq!(found, pairs(core), "core {ordinal}");
    }
    let log = model.import_log();
    assert_eq!(
        (
            log.count(IssueKind::AsyncUnterminated),
            log.count(IssueKind::AsyncWithoutStart)
        ),
        (0, 0)
    );
}

#[test]
fn launches_link_to_their_programs() {
    let Some(model) = open("tpu/v6e_x4_host_offload.xplane.pb") else {
        return;
    };
    let mut linked = 0;
    for core in cores(&model) {
        for module in slices(&model, core, TrackKind::Modules) {
            let from: Vec<_> = model
                .flows_to(module.id())
                .map(|flow| model.slice(flow.from))
                .collect();
            assert_eq!(from.len(), 1);
            assert_eq!(
                from[0].attr(SliceAttr::RunId),
                module.attr(SliceAttr::RunId)
            );
            assert_eq!(model.track(from[0].track()).kind, TrackKind::HostThread);
            linked += 1;
        }
    }
    assert_eq!(linked, 105 + 3 * 103);
}

#[test]
fn added_steps_are_found() {
    let Some(model) = open("tpu/v6e_x4_host_offload_steps_added.xplane.pb") else {
        return;
    };
    for core in cores(&model) {
        let steps = slices(&model, core, TrackKind::Steps);
        assert_eq!(steps.len(), 100);
        assert!(
            steps
                .iter()
                .all(|step| step.attr(SliceAttr::GroupId).is_some())
        );
    }
}

#[test]
fn profiles_without_a_tpu_open() {
    let Some(model) = open("gpu/tf2_8xV100.xplane.pb") else {
        return;
    };
    let gpus = model
        .group_ids()
        .filter(|&id| matches!(model.group(id).kind, GroupKind::Gpu { .. }))
        .count();
    assert_eq!(gpus, 8);
    assert!(
        model
            .track_ids()
            .any(|id| model.track(id).kind == TrackKind::Stream)
    );
    assert!(
        model
            .track_ids()
            .any(|id| model.track(id).kind == TrackKind::Derived)
    );
    assert_eq!(model.slice_count(), 23_128);
    assert!(model.ops().is_empty());

    let Some(model) = open("host/tpuvm_cpu_backend.xplane.pb") else {
        return;
    };
    assert!(cores(&model).is_empty());
    assert_eq!(model.programs().len(), 7);
    let matmul = model
        .programs()
        .iter()
        .find(|p| model.str(p.name) == "jit_matmul")
        .unwrap();
    assert_eq!(
        (matmul.id, matmul.hlo.as_ref().unwrap().bytes().len()),
        (Some(11), 1975)
    );
}

#[test]
fn large_profile_keeps_every_event() {
    let Some(model) = open("big/jax_cpu_808k_events.xplane.pb.gz") else {
        return;
    };
    assert_eq!(model.slice_count(), 808_237);
    assert_eq!(model.flows().len(), 254_870);
}

#[test]
fn slices_take_at_most_32_bytes() {
    let files = [
        "big/jax_cpu_808k_events.xplane.pb.gz",
        "gpu/tf2_8xV100.xplane.pb",
        "tpu/v5e_matmul.xplane.pb",
        "tpu/v6e_x4_host_offload.xplane.pb",
        "tpu/v6e_x4_host_offload_steps_added.xplane.pb",
    ];
    for file in files {
        let Some(model) = open(file) else { return };
        let bytes = model.memory_use().bytes_per_slice().unwrap();
        assert!(bytes <= 32.0, "{file}: {bytes} bytes a slice");
    }
}
