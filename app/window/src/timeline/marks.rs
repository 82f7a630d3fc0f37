//! Marks over and under the tracks: steps, the marked area, notes, the ends of the trace.

use std::sync::Arc;

use egui::{Align2, Color32, Galley, Painter, Rangef, Rect, Shape, Stroke, Ui, pos2, vec2};
use trace_model::{TimeRange, Timestamp};

use super::elide::{elided, text_width};
use crate::theme::{Theme, small_font};
use crate::times::time;
use view::compare::TraceSide;
use view::state::TreeItem;
use view::state::ViewState;
use view::timeline::bands::StepBand;
use view::timeline::layout::DrawList;
use view::timeline::trace::OpenTrace;
use view::viewport::Viewport;

/// Narrower bands are not shaded.
const MIN_BAND: f32 = 6.0;

/// Shades every other step behind the tracks.
pub fn bands(
    painter: &Painter,
    canvas: Rect,
    bands: &[StepBand],
    x_of: impl Fn(Timestamp) -> f32,
    theme: &Theme,
) {
    for band in bands {
        let (left, right) = (
            canvas.left() + x_of(band.range.start),
            canvas.left() + x_of(band.range.end),
        );
        if right - left < MIN_BAND {
            continue;
        }
        let rect = Rect::from_x_y_ranges(
            left.max(canvas.left())..=right.min(canvas.right()),
            canvas.y_range(),
        );
        if band.is_odd {
            painter.rect_filled(rect, 0.0, theme.grid.gamma_multiply(0.55));
        }
        painter.vline(left, canvas.y_range(), Stroke::new(1.0, theme.edge));
    }
}

/// Names of steps at the top of the ruler.
pub fn band_names(
    painter: &Painter,
    ruler: Rect,
    bands: &[StepBand],
    x_of: impl Fn(Timestamp) -> f32,
    theme: &Theme,
) {
    // Steps of devices whose clocks differ begin almost together, and their names must not overlap.
    let mut free = ruler.left();
    for band in bands {
        let left = (ruler.left() + x_of(band.range.start)).max(ruler.left());
        let right = (ruler.left() + x_of(band.range.end)).min(ruler.right());
        if right - left < MIN_BAND {
            continue;
        }
        let color = if band.is_outlier {
            theme.warning
        } else {
            theme.text_weak.gamma_multiply(0.55)
        };
        let line = Rect::from_min_max(
            pos2(left + 0.5, ruler.top()),
            pos2(right - 0.5, ruler.top() + 3.0),
        );
        painter.rect_filled(line, 1.0, color);
        let room = right - left - 8.0;
        let at = pos2(left + 4.0, ruler.top() + 9.0);
        let color = if band.is_outlier {
            theme.warning
        } else {
            theme.text
        };
        let width = |text: &str| text_width(painter, text, &small_font());
        // A truncated number would be read as another number.
        let (long, short) = (band.name(), band.short_name());
        let fits = [long.as_str(), &short]
            .into_iter()
            .find(|text| width(text) <= room);
        if let Some(text) = fits.filter(|_| at.x >= free) {
            free =
                at.x + elided(
                    painter,
                    at,
                    Align2::LEFT_CENTER,
                    text,
                    room,
                    &small_font(),
                    color,
                )
                .x + 4.0;
        }
    }
}

/// The step below a point of the ruler.
pub fn band_at(bands: &[StepBand], at: Timestamp) -> Option<&StepBand> {
    bands.iter().rev().find(|band| band.range.contains(at))
}

/// Shades the time before the first and after the last slice.
pub fn outside_of_trace(
    painter: &Painter,
    canvas: Rect,
    extent: TimeRange,
    x_of: impl Fn(Timestamp) -> f32,
    theme: &Theme,
) {
    let (start, end) = (
        canvas.left() + x_of(extent.start),
        canvas.left() + x_of(extent.end),
    );
    let shade = theme.labels;
    if start > canvas.left() {
        painter.rect_filled(canvas.with_max_x(start.min(canvas.right())), 0.0, shade);
    }
    if end < canvas.right() {
        painter.rect_filled(canvas.with_min_x(end.max(canvas.left())), 0.0, shade);
    }
}

pub fn mark(
    painter: &Painter,
    canvas: Rect,
    list: &DrawList,
    trace: &OpenTrace,
    state: &ViewState,
    x_of: impl Fn(Timestamp) -> f32,
    theme: &Theme,
) {
    let Some(mark) = state.place.mark else { return };
    let (left, right) = (
        canvas.left() + x_of(mark.start),
        canvas.left() + x_of(mark.end),
    );
    let x = left.max(canvas.left() - 1.0)..=right.min(canvas.right() + 1.0);
    let fill = theme.accent.gamma_multiply(0.14);
    if state.mark_tracks.is_empty() {
        painter.rect_filled(
            Rect::from_x_y_ranges(x.clone(), canvas.y_range()),
            0.0,
            fill,
        );
    } else {
        for row in list.rows_in(0.0, canvas.height()) {
            let TreeItem::Track(track) = trace.tree.node(row.node).item else {
                continue;
            };
            if state.mark_tracks.contains(&track) {
                let y = canvas.top() + row.y..=canvas.top() + row.y + row.height;
                painter.rect_filled(Rect::from_x_y_ranges(x.clone(), y), 0.0, fill);
            }
        }
    }
    for x in [left, right] {
        painter.vline(x, canvas.y_range(), Stroke::new(1.0, theme.accent));
    }
}

