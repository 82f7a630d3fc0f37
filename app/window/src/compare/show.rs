//! Shows steps and ops in both traces, and describes the selected op.

use std::cmp::Ordering;

use analysis::compare::OpChange;

use super::TraceComparison;
use crate::prelude::*;
use crate::times;
use crate::workspace::Workspace;

impl TraceComparison {
    pub(super) fn show_steps(&mut self, first: &mut Workspace, from: usize, count: usize) {
        let alignment = self.alignment();
        if self.link.lock == ViewLock::Op {
            self.link.set(ViewLock::Step);
        }
        let steps = alignment
            .steps()
            .get(from..from + count)
            .unwrap_or_default();
        let (Some(begin), Some(end)) = (steps.first(), steps.last()) else {
            return;
        };
        // The longer of the two determines the visible span.
        let long = |i: usize| end.ranges[i].end - begin.ranges[i].start;
        let range = TimeRange::at(begin.ranges[0].start, long(0).max(long(1)));
        let view = Viewport::fit(range);
        for (side, i) in [(TraceSide::A, 0), (TraceSide::B, 1)] {
            let time = view.shifted(begin.ranges[i].start - begin.ranges[0].start);
            self.of(first, side).apply(&ViewCommand::Look {
                time,
                in_gesture: false,
            });
        }
    }

    pub(super) fn show_ops(&mut self, first: &mut Workspace, rows: &[usize]) {
        let Some(compared) = self.compared.latest() else {
            return;
        };
        let ops = || {
            rows.iter()
                .filter_map(|&row| Some((row, compared.comparison.ops.get(row)?)))
        };
        let time = |op: &OpChange, side| {
            let of = [op.change.base, op.change.cand][TraceSide::index(side)];
            of.map_or(0.0, |estimate| estimate.median)
        };
        let labels = TraceSide::BOTH.map(|side| {
            let labels = ops().flat_map(|(row, _)| compared.partners.labels(row, side));
            labels.collect::<BTreeSet<_>>()
        });
        // The run where they take more leads: what a row is about may be a moment in the other one.
        let [a, b] = TraceSide::BOTH.map(|side| ops().map(|(_, op)| time(op, side)).sum::<f64>());
        let longer = match a.total_cmp(&b) {
            Ordering::Greater => TraceSide::A,
            Ordering::Less => TraceSide::B,
            Ordering::Equal => self.link.focus,
        };
        let has_any = |side: &TraceSide| !labels[side.index()].is_empty();
        let lead = Some(longer).filter(has_any).unwrap_or(longer.other());
        let longest = ops().max_by(|(_, a), (_, b)| time(a, lead).total_cmp(&time(b, lead)));
        let Some((row, op)) = longest else { return };
        let names = [&op.base_name, &op.cand_name];
        let name = names[lead.index()]
            .as_ref()
            .or(names[lead.other().index()].as_ref());
        let name = name.map_or("", |name| name);
        let title = match rows.len() - 1 {
            0 => name.to_owned(),
            more => format!("{name} and {more} more"),
        };
        let shown = compared.partners.labels(row, lead);
        let steps = self.alignment();
        for side in TraceSide::BOTH {
            let labels = labels[side.index()].iter().copied();
            self.of(first, side)
                .apply(&ViewCommand::highlight(&title, labels));
        }
        let trace = self.of(first, lead).trace.clone();
        let model = trace.model.clone();
        // Prefers a step that has a counterpart: the longest execution may be in the warm-up.
        let in_steps = steps.steps().iter().find_map(|step| {
            let range = step.ranges[lead.index()];
            let of_track = model
                .all_lanes()
                .iter()
                .flat_map(|lane| model.slices_in(lane, range))
                .filter(|slice| slice.start() >= range.start && shown.contains(&slice.label_id()));
            of_track
                .max_by_key(|slice| slice.measured_dur())
                .map(SliceRef::id)
        });
        if let Some(slice) = in_steps.or_else(|| trace.longest(&shown)) {
            self.apply(first, lead, &ViewCommand::GoTo(slice));
        }
    }

    /// A sentence about the selected op and its match on the other side.
    pub(super) fn about(&self, focused: &Workspace) -> Option<String> {
        let compared = self.compared.latest()?;
        let slice = focused.trace.model.slice(focused.state.place.selection?);
        let row = compared.partners.row(self.link.focus, slice.label_id())?;
        let op = compared.comparison.ops.get(row)?;
        let time = |estimate: Option<analysis::compare::ShiftEstimate>| {
            estimate.map(|estimate| times::time_ps(estimate.median.round() as i64))
        };
        Some(match (&op.base_name, &op.cand_name) {
            (Some(_), None) => "Only in A: B has no matching op.".to_owned(),
            (None, Some(_)) => "Only in B: A has no matching op.".to_owned(),
            _ => {
                let (a, b) = (time(op.change.base)?, time(op.change.cand)?);
                let change = times::change(op.change.change?, op.change.change_percent);
                let how = op.how.map_or("", |how| how.title());
                let verdict = match op.change.finding {
                    analysis::compare::ChangeVerdict::Noise => ", ~ not more than noise",
                    analysis::compare::ChangeVerdict::BetweenRuns => {
                        ", ? not more than runs may differ"
                    }
                    analysis::compare::ChangeVerdict::TooFew => {
                        ", too few steps to tell this from noise"
                    }
                    analysis::compare::ChangeVerdict::Correlated => {
                        ", steps too correlated to tell this from noise"
                    }
                    _ => "",
                };
                format!("In a step {a} in A, {b} in B: {change}{verdict}; matched: {how}")
            }
        })
    }
}
