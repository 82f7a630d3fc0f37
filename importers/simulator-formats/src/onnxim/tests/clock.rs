//! The clock of the simulator.

use super::*;

#[test]
fn clock_comes_from_option_config_or_log_end() {
    let clock = |model: &TraceModel| {
        let facts = &model.sources()[0].facts;
        let fact = facts.iter().find(|(name, _)| name == "clock").unwrap();
        (
            fact.1.clone(),
            model.import_log().count(IssueKind::AssumedClock),
        )
    };
    let all = [&BEGIN as &[&str], &LAYER, &END].concat();
    assert_eq!(
        clock(&try_open(&all, Some(500.0)).unwrap()),
        ("500 MHz (named)".to_owned(), 0)
    );
    let (text, assumed) = clock(&try_open(&all, None).unwrap());
    assert!(
        text.starts_with("1000 MHz (2000 cycles in 2 µs") && assumed == 1,
        "{text}"
    );
    let (text, assumed) = clock(&try_open(&[&BEGIN as &[&str], &LAYER].concat(), None).unwrap());
    assert!(text.contains("not known") && assumed == 1, "{text}");

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.log");
    std::fs::write(&path, log(&all)).unwrap();
    let open =
        || importers::import_path(&path, &ImportOptions::default(), &Progress::new()).unwrap();
    std::fs::write(dir.path().join("other.json"), CONFIG.replace("16", "32")).unwrap();
    assert_eq!(clock(&open()).1, 1, "a configuration of another chip");
    let log = open().import_log().counts().to_vec();
    let skipped = log
        .iter()
        .find(|entry| entry.kind == IssueKind::SourceSkipped)
        .unwrap();
    assert!(
        skipped.examples[0].starts_with("other.json: a peak of 1.0240e12 FLOP/s"),
        "{:?}",
        skipped.examples
    );
    std::fs::write(dir.path().join("chip.json"), CONFIG).unwrap();
    assert_eq!(clock(&open()), ("1000 MHz (chip.json)".to_owned(), 0));
    assert_eq!(
        open().import_log().counts(),
        [],
        "others lie there for other runs"
    );
    let device = open()
        .group(open().tensor_cores()[0])
        .device
        .clone()
        .unwrap();
    assert_eq!(device.type_name.as_deref(), Some("2 systolic arrays 8×16"));
}

#[test]
fn clock_changes_the_peaks() {
    let all = [&BEGIN as &[&str], &LAYER, &END].concat();
    let model = try_open(&all, Some(500.0)).unwrap();
    let device = model.group(model.tensor_cores()[0]).device.clone().unwrap();
    assert_eq!(
        (device.peak_flops, device.peak_hbm_bytes),
        (Some(256e9), Some(50e9))
    );
    assert_eq!(slices(&model, "Layers"), ["Gemm_0 0-200"]);
}

#[test]
fn requests_start_on_the_simulator_clock() {
    let request = ["Model[mlp] Request: 0 us, Start: 1 us, finish:2 us, Current Cycle:2000"];
    let log = [&BEGIN[..], &LAYER, &request, &END].concat();
    // 1000 cycles at the simulator's 1 GHz take half the time at 2 GHz.
    assert_eq!(
        slices(&try_open(&log, Some(1000.0)).unwrap(), "Models"),
        ["mlp 1000-2000"]
    );
    assert_eq!(
        slices(&try_open(&log, Some(2000.0)).unwrap(), "Models"),
        ["mlp 500-1000"]
    );
}
