//! Damaged, changed and truncated captures.

use importers::{ImportError, InputSource, Progress, import};
use trace_model::{IssueKind, SliceAttr, SliceRef, TraceModel, TrackKind};

use super::xplane_corpus::{cores, corpus, open, slices};

#[test]
fn arguments_are_not_read_from_a_changed_file() {
    let Some(path) = corpus("tpu/v5e_matmul.xplane.pb") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.xplane.pb");
    let bytes = std::fs::read(path).unwrap();
    let arguments =
        |model: &TraceModel| slices(model, cores(model)[0], TrackKind::Modules)[3].args();
    let open = || import(&InputSource::open(&copy).unwrap(), &Progress::new()).unwrap();
    std::fs::write(&copy, &bytes).unwrap();
    let (read, changed, gone) = (open(), open(), open());
    let in_memory = import(
        &InputSource::from_bytes("memory", bytes.clone()).unwrap(),
        &Progress::new(),
    )
    .unwrap();
    assert_eq!(arguments(&read).unwrap(), arguments(&in_memory).unwrap());
    std::fs::write(&copy, &bytes[..bytes.len() / 2]).unwrap();
    assert!(arguments(&changed).unwrap_err().contains("has changed"));
    std::fs::remove_file(&copy).unwrap();
    assert!(arguments(&gone).unwrap_err().contains("copy.xplane.pb"));
}

#[test]
fn plane_with_wrong_lengths_loses_only_itself() {
    // Their metadata plane was edited without mending its lengths.
    for (file, steps) in [
        ("jax_cpu_8dev_collectives", 20),
        ("jax_cpu_transformer_recompiles", 20),
    ] {
        let Some(model) = open(&format!("host/{file}.xplane.pb")) else {
            return;
        };
        assert_eq!(
            model.import_log().count(IssueKind::DamagedPart),
            1,
            "{file}"
        );
        let step_numbers: std::collections::BTreeSet<_> = model
            .all_slices()
            .filter_map(|slice| slice.attr(SliceAttr::StepNum))
            .collect();
        assert_eq!(step_numbers.len(), steps, "{file}");
        assert!(model.sources()[0].started_unix_ns.is_some());
    }
}

#[test]
fn file_corrupted_by_text_conversion_is_rejected() {
    let Some(path) = corpus("damaged/utf8_mangled.xplane.pb") else {
        return;
    };
    let error = import(&InputSource::open(&path).unwrap(), &Progress::new()).unwrap_err();
    assert!(matches!(error, ImportError::Malformed { .. }));
    assert!(
        error.to_string().contains("converted to UTF-8 text"),
        "{error}"
    );
}

#[test]
fn file_truncated_anywhere_opens_or_gives_a_reason() {
    let Some(path) = corpus("tpu/v5e_matmul.xplane.pb") else {
        return;
    };
    let whole = std::fs::read(path).unwrap();
    let full = import(
        &InputSource::from_bytes("whole", whole.clone()).unwrap(),
        &Progress::new(),
    )
    .unwrap()
    .slice_count();
    let (mut opened, mut last) = (0, 0);
    for len in (0..whole.len())
        .step_by(1009)
        .chain(0..64)
        .chain(whole.len() - 64..whole.len())
    {
        let source = InputSource::from_bytes("cut", whole[..len].to_vec()).unwrap();
        match import(&source, &Progress::new()) {
            Ok(model) => {
                // A cut between two planes leaves no trace of itself.
                assert!(model.slice_count() <= full);
                opened += 1;
                last = last.max(model.slice_count());
                drop(model.all_slices().map(SliceRef::args).collect::<Vec<_>>());
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    assert!(opened > 200);
    assert_eq!(last, full);
}
