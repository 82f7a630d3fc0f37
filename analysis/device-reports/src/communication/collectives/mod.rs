//! Collectives compared with the links: what each moves, how long it should take, how close it comes, what hides it,
//! and which devices wait for which.
//!
//! Times are those of the overlap analysis; this one adds the network:
//!
//! - *message* `S` and participants `n` from shapes and replica groups, *sent* what
//!   each device must send ([`facts::collective_traffic`]);
//! - `algorithm bandwidth = S ÷ mean time`, `bus bandwidth = sent ÷ mean time`, as
//!   nccl-tests define them;
//! - *transfer*: the mean over executions of the shortest time on any core, because the other cores waited; the mean
//!   time if executions cannot be matched;
//! - *expected* time and *share of link speed* ([`hardware::ici`]): ranges over all layouts of the
//!   participants on the grid. Layouts that would have taken longer than the transfer at the published speed are
//!   ruled out.
//!
//! The time of an asynchronous collective is from its start to the end of its done op. Compute may account for a part
//! of that time, so its bandwidth and its share of link speed are lower bounds.

mod axes;
mod links;
mod places;
mod row;
mod table;

use facts::prelude::*;

pub use axes::AxisRow;
pub use links::LinkUse;
pub use places::{DeviceAxis, DevicePlaces};
pub use row::{CollectiveRow, CollectiveShare, Remark};

use row::rounded;

use crate::communication::overlap::{CoreOverlap, Overlap, OverlapReport, Transfer};

/// The analysis `collectives`.
pub struct Collectives;

impl Analysis for Collectives {
    type Report = CollectivesReport;
    const ID: &str = "collectives";
    const TITLE: &str = "Collectives and links";

    fn run(cx: &Context<'_>) -> Result<CollectivesReport> {
        cx.require_times()?;
        let overlap = cx.report::<Overlap>()?;
        let transfers: Vec<&Transfer> = overlap
            .transfers
            .iter()
            .filter(|transfer| transfer.is_collective)
            .collect();
        if transfers.is_empty() {
            return Err(match cx.scope {
                Scope::WholeTrace => {
                    "no op communicates with other devices here: this program ran on one device, or the capture has none \
                     of its collectives"
                }
                Scope::Steps { .. } => "no op communicates with other devices in these steps",
                Scope::Range(_) => "no op communicates with other devices in this range",
            }
            .into());
        }
        let links = LinkUse::of(cx);
        let rows: Vec<CollectiveRow> = transfers
            .into_iter()
            .map(|transfer| CollectiveRow::of(&links, transfer))
            .collect();
        let over = overlap.sums_over;
        let axes = axes::axes(&rows, &links, &overlap);
        Ok(CollectivesReport {
            kinds: kinds(&rows, over, &overlap),
            places: places::places(cx, &rows, &axes, &links),
            axes,
            steps: over.steps,
            devices: over.devices,
            links,
            rows,
        })
    }
}

/// The table of all collectives.
#[engine::reported]
pub struct CollectivesReport {
    /// What is known and what is assumed of the links.
    pub links: LinkUse,
    /// Number of devices that recorded ops.
    pub devices: u64,
    /// Steps that sums are divided by; `None` in a range and where none were found.
    pub steps: Option<u64>,
    /// The collectives by pattern, fused ones separately, most exposed first; the sum of all last.
    pub kinds: Vec<KindRow>,
    /// The collectives by the axis of the program's mesh along which they communicate, most exposed first; those that
    /// follow none last.
    pub axes: Vec<AxisRow>,
    /// Where the devices are along the axes, for a view that lists devices by their positions.
    #[serde(skip)]
    pub places: Vec<DevicePlaces>,
    /// Each collective of each program, most exposed first.
    pub rows: Vec<CollectiveRow>,
}

impl CollectivesReport {
    /// Share of link speed of all transfers, weighted by time. Transfers so small that the latency of hops limits
    /// them are left out; `None` if none is left.
    pub fn share_of_links(&self) -> Option<CollectiveShare> {
        let rows = self
            .rows
            .iter()
            .filter(|row| !row.remarks.contains(&Remark::LatencyBound));
        CollectiveShare::weighted(rows.filter_map(CollectiveRow::weighted_share))
    }

    /// The part of the time in flight of transfers whose speed is a lower bound, percent; `None` without transfers.
    pub fn hidden_percent(&self) -> Option<Percent> {
        let rows = || self.rows.iter().filter(|row| row.share.is_some());
        let hidden = rows()
            .filter(|row| row.is_lower_bound())
            .map(|row| row.time_ps)
            .sum();
        Percent::of(hidden, rows().map(|row| row.time_ps).sum())
    }
}

/// The kind of the row of all collectives.
const ALL: &str = "all";

