//! The timeline: minimap, ruler, names, tracks. Turns mouse and key input into commands, computes the draw list with
//! `layout`, and draws it with `paint`.

mod areas;
mod columns;
mod derived;
mod edges;
pub mod elide;
mod filter;
mod input;
mod labels;
mod marks;
mod minimap;
mod motion;
pub mod paint;
mod pointer;
pub mod reveal;
mod tooltip;

use std::borrow::Cow;
use std::sync::LazyLock;
use std::time::Duration;

use crate::prelude::*;
use web_time::Instant;

use self::areas::TimelineAreas;
pub use self::areas::TimelineHead;
use self::columns::ColumnTextures;
pub use self::filter::filter_id;
use self::paint::PaintColors;
use crate::drawing;
use crate::keys::Keys;
use crate::theme;
use crate::times;
use view::drawing::{ColorRole, Drawing};
use view::panels::op_facts::KnownReports;
use view::state::{TimelineLayer, lanes_in_view};
use view::timeline::bands;
use view::timeline::highlighted::Highlighted;
use view::timeline::layout::{DrawnRows, LayoutWindow};
use view::timeline::marks::TimeArea;
use view::timeline::ruler::TimeRuler;
use view::timeline::tiles::LaneTiles;
use view::timeline::tree::{TrackRow, VisibleRows};

/// Number of tiles that each frame computes, so that frames on slow memory show progress, too; and how long it may
/// compute more.
const NEW_TILES: usize = 6;
const TIME_FOR_TILES: Duration = Duration::from_micros(700);

/// The default bindings, if none are given.
static USUAL_KEYS: LazyLock<Keys> = LazyLock::new(Keys::default);

/// State of the timeline between frames; not part of a saved view.
#[derive(Default)]
pub struct Timeline {
    list: DrawList,
    tiles: LaneTiles,
    textures: ColumnTextures,
    animation: motion::ViewAnimation,
    hands: input::InputState,
    hovered: Option<Timestamp>,
    hovered_track: Option<TrackId>,
    shown: Option<Viewport>,
    /// The visible time for which it was found out which lanes have something in view.
    lanes_at: Option<Viewport>,
    minimap: minimap::MinimapState,
}

/// What analyses and searches know about the drawn trace.
#[derive(Clone, Copy, Default)]
pub struct TimelineContext<'a> {
    /// Slices that are highlighted.
    pub highlighted: Option<&'a Highlighted>,
    pub steps: &'a [StepBand],
    /// Colours of labels by roofline efficiency.
    pub efficiency: Option<&'a [ColorKey]>,
    /// Devices that the others wait for.
    pub late: &'a [GroupId],
    /// Whether the wheel zooms (and Ctrl and the wheel scroll).
    pub wheel_zooms: bool,
    /// Reports that are ready, for tooltips.
    pub reports: KnownReports<'a>,
    /// The key bindings; the defaults if `None`.
    pub keys: Option<&'a Keys>,
    /// What is known about the other trace, if one is open.
    pub other_trace: Option<OtherTrace<'a>>,
}

/// What a timeline shows about the trace it is compared with.
#[derive(Clone, Copy)]
pub struct OtherTrace<'a> {
    pub side: TraceSide,
    /// By label: whether the other trace lacks the op.
    pub only: &'a [bool],
    /// Colours of labels by how their op changed.
    pub colors: Option<&'a [ColorKey]>,
    /// Pointer position in the other timeline, as a time of this one.
    pub cursor: Option<Timestamp>,
    /// Whether minimap, filter and ruler are those of the other timeline.
    pub shares_head: bool,
    /// Whether held keys move this timeline.
    pub hears_keys: bool,
    /// The tracks, if they are interleaved with those of the other trace.
    pub interleaved: Option<InterleavedTracks<'a>>,
}

/// Tracks that are interleaved with those of another trace.
#[derive(Clone, Copy)]
pub struct InterleavedTracks<'a> {
    /// The rows of this trace.
    pub rows: &'a VisibleRows,
    /// The area of the tracks and names of both.
    pub body: Rect,
    /// Whether this trace receives mouse input.
    pub has_mouse: bool,
}

