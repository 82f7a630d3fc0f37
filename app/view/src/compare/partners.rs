//! Matched ops of two traces, and which executions correspond.

use crate::prelude::*;
use analysis::compare::{ChangeVerdict, Comparison, OpChange};

use super::{MatchingTracks, StepAlignment, TraceSide};
use crate::palette::ColorKey;
use crate::timeline::trace::OpenTrace;

/// The labels of each op of a comparison.
#[derive(Debug, Default)]
pub struct MatchingOps {
    /// By side and label: the row of [`Comparison::ops`].
    rows: [Vec<Option<u32>>; 2],
    /// By side and op: the row of [`Comparison::ops`].
    ops: [BTreeMap<OpId, u32>; 2],
    /// By row: labels on either side.
    labels: Vec<[BTreeSet<LabelId>; 2]>,
    /// By side and label: the colour of its change.
    pub colors: [Vec<ColorKey>; 2],
    /// By side and label: whether the other side lacks the op.
    pub only: [Vec<bool>; 2],
}

impl MatchingOps {
    /// Finds the labels of the ops of a comparison.
    pub fn new(comparison: &Comparison, traces: [&OpenTrace; 2]) -> Self {
        let mut partners = Self {
            labels: vec![Default::default(); comparison.ops.len()],
            ..Self::default()
        };
        for side in TraceSide::BOTH {
            let model = &traces[side.index()].model;
            let rows = rows_of(comparison, side, model);
            for (label, row) in model.label_ids().zip(&rows) {
                if let Some(labels) = row.and_then(|row| partners.labels.get_mut(row as usize)) {
                    labels[side.index()].insert(label);
                }
            }
            let op = |row: &Option<u32>| row.and_then(|row| comparison.ops.get(row as usize));
            partners.colors[side.index()] = rows.iter().map(|row| color_of(op(row))).collect();
            partners.only[side.index()] = rows
                .iter()
                .map(|row| {
                    op(row).is_some_and(|op| op.base_name.is_none() || op.cand_name.is_none())
                })
                .collect();
            let of_op =
                |(label, row): (&trace_model::Label, &Option<u32>)| Some((label.op?, (*row)?));
            partners.ops[side.index()] =
                model.labels().iter().zip(&rows).filter_map(of_op).collect();
            partners.rows[side.index()] = rows;
        }
        partners
    }

    /// The row of [`Comparison::ops`] that a label belongs to.
    pub fn row(&self, side: TraceSide, label: LabelId) -> Option<usize> {
        self.rows[side.index()]
            .get(label.index())
            .copied()
            .flatten()
            .map(|row| row as usize)
    }

    /// The row of [`Comparison::ops`] that an op belongs to.
    pub fn row_of_op(&self, side: TraceSide, op: OpId) -> Option<usize> {
        self.ops[side.index()].get(&op).map(|&row| row as usize)
    }

    /// Labels of a row on one side.
    pub fn labels(&self, row: usize, side: TraceSide) -> BTreeSet<LabelId> {
        self.labels
            .get(row)
            .map(|labels| labels[side.index()].clone())
            .unwrap_or_default()
    }

    /// Labels of the other side that correspond to a label: of the matched op, else of the same name.
    pub fn across(
        &self,
        from: TraceSide,
        label: LabelId,
        traces: [&OpenTrace; 2],
    ) -> BTreeSet<LabelId> {
        let (here, other) = (traces[from.index()], traces[from.other().index()]);
        let name = || here.model.str(here.model.label(label).name);
        self.row(from, label).map_or_else(
            || other.labels_named(name()).iter().copied().collect(),
            |row| self.labels(row, from.other()),
        )
    }

