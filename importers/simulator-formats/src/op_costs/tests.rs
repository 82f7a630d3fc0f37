//! Tests with small tables written by hand.

use std::fs;
use std::sync::LazyLock;

use importer_common::ImportOptions;
use input::{ImportError, InputSource, Progress};
use sample_traces::write::gzip;
use tempfile::TempDir;
use trace_model::{IssueKind, Op, SliceRef, TraceModel, TrackKind};

const TABLE: &str = include_str!("../../../tests/fixtures/neusim.csv");
static ROWS: LazyLock<Vec<&str>> = LazyLock::new(|| TABLE.lines().skip(1).collect());
const CHIP: &str = include_str!("../../../tests/fixtures/neusim.json");

fn table(rows: &[&str]) -> String {
    [TABLE.lines().next().unwrap()]
        .iter()
        .chain(rows)
        .fold(String::new(), |table, row| table + row + "\n")
}

fn dir(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        fs::write(dir.path().join(name), content).unwrap();
    }
    dir
}

fn open(dir: &TempDir, name: &str) -> TraceModel {
    importers::import_path(
        &dir.path().join(name),
        &ImportOptions::default(),
        &Progress::new(),
    )
    .unwrap()
}

fn import(text: &str) -> Result<TraceModel, ImportError> {
    importers::import(
        &InputSource::from_bytes("t.csv", text.as_bytes().to_vec()).unwrap(),
        &Progress::new(),
    )
}

/// `name start+length` in ns of every slice of a track of this name.
fn spans(model: &TraceModel, track: &str) -> Vec<String> {
    let of_track = |slice: &SliceRef<'_>| model.str(slice.track_ref().name) == track;
    let shown = |slice: SliceRef<'_>| {
        format!(
            "{} {}+{}",
            slice.name(),
            slice.range().start.ps() / 1000,
            slice.dur().ps() / 1000
        )
    };
    model.all_slices().filter(of_track).map(shown).collect()
}

fn op<'a>(model: &'a TraceModel, name: &str) -> &'a Op {
    model
        .ops()
        .iter()
        .find(|op| model.str(op.name) == name)
        .unwrap_or_else(|| panic!("no op {name}"))
}

#[test]
fn blocks_are_repeated_with_parts_at_their_op() {
    let model = import(&table(&ROWS)).unwrap();
    let ops = spans(&model, "Ops");
    assert_eq!(
        ops[..4],
        [
            "norm 0+100",
            "up 100+900",
            "split 1000+500",
            "norm 1500+100"
        ]
    );
    assert_eq!((ops.len(), ops[9].as_str()), (10, "head 4500+200"));
    assert_eq!(
        spans(&model, "MXU (model, not schedule)")[..2],
        ["up 100+900", "up 1600+900"]
    );
    assert_eq!(spans(&model, "HBM (model, not schedule)")[1], "up 100+90");
    assert_eq!(
        spans(&model, "Passes")[2..],
        ["pass 3 of 3 3000+1500", "pass 1 of 1 4500+200"]
    );
    assert_eq!(spans(&model, "Programs"), ["t 0+4700"]);
    assert_eq!(model.sources()[0].simulator.as_deref(), Some("NeuSim"));
}

#[test]
fn op_category_follows_its_code() {
    let model = import(&table(&ROWS)).unwrap();
    let category = |name| {
        op(&model, name)
            .category
            .map(|category| model.str(category))
    };
    assert_eq!(category("norm"), Some("loop fusion"));
    assert_eq!(category("up"), Some("dot"));
    // Its type is VPU work.
    assert_eq!(category("split"), Some("reduce-scatter"));
    let text = |name| op(&model, name).hlo_text.map(|text| model.str(text));
    assert!(
        text("up")
            .unwrap()
            .contains("bf16[4,2]{1,0} dot(bf16[4,8]{1,0} %lhs, bf16[8,2]{1,0} %rhs)")
    );
    // With more operations than the product has, the op is not only a product.
    assert_eq!(
        import(&table(&[&ROWS[1].replace(",128,", ",129,")]))
            .unwrap()
            .ops()[0]
            .hlo_text,
        None
    );
    assert_eq!(
        (op(&model, "up").flops, op(&model, "up").memory[0].bytes),
        (Some(128), 300)
    );
}

#[test]
fn chip_comes_from_the_adjacent_file() {
    let dir = dir(&[("m_prefill.csv", &table(&ROWS)), ("m.json", CHIP)]);
    let model = open(&dir, "m_prefill.csv");
    let device = model.group(model.tensor_cores()[0]).device.clone().unwrap();
    assert_eq!(device.type_name.as_deref(), Some("TPU v5p"));
    assert!((device.peak_flops.unwrap() / 445.6e12 - 1.0).abs() < 1e-3);
    // The column is called GBps but is in GiB/s.
    assert_eq!(device.peak_hbm_bytes, Some(2765.0 * 1_073_741_824.0));
    assert_eq!(spans(&model, "Programs"), ["prefill 0+4700"]);
    for bad in [
        "",
        "[]",
        "{\"num_sa\":-8,\"sa_dim\":1e308,\"freq_GHz\":1.7}",
    ] {
        fs::write(dir.path().join("m.json"), bad).unwrap();
        let model = open(&dir, "m_prefill.csv");
        assert_eq!(
            model
                .group(model.tensor_cores()[0])
                .device
                .clone()
                .unwrap()
                .peak_flops,
            None,
            "{bad}"
        );
    }
}

