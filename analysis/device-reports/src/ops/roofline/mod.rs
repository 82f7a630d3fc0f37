//! Roofline: the limit of the program and of each op, and how close they come to it.
//!
//! A point is work over time: operations per second against operations per byte of HBM traffic. The roof at intensity
//! `I` is `min(peak FLOP/s, I × peak bytes/s)`. Efficiency is the largest utilization of any limit, which equals
//! least time / time. Points of ops divide by their total time; the program's point divides by the windows of all
//! devices, idle time included, and its work is that of leaf ops. The point without infeed and outfeed subtracts
//! their time, as `XProf` does. The average step is that of the consecutive steady steps (`StepsReport::steady`),
//! from the start of the first to the end of the last.
//!
//! Halves of asynchronous ops have no point: their time is not that of the work. `XProf` shows them, at up to a
//! million times the roof. Their bytes do count in the program's point.

mod point;

use facts::prelude::*;
use hardware::chips::Chip;
use hardware::ici::NetworkFrom;

use crate::ops::op_stats::{self, CoreOps, CoreWork, OpRow, Ops, OpsReport, SteadyOps};
use crate::steps::step_times::Steps;

pub use point::{MemoryPoint, RooflinePoint};

/// The analysis `roofline`.
pub struct Roofline;

/// Number of ops with a point, those with the most self time.
const MAX_POINTS: usize = 1000;

/// The roof, and the points below it.
#[engine::reported]
#[derive(Default)]
pub struct RooflineReport {
    /// The limits.
    pub peaks: Peaks,
    /// The ridge points, where the slope of each memory meets the flat roof.
    pub ridges: Vec<RooflineRidge>,
    /// Bandwidth of the links between chips; `None` if it is neither recorded nor published, which a note says.
    pub ici: Option<IciRoof>,
    /// All devices, over their windows.
    pub program: RooflinePoint,
    /// All devices, without the time of infeed and outfeed, if there is any.
    pub program_without_host_io: Option<RooflinePoint>,
    /// The average of consecutive complete steps.
    pub average_step: Option<RooflinePoint>,
    /// Each step, if the trace has few.
    #[schemars(with = "Vec<RooflinePoint>")]
    pub steps: Vec<RooflinePoint>,
    /// Each device, over its window.
    pub devices: Vec<RooflinePoint>,
    /// Ops by self time, the largest first.
    pub ops: Vec<RooflinePoint>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// Links between chips, as a limit of one device.
#[engine::reported]
#[derive(Copy)]
pub struct IciRoof {
    /// Bandwidth of one link in one direction, bytes/s: recorded, otherwise as the cloud provider publishes it.
    pub link_bytes_per_second: f64,
    /// Number of links of a chip.
    pub links: u32,
    /// Number of devices of a chip, which share its links.
    pub devices: u32,
}

impl IciRoof {
    /// Links of a generation; `None` if not published.
    fn of(chip: &Chip) -> Option<Self> {
        let links = chip.links?;
        Some(Self {
            link_bytes_per_second: links.peak_bytes,
            links: links.per_chip,
            devices: chip.devices.max(1),
        })
    }

    /// Bandwidth of all links of a device in one direction, bytes/s.
    pub(crate) fn device_bytes_per_second(&self) -> f64 {
        self.link_bytes_per_second * f64::from(self.links) / f64::from(self.devices.max(1))
    }

    /// The lines to draw: one link, and all links of a device, bytes/s; a single line if both are equal.
    pub fn ceilings(&self) -> Vec<(&'static str, f64)> {
        let link = self.link_bytes_per_second;
        let all = self.device_bytes_per_second();
        if (all / link - 1.0).abs() < 1e-9 {
            return vec![("ICI", link)];
        }
        vec![("ICI, one link", link), ("ICI, all links", all)]
    }

    fn note(&self, chip: &str, from: NetworkFrom) -> String {
        let link = self.link_bytes_per_second / 1e9;
        let all = self.device_bytes_per_second() / 1e9;
        let shared = if self.devices > 1 {
            format!(", shared by {} devices", self.devices)
        } else {
            String::new()
        };
        let links = self.links;
        let how = if from == NetworkFrom::Recorded {
            "recorded"
        } else {
            "published, assumed"
        };
        format!(
            "ICI of {chip}: {links} links of {link:.1} GB/s one way{shared}, {all:.1} GB/s per device ({how})"
        )
    }
}

/// Ridge point of one memory.
#[engine::reported]
#[derive(Copy)]
pub struct RooflineRidge {
    /// The limit that meets the compute limit there.
    pub memory: BoundBy,
    /// Operations per byte.
    pub flops_per_byte: f64,
}

impl Analysis for Roofline {
    type Report = RooflineReport;
    const ID: &str = "roofline";
    const TITLE: &str = "Roofline";

