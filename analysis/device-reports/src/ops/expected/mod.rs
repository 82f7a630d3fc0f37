//! Expected and actual time: the time of each op compared with the minimum time that the hardware needs for its work.
//!
//! ```text
//! least time      max(operations / peak, bytes of each memory / its peak, link time)
//! above roofline  self time − least time × self time / total time
//! ```
//!
//! The list is sorted by the time above the roofline, which is the maximum possible gain.
//!
//! - Containers (`while`, `call`) are left out; the ops inside count.
//! - An op that **waits for** a transfer is compared with that transfer at full speed without contention; other work
//!   could hide even that time. A wait that is shorter than the transfer is as short as expected.
//! - Unknown terms are left out and named: the least time is then too low and the time above the roofline too high.
//!   Without any term the least time is unknown; so is that of a collective whose time on the links between chips is
//!   unknown.
//! - An op can beat its roofline, because costs are the compiler's estimates: they count whole operands even if only
//!   a part was read, and data that stayed in VMEM. Such a rate is impossible, so its work is left out of all sums
//!   ([`crate::ops::op_stats::BeyondPeak`]).

mod ideal;
mod table;
#[cfg(test)]
mod tests;

use engine::Cell;
use facts::prelude::*;
use hardware::ici::NetworkFrom;
use hardware::limits::possible;

use crate::ops::op_stats::{OpRow, Ops, OpsReport};
pub use ideal::TimeLimit;
use ideal::{IdealTime, PeakRates};

/// The analysis `expected`.
pub struct Expected;

/// Every leaf op compared with its roofline.
#[engine::reported]
pub struct ExpectedReport {
    /// The most time above the roofline first; ops of unknown least time last.
    pub rows: Vec<ExpectedRow>,
    /// The same by group.
    pub groups: Vec<GroupSums>,
    /// The time that the total work requires at each limit.
    pub limits: Vec<LimitRow>,
    /// Sums of the rows.
    pub totals: Totals,
    /// Peaks of the device.
    pub peaks: Peaks,
    /// Name of the chip whose links are used: a published chip, the chip that the user named, or as recorded.
    pub links_of: Option<String>,
    /// Whether the capture records how its devices are linked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub links_recorded: bool,
    /// Whether HBM traffic is inferred from shapes.
    pub hbm_is_estimated: bool,
    /// What times and amounts of all executions are sums over.
    pub sums_over: SumOver,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// One op of one program, all executions on all devices.
#[engine::row(measured)]
#[derive(Default)]
pub struct ExpectedRow {
    /// Instruction name.
    #[column("Op")]
    pub name: Arc<str>,
    /// Self time.
    #[column("Actual (sum)")]
    pub actual_ps: Picos,
    /// Least time of these executions.
    #[column("Expected (sum)", peak)]
    pub expected_ps: Option<f64>,
    /// Least time as a share of self time; above 100 if the op beats its roofline.
    #[column(peak)]
    pub efficiency_percent: Option<Percent>,
    /// The limit that keeps it from being faster.
    #[schemars(with = "Option<String>")]
    #[column(peak)]
    pub bound_by: Option<TimeLimit>,
    /// Executions.
    #[column("Runs")]
    pub occurrences: u64,
    /// `file:line`.
    #[column(recorded, non_empty)]
    pub source: Option<Arc<str>>,
    /// Whether it waits for a transfer: other work could hide the least time, too.
    pub is_wait: bool,
    /// Unknown terms of the least time.
    pub without: Vec<&'static str>,
    /// Why there is no least time, or a caveat.
    #[column(derived, with = |row| Cell::text(row.remark()).non_empty())]
    pub note: Option<&'static str>,
    /// Time above the roofline as a share of all op time.
    #[column("of op time", peak)]
    pub above_of_op_time_percent: Option<Percent>,
    /// Self time above the least time; negative where the op beats its roofline.
    #[column("Above roofline (sum)", peak)]
    pub above_ps: Option<f64>,
    /// Kind of op.
    #[column]
    pub group: OpGroup,
    /// Operations.
    #[column("Operations", compiler)]
    pub flops: Option<f64>,
    /// Bytes to and from all memories.
    #[column(compiler)]
    pub bytes: Option<u64>,
    /// Bytes to and from HBM.
    #[column("HBM bytes", compiler)]
    pub hbm_bytes: Option<f64>,
    /// Program.
    #[column(non_empty)]
    pub program: Arc<str>,
}

/// One kind of op.
#[engine::row(measured)]
pub struct GroupSums {
    /// The kind.
    #[column]
    pub group: OpGroup,
    /// Sums of its ops.
    #[column(nested)]
    pub totals: Totals,
}

/// Sums over ops and devices.
#[engine::row(measured)]
#[derive(Copy, Default)]
pub struct Totals {
    /// Self time of leaf ops.
    #[column("Actual (sum)")]
    pub actual_ps: Picos,
    /// The part of it in ops with a least time.
    pub known_ps: Picos,
    /// The part of it in ops without one: `actual_ps − known_ps`.
    #[column("of actual unknown (sum)")]
    pub unknown_ps: Picos,
    /// The part of it in ops that wait for transfers.
    pub wait_ps: Picos,
    /// Least time of the ops that have one.
    #[column("Expected (sum)", peak, with = |totals| totals.known(totals.expected_ps))]
    pub expected_ps: f64,
    /// Time above the roofline, of ops that are slower than it.
    #[column("Above roofline (sum)", peak, with = |totals| totals.known(totals.above_ps))]
    pub above_ps: f64,
    /// Time below the roofline, of ops that are faster than it, as far as rounding can explain it.
    pub below_ps: f64,
    /// The part of the time without a least time in ops above a peak of the device.
    pub beyond_ps: Picos,
    /// Self time of containers, which no other number includes.
    pub container_ps: Picos,
}

/// The whole program compared with one limit.
#[engine::row(peak)]
pub struct LimitRow {
    /// The limit.
    #[schemars(with = "String")]
    #[column]
    pub limit: TimeLimit,
    /// Time that all work, including asynchronous transfers, needs at this limit: no schedule is faster.
    #[column("Least time (sum)")]
    pub least_ps: f64,
    /// The same as a share of the windows of all devices; `None` if the work does not fit into them, such as
    /// transfers that continue after a range.
    #[column("of window")]
    pub of_window_percent: Option<Percent>,
}

impl Analysis for Expected {
    type Report = ExpectedReport;
    const ID: &str = "expected";
    const TITLE: &str = "Expected versus actual";

