//! Bytes in use over time, or over the instructions of a program.

use super::ChartFrame;
use crate::drawing::{Anchor, ColorRole, Drawing, DrawingPoint, Ink};

/// `bytes` for each part of the width, where they are known; `peak` and `cursor` are shares of the width, and `caption`
/// says what the highest value is.
pub fn bytes_curve(
    bytes: impl ExactSizeIterator<Item = Option<f64>> + Clone,
    (peak, cursor): (f32, f32),
    caption: &str,
    frame: &ChartFrame,
) -> Drawing {
    let (width, height) = (frame.width, frame.height);
    let mut drawing = Drawing::new(width, height, ColorRole::Canvas);
    drawing.rect(0.0, 0.0, width, height, ColorRole::Canvas, "");
    let most = bytes.clone().flatten().fold(1.0, f64::max);
    let slot = width / bytes.len().max(1) as f32;
    // At most one bar for each pixel, with the highest value in it.
    let mut bars: Vec<(DrawingPoint, (f32, f32))> = Vec::new();
    for (index, bytes) in bytes.enumerate() {
        let Some(bytes) = bytes else { continue };
        let x = (slot * index as f32).floor();
        let right = (slot * (index + 1) as f32).max(x + 1.0);
        let bar_height = (bytes / most) as f32 * (height - 16.0);
        match bars.last_mut() {
            Some((place, size)) if place.0 >= x => {
                size.1 = size.1.max(bar_height);
                place.1 = height - size.1;
            }
            _ => bars.push(((x, height - bar_height), (right - x, bar_height))),
        }
    }
    let fill = Ink::from(ColorRole::Counter).over(ColorRole::Canvas, 0.6);
    drawing.bars(bars, fill);
    for (share, role, thick) in [
        (peak, ColorRole::Warning, 1.0),
        (cursor, ColorRole::TextStrong, 1.5),
    ] {
        let x = share * width;
        drawing.line((x, 0.0), (x, height), role, thick);
    }
    let position = (4.0, 2.0 + frame.font / 2.0);
    drawing.label(
        position,
        Anchor::Start,
        frame.font,
        ColorRole::Text,
        caption,
    );
    drawing
}
