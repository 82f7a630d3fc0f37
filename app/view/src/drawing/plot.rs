//! The area of a plot: from values to positions and back, and the marks of its axes.

use crate::prelude::*;
use analysis::number::{count, value};

use super::{Anchor, ColorRole, Drawing, DrawingPoint, width_of};

/// A position by the values of both axes.
pub type PlotPlace = (f64, f64);

/// The values at the edges of a plot.
#[derive(Clone, Copy, Debug)]
pub struct PlotRange {
    pub x: (f64, f64),
    pub y: (f64, f64),
}

/// Where a plot lies in its drawing, without its axes.
#[derive(Clone, Copy, Debug)]
pub struct PlotArea {
    pub left: f32,
    pub top: f32,
    pub width: f32,
    pub height: f32,
    pub range: PlotRange,
    /// Size of the texts at the axes.
    pub font: f32,
}

impl PlotArea {
    pub fn x_of(&self, x: f64) -> f32 {
        let (from, to) = self.range.x;
        self.left + ((x - from) / (to - from)) as f32 * self.width
    }

    pub fn y_of(&self, y: f64) -> f32 {
        let (from, to) = self.range.y;
        self.top + self.height - ((y - from) / (to - from)) as f32 * self.height
    }

    pub fn point(&self, (x, y): PlotPlace) -> DrawingPoint {
        (self.x_of(x), self.y_of(y))
    }

    pub fn right(&self) -> f32 {
        self.left + self.width
    }

    pub fn bottom(&self) -> f32 {
        self.top + self.height
    }

    /// The numbers below the plot, as far as there is room for them.
    pub fn x_marks(&self, drawing: &mut Drawing, marks: impl Iterator<Item = (f64, String)>) {
        let mut free_from = f32::NEG_INFINITY;
        for (value, text) in marks {
            let (x, half) = (self.x_of(value), width_of(&text, self.font) / 2.0);
            if x - half >= free_from {
                let (y, color) = (self.bottom() + 1.2 * self.font, ColorRole::TextWeak);
                drawing.text(x, y, Anchor::Middle, self.font, color, &text);
                free_from = x + half + self.font / 2.0;
            }
        }
    }

    /// Lines across the plot with their numbers on the left.
    pub fn y_marks(&self, drawing: &mut Drawing, marks: impl Iterator<Item = (f64, String)>) {
        for (value, text) in marks {
            let y = self.y_of(value);
            drawing.line((self.left, y), (self.right(), y), ColorRole::Edge, 0.6);
            let (x, color) = (self.left - 0.7 * self.font, ColorRole::TextWeak);
            drawing.text(x, y, Anchor::End, self.font, color, &text);
        }
    }
}

/// How many neighbours of a given width share a label: a round number, so that there is room for each.
pub fn neighbours_per_label(width: f32, label: f32) -> usize {
    let round = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];
    round
        .into_iter()
        .find(|&count| count as f32 * width >= label)
        .unwrap_or(2_000)
}

/// `100 TFLOP/s`: powers of ten need no decimals.
pub fn power_of_ten(decade: i32, unit: Unit) -> String {
    let number = 10_f64.powi(decade);
    if unit == Unit::None && decade > 6 {
        return format!("1e{decade}");
    }
    if unit == Unit::None && decade >= 0 {
        return count(number);
    }
    let text = value(number, unit);
    let (digits, rest) = text.split_once(' ').unwrap_or((&text, ""));
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    };
    format!("{digits} {rest}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_labels() {
        assert_eq!(
            [36.0, 20.0, 2.0].map(|width| neighbours_per_label(width, 36.0)),
            [1, 2, 20]
        );
    }

    #[test]
    fn powers_of_ten_have_no_decimals() {
        assert_eq!(power_of_ten(14, Unit::FlopPerSecond), "100 TFLOP/s");
        assert_eq!(
            [-1, 2, 4, 7].map(|decade| power_of_ten(decade, Unit::None)),
            ["0.1", "100", "10,000", "1e7"]
        );
    }

    fn area() -> PlotArea {
        PlotArea {
            left: 10.0,
            top: 20.0,
            width: 200.0,
            height: 100.0,
            range: PlotRange {
                x: (-1.0, 4.0),
                y: (8.0, 12.0),
            },
            font: 11.0,
        }
    }

    #[test]
    fn corners_are_at_the_ends_of_the_range() {
        let area = area();
        assert_eq!(area.point((-1.0, 8.0)), (10.0, 120.0));
        assert_eq!(area.point((4.0, 12.0)), (210.0, 20.0));
    }
}
