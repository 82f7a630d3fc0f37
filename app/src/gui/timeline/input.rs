//! Mouse, touchpad and held keys on the timeline, as commands.

use std::collections::BTreeMap;

use egui::{Event, Key, PointerButton, Rect, Response, Ui};
use trace_model::TimeRange;

use super::motion::{Pace, pan_points, zoom_factor};
use super::tree::LANE;
use super::viewport::Viewport;
use crate::gui::state::{ViewCommand, ViewState};

/// A gesture ends when nothing has moved for this long, in seconds.
const REST: f64 = 0.3;
/// Points per second that a held arrow key scrolls.
const SCROLL_SPEED: f32 = 900.0;

/// What can be touched, and what is seen there.
#[derive(Clone, Copy)]
pub struct Touch<'a> {
    /// The tracks.
    pub canvas: &'a Response,
    /// The ruler.
    pub ruler: &'a Response,
    /// Where the tracks lie.
    pub rect: Rect,
    /// Points above the top.
    pub scroll: f32,
    /// The visible times.
    pub time: Viewport,
}

/// What the hands are doing.
#[derive(Default)]
pub struct Hands {
    /// Keys that move the view, with the time when they went down.
    held: BTreeMap<Key, f64>,
    /// When the view last moved.
    moved: f64,
    /// Where on the time axis a mark was begun.
    mark_from: Option<trace_model::Timestamp>,
}

impl Hands {
    /// Reads this frame's input and pushes what it means.
    pub fn read(&mut self, ui: &Ui, touch: &Touch<'_>, state: &ViewState, out: &mut Vec<ViewCommand>) {
        let Touch { canvas, ruler, rect, scroll, .. } = *touch;
        let before = out.len();
        let pointer_x = ui.input(|i| i.pointer.hover_pos()).filter(|at| rect.x_range().contains(at.x)).map(|at| at.x);
        let anchor = f64::from((pointer_x.unwrap_or(rect.center().x) - rect.left()) / rect.width().max(1.0));
        if canvas.contains_pointer() || ruler.contains_pointer() {
            wheel(ui, rect, anchor, scroll, out);
        }
        self.drags(ui, touch, out);
        self.keys(ui, rect, anchor, scroll, out);

        let now = ui.input(|i| i.time);
        if out.len() > before || self.mark_from.is_some() {
            self.moved = now;
        }
        if state.in_gesture() {
            if now - self.moved > REST && out.len() == before {
                out.push(ViewCommand::EndGesture);
            } else {
                ui.ctx().request_repaint_after(std::time::Duration::from_secs_f64(REST));
            }
        }
    }

    fn drags(&mut self, ui: &Ui, touch: &Touch<'_>, out: &mut Vec<ViewCommand>) {
        let Touch { canvas, ruler, rect, scroll, time } = *touch;
        let (shift, space) = ui.input(|i| (i.modifiers.shift, i.key_down(Key::Space)));
        let marking = self.mark_from.is_some();
        let grabs = canvas.dragged_by(PointerButton::Middle)
            || canvas.dragged_by(PointerButton::Secondary)
            || (canvas.dragged_by(PointerButton::Primary) && (shift || space) && !marking);
        if grabs {
            let delta = canvas.drag_delta();
            ui.ctx().set_cursor_icon(egui::CursorIcon::Grabbing);
            if delta.x != 0.0 {
                out.push(ViewCommand::Pan(f64::from(-delta.x / rect.width())));
            }
            if delta.y != 0.0 {
                out.push(ViewCommand::ScrollTo(scroll - delta.y));
            }
            return;
        }
        for response in [canvas, ruler] {
            let time_at = |x: f32| time.time_at(f64::from((x - rect.left()) / rect.width()));
            if response.drag_started_by(PointerButton::Primary)
                && let Some(from) = ui.input(|i| i.pointer.press_origin())
            {
                self.mark_from = Some(time_at(from.x));
            }
            if let Some(from) = self.mark_from
                && response.dragged_by(PointerButton::Primary)
                && let Some(to) = response.interact_pointer_pos()
            {
                let to = time_at(to.x);
                out.push(ViewCommand::Mark(TimeRange::new(from.min(to), from.max(to))));
            }
            if response.drag_stopped() {
                self.mark_from = None;
            }
        }
    }

    fn keys(&mut self, ui: &Ui, rect: Rect, anchor: f64, scroll: f32, out: &mut Vec<ViewCommand>) {
        if ui.ctx().egui_wants_keyboard_input() || !ui.input(|i| i.focused) {
            self.held.clear();
            return;
        }
        let (now, dt, modifiers) = ui.input(|i| (i.time, f64::from(i.stable_dt.min(0.1)), i.modifiers));
        // Keys that went down in this frame count for one frame even if they are up again.
        let mut moving = self.held.clone();
        for event in ui.input(|i| i.events.clone()) {
            let Event::Key { key, physical_key, pressed, modifiers, .. } = event else { continue };
            let key = moving_key(key, physical_key.unwrap_or(key));
            match key {
                Some(key) if pressed && !modifiers.command => {
                    self.held.entry(key).or_insert(now);
                    moving.entry(key).or_insert(now);
                }
                Some(key) => drop(self.held.remove(&key)),
                None => {}
            }
        }
        let pace = match (modifiers.shift, modifiers.alt) {
            (true, _) => Pace::Fast,
            (_, true) => Pace::Fine,
            _ => Pace::Normal,
        };
        for (key, since) in moving {
            let held = now - since;
            let pan = pan_points(held, dt, pace) / f64::from(rect.width().max(1.0));
            let zoom = zoom_factor(held, dt, pace);
            out.push(match key {
                Key::W => ViewCommand::Zoom { factor: zoom, anchor },
                Key::S => ViewCommand::Zoom { factor: 1.0 / zoom, anchor },
                Key::A => ViewCommand::Pan(-pan),
                Key::D => ViewCommand::Pan(pan),
                Key::ArrowUp => ViewCommand::ScrollTo(scroll - SCROLL_SPEED * dt as f32),
                _ => ViewCommand::ScrollTo(scroll + SCROLL_SPEED * dt as f32),
            });
        }
        if !self.held.is_empty() {
            ui.ctx().request_repaint();
        }
    }
}

/// Which of the six movements a key makes.
fn moving_key(key: Key, physical: Key) -> Option<Key> {
    match (physical, key) {
        (Key::W | Key::A | Key::S | Key::D, _) => Some(physical),
        (_, Key::Plus | Key::Equals) => Some(Key::W),
        (_, Key::Minus) => Some(Key::S),
        (_, Key::ArrowUp | Key::ArrowDown) => Some(key),
        _ => None,
    }
}

/// Wheel: scroll; with Ctrl or as a pinch: zoom; sideways or with Shift: pan.
fn wheel(ui: &Ui, rect: Rect, anchor: f64, scroll: f32, out: &mut Vec<ViewCommand>) {
    let (zoom, delta) = ui.input(|i| (f64::from(i.zoom_delta()), i.smooth_scroll_delta()));
    if (zoom - 1.0).abs() > 1e-6 {
        out.push(ViewCommand::Zoom { factor: zoom, anchor });
    } else if delta.x.abs() > delta.y.abs() {
        // A touchpad always drifts a little: only the stronger direction counts.
        out.push(ViewCommand::Pan(f64::from(-delta.x / rect.width())));
    } else if delta.y != 0.0 {
        out.push(ViewCommand::ScrollTo((scroll - delta.y * (LANE + 1.0) / LANE).max(0.0)));
    }
}
