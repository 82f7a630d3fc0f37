use super::*;

#[test]
fn peaks_equal_units_times_clock() {
    let mut checked = 0;
    for chip in chips() {
        let per_cycle =
            f64::from(chip.cores * chip.mxus_per_core * chip.mxu_dim * chip.mxu_dim * 2);
        let Some((rows, clock)) = chip.rows_per_cycle.zip(chip.clock_hz) else {
            continue;
        };
        let peak = per_cycle * f64::from(rows) * clock;
        assert!(
            (peak / chip.bf16_flops - 1.0).abs() < 0.01,
            "{}: {peak:e}",
            chip.id
        );
        checked += 1;
    }
    assert_eq!(
        checked, 8,
        "all but v8i and v8t, whose clock nobody publishes"
    );
}

#[test]
fn recorded_peaks_imply_a_slightly_faster_clock() {
    // Peaks as seen in captures, over the operations per cycle of the table.
    let clock = |id: &str, peak: f64| {
        let chip = Chip::named(id).unwrap();
        peak / f64::from(
            chip.mxus_per_core * chip.mxu_dim.pow(2) * 2 * chip.rows_per_cycle.unwrap(),
        )
    };
    assert!((clock("v6e", 946.7e12) / 1.8057e9 - 1.0).abs() < 1e-4);
    assert!((clock("v5e", 202.7e12) / 1.5465e9 - 1.0).abs() < 1e-4);
}

#[test]
fn device_types_are_recognised() {
    let id = |text: &str| Chip::named(text).map(|chip| chip.id.as_str());
    assert_eq!(id("TPU v5 Lite"), Some("v5e"));
    assert_eq!(id("Google TPU  v5e"), Some("v5e"));
    assert_eq!(id("TPU v5"), Some("v5p"));
    assert_eq!(id("TPU v6 Lite"), Some("v6e"));
    assert_eq!(id("0.0.37 TFRT TPU v6 lite"), Some("v6e"));
    assert_eq!(id("TPU7x"), Some("v7x"));
    assert_eq!(id("TPU8i"), Some("v8i"));
    assert_eq!(id("v4 lite"), Some("v4i"));
    assert_eq!(id("v6e"), Some("v6e"));
    for unknown in ["", "TPU", "v8", "NVIDIA H200", "v5ee", "tpu v6 lite pod"] {
        assert_eq!(id(unknown), None, "{unknown}");
    }
}

#[test]
fn ridge_points_follow_from_published_peaks() {
    let ridge = |id: &str| Chip::named(id).unwrap().ridge().floor() as u32;
    assert_eq!(
        [ridge("v5e"), ridge("v5p"), ridge("v6e"), ridge("v7x")],
        [240, 166, 560, 312]
    );
    assert_eq!([ridge("v8i"), ridge("v8t")], [128, 155]);
}

#[test]
fn chip_facts_have_sources_and_explained_disagreements() {
    let ids: Vec<&str> = chips().iter().map(|chip| chip.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "v2", "v3", "v4i", "v4", "v5e", "v5p", "v6e", "v7x", "v8i", "v8t"
        ]
    );
    for chip in chips() {
        for fact in &chip.facts {
            let what = format!("{} {}", chip.id, fact.key);
            assert!(
                sources().contains_key(&fact.source),
                "{what}: {:?}",
                fact.source
            );
            for (source, other) in &fact.others {
                assert!(sources().contains_key(source), "{what}: {source:?}");
                let differs = (other / fact.values[0] - 1.0).abs();
                assert!(
                    differs < 0.02 || fact.ruling.is_some(),
                    "{what}: {other} unexplained"
                );
            }
        }
    }
}

#[test]
fn pod_sides_multiply_to_its_chips_and_can_wrap() {
    for chip in chips() {
        let Some(links) = chip.links else { continue };
        assert_eq!(links.per_chip, 2 * links.torus_dims);
        assert!(links.achievable_bytes <= links.peak_bytes);
        if let Some(shape) = chip.facts.iter().find(|fact| fact.key == "pod_shape") {
            assert_eq!(shape.values.iter().product::<f64>() as u32, links.max_chips);
            let wrap = f64::from(links.wrap_multiple.unwrap());
            assert!(shape.values.iter().all(|side| side % wrap == 0.0));
        }
    }
}

#[test]
fn chip_file_overrides_only_its_base() {
    let text = "base = \"v5p\"\nbf16_flops = 500e12\nhbm_bandwidth = { value = 3e12, source = \"measured\" }";
    let chip = Chip::from_toml(text, "my_chip.toml").unwrap();
    let base = Chip::named("v5p").unwrap();
    assert_eq!(
        (chip.id.as_str(), chip.bf16_flops, chip.hbm_bandwidth),
        ("my_chip", 500e12, 3e12)
    );
    assert_eq!((chip.hbm_bytes, chip.links), (base.hbm_bytes, base.links));
    let source = |key: &str| {
        chip.facts
            .iter()
            .find(|fact| fact.key == key)
            .unwrap()
            .source
            .clone()
    };
    assert_eq!(
        [
            source("bf16_flops"),
            source("hbm_bandwidth"),
            source("hbm_bytes")
        ],
        ["my_chip.toml", "measured", "cloud"]
    );
}

#[test]
fn chip_file_without_base_is_complete() {
    let text = "id = \"toy\"\ncores = 1\ndevices = 1\nmxus_per_core = 1\nmxu_dim = 8\nbf16_flops = 1e9\n\
                hbm_bytes = 1048576\nhbm_bandwidth = 1e6\nvmem_bytes_per_core = 1024";
    let chip = Chip::from_toml(text, "x.toml").unwrap();
    assert_eq!(
        (chip.id.as_str(), chip.ridge(), chip.links),
        ("toy", 1000.0, None)
    );
    let error = Chip::from_toml("bf16_flops = 1e12", "x.toml")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("hbm_bandwidth") && error.contains("base = "),
        "{error}"
    );
}

#[test]
fn rejects_invalid_chip_files_with_a_reason() {
    let deep = format!("base = {}1{}", "[".repeat(100_000), "]".repeat(100_000));
    for (text, reason) in [
        ("bf16_flop = 1e12", "unknown key \"bf16_flop\""),
        ("bf16_flops = nan", "bf16_flops"),
        ("bf16_flops = inf", "bf16_flops"),
        ("bf16_flops = -1e12", "from"),
        ("bf16_flops = 0", "from"),
        ("bf16_flops = \"fast\"", "write a number"),
        ("cores = 1.5", "whole"),
        ("devices = 0", "from"),
        ("cores = 9223372036854775807", "from"),
        ("pod_shape = []", "write a number"),
        ("hbm_bandwidth = { source = \"me\" }", "value"),
        ("hbm_bandwidth = { value = 1e12, sauce = \"me\" }", "sauce"),
        ("base = \"v99\"", "known chips are"),
        ("base = 5", "known chips are"),
        ("id = \"\"", "id"),
        ("id = [[1]]", "id"),
        ("{", "TOML"),
        ("cores = 1\ncores = 2", "TOML"),
        (deep.as_str(), "TOML"),
    ] {
        let text = if text.contains("base") {
            text.to_owned()
        } else {
            format!("base = \"v5e\"\n{text}")
        };
        let error = Chip::from_toml(&text, "my.toml").unwrap_err().to_string();
        assert!(error.contains(reason), "{error:.200}");
    }
}
