//! Output of real simulators, against what the simulators say of it themselves.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use common::corpus;
use importers::{ImportOptions, Progress};
use trace_model::{IssueKind, Op, Picos, TraceModel, TrackKind};

use crate::common;

fn open(path: &Path, clock_mhz: Option<f64>) -> TraceModel {
    let options = ImportOptions {
        clock_mhz,
        ..ImportOptions::default()
    };
    importers::import_path(path, &options, &Progress::new()).unwrap()
}

fn op<'a>(model: &'a TraceModel, name: &str) -> &'a Op {
    model
        .ops()
        .iter()
        .find(|op| model.str(op.name) == name)
        .unwrap_or_else(|| panic!("no op {name}"))
}

/// Time of the ops, by their names' ending.
fn time(model: &TraceModel, ending: &str) -> Picos {
    let ops = model
        .all_slices()
        .filter(|slice| slice.track_ref().kind == TrackKind::Ops);
    ops.filter(|slice| slice.name().ends_with(ending))
        .map(trace_model::SliceRef::dur)
        .sum()
}

#[test]
fn scale_sim_layer_flops_match_their_shapes() {
    let Some(corpus) = corpus() else { return };
    // Layer, multiplications, cycles until it is drained: the report's, and the last one itself.
    for (run, layer, multiplications, cycles) in [
        ("v3.0.0_decoder_ws", "qkv_proj", 128 * 768 * 256, 9190 + 1),
        ("v3.0.0_decoder_os", "qkv_proj", 128 * 768 * 256, 5362 + 1),
        ("v3.0.0_decoder_is", "attn_values", 128 * 64 * 128, 636 + 1),
        (
            "v3.0.0_decoder_ws_calc",
            "attn_scores",
            128 * 128 * 64,
            1685 + 1,
        ),
        (
            "v3.0.0_google_os_inception_tail",
            "Inc5b_3x3",
            25 * 9 * 192 * 384,
            93_908 + 1,
        ),
        (
            "v3.0.0_google_os_resnet18",
            "Conv1",
            110 * 110 * 49 * 3 * 64,
            289_608 + 1,
        ),
        (
            "v2_google_ws_inception_tail",
            "Inc5b_3x3",
            25 * 9 * 192 * 384,
            69_206 + 11_335 + 1,
        ),
    ] {
        let model = open(&corpus.join("simulators/scalesim").join(run), Some(1000.0));
        assert_eq!(
            op(&model, layer).flops,
            Some(2 * multiplications),
            "{run} {layer}"
        );
        let all = time(&model, layer)
            + time(&model, &format!("{layer} DRAM read"))
            + time(&model, &format!("{layer} DRAM write"));
        assert_eq!(all, Picos::from_ps(1000 * cycles), "{run} {layer}");
    }
}

#[test]
fn scale_sim_padding_matches_traces() {
    let Some(corpus) = corpus() else { return };
    let model = open(&corpus.join("simulators/scalesim/v3.0.0_decoder_ws"), None);
    // The report says 16384 words; the operand has 128 × 64.
    assert_eq!(
        op(&model, "attn_scores ifmap").bytes_accessed,
        Some(128 * 64)
    );
    assert_eq!(
        op(&model, "attn_values ofmap").bytes_accessed,
        Some(128 * 64)
    );
    assert!(model.import_log().count(IssueKind::PaddedCounts) > 0);
    // No trace: more than the SRAM was read is not a number of words.
    let model = open(
        &corpus.join("simulators/scalesim/v3.0.0_google_os_inception_tail"),
        None,
    );
    assert_eq!(op(&model, "Inc5b_3x3 ifmap").bytes_accessed, None);
    assert_eq!(model.import_log().count(IssueKind::PaddedCounts), 2);
}

#[test]
fn sparse_run_without_inputs_has_no_flops() {
    let Some(corpus) = corpus() else { return };
    let model = open(&corpus.join("simulators/scalesim/v3_sparse"), Some(1000.0));
    assert!(model.ops().iter().all(|op| op.flops.is_none()));
    assert_eq!(time(&model, "layer 0"), Picos::from_ps(384_000));
}