    fn run(cx: &Context<'_>) -> Result<ExpectedReport> {
        let ops = cx.report::<Ops>()?;
        if let Some(why) = ops.why_no_peaks() {
            return Err(why.into());
        }
        Ok(report(cx, &ops))
    }
}

fn report(cx: &Context<'_>, ops: &OpsReport) -> ExpectedReport {
    let network = cx.network();
    let (chip, topology) = network
        .as_ref()
        .map(|network| (&network.chip, network.topology.as_ref()))
        .unzip();
    let devices = ops.cores.len() as u64;
    let rates = PeakRates::new(
        cx.model,
        &ops.peaks,
        chip,
        topology.flatten(),
        devices,
        &ops.rows,
    );
    let mut totals = Totals::default();
    let mut limits = [0.0; TimeLimit::ALL.len()];
    let mut groups: Vec<GroupSums> = Vec::new();
    let mut rows = Vec::new();
    for op in &ops.rows {
        if !op.is_leaf {
            totals.container_ps += op.self_time_ps;
            continue;
        }
        let ideal = rates.ideal(op);
        let beyond = beyond_peaks(op, &ops.peaks);
        add_limits(&mut limits, &ideal, &beyond);
        let row = row(op, &ideal, ops.op_time_ps);
        let is_beyond =
            matches!(row.bound_by, Some(TimeLimit::Device(limit)) if beyond.contains(&limit));
        totals.add(&row, is_beyond);
        let index = groups
            .iter()
            .position(|sums| sums.group == row.group)
            .unwrap_or_else(|| {
                groups.push(GroupSums {
                    group: row.group,
                    totals: Totals::default(),
                });
                groups.len() - 1
            });
        groups[index].totals.add(&row, is_beyond);
        rows.push(row);
    }
    rows.sort_by(order);
    largest_number_first(&mut groups, |row| row.totals.above_ps, |row| &row.group);
    let used_links = limits
        .iter()
        .zip(TimeLimit::ALL)
        .any(|(&s, limit)| s > 0.0 && !matches!(limit, TimeLimit::Device(_)));
    ExpectedReport {
        rows,
        groups,
        limits: limit_rows(&limits, ops.total_time_ps),
        totals,
        peaks: ops.peaks.clone(),
        links_of: chip.filter(|_| used_links).map(|chip| chip.id.clone()),
        links_recorded: network
            .as_ref()
            .is_some_and(|network| network.from == NetworkFrom::Recorded),
        hbm_is_estimated: ops.hbm_is_estimated,
        sums_over: ops.sums_over,
        notes: ops.notes.clone(),
    }
}

fn row(op: &OpRow, ideal: &IdealTime, op_time_ps: Picos) -> ExpectedRow {
    let longest = ideal.longest();
    // Ops inside have rows of their own.
    let share = op.self_time_ps.fraction_of(op.total_time_ps).unwrap_or(1.0);
    let self_time = op.self_time_ps.as_ps_f64();
    let is_wait = op.is_async && !ideal.is_issue;
    let least_ps = longest
        .map(|(_, seconds)| seconds * 1e12 * share)
        .filter(|least| least.is_finite());
    let hidden = is_wait && least_ps.is_some_and(|least| least > self_time);
    let expected_ps = if hidden { Some(self_time) } else { least_ps };
    let above_ps = expected_ps.map(|expected| self_time - expected);
    let work = op.work();
    ExpectedRow {
        name: Arc::clone(&op.name),
        program: Arc::clone(&op.program),
        group: op.group,
        occurrences: op.occurrences,
        actual_ps: op.self_time_ps,
        expected_ps,
        above_ps,
        above_of_op_time_percent: above_ps
            .filter(|_| op_time_ps > Picos::ZERO)
            .map(|above| Percent(100.0 * above / op_time_ps.as_ps_f64())),
        efficiency_percent: expected_ps
            .filter(|&expected| self_time > 0.0 && expected > 0.0 && !hidden)
            .map(|expected| Percent(100.0 * expected / self_time)),
        bound_by: longest
            .filter(|&(_, seconds)| seconds > 0.0)
            .map(|(limit, _)| limit),
        is_wait,
        without: ideal.without.clone(),
        note: ideal
            .note
            .or(hidden.then_some("ran beside other work"))
            .or_else(|| why_faster(op, expected_ps)),
        flops: work.flops,
        bytes: op.costs.bytes,
        hbm_bytes: work.hbm_bytes,
        source: op.source.clone(),
    }
}

/// Timer resolution: an op that is faster by less than this counts as equally fast.
const FASTER: f64 = 1.01;

/// Why an op beats its roofline.
fn why_faster(op: &OpRow, expected_ps: Option<f64>) -> Option<&'static str> {
    let is_faster = expected_ps? > FASTER * op.self_time_ps.as_ps_f64();
    is_faster.then_some(if op.costs.hbm_estimate_bytes.is_some() {
        "faster than its roofline: bytes are estimated from shapes"
    } else if op.is_custom_call {
        "faster than its roofline: the kernel declares more work than it does"
    } else {
        "faster than its roofline: the compiler counts work that was not done, or bytes that stayed on the chip"
    })
}

