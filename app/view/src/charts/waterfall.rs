//! Why a step changed: each bar begins where the one above it ends, and the last one is the whole change.

use crate::prelude::*;
use analysis::compare::{WhyRow, signed};

use super::{Chart, ChartFrame, ChartSwatch};
use crate::drawing::{Anchor, ColorRole, Drawing, Ink};

/// Height of a row.
pub const ROW: f32 = 22.0;
/// Share of the width for names, and for numbers.
const NAMES: f32 = 0.36;
const NUMBERS: f32 = 0.16;
/// Bars of ops are paler than those of the use that they belong to.
const BELOW: f32 = 0.55;

pub struct Waterfall<'a> {
    pub rows: &'a [WhyRow],
}

impl Waterfall<'_> {
    pub fn height(&self) -> f32 {
        ROW * self.rows.len() as f32
    }

    /// Where each bar begins and ends, in picoseconds.
    pub fn spans(&self) -> Vec<(f64, f64)> {
        let (mut end_of_uses, mut end_of_ops) = (0.0, 0.0);
        let last = self.rows.len().saturating_sub(1);
        let span = |(index, row): (usize, &WhyRow)| {
            if index == last {
                return (0.0, row.change_ps);
            }
            if row.is_below {
                let begin = end_of_ops;
                end_of_ops += row.change_ps;
                return (begin, end_of_ops);
            }
            let begin = end_of_uses;
            (end_of_ops, end_of_uses) = (begin, begin + row.change_ps);
            (begin, end_of_uses)
        };
        self.rows.iter().enumerate().map(span).collect()
    }
}

/// The colour of more and of less time.
fn role_of(change_ps: f64) -> ColorRole {
    if change_ps > 0.0 {
        ColorRole::Warning
    } else {
        ColorRole::Accent
    }
}

/// `idle: 1.000 ms → 2.000 ms, +1.000 ms`
pub fn title_of(row: &WhyRow) -> String {
    let time = |ps: Option<f64>| ps.map_or("–".to_owned(), |ps| Picos::rounded(ps).to_string());
    let (base, cand) = (time(row.base_ps), time(row.cand_ps));
    format!("{}: {base} → {cand}, {}", row.name, signed(row.change_ps))
}

impl Chart for Waterfall<'_> {
    fn legend(&self, _: &ChartFrame) -> Vec<ChartSwatch> {
        vec![
            ChartSwatch::new(role_of(1.0), "more time than in the base"),
            ChartSwatch::new(role_of(-1.0), "less"),
        ]
    }

    fn draw(&self, frame: &ChartFrame) -> Drawing {
        let mut drawing = Drawing::new(frame.width, self.height(), ColorRole::Panel);
        let spans = self.spans();
        let (low, high) = spans
            .iter()
            .flat_map(|&(begin, end)| [begin, end])
            .fold((0.0_f64, 0.0_f64), |(low, high), end| {
                (low.min(end), high.max(end))
            });
        let names = frame.width * NAMES;
        let room = frame.width - names - frame.width * NUMBERS;
        let place = |ps: f64| {
            let share = if high > low {
                (ps - low) / (high - low)
            } else {
                0.0
            };
            names + room * share as f32
        };
        for (index, (row, (begin, end))) in self.rows.iter().zip(spans).enumerate() {
            let top = ROW * index as f32;
            let middle = top + ROW / 2.0;
            let indent = if row.is_below { 10.0 } else { 0.0 };
            let color = if index + 1 == self.rows.len() {
                ColorRole::TextStrong
            } else {
                ColorRole::Text
            };
            let (x, wide) = (4.0 + indent, names - indent - 10.0);
            drawing.fitted_name((x, middle), wide, frame.font, color, &row.name);
            let (left, right) = (place(begin.min(end)), place(begin.max(end)));
            let share = if row.is_below { BELOW } else { 1.0 };
            let fill = Ink::from(role_of(row.change_ps)).over(ColorRole::Panel, share);
            let title = frame.titled(|| title_of(row));
            let (thin, width) = (
                if row.is_below { 6.0 } else { 4.0 },
                (right - left).max(1.0),
            );
            drawing.rect(left, top + thin, width, ROW - 2.0 * thin, fill, &title);
            let number = signed(row.change_ps);
            drawing.text(
                frame.width - 4.0,
                middle,
                Anchor::End,
                frame.font,
                color,
                &number,
            );
            drawing.hit(0.0, top, frame.width, ROW, index);
        }
        drawing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, is_below: bool, change_ps: f64) -> WhyRow {
        WhyRow {
            name: name.to_owned(),
            is_below,
            change_ps,
            ..WhyRow::default()
        }
    }

    #[test]
    fn bars_add_up() {
        let rows = [
            row("matrix products", false, -8.0),
            row("fusions", true, -20.0),
            row("kernels", true, 12.0),
            row("idle", false, 3.0),
            row("the step", false, -5.0),
        ];
        let spans = Waterfall { rows: &rows }.spans();
        assert_eq!(
            spans,
            [
                (0.0, -8.0),
                (0.0, -20.0),
                (-20.0, -8.0),
                (-8.0, -5.0),
                (0.0, -5.0)
            ]
        );
    }
}