/// The table with a clock of matrix units and of HBM in each row.
fn clocked(clocks: [&str; 4]) -> String {
    let header = TABLE.lines().next().unwrap();
    let mut lines = vec![format!(
        "{header},DVFS SA Frequency (GHz),DVFS HBM Frequency (GHz)"
    )];
    let row = |(row, ghz): (&&str, &str)| format!("{row},{ghz},{ghz}");
    lines.extend(ROWS.iter().zip(clocks).map(row));
    lines.join("\n") + "\n"
}

#[test]
fn peaks_are_at_the_clock_that_the_rows_were_computed_at() {
    // The clock of the peaks, and how often it is said that the chip's, 1.7 GHz, is another.
    let cases = [
        (["1.5"; 4], 1.5, 1),
        (["1.7"; 4], 1.7, 0),
        (["1.5", "1.5", "1.6", "1.5"], 1.7, 0),
        (["x"; 4], 1.7, 0),
    ];
    for (clocks, ghz, conflicts) in cases {
        let dir = dir(&[("m.csv", &clocked(clocks)), ("m.json", CHIP)]);
        let model = open(&dir, "m.csv");
        let device = model.group(model.tensor_cores()[0]).device.clone().unwrap();
        let is_near = |peak: Option<f64>, wanted: f64| (peak.unwrap() / wanted - 1.0).abs() < 1e-9;
        let flops = 2.0 * 8.0 * 128.0 * 128.0 * ghz * 1e9;
        assert!(is_near(device.peak_flops, flops), "{clocks:?}");
        let bytes = 2765.0 * 1_073_741_824.0 * ghz / 1.7;
        assert!(is_near(device.peak_hbm_bytes, bytes), "{clocks:?}");
        let log = model.import_log();
        assert_eq!(
            log.count(IssueKind::ImplausibleValue),
            conflicts,
            "{clocks:?}"
        );
    }
}

#[test]
fn separate_phase_tables_replace_the_combined_one() {
    let all = table(&ROWS);
    let (prefill, decode) = (table(&ROWS[..3]), table(&ROWS[3..]));
    let dir = dir(&[
        ("m.csv", &all),
        ("m_prefill.csv", &prefill),
        ("m_decode.csv", &decode),
        ("m.json", CHIP),
    ]);
    let model = open(&dir, "m.csv");
    assert_eq!(
        spans(&model, "Programs"),
        ["prefill 0+4500", "decode 4500+200"]
    );
    assert_eq!(model.import_log().count(IssueKind::Duplicate), 1);
}

#[test]
fn long_blocks_are_folded_with_equal_sums() {
    let rows = ROWS
        .iter()
        .map(|row| row.replace(",3,", ",10000,"))
        .collect::<Vec<_>>();
    let rows: Vec<&str> = rows.iter().map(String::as_str).take(3).collect();
    let model = import(&table(&rows)).unwrap();
    let ops = spans(&model, "Ops");
    assert_eq!(
        ops[3],
        "×9998 (sums of 9998 passes, not their order) 1500+14997000"
    );
    assert!(
        ops.contains(&"up ×9998 1001300+8998200".to_owned()),
        "{ops:?}"
    );
    assert_eq!(ops.len(), 10);
    let folded = op(&model, "up ×9998");
    assert_eq!((folded.flops, folded.hlo_text), (Some(9998 * 128), None));
    assert_eq!(spans(&model, "Programs"), ["t 0+15000000"]);
    // A longer time than the timeline can represent.
    let model = import(&table(&[&ROWS[0].replace(",3,", ",9007199254740991,")])).unwrap();
    assert_eq!(model.import_log().count(IssueKind::BeyondTimeline), 1);
    assert_eq!(spans(&model, "Ops").len(), 0);
}

#[test]
fn ops_sharing_a_name_stay_separate() {
    let model = import(&table(&[ROWS[0], ROWS[0]])).unwrap();
    assert_eq!(spans(&model, "Ops")[..2], ["N 0+100", "N (row 2) 100+100"]);
}

