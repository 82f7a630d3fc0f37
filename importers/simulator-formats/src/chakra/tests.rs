use trace_model::{SliceRef, TraceModel};

use super::*;

/// A message, preceded by its length.
fn framed(message: &[u8]) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(message.len()).unwrap()];
    bytes.extend(message);
    bytes
}

/// A node with small numbers: id, name, type, dependencies, duration.
fn node(id: u8, name: &str, kind: u8, needs: &[u8], micros: u8) -> Vec<u8> {
    let mut bytes = if id == 0 { Vec::new() } else { vec![0x08, id] };
    bytes.extend([0x12, u8::try_from(name.len()).unwrap()]);
    bytes.extend(name.as_bytes());
    bytes.extend([0x18, kind]);
    if !needs.is_empty() {
        bytes.extend([0x2a, u8::try_from(needs.len()).unwrap()]);
        bytes.extend(needs);
    }
    bytes.extend([0x38, micros]);
    framed(&bytes)
}

fn file(nodes: &[Vec<u8>]) -> Vec<u8> {
    [vec![framed(b"\x0a\x050.0.4")], nodes.to_vec()]
        .concat()
        .concat()
}

fn open(bytes: Vec<u8>) -> Result<TraceModel> {
    let source = InputSource::from_bytes("work.3.et", bytes).unwrap();
    assert!(
        source.head().is_empty()
            || ChakraImporter.detect(source.head()) == DetectionConfidence::Certain
    );
    let mut builder = TraceBuilder::new();
    ChakraImporter.import(
        &source,
        &ImportOptions::default(),
        &Progress::default(),
        &mut builder,
    )?;
    Ok(builder.finish())
}

/// `name start-end`, in µs.
fn slices(model: &TraceModel) -> Vec<String> {
    let text = |slice: SliceRef<'_>| {
        let range = slice.range();
        format!(
            "{} {}-{}",
            slice.name(),
            range.start.ps() / 1_000_000,
            range.end.ps() / 1_000_000
        )
    };
    let mut slices: Vec<_> = model.all_slices().map(text).collect();
    slices.sort();
    slices
}

#[test]
fn nodes_start_when_dependencies_end() {
    let model = open(file(&[
        node(0, "gather", 7, &[], 4),
        node(1, "first", 4, &[], 3),
        node(2, "second", 4, &[0], 2),
        node(3, "last", 4, &[0, 2], 1),
    ]))
    .unwrap();
    assert_eq!(
        slices(&model),
        [
            "first 0-3",
            "gather 0-4",
            "last 6-7",
            "second 4-6",
            "wait gather 3-4"
        ]
    );
    assert_eq!(
        model.str(model.group(model.tensor_cores()[0]).name),
        "NPU 3"
    );
    assert_eq!(model.flows().len(), 3);
}

#[test]
fn graph_without_durations_is_marked_as_placeholder() {
    let model = open(file(&[node(1, "a", 4, &[], 0), node(2, "b", 4, &[1], 0)])).unwrap();
    assert_eq!(slices(&model), ["a 0-1", "b 1-2"]);
    assert!(
        model.sources()[0]
            .cannot_know
            .iter()
            .any(|what| what.contains("1 µs"))
    );
}

#[test]
fn dependency_cycle_is_an_error_naming_it() {
    let error = open(file(&[node(1, "a", 4, &[2], 1), node(2, "b", 4, &[1], 1)]))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("2 nodes form a dependency cycle, among them 1, 2"),
        "{error}"
    );
}

#[test]
fn truncated_file_keeps_readable_nodes() {
    let whole = file(&[node(1, "a", 4, &[], 1), node(2, "b", 4, &[1, 9], 1)]);
    let first = file(&[node(1, "a", 4, &[], 1)]).len();
    for len in 1..whole.len() {
        let source = InputSource::from_bytes("work.0.et", whole[..len].to_vec()).unwrap();
        let mut builder = TraceBuilder::new();
        let result = ChakraImporter.import(
            &source,
            &ImportOptions::default(),
            &Progress::default(),
            &mut builder,
        );
        let model = builder.finish();
        let is_said = result.is_err() || model.import_log().count(IssueKind::TruncatedFile) == 1;
        assert_eq!(model.slice_count(), usize::from(len >= first), "{len}");
        assert_eq!(is_said, ![file(&[]).len(), first].contains(&len), "{len}");
    }
    assert_eq!(
        open(whole)
            .unwrap()
            .import_log()
            .count(IssueKind::FlowWithoutEnd),
        1
    );
}

