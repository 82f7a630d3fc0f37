//! Converts flows of the builder to rows of the model.

use rayon::slice::ParallelSliceMut as _;

use super::track::NO_ROW;
use crate::builder::{FlowEnd, PendingFlows, SliceKey};
use crate::flow::Flow;
use crate::import_log::{ImportLog, IssueKind};
use crate::model::Columns;
use crate::slices::{SliceId, SliceRef};
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
    // One comparison of a word decides nearly always.
    linked.par_sort_unstable_by_key(|flow| (u64::from(flow.from.0) << 32 | u64::from(flow.to.0), flow.id));
    linked.dedup();
    linked.shrink_to_fit();
    model.flows = linked;
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
