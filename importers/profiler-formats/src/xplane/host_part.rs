//! What is decoded of a capture of hosts without devices: all of it, or the events that reports read.
//!
//! Most events of a host are of names that no report asks for: they are counted. A report can tell the difference only
//! in these cases, in which everything is decoded:
//!
//! - a device was recorded: whatever its host did explains why it was idle;
//! - events of some name need others ([`HostEventUse::WithOthers`]), or transfers need the flows that lead from them;
//! - a line is not in order, or its events do not nest: lanes depend on all of them, and the import log counts them;
//! - times so far apart that some are implausible, which are dropped.

use importer_common::HostEvents;
use importer_common::names::PlaneKind;
use importer_common::prelude::*;
use trace_model::HostEventUse;

use super::counted::HostPart;
use super::decode::{DecodedJob, LineJob};
use super::known::{EventNumber, Known};

/// Whether a stat is about flows, of which nothing is read without devices and transfers.
fn is_of_flow(stat: Known) -> bool {
    use EventNumber::{Consumer, ConsumerType, Flow, Producer, ProducerType};
    matches!(
        stat,
        Known::Number(Consumer | ConsumerType | Flow | Producer | ProducerType)
    )
}

/// What `wanted` asks for; `None` if everything is to be decoded.
pub(super) fn host_part(
    planes: &[DecodedJob<'_>],
    labels: &[Vec<LabelId>],
    jobs: &[LineJob],
    wanted: Option<&HostEvents>,
    out: &TraceBuilder,
) -> Option<HostPart> {
    let wanted = wanted?;
    let is_host = |plane: &DecodedJob<'_>| {
        let transfers = Known::Attr(SliceAttr::TransferBytes);
        (plane.kind == PlaneKind::Host && !plane.tables.stats().contains(transfers))
            || plane.kind.group_kind().is_none()
    };
    let mut tracks: Vec<TrackId> = jobs.iter().map(|job| job.track).collect();
    tracks.sort_unstable();
    let only_threads = planes.iter().all(is_host)
        && jobs.iter().all(|job| job.kind == TrackKind::HostThread)
        && !planes.iter().any(DecodedJob::has_counters)
        && tracks.windows(2).all(|pair| pair[0] != pair[1]);
    if !only_threads {
        return None;
    }
    let is_counted = |&label: &LabelId| {
        let use_of = wanted.of_name(out.label_name(label));
        (use_of != HostEventUse::WithOthers).then_some(use_of == HostEventUse::Count)
    };
    let of_plane = |labels: &Vec<LabelId>| labels.iter().map(is_counted).collect();
    let counted = labels.iter().map(of_plane).collect::<Option<_>>()?;
    let without_flows = |plane: &DecodedJob<'_>| {
        let stats = plane.tables.stats();
        stats.only(|known| !is_of_flow(known))
    };
    Some(HostPart {
        counted,
        stats: planes.iter().map(without_flows).collect(),
    })
}
