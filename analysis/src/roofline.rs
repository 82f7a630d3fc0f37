//! Roofline: what limits the program and each op, and how near they come.
//!
//! A point is work over time: operations per second against operations per byte of
//! HBM traffic. The roof at intensity `I` is `min(peak FLOP/s, I × peak bytes/s)`;
//! efficiency is the larger utilization of the limits, which equals least time /
//! time. Points of ops divide by their total time; the program's by the windows of
//! all devices, idle time included, and its work is that of leaf ops.
//!
//! Halves of asynchronous ops have no point: their time is not that of the work.
//! `XProf` shows them, at up to a million times the roof. Their bytes do count in
//! the program's point.

use serde::Serialize;

use crate::bound::{BoundBy, Work, ratio};
use crate::category::OpGroup;
use crate::ops::{OpRow, Ops, OpsReport};
use crate::peaks::{NO_PEAK, Peaks};
use crate::{Analysis, AnalysisError, Cell, Column, Context, Provenance, Table, Tabular, Unit};

/// The analysis `roofline`.
pub struct Roofline;

/// Ops with the most self time that get a point.
const MAX_POINTS: usize = 1000;

/// The roof, and what lies below it.
#[derive(Clone, Debug, Serialize)]
pub struct RooflineReport {
    /// The limits.
    pub peaks: Peaks,
    /// Where the slope of each memory meets the flat roof.
    pub ridges: Vec<Ridge>,
    /// All devices over their windows.
    pub program: Point,
    /// Each device over its window.
    pub devices: Vec<Point>,
    /// Ops by self time, the largest first.
    pub ops: Vec<Point>,
    /// What to know when reading it.
    pub notes: Vec<String>,
}

/// Ridge point of one memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ridge {
    /// The limit that meets the compute limit there.
    pub memory: BoundBy,
    /// Operations per byte.
    pub flops_per_byte: f64,
}

/// One point of the plot.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Point {
    /// Op, device, or `Program`.
    pub name: String,
    /// Program of an op.
    pub program: String,
    /// Group of an op.
    pub group: OpGroup,
    /// Time that rates divide by.
    pub time_ps: i64,
    /// Self time of an op of all self time.
    pub self_of_op_time_percent: Option<f64>,
    /// Operations and bytes.
    pub work: Work,
    /// Achieved.
    pub flops_per_second: Option<f64>,
    /// Achieved.
    pub hbm_bytes_per_second: Option<f64>,
    /// Operations per byte of HBM traffic.
    pub flops_per_hbm_byte: Option<f64>,
    /// Operations per byte of the memory that binds; HBM where compute binds.
    pub flops_per_bottleneck_byte: Option<f64>,
    /// Of peak.
    pub flops_percent: Option<f64>,
    /// Of peak.
    pub hbm_percent: Option<f64>,
    /// Limit with the largest utilization.
    pub bound_by: Option<BoundBy>,
    /// That utilization.
    pub efficiency_percent: Option<f64>,
    /// Operations per second at 100 % efficiency.
    pub attainable_flops_per_second: Option<f64>,
    /// Least time that the known limits allow.
    pub ideal_time_ps: Option<f64>,
}

impl Point {
    /// The point of some work done in some time.
    pub fn new(name: &str, work: Work, time_ps: i64, peaks: &Peaks) -> Self {
        let seconds = time_ps as f64 * 1e-12;
        let bound = work.bound(seconds, peaks);
        let efficiency = bound.map(|(_, percent)| percent);
        let flops_per_second = ratio(work.flops, Some(seconds));
        let bottleneck = match bound {
            Some((BoundBy::Compute, _)) | None => work.hbm_bytes,
            Some((limit, _)) => limit.amount(&work),
        };
        Self {
            name: name.to_owned(),
            time_ps,
            work,
            flops_per_second,
            hbm_bytes_per_second: ratio(work.hbm_bytes, Some(seconds)),
            flops_per_hbm_byte: work.hbm_intensity(),
            flops_per_bottleneck_byte: ratio(work.flops, bottleneck),
            flops_percent: work.percent_of(BoundBy::Compute, seconds, peaks),
            hbm_percent: work.percent_of(BoundBy::Hbm, seconds, peaks),
            bound_by: bound.map(|(limit, _)| limit),
            efficiency_percent: efficiency,
            attainable_flops_per_second: ratio(flops_per_second, efficiency.map(|percent| percent / 100.0)),
            ideal_time_ps: work.ideal_seconds(peaks).map(|seconds| seconds * 1e12),
            ..Self::default()
        }
    }

    fn of_op(row: &OpRow, peaks: &Peaks) -> Self {
        Self {
            program: row.program.clone(),
            group: row.group,
            self_of_op_time_percent: row.self_of_op_time_percent,
            ..Self::new(&row.name, row.work(), row.total_time_ps, peaks)
        }
    }
}

impl Analysis for Roofline {
    type Report = RooflineReport;
    const ID: &'static str = "roofline";
    const TITLE: &'static str = "Roofline";

    fn run(cx: &Context<'_>) -> Result<RooflineReport, AnalysisError> {
        let ops = cx.report::<Ops>()?;
        if ops.peaks.flops.is_none() && ops.peaks.hbm.is_none() {
            return Err(AnalysisError::NotApplicable(NO_PEAK.to_owned()));
        }
        Ok(roofline(&ops))
    }
}