    fn run(cx: &Context<'_>) -> Result<RooflineReport> {
        let ops = cx.report::<Ops>()?;
        if let Some(why) = ops.why_no_peaks() {
            return Err(why.into());
        }
        let (average_step, steps) = steps(cx, &ops)?;
        let mut report = RooflineReport {
            average_step,
            steps,
            ..roofline(&ops)
        };
        if let (Some(step), Some(steady)) = (&report.average_step, ops.steady.as_deref())
            && steady.cores.len() > 1
        {
            let each = Picos::from_ps(step.time_ps.ps() / steady.cores.len() as i64);
            let note = format!("the average step takes {each} on a device");
            report.notes.push(note);
        }
        let network = cx.network();
        report.ici = network
            .as_ref()
            .and_then(|network| IciRoof::of(&network.chip));
        report.notes.push(match (&network, report.ici) {
            (Some(network), Some(ici)) => ici.note(&network.chip.id, network.from),
            (Some(network), None) => {
                format!(
                    "no ICI ceiling: the links of {} are not published",
                    network.chip.id
                )
            }
            (None, _) => {
                "no ICI ceiling: the chip is unknown; name it with --device-spec".to_owned()
            }
        });
        Ok(report)
    }
}

/// Maximum number of op rows over all steps: each step is summed op by op, so single steps are only computed up to
/// this number.
const MAX_STEP_ROWS: usize = 200_000;

/// The average step and each step; none if the scope is not the whole trace or the steps do not come from the
/// devices.
fn steps(cx: &Context<'_>, ops: &OpsReport) -> Result<(Option<RooflinePoint>, Vec<RooflinePoint>)> {
    let none = Ok((None, Vec::new()));
    if cx.scope != Scope::WholeTrace {
        return none;
    }
    let Ok(report) = cx.report::<Steps>() else {
        return none;
    };
    let Some(SteadyOps {
        first,
        last,
        steps,
        cores,
    }) = ops.steady.as_deref()
    else {
        return none;
    };
    let point = |name: &str, cores: &[CoreOps], count| {
        let cores: Vec<CoreWork> = cores.iter().map(CoreOps::core_work).collect();
        RooflinePoint::of_cores(name, &cores, Picos::ZERO, count)
    };
    let average = point(&format!("Average of steps {first}–{last}"), cores, *steps);
    let rows = (cx.model.ops().len() + cx.model.labels().len()) * cx.tensor_cores().len();
    let few = rows.saturating_mul(report.steps.len()) <= MAX_STEP_ROWS;
    let each = report.steps.iter().filter(|_| few);
    let one = |step: &Step| {
        let scope = Scope::Steps {
            first: step.number,
            last: step.number,
        };
        let cores = op_stats::cores_without_duty(&cx.scoped(scope)).ok()?;
        Some(point(&format!("Step {}", step.label), &cores, 1))
    };
    Ok((Some(average), each.filter_map(one).collect()))
}

fn roofline(ops: &OpsReport) -> RooflineReport {
    let peaks = &ops.peaks;
    let cores: Vec<CoreWork> = ops.cores.iter().map(CoreOps::core_work).collect();
    let host_io = ops
        .rows
        .iter()
        .filter(|row| matches!(&*row.category, "infeed" | "outfeed"))
        .map(|row| row.self_time_ps)
        .sum();
    let points = ops.rows.iter().filter(|row| !row.is_async && has_work(row));
    let ridges = BoundBy::ALL
        .into_iter()
        .filter(|&limit| limit != BoundBy::Compute)
        .filter_map(|memory| {
            Some(RooflineRidge {
                memory,
                flops_per_byte: peaks.flops?.per_second / memory.peak(peaks)?.per_second,
            })
        });
    RooflineReport {
        ridges: ridges.collect(),
        program: RooflinePoint::of_cores("Program", &cores, Picos::ZERO, 1),
        program_without_host_io: (host_io > Picos::ZERO).then(|| {
            RooflinePoint::of_cores("Program without infeed and outfeed", &cores, host_io, 1)
        }),
        devices: ops
            .cores
            .iter()
            .zip(&cores)
            .map(|(named, core)| {
                RooflinePoint::new(&named.name, core.work, core.time_ps, &core.peaks)
                    .with_bytes(core.bytes)
            })
            .collect(),
        ops: points
            .take(MAX_POINTS)
            .map(|row| RooflinePoint::of_op(row, peaks))
            .collect(),
        notes: ops.notes.clone(),
        peaks: peaks.clone(),
        ..RooflineReport::default()
    }
}

/// An op of which only the time is known has no place in the plot.
fn has_work(row: &OpRow) -> bool {
    let work = row.work();
    BoundBy::ALL
        .into_iter()
        .any(|limit| limit.amount(&work).is_some_and(|amount| amount > 0.0))
}

impl Tabular for RooflineReport {
    fn tables(&self) -> Vec<Table> {
        let whole = [&self.program]
            .into_iter()
            .chain(&self.program_without_host_io)
            .chain(&self.average_step);
        let mut notes = vec![format!(
            "roof: {}; {}",
            self.peaks.flops_text(),
            self.peaks.hbm_text()
        )];
        for ridge in &self.ridges {
            notes.push(format!(
                "ridge against {}: {:.1} FLOP/byte",
                ridge.memory.title(),
                ridge.flops_per_byte
            ));
        }
        notes.push(
            "times: sums of all executions on all devices, those of the program and of steps with idle time".to_owned(),
        );
        notes.extend(self.notes.iter().cloned());
        let points = whole.chain(&self.devices).chain(&self.ops);
        let of_peak = Provenance::of_peak(self.peaks.flops);
        let mut tables = vec![
            Table::of("roofline", "Roofline", points)
                .peak(of_peak)
                .remaining()
                .notes(notes)
                .build(),
        ];
        if !self.steps.is_empty() {
            tables.push(
                Table::of("roofline_steps", "Roofline of each step", &self.steps)
                    .peak(of_peak)
                    .remaining()
                    .build(),
            );
        }
        tables
    }
}

#[cfg(test)]
mod tests;
