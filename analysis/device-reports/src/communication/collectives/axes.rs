//! Collectives by the axis of the program's mesh along which they communicate, against what the links of that axis carry.

use facts::GroupPlace;
use facts::collective_traffic::MeshAxis;
use facts::prelude::*;
use hardware::ici::{Axis, GroupLayout};

use super::links::LinkUse;
use super::row::{CollectiveRow, CollectiveShare};
use crate::communication::overlap::OverlapReport;

/// The collectives along one axis of the program's mesh.
#[engine::row(measured)]
pub struct AxisRow {
    /// `data: 4 devices, 2 apart, of 8`: by the replica groups of the ops, with the name that the program gives the axis.
    #[column("Mesh axis", inferred)]
    pub axis: String,
    /// What the program calls it; `None` if it does not say, or not clearly.
    pub name: Option<Arc<str>>,
    /// Devices along it; `None` if the groups follow no axis or are not recorded.
    pub devices: Option<u64>,
    /// How far the ids of neighbours are apart.
    pub apart: Option<u64>,
    /// The axes of the grid of chips that they fill: `4 ring × 2 line`; `None` if several layouts are possible.
    #[column("On the grid", inferred)]
    pub grid: Option<String>,
    /// Distinct ops.
    #[column]
    pub ops: usize,
    /// Executions over all devices.
    #[column("Times")]
    pub occurrences: u64,
    /// Bytes that devices had to send, summed over all executions; `None` if any is unknown.
    #[column("Sent (sum)", compiler)]
    pub sent_bytes: Option<f64>,
    /// Sum of the transfers: of each execution the shortest time on any device, for the others waited.
    #[column("Transfer (sum)")]
    pub transfer_ps: Option<Picos>,
    /// In flight while the core did not compute; each moment of a device counts once.
    #[column]
    pub exposed_ps: Picos,
    /// `sent ÷ transfer`, bytes/s.
    #[serde(rename = "bus_bandwidth_bytes_per_second")]
    #[column(derived)]
    pub bus_bandwidth: Option<f64>,
    /// What the links carry on the layout with the fewest of them, of ops that have a share.
    #[serde(rename = "least_bound_bytes_per_second")]
    #[column("Links carry", peak)]
    pub least_bound_bandwidth: Option<f64>,
    /// What the links carry on the layout with the most of them, of ops that have a share.
    #[serde(rename = "most_bound_bytes_per_second")]
    #[column("to", peak)]
    pub most_bound_bandwidth: Option<f64>,
    /// Share of link speed, over all ops that have one, weighted by time.
    #[column(nested)]
    pub share: Option<CollectiveShare>,
}

/// The axes, most exposed first; what follows none comes last.
pub(super) fn axes(
    rows: &[CollectiveRow],
    links: &LinkUse,
    overlap: &OverlapReport,
) -> Vec<AxisRow> {
    let by_place = grouped(rows.iter().map(|row| (GroupPlace::of(&row.message), row)));
    let mut rows: Vec<AxisRow> = by_place
        .into_iter()
        .map(|(place, rows)| {
            let once = overlap.times.along(place.clone());
            let exposed = once.time - once.hidden;
            AxisRow::of(place, &rows, links, exposed)
        })
        .collect();
    rows.sort_by(|a, b| {
        a.devices
            .is_none()
            .cmp(&b.devices.is_none())
            .then_with(|| b.exposed_ps.cmp(&a.exposed_ps))
            .then_with(|| a.axis.cmp(&b.axis))
    });
    rows
}

impl AxisRow {
    fn of(place: GroupPlace, rows: &[&CollectiveRow], links: &LinkUse, exposed: Picos) -> Self {
        let title = place.title();
        let (axis, name) = match place {
            GroupPlace::Along(axis, name) => (Some(axis), name),
            GroupPlace::Alone | GroupPlace::NoAxis | GroupPlace::NotRecorded => (None, None),
        };
        let sent = |row: &CollectiveRow| Some(row.message.sent_bytes? * row.executions);
        let transfer = |row: &CollectiveRow| Some(row.transfer_ps? * row.executions);
        let sent_bytes: Option<f64> = rows.iter().map(|row| sent(row)).sum();
        let time: Option<f64> = rows.iter().map(|row| transfer(row)).sum();
        let time = time.filter(|&time| time > 0.0);
        // What the links would carry in the least time of each layout.
        let bound = |of: fn(CollectiveShare) -> f64| {
            let rated = rows.iter().filter_map(|row| {
                let least_ps = of(row.share?) / 100.0 * transfer(row)?;
                Some((sent(row)?, least_ps))
            });
            let (sent, least_ps) =
                rated.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            (least_ps > 0.0).then(|| sent / (least_ps * 1e-12))
        };
        Self {
            axis: title,
            name,
            devices: axis.map(|axis| axis.devices),
            apart: axis.map(|axis| axis.apart),
            grid: axis.and_then(|axis| grid(axis, rows, links)),
            ops: rows.len(),
            occurrences: rows.iter().map(|row| row.occurrences).sum(),
            sent_bytes,
            transfer_ps: time.map(|ps| Picos::from_ps(ps.round() as i64)),
            exposed_ps: exposed,
            bus_bandwidth: sent_bytes.zip(time).map(|(sent, ps)| sent / (ps * 1e-12)),
            least_bound_bandwidth: bound(|share| share.high_percent.0),
            most_bound_bandwidth: bound(|share| share.low_percent.0),
            share: CollectiveShare::weighted(rows.iter().filter_map(|row| row.weighted_share())),
        }
    }
}

/// The only layout of these groups on the grid, in words.
fn grid(axis: MeshAxis, rows: &[&CollectiveRow], links: &LinkUse) -> Option<String> {
    // The participants of pairs are the devices of all groups.
    let grouped = rows
        .iter()
        .filter(|row| row.message.participants == Some(axis.devices));
    let layouts = grouped.map(|row| links.layouts(&row.message));
    let texts: BTreeSet<String> = layouts.flatten().map(|layout| in_words(&layout)).collect();
    let mut texts = texts.into_iter();
    texts.next().filter(|_| texts.next().is_none())
}

/// `4 × 4 ring`, `4 ring × 2 line`
fn in_words(layout: &GroupLayout) -> String {
    let form = |axis: &Axis| if axis.wraps { "ring" } else { "line" };
    let alike = layout.axes.chunk_by(|a, b| a.wraps == b.wraps);
    let parts = alike.filter_map(|axes| {
        Some(format!(
            "{} {}",
            joined(axes.iter().map(|axis| axis.len.to_string()), " × "),
            form(axes.first()?)
        ))
    });
    joined(parts, " × ")
}
