//! Values of hardware counters, if a capture has them.

use device_reports::CoreOps;
use facts::prelude::*;

/// Host-wide counters: the mean over the hosts that recorded them. They cover the whole capture, idle time included,
/// for any scope.
pub(super) fn host_metrics(cx: &Context<'_>) -> Vec<Metric> {
    let known = [
        (
            "mxu_hw_percent",
            "Matrix unit utilization by hardware counter",
            "matrix_unit_utilization_percent",
        ),
        (
            "hbm_hw_percent",
            "HBM utilization by hardware counter",
            "hbm_utilization_percent",
        ),
    ];
    let groups = || cx.model.group_ids().filter(|&group| is_host(cx, group));
    let metric = |(id, title, fact): (&'static str, &'static str, &str)| {
        let values: Vec<f64> = groups()
            .filter_map(|group| cx.model.group_fact(group, fact)?.as_f64())
            .collect();
        let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
        let value = mean.filter(|&mean| mean > 0.0 && mean <= 100.0);
        let wrong = mean.filter(|_| value != mean).map(|mean| {
            let why = if mean == 0.0 {
                "recorded as exactly 0: the counter was probably not read"
            } else {
                "recorded, but not between 0 and 100 %: the counter is wrong"
            };
            why.to_owned()
        });
        let beware = (cx.scope != Scope::WholeTrace)
            .then(|| "of the whole capture, not of the chosen part".to_owned());
        let missing = value
            .is_none()
            .then(|| "not recorded in this capture".to_owned());
        Metric {
            id,
            title,
            value,
            is_lower_bound: false,
            unit: Unit::Percent,
            of: match values.len() {
                0 => "whole capture with idle time".to_owned(),
                hosts => format!(
                    "whole capture with idle time, mean of {}",
                    counted(hosts, "host")
                ),
            },
            provenance: Provenance::Profile,
            note: wrong.or(missing).or(beware),
        }
    };
    known.into_iter().map(metric).collect()
}

fn is_host(cx: &Context<'_>, group: GroupId) -> bool {
    matches!(
        cx.model.group(group).kind,
        GroupKind::Host | GroupKind::HostProcess
    )
}

/// The `MXU` series of a core inside kernels: the mean over the time of its samples. It comes from the compiler's
/// schedule and not from a hardware counter.
pub(super) fn counter_metric(cx: &Context<'_>, core: &CoreOps) -> Option<Metric> {
    let window = cx.window(core.core).ok()??;
    let track = cx.model.tracks_of(core.core).into_iter().find(|track| {
        let track = cx.model.track(*track);
        track.kind == TrackKind::Counter && cx.model.str(track.name) == "MXU"
    })?;
    let series = cx.model.counter(track)?;
    Some(Metric {
        id: "mxu_schedule_percent",
        title: "Matrix unit utilization by kernel schedule",
        value: series
            .mean(window.range)
            .filter(|mean| (0.0..=100.0).contains(mean)),
        is_lower_bound: false,
        unit: Unit::Percent,
        of: "time of its samples".to_owned(),
        provenance: Provenance::StaticCost,
        note: Some("estimated from the schedule of kernels, not sampled".to_owned()),
    })
}
