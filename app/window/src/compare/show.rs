//! Shows steps and ops in both traces, and describes the selected op.

use std::collections::BTreeSet;

use trace_model::Picos;

use super::TraceComparison;
use crate::times;
use crate::workspace::Workspace;
use view::compare::{TraceSide, ViewLock};
use view::state::{HighlightedLabels, ViewCommand};
use view::viewport::Viewport;

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
        let range = trace_model::TimeRange::at(begin.ranges[0].start, long(0).max(long(1)));
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
        let Some(compared) = self.compared.memo().latest() else {
            return;
        };
        let Some(op) = rows
            .first()
            .and_then(|&row| compared.comparison.ops.get(row))
        else {
            return;
        };
        let title = op
            .cand_name
            .as_ref()
            .or(op.base_name.as_ref())
            .cloned()
            .unwrap_or_default();
        let labels = TraceSide::BOTH.map(|side| {
            rows.iter()
                .flat_map(|&row| compared.partners.labels(row, side))
                .collect::<BTreeSet<_>>()
        });
        // The side in focus leads, unless it lacks the op.
        let lead = if labels[self.link.focus.index()].is_empty() {
            self.link.focus.other()
        } else {
            self.link.focus
        };
        let steps = self.alignment();
        for side in TraceSide::BOTH {
            let highlighted = HighlightedLabels::new(&title, labels[side.index()].iter().copied());
            self.of(first, side)
                .apply(&ViewCommand::Highlight(Some(highlighted)));
        }
        let trace = self.of(first, lead).trace.clone();
        let model = trace.model.clone();
        // Prefers a step that has a counterpart: the longest execution may be in the warm-up.
        let in_steps = steps.steps().iter().find_map(|step| {
            let range = step.ranges[lead.index()];
            let lanes = model.all_lanes().iter();
            let slices = lanes.flat_map(|lane| model.slices_in(lane, range));
            let own = slices.filter(|slice| {
                slice.start() >= range.start && labels[lead.index()].contains(&slice.label_id())
            });
            own.max_by_key(|slice| slice.measured_dur())
                .map(trace_model::SliceRef::id)
        });
        if let Some(slice) = in_steps.or_else(|| trace.longest(&labels[lead.index()])) {
            self.apply(first, lead, &ViewCommand::GoTo(slice));
        }
    }

    /// A sentence about the selected op and its match on the other side.
    pub(super) fn about(&self, focused: &Workspace) -> Option<String> {
        let compared = self.compared.memo().latest()?;
        let slice = focused.trace.model.slice(focused.state.place.selection?);
        let row = compared.partners.row(self.link.focus, slice.label_id())?;
        let op = compared.comparison.ops.get(row)?;
        let time = |estimate: Option<analysis::compare::ShiftEstimate>| {
            estimate.map(|estimate| times::time(Picos::from_ps(estimate.median.round() as i64)))
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
                    _ => "",
                };
                format!("In a step {a} in A, {b} in B: {change}{verdict}; matched: {how}")
            }
        })
    }
}
