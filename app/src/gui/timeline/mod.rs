//! The timeline: ruler, names, tracks. Turns the mouse and held keys into
//! commands, asks `layout` what is where, and hands that to `paint`.
//!
//! ```text
//! ┌ corner ─┬ ruler ───────────────┐
//! │ names   │ canvas              ▐│ ← scroll bar
//! └─────────┴──────────────────────┘
//! ```

mod input;
mod labels;
pub mod layout;
mod motion;
pub mod paint;
mod tiles;
mod tooltip;
pub mod tree;
pub mod viewport;

use egui::{Align2, Pos2, Rect, Sense, Stroke, Ui, pos2, vec2};
use trace_model::{Picos, TimeRange, Timestamp};

use self::layout::{DrawList, SliceBox, Window};
use self::paint::Colors;
use self::tiles::Tiles;
use self::tree::{LANE, Row};
use self::viewport::{Viewport, tick_label, tick_step, ticks};
use super::state::{ColorBy, ViewCommand, ViewState};
use super::theme::{Theme, small_font};
use super::trace::OpenTrace;

/// Height of the ruler.
const RULER: f32 = 28.0;
/// Least distance of labelled marks of the ruler.
const TICK_DISTANCE: f32 = 96.0;
/// Width of the scroll bar.
const SCROLL_BAR: f32 = 10.0;
/// Space below the last row, so that it can be scrolled clear of the edge.
const BELOW: f32 = 48.0;

/// Tiles computed in one frame: some 3 ms where memory is slowest.
const NEW_TILES: usize = 20;

/// What the timeline remembers from frame to frame: nothing that matters.
#[derive(Default)]
pub struct Timeline {
    list: DrawList,
    tiles: Tiles,
    glide: motion::Glide,
    hands: input::Hands,
}

/// The parts of the timeline's rectangle.
#[derive(Clone, Copy)]
struct Areas {
    corner: Rect,
    ruler: Rect,
    names: Rect,
    canvas: Rect,
    scroll_bar: Rect,
}

impl Areas {
    fn of(rect: Rect, label_width: f32) -> Self {
        let x = rect.left() + label_width.min(rect.width() * 0.5);
        let y = rect.top() + RULER;
        let right = rect.right() - SCROLL_BAR;
        Self {
            corner: Rect::from_min_max(rect.min, pos2(x, y)),
            ruler: Rect::from_min_max(pos2(x, rect.top()), pos2(right, y)),
            names: Rect::from_min_max(pos2(rect.left(), y), pos2(x, rect.bottom())),
            canvas: Rect::from_min_max(pos2(x, y), pos2(right, rect.bottom())),
            scroll_bar: Rect::from_min_max(pos2(right, y), rect.max),
        }
    }
}

