use std::fs;

use importer_common::ImportOptions;
use trace_model::TraceModel;

use super::*;

/// Two fusions that share code, and one of another shape.
const PROGRAM: &str = r#"HloModule jit_f, is_scheduled=true

ENTRY %main (p: f32[8,8]) -> f32[8,8] {
  %p = f32[8,8]{1,0:T(8,128)} parameter(0)
  %fusion.1 = f32[8,8]{1,0:T(8,128)S(1)} negate(%p), backend_config={"window_config":{"estimated_cycles":"1500"}}
  %fusion.2 = f32[8,8]{1,0:T(8,128)} negate(%fusion.1), backend_config={"window_config":{"estimated_cycles":"1500"}}
  ROOT %fusion.3 = f32[8,8]{1,0:T(8,128)} negate(%fusion.2), backend_config={"window_config":{"estimated_cycles":"1500"}}
}
"#;
const MAP: &str = "key:<top-inlining-caller>\nordinal:0\nequivalent_hlos[size=0]:\nkey:fusion.1\nordinal:1\n\
                   equivalent_hlos[size=2]:\n  fusion.1\n  fusion.2\n";
const ROWS: &str = "4 3 1\n0 0 0\n";

/// Writes a dump as the compiler does: the table and the text of `hlo`.
fn dump(folder: &Path, stamp: u64, hlo: &str, shape: &str, rows: &str) {
    fs::create_dir_all(folder).unwrap();
    let table = format!(
        "== CAPACTIY:\nMATMUL, VLOAD, VSTORE:SPILL\n    4     3     1\n== UTILIZATION:\n{rows}"
    );
    let text = format!(
        "Schedule analysis:\n\ttotal scheduled bundles:    2\n\t2.00 scheduled bundles (100.00%): %{hlo} = {shape} \
         negate(%p)\n"
    );
    fs::write(
        folder.join(format!(
            "{stamp}-{hlo}-64-final_hlo-static-per-bundle-utilization.txt"
        )),
        table,
    )
    .unwrap();
    fs::write(
        folder.join(format!(
            "{stamp}-{hlo}-65-schedule-analysis_final_bundles.txt"
        )),
        text,
    )
    .unwrap();
}

fn program(folder: &Path) -> PathBuf {
    let path = folder.join("hlo_v5e/module_0000.jit_f.after_codegen.txt");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, PROGRAM).unwrap();
    path
}

fn open(path: &Path, llo: Option<&Path>) -> TraceModel {
    let options = ImportOptions {
        llo: llo.map(Path::to_owned),
        ..ImportOptions::default()
    };
    importers::import_path(path, &options, &Progress::new()).unwrap()
}

/// Op, bundles, slots used.
fn described(model: &TraceModel) -> Vec<(String, u64, Vec<u64>)> {
    let ops = model
        .ops()
        .iter()
        .filter_map(|op| Some((op, op.bundles.as_ref()?)));
    ops.map(|(op, bundles)| {
        let used = bundles.units.iter().map(|unit| unit.used).collect();
        (model.str(op.name).to_owned(), bundles.count, used)
    })
    .collect()
}

#[test]
fn ops_of_the_same_code_share_a_table() {
    let dir = tempfile::tempdir().unwrap();
    let (path, jf) = (program(dir.path()), dir.path().join("hlo_v5e/jf"));
    dump(&jf, 5, "fusion.1", "f32[8,8]{1,0:T(8,128)S(1)}", ROWS);
    fs::write(jf.join("3-TLP-00-deduplication-map.txt"), MAP).unwrap();
    let expected = ["fusion.1", "fusion.2"].map(|name| (name.to_owned(), 2, vec![4, 3, 1]));
    for model in [
        open(&path, None),
        open(&path, Some(&jf)),
        open(path.parent().unwrap(), None),
    ] {
        assert_eq!(described(&model), expected);
        assert_eq!(model.import_log().lost(), 0);
        let facts = &model.sources()[0].facts;
        let fact = facts.iter().find(|(name, _)| name == "LLO tables").unwrap();
        assert!(
            fact.1.ends_with("jf: tables: 1, ops described: 2"),
            "{}",
            fact.1
        );
    }
    // The map of a program that was compiled later describes other code.
    fs::rename(
        jf.join("3-TLP-00-deduplication-map.txt"),
        jf.join("9-TLP-00-deduplication-map.txt"),
    )
    .unwrap();
    assert_eq!(described(&open(&path, None)).len(), 1);
}

