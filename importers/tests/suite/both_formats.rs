//! Sessions that were written in both formats must make the same model.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use common::corpus;
use importers::{InputSource, Progress};
use trace_model::{Op, StringId, TraceModel, TrackKind};

use crate::common;

fn open(file: &str) -> Option<TraceModel> {
    let source = InputSource::open(&corpus()?.join(file)).unwrap();
    Some(importers::import(&source, &Progress::new()).unwrap())
}

/// An op and its executions: program, name, facts, count, picoseconds, of which its own.
type Row = (Option<u64>, String, Vec<Option<String>>, usize, i64, i64);

fn op_table(model: &TraceModel) -> Vec<Row> {
    let text = |id: Option<StringId>| id.map(|id| model.str(id).to_owned());
    let number = |value: Option<u64>| value.map(|value| value.to_string());
    let facts = |op: &Op| {
        vec![
            text(op.category),
            text(op.hlo_text),
            text(op.shape),
            text(op.framework_name),
            text(op.source),
            text(op.source_stack),
            text(op.deduplicated_name),
            number(op.model_flops),
            number(op.bytes_accessed),
            number(op.raw_bytes_accessed),
        ]
    };
    let mut rows: BTreeMap<usize, (usize, i64, i64)> = BTreeMap::new();
    for track in model
        .track_ids()
        .filter(|&id| model.track(id).kind == TrackKind::Ops)
    {
        for slice in model.slices_on(track) {
            let row = rows.entry(slice.op().unwrap().index()).or_default();
            row.0 += 1;
            row.1 += slice.measured_dur().ps();
            row.2 += slice.self_dur().ps();
        }
    }
    let mut table: Vec<Row> = rows
        .into_iter()
        .map(|(index, (count, total, own))| {
            let op = &model.ops()[index];
            let program = op.program.and_then(|program| model.program(program).id);
            (
                program,
                model.str(op.name).to_owned(),
                facts(op),
                count,
                total,
                own,
            )
        })
        .collect();
    table.sort();
    table
}

#[test]
fn v5e_op_tables_agree_to_the_picosecond() {
    let Some(pb) = open("tpu/v5e_matmul.xplane.pb") else {
        return;
    };
    let json = open("tpu/v5e_matmul.trace.json.gz").unwrap();
    let table = op_table(&pb);
    assert_eq!(table.len(), 6);
    assert_eq!(table, op_table(&json));
}

#[test]
fn rebuilt_async_spans_equal_recorded_ones() {
    let spans = |model: &TraceModel| {
        let track = model
            .track_of_kind(model.tensor_cores()[0], TrackKind::AsyncOps)
            .unwrap();
        model
            .slices_on(track)
            .map(trace_model::SliceRef::range)
            .collect::<Vec<_>>()
    };
    let Some(pb) = open("tpu/v5e_matmul.xplane.pb") else {
        return;
    };
    let json = open("tpu/v5e_matmul.trace.json.gz").unwrap();
    assert_eq!(spans(&pb).len(), 20);
    assert_eq!(spans(&pb), spans(&json));
}

#[test]
fn tracks_of_both_formats_have_equal_slices() {
    for file in [
        "tpu/v5e_matmul",
        "host/tpuvm_cpu_backend",
        "host/jax_cpu_transformer_recompiles",
        "host/jax_cpu_8dev_collectives",
    ] {
        let Some(pb) = open(&format!("{file}.xplane.pb")) else {
            return;
        };
        let json = open(&format!("{file}.trace.json.gz")).unwrap();
        let tracks = |model: &TraceModel| {
            let mut tracks: Vec<_> = model
                .track_ids()
                .map(|id| {
                    let track = model.track(id);
                    let group = model.str(model.group(track.group).name).to_owned();
                    // The export keeps the lower half of ids, and rebuilt lines have none.
                    let id_kept = if track.kind == TrackKind::AsyncOps {
                        0
                    } else {
                        track.external_id as u32
                    };
                    let key = (group, track.kind, model.str(track.name).to_owned(), id_kept);
                    let mut slices: Vec<_> = model
                        .slices_on(id)
                        .map(|slice| (slice.start(), slice.dur(), slice.name().to_owned()))
                        .collect();
                    slices.sort();
                    (key, slices)
                })
                .filter(|(_, slices)| !slices.is_empty())
                .collect();
            tracks.sort_by(|a, b| a.0.cmp(&b.0));
            tracks
        };
        let (pb, json) = (tracks(&pb), tracks(&json));
        let keys: Vec<_> = pb.iter().map(|(key, slices)| (key, slices.len())).collect();
        assert_eq!(
            keys,
            json.iter()
                .map(|(key, slices)| (key, slices.len()))
                .collect::<Vec<_>>(),
            "{file}"
        );
        for (pb, json) in pb.iter().zip(&json) {
            let first = pb.1.iter().zip(&json.1).find(|(a, b)| a != b);
            assert_eq!(first, None, "{file}: {:?}", pb.0);
        }
    }
}