/// All collectives of one pattern.
#[engine::row(measured)]
#[derive(Default)]
pub struct KindRow {
    /// `all-reduce`, …, `all` for the sum.
    #[column(with = Self::title)]
    pub kind: String,
    /// Whether it is fused with other work.
    pub is_fused: bool,
    /// Distinct ops.
    #[column]
    pub ops: usize,
    /// Executions over all devices.
    #[column("Times")]
    pub occurrences: u64,
    /// Exposed time of one device in one step, ps.
    #[column("Exposed a step", derived, with = |kind| rounded(kind.exposed_per_step_ps))]
    pub exposed_per_step_ps: Option<f64>,
    /// Bytes that devices had to send, summed over all executions; `None` if any is unknown.
    #[column("Sent (sum)", compiler)]
    pub sent_bytes: Option<f64>,
    /// Sum over devices of the time in flight or of the ops; each moment of a device counts once.
    #[column("In flight (sum)")]
    pub time_ps: Picos,
    /// The part of it while the core computed.
    #[column]
    pub hidden_ps: Picos,
    /// The rest.
    #[column]
    #[column("of in flight", derived, id = "exposed_of_time_percent", with = |kind| Percent::of(kind.exposed_ps, kind.time_ps))]
    pub exposed_ps: Picos,
    /// `sent ÷ time`, bytes/s.
    #[serde(rename = "bus_bandwidth_bytes_per_second")]
    #[column(derived)]
    pub bus_bandwidth: Option<f64>,
    /// Share of link speed, over all ops that have one, weighted by time.
    #[column(nested)]
    pub share: Option<CollectiveShare>,
    /// Bytes that one device sends in one step.
    #[column("Sent a step", compiler, id = "sent_per_step_bytes")]
    pub sent_bytes_per_step: Option<f64>,
}

/// The rows of kinds, and of all together. What is in flight at the same time counts once in each row.
fn kinds(rows: &[CollectiveRow], over: SumOver, overlap: &OverlapReport) -> Vec<KindRow> {
    let by_kind = grouped(rows.iter().map(|row| ((&*row.kind, row.is_fused), row)));
    let sum = |(kind, is_fused): (&str, bool), rows: &[&CollectiveRow]| {
        let mut row = KindRow::of(kind, is_fused, rows, over);
        if kind != ALL {
            let once = overlap.times.collectives(kind, is_fused);
            row.set_times((once.time, once.hidden), over);
        }
        row
    };
    let mut out: Vec<KindRow> = by_kind
        .into_iter()
        .map(|(kind, rows)| sum(kind, &rows))
        .collect();
    out.sort_by(|a, b| {
        (b.exposed_ps, &a.kind, a.is_fused).cmp(&(a.exposed_ps, &b.kind, b.is_fused))
    });
    if out.len() > 1 {
        out.push(sum((ALL, false), &rows.iter().collect::<Vec<_>>()));
    }
    if let Some(all) = out.last_mut() {
        all.count_once(&overlap.cores, over);
    }
    out
}

impl KindRow {
    fn title(&self) -> String {
        let fused = if self.is_fused { " (fused)" } else { "" };
        format!("{}{fused}", self.kind)
    }

    /// Takes the times of all collectives from those of the cores, on which time counts once.
    fn count_once(&mut self, cores: &[CoreOverlap], over: SumOver) {
        let sum = |of: fn(&CoreOverlap) -> Picos| cores.iter().map(of).sum::<Picos>();
        let time = sum(|core| core.comm_total_ps);
        if time >= self.time_ps || time == Picos::ZERO {
            return;
        }
        let exposed = sum(|core| core.exposed_ps);
        self.set_times((time, time - exposed), over);
    }

    fn set_times(&mut self, (time, hidden): (Picos, Picos), over: SumOver) {
        let exposed = time - hidden;
        (self.time_ps, self.exposed_ps, self.hidden_ps) = (time, exposed, hidden);
        self.exposed_per_step_ps = over.steps.map(|_| over.each(exposed.as_ps_f64()));
        let sent = self.sent_bytes.filter(|_| time > Picos::ZERO);
        self.bus_bandwidth = sent.map(|sent| sent / (time.as_ps_f64() * 1e-12));
    }

    fn of(kind: &str, is_fused: bool, rows: &[&CollectiveRow], over: SumOver) -> Self {
        let time = |of: fn(&CollectiveRow) -> Picos| rows.iter().map(|row| of(row)).sum::<Picos>();
        let sent = rows
            .iter()
            .map(|row| Some(row.message.sent_bytes? * row.executions))
            .sum::<Option<f64>>();
        let of_step = |sum: f64| over.steps.map(|_| over.each(sum));
        let mut out = Self {
            kind: kind.to_owned(),
            is_fused,
            ops: rows.len(),
            occurrences: rows.iter().map(|row| row.occurrences).sum(),
            sent_bytes: sent,
            share: CollectiveShare::weighted(rows.iter().filter_map(|row| row.weighted_share())),
            sent_bytes_per_step: sent.and_then(of_step),
            ..Self::default()
        };
        out.set_times((time(|row| row.time_ps), time(|row| row.hidden_ps)), over);
        out
    }
}

#[cfg(test)]
mod tests;
