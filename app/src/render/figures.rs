//! The figures of every first screen (text, page, window): which ones, in which order, by which names.

use analysis::facts::steps::StepsReport;
use analysis::reports::communication::overlap::OverlapReport;
use analysis::reports::summary::utilization::UtilizationReport;
use analysis::{Metric, Provenance, Unit, counted};
use trace_model::Picos;

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

/// A figure that is no utilization.
#[derive(Debug, PartialEq)]
pub struct Figure {
    /// Name for people.
    pub title: &'static str,
    /// The number.
    pub value: f64,
    /// Of the value.
    pub unit: Unit,
    /// Over what it was taken.
    pub of: String,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// The median step; `None` without complete steps.
pub fn step(report: &StepsReport) -> Option<Figure> {
    let time = report.time.as_ref().filter(|_| report.has_steps())?;
    Some(Figure {
        title: "Step, median",
        value: time.median,
        unit: Unit::Picoseconds,
        of: counted(time.count, "step"),
        provenance: Provenance::Measured,
    })
}

/// The mean over devices of communication that nothing hides; `None` without communication.
pub fn exposed(report: &OverlapReport) -> Option<Figure> {
    let (all, exposed) = (report.summary.comm_mean_ps?, report.summary.exposed_mean_ps?);
    let of = format!("{} of communication on each device (mean)", Picos::from_ps(all));
    Some(Figure {
        title: "Exposed communication",
        value: exposed as f64,
        unit: Unit::Picoseconds,
        of,
        provenance: Provenance::Measured,
    })
}
