//! Draws the two timelines: one above the other, or with interleaved tracks.

use crate::prelude::*;

use super::{TraceComparison, areas, lane};
use crate::command::{AppCommand, AppCommands};
use crate::timeline::{InterleavedTracks, OtherTrace, TimelineHead};
use crate::workspace::{FrameContext, Workspace};
use view::compare::{StepAlignment, interleave};
use view::state::TimelineLayer;

impl TraceComparison {
    pub(super) fn timelines_ui(
        &mut self,
        ui: &mut Ui,
        first: &mut Workspace,
        frame: FrameContext<'_>,
        out: &mut AppCommands,
    ) {
        let rect = ui.available_rect_before_wrap();
        // Timelines that move together share one minimap, one filter and one ruler.
        let shares_head = self.link.lock != ViewLock::Free;
        let areas = self.areas(first, rect, shares_head);
        let rows = self.is_interleaved.then(|| {
            let [a, b] = [&*first, &self.second].map(|workspace| {
                (
                    workspace.trace.tree.rows(&workspace.state),
                    &*workspace.trace.tree,
                )
            });
            interleave([&a.0, &b.0], [a.1, b.1], &self.places)
        });
        let over = self.over(ui, first, &areas);
        let compared = self.compared.latest();
        let alignment = self.alignment();
        let mut hovered = None;
        for side in TraceSide::BOTH {
            let cursor = self.pointer_of_other(side, first, &alignment);
            let interleaved = rows
                .as_ref()
                .zip(areas.body)
                .map(|(rows, body)| InterleavedTracks {
                    rows: &rows[side.index()],
                    body,
                    has_mouse: self.mouse == side,
                });
            let beside = OtherTrace {
                side,
                only: compared.map_or(&[], |compared| &compared.partners.only[side.index()]),
                colors: compared.map(|compared| &*compared.partners.colors[side.index()]),
                cursor,
                shares_head: shares_head && side == TraceSide::B,
                hears_keys: over.unwrap_or(self.link.focus) == side,
                interleaved,
            };
            let workspace = if side == TraceSide::A {
                &mut *first
            } else {
                &mut self.second
            };
            let mut wanted = ViewCommands::new();
            let builder = egui::UiBuilder::new()
                .max_rect(areas.timelines[side.index()])
                .id_salt(side.name());
            ui.scope_builder(builder, |ui| {
                workspace.timeline_ui(ui, frame, Some(beside), &mut wanted);
            });
            out.extend(
                wanted
                    .into_iter()
                    .map(|command| AppCommand::On(side, command)),
            );
            hovered = hovered.or(workspace.hovered().map(|time| (side, time)));
        }
        if hovered != self.pointer {
            // The line in the timeline that was drawn first is one frame late.
            self.pointer = hovered;
            ui.ctx().request_repaint();
        }
        self.heads_ui(ui, first, &areas, out);
        lane::lane_ui(
            ui,
            &areas,
            [&*first, &self.second],
            self.compared.memo(),
            &alignment,
            out,
        );
        if self.compared.is_running() {
            ui.ctx()
                .request_repaint_after(std::time::Duration::from_millis(100));
        }
    }

    fn areas(&self, first: &Workspace, rect: Rect, shares_head: bool) -> areas::ComparisonAreas {
        let label_width = first.state.label_width;
        if self.is_interleaved {
            let height = TimelineHead::slim(first.state.draws(TimelineLayer::Minimap)).height();
            areas::ComparisonAreas::interleaved(
                rect,
                label_width,
                [height, if shares_head { 0.0 } else { height }],
            )
        } else {
            areas::ComparisonAreas::of(rect, label_width, self.split)
        }
    }

    fn heads_ui(
        &self,
        ui: &mut Ui,
        first: &Workspace,
        areas: &areas::ComparisonAreas,
        out: &mut AppCommands,
    ) {
        let compared = self.compared.latest();
        for side in TraceSide::BOTH {
            let sides = if side == TraceSide::A {
                [first, &self.second]
            } else {
                [&self.second, first]
            };
            lane::head_ui(
                ui,
                areas.heads[side.index()],
                sides,
                side,
                side == self.link.focus,
                compared,
                out,
            );
        }
    }

    /// Where `side` shows the time below the pointer, if that is over the other side.
    fn pointer_of_other(
        &self,
        side: TraceSide,
        first: &Workspace,
        alignment: &StepAlignment,
    ) -> Option<Timestamp> {
        let (on, time) = self.pointer.filter(|(on, _)| *on == side.other())?;
        let view = if on == TraceSide::A {
            first.state.place.time
        } else {
            self.second.state.place.time
        };
        self.link
            .counterpart(on, &view, TimeRange::new(time, time), alignment)
            .map(|range| range.start)
    }

    /// The side below the pointer. With interleaved tracks it is the side of the track below the pointer; it does not
    /// change while a button or key is held, so that a drag does not end at the next track.
    fn over(
        &mut self,
        ui: &Ui,
        first: &Workspace,
        areas: &areas::ComparisonAreas,
    ) -> Option<TraceSide> {
        let pointer = ui.input(|i| i.pointer.hover_pos())?;
        let above = TraceSide::BOTH
            .into_iter()
            .find(|side| areas.timelines[side.index()].contains(pointer));
        let body = areas.body.filter(|body| body.contains(pointer));
        let (None, Some(body)) = (above, body) else {
            return above;
        };
        if !ui.input(|i| i.pointer.any_down() || !i.keys_down.is_empty()) {
            self.mouse = self
                .side_at(first, pointer, body)
                .unwrap_or(self.link.focus);
        }
        Some(self.mouse)
    }

    fn side_at(&self, first: &Workspace, pos: Pos2, body: Rect) -> Option<TraceSide> {
        let sides = [(TraceSide::A, first), (TraceSide::B, &self.second)];
        sides
            .into_iter()
            .find(|(_, workspace)| workspace.has_row_at(pos.y - body.top()))
            .map(|(side, _)| side)
    }
}
