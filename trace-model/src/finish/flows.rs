//! Converts the ends of flows from indices of the builder to rows of the model.

use hashbrown::HashMap;

use super::track::NO_ROW;
use crate::builder::{FlowEnd, PendingFlows, SliceKey};
use crate::flow::{Flow, FlowPoint, FlowRole, UnlinkedFlows};
use crate::import_log::{ImportLog, IssueKind};
use crate::model::TraceColumns;
use crate::slice_ref::SliceRef;
use crate::slices::SliceId;
use crate::time::{Picos, Timestamp};
use crate::track::TrackId;

/// Where the slices of a batch are in the slice table.
pub(super) struct Rows {
    /// First row of the track.
    pub base: u32,
    /// The row within the track, or [`NO_ROW`], for each index of the batch; `None` if rows equal indices.
    pub of_index: Option<Vec<u32>>,
}

impl Rows {
    fn of(&self, index: u32) -> Option<u32> {
        let row = match &self.of_index {
            None => index,
            Some(rows) => *rows.get(index as usize).filter(|&&row| row != NO_ROW)?,
        };
        Some(self.base + row)
    }
}

/// Converts all flows; those with only one end are counted in the log.
pub(super) fn to_rows(
    model: &mut TraceColumns,
    flows: PendingFlows,
    rows_of: &[Rows],
    shifts: &[i64],
) -> UnlinkedFlows {
    let mut log = std::mem::take(&mut model.log);
    let PendingFlows {
        between,
        others,
        points,
    } = flows;
    let mut known: Vec<Flow> = between
        .into_iter()
        .filter_map(|(from, to, id)| pair(row_of(rows_of, from), row_of(rows_of, to), id, &mut log))
        .collect();
    for (from, to, id) in others {
        let from = resolve(model, rows_of, shifts, from);
        let to = resolve(model, rows_of, shifts, to);
        known.extend(pair(from, to, id, &mut log));
    }
    let points = points
        .into_iter()
        .map(|file| points_to_rows(file, rows_of, &mut log))
        .collect();
    model.log = log;
    UnlinkedFlows { known, points }
}

/// The ends of one file with their rows, in place. Flows that lost an end with its slice are counted.
fn points_to_rows(
    file: Vec<(TrackId, Vec<FlowPoint>)>,
    rows_of: &[Rows],
    log: &mut ImportLog,
) -> Vec<Vec<FlowPoint>> {
    let mut dropped = Vec::new();
    let mut kept: Vec<Vec<FlowPoint>> = Vec::with_capacity(file.len());
    for (track, mut points) in file {
        let rows = &rows_of[track.index()];
        points.retain_mut(|point| {
            let row = rows.of(point.index());
            match row {
                Some(row) => point.move_to(row),
                None => dropped.push(*point),
            }
            row.is_some()
        });
        kept.push(points);
    }
    if !dropped.is_empty() {
        log_dropped(&dropped, &kept, log);
    }
    kept
}

/// Counts consumers that had a producer, if the slice of either was dropped.
fn log_dropped(dropped: &[FlowPoint], kept: &[Vec<FlowPoint>], log: &mut ImportLog) {
    let mut has_producer: HashMap<(u64, u16), bool> =
        dropped.iter().map(|point| (point.key(), false)).collect();
    let is = |role: FlowRole| move |point: &&FlowPoint| point.role() == role;
    for point in kept.iter().flatten().filter(is(FlowRole::Out)) {
        has_producer
            .entry(point.key())
            .and_modify(|has| *has = true);
    }
    let mut had_producer = has_producer.clone();
    for point in dropped.iter().filter(is(FlowRole::Out)) {
        had_producer.insert(point.key(), true);
    }
    let lost_itself = dropped
        .iter()
        .filter(|point| had_producer.get(&point.key()) == Some(&true));
    let lost_producer = kept.iter().flatten().filter(|point| {
        has_producer.get(&point.key()) == Some(&false)
            && had_producer.get(&point.key()) == Some(&true)
    });
    for point in lost_itself.chain(lost_producer).filter(is(FlowRole::In)) {
        log.add(IssueKind::FlowWithoutEnd, || {
            format!("flow {}", point.key().0)
        });
    }
}

fn pair(from: Option<SliceId>, to: Option<SliceId>, id: u64, log: &mut ImportLog) -> Option<Flow> {
    let flow = from.zip(to).map(|(from, to)| Flow { from, to, id });
    if flow.is_none() {
        log.add(IssueKind::FlowWithoutEnd, || format!("flow {id}"));
    }
    flow
}

fn row_of(rows_of: &[Rows], SliceKey { track, index }: SliceKey) -> Option<SliceId> {
    rows_of[track.index()].of(index).map(SliceId)
}

fn resolve(
    model: &TraceColumns,
    rows_of: &[Rows],
    shifts: &[i64],
    end: FlowEnd,
) -> Option<SliceId> {
    let shifted = |track: TrackId, time: Timestamp| {
        time + Picos::from_ps(shifts[model.group(model.track(track).group).source.index()])
    };
    match end {
        FlowEnd::Slice(key) => row_of(rows_of, key),
        FlowEnd::Enclosing(track, time) => model
            .slice_at(track, shifted(track, time))
            .map(SliceRef::id),
        FlowEnd::NextAfter(track, time) => {
            let time = shifted(track, time);
            let next_in_lane = |lane: &crate::track::Lane| {
                let starts = model.starts_in(lane);
                let next = starts.partition_point(|&start| start < time.ps());
                starts
                    .get(next)
                    .map(|&start| (start, SliceId(lane.rows.start + next as u32)))
            };
            model
                .lanes(track)
                .iter()
                .filter_map(next_in_lane)
                .min()
                .map(|(_, id)| id)
        }
    }
}
