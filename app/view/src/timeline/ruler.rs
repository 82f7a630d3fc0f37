//! The ruler of time: its marks and their texts.

use trace_model::{Picos, Timestamp};

use crate::drawing::{Anchor, ColorRole, Drawing, width_of};
use crate::time_format::TimeFormat;
use crate::viewport::{Tick, Viewport, ruler_base, tick_step, ticks};

/// Size of the texts.
const FONT: f32 = 11.0;

pub struct TimeRuler {
    ticks: Vec<Tick>,
    /// Distance between labelled marks.
    step: Picos,
    /// The time that the labels count from.
    base: Timestamp,
    time: Viewport,
    format: TimeFormat,
    /// Of the ruler, and of the tracks below it.
    width: f32,
}

impl TimeRuler {
    pub fn new(time: Viewport, width: f32, format: TimeFormat) -> Self {
        let step = tick_step(&time, width, format.tick_distance());
        Self {
            ticks: ticks(&time, Timestamp::ZERO, step),
            step,
            base: ruler_base(&time, Timestamp::ZERO, step),
            time,
            format,
            width,
        }
    }

    /// The time that the labels count from, if that is not the beginning of the trace.
    pub fn base(&self) -> Option<Picos> {
        (self.base != Timestamp::ZERO).then(|| self.base.since_origin())
    }

    /// That time as a text, with as many digits as the labels.
    pub fn base_text(&self) -> Option<String> {
        let base = self.base()?;
        Some(format!("{} +", self.format.tick(base, self.step)))
    }

    fn label(&self, at: Timestamp) -> String {
        let text = self.format.tick(at - self.base, self.step);
        if self.base().is_some() && at >= self.base {
            format!("+{text}")
        } else {
            text
        }
    }

    /// In the middle of a pixel, so that a line is sharp.
    fn x_of(&self, tick: &Tick) -> f32 {
        (self.time.fraction(tick.at) * f64::from(self.width)).round() as f32 + 0.5
    }

    /// The marks and texts above `bottom`, the texts only where they are whole and not `covered`.
    pub fn draw(&self, drawing: &mut Drawing, left: f32, bottom: f32, covered: &[(f32, f32)]) {
        for tick in &self.ticks {
            let (x, height) = (self.x_of(tick), if tick.major { 8.0 } else { 4.0 });
            let at = |y| (left + x, y);
            drawing.line(at(bottom - height), at(bottom), ColorRole::Edge, 1.0);
            if tick.major {
                let text = self.label(tick.at);
                let own = (x + 4.0, x + 4.0 + width_of(&text, FONT));
                // A truncated number would be read as another number.
                if own.0 >= 0.0 && own.1 <= self.width && is_beside(own, covered) {
                    let (x, y) = (left + own.0, bottom - 11.0);
                    drawing.text(x, y, Anchor::Start, FONT, ColorRole::TextWeak, &text);
                }
            }
        }
    }

    /// Lines through the tracks at the labelled marks.
    pub fn grid(&self, drawing: &mut Drawing, left: f32, top: f32, bottom: f32) {
        for tick in self.ticks.iter().filter(|tick| tick.major) {
            let x = left + self.x_of(tick);
            drawing.line((x, top), (x, bottom), ColorRole::Grid, 1.0);
        }
    }
}

fn is_beside(own: (f32, f32), covered: &[(f32, f32)]) -> bool {
    covered
        .iter()
        .all(|other| own.1 < other.0 || other.1 < own.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::DrawingShape;
    use trace_model::TimeRange;

    #[test]
    fn truncated_times_are_not_written_on_the_ruler() {
        let range = TimeRange::new(Timestamp::from_ps(0), Timestamp::from_ps(1_000_000));
        let ruler = TimeRuler::new(Viewport::of(range), 1_000.0, TimeFormat::Digits);
        let texts = |covered: &[(f32, f32)]| {
            let mut drawing = Drawing::new(1_000.0, 30.0, ColorRole::Labels);
            ruler.draw(&mut drawing, 0.0, 30.0, covered);
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
