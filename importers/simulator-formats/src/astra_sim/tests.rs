use sample_traces::slices;
use trace_model::{DeviceLinks, TraceModel};

use super::*;

const HEAD: &str = "[12:00] [workload] [debug] ";
const ROOFLINE: &str = "operation_intensity=2, perf=50, elapsed_time=1 compute_utilization=0.5 memory_utilization=0.25 \
                        tensor_size=40 num_ops=80";

/// A log: `+` stands for a start, `-` for an end, `=` for a roofline line; other lines are used as they are.
fn log(lines: &[&str]) -> String {
    let line = |text: &&str| match text.split(' ').collect::<Vec<_>>()[..] {
        ["+", sys, tick, node, name, kind] => event("issue", sys, tick, node, name, kind),
        ["-", sys, tick, node, name, kind] => event("callback", sys, tick, node, name, kind),
        ["="] => format!("{HEAD}{ROOFLINE}\n"),
        _ => format!("{text}\n"),
    };
    lines.iter().map(line).collect()
}

fn event(what: &str, sys: &str, tick: &str, node: &str, name: &str, kind: &str) -> String {
    format!(
        "{HEAD}{what},sys->id={sys}, tick={tick}, node->id={node}, node->name={name}, node->type={kind}\n"
    )
}

fn open(lines: &[&str]) -> Result<TraceModel> {
    let source = InputSource::from_bytes("log.log", log(lines).into_bytes()).unwrap();
    let mut builder = TraceBuilder::new();
    AstraSim.import(
        &source,
        &ImportOptions::default(),
        &Progress::default(),
        &mut builder,
    )?;
    Ok(builder.finish())
}

const FINISHED: &str =
    "[workload] [info] sys[0] finished, 9 cycles, exposed communication 3 cycles.";

#[test]
fn device_waits_while_nothing_computes() {
    let model = open(&[
        "+ 0 0 1 all-gather_0 7",
        "- 0 4 1 all-gather_0 7",
        "+ 0 4 2 matmul_0 4",
        "=",
        "+ 0 4 3 ALL_REDUCE 7",
        "- 0 6 2 matmul_0 4",
        "- 0 9 3 ALL_REDUCE 7",
        FINISHED,
    ])
    .unwrap();
    assert_eq!(
        slices(&model, "Compute"),
        [
            "wait all-gather_0 0-4",
            "matmul_0 4-6",
            "wait ALL_REDUCE 6-9"
        ]
    );
    assert_eq!(
        slices(&model, "Communication"),
        ["all-gather_0 0-4", "ALL_REDUCE 4-9"]
    );
    let op = |name: &str| {
        model.op(model
            .all_slices()
            .find(|slice| slice.name() == name)
            .unwrap()
            .op()
            .unwrap())
    };
    let category = |name: &str| {
        op(name)
            .category
            .map(|category| model.str(category).to_owned())
    };
    assert_eq!(category("ALL_REDUCE").as_deref(), Some("all-reduce-start"));
    assert_eq!(
        category("wait all-gather_0").as_deref(),
        Some("all-gather-done")
    );
    assert_eq!(
        (op("matmul_0").flops, op("matmul_0").bytes_accessed),
        (Some(80), Some(40))
    );
    let device = model.group(model.tensor_cores()[0]).device.clone().unwrap();
    assert_eq!(
        (device.peak_flops, device.peak_hbm_bytes),
        (Some(100.0), Some(100.0))
    );
    assert_eq!(model.import_log().counts(), []);
}

#[test]
fn concurrent_transfers_are_waited_for_in_sequence() {
    let model = open(&[
        "+ 0 0 1 a 7",
        "+ 0 1 2 b 5",
        "- 0 3 2 b 5",
        "- 0 5 1 a 7",
        "+ 0 7 3 c 2",
        "- 0 8 3 c 2",
        FINISHED,
    ])
    .unwrap();
    assert_eq!(slices(&model, "Compute"), ["wait a 0-5", "wait c 7-8"]);
    assert_eq!(slices(&model, "Remote memory"), ["c 7-8"]);
}

