//! Idle time of devices between programs, and its causes on the host.
//!
//! ```text
//! device   |  before first  |program| between |program|  after last  |
//! host        [compile    ]  [wait]   [put][dispatch]
//! ```
//!
//! Idle spans between programs are converted to the clock of the host ([`facts::clock_alignment`]) and divided
//! by host activity ([`IdleCause`]): the parts add up exactly to the idle time. Idle time *within* programs is
//! measured by the clock of the ops and reported separately: host activity does not explain it.

mod activity;
mod cause;
mod device;
mod inside;
mod main_cause;
mod merge;
mod report;
mod steps;
mod table;
mod tally;
#[cfg(test)]
mod tests;

use device_reports::Steps;
use facts::prelude::*;
use trace_model::HostId;

use device::GapCollector;
use tally::ReportNames;

pub(crate) use activity::HostEventKinds;
pub use cause::IdleCause;
pub use inside::InsidePrograms;

pub(super) use report::time_of;
pub use report::{CauseTime, DeviceGaps, Gap, GapPlace, GapsReport, IdleSpanCause, StepGaps};

/// The analysis `gaps`.
pub struct Gaps;

impl Analysis for Gaps {
    type Report = GapsReport;
    const ID: &str = "gaps";
    const TITLE: &str = "Device gaps";

    fn run(cx: &Context<'_>) -> Result<GapsReport> {
        let model = cx.model;
        let cores = cx.tensor_cores();
        if cores.is_empty() {
            let what = "no TPU device was recorded, so there are no gaps to explain: capture on a TPU, with its device \
                        traced";
            return Err(what.into());
        }
        let steps = cx.report::<Steps>().ok();
        let mut devices = Vec::new();
        let host = |group: GroupId| model.host_of(group);
        let recorded: BTreeSet<HostId> = host_threads(model)
            .map(|track| host(model.track(track).group))
            .collect();
        // The devices of a host are adjacent.
        for cores in cores.chunk_by(|&one, &next| host(one) == host(next)) {
            let device_host = host(cores[0]);
            let worth = cx
                .fact::<HostEventKinds>()
                .worth_skipping(model, device_host);
            let mut of_host = devices_of(cx, device_host, cores, steps.as_deref(), worth)?;
            for device in &mut of_host {
                device.has_host = recorded.contains(&device_host);
            }
            devices.append(&mut of_host);
        }
        if devices.is_empty() {
            let what = "no device recorded a program execution here (line XLA Modules), so there is nothing between \
                        programs to explain";
            return Err(what.into());
        }
        Ok(GapsReport {
            statement: statement(&devices, !recorded.is_empty()),
            metrics: metrics(cx, &devices),
            devices,
        })
    }
}

/// The gaps of the devices of one host. What the host does while all of them run programs for longer than is `worth`
/// skipping is not read.
fn devices_of(
    cx: &Context<'_>,
    host: HostId,
    cores: &[GroupId],
    steps: Option<&StepsReport>,
    worth: Picos,
) -> Result<Vec<DeviceGaps>> {
    let watches = cores
        .iter()
        .filter_map(|&core| GapCollector::new(cx, core, steps).transpose());
    let mut watches: Vec<GapCollector<'_>> = watches.collect::<Result<_, _>>()?;
    let mut names = ReportNames::new(cx.model);
    let events = cx.fact::<HostEventKinds>();
    let idle: IntervalSet = watches.iter().flat_map(GapCollector::idle).collect();
    for span in events.spans_to_read(cx.model, host, &idle, worth) {
        for doing in cx.watched(events.doings(cx.model, host, span)) {
            for watch in &mut watches {
                watch.see(&doing, &mut names);
            }
        }
    }
    let finish = |watch: GapCollector<'_>| {
        let gaps = watch.finish(&mut names);
        Ok(DeviceGaps {
            inside: inside::inside_programs(cx, gaps.group)?,
            ..gaps
        })
    };
    watches.into_iter().map(finish).collect()
}

/// Causes with a smaller share of the idle time get no clause.
const WORTH_SAYING_PERCENT: Percent = Percent(10.0);

fn statement(devices: &[DeviceGaps], has_host: bool) -> String {
    let sum = |get: &dyn Fn(&DeviceGaps) -> Picos| devices.iter().map(get).sum();
    let idle: Picos = sum(&|device| device.idle_ps);
    let window = sum(&|device| device.window_ps);
    let Percent(share) = Percent::of(idle, window).unwrap_or_default();
    // Avoids "100.0 %" if something ran.
    let digits = if share > 99.9 { 3 } else { 1 };
    let mut text = format!("No program runs for {share:.digits$} % of the window");
    if !has_host {
        return text + "; no host thread was recorded, so the reasons are not known";
    }
    let share_of =
        |cause| Percent::of(sum(&|device| device.time_ps(cause)), idle).unwrap_or_default();
    let recorded = IdleCause::ALL
        .into_iter()
        .filter(|&cause| cause != IdleCause::Unknown);
    let mut parts: Vec<(Percent, IdleCause)> =
        recorded.map(|cause| (share_of(cause), cause)).collect();
    parts.sort_by(|(a, one), (b, other)| b.0.total_cmp(&a.0).then(one.cmp(other)));
    // The longest is named even if it explains little.
    let least = parts
        .first()
        .map_or(0.0, |(most, _)| most.0.min(WORTH_SAYING_PERCENT.0));
    let parts = parts
        .into_iter()
        .filter(|(share, _)| share.0 > 0.0 && share.0 >= least);
    let mut parts: Vec<String> = parts
        .map(|(share, cause)| format!("{} {share:.1}", cause.title()))
        .collect();
    let unknown = share_of(IdleCause::Unknown);
    if unknown >= WORTH_SAYING_PERCENT {
        parts.push(format!("nothing for {unknown:.1}"));
    }
    if !parts.is_empty() {
        text = format!("{text}; of that the host shows {}", parts.join(", "));
    }
    text
}

fn metrics(cx: &Context<'_>, devices: &[DeviceGaps]) -> Vec<Metric> {
    let sum = |get: fn(&DeviceGaps) -> Picos| devices.iter().map(get).sum();
    let of = format!(
        "window × {}, on the clock of the host",
        counted(devices.len(), "device")
    );
    let metric = |id, title, part, whole, of: &str| Metric {
        id,
        title,
        value: Percent::of(part, whole).map(|share| share.0),
        is_lower_bound: false,
        unit: Unit::Percent,
        of: of.to_owned(),
        provenance: Provenance::Measured.in_trace(cx.model),
        note: None,
    };
    let window = sum(|device| device.window_ps);
    let mut out = vec![
        metric(
            "gaps_percent",
            "No program running",
            sum(|device| device.idle_ps),
            window,
            &of,
        ),
        metric(
            "gaps_between_percent",
            "of which between programs",
            sum(DeviceGaps::between_ps),
            window,
            &of,
        ),
    ];
    let inside: Vec<&InsidePrograms> = devices
        .iter()
        .filter_map(|device| device.inside.as_ref())
        .collect();
    let total = |of: fn(&InsidePrograms) -> Picos| inside.iter().map(|inside| of(inside)).sum();
    let (idle, program) = (
        total(|inside| inside.idle_ps),
        total(|inside| inside.program_ps),
    );
    out.push(Metric {
        note: Some("by the device clock; independent of the host".to_owned()),
        ..metric(
            "gaps_inside_percent",
            "No op within programs",
            idle,
            program,
            "time of programs",
        )
    });
    out
}