/// A kernel without an estimate takes no time on the timeline, and is an op all the same.
#[test]
fn code_and_registers_of_kernels_without_a_time_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let kernel = PROGRAM.replace(
        "negate(%p), backend_config={\"window_config\":{\"estimated_cycles\":\"1500\"}}",
        "custom-call(%p), custom_call_target=\"tpu_custom_call\"",
    );
    let path = program(dir.path());
    fs::write(&path, kernel).unwrap();
    let jf = dir.path().join("hlo_v5e/jf");
    dump(&jf, 5, "fusion.1", "f32[8,8]{1,0:T(8,128)S(1)}", ROWS);
    let text = "Register pressure for vregs is 153\nlen=1181 lr=[457, 1638) wt=54 users=2\n";
    for (text, expected) in [
        (text, Some(153)),
        ("Register pressure for vregs is -1\n", None),
    ] {
        fs::write(jf.join("5-fusion.1-46-register-pressure.txt"), text).unwrap();
        let model = open(&path, None);
        assert_eq!(
            described(&model),
            [("fusion.1".to_owned(), 2, vec![4, 3, 1])]
        );
        let bundles = model.ops().iter().find_map(|op| op.bundles.clone());
        assert_eq!(bundles.unwrap().live_registers, expected);
        let slices = model
            .all_slices()
            .filter(|slice| slice.name() == "fusion.1");
        assert_eq!(slices.count(), 0);
    }
}

/// The text of the code and the report on memory belong to the op; a text with other bundles than the table is left out.
#[test]
fn text_and_memory_of_the_code_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let (path, jf) = (program(dir.path()), dir.path().join("hlo_v5e/jf"));
    dump(&jf, 5, "fusion.1", "f32[8,8]{1,0:T(8,128)S(1)}", ROWS);
    let page = "<script>const DATA ={\"global_info\": {\"vmem_capacity\": 4096}, \"hlo_breakdowns\": {\"fusion.1\": \
                {\"total_size\": 1024}}};</script>";
    fs::write(jf.join("4-TLP-83-vmem_report.html"), page).unwrap();
    let code = |text: &str| {
        fs::write(jf.join("5-fusion.1-66-final_bundles.txt"), text).unwrap();
        let model = open(&path, None);
        let bundles = model
            .ops()
            .iter()
            .find_map(|op| op.bundles.clone())
            .unwrap();
        let log = model.import_log().counts().iter();
        let skipped = log.filter(|entry| entry.kind == IssueKind::SourceSkipped);
        let skipped: Vec<String> = skipped.flat_map(|entry| entry.examples.clone()).collect();
        let stall = bundles.text.as_ref().and_then(|text| text.stalls.first());
        let after = stall.map(|stall| model.str(stall.after).to_owned());
        (*bundles, after, skipped)
    };
    let (bundles, after, skipped) =
        code("  0x1  :  { %1 = vmatmul.bf16.gmra.mxu0 %v1 }\n  0x2  :  {} /* End region 1 */\n");
    let text = bundles.text.unwrap();
    assert_eq!(
        (text.empty, text.matmuls, text.dma_waits, skipped.len()),
        (1, 1, 0, 0)
    );
    assert_eq!(after.as_deref(), Some("vmatmul.bf16.gmra.mxu0"));
    let vmem = bundles.vmem.unwrap();
    assert_eq!(
        (vmem.bytes, vmem.spill_bytes, vmem.limit_bytes),
        (1024, 0, Some(4096))
    );
    let (bundles, _, skipped) = code("  0x1  :  { %1 = vst %v1 }\n");
    let expected =
        "5-fusion.1-66-final_bundles.txt: 1 bundles of 2: the dump is truncated, write it again";
    assert_eq!(
        (bundles.text, &skipped[..]),
        (None, &[expected.to_owned()][..])
    );
}

