//! Bytes in use over time, or over the instructions of a program.

use super::ChartFrame;
use crate::drawing::{Anchor, ColorRole, Drawing, Ink};

/// A value for each part of the width, where it is known, with two times marked.
pub struct BytesCurve<'a> {
    pub bytes: &'a [Option<f32>],
    /// The times, as shares of the width.
    pub peak: f32,
    pub cursor: f32,
    /// What the highest value is.
    pub caption: &'a str,
}

impl BytesCurve<'_> {
    pub fn draw(&self, frame: &ChartFrame) -> Drawing {
        let (width, height) = (frame.width, frame.height);
        let mut drawing = Drawing::new(width, height, ColorRole::Canvas);
        drawing.rect(0.0, 0.0, width, height, ColorRole::Canvas, "");
        let most = self.bytes.iter().flatten().copied().fold(1.0, f32::max);
        let slot = width / self.bytes.len().max(1) as f32;
        // At most one bar for each pixel, with the highest value in it.
        let mut bars: Vec<((f32, f32), (f32, f32))> = Vec::new();
        for (at, bytes) in self.bytes.iter().enumerate() {
            let Some(bytes) = *bytes else { continue };
            let (x, own) = ((slot * at as f32).floor(), bytes / most * (height - 16.0));
            let right = (slot * (at + 1) as f32).max(x + 1.0);
            match bars.last_mut() {
                Some((place, (_, highest))) if place.0 >= x => {
                    *highest = highest.max(own);
                    place.1 = height - *highest;
                }
                _ => bars.push(((x, height - own), (right - x, own))),
            }
        }
        let fill = Ink::from(ColorRole::Counter).over(ColorRole::Canvas, 0.6);
        drawing.bars(bars, fill);
        for (share, role, thick) in [
            (self.peak, ColorRole::Warning, 1.0),
            (self.cursor, ColorRole::TextStrong, 1.5),
        ] {
            let x = share * width;
            drawing.line((x, 0.0), (x, height), role, thick);
        }
        let at = (4.0, 2.0 + frame.font / 2.0);
        drawing.label(at, Anchor::Start, frame.font, ColorRole::Text, self.caption);
        drawing
    }
}
