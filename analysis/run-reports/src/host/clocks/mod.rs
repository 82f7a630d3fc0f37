//! Offsets between the clocks of devices and those of their hosts.

#[cfg(test)]
mod tests;

use facts::ClocksReport;
use facts::prelude::*;

/// The analysis `clocks`.
pub struct Clocks;

impl Analysis for Clocks {
    type Report = ClocksReport;
    const ID: &str = "clocks";
    const TITLE: &str = "Clocks";

    fn run(cx: &Context<'_>) -> Result<ClocksReport> {
        let report: &ClocksReport = cx.fact();
        if report.devices.is_empty() && report.hosts.is_empty() {
            return Err(missing(cx.model).into());
        }
        Ok(report.clone())
    }
}

fn missing(model: &TraceModel) -> &'static str {
    if model.tensor_cores().is_empty() {
        "no TPU device was recorded, so there is no device clock to compare with the host's"
    } else if host_threads(model).next().is_none() {
        "no host thread was recorded: trace the host too (host_tracer_level 1 or more) to compare the clocks"
    } else {
        "no host event says which program it launched (DoEnqueueProgram with a run id, a flow to the program, or \
         one ExecuteLaunch per program): trace the host with host_tracer_level 2 or more to compare the clocks"
    }
}