/// The areas drawn behind and over the slices.
struct Background {
    /// The whole canvas, or only the rows of this trace if tracks are interleaved.
    strips: Vec<Rect>,
    /// The side, if tracks are interleaved.
    side: Option<TraceSide>,
}

/// What is above the tracks of a timeline, and its areas.
fn head_and_areas(
    rect: Rect,
    state: &ViewState,
    other: Option<OtherTrace<'_>>,
) -> (TimelineHead, TimelineAreas) {
    let minimap = state.draws(TimelineLayer::Minimap);
    let head = match other {
        Some(beside) if beside.shares_head => TimelineHead::NONE,
        Some(_) => TimelineHead::slim(minimap),
        None => TimelineHead::with_ruler(minimap),
    };
    let areas = match other.and_then(|beside| beside.interleaved) {
        Some(interleaved) => TimelineAreas::apart(rect, interleaved.body, state.label_width, head),
        None => TimelineAreas::of(rect, state.label_width, head),
    };
    (head, areas)
}

impl Timeline {
    /// Draws `trace` in the state `state` and collects the commands of the user.
    #[expect(
        clippy::too_many_lines,
        reason = "the parts of a frame in the order in which they are drawn"
    )]
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        trace: &OpenTrace,
        state: &ViewState,
        known: &TimelineContext<'_>,
        out: &mut ViewCommands,
    ) {
        let theme = theme::current(ui);
        let rect = ui.available_rect_before_wrap();
        let interleaved = known.other_trace.and_then(|beside| beside.interleaved);
        let (head, areas) = head_and_areas(rect, state, known.other_trace);
        let only = known.highlighted.filter(|_| state.isolate);
        let own_rows_of = |state: &ViewState| {
            let rows = trace.tree.rows_of(state, only);
            trace.tree.compacted(rows, areas.canvas.height())
        };
        let own_rows = || own_rows_of(state);
        let rows = interleaved.map_or_else(
            || Cow::Owned(own_rows()),
            |interleaved| Cow::Borrowed(interleaved.rows),
        );
        let most = rows.max_scroll(areas.canvas.height());
        let scroll = state.place.scroll.min(most);

        let now = ui.input(|i| i.time);
        let instantly = state.in_gesture() || ui.style().animation_time == 0.0;
        let (time, moving) = self.animation.follow(state.place.time, now, instantly);
        if moving {
            ui.ctx().request_repaint();
        }
        self.shown = Some(time);
        if !moving {
            let beside = known.other_trace.is_some();
            self.settle_lanes(trace, state, (&rows, scroll, beside), own_rows_of, out);
        }
        let change = known.other_trace.and_then(|beside| beside.colors);
        let keys = trace.keys(state.color_by, known.efficiency, change);
        let scale = ui.pixels_per_point();
        let window = LayoutWindow {
            time,
            rows: &rows,
            scroll,
            width: areas.canvas.width(),
            height: areas.canvas.height(),
            selection: state.place.selection,
            highlighted: known.highlighted,
            arrows: state.draws(TimelineLayer::Arrows),
            flow: state.flow,
            colors: keys,
            pixel: scale.ceil() / scale,
        };
        reveal::reveal(trace, state, &window, out);
        self.tiles
            .begin_frame(NEW_TILES, Some(Instant::now() + TIME_FOR_TILES));
        self.list.fill(trace.scene(), &window, &mut self.tiles);
        if self.is_incomplete() {
            ui.ctx().request_repaint();
        }

        self.textures.prepare(ui.ctx(), &self.list, theme);
        let hatched = known.other_trace.map_or(&[][..], |beside| beside.only);
        let isolate = state.isolate && known.highlighted.is_some();
        let colors = PaintColors {
            theme,
            keys,
            hatched,
            isolate,
            columns: &self.textures,
        };
        let steps = if state.draws(TimelineLayer::Steps) {
            bands::in_sight(known.steps, time.range())
        } else {
            &[]
        };
        let side = known
            .other_trace
            .filter(|_| interleaved.is_some())
            .map(|beside| beside.side);
        let ground = Background {
            strips: self.strips(areas.canvas, side.is_some()),
            side,
        };
        self.paint_canvas(ui, trace, state, time, &areas, &colors, steps, &ground);
        if let Some(cursor) = known.other_trace.and_then(|beside| beside.cursor) {
            marks::cursor(ui, areas.canvas, &ground.strips, cursor, time, theme);
        }
        self.canvas_input(ui, trace, state, &window, &areas, &ground, known, out);
        let names = labels::NameColumn {
            rect: areas.names,
            list: &self.list,
            scroll,
            side,
            late: known.late,
        };
        labels::names_ui(ui, names, trace, state, out);
        let name = known.other_trace.map(|beside| beside.side.name());
        if head.minimap {
            minimap::minimap_ui(ui, areas.minimap, trace, state, &mut self.minimap, out);
        }
        let filters = state.leaves_out() || !state.track_filter.is_empty();
        if head.ruler
            && (head.minimap || filters || ui.memory(|memory| memory.has_focus(filter_id(name))))
        {
            filter::filter_ui(ui, areas.filter, state, name, out);
        }
        if side != Some(TraceSide::B) {
            if rows.scrolled.is_empty() && rows.pinned.is_empty() {
                filter::nothing_left_ui(ui, areas.canvas, state, out);
            }
            labels::splitter_ui(ui, areas.names, state, out);
            edges::scroll_bar_ui(
                ui,
                areas.scroll_bar,
                rows.pinned_height(),
                scroll,
                most,
                theme,
                out,
            );
        }
        ui.allocate_rect(ui.available_rect_before_wrap(), Sense::hover());
    }

    /// Leaves lanes of async ops out that have nothing in view, once the view has come to rest.
    fn settle_lanes(
        &mut self,
        trace: &OpenTrace,
        state: &ViewState,
        (rows, scroll, has_other): (&VisibleRows, f32, bool),
        rows_of: impl Fn(&ViewState) -> VisibleRows,
        out: &mut ViewCommands,
    ) {
        let time = state.place.time;
        if has_other {
            // Tracks of both traces stand beside each other.
            if !state.lanes_in_view.is_empty() {
                self.lanes_at = None;
                let lanes = Arc::default();
                out.push(ViewCommand::LanesInView { lanes, scroll });
            }
            return;
        }
        if state.in_gesture() || self.lanes_at.replace(time) == Some(time) {
            return;
        }
        let lanes = Arc::new(lanes_in_view(&trace.model, time.range()));
        if lanes == state.lanes_in_view {
            return;
        }
        // The topmost row stays where it is.
        let top = rows.scrolled.iter().find(|row| row.y + row.height > scroll);
        let mut after = state.clone();
        after.lanes_in_view = Arc::clone(&lanes);
        let after = rows_of(&after);
        let moved = top.and_then(|top| {
            let row = after.scrolled.iter().find(|row| row.node == top.node)?;
            Some(row.y - top.y)
        });
        let scroll = (scroll + moved.unwrap_or(0.0)).max(0.0);
        out.push(ViewCommand::LanesInView { lanes, scroll });
    }

    /// The time below the pointer.
    pub fn hovered(&self) -> Option<Timestamp> {
        self.hovered
    }

    /// The track whose row or name is below the pointer.
    pub fn hovered_track(&self) -> Option<TrackId> {
        self.hovered_track
    }

    /// The visible times in the last frame, which lag behind during an animation.
    pub fn shown(&self) -> Option<Viewport> {
        self.shown
    }

    /// Whether the last frame lacked slices that the next ones will show.
    pub fn is_incomplete(&self) -> bool {
        self.tiles.is_incomplete()
    }

    /// What was drawn, for exporting pictures.
    pub fn drawn(&self) -> &DrawList {
        &self.list
    }

    /// The areas behind and over the slices: the canvas, or only the rows of this trace.
    fn strips(&self, canvas: Rect, only_rows: bool) -> Vec<Rect> {
        if !only_rows {
            return vec![canvas];
        }
        let split = canvas.top() + self.list.pinned_height;
        let parts = [
            (&self.list.scrolled, canvas.with_min_y(split)),
            (&self.list.pinned, canvas.with_max_y(split)),
        ];
        let of_part = |(part, clip): (&DrawnRows, Rect)| {
            let strip = |row: &TrackRow| {
                let y = canvas.top() + row.y..=canvas.top() + row.y + row.height;
                Rect::from_x_y_ranges(canvas.x_range(), y).intersect(clip)
            };
            part.rows.iter().map(strip).collect::<Vec<_>>()
        };
        parts
            .into_iter()
            .flat_map(of_part)
            .filter(Rect::is_positive)
            .collect()
    }

    #[expect(clippy::too_many_arguments, reason = "everything that is drawn")]
    fn paint_canvas(
        &self,
        ui: &Ui,
        trace: &OpenTrace,
        state: &ViewState,
        time: Viewport,
        areas: &TimelineAreas,
        colors: &PaintColors<'_>,
        steps: &[StepBand],
        ground: &Background,
    ) {
        let theme = colors.theme;
        let (canvas, ruler) = (areas.canvas, areas.ruler);
        let width = canvas.width();
        let x_of = |instant: Timestamp| (time.fraction(instant) * f64::from(width)) as f32;
        let area = TimeArea {
            left: 0.0,
            top: 0.0,
            width,
            height: canvas.height(),
            time,
        };
        let empty = || Drawing::new(width, canvas.height(), ColorRole::Canvas);
        let scale = TimeRuler::new(&area, times::format());
        let mut under = empty();
        area.bands(&mut under, steps);
        area.rows(&mut under, &self.list, &trace.tree);
        if state.draws(TimelineLayer::Grid) {
            scale.grid(&mut under, &area);
        }
        area.outside(&mut under, trace.model.extent());

        let painter = ui.painter_at(canvas);
        let on_strips = |drawing: &Drawing| {
            for strip in &ground.strips {
                let clip = strip.intersect(painter.clip_rect());
                drawing::paint(&painter.with_clip_rect(clip), canvas.min, drawing, theme);
            }
        };
        on_strips(&under);
        paint::canvas(
            &painter,
            canvas,
            &self.list,
            (&trace.model, &trace.tree),
            colors,
        );
        let (mut over, mut length) = (empty(), empty());
        area.mark(&mut over, &self.list, &trace.tree, state);
        on_strips(&over);
        marks::mark_length(&mut length, &area, ground.side, state);
        drawing::paint(&painter, canvas.min, &length, theme);

        let painter = ui.painter_at(ruler);
        painter.rect_filled(ruler, 0.0, theme.labels);
        // Where the pointer was in the last frame: nearly where it is.
        let covered = marks::covered(&painter, ruler, state, self.hovered, x_of);
        let head = TimeArea {
            height: ruler.height(),
            ..area
        };
        let mut marks = empty();
        scale.draw(&mut marks, &head, &covered);
        head.band_names(&mut marks, steps);
        drawing::paint(&painter, ruler.min, &marks, theme);
        marks::notes(&painter, ruler, state, self.hovered, x_of, theme);
        marks::between_cursors(&painter, ruler, state, x_of, theme);
        // The ruler's strip reaches over the scroll bar.
        ui.painter().rect_filled(
            Rect::from_two_pos(ruler.right_top(), areas.scroll_bar.right_top()),
            0.0,
            theme.labels,
        );
        edges::corner(ui, areas.corner, time, scale.base_text());
        let line = Stroke::new(1.0, theme.edge);
        ui.painter().hline(
            areas.corner.left()..=areas.scroll_bar.right(),
            ruler.bottom(),
            line,
        );
    }
}

/// The horizontal range of the tracks of a timeline in `rect`.
pub fn canvas_x(rect: Rect, label_width: f32) -> egui::Rangef {
    TimelineAreas::of(rect, label_width, TimelineHead::NONE)
        .canvas
        .x_range()
}