#[test]
fn memory_on_which_programs_disagree_is_unknown() {
    let dir = tempfile::tempdir().unwrap();
    let (path, jf) = (program(dir.path()), dir.path().join("hlo_v5e/jf"));
    let memory = |stamp: u64, bytes: u64| {
        let page = format!(
            "const DATA ={{\"hlo_breakdowns\": {{\"fusion.1\": {{\"total_size\": {bytes}}}}}}};"
        );
        fs::write(jf.join(format!("{stamp}-TLP-83-vmem_report.html")), page).unwrap();
    };
    let read = || {
        let model = open(&path, None);
        let bundles = model.ops().iter().find_map(|op| op.bundles.clone());
        let bytes = bundles.unwrap().vmem.map(|vmem| vmem.bytes);
        (bytes, model.import_log().count(IssueKind::ImplausibleValue))
    };
    dump(&jf, 5, "fusion.1", "f32[8,8]{1,0}", ROWS);
    dump(&jf, 8, "fusion.1", "f32[8,8]{1,0}", ROWS);
    memory(7, 1024);
    assert_eq!(read(), (Some(1024), 0), "one program has no report");
    memory(4, 1024);
    assert_eq!(read(), (Some(1024), 0));
    memory(4, 2048);
    assert_eq!(read(), (None, 1));
}

#[test]
fn dump_of_another_program_adds_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (path, jf) = (program(dir.path()), dir.path().join("hlo_v5e/jf"));
    dump(&jf, 5, "fusion.1", "f32[8,16]{1,0}", ROWS);
    dump(&jf, 6, "fusion.9", "f32[8,8]{1,0}", ROWS);
    assert_eq!(described(&open(&path, None)), []);
    let named = open(&path, Some(&jf));
    assert_eq!(
        (
            described(&named).len(),
            named.import_log().count(IssueKind::SourceSkipped)
        ),
        (0, 1)
    );
    assert_eq!(
        open(&path, None).import_log().counts(),
        [],
        "nobody asked for it"
    );
    let options = ImportOptions {
        llo: Some(dir.path().to_owned()),
        ..ImportOptions::default()
    };
    let error = importers::import_path(&path, &options, &Progress::new())
        .unwrap_err()
        .to_string();
    assert!(error.contains("--xla_jf_dump_to"), "{error}");
}

#[test]
fn dump_alone_is_not_a_timeline() {
    let dir = tempfile::tempdir().unwrap();
    dump(dir.path(), 5, "fusion.1", "f32[8,8]{1,0}", ROWS);
    let error = importers::import_path(dir.path(), &ImportOptions::default(), &Progress::new())
        .unwrap_err()
        .to_string();
    assert!(error.contains("--llo"), "{error}");
}

#[test]
fn truncated_table_is_skipped_with_its_location() {
    let dir = tempfile::tempdir().unwrap();
    let (path, jf) = (program(dir.path()), dir.path().join("hlo_v5e/jf"));
    dump(&jf, 5, "fusion.1", "f32[8,8]{1,0}", "4 3 1\n4 3\n");
    dump(&jf, 6, "fusion.3", "f32[8,8]{1,0}", ROWS);
    // The last number has no line end, so it may be the beginning of a longer one.
    dump(&jf, 7, "fusion.2", "f32[8,8]{1,0}", ROWS.trim_end());
    let model = open(&path, None);
    assert_eq!(
        described(&model),
        [("fusion.3".to_owned(), 2, vec![4, 3, 1])]
    );
    let log = model.import_log().counts();
    let skipped = log
        .iter()
        .find(|entry| entry.kind == IssueKind::SourceSkipped)
        .unwrap();
    let expected = "5-fusion.1-64-final_hlo-static-per-bundle-utilization.txt: line 6: 2 values for 3 units: the dump is \
                    truncated, write it again";
    assert_eq!(skipped.examples[0], expected);
    assert!(
        skipped.examples[1].contains(": line 6 is unterminated: the dump is truncated"),
        "{:?}",
        skipped.examples
    );
}

#[test]
fn table_truncated_at_a_line_end_is_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let (path, jf) = (program(dir.path()), dir.path().join("hlo_v5e/jf"));
    dump(&jf, 5, "fusion.1", "f32[8,8]{1,0}", "4 3 1\n");
    dump(&jf, 6, "fusion.2", "f32[8,8]{1,0}", "");
    let model = open(&path, None);
    assert_eq!(described(&model), []);
    let log = model.import_log().counts();
    let skipped = log
        .iter()
        .find(|entry| entry.kind == IssueKind::SourceSkipped)
        .unwrap();
    assert!(
        skipped.examples[0].contains(": 1 rows, but 2 bundles were scheduled"),
        "{:?}",
        skipped.examples
    );
    assert!(
        skipped.examples[1].contains(": no rows"),
        "{:?}",
        skipped.examples
    );
}

