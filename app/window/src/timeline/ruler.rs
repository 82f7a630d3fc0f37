//! Draws the ruler and the grid of time.

use egui::{Painter, Rangef, Rect, Stroke, pos2};
use trace_model::{Picos, Timestamp};

use crate::theme::{Theme, small_font};
use crate::times;
use view::viewport::Tick;

/// Content of the ruler.
pub struct RulerTicks {
    pub ticks: Vec<Tick>,
    /// Distance between labelled marks.
    pub step: Picos,
    /// The time that the labels count from.
    pub base: Timestamp,
    /// Whether that is not the beginning of the trace.
    pub is_relative: bool,
}

/// The ruler's marks and texts, these only where they are not covered.
pub fn ruler(
    painter: &Painter,
    rect: Rect,
    scale: &RulerTicks,
    covered: &[Rangef],
    x_of: impl Fn(Timestamp) -> f32,
    theme: &Theme,
) {
    let font = small_font();
    for tick in &scale.ticks {
        let x = (rect.left() + x_of(tick.at)).round() + 0.5;
        let height = if tick.major { 8.0 } else { 4.0 };
        painter.line_segment(
            [pos2(x, rect.bottom() - height), pos2(x, rect.bottom())],
            Stroke::new(1.0, theme.edge),
        );
        if tick.major {
            let text = times::format().tick(tick.at - scale.base, scale.step);
            let text = if scale.is_relative && tick.at >= scale.base {
                format!("+{text}")
            } else {
                text
            };
            let galley = painter.layout_no_wrap(text, font.clone(), theme.text_weak);
            // A truncated number would be read as another number.
            if let Some(left) = label_left(rect, x, galley.size().x, covered) {
                painter.galley(
                    pos2(left, rect.bottom() - 11.0 - galley.size().y / 2.0),
                    galley,
                    theme.text_weak,
                );
            }
        }
    }
}

/// The left edge of the label of a mark at `x`; `None` if the ruler does not show all of it.
fn label_left(ruler: Rect, x: f32, width: f32, covered: &[Rangef]) -> Option<f32> {
    let own = Rangef::new(x + 4.0, x + 4.0 + width);
    let is_whole = own.min >= ruler.left() && own.max <= ruler.right();
    (is_whole && !covered.iter().any(|other| other.intersects(own))).then_some(own.min)
}

/// Vertical lines through the tracks at the ruler's labelled marks.
pub fn grid(
    painter: &Painter,
    rect: Rect,
    ticks: &[Tick],
    x_of: impl Fn(Timestamp) -> f32,
    theme: &Theme,
) {
    for tick in ticks.iter().filter(|tick| tick.major) {
        let x = (rect.left() + x_of(tick.at)).round() + 0.5;
        painter.line_segment(
            [pos2(x, rect.top()), pos2(x, rect.bottom())],
            Stroke::new(1.0, theme.grid),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_times_are_not_written_on_the_ruler() {
        let ruler = Rect::from_min_max(pos2(100.0, 0.0), pos2(500.0, 30.0));
        let left = |x| label_left(ruler, x, 40.0, &[Rangef::new(200.0, 260.0)]);
        assert_eq!(left(90.0), None, "150 ms would read 50 ms");
        assert_eq!([left(98.0), left(456.0)], [Some(102.0), Some(460.0)]);
        assert_eq!(left(457.0), None);
        assert_eq!(
            [left(150.0), left(157.0), left(250.0), left(257.0)],
            [Some(154.0), None, None, Some(261.0)]
        );
    }
}