#[test]
fn last_run_of_a_log_is_shown() {
    let run = ["+ 0 0 1 a 4", "- 0 9 1 a 4", FINISHED];
    let again = ["+ 0 0 1 a 4", "- 0 5 1 a 4", FINISHED];
    let model = open(&[run, again].concat()).unwrap();
    assert_eq!(slices(&model, "Compute"), ["a 0-5"]);
    assert_eq!(model.import_log().count(IssueKind::Duplicate), 1);
}

#[test]
fn decreasing_time_is_an_error_with_its_line() {
    let error = open(&["+ 0 5 1 a 4", "- 0 3 1 a 4"])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("line 2 of log.log") && error.contains("from 5 to 3"),
        "{error}"
    );
}

/// No node runs where it was cut. The lines of the visualizer have no head, and nothing behind them.
#[test]
fn log_that_ends_between_nodes_is_cut() {
    let lines = ["+ 0 0 1 a 4", "- 0 6 1 a 4"];
    let cut = |text: String| {
        let source = InputSource::from_bytes("log.log", text.into_bytes()).unwrap();
        let mut builder = TraceBuilder::new();
        AstraSim
            .import(
                &source,
                &ImportOptions::default(),
                &Progress::default(),
                &mut builder,
            )
            .unwrap();
        builder
            .finish()
            .import_log()
            .count(IssueKind::TruncatedFile)
    };
    assert_eq!(cut(log(&lines)), 1);
    assert_eq!(cut(log(&lines).replace(HEAD, "")), 0);
}

#[test]
fn truncated_log_is_reported() {
    let model = open(&[
        "+ 0 0 1 a 4",
        "+ 0 1 2 b 7",
        "- 0 6 1 a 4",
        "- 0 7 9 x 4",
        "callback,sys->id=0, ti",
    ])
    .unwrap();
    assert_eq!(slices(&model, "Compute"), ["a 0-6", "wait b 6-7", "x 7-7"]);
    let log = model.import_log();
    for kind in [
        IssueKind::TruncatedFile,
        IssueKind::EndWithoutBegin,
        IssueKind::MalformedEvent,
    ] {
        assert_eq!(log.count(kind), 1, "{kind:?}");
    }
}

/// What it prints says of each NPU that it finished, and nothing of its nodes, which are in the log.
#[test]
fn what_the_simulator_printed_names_the_log_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let printed = folder.path().join("stdout.txt");
    std::fs::write(&printed, log(&[FINISHED])).unwrap();
    let error = || {
        let source = InputSource::open(&printed).unwrap();
        let (options, progress) = (ImportOptions::default(), Progress::default());
        let found = AstraSim.import(&source, &options, &progress, &mut TraceBuilder::new());
        found.unwrap_err().to_string()
    };
    assert!(error().contains("trace-enabled"), "{}", error());
    std::fs::create_dir(folder.path().join("log")).unwrap();
    std::fs::write(folder.path().join("log/log.log"), "").unwrap();
    let beside = error();
    assert!(
        beside.contains("log/log.log") && !beside.contains("damaged"),
        "{beside}"
    );
}

#[test]
fn run_without_traced_nodes_names_the_option() {
    let error = open(&[FINISHED]).unwrap_err().to_string();
    assert!(error.contains("trace-enabled"), "{error}");
}

#[test]
fn rotated_logs_are_read_oldest_first() {
    let dir = tempfile::tempdir().unwrap();
    let parts = [
        ("log.2.log", "+ 0 0 1 a 4"),
        ("log.1.log", "- 0 2 1 a 4"),
        ("log.log", "+ 0 2 2 b 4"),
    ];
    for (name, line) in parts {
        std::fs::write(dir.path().join(name), log(&[line])).unwrap();
    }
    let path = dir.path().join("log.log");
    let model =
        importers::import_path(&path, &ImportOptions::default(), &Progress::default()).unwrap();
    assert_eq!(slices(&model, "Compute"), ["a 0-2", "b 2-2"]);
    let folder =
        importers::import_path(dir.path(), &ImportOptions::default(), &Progress::default())
            .unwrap();
    assert_eq!(slices(&folder, "Compute"), ["a 0-2", "b 2-2"]);
}

#[test]
fn extreme_numbers_do_not_panic() {
    let far = i64::MAX.to_string();
    let line = format!("+ 0 {far} 1 a 7");
    let model = open(&["+ 0 0 2 b 7", &line, &format!("- 0 {far} 1 a 7")]).unwrap();
    assert_eq!(model.import_log().count(IssueKind::BeyondTimeline), 2);
}

