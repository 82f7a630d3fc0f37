//! What is decoded of events on threads of hosts: all of them, or those that reports read.
//!
//! Most events of a host are of names that no report asks for: they are counted. A report can tell the difference only
//! in these cases, in which everything is decoded:
//!
//! - a device was recorded: whatever its host did explains why it was idle (only of its programs nobody asks that);
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

/// What `wanted` asks for; `None` if everything is to be decoded. Questions `of_programs` are about devices where there are
/// some, and not about why these were idle.
pub(super) fn host_part(
    planes: &[DecodedJob<'_>],
    labels: &[Vec<LabelId>],
    jobs: &[LineJob],
    (wanted, of_programs): (Option<&HostEvents>, bool),
    out: &TraceBuilder,
) -> Option<HostPart> {
    let wanted = wanted?;
    let has_threads = |plane: &DecodedJob<'_>| {
        let is_host = plane.kind == PlaneKind::Host || plane.kind.group_kind().is_none();
        is_host && !plane.has_counters()
    };
    let of_threads = |job: &&LineJob| planes.get(job.plane).is_some_and(has_threads);
    let threads: Vec<&LineJob> = jobs.iter().filter(of_threads).collect();
    let mut tracks: Vec<TrackId> = threads.iter().map(|job| job.track).collect();
    tracks.sort_unstable();
    let are_apart = threads.iter().all(|job| job.kind == TrackKind::HostThread)
        && tracks.windows(2).all(|pair| pair[0] != pair[1]);
    let transfers = Known::Attr(SliceAttr::TransferBytes);
    let is_alone = |plane: &DecodedJob<'_>| {
        has_threads(plane)
            && (plane.kind != PlaneKind::Host || !plane.tables.stats().contains(transfers))
    };
    if !are_apart || !(of_programs || planes.iter().all(is_alone)) {
        return None;
    }
    let is_counted = |&label: &LabelId| {
        let use_of = wanted.of_name(out.label_name(label));
        (use_of != HostEventUse::WithOthers || of_programs).then_some(use_of == HostEventUse::Count)
    };
    let of_plane = |(plane, labels): (&DecodedJob<'_>, &Vec<LabelId>)| {
        if has_threads(plane) {
            let counted: Option<Vec<bool>> = labels.iter().map(is_counted).collect();
            counted.map(Some)
        } else {
            Some(None)
        }
    };
    let counted = planes.iter().zip(labels).map(of_plane);
    let counted = counted.collect::<Option<_>>()?;
    // Those of devices pair halves of asynchronous ops.
    let without_flows = |plane: &DecodedJob<'_>| {
        let (stats, is_host) = (plane.tables.stats(), has_threads(plane));
        stats.only(|known| !(is_host && is_of_flow(known)))
    };
    Some(HostPart {
        counted,
        stats: planes.iter().map(without_flows).collect(),
    })
}
