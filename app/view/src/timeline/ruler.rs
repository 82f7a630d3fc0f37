//! The ruler of time: its marks and their texts.

use crate::prelude::*;

use crate::drawing::{Anchor, ColorRole, Drawing, width_of};
use crate::time_format::TimeFormat;
use crate::timeline::marks::{FONT, TimeArea};
use crate::viewport::{Tick, roundness, ruler_base, tick_step, ticks};

/// Height of the ruler, with names of steps above its numbers.
pub const HEIGHT: f32 = 34.0;

pub struct TimeRuler {
    ticks: Vec<Tick>,
    /// Distance between labelled marks.
    step: Picos,
    /// The time that the labels count from.
    base: Timestamp,
    format: TimeFormat,
}

impl TimeRuler {
    pub fn new(area: &TimeArea, format: TimeFormat) -> Self {
        let step = tick_step(&area.time, area.width, format.tick_distance());
        Self {
            ticks: ticks(&area.time, Timestamp::ZERO, step),
            step,
            base: ruler_base(&area.time, Timestamp::ZERO, step),
            format,
        }
    }

    /// `5 ms +`: the time that the labels count from, if that is not the beginning of the trace.
    pub fn base_text(&self) -> Option<String> {
        let base = self.base.since_origin();
        let text = || format!("{} +", self.format.tick(base, roundness(base)));
        (base != Picos::ZERO).then(text)
    }

    fn label(&self, time: Timestamp) -> String {
        let text = self.format.tick(time - self.base, self.step);
        if self.base != Timestamp::ZERO && time >= self.base {
            format!("+{text}")
        } else {
            text
        }
    }

    /// The marks and texts at the bottom of the ruler, the texts only where they are whole and not `covered`.
    pub fn draw(&self, drawing: &mut Drawing, area: &TimeArea, covered: &[(f32, f32)]) {
        let bottom = area.bottom();
        for tick in &self.ticks {
            let (x, height) = (sharp(area, tick), if tick.major { 8.0 } else { 4.0 });
            drawing.line((x, bottom - height), (x, bottom), ColorRole::Edge, 1.0);
            if tick.major {
                let text = self.label(tick.at);
                let extent = (x + 4.0, x + 4.0 + width_of(&text, FONT));
                // A truncated number would be read as another number.
                if extent.0 >= area.left && extent.1 <= area.right() && is_beside(extent, covered) {
                    let (y, color) = (bottom - 11.0, ColorRole::TextWeak);
                    drawing.text(extent.0, y, Anchor::Start, FONT, color, &text);
                }
            }
        }
    }

    /// Lines through the tracks at the labelled marks.
    pub fn grid(&self, drawing: &mut Drawing, area: &TimeArea) {
        for tick in self.ticks.iter().filter(|tick| tick.major) {
            let x = sharp(area, tick);
            drawing.line((x, area.top), (x, area.bottom()), ColorRole::Grid, 1.0);
        }
    }
}

/// The position of a mark in the middle of a pixel, where its line is sharp.
fn sharp(area: &TimeArea, tick: &Tick) -> f32 {
    area.x_of(tick.at).round() + 0.5
}

fn is_beside(extent: (f32, f32), covered: &[(f32, f32)]) -> bool {
    covered
        .iter()
        .all(|other| extent.1 < other.0 || other.1 < extent.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::DrawingShape;
    use crate::viewport::Viewport;
    use trace_model::TimeRange;

    #[test]
    fn truncated_times_are_not_written_on_the_ruler() {
        let range = TimeRange::new(Timestamp::from_ps(0), Timestamp::from_ps(1_000_000));
        let area = TimeArea {
            left: 0.0,
            top: 0.0,
            width: 1_000.0,
            height: 30.0,
            time: Viewport::of(range),
        };
        let ruler = TimeRuler::new(&area, TimeFormat::Digits);
        let texts = |covered: &[(f32, f32)]| {
            let mut drawing = Drawing::new(1_000.0, 30.0, ColorRole::Labels);
            ruler.draw(&mut drawing, &area, covered);
            let texts = drawing.shapes.into_iter().filter_map(|shape| match shape {
                DrawingShape::Text { text, .. } => Some(text),
                _ => None,
            });
            texts.collect::<Vec<_>>()
        };
        let all = texts(&[]);
        assert_eq!(all.first().map(String::as_str), Some("0"));
        // The last one would not end within the ruler.
        assert_eq!(all.last().map(String::as_str), Some("900 ns"));
        assert_eq!(texts(&[(320.0, 325.0)]).len(), all.len() - 1);
    }
}
