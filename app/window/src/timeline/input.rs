//! Mouse, touchpad and held keys on the timeline, as commands.

use crate::prelude::*;
use egui::{Event, PointerButton};

use super::motion::{MovementSpeed, pan_points, zoom_factor};
use crate::keys::{KeyFocus, Keys};
use view::state::MouseMode;
use view::timeline::tree::LANE;

/// A gesture ends after this many seconds without movement.
const REST: f64 = 0.3;
/// Distance in points within which an edge is grabbed or snapped to.
const GRAB: f32 = 5.0;
/// Points per second that a held arrow key scrolls.
const SCROLL_SPEED: f32 = 900.0;

/// What the mouse acts on, and what is drawn there.
#[derive(Clone, Copy)]
pub struct InputTarget<'a> {
    pub canvas: &'a Response,
    pub ruler: &'a Response,
    /// The area of the tracks.
    pub rect: Rect,
    /// Scroll position in points.
    pub scroll: f32,
    pub time: Viewport,
    pub list: &'a DrawList,
    pub trace: &'a OpenTrace,
    /// Whether the wheel zooms (and Ctrl and the wheel scroll).
    pub wheel_zooms: bool,
    pub keys: &'a Keys,
    /// Whether held keys apply to this timeline.
    pub hears_keys: bool,
}

/// State of held keys and drags.
#[derive(Default)]
pub struct InputState {
    /// Held actions, with the time at which their key went down.
    held: BTreeMap<&'static str, f64>,
    /// When the view last moved.
    moved: f64,
    /// The drag that marks an area.
    marking: Option<MarkInProgress>,
    /// The box that is being dragged, to be zoomed into.
    zoom_box: Option<Rect>,
}

/// A drag that marks an area.
#[derive(Clone, Copy)]
struct MarkInProgress {
    /// The end that stays fixed.
    from: Timestamp,
    /// Height on the canvas where it began; `None` for all tracks.
    top: Option<f32>,
    /// Whether it moves an edge of the existing mark, which keeps its tracks.
    is_edge: bool,
}

impl InputState {
    /// Reads the input of this frame and pushes the resulting commands.
    pub fn read(
        &mut self,
        ui: &Ui,
        touch: &InputTarget<'_>,
        state: &ViewState,
        out: &mut ViewCommands,
    ) {
        let InputTarget {
            canvas,
            ruler,
            rect,
            ..
        } = *touch;
        let before = out.len();
        let pointer_x = ui
            .input(|i| i.pointer.hover_pos())
            .filter(|pos| rect.x_range().contains(pos.x))
            .map(|pos| pos.x);
        let anchor =
            f64::from((pointer_x.unwrap_or(rect.center().x) - rect.left()) / rect.width().max(1.0));
        if canvas.contains_pointer() || ruler.contains_pointer() {
            wheel(ui, touch, anchor, out);
        }
        self.drags(ui, touch, state, out);
        // A drag can end after its canvas has disappeared.
        if !ui.input(|i| i.pointer.any_down()) {
            self.marking = None;
        }
        self.keys(ui, touch, anchor, out);

        let now = ui.input(|i| i.time);
        if out.len() > before || self.marking.is_some() {
            self.moved = now;
        }
        if state.in_gesture() {
            if now - self.moved > REST && out.len() == before {
                out.push(ViewCommand::EndGesture);
            } else {
                ui.ctx()
                    .request_repaint_after(std::time::Duration::from_secs_f64(REST));
            }
        }
    }

