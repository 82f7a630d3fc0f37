//! Output of real simulators, against what the simulators say of it themselves.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::corpus;
use importers::{ImportOptions, Progress};
use trace_model::{IssueKind, Op, Picos, TraceModel, TrackKind};

fn open(path: &Path, clock_mhz: Option<f64>) -> TraceModel {
    let options = ImportOptions { clock_mhz, ..ImportOptions::default() };
    importers::import_path(path, &options, &Progress::new()).unwrap()
}

fn op<'a>(model: &'a TraceModel, name: &str) -> &'a Op {
    model.ops().iter().find(|op| model.str(op.name) == name).unwrap_or_else(|| panic!("no op {name}"))
}

/// Time of the ops, by their names' ending.
fn time(model: &TraceModel, ending: &str) -> Picos {
    let ops = model.all_slices().filter(|slice| model.track(slice.track()).kind == TrackKind::Ops);
    ops.filter(|slice| slice.name().ends_with(ending)).map(trace_model::SliceRef::dur).sum()
}

#[test]
fn scale_sim_layers_multiply_what_their_shapes_say() {
    let Some(corpus) = corpus() else { return };
    // Layer, multiplications, cycles until it is drained: the report's, and the last one itself.
    for (run, layer, multiplications, cycles) in [
        ("v3.0.0_decoder_ws", "qkv_proj", 128 * 768 * 256, 9190 + 1),
        ("v3.0.0_decoder_os", "qkv_proj", 128 * 768 * 256, 5362 + 1),
        ("v3.0.0_decoder_is", "attn_values", 128 * 64 * 128, 636 + 1),
        ("v3.0.0_decoder_ws_calc", "attn_scores", 128 * 128 * 64, 1685 + 1),
        ("v3.0.0_google_os_inception_tail", "Inc5b_3x3", 25 * 9 * 192 * 384, 93_908 + 1),
        ("v3.0.0_google_os_resnet18", "Conv1", 110 * 110 * 49 * 3 * 64, 289_608 + 1),
        ("v2_google_ws_inception_tail", "Inc5b_3x3", 25 * 9 * 192 * 384, 69_206 + 11_335 + 1),
    ] {
        let model = open(&corpus.join("simulators/scalesim").join(run), Some(1000.0));
        assert_eq!(op(&model, layer).flops, Some(2 * multiplications), "{run} {layer}");
        let all = time(&model, layer)
            + time(&model, &format!("{layer} DRAM read"))
            + time(&model, &format!("{layer} DRAM write"));
        assert_eq!(all, Picos::from_ps(1000 * cycles), "{run} {layer}");
    }
}

#[test]
fn scale_sim_traces_show_what_the_reports_pad() {
    let Some(corpus) = corpus() else { return };
    let model = open(&corpus.join("simulators/scalesim/v3.0.0_decoder_ws"), None);
    // The report says 16384 words; the operand has 128 × 64.
    assert_eq!(op(&model, "attn_scores ifmap").bytes_accessed, Some(128 * 64));
    assert_eq!(op(&model, "attn_values ofmap").bytes_accessed, Some(128 * 64));
    assert!(model.import_log().count(IssueKind::PaddedCounts) > 0);
    // No trace: more than the SRAM was read is no number of words.
    let model = open(&corpus.join("simulators/scalesim/v3.0.0_google_os_inception_tail"), None);
    assert_eq!(op(&model, "Inc5b_3x3 ifmap").bytes_accessed, None);
    assert_eq!(model.import_log().count(IssueKind::PaddedCounts), 2);
}

#[test]
fn a_sparse_run_whose_inputs_are_elsewhere_has_no_flops() {
    let Some(corpus) = corpus() else { return };
    let model = open(&corpus.join("simulators/scalesim/v3_sparse"), Some(1000.0));
    assert!(model.ops().iter().all(|op| op.flops.is_none()));
    assert_eq!(time(&model, "layer 0"), Picos::from_ps(384_000));
}
