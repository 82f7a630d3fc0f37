//! The distribution of durations, with one of them marked.

use session::number::counted;

use super::ChartFrame;
use crate::drawing::{Anchor, ColorRole, Drawing, Ink};
use crate::panels::histogram::Histogram;

/// Height of the line of times below the bars.
pub const BELOW: f32 = 14.0;

/// The bars, shortest durations at the left; each reacts to the pointer.
pub fn histogram(histogram: &Histogram, marked_ps: i64, frame: &ChartFrame) -> Drawing {
    let (width, bottom) = (frame.width, frame.height - BELOW);
    let mut drawing = Drawing::new(width, frame.height, ColorRole::Panel);
    drawing.rect(0.0, 0.0, width, bottom, ColorRole::Raised, "");
    let most = histogram.bars.iter().copied().max().unwrap_or(1).max(1);
    let slot = width / histogram.bars.len().max(1) as f32;
    let marked_bar = histogram.bar_of(marked_ps);
    for (bar, &count) in histogram.bars.iter().enumerate() {
        let left = bar as f32 * slot;
        drawing.hit(left, 0.0, slot, frame.height, bar);
        if count == 0 {
            continue;
        }
        // Heights follow the square root, so that a single outlier stays visible next to thousands.
        let height = ((bottom - 4.0) * (count as f32 / most as f32).sqrt()).max(2.0);
        let fill = if bar == marked_bar {
            ColorRole::Warning.into()
        } else {
            Ink::from(ColorRole::Accent).over(ColorRole::Raised, 0.75)
        };
        let room = (slot - 1.0).max(1.0);
        drawing.rect(left, bottom - height, room, height, fill, "");
    }
    let mark = (marked_bar as f32 + 0.5) * slot;
    drawing.line((mark, 0.0), (mark, bottom), ColorRole::Warning, 1.0);
    let median = format!("median {}", frame.time(histogram.median));
    for (x, anchor, text) in [
        (0.0, Anchor::Start, frame.time(histogram.min)),
        (width / 2.0, Anchor::Middle, median),
        (width, Anchor::End, frame.time(histogram.max)),
    ] {
        let (y, color) = (frame.height - 6.0, ColorRole::TextWeak);
        drawing.text(x, y, anchor, frame.font, color, &text);
    }
    // The count of the highest bar.
    let (position, most) = ((3.0, 1.0 + frame.font / 2.0), counted(most as u64, "slice"));
    drawing.label(position, Anchor::Start, frame.font, ColorRole::Text, &most);
    for share in histogram.powers_of_ten() {
        let x = share * width;
        drawing.line((x, bottom - 4.0), (x, bottom), ColorRole::TextWeak, 1.0);
    }
    drawing
}