    fn drags(
        &mut self,
        ui: &Ui,
        touch: &InputTarget<'_>,
        state: &ViewState,
        out: &mut ViewCommands,
    ) {
        let InputTarget {
            canvas,
            ruler,
            rect,
            scroll,
            ..
        } = *touch;
        let (shift, space) = ui.input(|i| (i.modifiers.shift, i.key_down(Key::Space)));
        let by_hand = shift || space || state.mouse == MouseMode::Pan;
        let grabs = canvas.dragged_by(PointerButton::Middle)
            || canvas.dragged_by(PointerButton::Secondary)
            || (canvas.dragged_by(PointerButton::Primary) && by_hand && self.marking.is_none());
        if grabs {
            let delta = canvas.drag_delta();
            ui.ctx().set_cursor_icon(CursorIcon::Grabbing);
            if delta.x != 0.0 {
                out.push(ViewCommand::Pan(f64::from(-delta.x / rect.width())));
            }
            if delta.y != 0.0 {
                out.push(ViewCommand::ScrollTo(scroll - delta.y));
            }
            return;
        }
        if self.zooms_into_box(ui, touch, state, out) {
            return;
        }
        for response in [canvas, ruler] {
            let is_canvas = response.id == canvas.id;
            if response.drag_started_by(PointerButton::Primary)
                && let Some(pos) = ui.input(|i| i.pointer.press_origin())
            {
                let snap = !ui.input(|i| i.modifiers.alt);
                self.marking = Some(begin(touch, state, pos, is_canvas, snap));
            }
            if let Some(marking) = self.marking
                && response.dragged_by(PointerButton::Primary)
                && let Some(pos) = response.interact_pointer_pos()
            {
                let to = touch.time_near(pos, !ui.input(|i| i.modifiers.alt));
                let tracks = match marking.top {
                    _ if marking.is_edge => BTreeSet::clone(&state.mark_tracks),
                    None => BTreeSet::new(),
                    Some(top) => touch.tracks_between(top, pos.y - rect.top()),
                };
                let range = TimeRange::new(marking.from.min(to), marking.from.max(to));
                out.push(ViewCommand::Mark(range, tracks));
            }
            if response.drag_stopped() && self.marking.take().is_some() {
                // Only at the end of the drag, because reports take longer than a frame.
                out.push(ViewCommand::ScopeToMark);
            }
        }
    }

    /// Handles the drag of a box that is zoomed into; returns whether there is one.
    fn zooms_into_box(
        &mut self,
        ui: &Ui,
        touch: &InputTarget<'_>,
        state: &ViewState,
        out: &mut ViewCommands,
    ) -> bool {
        let canvas = touch.canvas;
        if state.mouse == MouseMode::Zoom
            && canvas.dragged_by(PointerButton::Primary)
            && let (Some(from), Some(to)) = (
                ui.input(|i| i.pointer.press_origin()),
                canvas.interact_pointer_pos(),
            )
        {
            self.zoom_box = Some(Rect::from_two_pos(from, to).intersect(touch.rect));
            return true;
        }
        let Some(zoom_box) = self.zoom_box.take() else {
            return false;
        };
        let time = |x: f32| {
            touch.time.time_at(f64::from(
                (x - touch.rect.left()) / touch.rect.width().max(1.0),
            ))
        };
        let range = TimeRange::new(time(zoom_box.left()), time(zoom_box.right()));
        if zoom_box.width() > GRAB && !range.is_empty() {
            out.push(ViewCommand::Show(range));
        }
        true
    }

    /// The box that is being dragged, to be zoomed into.
    pub fn zoom_box(&self) -> Option<Rect> {
        self.zoom_box
    }

    fn keys(&mut self, ui: &Ui, touch: &InputTarget<'_>, anchor: f64, out: &mut ViewCommands) {
        let InputTarget { rect, scroll, .. } = *touch;
        let focus = KeyFocus::of(ui.ctx());
        if focus == KeyFocus::Text || !touch.hears_keys || !ui.input(|i| i.focused) {
            self.held.clear();
            return;
        }
        let (now, dt, modifiers) =
            ui.input(|i| (i.time, f64::from(i.stable_dt.min(0.1)), i.modifiers));
        // Keys that went down in this frame count for one frame even if they are up again.
        let mut moving = self.held.clone();
        for event in ui.input(|i| i.events.clone()) {
            let Event::Key {
                key,
                physical_key,
                pressed,
                modifiers,
                ..
            } = event
            else {
                continue;
            };
            match touch.keys.held(key, physical_key.unwrap_or(key)) {
                Some(action) if pressed && !modifiers.command && focus.leaves_held(key) => {
                    self.held.entry(action).or_insert(now);
                    moving.entry(action).or_insert(now);
                }
                Some(key) => drop(self.held.remove(&key)),
                None => {}
            }
        }
        let pace = match (modifiers.shift, modifiers.alt) {
            (true, _) => MovementSpeed::Fast,
            (_, true) => MovementSpeed::Fine,
            _ => MovementSpeed::Normal,
        };
        for (action, since) in moving {
            let held = now - since;
            let pan = pan_points(held, dt, pace) / f64::from(rect.width().max(1.0));
            let zoom = zoom_factor(held, dt, pace);
            out.push(match action {
                "zoom-in" => ViewCommand::Zoom {
                    factor: zoom,
                    anchor,
                },
                "zoom-out" => ViewCommand::Zoom {
                    factor: 1.0 / zoom,
                    anchor,
                },
                "pan-left" => ViewCommand::Pan(-pan),
                "pan-right" => ViewCommand::Pan(pan),
                "scroll-up" => ViewCommand::ScrollTo(scroll - SCROLL_SPEED * dt as f32),
                _ => ViewCommand::ScrollTo(scroll + SCROLL_SPEED * dt as f32),
            });
        }
        if !self.held.is_empty() {
            ui.ctx().request_repaint();
        }
    }
}

