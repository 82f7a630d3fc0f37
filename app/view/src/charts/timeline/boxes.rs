//! What the tracks hold: slices, columns of short ones, and counters.

use super::TimelinePicture;
use crate::drawing::{ColorRole, Drawing, DrawingPoint, Ink};
use crate::palette::ColorKey;
use crate::prelude::*;
use crate::timeline::inks::{faint, key_of, slice_inks};
use crate::timeline::layout::{DrawnColumns, SliceBox};
use crate::timeline::marks::FONT;
use crate::timeline::tree::LANE;

impl TimelinePicture<'_> {
    /// Columns, as bars of each colour; marks of what is too short to be seen.
    pub(super) fn columns(&self, drawing: &mut Drawing, columns: &DrawnColumns, is_dim: bool) {
        type Boxes = Vec<(DrawingPoint, (f32, f32))>;
        let mut bars: BTreeMap<(bool, ColorKey), Boxes> = BTreeMap::new();
        for bar in columns.bars() {
            let position = (self.area.left + bar.left, self.area.top + bar.top);
            let of_color = bars.entry((bar.is_mark, bar.color)).or_default();
            of_color.push((position, (bar.right - bar.left, bar.bottom - bar.top)));
        }
        for ((is_mark, color), bars) in bars {
            let (fill, _) = slice_inks(Some(color), is_dim);
            drawing.bars(bars, if is_mark { faint(fill) } else { fill });
        }
    }

    /// The box of a slice, over its columns or over other slices.
    pub(super) fn slice(
        &self,
        drawing: &mut Drawing,
        drawn: &SliceBox,
        is_dim: bool,
        has_columns: bool,
    ) {
        let Some(key) = key_of(drawn, self.keys) else {
            return;
        };
        let (fill, text) = slice_inks(Some(key), is_dim);
        let (x, y, width) = (
            self.area.left + drawn.left,
            self.area.top + drawn.top,
            drawn.right - drawn.left,
        );
        if drawn.count > 1 {
            let height = drawn.height * (0.25 + 0.75 * drawn.fill);
            drawing.rect(x, y + drawn.height - height, width, height, fill, "");
            return;
        }
        let model = &self.trace.model;
        let name = model.str(model.label(drawn.label).name);
        // A column that it shares with its neighbours shows both.
        let (from, to) = if has_columns {
            (x.ceil(), (x + width).floor())
        } else {
            (x, x + width)
        };
        // Titles make the file several times as large, so only boxes that are wide enough to point at have one.
        let time = || self.times.text(model.slice(drawn.slice).measured_dur());
        let title = if width >= 6.0 {
            format!("{name}: {}", time())
        } else {
            String::new()
        };
        drawing.rect(from, y, to - from, drawn.height, fill, &title);
        drawing.rect(x + width - 1.0, y, 1.0, drawn.height, faint(fill), "");
        if let Some([corner, _, _]) = drawn.notch() {
            // Pictures have no triangles.
            let (from, side) = (
                self.area.left + corner.0,
                x + width - 1.0 - (self.area.left + corner.0),
            );
            for line in 0..side as u8 {
                let line = f32::from(line);
                drawing.rect(
                    from + line,
                    y + line,
                    side - line,
                    1.0,
                    ColorRole::Canvas,
                    "",
                );
            }
        }
        if !is_dim && self.only.get(drawn.label.index()).is_some_and(|&only| only) {
            let (from, to) = (
                x.max(self.area.left),
                (x + width - 1.0).min(self.area.left + self.area.width),
            );
            Self::hatches(
                drawing,
                (from, y),
                to - from,
                Ink::from(ColorRole::OnSlice(key)).over(ColorRole::Slice(key), 0.25),
            );
        }
        if drawn.has_text {
            let from = drawn.left.max(0.0) + 4.0;
            let room = drawn.right.min(self.area.width) - 4.0 - from;
            drawing.fitted(
                self.area.left + from,
                y + drawn.height / 2.0,
                room,
                FONT,
                text,
                name,
            );
        }
    }

    /// Slanted lines over a box.
    fn hatches(drawing: &mut Drawing, (x, y): (f32, f32), width: f32, color: Ink) {
        const PITCH: f32 = 7.0;
        // Boxes may reach far out of the picture.
        let lines = ((width + LANE) / PITCH).clamp(0.0, 4_000.0) as u16;
        for line in 0..=lines {
            let start = f32::from(line) * PITCH - LANE;
            // From the bottom to the top right, cut at the sides of the box.
            let (from, to) = ((-start).clamp(0.0, LANE), (width - start).clamp(0.0, LANE));
            if to > from {
                drawing.line(
                    (x + start + from, y + LANE - from),
                    (x + start + to, y + LANE - to),
                    color,
                    1.2,
                );
            }
        }
    }
}
