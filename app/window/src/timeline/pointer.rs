//! The pointer over the tracks: clicks, and what is shown below it.

use crate::prelude::*;

use super::areas::TimelineAreas;
use super::{Background, Timeline, TimelineContext, USUAL_KEYS, derived, input, marks, tooltip};
use crate::theme;
use view::state::MouseMode;
use view::timeline::group_load::GroupLoad;
use view::timeline::layout::{LaneHit, LayoutWindow, MIN_WIDTH};

impl Timeline {
    #[expect(clippy::too_many_arguments, reason = "everything that is touched")]
    pub(super) fn canvas_input(
        &mut self,
        ui: &mut Ui,
        trace: &OpenTrace,
        state: &ViewState,
        window: &LayoutWindow<'_>,
        areas: &TimelineAreas,
        ground: &Background,
        known: &TimelineContext<'_>,
        out: &mut ViewCommands,
    ) {
        let id = ui.scope_id().with("canvas");
        let has_mouse = known
            .other_trace
            .and_then(|beside| beside.interleaved)
            .is_none_or(|interleaved| interleaved.has_mouse);
        // With interleaved tracks, the other side may receive the mouse input.
        let felt = if has_mouse {
            areas.canvas
        } else {
            Rect::from_min_size(areas.canvas.min, Vec2::ZERO)
        };
        let response = ui.interact(felt, id, Sense::click_and_drag());
        let name = known.other_trace.map_or_else(
            || "Timeline".to_owned(),
            |beside| format!("Timeline {}", beside.side.name()),
        );
        response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, &name));
        let ruler = ui.interact(
            areas.ruler,
            ui.scope_id().with("ruler"),
            Sense::click_and_drag(),
        );
        ruler.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, "Time ruler"));
        let touch = input::InputTarget {
            canvas: &response,
            ruler: &ruler,
            rect: areas.canvas,
            scroll: window.scroll,
            time: window.time,
            list: &self.list,
            trace,
            wheel_zooms: known.wheel_zooms,
            keys: known.keys.unwrap_or(&USUAL_KEYS),
            hears_keys: known.other_trace.is_none_or(|beside| beside.hears_keys),
        };
        let share_of =
            |pos: Pos2| f64::from((pos.x - areas.canvas.left()) / areas.canvas.width().max(1.0));
        let pointer = response.hover_pos().or_else(|| ruler.hover_pos());
        self.hovered = pointer.map(|pos| window.time.time_at(share_of(pos)));
        self.hands.read(ui, &touch, state, out);
        self.hovered_track = self.track_below_pointer(ui, trace, areas);
        self.mouse_mode_ui(ui, areas.canvas, state.mouse, response.hovered());

        if let Some(pos) = ruler.hover_pos()
            && let Some(band) = marks::band_at(known.steps, window.time.time_at(share_of(pos)))
        {
            tooltip::step_ui(ui, band);
        }
        let Some(pointer) = response.hover_pos() else {
            return;
        };
        let local = pointer - areas.canvas.min;
        let hit = self.list.hit(trace.scene(), window, local.x, local.y);
        let derived = self.list.derived_at(local.x, local.y);
        if response.clicked() {
            match hit {
                None if derived.is_some() => {
                    out.extend(derived.map(|drawn| derived::clicked(trace, &drawn.hit)));
                }
                Some(hit) if ui.input(|i| i.modifiers.command) => {
                    out.push(light_up_too(trace, state, hit.drawn.slice));
                }
                Some(hit) => out.push(ViewCommand::Select(hit.drawn.slice)),
                None => out.push(
                    self.folded_at(trace, local.y)
                        .unwrap_or(ViewCommand::Deselect),
                ),
            }
        }
        if response.double_clicked()
            && let Some(hit) = hit
        {
            out.push(ViewCommand::GoTo(hit.drawn.slice));
        }
        if !ui.input(|i| i.pointer.any_down()) {
            self.hover_ui(ui, trace, (window.time, known), areas, ground, pointer, hit);
        }
    }

    /// The box of a zoom under way, or the pointer that shows what a drag does.
    fn mouse_mode_ui(&self, ui: &Ui, canvas: Rect, mouse: MouseMode, is_hovered: bool) {
        if let Some(zoom_box) = self.hands.zoom_box() {
            let painter = ui.painter_at(canvas);
            let accent = theme::current(ui).accent;
            painter.rect_filled(zoom_box, 0.0, accent.gamma_multiply(0.18));
            painter.rect_stroke(zoom_box, 0.0, (1.5, accent), StrokeKind::Inside);
        } else if is_hovered {
            match mouse {
                MouseMode::Zoom => ui.ctx().set_cursor_icon(CursorIcon::ZoomIn),
                MouseMode::Pan => ui.ctx().set_cursor_icon(CursorIcon::Grab),
                MouseMode::Select | MouseMode::Time => {}
            }
        }
    }

    /// Unfolds the group whose load is drawn at a height of the canvas.
    fn folded_at(&self, trace: &OpenTrace, y: f32) -> Option<ViewCommand> {
        let row = self.list.row_at(y).filter(|row| row.folded)?;
        let node = trace.tree.node(row.node);
        let shows_load = matches!(node.load, GroupLoad::Busy | GroupLoad::Cores(_));
        match node.item {
            TreeItem::Group(group) if shows_load => Some(ViewCommand::FoldGroup(group, false)),
            _ => None,
        }
    }

    fn track_below_pointer(
        &self,
        ui: &Ui,
        trace: &OpenTrace,
        areas: &TimelineAreas,
    ) -> Option<TrackId> {
        let tracks = areas.canvas.union(areas.names);
        // Not where a window or a menu covers them.
        let is_there = ui.rect_contains_pointer(tracks);
        let pointer = ui.input(|i| i.pointer.hover_pos()).filter(|_| is_there)?;
        match trace
            .tree
            .node(self.list.row_at(pointer.y - tracks.top())?.node)
            .item
        {
            TreeItem::Track(track) => Some(track),
            TreeItem::Group(_) | TreeItem::Derived(_) => None,
        }
    }

    #[expect(clippy::too_many_arguments, reason = "everything that is touched")]
    fn hover_ui(
        &self,
        ui: &Ui,
        trace: &OpenTrace,
        (time, known): (Viewport, &TimelineContext<'_>),
        areas: &TimelineAreas,
        ground: &Background,
        pointer: Pos2,
        hit: Option<LaneHit>,
    ) {
        let theme = theme::current(ui);
        let painter = ui.painter_at(areas.canvas);
        let instant = time.time_at(f64::from(
            (pointer.x - areas.canvas.left()) / areas.canvas.width().max(1.0),
        ));
        marks::pointer_time(
            &ui.painter_at(areas.ruler),
            areas.ruler,
            pointer.x,
            instant,
            theme,
        );
        for strip in &ground.strips {
            painter.vline(
                pointer.x,
                strip.y_range(),
                (1.0, theme.text_weak.gamma_multiply(0.4)),
            );
        }
        let local = pointer - areas.canvas.min;
        if let Some(arrow) = self
            .list
            .arrows
            .iter()
            .find(|arrow| arrow.is_near(local.x, local.y, ARROW_REACH))
        {
            tooltip::arrow_ui(ui, trace, arrow);
        } else if let Some(hit) = hit {
            let rect = Rect::from_min_max(
                areas.canvas.min + vec2(hit.drawn.left, hit.drawn.top),
                areas.canvas.min + vec2(hit.drawn.right, hit.drawn.top + hit.drawn.height),
            );
            painter.with_clip_rect(areas.canvas).rect_stroke(
                rect,
                1.0,
                (1.0, theme.selection.gamma_multiply(0.7)),
                StrokeKind::Inside,
            );
            tooltip::slice_ui(ui, trace, &hit, (known.steps, known.reports));
        } else if let Some(drawn) = self.list.derived_at(local.x, local.y) {
            derived::tooltip_ui(ui, trace, &drawn.hit);
        } else if let Some(row) = self.list.row_at(local.y) {
            tooltip::counter_ui(ui, trace, row, instant);
            derived::note_ui(ui, trace, row.node);
            let end = time.time_at(f64::from(
                (local.x + MIN_WIDTH) / areas.canvas.width().max(1.0),
            ));
            tooltip::load_ui(ui, trace, row, TimeRange::new(instant, end.max(instant)));
        }
    }
}

/// Distance in points within which an arrow is pointed at.
const ARROW_REACH: f32 = 3.0;

/// Adds all slices of the same name to the highlighted ones, or removes them if they are all highlighted.
fn light_up_too(trace: &OpenTrace, state: &ViewState, slice: SliceId) -> ViewCommand {
    let name = trace.model.slice(slice).name();
    let mut highlighted = state.highlighted.clone().unwrap_or_default();
    let labels = trace.labels_named(name);
    if labels
        .iter()
        .all(|label| highlighted.labels.contains(label))
    {
        Arc::make_mut(&mut highlighted.labels).retain(|label| !labels.contains(label));
    } else {
        Arc::make_mut(&mut highlighted.labels).extend(labels);
    }
    let names: BTreeSet<&str> = highlighted
        .labels
        .iter()
        .map(|&label| trace.model.str(trace.model.label(label).name))
        .collect();
    highlighted.title = joined(names, ", ");
    ViewCommand::Highlight((!highlighted.labels.is_empty()).then_some(highlighted))
}
