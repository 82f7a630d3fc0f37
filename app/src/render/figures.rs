//! The figures of every first screen (text, page, window): which ones, in which order, by which names.

use analysis::Metric;
use analysis::reports::summary::utilization::UtilizationReport;

/// Utilization on first screens, in this order, in words that fit a terminal.
const METRICS: [(&str, &str); 7] = [
    ("mfu_steady_percent", "MFU, steady steps"),
    ("mfu_window_percent", "MFU, first op to last"),
    ("mxu_util_on_mxu_ops_percent", "FLOPs in matrix ops"),
    ("mxu_hw_percent", "MXU by hardware counter"),
    ("hbm_util_steady_percent", "HBM, steady steps"),
    ("hbm_util_window_percent", "HBM, first op to last"),
    ("device_idle_percent", "Idle, first op to last"),
];

/// Few captures have these: worth a place only where they are known.
const OPTIONAL: [&str; 3] = ["mfu_steady_percent", "mxu_hw_percent", "hbm_util_steady_percent"];

/// The window of a device at the end of a title.
const OF_WINDOW: &str = ", first op to last";

/// Utilization with the titles of first screens. What is not known is there with its reason, unless few captures know
/// it. `is_whole`: the reports are about the whole trace; a part of it is its own window, which the metrics name.
pub fn utilization(report: &UtilizationReport, is_whole: bool) -> Vec<(&'static str, &Metric)> {
    let is_known = |id: &str| report.metric(id).is_some_and(|metric| metric.value.is_some());
    // There is no room for both of HBM; the table of utilization has them.
    let skipped = is_known("hbm_util_steady_percent").then_some("hbm_util_window_percent");
    let listed = METRICS.iter().filter(|(id, _)| Some(*id) != skipped && (is_known(id) || !OPTIONAL.contains(id)));
    let own = |title: &'static str| if is_whole { title } else { title.trim_end_matches(OF_WINDOW) };
    listed.filter_map(|&(id, title)| Some((own(title), report.metric(id)?))).collect()
}