/// Time of the ops in nanoseconds, and their operations.
fn totals(model: &TraceModel) -> (i64, u64) {
    let ops = model
        .all_slices()
        .filter(|slice| slice.track_ref().kind == TrackKind::Ops);
    let flops = |slice: &trace_model::SliceRef<'_>| {
        slice.op().and_then(|op| model.op(op).flops).unwrap_or(0)
    };
    let (ps, flops) = ops.fold((0, 0), |(time, sum), slice| {
        (time + slice.self_dur().ps(), sum + flops(&slice))
    });
    (ps / 1000, flops)
}

#[test]
fn neusim_totals_equal_its_rows() {
    let Some(corpus) = corpus() else { return };
    // Sums of rows × Count, operations without those of `FlashAttention`, whose products are not counted.
    for (file, ns, flops) in EXPECTED {
        let model = open(
            &corpus
                .join("simulators/neusim")
                .join(format!("llama3-8b-tpu{file}.csv")),
            None,
        );
        assert_eq!(totals(&model), (ns, flops), "{file}");
    }
    let model = open(
        &corpus.join("simulators/neusim/llama3-8b-tpuv5p-tp4.csv"),
        None,
    );
    assert_eq!(model.import_log().count(IssueKind::Duplicate), 1);
    let (prefill, decode) = (EXPECTED[0], EXPECTED[1]);
    assert_eq!(totals(&model), (prefill.1 + decode.1, prefill.2 + decode.2));
}

#[test]
fn genz_totals_equal_its_summary() {
    let Some(corpus) = corpus() else { return };
    for (phase, ms) in [
        ("prefill", 161.188_473_506_688_47),
        ("decode", 2.233_729_044_485_983),
    ] {
        let model = open(
            &corpus
                .join("simulators/genz")
                .join(format!("{phase}_model_df.csv")),
            None,
        );
        let (ns, _) = totals(&model);
        assert!((ns as f64 * 1e-6 / ms - 1.0).abs() < 1e-6, "{phase}: {ns}");
    }
}

/// Table, nanoseconds, operations.
const EXPECTED: [(&str, i64, u64); 4] = [
    ("v5p-tp4_prefill", 106_004_128, 31_892_950_745_088),
    ("v5p-tp4_decode", 54_489_088, 266_665_459_712),
    ("v5e-tp4_prefill", 207_635_872, 31_892_950_745_088),
    ("v6e-tp4_decode", 75_066_368, 266_665_459_712),
];

#[test]
fn onnxim_layers_and_tiles_match_the_log() {
    let Some(corpus) = corpus() else { return };
    let model = open(&corpus.join("simulators/onnxim"), None);
    assert_eq!(model.import_log().counts(), []);
    // 256 × 512 by 512 × 2048 with bias, and so on; 59,263 of 59,403 cycles at 1 GHz.
    assert_eq!(
        totals(&model),
        (59_263, 537_395_200 + 2_148_007_936 + 537_001_984)
    );
    assert_eq!(op(&model, "Gemm_1").bytes_accessed, Some(10_489_856));
    let device = model.group(model.tensor_cores()[0]).device.clone().unwrap();
    let peak = 4.0 * 2.0 * 128.0 * 128.0 * 1e9;
    assert_eq!(
        (device.peak_flops, device.peak_hbm_bytes),
        (Some(peak), Some(614e9))
    );
    let tiles = model
        .all_slices()
        .filter(|slice| model.str(slice.track_ref().name).ends_with("tiles"));
    assert_eq!(
        tiles
            .map(|slice| slice.name().to_owned())
            .collect::<Vec<_>>(),
        [["Gemm_0", "Gemm_1", "Gemm_2"]; 4].concat()
    );
    // What the multipliers did is the products without their biases.
    let track = model
        .track_ids()
        .find(|&id| model.str(model.track(id).name) == "Core 0 multipliers in use")
        .unwrap();
    let mean = model.counter(track).unwrap().mean(model.extent()).unwrap();
    let exact = 100.0 * 3_221_225_472.0 / (peak * 59_403e-9);
    assert!((mean - exact).abs() < 0.02, "{mean} {exact}");
}
