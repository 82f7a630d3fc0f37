//! Converts flows of the builder to rows of the model.

use super::track::NO_ROW;
use crate::builder::{FlowEnd, PendingFlows, SliceKey};
use crate::flow::Flow;
use crate::import_log::{ImportLog, IssueKind};
use crate::model::Columns;
use crate::slice_ref::SliceRef;
use crate::slices::SliceId;
use crate::time::{Picos, Timestamp};
use crate::track::TrackId;

/// First row of each track, and for each index of its batch the row within the track.
pub(super) type RowsOf = Vec<(u32, Vec<u32>)>;

/// Links all flows; those with only one end are counted in the log.
pub(super) fn link(model: &mut Columns, flows: PendingFlows, rows_of: RowsOf, shifts: &[i64]) {
    let mut log = std::mem::take(&mut model.log);
    let PendingFlows { between, others } = flows;
    let mut linked: Vec<Flow> = between
        .into_iter()
        .filter_map(|(from, to, id)| pair(row_of(&rows_of, from), row_of(&rows_of, to), id, &mut log))
        .collect();
    for (from, to, id) in others {
        let from = resolve(model, &rows_of, shifts, from);
        let to = resolve(model, &rows_of, shifts, to);
        linked.extend(pair(from, to, id, &mut log));
    }
    drop(rows_of);
    model.log = log;
    let mut linked = sorted(linked, model.slices.starts.len());
    linked.dedup();
    linked.shrink_to_fit();
    model.flows = linked;
}

/// Sorts flows. Their first slices are rows of a table of `rows`: two or three passes of a radix sort put them in
/// order, a tenth of the instructions of comparing them, and few flows share one.
fn sorted(mut flows: Vec<Flow>, rows: usize) -> Vec<Flow> {
    const BITS: u32 = 11;
    const BUCKETS: usize = 1 << BITS;

    if flows.len() < BUCKETS {
        flows.sort_unstable();
        return flows;
    }
    let mut sorted = flows.clone();
    for shift in (0..u32::BITS).step_by(BITS as usize).take_while(|&shift| rows >> shift > 0) {
        let bucket = |flow: &Flow| (flow.from.0 >> shift) as usize % BUCKETS;
        let mut next = [0_usize; BUCKETS];
        for flow in &flows {
            next[bucket(flow)] += 1;
        }
        let mut first = 0;
        for count in &mut next {
            first += std::mem::replace(count, first);
        }
        for flow in &flows {
            let place = &mut next[bucket(flow)];
            sorted[*place] = *flow;
            *place += 1;
        }
        std::mem::swap(&mut flows, &mut sorted);
    }
    for same in flows.chunk_by_mut(|a, b| a.from == b.from) {
        same.sort_unstable();
    }
    flows
}

fn pair(from: Option<SliceId>, to: Option<SliceId>, id: u64, log: &mut ImportLog) -> Option<Flow> {
    let flow = from.zip(to).map(|(from, to)| Flow { from, to, id });
    if flow.is_none() {
        log.add(IssueKind::FlowWithoutEnd, || format!("flow {id}"));
    }
    flow
}

fn row_of(rows_of: &RowsOf, SliceKey { track, index }: SliceKey) -> Option<SliceId> {
    let (base, rows) = &rows_of[track.index()];
    rows.get(index as usize).filter(|&&row| row != NO_ROW).map(|row| SliceId(base + row))
}

fn resolve(model: &Columns, rows_of: &RowsOf, shifts: &[i64], end: FlowEnd) -> Option<SliceId> {
    let shifted = |track: TrackId, at: Timestamp| {
        at + Picos::from_ps(shifts[model.group(model.track(track).group).source.index()])
    };
    match end {
        FlowEnd::Slice(key) => row_of(rows_of, key),
        FlowEnd::Enclosing(track, at) => model.slice_at(track, shifted(track, at)).map(SliceRef::id),
        FlowEnd::NextAfter(track, at) => {
            let at = shifted(track, at);
            let next_in_lane = |lane: &crate::model::Lane| {
                let starts = &model.slices.starts[lane.rows.start as usize..lane.rows.end as usize];
                let next = starts.partition_point(|&start| start < at.ps());
                starts.get(next).map(|&start| (start, SliceId(lane.rows.start + next as u32)))
            };
            model.lanes(track).iter().filter_map(next_in_lane).min().map(|(_, id)| id)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_sorted_however_many_there_are() {
        for (count, rows) in [(0, 1), (10, 5), (5_000, 3), (20_000, 5_000_000), (9_000, 1 << 22)] {
            let row = |i: u64, factor: u64| SliceId((i.wrapping_mul(factor) % rows as u64) as u32);
            let flow = |i: u64| Flow { from: row(i, 2_654_435_761), to: row(i, 40_503), id: i % 7 };
            let flows: Vec<Flow> = (0..count).map(flow).collect();
            let mut expected = flows.clone();
            expected.sort_unstable();
            assert_eq!(sorted(flows, rows), expected);
        }
    }
}
