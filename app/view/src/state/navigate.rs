//! Navigation by keys and by clicks on rows.

use crate::prelude::*;

use super::place::focused;
use super::{FOCUS_SPAN, Neighbour, Note, Panel, ReportScope, ViewCommand, ViewState};
use crate::viewport::Viewport;

impl ViewState {
    /// Sets the scope of the reports to the mark.
    pub(super) fn scope_to_mark(&mut self) {
        self.scope = self
            .place
            .mark
            .map_or(ReportScope::Capture, ReportScope::Range);
    }

    /// Clears the mark; reports limited to it cover everything again.
    pub(super) fn unmark(&mut self) {
        if self
            .place
            .mark
            .take()
            .is_some_and(|mark| self.scope == ReportScope::Range(mark))
        {
            self.scope = ReportScope::Capture;
        }
        self.mark_note = Arc::default();
    }

    pub(super) fn mark_selection(&mut self, keep: bool, model: &TraceModel) {
        let selected = self.place.selection.map(|slice| model.slice(slice));
        if let Some(slice) = selected {
            self.place.mark = Some(slice.range()).filter(|range| !range.is_empty());
            (self.mark_tracks, self.mark_note) = (Arc::default(), Arc::default());
            self.scope_to_mark();
        }
        if keep && let Some(range) = self.place.mark {
            let text = selected.map_or_else(String::new, |slice| slice.name().to_owned());
            self.annotates(&ViewCommand::AddNote(Note { range, text }), model);
            self.panels.insert(Panel::Notes);
        }
    }

    pub(super) fn select(&mut self, slice: SliceId) {
        self.place.selection = Some(slice);
        self.flow = 0;
        self.panels.insert(Panel::Details);
    }

    pub(super) fn focus(&mut self, model: &TraceModel) {
        if let Some(mark) = self.place.mark {
            self.place.time = Viewport::of(mark).clamped(model.extent());
            return;
        }
        let Some(slice) = self.place.selection else {
            self.place.time = Viewport::fit(model.extent());
            return;
        };
        let around = focused(model, slice, FOCUS_SPAN).clamped(model.extent());
        let near = (self.place.time.span_ps() / around.span_ps() - 1.0).abs() < 1e-6
            && (self.place.time.start_after(around.start()) - around.start_after(around.start()))
                .abs()
                < around.span_ps() * 1e-6;
        self.place.time = if near {
            focused(model, slice, 1.0)
        } else {
            around
        };
        self.reveal = Some(slice);
    }

    pub(super) fn follow_flow(&mut self, forth: bool, model: &TraceModel) {
        let Some(selected) = self.place.selection else {
            return;
        };
        let ends: Vec<SliceId> = if forth {
            model
                .flows_from(selected)
                .iter()
                .map(|flow| flow.to)
                .collect()
        } else {
            model.flows_to(selected).map(|flow| flow.from).collect()
        };
        if let Some(&end) = ends.get(self.flow % ends.len().max(1)) {
            self.show_selected(end, model);
        }
    }

    fn show_selected(&mut self, slice: SliceId, model: &TraceModel) {
        self.select(slice);
        self.reveal = Some(slice);
        self.place.time = self.place.time.revealing(model.slice(slice).range());
    }

    pub(super) fn step(&mut self, neighbour: Neighbour, model: &TraceModel) {
        let selected = self.place.selection;
        if let Some(slice) = selected.and_then(|slice| neighbour_of(model, slice, neighbour)) {
            self.show_selected(slice, model);
        }
    }
}

fn neighbour_of(model: &TraceModel, selected: SliceId, neighbour: Neighbour) -> Option<SliceId> {
    let lane = model.lane_of(selected);
    let rows = model.lane_rows(lane);
    match neighbour {
        Neighbour::Previous => {
            (selected.index() > rows.start).then(|| SliceId::from_index(selected.index() - 1))
        }
        Neighbour::Next => {
            (selected.index() + 1 < rows.end).then(|| SliceId::from_index(selected.index() + 1))
        }
        Neighbour::PreviousOfName => of_same_name(model, selected, false),
        Neighbour::NextOfName => of_same_name(model, selected, true),
        Neighbour::Parent => model.slice(selected).parent().map(SliceRef::id),
        Neighbour::Child => model.slice(selected).children().next().map(SliceRef::id),
    }
}

/// The slice of the same name on the same track that begins next, or began last.
fn of_same_name(model: &TraceModel, selected: SliceId, forth: bool) -> Option<SliceId> {
    let here = model.slice(selected);
    let name = model.label(here.label_id()).name;
    let place = |slice: SliceRef<'_>| (slice.start(), slice.id());
    let is_wanted = |slice: &SliceRef<'_>| {
        let is_beyond = if forth {
            place(*slice) > place(here)
        } else {
            place(*slice) < place(here)
        };
        is_beyond && model.label(slice.label_id()).name == name
    };
    let nearest = |lane: &trace_model::Lane| {
        // Slices of a lane are in time order.
        let mut rows = model
            .lane_rows(lane)
            .map(|row| model.slice(SliceId::from_index(row)));
        if forth {
            rows.find(is_wanted)
        } else {
            rows.rev().find(is_wanted)
        }
    };
    let all = model.lanes(here.track()).iter().filter_map(nearest);
    if forth {
        all.min_by_key(|&slice| place(slice))
    } else {
        all.max_by_key(|&slice| place(slice))
    }
    .map(SliceRef::id)
}