#[test]
fn damaged_rows_name_the_location() {
    let error = import(&table(&ROWS).replace("Count,", "Counts,"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("t.csv line 1: no column \"Count\""),
        "{error}"
    );
    assert!(
        import(&table(&[]))
            .unwrap_err()
            .to_string()
            .contains("no operator row")
    );
    for bad in ["-1", "NaN", "1e308", "0", "1.5", "", "99999999999999999999"] {
        let model = import(&table(&[
            ROWS[1],
            &ROWS[0].replace(",3,", &format!(",{bad},")),
        ]))
        .unwrap();
        assert_eq!(
            model.import_log().count(IssueKind::MalformedEvent),
            1,
            "{bad}"
        );
        assert!(
            import(&table(&[&ROWS[1].replace("900", bad)])).is_err(),
            "{bad}"
        );
        let model = import(&table(&[&ROWS[1].replace(",128,", &format!(",{bad},"))])).unwrap();
        assert_eq!(op(&model, "up").hlo_text, None, "{bad}");
    }
    // A part cannot take longer than the whole.
    let model = import(&table(&[&ROWS[1].replace(",90,", ",9000,")])).unwrap();
    assert_eq!(spans(&model, "HBM (model, not schedule)")[0], "up 0+900");
    assert_eq!(model.import_log().count(IssueKind::ImplausibleValue), 1);
}

#[test]
fn truncated_tables_never_panic() {
    for text in [table(&ROWS), GENZ.to_owned()] {
        for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
            let _ = import(&text[..end]);
        }
    }
}

const GENZ: &str = include_str!("../../../tests/fixtures/genz.csv");

#[test]
fn genz_repeats_rows_between_marks() {
    let dir = dir(&[("decode_model_df.csv", GENZ)]);
    let model = open(&dir, "decode_model_df.csv");
    let ops = spans(&model, "Ops");
    assert_eq!(ops.len(), 8);
    assert_eq!(
        ops[..3],
        [
            "embed 0+2000000",
            "QKV 2000000+500000",
            "MHA AR 2500000+250000"
        ]
    );
    assert_eq!(ops[7], "head 4250000+1000000");
    assert_eq!(spans(&model, "Programs"), ["decode 0+5250000"]);
    // MB are MiB, MFLOP 1e6; a collective computes nothing.
    assert_eq!(
        (op(&model, "QKV").flops, op(&model, "QKV").bytes_accessed),
        (Some(1_500_000), Some(2 << 20))
    );
    // Bytes that do not fit into the memory time stayed on the chip.
    assert_eq!(op(&model, "head").bytes_accessed, Some(1 << 20));
    assert_eq!(op(&model, "MHA AR").flops, None);
    assert_eq!(
        op(&model, "MHA AR")
            .category
            .map(|category| model.str(category)),
        Some("all-reduce")
    );
    let device = model.group(model.tensor_cores()[0]).device.clone().unwrap();
    assert!((device.peak_flops.unwrap() / 2e12 - 1.0).abs() < 1e-9);
    assert!(
        model
            .tracks()
            .iter()
            .any(|track| track.kind == TrackKind::Derived)
    );
}

#[test]
fn genz_rejects_invalid_times() {
    for bad in ["-1", "NaN", "1e308", "x"] {
        let model = import(&GENZ.replace(
            "embed,GEMM,x,Compute,2.0",
            &format!("embed,GEMM,x,Compute,{bad}"),
        ))
        .unwrap();
        assert_eq!(
            model.import_log().count(IssueKind::MalformedEvent),
            1,
            "{bad}"
        );
    }
    let endless = import(&GENZ.replace("Repeat,3", "Repeat,1e15")).unwrap();
    assert!(endless.import_log().count(IssueKind::BeyondTimeline) > 0);
}

#[test]
fn oversized_chip_file_is_not_read() {
    let dir = dir(&[("t.csv", &table(&ROWS))]);
    let packed = gzip([CHIP.as_bytes(), &vec![b' '; 2 << 20]].concat());
    fs::write(dir.path().join("t.json"), packed).unwrap();
    let model = open(&dir, "t.csv");
    let log = model.import_log().counts();
    let example = &log
        .iter()
        .find(|entry| entry.kind == IssueKind::UnknownMetadata)
        .unwrap()
        .examples[0];
    assert_eq!(example, "t.json: larger than any chip");
}

/// The last digit of a short time is a large share of it, so no rate is derived from it.
#[test]
fn genz_peaks_use_long_rows() {
    let short = "tiny,GEMM,x,Memory,0.001,0.001,0.000001,0.0001,0.001,0.0\n    head,GEMM";
    let model = import(&GENZ.replace("head,GEMM", short)).unwrap();
    let device = model.group(model.tensor_cores()[0]).device.clone().unwrap();
    assert!(
        (device.peak_hbm_bytes.unwrap() / 4_194_304_000.0 - 1.0).abs() < 1e-9,
        "{device:?}"
    );
}

#[test]
fn directory_opens_its_only_run_or_lists_several() {
    let all = table(&ROWS);
    let files = [
        ("a.csv", &*all),
        ("a_prefill.csv", &all),
        ("a_decode.csv", &all),
        ("a.json", CHIP),
        ("x.csv", "a,b\n"),
    ];
    let open = |dir: &TempDir| {
        importers::import_path(dir.path(), &ImportOptions::default(), &Progress::new())
    };
    let run = dir(&files);
    let model = open(&run).unwrap();
    assert_eq!(model.sources()[0].name, "a.csv");
    assert_eq!(spans(&model, "Programs").len(), 2);
    let two = dir(&[&files[..], &[("b.csv", &*all)]].concat());
    let error = open(&two).unwrap_err().to_string();
    assert!(
        error.contains("2 files of simulators are there; name one of a.csv, b.csv"),
        "{error}"
    );
}
