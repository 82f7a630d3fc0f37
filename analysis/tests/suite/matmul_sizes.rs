//! Sizes and padding of matmuls in real and synthetic captures.

use analysis::hardware::padding::Dimension;
use analysis::reports::Matmuls;
use analysis::reports::ops::matmuls::{MatmulSizes, SizesFrom};
use sample_traces::synthetic::{SyntheticRun, TrainingSpec};

use super::hlo::{capture, with_context};
use crate::capture::open_model;

#[test]
fn matmul_sizes_match_recorded_flops() {
    for (spec, _) in sample_traces::sample_specs() {
        let model = capture(&SyntheticRun::new(spec.clone()));
        with_context(&model, |cx| {
            let report = cx.report::<Matmuls>().unwrap();
            assert!(
                !report.rows.is_empty() && report.missing.is_empty(),
                "{:?}",
                report.missing
            );
            for row in &report.rows {
                assert_eq!(
                    (row.flops, row.sizes_from),
                    (row.recorded_flops, Some(SizesFrom::Program)),
                    "{}",
                    row.name
                );
                assert_eq!(
                    (row.types.as_deref(), row.passes),
                    (Some("bf16 × bf16 → bf16"), Some(1))
                );
            }
            let shard = spec.hidden / u64::from(spec.model);
            let up = MatmulSizes {
                batch: 1,
                m: spec.tokens,
                k: spec.width,
                n: shard,
            };
            assert!(report.sizes.iter().any(|row| row.sizes == up), "{up:?}");
        });
    }
}

#[test]
fn padded_sample_has_its_padding() {
    let (spec, _) = sample_traces::sample_specs()
        .into_iter()
        .find(|(spec, _)| spec.name.ends_with("padded"))
        .unwrap();
    let model = capture(&SyntheticRun::new(spec));
    with_context(&model, |cx| {
        let report = cx.report::<Matmuls>().unwrap();
        assert_eq!(report.tile, Some(256));
        let up = report
            .sizes
            .iter()
            .find(|row| (row.sizes.m, row.sizes.k, row.sizes.n) == (2048, 1000, 1100))
            .unwrap();
        // 1000 fills tiles of 256 up to 1024; with the 1100 as rows, those fill registers
        // of 16 up to 1104.
        let useful = 100.0 * (1000.0 / 1024.0) * (1100.0 / 1104.0);
        assert!((up.padding_efficiency_percent.unwrap().0 - useful).abs() < 1e-9);
        assert_eq!(up.pad_first, Some(Dimension::K));
        // HBM limits it: fuller tiles would not make it faster.
        assert_eq!(up.padding_loss_ps, Some(0.0));
    });
}

#[test]
fn padding_costs_time_in_compute_bound_ops() {
    let chip = sample_traces::synthetic::SyntheticChip::V6E;
    let large = TrainingSpec {
        data: 1,
        model: 1,
        tokens: 8192,
        width: 1000,
        hidden: 4400,
        ..TrainingSpec::default()
    };
    let model = capture(&SyntheticRun::new(TrainingSpec { chip, ..large }));
    with_context(&model, |cx| {
        let report = cx.report::<Matmuls>().unwrap();
        let up = report
            .sizes
            .iter()
            .find(|row| (row.sizes.m, row.sizes.k, row.sizes.n) == (8192, 1000, 4400))
            .unwrap();
        let lost = up.total_time_ps.as_ps_f64() * (1.0 - 1000.0 / 1024.0);
        assert!((up.padding_loss_ps.unwrap() / lost - 1.0).abs() < 1e-9);
        assert!((up.padding_gain_percent.unwrap().0 - 100.0).abs() < 1e-9);
    });
}

#[test]
fn v5e_matmul_size_is_known_in_both_formats() {
    for (name, from) in [
        ("xplane.pb", SizesFrom::Program),
        ("trace.json.gz", SizesFrom::Shapes),
    ] {
        let Some(model) = open_model(&format!("tpu/v5e_matmul.{name}")) else {
            return;
        };
        with_context(&model, |cx| {
            let report = cx.report::<Matmuls>().unwrap();
            let [row] = report.rows.as_slice() else {
                panic!("{} rows", report.rows.len())
            };
            assert_eq!(
                row.sizes,
                Some(MatmulSizes {
                    batch: 1,
                    m: 512,
                    k: 512,
                    n: 512
                })
            );
            assert_eq!(
                (row.flops, row.recorded_flops, row.sizes_from),
                (Some(268_435_456), Some(268_435_456), Some(from))
            );
        });
    }
}

#[test]
fn served_model_matmul_sizes_follow_from_shapes_and_flops() {
    let Some(model) = open_model("tpu/v7x_vllm_tp2_a.trace.json.gz") else {
        return;
    };
    with_context(&model, |cx| {
        let report = cx.report::<Matmuls>().unwrap();
        assert_eq!((report.rows.len(), report.missing.len()), (257, 0));
        let down = report
            .rows
            .iter()
            .find(|row| &*row.name == "fusion.6")
            .unwrap();
        assert_eq!(
            down.sizes,
            Some(MatmulSizes {
                batch: 1,
                m: 1024,
                k: 13824,
                n: 5120
            })
        );
        for row in &report.rows {
            let (own, recorded) = (
                row.flops.unwrap() as f64,
                row.recorded_flops.unwrap() as f64,
            );
            assert!((1.0..1.02).contains(&(recorded / own)), "{}", row.name);
        }
    });
}