    /// The corresponding slice of the other side: of the matched op, else of the same name. In the matching step, the
    /// execution with the same index on the same track, else the longest.
    pub fn partner(
        &self,
        from: TraceSide,
        slice: SliceId,
        traces: [&OpenTrace; 2],
        alignment: &StepAlignment,
        places: &MatchingTracks,
    ) -> Option<SliceId> {
        let to = from.other();
        let (here, other) = (traces[from.index()], traces[to.index()]);
        let (model, slice) = (&here.model, here.model.slice(slice));
        let theirs = self.across(from, slice.label_id(), traces);
        let mine = self.row(from, slice.label_id()).map_or_else(
            || here.labels_named(slice.name()).iter().copied().collect(),
            |row| self.labels(row, from),
        );
        if theirs.is_empty() {
            return None;
        }
        let step = alignment
            .step_at(from, slice.start())
            .filter(|step| step.ranges[from.index()].contains(slice.start()));
        let (range, there) = match step {
            Some(step) => (step.ranges[from.index()], step.ranges[to.index()]),
            None => (model.extent(), other.model.extent()),
        };
        let executions = places
            .track(from, slice.track())
            .map(|track| executions(&other.model, track, &theirs, there));
        let number = executions_before(model, slice.track(), &mine, range, slice.id());
        match executions.as_deref() {
            Some([_, ..]) => executions.and_then(|all| all.get(number.min(all.len() - 1)).copied()),
            _ => other.longest(&theirs),
        }
    }
}

/// Slices with some labels on a track that begin in a range, in time order.
fn executions(
    model: &TraceModel,
    track: TrackId,
    labels: &BTreeSet<LabelId>,
    range: TimeRange,
) -> Vec<SliceId> {
    let begun = model
        .lanes(track)
        .iter()
        .flat_map(|lane| model.slices_in(lane, range))
        .filter(|slice| slice.start() >= range.start && labels.contains(&slice.label_id()));
    let mut begun: Vec<_> = begun.map(|slice| (slice.start(), slice.id())).collect();
    begun.sort_unstable();
    begun.into_iter().map(|(_, id)| id).collect()
}

fn executions_before(
    model: &TraceModel,
    track: TrackId,
    labels: &BTreeSet<LabelId>,
    range: TimeRange,
    slice: SliceId,
) -> usize {
    executions(model, track, labels, range)
        .iter()
        .position(|&other| other == slice)
        .unwrap_or(0)
}

/// By label: the row of its op. If programs have different names on the two sides, only the name of the op is used.
fn rows_of(comparison: &Comparison, side: TraceSide, model: &TraceModel) -> Vec<Option<u32>> {
    let mut exact: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    let mut by_name: BTreeMap<&str, u32> = BTreeMap::new();
    for (row, op) in comparison.ops.iter().enumerate() {
        let name = if side == TraceSide::A {
            &op.base_name
        } else {
            &op.cand_name
        };
        if let Some(name) = name {
            exact.entry((name, &op.program)).or_insert(row as u32);
            by_name.entry(name).or_insert(row as u32);
        }
    }
    let row_of = |label: &trace_model::Label| {
        let op = model.op(label.op?);
        let name = model.str(op.name);
        let program = op
            .program
            .map_or("", |program| model.str(model.program(program).name));
        exact
            .get(&(name, program))
            .or_else(|| by_name.get(name))
            .copied()
    };
    model.labels().iter().map(row_of).collect()
}

/// The colour of a change, from slower to faster; gray for noise and for ops that are not compared.
fn color_of(op: Option<&OpChange>) -> ColorKey {
    let Some(op) = op else {
        return ColorKey::of_group(OpGroup::Idle);
    };
    let median = |estimate: Option<analysis::compare::ShiftEstimate>| {
        estimate.map(|estimate| estimate.median)
    };
    match (
        median(op.change.base),
        median(op.change.cand),
        op.change.finding,
    ) {
        (
            Some(base),
            Some(cand),
            ChangeVerdict::Changed
            | ChangeVerdict::TooFew
            | ChangeVerdict::Correlated
            | ChangeVerdict::Untested,
        ) if base > 0.0 && (cand - base).abs() >= 1.0 => ColorKey::of_change(cand / base),
        _ => ColorKey::of_group(OpGroup::Other),
    }
}
