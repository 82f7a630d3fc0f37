//! Time in which devices wait for input, and transfers between hosts and devices.
//!
//! A device waits for input inside a program (`infeed` ops) or between programs (gaps in which the host prepares input,
//! see [`crate::host::gaps`]). Both are lengths of time of the same device and never overlap.
//!
//! Without a TPU, hosts that mark their steps show which part of these they wait for input.
//!
//! A transfer is recorded as an event that starts it and, linked by a flow, one that notices its end. Rates are bytes
//! over the time in which any transfer of that direction was in flight: a lower bound of the rate of the link.

mod hosts;
mod wait;

use device_reports::Steps;
use facts::prelude::*;
use hardware::chips::Chip;
use trace_model::HostId;

use crate::host::compile::is_cut;
use crate::host::gaps::{Gaps, IdleCause, time_of};
use wait::mean;

pub use wait::InputWait;

/// The analysis `input`.
pub struct Input;

/// Waiting for input, and transfers.
#[engine::reported]
pub struct InputReport {
    /// Every device that ran a program; without a TPU, every host that marks steps.
    pub devices: Vec<InputWait>,
    /// Every step, mean over the devices; `name` is its number.
    pub steps: Vec<InputWait>,
    /// By direction, host to device first.
    pub transfers: Vec<Transfers>,
}

/// Transfers in one direction.
#[engine::row(measured)]
pub struct Transfers {
    /// `host to device` or `device to host`.
    #[column]
    pub direction: &'static str,
    /// The host.
    #[column]
    pub host: String,
    /// Number of transfers that recorded their size.
    #[column("Transfers")]
    pub count: u64,
    /// Bytes of these transfers.
    #[column]
    pub bytes: u64,
    /// Time in which any of them was in flight; `None` if ends were not recorded.
    #[column]
    pub in_flight_ps: Option<Picos>,
    /// Bytes divided by that time.
    #[column("Rate", derived)]
    pub bytes_per_second: Option<f64>,
    /// The rate as a share of the bandwidth of the links to the chips.
    #[column("Of link", derived)]
    pub link_percent: Option<Percent>,
    /// The denominator of `link_percent`.
    #[column("Link", inferred)]
    pub of: Option<String>,
}

impl Analysis for Input {
    type Report = InputReport;
    const ID: &str = "input";
    const TITLE: &str = "Input and transfers";

    fn run(cx: &Context<'_>) -> Result<InputReport> {
        let gaps = match cx.report::<Gaps>() {
            Ok(gaps) => gaps,
            Err(no_device) => {
                let waits = hosts::waits(cx, no_device)?;
                return Ok(InputReport {
                    devices: waits.hosts,
                    steps: waits.steps,
                    transfers: transfers(cx),
                });
            }
        };
        let classes = cx.classes();
        let steps = cx.report::<Steps>().ok();
        let numbered = grouped(
            steps
                .iter()
                .flat_map(|steps| &steps.steps)
                .map(|step| (step.number, step)),
        );
        let (mut devices, mut by_step) = (Vec::new(), BTreeMap::<u32, Vec<InputWait>>::new());
        for device in &gaps.devices {
            let infeed = infeed(cx, classes, device.group)?;
            let whole = infeed.as_ref().map(IntervalSet::measure);
            let length = device.program_ps + device.between_ps();
            // Where the end of a file is missing, so may be what prepared input meanwhile.
            let is_known = |gap: Picos| device.has_host && (gap > Picos::ZERO || !is_cut(cx));
            let known = |gap: Picos| is_known(gap).then_some(gap);
            let between = known(time_of(&device.between, IdleCause::Input));
            devices.push(InputWait::new(device.core.as_str(), length, whole, between));
            for step in &device.steps {
                let span = numbered
                    .get(&step.step)
                    .into_iter()
                    .flatten()
                    .find_map(|step| step.span_on(device.group));
                let inside = span
                    .zip(infeed.as_ref())
                    .map(|(span, infeed)| infeed.measure_in(span.measured));
                let part = InputWait::new(
                    step.step.to_string(),
                    step.length_ps,
                    inside,
                    known(step.time_ps(IdleCause::Input)),
                );
                by_step.entry(step.step).or_default().push(part);
            }
        }
        let steps = by_step
            .into_values()
            .filter_map(|of_step| mean(&of_step))
            .collect();
        Ok(InputReport {
            devices,
            steps,
            transfers: transfers(cx),
        })
    }
}

/// The spans in which a core ran infeed ops, by the clock that timed them; `None` without ops.
///
/// # Errors
///
/// The trace has no such steps.
pub fn infeed(cx: &Context<'_>, classes: &OpClasses, core: GroupId) -> Result<Option<IntervalSet>> {
    let Some(time) = cx.core_time(core)?.filter(|time| !time.segments.is_empty()) else {
        return Ok(None);
    };
    Ok(Some(
        time.segments
            .iter()
            .filter(|segment| {
                segment.class.group == OpGroup::HostIo
                    && cx
                        .model
                        .slice(segment.slice)
                        .op()
                        .is_some_and(|op| classes.category(op).starts_with("infeed"))
            })
            .map(|segment| segment.range)
            .collect(),
    ))
}

