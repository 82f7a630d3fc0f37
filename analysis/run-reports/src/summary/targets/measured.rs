//! What a run reached of each target.

use device_reports::communication::collectives::Remark;
use device_reports::{Collectives, DeclaredCosts, Kernels};
use facts::prelude::*;

use crate::host::compile::{self, Compile};
use crate::host::input::Input;
use crate::summary::utilization::Utilization;

/// Share of op time in kernels with wrong costs from which matrix ops are not judged.
const WRONG_COSTS: Percent = Percent(5.0);
/// Ends of a range that differ by less are one value.
const ONE_VALUE: f64 = 0.05;
/// Share of the time in flight from which hidden transfers make the speed of links a lower bound.
const HIDDEN: Percent = Percent(10.0);

/// A value in percent with its denominator.
pub(super) struct MeasuredShare {
    pub value: Percent,
    pub low: Option<Percent>,
    pub of: String,
    pub provenance: Provenance,
    /// Why the value is only a lower bound, if it is one.
    pub at_least_because: Option<String>,
}

impl MeasuredShare {
    fn exact(value: Percent, of: impl Into<String>, provenance: Provenance) -> Self {
        Self {
            value,
            low: None,
            of: of.into(),
            provenance,
            at_least_because: None,
        }
    }
}

/// The first of these metrics that is known: rates during the work come before rates over the whole capture, which
/// include idle time.
pub(super) fn metric(cx: &Context<'_>, ids: &[&str]) -> Result<MeasuredShare, String> {
    let report = cx.report::<Utilization>().map_err(|why| why.to_string())?;
    let mut metrics = ids.iter().filter_map(|id| report.metric(id));
    let first = metrics
        .clone()
        .next()
        .and_then(|metric| metric.note.clone());
    let known = metrics.find_map(|metric| {
        let at_least_because = metric
            .is_lower_bound
            .then(|| metric.note.clone().unwrap_or_default());
        Some(MeasuredShare {
            at_least_because,
            ..MeasuredShare::exact(Percent(metric.value?), &metric.of, metric.provenance)
        })
    });
    known.ok_or_else(|| first.unwrap_or_else(|| "not recorded in this capture".to_owned()))
}

/// In the steady steps, where there are any. Excludes values from costs that contradict the shapes of the kernels that declare them.
pub(super) fn speed_of_matrix_ops(cx: &Context<'_>) -> Result<MeasuredShare, String> {
    let kernels = cx.report::<Kernels>().ok();
    let wrong = kernels
        .iter()
        .flat_map(|report| &report.kernels)
        .filter(|kernel| kernel.declared == DeclaredCosts::TooFew);
    let share: Percent = wrong.filter_map(|kernel| kernel.of_op_time_percent).sum();
    if share >= WRONG_COSTS {
        return Err(format!(
            "kernels of {share:.1} of op time declare fewer operations than their shapes need"
        ));
    }
    metric(
        cx,
        &[
            "mxu_util_steady_percent",
            "mxu_util_on_mxu_ops_percent",
            "mxu_hw_percent",
        ],
    )
}

pub(super) fn compiling(cx: &Context<'_>) -> Result<MeasuredShare, String> {
    let report = cx.report::<Compile>().map_err(|why| why.to_string())?;
    if !report.is_recorded || compile::is_cut(cx) {
        return Err(compile::unknown(cx).to_owned());
    }
    // If threads were recorded and show no compilation, nothing was compiled.
    Ok(MeasuredShare::exact(
        report.share_percent.unwrap_or_default(),
        cx.scope.title(),
        Provenance::Measured,
    ))
}

pub(super) fn input(cx: &Context<'_>) -> Result<MeasuredShare, String> {
    if host_threads(cx.model).next().is_none() {
        return Err("the host was not recorded, so it is unknown what devices wait for".to_owned());
    }
    let report = cx.report::<Input>().map_err(|why| why.to_string())?;
    let is_cut = compile::is_cut(cx);
    let known = report
        .devices
        .iter()
        .filter_map(|device| Some((device.percent?, &device.name)))
        .filter(|(percent, _)| percent.0 > 0.0 || !is_cut);
    let (percent, name) = known
        .max_by(|(a, _), (b, _)| a.0.total_cmp(&b.0))
        .ok_or(if is_cut {
            "the end of a file is missing: what devices waited for is not known"
        } else {
            "no device has both steps and a duration"
        })?;
    let of = if cx.tensor_cores().is_empty() {
        format!("steps on host {name}")
    } else {
        format!("{name} from its first program to its last")
    };
    Ok(MeasuredShare::exact(percent, of, Provenance::Inferred))
}

pub(super) fn links(cx: &Context<'_>) -> Result<MeasuredShare, String> {
    let report = cx.report::<Collectives>().map_err(|why| why.to_string())?;
    if report.kinds.last().is_none_or(|kind| kind.share.is_none()) {
        return Err("the speed of the links, or the size of the messages, is not known".to_owned());
    }
    let small = "all messages are so small that hop latency dominates";
    let share = report.share_of_links().ok_or(small)?;
    let rest = if report
        .rows
        .iter()
        .any(|row| row.remarks.contains(&Remark::LatencyBound))
    {
        ", small messages left out"
    } else {
        ""
    };
    let is_range = share.high_percent.0 - share.low_percent.0 > ONE_VALUE;
    let layout = if is_range {
        "the most to the fewest links possible"
    } else {
        "the links possible"
    };
    let (speed, provenance) = if report.links.recorded {
        ("recorded speed", Provenance::Derived)
    } else {
        ("published speed", Provenance::AssumedPeak)
    };
    let of = format!("{speed} of {layout}{rest}");
    let hidden = report.hidden_percent().filter(|&hidden| hidden > HIDDEN);
    let at_least_because = hidden.map(|hidden| {
        format!("transfers that nothing waits for take {hidden:.1} of the time in flight, and may have arrived earlier")
    });
    Ok(MeasuredShare {
        low: is_range.then_some(share.low_percent),
        at_least_because,
        ..MeasuredShare::exact(share.high_percent, of, provenance)
    })
}
