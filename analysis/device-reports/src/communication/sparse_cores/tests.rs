use engine::{Options, ReportCache, Scope};
use sample_traces::text_trace;

use super::*;

fn report_of(model: &TraceModel) -> Result<SparseCoresReport> {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    cx.report::<SparseCores>()
        .map(|report| report.as_ref().clone())
}

#[test]
fn sparse_core_busy_share_is_of_the_device_window() {
    let model = text_trace(
        "
        ops: ffffffffffffffffffff
        TPU:0 SC:0 modules: ..MMMMMMMM..MMMMMMMM
        TPU:0 SC:0 ops    : ...gggggg....ssss...
        TPU:0 SC:1 ops    : .....gg
        f = fusion.1 [loop fusion]
        g = gather.1 [gather]
        s = scatter.1 [scatter]
        M = sparse(1)
        ",
    );
    let report = report_of(&model).unwrap();
    let cores: Vec<_> = report
        .cores
        .iter()
        .map(|core| {
            (
                core.core.as_str(),
                core.busy_ps.map(Picos::ps),
                core.window_ps.ps(),
            )
        })
        .collect();
    let name = |n: u32| format!("/device:TPU:0 SparseCore {n}");
    assert_eq!(
        cores,
        [
            (name(0).as_str(), Some(10_000), 20_000),
            (name(1).as_str(), Some(2_000), 20_000)
        ]
    );
    assert_eq!(
        (report.cores[0].programs, report.cores[0].program_ps.ps()),
        (2, 16_000)
    );
    let ops: Vec<_> = report
        .ops
        .iter()
        .map(|op| (op.op.as_str(), op.occurrences, op.self_ps.ps()))
        .collect();
    // The second core records no program: its op has a row of its own.
    assert_eq!(
        ops,
        [
            ("gather.1", 1, 6_000),
            ("scatter.1", 1, 4_000),
            ("gather.1", 1, 2_000)
        ]
    );
    assert_eq!((report.offloads.len(), report.unmatched), (0, 0));
}

#[test]
fn missing_sparse_cores_name_the_capture_option() {
    let why = report_of(&text_trace("ops: ff\n f = fusion.1 [loop fusion]")).unwrap_err();
    assert!(why.to_string().contains("tpu_num_sparse_cores_to_trace"));
}