/// The length of the marked area, at the top of its canvas; with interleaved traces, one line per trace.
pub fn mark_length(
    painter: &Painter,
    canvas: Rect,
    side: Option<TraceSide>,
    state: &ViewState,
    x_of: impl Fn(Timestamp) -> f32,
    theme: &Theme,
) {
    let Some(mark) = state.place.mark else { return };
    let (left, right) = (
        canvas.left() + x_of(mark.start),
        canvas.left() + x_of(mark.end),
    );
    let text = time(mark.dur());
    let text = side.map_or_else(|| text.clone(), |side| format!("{}  {text}", side.name()));
    let galley = painter.layout_no_wrap(text, small_font(), theme.text_strong);
    let middle = f32::midpoint(left.max(canvas.left()), right.min(canvas.right()));
    let at = pos2(
        middle - galley.size().x / 2.0,
        canvas.top()
            + if side == Some(TraceSide::B) {
                26.0
            } else {
                6.0
            },
    );
    painter.rect_filled(
        Rect::from_min_size(at, galley.size()).expand2(vec2(6.0, 2.0)),
        4.0,
        theme.raised,
    );
    painter.galley(at, galley, theme.text_strong);
}

/// The pointer position of the other timeline.
pub fn cursor(
    ui: &Ui,
    canvas: Rect,
    strips: &[Rect],
    at: Timestamp,
    time: Viewport,
    theme: &Theme,
) {
    let x = canvas.left() + (time.fraction(at) * f64::from(canvas.width())) as f32;
    if canvas.x_range().contains(x) {
        for strip in strips {
            ui.painter_at(canvas)
                .vline(x, strip.y_range(), Stroke::new(1.0, theme.accent));
        }
    }
}

/// Flags of notes on the ruler, with their texts.
pub fn notes(
    painter: &Painter,
    ruler: Rect,
    state: &ViewState,
    x_of: impl Fn(Timestamp) -> f32,
    theme: &Theme,
) {
    for note in &state.notes {
        let x = ruler.left() + x_of(note.range.start);
        if x < ruler.left() - 200.0 || x > ruler.right() {
            continue;
        }
        let (top, r) = (ruler.bottom() - 11.0, 4.0);
        painter.vline(x, top..=ruler.bottom(), Stroke::new(1.5, theme.warning));
        let flag = vec![
            pos2(x, top),
            pos2(x + 2.0 * r, top + r),
            pos2(x, top + 2.0 * r),
        ];
        painter.add(Shape::convex_polygon(flag, theme.warning, Stroke::NONE));
        let at = pos2(x + 10.0, ruler.bottom() - 6.0);
        elided(
            painter,
            at,
            Align2::LEFT_CENTER,
            &note.text,
            120.0,
            &small_font(),
            theme.warning,
        );
    }
}

/// The time below the pointer, on the ruler.
pub fn pointer_time(painter: &Painter, ruler: Rect, x: f32, at: Timestamp, theme: &Theme) {
    tag(painter, ruler, x, &time(at.since_origin()), theme);
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
    let [left, right] = [mark.start, mark.end].map(|at| ruler.left() + x_of(at));
    let y = ruler.bottom() - 2.0;
    painter.hline(
        left.max(ruler.left())..=right.min(ruler.right()),
        y,
        Stroke::new(2.0, theme.accent),
    );
    for x in [left, right] {
        painter.vline(
            x,
            ruler.bottom() - 16.0..=ruler.bottom(),
            Stroke::new(1.5, theme.accent),
        );
    }
    for (x, at) in cursors(painter, ruler, state, x_of) {
        tag(painter, ruler, x, &time(at.since_origin()), theme);
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
    let ends = [mark.start, mark.end].map(|at| (ruler.left() + x_of(at), at));
    let [left, right] = ends.map(|(x, at)| {
        tag_place(painter, ruler, x, &time(at.since_origin()))
            .0
            .x_range()
    });
    let shown =
        |&(x, _): &(f32, Timestamp)| right.min - left.max > APART && ruler.x_range().contains(x);
    ends.into_iter().filter(shown).collect()
}

/// The parts of the ruler below the times of the pointer and of the cursors: other texts there would be cut.
pub fn covered(
    painter: &Painter,
    ruler: Rect,
    state: &ViewState,
    pointer: Option<Timestamp>,
    x_of: impl Fn(Timestamp) -> f32,
) -> Vec<Rangef> {
    let pointer = pointer.map(|at| (ruler.left() + x_of(at), at));
    let tags = pointer
        .into_iter()
        .chain(cursors(painter, ruler, state, &x_of));
    tags.map(|(x, at)| {
        tag_place(painter, ruler, x, &time(at.since_origin()))
            .0
            .x_range()
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
    let at = pos2(left, ruler.bottom() - galley.size().y - 3.0);
    (
        Rect::from_min_size(at, galley.size()).expand2(vec2(4.0, 1.0)),
        galley,
    )
}