#[test]
fn rejects_other_protobufs() {
    assert_eq!(
        ChakraImporter.detect(b"\x0a\x0c\x12\x0a/host:CPU0"),
        DetectionConfidence::No
    );
    assert_eq!(ChakraImporter.detect(b""), DetectionConfidence::No);
}

#[test]
fn empty_messages_are_damage() {
    let mut bytes = file(&[node(1, "a", 4, &[], 1)]);
    bytes.extend(vec![0; 100_000]);
    let model = open(bytes).unwrap();
    assert_eq!(
        (
            model.slice_count(),
            model.import_log().count(IssueKind::TruncatedFile)
        ),
        (1, 1)
    );
}

/// A node with operations and bytes.
fn costly(id: u8, name: &str, flops: u8, bytes: u8) -> Vec<u8> {
    let attribute = |name: &str, value: u8| {
        let text = [
            vec![0x0a, u8::try_from(name.len()).unwrap()],
            name.as_bytes().to_vec(),
            vec![0x48, value],
        ]
        .concat();
        [vec![0x52], framed(&text)].concat()
    };
    let whole = node(id, name, 4, &[], 1);
    framed(
        &[
            whole[1..].to_vec(),
            attribute("num_ops", flops),
            attribute("tensor_size", bytes),
        ]
        .concat(),
    )
}

#[test]
fn same_named_nodes_with_other_work_are_separate_ops() {
    let nodes = [
        costly(1, "mm", 8, 4),
        costly(2, "mm", 8, 6),
        costly(3, "mm", 8, 4),
        costly(4, "mm", 8, 6),
    ];
    let model = open(file(&nodes)).unwrap();
    assert_eq!(
        slices(&model),
        ["mm (node 2) 1-2", "mm (node 2) 3-4", "mm 0-1", "mm 2-3"]
    );
    let bytes: Vec<_> = model
        .ops()
        .iter()
        .map(|op| (model.str(op.name), op.flops, op.bytes_accessed))
        .collect();
    let known: Vec<_> = bytes
        .into_iter()
        .filter(|(_, flops, _)| flops.is_some())
        .collect();
    assert_eq!(
        known,
        [("mm", Some(8), Some(4)), ("mm (node 2)", Some(8), Some(6))]
    );
    // Unknown facts of one node are not filled in from the other.
    let model = open(file(&[node(1, "mm", 4, &[], 1), costly(2, "mm", 8, 4)])).unwrap();
    let costs: Vec<_> = model
        .ops()
        .iter()
        .map(|op| (model.str(op.name), op.flops))
        .collect();
    assert!(
        costs.contains(&("mm", None)) && costs.contains(&("mm (node 2)", Some(8))),
        "{costs:?}"
    );
}

/// Names that look like those that the importer generates to distinguish nodes of the same name.
#[test]
fn nodes_with_different_work_never_share_an_op() {
    let ran = |id: u64, name: &str| NodeExecution {
        id,
        name: name.to_owned(),
        kind: graph::NodeKind::Compute,
        is_on_host: false,
        begin: id as i64,
        end: id as i64 + 1,
        is_open: false,
        costs: Some(NodeCosts {
            flops: id,
            bytes: 1,
        }),
        message: None,
        needs: Vec::new(),
    };
    let nodes = vec![
        ran(1, "a"),
        ran(2, "a (node 4)"),
        ran(3, "a (NPU 0, node 4)"),
        ran(4, "a"),
    ];
    let mut builder = TraceBuilder::new();
    npu::write(
        &ChakraNpu {
            nodes,
            ..ChakraNpu::default()
        },
        &mut builder,
    );
    let model = builder.finish();
    let flops = model
        .all_slices()
        .filter_map(|slice| model.op(slice.op()?).flops);
    assert_eq!(flops.collect::<Vec<_>>(), [1, 2, 3, 4]);
}

/// Ranks that do the same work have files with the same bytes; only the name contains the rank.
#[test]
fn identical_ranks_are_all_imported() {
    let dir = tempfile::tempdir().unwrap();
    for rank in 0..3 {
        std::fs::write(
            dir.path().join(format!("work.{rank}.et")),
            file(&[node(1, "first", 4, &[], 3)]),
        )
        .unwrap();
    }
    let model = importers::import_path(dir.path(), &ImportOptions::default(), &Progress::default())
        .unwrap();
    assert_eq!(model.tensor_cores().len(), 3);
    assert_eq!(model.import_log().count(IssueKind::SameContent), 0);
}