/// Transfers that start in the scope, by direction and host.
fn transfers(cx: &Context<'_>) -> Vec<Transfers> {
    #[derive(Default)]
    struct TransferSum {
        count: u64,
        bytes: u64,
        spans: Vec<TimeRange>,
        devices: BTreeSet<i64>,
        ends_known: bool,
    }
    let model = cx.model;
    let Ok(window) = cx.host_window() else {
        return Vec::new();
    };
    let classes = cx.host_classes();
    let mut sums: BTreeMap<(&'static str, HostId), TransferSum> = BTreeMap::new();
    for (slice, bytes) in model.slices_with(SliceAttr::TransferBytes) {
        let direction = match classes.class(slice.label_id()) {
            HostClass::HostToDevice => "host to device",
            HostClass::DeviceToHost => "device to host",
            _ => continue,
        };
        // `a=>b` is a later stage of `a` and repeats its size.
        let is_stage =
            slice.name().contains("=>") || slice.track_ref().kind != TrackKind::HostThread;
        let (Ok(bytes), false, true) = (
            u64::try_from(bytes),
            is_stage,
            window.contains(slice.start()),
        ) else {
            continue;
        };
        let host = model.host_of(slice.track_ref().group);
        let sum = sums
            .entry((direction, host))
            .or_insert_with(|| TransferSum {
                ends_known: true,
                ..TransferSum::default()
            });
        sum.count += 1;
        sum.bytes = sum.bytes.saturating_add(bytes);
        let done = done(model, slice);
        sum.ends_known &= done.is_some();
        sum.spans
            .extend(done.map(|done| TimeRange::new(slice.start(), done.start())));
        let device = slice
            .attr(SliceAttr::DeviceOrdinal)
            .or_else(|| done?.attr(SliceAttr::DeviceOrdinal));
        sum.devices.extend(device);
    }
    let mut out: Vec<Transfers> = sums
        .into_iter()
        .map(|((direction, host), sum)| {
            let in_flight: IntervalSet = sum.spans.into_iter().collect();
            let in_flight =
                Some(in_flight.measure()).filter(|time| sum.ends_known && *time > Picos::ZERO);
            let rate = in_flight.map(|time| sum.bytes as f64 / time.as_secs_f64());
            let link = link(cx, host, &sum.devices);
            Transfers {
                direction,
                host: model.host_name(host).to_owned(),
                count: sum.count,
                bytes: sum.bytes,
                in_flight_ps: in_flight,
                bytes_per_second: rate,
                link_percent: rate
                    .zip(link.as_ref())
                    .map(|(rate, (peak, _))| Percent(100.0 * rate / peak)),
                of: link.map(|(_, of)| of),
            }
        })
        .collect();
    largest_first(&mut out, |row| row.direction, |row| &row.host);
    out
}

/// The event that noticed the end of a transfer.
fn done<'a>(model: &'a TraceModel, begin: SliceRef<'a>) -> Option<SliceRef<'a>> {
    let ends = model
        .flows_from(begin.id())
        .iter()
        .map(|flow| model.slice(flow.to));
    ends.filter(|end| end.name().ends_with("=>Done"))
        .max_by_key(|end| (end.start(), end.id()))
}

/// Published bandwidth between a host and the chips of `devices` (all of its devices if empty), and its name.
fn link(cx: &Context<'_>, host: HostId, devices: &BTreeSet<i64>) -> Option<(f64, String)> {
    let groups: Vec<GroupId> = cx
        .model
        .tensor_cores()
        .into_iter()
        .filter(|&core| cx.model.host_of(core) == host)
        .collect();
    let device = groups
        .iter()
        .find_map(|&core| cx.model.group(core).device.as_ref());
    let typed = device
        .and_then(|device| device.type_name.as_deref())
        .and_then(Chip::named);
    let chip = typed.or_else(|| cx.options.chip())?;
    let count = if devices.is_empty() {
        groups.len()
    } else {
        devices.len()
    };
    let chips = (count as f64 / f64::from(chip.devices.max(1))).ceil();
    let each = chip
        .pcie_bandwidth
        .filter(|&peak| peak > 0.0 && chips > 0.0)?;
    Some((
        each * chips,
        format!("{chips} × {:.0} GB/s ({})", each / 1e9, chip.id),
    ))
}

impl Tabular for InputReport {
    fn tables(&self) -> Vec<Table> {
        let title = "Waiting for input";
        let mut tables = vec![wait_table("input", title, "device", &self.devices)];
        if !self.steps.is_empty() {
            let title = "Waiting for input in each step";
            tables.push(wait_table("input_steps", title, "step", &self.steps));
        }
        tables.push(self.transfer_table());
        tables
    }
}

fn wait_table(id: &'static str, title: &str, what: &'static str, all: &[InputWait]) -> Table {
    let of = match (what, all.iter().any(|part| part.event.is_some())) {
        ("step", _) => "the step, means over the devices",
        (_, true) => "all steps of the host",
        _ => "first program to the end of the last; of chosen steps, all of them",
    };
    Table::of(id, title, all)
        .declared([what, "length_ps", "infeed_ps", "gap_ps", "input_percent"])
        .note(format!(
            "Length: {of}. XProf calls 5 % of a step moderate and 20 % high."
        ))
        .build()
}

impl InputReport {
    fn transfer_table(&self) -> Table {
        let note = if self.transfers.is_empty() {
            "No transfer recorded its size: trace the host with host_tracer_level 2 or more."
        } else {
            "Transfers that recorded their size. In flight: from the start of a transfer until its end was noticed, \
             preparing it included, so rates are lower bounds."
        };
        Table::of("transfers", "Transfers", &self.transfers)
            .remaining()
            .note(note)
            .build()
    }
}

#[cfg(test)]
mod tests;