impl Timeline {
    /// Draws `trace` as `state` wants it and collects what the user wants instead.
    /// `matches` says by label what a search has found.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        trace: &OpenTrace,
        state: &ViewState,
        matches: &[bool],
        out: &mut Vec<ViewCommand>,
    ) {
        let theme = Theme::current(ui);
        let areas = Areas::of(ui.available_rect_before_wrap(), state.label_width);
        let rows = trace.tree.rows(state);
        let content = rows.last().map_or(0.0, |row| row.y + row.height) + BELOW;
        let scroll = state.place.scroll.min((content - areas.canvas.height()).max(0.0));
        reveal(trace, state, &rows, &areas, out);

        let now = ui.input(|i| i.time);
        let instantly = state.in_gesture() || ui.style().animation_time == 0.0;
        let (time, moving) = self.glide.follow(state.place.time, now, instantly);
        if moving {
            ui.ctx().request_repaint();
        }
        let window = Window {
            time,
            rows: &rows,
            scroll,
            width: areas.canvas.width(),
            height: areas.canvas.height(),
            selection: state.place.selection,
        };
        self.tiles.begin_frame(NEW_TILES);
        self.list.fill(trace.scene(), &window, &mut self.tiles);
        if self.tiles.is_incomplete() {
            ui.ctx().request_repaint();
        }

        let keys = match state.color_by {
            ColorBy::Category => &trace.by_category,
            ColorBy::Name => &trace.by_name,
        };
        let colors = Colors { theme, keys, matches };
        self.paint_canvas(ui, trace, state, time, &areas, &colors);
        self.canvas_input(ui, trace, state, &window, &areas, out);
        labels::names_ui(ui, areas.names, &self.list, trace, state, out);
        labels::splitter_ui(ui, areas.names, state, out);
        scroll_bar_ui(ui, areas.scroll_bar, scroll, content, theme, out);
        ui.allocate_rect(ui.available_rect_before_wrap(), Sense::hover());
    }

    fn paint_canvas(
        &self,
        ui: &Ui,
        trace: &OpenTrace,
        state: &ViewState,
        time: Viewport,
        areas: &Areas,
        colors: &Colors<'_>,
    ) {
        let theme = colors.theme;
        let (canvas, ruler) = (areas.canvas, areas.ruler);
        let width = canvas.width();
        let x_of = |at: Timestamp| (time.fraction(at) * f64::from(width)) as f32;
        let origin = trace.model.extent().start;
        let step = tick_step(&time, width, TICK_DISTANCE);
        let base = ruler_base(&time, origin, step);
        let scale = paint::Scale { ticks: ticks(&time, origin, step), step, base, is_relative: base != origin };

        let painter = ui.painter_at(canvas);
        painter.rect_filled(canvas, 0.0, theme.canvas);
        labels::row_backgrounds(&painter, canvas, &self.list, trace, theme);
        paint::grid(&painter, canvas, &scale.ticks, x_of, theme);
        outside_of_trace(&painter, canvas, trace.model.extent(), x_of, theme);
        paint::canvas(&painter, canvas.min, &self.list, &trace.model, colors);
        if let Some(mark) = state.place.mark {
            mark_ui(&painter, canvas, mark, x_of, theme);
        }

        let painter = ui.painter_at(ruler);
        painter.rect_filled(ruler, 0.0, theme.labels);
        paint::ruler(&painter, ruler, &scale, x_of, theme);
        // The ruler's strip reaches over the scroll bar.
        ui.painter().rect_filled(
            Rect::from_two_pos(ruler.right_top(), areas.scroll_bar.right_top()),
            0.0,
            theme.labels,
        );
        let painter = ui.painter_at(areas.corner);
        painter.rect_filled(areas.corner, 0.0, theme.labels);
        let span = Picos::from_ps(time.span_ps().round() as i64);
        painter.text(
            areas.corner.left_center() + vec2(10.0, 0.0),
            Align2::LEFT_CENTER,
            format!("{span} in view"),
            small_font(),
            theme.text_weak,
        );
        if scale.is_relative {
            // What "+5 µs" on the ruler is relative to.
            let text = format!("{} +", tick_label(base - origin, step));
            painter.text(
                areas.corner.right_center() - vec2(8.0, 0.0),
                Align2::RIGHT_CENTER,
                text,
                small_font(),
                theme.text,
            );
        }
        let line = Stroke::new(1.0, theme.edge);
        ui.painter().hline(areas.corner.left()..=areas.scroll_bar.right(), ruler.bottom(), line);
    }

    fn canvas_input(
        &mut self,
        ui: &mut Ui,
        trace: &OpenTrace,
        state: &ViewState,
        window: &Window<'_>,
        areas: &Areas,
        out: &mut Vec<ViewCommand>,
    ) {
        let id = ui.scope_id().with("canvas");
        let response = ui.interact(areas.canvas, id, Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, "Timeline"));
        let ruler = ui.interact(areas.ruler, ui.scope_id().with("ruler"), Sense::click_and_drag());
        ruler.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, "Time ruler"));
        let touch = input::Touch {
            canvas: &response,
            ruler: &ruler,
            rect: areas.canvas,
            scroll: window.scroll,
            time: window.time,
        };
        self.hands.read(ui, &touch, state, out);

        let Some(pointer) = response.hover_pos() else { return };
        let local = pointer - areas.canvas.min;
        let hit = self.list.hit(local.x, local.y).copied();
        if response.clicked() {
            match hit {
                Some(hit) => out.push(ViewCommand::Select(hit.slice)),
                None => out.push(ViewCommand::Deselect),
            }
        }
        if response.double_clicked()
            && let Some(hit) = hit
        {
            out.push(ViewCommand::GoTo(hit.slice));
        }
        if !ui.input(|i| i.pointer.any_down()) {
            self.hover_ui(ui, trace, window.time, areas, pointer, hit);
        }
    }

    fn hover_ui(
        &self,
        ui: &Ui,
        trace: &OpenTrace,
        time: Viewport,
        areas: &Areas,
        pointer: Pos2,
        hit: Option<SliceBox>,
    ) {
        let theme = Theme::current(ui);
        let painter = ui.painter_at(areas.canvas.union(areas.ruler));
        painter.vline(
            pointer.x,
            areas.ruler.bottom()..=areas.canvas.bottom(),
            Stroke::new(1.0, theme.text_weak.gamma_multiply(0.4)),
        );
        if let Some(hit) = hit {
            let rect = Rect::from_min_max(
                areas.canvas.min + vec2(hit.left, hit.top),
                areas.canvas.min + vec2(hit.right, hit.top + LANE),
            );
            painter.with_clip_rect(areas.canvas).rect_stroke(
                rect,
                1.0,
                Stroke::new(1.0, theme.selection.gamma_multiply(0.7)),
                egui::StrokeKind::Inside,
            );
            tooltip::slice_ui(ui, trace, &hit);
        } else {
            let local = pointer - areas.canvas.min;
            let at = time.time_at(f64::from(local.x / areas.canvas.width()));
            if let Some(row) = self.list.row_at(local.y) {
                tooltip::counter_ui(ui, trace, row, at);
            }
        }
    }
}