fn order(a: &ExpectedRow, b: &ExpectedRow) -> std::cmp::Ordering {
    let rank = |row: &ExpectedRow| row.above_ps.unwrap_or(f64::NEG_INFINITY);
    let by_time = rank(b)
        .total_cmp(&rank(a))
        .then_with(|| b.actual_ps.cmp(&a.actual_ps));
    by_time.then_with(|| (&a.name, &a.program).cmp(&(&b.name, &b.program)))
}

/// Limits of the device that an op exceeds. The time of the halves of asynchronous ops is not that of the work, so
/// they are not checked.
fn beyond_peaks(op: &OpRow, peaks: &Peaks) -> Vec<BoundBy> {
    if op.is_async {
        return Vec::new();
    }
    op.costs
        .beyond_peaks(op.total_time_ps.as_ps_f64() * 1e-12, peaks)
        .collect()
}

/// Adds the requirements of an op for each limit that it does not exceed.
fn add_limits(limits: &mut [f64; TimeLimit::ALL.len()], ideal: &IdealTime, beyond: &[BoundBy]) {
    let is_possible = |limit| !matches!(limit, TimeLimit::Device(limit) if beyond.contains(&limit));
    for &(limit, seconds) in ideal.terms.iter().filter(|(limit, _)| is_possible(*limit)) {
        if let Some(sum) = TimeLimit::ALL
            .iter()
            .position(|&l| l == limit)
            .and_then(|index| limits.get_mut(index))
        {
            *sum += seconds;
        }
    }
}

/// Limits, largest first, without limits of zero.
fn limit_rows(limits: &[f64], window_ps: Picos) -> Vec<LimitRow> {
    let row = |(&seconds, limit): (&f64, TimeLimit)| {
        let least_ps = seconds * 1e12;
        let of_window_percent = (window_ps > Picos::ZERO)
            .then(|| 100.0 * least_ps / window_ps.as_ps_f64())
            .and_then(possible)
            .map(Percent);
        (seconds > 0.0).then_some(LimitRow {
            limit,
            least_ps,
            of_window_percent,
        })
    };
    let mut rows: Vec<LimitRow> = limits.iter().zip(TimeLimit::ALL).filter_map(row).collect();
    largest_number_first(&mut rows, |row| row.least_ps, |row| &row.limit);
    rows
}

impl ExpectedRow {
    /// The unknown terms, with reasons.
    fn remark(&self) -> String {
        let without = self.without.join(", ");
        match (self.note, without.is_empty()) {
            (Some(note), true) => note.to_owned(),
            (Some(note), false) => format!("without {without}: {note}"),
            (None, true) => String::new(),
            (None, false) => format!("without {without}"),
        }
    }
}

impl Totals {
    /// A sum over ops with a least time, if there are any.
    fn known(&self, sum: f64) -> Option<f64> {
        (self.known_ps > Picos::ZERO).then_some(sum)
    }

    /// Adds an op; the least time of one above a peak counts as unknown.
    fn add(&mut self, row: &ExpectedRow, is_beyond: bool) {
        self.actual_ps += row.actual_ps;
        if is_beyond {
            self.beyond_ps += row.actual_ps;
        }
        if row.is_wait {
            self.wait_ps += row.actual_ps;
        }
        match (row.expected_ps, row.above_ps) {
            (Some(expected), Some(above)) if !is_beyond => {
                self.known_ps += row.actual_ps;
                self.expected_ps += expected;
                self.above_ps += above.max(0.0);
                self.below_ps += (-above).max(0.0);
            }
            _ => self.unknown_ps += row.actual_ps,
        }
    }
}
