//! Marks over and under the tracks: steps, the marked area, notes, the ends of the trace.

use crate::prelude::*;
use egui::Galley;

use super::elide::elided;
use crate::theme::{Theme, small_font};
use crate::times::time;
use view::drawing::Drawing;
use view::timeline::marks::TimeArea;

/// Width of the flag of a note, with the gap behind it.
const FLAG: f32 = 10.0;

/// The step below a point of the ruler.
pub fn band_at(bands: &[StepBand], time: Timestamp) -> Option<&StepBand> {
    bands.iter().rev().find(|band| band.range.contains(time))
}

/// The length of the marked range; with interleaved traces, one line per trace.
pub fn mark_length(
    drawing: &mut Drawing,
    area: &TimeArea,
    side: Option<TraceSide>,
    state: &ViewState,
) {
    let Some(mark) = state.place.mark else { return };
    let length = time(mark.dur());
    let text = side.map_or_else(
        || length.clone(),
        |side| format!("{}  {length}", side.name()),
    );
    let line = u8::from(side == Some(TraceSide::B));
    area.mark_length(drawing, mark, &text, line);
}

/// The pointer position of the other timeline.
pub fn cursor(
    ui: &Ui,
    canvas: Rect,
    strips: &[Rect],
    instant: Timestamp,
    time: Viewport,
    theme: &Theme,
) {
    let x = canvas.left() + (time.fraction(instant) * f64::from(canvas.width())) as f32;
    if canvas.x_range().contains(x) {
        for strip in strips {
            ui.painter_at(canvas)
                .vline(x, strip.y_range(), (1.0, theme.accent));
        }
    }
}

/// Flags of notes on the ruler, with their texts.
pub fn notes(
    painter: &Painter,
    ruler: Rect,
    state: &ViewState,
    pointer: Option<Timestamp>,
    x_of: impl Fn(Timestamp) -> f32,
    theme: &Theme,
) {
    let tags = tags(painter, ruler, state, pointer, &x_of);
    for (x, room, note) in note_places(painter, ruler, state, &tags, x_of) {
        let (top, r) = (ruler.bottom() - 11.0, 4.0);
        painter.vline(x, top..=ruler.bottom(), (1.5, theme.warning));
        let flag = vec![
            pos2(x, top),
            pos2(x + 2.0 * r, top + r),
            pos2(x, top + 2.0 * r),
        ];
        painter.add(Shape::convex_polygon(flag, theme.warning, Stroke::NONE));
        let pos = pos2(x + FLAG, ruler.bottom() - 6.0);
        elided(
            painter,
            pos,
            Align2::LEFT_CENTER,
            note,
            room,
            &small_font(),
            theme.warning,
        );
    }
}

/// Where each visible note has its flag, the room of its text, which ends before the next flag, and its text; below the times
/// of the pointer and of the cursors there is no room.
fn note_places<'a>(
    painter: &Painter,
    ruler: Rect,
    state: &'a ViewState,
    tags: &[(f32, f32)],
    x_of: impl Fn(Timestamp) -> f32,
) -> Vec<(f32, f32, &'a str)> {
    const MOST: f32 = 120.0;
    let mut flags: Vec<f32> = state
        .notes
        .iter()
        .map(|note| note.range.start)
        .map(|time| ruler.left() + x_of(time))
        .collect();
    let places: Vec<f32> = flags.clone();
    flags.sort_by(f32::total_cmp);
    let of_note = |(&x, text): (&f32, &'a str)| {
        let next = flags.iter().find(|&&other| other > x + 1.0);
        let free = next.map_or(MOST, |next| (next - x - FLAG - 4.0).clamp(0.0, MOST));
        let galley = painter.layout_no_wrap(text.to_owned(), small_font(), Color32::PLACEHOLDER);
        let room = galley.size().x.min(free);
        let is_beside = |&(left, right): &(f32, f32)| x + FLAG + room < left || right < x + FLAG;
        (
            x,
            if tags.iter().all(is_beside) {
                room
            } else {
                0.0
            },
            text,
        )
    };
    let texts = state.notes.iter().map(|note| note.text.as_str());
    let is_seen = |&(x, ..): &(f32, f32, &str)| x > ruler.left() - 200.0 && x <= ruler.right();
    places
        .iter()
        .zip(texts)
        .map(of_note)
        .filter(is_seen)
        .collect()
}