/// What the ruler's texts are relative to: the beginning of the trace, or a round
/// time nearby where counting from there would take too many digits.
fn ruler_base(time: &Viewport, origin: Timestamp, step: Picos) -> Timestamp {
    let round = step.ps().saturating_mul(1_000);
    let away = (time.start() - origin).ps();
    if away.abs() < round { origin } else { origin + Picos::from_ps(away.div_euclid(round).saturating_mul(round)) }
}

/// Scrolls to the slice that `state` wants to see, unfolding what hides it.
fn reveal(trace: &OpenTrace, state: &ViewState, rows: &[Row], areas: &Areas, out: &mut Vec<ViewCommand>) {
    let Some(slice) = state.reveal else { return };
    let slice = trace.model.slice(slice);
    let (track, depth) = (slice.track(), slice.depth());
    let hiding = trace.tree.hidden_by(&trace.model, track, state);
    if !hiding.is_empty() {
        out.extend(hiding.into_iter().map(|group| ViewCommand::FoldGroup(group, false)));
        return;
    }
    if depth > 0 && state.folded_tracks.contains(&track) {
        out.push(ViewCommand::FoldTrack(track, false));
        return;
    }
    let scroll = state.place.scroll;
    let y = trace.tree.row_of(rows, track).map_or(scroll, |row| row.y + depth as f32 * (LANE + tree::GAP));
    let (margin, height) = (LANE * 2.0, areas.canvas.height());
    let wanted = if y < scroll + margin {
        y - margin
    } else if y + LANE > scroll + height - margin {
        y + LANE + margin - height
    } else {
        scroll
    };
    // Also where nothing moves: this is what ends the wish.
    out.push(ViewCommand::Revealed(wanted.max(0.0)));
}

/// Shades the time before the first and after the last slice.
fn outside_of_trace(
    painter: &egui::Painter,
    canvas: Rect,
    extent: TimeRange,
    x_of: impl Fn(Timestamp) -> f32,
    theme: &Theme,
) {
    let (start, end) = (canvas.left() + x_of(extent.start), canvas.left() + x_of(extent.end));
    let shade = theme.labels;
    if start > canvas.left() {
        painter.rect_filled(canvas.with_max_x(start.min(canvas.right())), 0.0, shade);
    }
    if end < canvas.right() {
        painter.rect_filled(canvas.with_min_x(end.max(canvas.left())), 0.0, shade);
    }
}

/// The marked range with its length.
fn mark_ui(painter: &egui::Painter, canvas: Rect, mark: TimeRange, x_of: impl Fn(Timestamp) -> f32, theme: &Theme) {
    let (left, right) = (canvas.left() + x_of(mark.start), canvas.left() + x_of(mark.end));
    let rect = Rect::from_x_y_ranges(left.max(canvas.left() - 1.0)..=right.min(canvas.right() + 1.0), canvas.y_range());
    painter.rect_filled(rect, 0.0, theme.accent.gamma_multiply(0.14));
    for x in [left, right] {
        painter.vline(x, canvas.y_range(), Stroke::new(1.0, theme.accent));
    }
    let galley = painter.layout_no_wrap(mark.dur().to_string(), small_font(), theme.text_strong);
    let at = pos2(rect.center().x - galley.size().x / 2.0, canvas.top() + 6.0);
    painter.rect_filled(Rect::from_min_size(at, galley.size()).expand2(vec2(6.0, 2.0)), 4.0, theme.raised);
    painter.galley(at, galley, theme.text_strong);
}

fn scroll_bar_ui(ui: &Ui, rect: Rect, scroll: f32, content: f32, theme: &Theme, out: &mut Vec<ViewCommand>) {
    ui.painter().rect_filled(rect, 0.0, theme.canvas);
    if content <= rect.height() {
        return;
    }
    let length = (rect.height() * rect.height() / content).max(24.0);
    let way = rect.height() - length;
    let top = rect.top() + way * scroll / (content - rect.height());
    let response = ui.interact(rect, ui.scope_id().with("scroll bar"), Sense::click_and_drag());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ScrollBar, true, "Scroll tracks"));
    if let Some(pointer) = response.interact_pointer_pos() {
        let wanted = (pointer.y - rect.top() - length / 2.0) / way * (content - rect.height());
        out.push(ViewCommand::ScrollTo(wanted.clamp(0.0, content - rect.height())));
    }
    let color = if response.hovered() || response.dragged() { theme.text_weak } else { theme.edge };
    let handle = Rect::from_min_size(pos2(rect.left() + 2.0, top), vec2(rect.width() - 4.0, length));
    ui.painter().rect_filled(handle, 3.0, color);
}