fn roofline(ops: &OpsReport) -> RooflineReport {
    let peaks = &ops.peaks;
    let total = ops.cores.iter().fold(Work::default(), |sum, core| sum.plus(&core.work));
    let points = ops.rows.iter().filter(|row| !row.is_async && has_work(row));
    let ridges = BoundBy::ALL.into_iter().filter(|&limit| limit != BoundBy::Compute).filter_map(|memory| {
        let flops_per_byte = peaks.flops?.per_second / memory.peak(peaks)?.per_second;
        Some(Ridge { memory, flops_per_byte })
    });
    RooflineReport {
        ridges: ridges.collect(),
        program: Point::new("Program", total, ops.total_time_ps, peaks),
        devices: ops
            .cores
            .iter()
            .map(|core| Point::new(&core.name, core.work, core.total_time_ps, &core.peaks))
            .collect(),
        ops: points.take(MAX_POINTS).map(|row| Point::of_op(row, peaks)).collect(),
        notes: ops.notes.clone(),
        peaks: peaks.clone(),
    }
}

/// An op about which nothing but time is known has no place in the plot.
fn has_work(row: &OpRow) -> bool {
    let work = row.work();
    BoundBy::ALL.into_iter().any(|limit| limit.amount(&work).is_some_and(|amount| amount > 0.0))
}

impl Tabular for RooflineReport {
    fn tables(&self) -> Vec<Table> {
        let derived = Peaks::provenance(self.peaks.flops);
        let column = |id, title, unit, provenance| Column { id, title, unit, provenance };
        let columns = vec![
            column("name", "Point", Unit::None, Provenance::Profile),
            column("time_ps", "Time", Unit::Picoseconds, Provenance::Measured),
            column("flops_per_second", "FLOP/s", Unit::FlopPerSecond, Provenance::Derived),
            column("hbm_bytes_per_second", "HBM", Unit::BytesPerSecond, Provenance::Derived),
            column("flops_per_hbm_byte", "Intensity", Unit::FlopPerByte, Provenance::StaticCost),
            column("flops_percent", "of peak FLOP/s", Unit::Percent, derived),
            column("hbm_percent", "of peak HBM", Unit::Percent, derived),
            column("bound_by", "Bound by", Unit::None, derived),
            column("efficiency_percent", "of roofline", Unit::Percent, derived),
            column("ideal_time_ps", "Least time", Unit::Picoseconds, derived),
            column("program", "Program", Unit::None, Provenance::Profile),
        ];
        let row = |point: &Point| {
            vec![
                Cell::text(&point.name),
                Cell::Int(point.time_ps),
                Cell::maybe(point.flops_per_second),
                Cell::maybe(point.hbm_bytes_per_second),
                Cell::maybe(point.flops_per_hbm_byte),
                Cell::maybe(point.flops_percent),
                Cell::maybe(point.hbm_percent),
                point.bound_by.map_or(Cell::Missing, |limit| Cell::text(limit.title())),
                Cell::maybe(point.efficiency_percent),
                Cell::maybe(point.ideal_time_ps),
                if point.program.is_empty() { Cell::Missing } else { Cell::text(&point.program) },
            ]
        };
        let rows = std::iter::once(&self.program).chain(&self.devices).chain(&self.ops).map(row).collect();
        let mut notes = vec![format!("roof: {}; {}", self.peaks.flops_text(), self.peaks.hbm_text())];
        for ridge in &self.ridges {
            notes.push(format!("ridge against {}: {:.1} FLOP/byte", ridge.memory.title(), ridge.flops_per_byte));
        }
        notes.push("the program's and the devices' time includes idle time".to_owned());
        notes.extend(self.notes.iter().cloned());
        vec![Table { id: "roofline", title: "Roofline".to_owned(), columns, rows, notes }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peaks::{Peak, PeakSource};

    #[test]
    fn the_point_of_a_small_batch_lies_on_the_slope() {
        let peak = |per_second| Some(Peak { per_second, source: PeakSource::Recorded });
        let peaks = Peaks { flops: peak(1.97e14), hbm: peak(8.19e11), ..Peaks::default() };
        // bf16 64 × 8192 × 8192 at the least time that the bandwidth allows.
        let work = Work { flops: Some(8_589_934_592.0), hbm_bytes: Some(136_314_880.0), ..Work::default() };
        let point = Point::new("op", work, 166_440_633, &peaks);
        let near =
            |value: Option<f64>, expected: f64| assert!((value.unwrap() / expected - 1.0).abs() < 1e-3, "{value:?}");
        assert_eq!(point.bound_by, Some(BoundBy::Hbm));
        near(point.efficiency_percent, 100.0);
        near(point.flops_per_hbm_byte, 63.0);
        near(point.attainable_flops_per_second, 63.015 * 8.19e11);
        near(point.ideal_time_ps, 166.44e6);
        near(point.flops_percent, 100.0 * 43.60 / 166.44);
    }

    #[test]
    fn unknown_traffic_gives_no_verdict() {
        let work = Work { flops: Some(1.0), ..Work::default() };
        let point = Point::new("op", work, 1_000, &Peaks::choose(None, crate::chips::Chip::named("v5e")));
        assert_eq!((point.bound_by, point.efficiency_percent), (None, None));
        assert!(point.flops_percent.is_some());
    }
}
