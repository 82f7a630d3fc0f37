//! Figures of the first screen that are no utilization.

use analysis::facts::steps::StepsReport;
use analysis::reports::communication::overlap::OverlapReport;
use analysis::{Provenance, Unit, counted};
use trace_model::Picos;

/// A figure that is no utilization.
#[derive(Debug, PartialEq)]
pub struct KeyFigure {
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
pub fn step(report: &StepsReport) -> Option<KeyFigure> {
    let time = report.time.as_ref().filter(|_| report.has_steps())?;
    Some(KeyFigure {
        title: "Step, median",
        value: time.median,
        unit: Unit::Picoseconds,
        of: counted(time.count, "step"),
        provenance: Provenance::Measured,
    })
}

/// The mean over devices of communication that nothing hides; `None` without communication.
pub fn exposed(report: &OverlapReport) -> Option<KeyFigure> {
    let (all, exposed) = (report.summary.comm_mean_ps?, report.summary.exposed_mean_ps?);
    let of = format!("{} of communication on each device (mean)", Picos::from_ps(all));
    Some(KeyFigure {
        title: "Exposed communication",
        value: exposed as f64,
        unit: Unit::Picoseconds,
        of,
        provenance: Provenance::Measured,
    })
}
