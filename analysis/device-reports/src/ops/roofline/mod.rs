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

use serde::Serialize;

pub use point::{MemoryPoint, RooflinePoint};

use engine::{
    Analysis, AnalysisError, Cell, Context, Provenance, Scope, Table, TableBuilder, Tabular,
};
use facts::steps::Step;
use hardware::chips::Chip;
use hardware::ici::NetworkFrom;
use hardware::limits::{BoundBy, possible};
use hardware::peaks::Peaks;
use math::unit::Unit;
use trace_model::Picos;

use crate::ops::op_stats::{self, CoreOps, CoreWork, OpRow, Ops, OpsReport, SteadyOps};
use crate::steps::step_times::Steps;

/// The analysis `roofline`.
pub struct Roofline;

/// Number of ops with a point, those with the most self time.
const MAX_POINTS: usize = 1000;

/// The roof, and the points below it.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct RooflineReport {
    /// The limits.
    pub peaks: Peaks,
    /// The ridge points, where the slope of each memory meets the flat roof.
    pub ridges: Vec<RooflineRidge>,
    /// Bandwidth of the links between chips; `None` if it is neither recorded nor published, which a note says.
    pub ici: Option<IciRoof>,
    /// All devices, over their windows.
    pub program: RooflinePoint,
    /// The same without the time of infeed and outfeed, if there is any.
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
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
        let devices = chip.devices.max(1);
        Some(Self {
            link_bytes_per_second: links.peak_bytes,
            links: links.per_chip,
            devices,
        })
    }

    /// Bandwidth of all links of a device in one direction, bytes/s.
    pub(crate) fn device_bytes_per_second(&self) -> f64 {
        self.link_bytes_per_second * f64::from(self.links) / f64::from(self.devices.max(1))
    }

    /// The lines to draw: one link, and all links of a device, bytes/s; a single line if both are equal.
    pub fn ceilings(&self) -> Vec<(&'static str, f64)> {
        let (link, all) = (self.link_bytes_per_second, self.device_bytes_per_second());
        if (all / link - 1.0).abs() < 1e-9 {
            return vec![("ICI", link)];
        }
        vec![("ICI, one link", link), ("ICI, all links", all)]
    }

    fn note(&self, chip: &str, from: NetworkFrom) -> String {
        let (link, all) = (
            self.link_bytes_per_second / 1e9,
            self.device_bytes_per_second() / 1e9,
        );
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct RooflineRidge {
    /// The limit that meets the compute limit there.
    pub memory: BoundBy,
    /// Operations per byte.
    pub flops_per_byte: f64,
}

impl Analysis for Roofline {
    type Report = RooflineReport;
    const ID: &'static str = "roofline";
    const TITLE: &'static str = "Roofline";

    fn run(cx: &Context<'_>) -> Result<RooflineReport, AnalysisError> {
        let ops = cx.report::<Ops>()?;
        if let Some(why) = ops.why_no_peaks() {
            return Err(AnalysisError::NotApplicable(why.to_owned()));
        }
        let (average_step, steps) = steps(cx)?;
        let mut report = RooflineReport {
            average_step,
            steps,
            ..roofline(&ops)
        };
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
fn steps(cx: &Context<'_>) -> Result<(Option<RooflinePoint>, Vec<RooflinePoint>), AnalysisError> {
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
    }) = SteadyOps::of(cx)
    else {
        return none;
    };
    let point = |name: &str, cores: &[CoreOps], count| {
        let cores: Vec<CoreWork> = cores.iter().map(CoreOps::core_work).collect();
        RooflinePoint::of_cores(name, &cores, 0, count)
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
    let each = each.filter_map(one).collect();
    Ok((Some(average), each))
}

fn roofline(ops: &OpsReport) -> RooflineReport {
    let peaks = &ops.peaks;
    let cores: Vec<CoreWork> = ops.cores.iter().map(CoreOps::core_work).collect();
    let host_io = ops
        .rows
        .iter()
        .filter(|row| matches!(&*row.category, "infeed" | "outfeed"));
    let host_io = host_io.map(|row| row.self_time_ps).sum::<Picos>().ps();
    let points = ops.rows.iter().filter(|row| !row.is_async && has_work(row));
    let ridges = BoundBy::ALL
        .into_iter()
        .filter(|&limit| limit != BoundBy::Compute)
        .filter_map(|memory| {
            let flops_per_byte = peaks.flops?.per_second / memory.peak(peaks)?.per_second;
            Some(RooflineRidge {
                memory,
                flops_per_byte,
            })
        });
    RooflineReport {
        ridges: ridges.collect(),
        program: RooflinePoint::of_cores("Program", &cores, 0, 1),
        program_without_host_io: (host_io > 0).then(|| {
            RooflinePoint::of_cores("Program without infeed and outfeed", &cores, host_io, 1)
        }),
        ici: None,
        average_step: None,
        steps: Vec::new(),
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
        let mut tables = vec![
            self.table("roofline", "Roofline", points)
                .notes(notes)
                .build(),
        ];
        if !self.steps.is_empty() {
            tables.push(
                self.table("roofline_steps", "Roofline of each step", &self.steps)
                    .build(),
            );
        }
        tables
    }
}

impl RooflineReport {
    fn table<'a>(
        &self,
        id: &'static str,
        title: &str,
        points: impl IntoIterator<Item = &'a RooflinePoint>,
    ) -> TableBuilder<'a, &'a RooflinePoint> {
        let derived = Provenance::of_peak(self.peaks.flops);
        let percent = |point: &RooflinePoint, memory| {
            point
                .memories
                .iter()
                .find(|used| used.memory == memory)?
                .percent
                .and_then(possible)
        };
        Table::of(id, title, points)
            .recorded("name", "Point", Unit::None, |point| &point.name)
            .measured("time_ps", "Time", Unit::Picoseconds, |point| point.time_ps)
            .derived("flops_per_second", "FLOP/s", Unit::FlopPerSecond, |point| {
                point.flops_per_second
            })
            .derived(
                "hbm_bytes_per_second",
                "HBM",
                Unit::BytesPerSecond,
                |point| point.hbm_bytes_per_second,
            )
            .compiler(
                "flops_per_hbm_byte",
                "Intensity",
                Unit::FlopPerByte,
                |point| point.flops_per_hbm_byte,
            )
            .column(
                "flops_percent",
                "of peak FLOP/s",
                Unit::Percent,
                derived,
                |point| point.flops_percent,
            )
            .column(
                "hbm_percent",
                "of peak HBM",
                Unit::Percent,
                derived,
                |point| point.hbm_percent,
            )
            .column("bound_by", "Bound by", Unit::None, derived, |point| {
                point.bound_by.map(BoundBy::title)
            })
            .column(
                "efficiency_percent",
                "of roofline",
                Unit::Percent,
                derived,
                |point| point.efficiency_percent,
            )
            .column(
                "ideal_time_ps",
                "Least time",
                Unit::Picoseconds,
                derived,
                |point| point.ideal_time_ps,
            )
            .recorded("program", "Program", Unit::None, |point| {
                Cell::non_empty(&point.program)
            })
            .derived(
                "bytes_per_second",
                "All memories",
                Unit::BytesPerSecond,
                |point| point.bytes_per_second,
            )
            .compiler(
                "flops_per_byte",
                "Intensity, all",
                Unit::FlopPerByte,
                |point| point.flops_per_byte,
            )
            .column(
                "cmem_read_percent",
                "of CMEM read",
                Unit::Percent,
                derived,
                move |point| percent(point, BoundBy::CmemRead),
            )
            .column(
                "cmem_write_percent",
                "of CMEM write",
                Unit::Percent,
                derived,
                move |point| percent(point, BoundBy::CmemWrite),
            )
            .column(
                "vmem_read_percent",
                "of VMEM read",
                Unit::Percent,
                derived,
                move |point| percent(point, BoundBy::VmemRead),
            )
            .column(
                "vmem_write_percent",
                "of VMEM write",
                Unit::Percent,
                derived,
                move |point| percent(point, BoundBy::VmemWrite),
            )
    }
}

#[cfg(test)]
mod tests {
    use hardware::limits::OpWork;
    use hardware::peaks::{Peak, PeakSource};

    use super::*;

    #[test]
    fn small_batch_lies_on_the_memory_slope() {
        let peak = |per_second| {
            Some(Peak {
                per_second,
                source: PeakSource::Recorded,
            })
        };
        let peaks = Peaks {
            flops: peak(1.97e14),
            hbm: peak(8.19e11),
            ..Peaks::default()
        };
        // bf16 64 × 8192 × 8192 at the least time that the bandwidth allows.
        let work = OpWork {
            flops: Some(8_589_934_592.0),
            hbm_bytes: Some(136_314_880.0),
            ..OpWork::default()
        };
        let point = RooflinePoint::new("op", work, 166_440_633, &peaks);
        let near = |value: Option<f64>, expected: f64| {
            assert!((value.unwrap() / expected - 1.0).abs() < 1e-3, "{value:?}")
        };
        assert_eq!(point.bound_by, Some(BoundBy::Hbm));
        near(point.efficiency_percent, 100.0);
        near(point.flops_per_hbm_byte, 63.0);
        near(point.attainable_flops_per_second, 63.015 * 8.19e11);
        near(point.ideal_time_ps, 166.44e6);
        near(point.flops_percent, 100.0 * 43.60 / 166.44);
    }

    #[test]
    fn links_are_shared_by_the_devices_of_a_chip() {
        let v5p = Chip::named("v5p").unwrap();
        let roof = IciRoof::of(v5p).unwrap();
        assert_eq!((roof.links, roof.devices), (6, 1));
        assert!(
            (roof.device_bytes_per_second() / (6.0 * roof.link_bytes_per_second) - 1.0).abs()
                < 1e-12
        );
        let shared = IciRoof { devices: 2, ..roof };
        assert!(
            (shared.device_bytes_per_second() / (3.0 * roof.link_bytes_per_second) - 1.0).abs()
                < 1e-12
        );
        let note = |from| shared.note("x", from);
        assert!(
            note(NetworkFrom::Published).contains("shared by 2 devices"),
            "{}",
            note(NetworkFrom::Published)
        );
        assert!(
            note(NetworkFrom::Recorded).ends_with("(recorded)"),
            "{}",
            note(NetworkFrom::Recorded)
        );
        assert_eq!(roof.ceilings().len(), 2);
        assert_eq!(
            IciRoof { links: 1, ..roof }.ceilings(),
            [("ICI", roof.link_bytes_per_second)]
        );
        assert_eq!(
            IciRoof::of(&Chip {
                links: None,
                ..v5p.clone()
            }),
            None
        );
    }

    #[test]
    fn collectives_are_bound_by_links_or_waiting() {
        let model = sample_traces::text_trace(
            "@column 1us\n@device flops=197e12 hbm=819e9 TPU v5 lite\nops: AAAAFF\n\
             A = all-reduce.1 [all-reduce] flops=1000 hbm_read=400000\n\
             F = fusion.1 [loop fusion] flops=1000 hbm_read=400000",
        );
        let (options, reports) = (engine::Options::default(), engine::ReportCache::default());
        let cx = Context {
            model: &model,
            scope: Scope::WholeTrace,
            options: &options,
            reports: &reports,
        };
        let report = Roofline::run(&cx).unwrap();
        let bound = |name: &str| {
            let point = report
                .ops
                .iter()
                .find(|point| *point.name == *name)
                .unwrap();
            (point.bound_by, point.efficiency_percent.is_some())
        };
        assert_eq!(
            bound("all-reduce.1"),
            (Some(BoundBy::LinksOrWaiting), false)
        );
        assert_eq!(bound("fusion.1"), (Some(BoundBy::Hbm), true));
    }

    #[test]
    fn unknown_bytes_give_no_verdict() {
        let work = OpWork {
            flops: Some(1.0),
            ..OpWork::default()
        };
        let point = RooflinePoint::new("op", work, 1_000, &Peaks::choose(None, Chip::named("v5e")));
        assert_eq!((point.bound_by, point.efficiency_percent), (None, None));
        assert!(point.flops_percent.is_some());
    }

    /// Two steps, the second twice as long: 40 ns of work at the peak in 80 ns, then infeed.
    #[test]
    fn average_step_uses_complete_steps_and_can_exclude_infeed() {
        let model = two_steps();
        let (options, reports) = (engine::Options::default(), engine::ReportCache::default());
        let cx = Context {
            model: &model,
            scope: Scope::WholeTrace,
            options: &options,
            reports: &reports,
        };
        let report = Roofline::run(&cx).unwrap();
        let near = |point: &RooflinePoint, time: i64, percent: f64| {
            assert_eq!(point.time_ps, time, "{}", point.name);
            assert!(
                (point.flops_percent.unwrap() - percent).abs() < 1e-9,
                "{point:?}"
            );
        };
        near(&report.program, 300_000, 100.0 * 80.0 / 300.0);
        near(
            report.program_without_host_io.as_ref().unwrap(),
            160_000,
            50.0,
        );
        near(
            report.average_step.as_ref().unwrap(),
            150_000,
            100.0 * 40.0 / 150.0,
        );
        near(&report.steps[0], 100_000, 40.0);
        near(&report.steps[1], 200_000, 20.0);
        let memory = report.program.memories[0];
        assert_eq!(
            (memory.memory, report.program.memories.len()),
            (BoundBy::Hbm, 1)
        );
        assert!((memory.flops_per_byte.unwrap() - 20.0).abs() < 1e-9);
        // A part of the trace has no average step.
        let part = cx.scoped(Scope::Steps { first: 0, last: 0 });
        assert_eq!(Roofline::run(&part).unwrap().average_step, None);
    }

    /// Each step: a matmul of 40,000 operations and 1000 bytes, an infeed of as many bytes.
    fn two_steps() -> trace_model::TraceModel {
        use trace_model::{
            Access, DeviceInfo, GroupKind, MemoryAccess, MemorySpace, Op, SliceSpec, TimeRange,
            Timestamp, TrackKind,
        };
        let mut builder = trace_model::TraceBuilder::new();
        let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
        let peak = Some(1e12);
        builder.set_device(
            core,
            DeviceInfo {
                peak_flops: peak,
                peak_hbm_bytes: peak,
                ..DeviceInfo::default()
            },
        );
        let steps = builder.track(core, TrackKind::Steps, 0, "Steps");
        let ops = builder.track(core, TrackKind::Ops, 1, "XLA Ops");
        let [matmul, infeed] = [("convolution", 40_000), ("infeed", 0)].map(|(name, flops)| {
            let text = builder.intern(name);
            let memory = vec![MemoryAccess {
                space: MemorySpace::Hbm,
                access: Access::Read,
                bytes: 1_000,
            }];
            let op = Op {
                name: text,
                category: Some(text),
                flops: Some(flops),
                memory,
                ..Op::default()
            };
            let op = builder.op(op);
            builder.label(name, Some(op))
        });
        let range = |start: i64, end: i64| {
            TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end))
        };
        for (number, start, end) in [("0", 0, 100_000), ("1", 100_000, 300_000)] {
            let step = builder.label(number, None);
            builder.add_slice(steps, SliceSpec::new(range(start, end), step));
            builder.add_slice(ops, SliceSpec::new(range(start, start + 80_000), matmul));
            builder.add_slice(ops, SliceSpec::new(range(start + 80_000, end), infeed));
        }
        builder.finish()
    }
}