#[test]
fn conflicting_tables_are_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let (path, jf) = (program(dir.path()), dir.path().join("hlo_v5e/jf"));
    dump(&jf, 5, "fusion.1", "f32[8,8]{1,0}", ROWS);
    dump(&jf, 30, "fusion.1", "f32[8,8]{1,0}", ROWS);
    dump(&jf, 6, "fusion.3", "f32[8,8]{1,0}", ROWS);
    assert_eq!(described(&open(&path, None)).len(), 2, "the same twice");
    dump(&jf, 7, "fusion.3", "f32[8,8]{1,0}", "0 0 0\n4 0 0\n");
    let model = open(&path, None);
    assert_eq!(
        described(&model),
        [("fusion.1".to_owned(), 2, vec![4, 3, 1])]
    );
    assert_eq!(model.import_log().count(IssueKind::ImplausibleValue), 1);
    // A table of another shape belongs to another op.
    dump(&jf, 7, "fusion.3", "f32[8,16]{1,0}", "0 0 0\n4 0 0\n");
    assert_eq!(described(&open(&path, None)).len(), 2);
}

#[test]
fn tables_without_op_text_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let (path, jf) = (program(dir.path()), dir.path().join("hlo_v5e/jf"));
    for (stamp, hlo) in [(5, "fusion.1"), (6, "fusion.3"), (7, "fusion.77")] {
        dump(&jf, stamp, hlo, "f32[8,8]{1,0}", ROWS);
    }
    fs::remove_file(jf.join("5-fusion.1-65-schedule-analysis_final_bundles.txt")).unwrap();
    fs::remove_file(jf.join("7-fusion.77-65-schedule-analysis_final_bundles.txt")).unwrap();
    let model = open(&path, None);
    assert_eq!(described(&model).len(), 1);
    assert_eq!(
        model.import_log().count(IssueKind::UnknownMetadata),
        1,
        "nobody asks for fusion.77"
    );
}

#[test]
fn only_dumps_beside_the_program_are_found_automatically() {
    let dir = tempfile::tempdir().unwrap();
    let path = program(dir.path());
    let (beside, inside) = (dir.path().join("jf"), dir.path().join("hlo_v5e/jf_v5p"));
    let found = |model: &TraceModel| {
        let log = model
            .import_log()
            .counts()
            .iter()
            .find(|issue| issue.kind == IssueKind::FoundBeside);
        log.map(|issue| issue.examples.clone()).unwrap_or_default()
    };
    // Nothing shows that a dump in the parent folder belongs to this program.
    dump(&beside, 5, "fusion.1", "f32[8,8]{1,0}", ROWS);
    let model = open(&path, None);
    assert_eq!((described(&model).len(), found(&model).len()), (0, 0));
    assert_eq!(described(&open(&path, Some(&beside))).len(), 1);
    // A dump that is named after another chip is not read either.
    dump(&inside, 5, "fusion.1", "f32[8,8]{1,0}", ROWS);
    let model = open(&path, None);
    assert_eq!(described(&model), []);
    let expected = "hlo_v5e/jf_v5p is named after v5p, the program after v5e: it was not read";
    assert!(
        matches!(&found(&model)[..], [one] if one.ends_with(expected)),
        "{:?}",
        found(&model)
    );
    assert_eq!(
        described(&open(&path, Some(&inside))).len(),
        1,
        "who names it means it"
    );
    // The log names the dump that was read.
    dump(
        &dir.path().join("hlo_v5e/jf_v5e"),
        5,
        "fusion.1",
        "f32[8,8]{1,0}",
        ROWS,
    );
    let model = open(&path, None);
    assert_eq!(described(&model).len(), 1);
    assert!(
        found(&model)[1].ends_with("hlo_v5e/jf_v5e: tables: 1, ops described: 1"),
        "{:?}",
        found(&model)
    );
    assert_eq!(model.import_log().lost(), 0);
}

#[test]
fn tables_above_the_size_limit_are_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let (path, jf) = (program(dir.path()), dir.path().join("hlo_v5e/jf"));
    dump(&jf, 5, "fusion.1", "f32[8,8]{1,0}", ROWS);
    let text = jf.join("5-fusion.1-65-schedule-analysis_final_bundles.txt");
    fs::File::create(text).unwrap().set_len(17 << 20).unwrap();
    let model = open(&path, None);
    assert_eq!(model.import_log().count(IssueKind::SourceSkipped), 1);
    assert_eq!(model.import_log().count(IssueKind::TextCut), 0);
}