/// Starts a mark at `pos`.
fn begin(
    touch: &InputTarget<'_>,
    state: &ViewState,
    pos: Pos2,
    is_canvas: bool,
    snap: bool,
) -> MarkInProgress {
    if let Some(mark) = state.place.mark {
        for (edge, other) in [(mark.start, mark.end), (mark.end, mark.start)] {
            if (touch.x_of(edge) - pos.x).abs() <= GRAB {
                return MarkInProgress {
                    from: other,
                    top: None,
                    is_edge: true,
                };
            }
        }
    }
    let by_tracks = is_canvas && state.mouse == MouseMode::Select;
    let top = by_tracks.then_some(pos.y - touch.rect.top());
    MarkInProgress {
        from: touch.time_near(pos, snap),
        top,
        is_edge: false,
    }
}

impl InputTarget<'_> {
    fn x_of(&self, instant: Timestamp) -> f32 {
        self.rect.left() + (self.time.fraction(instant) * f64::from(self.rect.width())) as f32
    }

    /// The time at a point, or at the nearest one in sight and within the trace; with `snap`, the nearest slice edge.
    fn time_near(&self, pos: Pos2, snap: bool) -> Timestamp {
        let pos = pos.clamp(
            pos2(self.rect.left(), pos.y),
            pos2(self.rect.right(), pos.y),
        );
        let local = pos - self.rect.min;
        let edge = snap
            .then(|| self.list.snap(&self.trace.model, local.x, local.y, GRAB))
            .flatten();
        let time = || self.time.time_at(f64::from(local.x / self.rect.width()));
        let extent = self.trace.model.extent();
        edge.unwrap_or_else(time).clamp(extent.start, extent.end)
    }

    /// Tracks of the rows between two heights of the canvas.
    fn tracks_between(&self, a: f32, b: f32) -> BTreeSet<TrackId> {
        self.list
            .rows_in(a.min(b), a.max(b).max(a.min(b) + 1.0))
            .flat_map(|row| match self.trace.tree.node(row.node).item {
                TreeItem::Track(track) => vec![track],
                // A folded group counts as all tracks in it.
                TreeItem::Group(_) if row.folded => self.trace.tree.tracks_in(row.node).collect(),
                TreeItem::Group(_) | TreeItem::Derived(_) => Vec::new(),
            })
            .collect()
    }
}

/// The wheel: scroll; with Ctrl or as a pinch: zoom; sideways or with Shift: pan. If the wheel zooms, Ctrl swaps
/// zooming and scrolling.
fn wheel(ui: &Ui, touch: &InputTarget<'_>, anchor: f64, out: &mut ViewCommands) {
    let InputTarget { rect, scroll, .. } = *touch;
    let (zoom, delta) = ui.input(|i| (f64::from(i.zoom_delta()), i.smooth_scroll_delta()));
    let is_pinch = ui.input(|i| {
        i.multi_touch().is_some() || i.events.iter().any(|e| matches!(e, Event::Zoom(_)))
    });
    if (zoom - 1.0).abs() > 1e-6 && touch.wheel_zooms && !is_pinch {
        // Undoes egui's conversion of the wheel with Ctrl.
        let speed = ui
            .ctx()
            .options(|options| options.input_options.scroll_zoom_speed);
        let points = zoom.ln() as f32 / speed.max(1e-6);
        out.push(ViewCommand::ScrollTo((scroll - points).max(0.0)));
    } else if (zoom - 1.0).abs() > 1e-6 {
        out.push(ViewCommand::Zoom {
            factor: zoom,
            anchor,
        });
    } else if delta.x.abs() > delta.y.abs() {
        // A touchpad always drifts a little: only the stronger direction counts.
        out.push(ViewCommand::Pan(f64::from(-delta.x / rect.width())));
    } else if delta.y != 0.0 && touch.wheel_zooms {
        out.push(ViewCommand::Zoom {
            factor: f64::from(delta.y / 200.0).exp(),
            anchor,
        });
    } else if delta.y != 0.0 {
        out.push(ViewCommand::ScrollTo(
            (scroll - delta.y * (LANE + 1.0) / LANE).max(0.0),
        ));
    }
}