/// The time below the pointer, on the ruler.
pub fn pointer_time(painter: &Painter, ruler: Rect, x: f32, instant: Timestamp, theme: &Theme) {
    tag(painter, ruler, x, &time(instant.since_origin()), theme);
}

/// The times at both ends of the marked range, on the ruler, with a line between them.
pub fn between_cursors(
    painter: &Painter,
    ruler: Rect,
    state: &ViewState,
    x_of: impl Fn(Timestamp) -> f32,
    theme: &Theme,
) {
    let Some(mark) = state.place.mark else { return };
    let [left, right] = [mark.start, mark.end].map(|instant| ruler.left() + x_of(instant));
    let y = ruler.bottom() - 2.0;
    painter.hline(
        left.max(ruler.left())..=right.min(ruler.right()),
        y,
        (2.0, theme.accent),
    );
    for x in [left, right] {
        painter.vline(
            x,
            ruler.bottom() - 16.0..=ruler.bottom(),
            (1.5, theme.accent),
        );
    }
    for (x, instant) in cursors(painter, ruler, state, x_of) {
        tag(painter, ruler, x, &time(instant.since_origin()), theme);
    }
}

/// The ends of the marked range that the ruler shows with their times: both, or none if one time would cover the other.
fn cursors(
    painter: &Painter,
    ruler: Rect,
    state: &ViewState,
    x_of: impl Fn(Timestamp) -> f32,
) -> Vec<(f32, Timestamp)> {
    /// Least distance of two times.
    const APART: f32 = 6.0;
    let Some(mark) = state.place.mark else {
        return Vec::new();
    };
    let ends = [mark.start, mark.end].map(|instant| (ruler.left() + x_of(instant), instant));
    let [left, right] = ends.map(|(x, instant)| {
        tag_place(painter, ruler, x, &time(instant.since_origin()))
            .0
            .x_range()
    });
    let shown =
        |&(x, _): &(f32, Timestamp)| right.min - left.max > APART && ruler.x_range().contains(x);
    ends.into_iter().filter(shown).collect()
}

/// From the left of the ruler, the parts of it below notes and the times of the pointer and of the cursors: other texts there
/// would be cut.
pub fn covered(
    painter: &Painter,
    ruler: Rect,
    state: &ViewState,
    pointer: Option<Timestamp>,
    x_of: impl Fn(Timestamp) -> f32,
) -> Vec<(f32, f32)> {
    let tags = tags(painter, ruler, state, pointer, &x_of);
    note_places(painter, ruler, state, &tags, &x_of)
        .iter()
        .map(|&(x, room, _)| (x - 2.0, x + FLAG + room))
        .chain(tags.iter().copied())
        .map(|(left, right)| (left - ruler.left(), right - ruler.left()))
        .collect()
}

/// The horizontal ranges of the times of the pointer and of the cursors.
fn tags(
    painter: &Painter,
    ruler: Rect,
    state: &ViewState,
    pointer: Option<Timestamp>,
    x_of: impl Fn(Timestamp) -> f32,
) -> Vec<(f32, f32)> {
    let tags = pointer
        .map(|instant| (ruler.left() + x_of(instant), instant))
        .into_iter()
        .chain(cursors(painter, ruler, state, &x_of));
    tags.map(|(x, instant)| {
        let (tag, _) = tag_place(painter, ruler, x, &time(instant.since_origin()));
        (tag.left(), tag.right())
    })
    .collect()
}

/// A text on the ruler at a position, within its ends.
fn tag(painter: &Painter, ruler: Rect, x: f32, text: &str, theme: &Theme) {
    let (rect, galley) = tag_place(painter, ruler, x, text);
    painter.rect_filled(rect, 3.0, theme.raised);
    painter.galley(rect.min + vec2(4.0, 1.0), galley, theme.text_strong);
}

fn tag_place(painter: &Painter, ruler: Rect, x: f32, text: &str) -> (Rect, Arc<Galley>) {
    let galley = painter.layout_no_wrap(text.to_owned(), small_font(), Color32::PLACEHOLDER);
    let most = (ruler.right() - galley.size().x - 4.0).max(ruler.left() + 4.0);
    let left = (x - galley.size().x / 2.0).clamp(ruler.left() + 4.0, most);
    let corner = pos2(left, ruler.bottom() - galley.size().y - 3.0);
    (
        Rect::from_min_size(corner, galley.size()).expand2(vec2(4.0, 1.0)),
        galley,
    )
}