/// A node, preceded by its length: id, name, type, dependencies, and a number.
fn graph_node(id: u8, name: &str, kind: u8, needs: &[u8], number: Option<(&str, u8)>) -> Vec<u8> {
    let mut bytes = vec![0x08, id, 0x12, u8::try_from(name.len()).unwrap()];
    bytes.extend(name.as_bytes());
    bytes.extend([0x18, kind]);
    for need in needs {
        bytes.extend([0x28, *need]);
    }
    for (attribute, value) in number.into_iter().chain(number.map(|_| ("comm_type", 2))) {
        let mut text = vec![0x0a, u8::try_from(attribute.len()).unwrap()];
        text.extend(attribute.as_bytes());
        text.extend([0x48, value]);
        bytes.extend([0x52, u8::try_from(text.len()).unwrap()]);
        bytes.extend(text);
    }
    bytes.insert(0, u8::try_from(bytes.len()).unwrap());
    bytes
}

#[test]
fn adjacent_graphs_add_messages_and_flows() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("log")).unwrap();
    let lines = [
        "+ 0 0 1 gather 7",
        "- 0 4 1 gather 7",
        "+ 0 4 2 b 4",
        "- 0 6 2 b 4",
        FINISHED,
    ];
    std::fs::write(dir.path().join("log/log.log"), log(&lines)).unwrap();
    let graph = |name: &str| {
        let nodes = [
            graph_node(1, "gather", 7, &[], Some(("comm_size", 64))),
            graph_node(2, name, 4, &[1], None),
        ];
        [b"\x07\x0a\x050.0.4".to_vec(), nodes.concat()].concat()
    };
    let open = || {
        importers::import_path(dir.path(), &ImportOptions::default(), &Progress::default()).unwrap()
    };
    let path = dir.path().join("work.0.et");

    std::fs::write(&path, graph("b")).unwrap();
    let model = open();
    assert_eq!(
        (model.flows().len(), model.import_log().counts()),
        (1, &[][..])
    );
    let text = model
        .ops()
        .iter()
        .find_map(|op| op.hlo_text)
        .map(|text| model.str(text).to_owned());
    assert!(
        text.as_ref()
            .is_some_and(|text| text.contains("all-gather-start(u8[64]{0}")),
        "{text:?}"
    );

    std::fs::write(&path, graph("other")).unwrap();
    let model = open();
    assert_eq!(
        (
            model.flows().len(),
            model.import_log().count(IssueKind::SourceSkipped)
        ),
        (0, 1)
    );

    std::fs::write(dir.path().join("more.0.et"), graph("b")).unwrap();
    assert_eq!(open().import_log().count(IssueKind::SourceSkipped), 1);
}

/// The readable part of a damaged graph contains all nodes that ran, so the graph is used and the damage is logged.
#[test]
fn graph_truncated_after_executed_nodes_is_used_and_logged() {
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        "+ 0 0 1 gather 7",
        "- 0 4 1 gather 7",
        "+ 0 4 2 b 4",
        "- 0 6 2 b 4",
        FINISHED,
    ];
    std::fs::write(dir.path().join("log.log"), log(&lines)).unwrap();
    let nodes = [
        graph_node(1, "gather", 7, &[], Some(("comm_size", 64))),
        graph_node(2, "b", 4, &[1], None),
    ];
    let graph = [
        b"\x07\x0a\x050.0.4".to_vec(),
        nodes.concat(),
        b"\x20\x08".to_vec(),
    ]
    .concat();
    std::fs::write(dir.path().join("work.0.et"), graph).unwrap();
    let model = importers::import_path(dir.path(), &ImportOptions::default(), &Progress::default())
        .unwrap();
    assert_eq!(
        (
            model.flows().len(),
            model.import_log().count(IssueKind::TruncatedFile)
        ),
        (1, 1)
    );
}

