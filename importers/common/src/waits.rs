//! Derives waiting times that a device does not record.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use trace_model::{LabelId, SliceAttr, SliceSpec, TimeRange, Timestamp, TraceBuilder, TrackId};

/// Adds waits: while nothing computes, the device waits for the transfer in flight that ends first.
pub fn add_waits(
    busy: &mut [TimeRange],
    mut in_flight: Vec<(TimeRange, LabelId)>,
    track: TrackId,
    out: &mut TraceBuilder,
) {
    in_flight.sort_by_key(|(range, _)| range.start);
    busy.sort_by_key(|range| range.start);
    let end = in_flight
        .iter()
        .map(|(range, _)| range.end)
        .max()
        .unwrap_or(Timestamp::ZERO);
    let mut time = in_flight.first().map_or(end, |(range, _)| range.start);
    let mut coming = in_flight.iter().peekable();
    let mut computing = busy.iter().peekable();
    let mut ends: BinaryHeap<Reverse<(Timestamp, LabelId)>> = BinaryHeap::new();
    while time < end {
        while let Some(range) = computing.next_if(|range| range.start <= time) {
            time = time.max(range.end);
        }
        while let Some(&(range, wait)) = coming.next_if(|(range, _)| range.start <= time) {
            ends.push(Reverse((range.end, wait)));
        }
        while ends.peek().is_some_and(|Reverse((end, _))| *end <= time) {
            ends.pop();
        }
        let Some(&Reverse((until, wait))) = ends.peek() else {
            time = coming.peek().map_or(end, |(range, _)| range.start);
            continue;
        };
        let until = computing
            .peek()
            .map_or(until, |range| range.start.min(until));
        let slice = out.add_slice(track, SliceSpec::new(TimeRange::new(time, until), wait));
        out.set_attr(slice, SliceAttr::Reconstructed, 1);
        time = until;
    }
}