#[test]
fn adjacent_network_file_describes_the_links() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("log")).unwrap();
    let lines = ["+ 0 0 1 a 4", "- 0 4 1 a 4", "+ 1 0 1 a 4", "- 1 4 1 a 4"];
    std::fs::write(dir.path().join("log/log.log"), log(&lines)).unwrap();
    let write = |name: &str, npus: u32, rate: u32| {
        let text = format!(
            "topology: [ Ring ]\nnpus_count: [ {npus} ]\nbandwidth: [ {rate} ]\nlatency: [ 500 ]\n"
        );
        std::fs::write(dir.path().join(name), text).unwrap();
    };
    let links = || {
        let model =
            importers::import_path(dir.path(), &ImportOptions::default(), &Progress::default())
                .unwrap();
        let all = model
            .tensor_cores()
            .into_iter()
            .map(|core| model.group(core).device.clone().unwrap().links);
        (
            all.collect::<Vec<_>>(),
            model.import_log().count(IssueKind::SourceSkipped),
        )
    };
    write("other.yml", 4, 10);
    assert_eq!(links(), (vec![None, None], 1));
    write("net.yml", 2, 10);
    let ring = DeviceLinks {
        rings: vec![2],
        bytes_per_second: 10.0 * 1_073_741_824.0,
        hop_seconds: 500e-9,
    };
    assert_eq!(links(), (vec![Some(ring.clone()), Some(ring)], 1));
    write("third.yml", 2, 20);
    assert_eq!(links(), (vec![None, None], 2));
}

#[test]
fn unrelated_graphs_are_ignored_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let lines = ["+ 0 0 1 gather 7", "- 0 4 1 gather 7", FINISHED];
    std::fs::write(dir.path().join("log.log"), log(&lines)).unwrap();
    std::fs::write(dir.path().join("work.0.et"), b"\x07\x0a\x050.0.4\x09\x08").unwrap();
    std::fs::write(dir.path().join("work.5.et"), b"not a graph").unwrap();
    std::fs::create_dir(dir.path().join("work.1.et")).unwrap();
    let model = importers::import_path(dir.path(), &ImportOptions::default(), &Progress::default())
        .unwrap();
    let log = model.import_log().counts();
    let skipped = log
        .iter()
        .find(|entry| entry.kind == IssueKind::SourceSkipped)
        .unwrap();
    assert_eq!(skipped.count, 2, "{log:?}");
    assert_eq!(
        skipped.examples[0],
        "work.5.et: 1 NPUs ran, and none of them is rank 5"
    );
    assert!(
        skipped.examples[1].starts_with("work.0.et: a length that reaches past"),
        "{log:?}"
    );
}

#[test]
fn unterminated_last_line_is_ignored() {
    let whole = log(&["+ 0 0 1 a 4", "="]);
    let open = |text: &str| {
        let source = InputSource::from_bytes("log.log", text.as_bytes().to_vec()).unwrap();
        let mut builder = TraceBuilder::new();
        AstraSim
            .import(
                &source,
                &ImportOptions::default(),
                &Progress::default(),
                &mut builder,
            )
            .unwrap();
        let model = builder.finish();
        let log = model.import_log().counts().to_vec();
        let cut = log
            .iter()
            .find(|issue| issue.kind == IssueKind::TruncatedFile)
            .unwrap()
            .examples
            .clone();
        (
            model.ops().iter().find_map(|op| op.flops),
            cut.len(),
            cut[0].clone(),
        )
    };
    assert_eq!(
        (open(&whole).0, open(&whole).1),
        (Some(80), 1),
        "only the run is unfinished"
    );
    // 8 of 80 operations.
    let (flops, issues, example) = open(&whole[..whole.len() - 2]);
    assert_eq!((flops, issues), (None, 2));
    assert_eq!(
        example,
        "log.log: line 2 has no end, so it may be cut: it was passed over"
    );
}

#[test]
fn last_statistics_of_an_npu_apply() {
    let said = |name: &str, value: u32| format!("[statistics] [info] sys[0], {name}: {value}");
    let lines = [
        said("Wall time", 1),
        said("Comm time", 2),
        said("Wall time", 9),
    ];
    let lines: Vec<&str> = ["+ 0 0 1 a 4", "- 0 9 1 a 4"]
        .into_iter()
        .chain(lines.iter().map(String::as_str))
        .collect();
    let model = open(&lines).unwrap();
    let facts = &model.group(model.tensor_cores()[0]).facts;
    let facts: Vec<_> = facts
        .iter()
        .map(|(name, value)| format!("{} {value}", model.str(*name)))
        .collect();
    assert_eq!(facts, ["Wall time 9", "Comm time 2"]);
}
