//! Marks of times over and under the tracks and at the top of the ruler: steps, the marked range, the ends of the trace.

use crate::prelude::*;

use crate::drawing::{Anchor, ColorRole, Drawing, Ink, neighbours_per_label, width_of};
use crate::state::{TreeItem, ViewState};
use crate::timeline::bands::StepBand;
use crate::timeline::layout::DrawList;
use crate::timeline::tree::TrackTree;
use crate::viewport::Viewport;

/// Narrower bands are not drawn, unless the others are wider: some of about this width would look like a change.
const MIN_BAND: f32 = 6.0;
/// Bands of this width are drawn whatever the others are.
const WIDE_BAND: f32 = 18.0;
/// Size of the texts.
pub const FONT: f32 = 11.5;

/// An area of a drawing whose width is a part of the time.
#[derive(Clone, Copy)]
pub struct TimeArea {
    pub left: f32,
    pub top: f32,
    pub width: f32,
    pub height: f32,
    pub time: Viewport,
}

impl TimeArea {
    pub fn x_of(&self, time: Timestamp) -> f32 {
        let share = self.time.fraction(time).clamp(-4.0, 5.0);
        self.left + (share * f64::from(self.width)) as f32
    }

    pub fn right(&self) -> f32 {
        self.left + self.width
    }

    pub fn bottom(&self) -> f32 {
        self.top + self.height
    }

    /// The visible part of a range.
    fn ends(&self, range: TimeRange) -> (f32, f32) {
        let (from, to) = (self.x_of(range.start), self.x_of(range.end));
        (from.max(self.left), to.min(self.right()))
    }

    fn fill(&self, drawing: &mut Drawing, (from, to): (f32, f32), ink: impl Into<Ink>) {
        if to > from {
            drawing.rect(from, self.top, to - from, self.height, ink, "");
        }
    }

    fn line(&self, drawing: &mut Drawing, x: f32, role: ColorRole) {
        drawing.line((x, self.top), (x, self.bottom()), role, 1.0);
    }

    /// Shades every other step behind the tracks.
    pub fn bands(&self, drawing: &mut Drawing, bands: &[StepBand]) {
        let least = least_width(self.usual_width(bands));
        for band in bands {
            let ends = self.ends(band.range);
            if ends.1 - ends.0 < least {
                continue;
            }
            if band.is_odd {
                self.fill(drawing, ends, Ink::from(ColorRole::Grid).clear(0.55));
            }
            self.line(drawing, self.x_of(band.range.start), ColorRole::Edge);
        }
    }

    /// Names of steps at the top of the ruler, which this area is.
    pub fn band_names(&self, drawing: &mut Drawing, bands: &[StepBand]) {
        // Steps of devices whose clocks differ begin almost together, and their names must not overlap.
        let mut free = self.left;
        let usual = self.usual_width(bands);
        let wide = widest_name(bands) + 8.0;
        let (every, least) = (neighbours_per_label(usual, wide) as u32, least_width(usual));
        for (index, band) in bands.iter().enumerate() {
            let (left, right) = self.ends(band.range);
            let (is_wide, is_drawn) = (right - left >= wide, right - left >= least);
            let is_named = is_wide || band.number.is_multiple_of(every);
            // There can be many more than points.
            if right <= left || !(is_named || is_drawn) {
                continue;
            }
            let (line, color) = if band.is_outlier {
                (ColorRole::Warning.into(), ColorRole::Warning)
            } else {
                (
                    Ink::from(ColorRole::TextWeak).over(ColorRole::Labels, 0.55),
                    ColorRole::Text,
                )
            };
            let (long, short) = (band.name(), band.short_name());
            if is_drawn {
                drawing.rect(left + 0.5, self.top, right - left - 1.0, 3.0, line, &long);
            }
            let x = left + 4.0;
            // A truncated number would be read as another number.
            let is_long = every > 1 && !is_wide;
            let end = if is_long { self.right() } else { right };
            let covers = |text: &str| {
                let after = bands[index + 1..].iter().map(|band| self.ends(band.range));
                let mut below = after.take_while(|ends| ends.0 < x + width_of(text, FONT));
                is_long && below.any(|(left, right)| right - left >= wide)
            };
            let fits = |text: &&str| width_of(text, FONT) <= end - left - 8.0 && !covers(text);
            let text = Some(long.as_str())
                .filter(|_| every == 1)
                .into_iter()
                .chain([&*short])
                .find(fits)
                .filter(|_| is_named);
            if let Some(text) = text.filter(|_| x >= free) {
                drawing.text(x, self.top + 9.0, Anchor::Start, FONT, color, text);
                free = x + width_of(text, FONT) + 4.0;
            }
        }
    }

    /// The median of the widths of bands, also of those that are partly in sight.
    fn usual_width(&self, bands: &[StepBand]) -> f32 {
        let mut lengths: Vec<Picos> = bands.iter().map(|band| band.range.dur()).collect();
        if lengths.is_empty() {
            return 0.0;
        }
        let middle = lengths.len() / 2;
        let (_, usual, _) = lengths.select_nth_unstable(middle);
        (usual.as_ps_f64() * f64::from(self.width) / self.time.span_ps()) as f32
    }

    /// Shades the time before the first and after the last slice.
    pub fn outside(&self, drawing: &mut Drawing, extent: TimeRange) {
        let (start, end) = (self.x_of(extent.start), self.x_of(extent.end));
        self.fill(
            drawing,
            (self.left, start.min(self.right())),
            ColorRole::Labels,
        );
        self.fill(
            drawing,
            (end.max(self.left), self.right()),
            ColorRole::Labels,
        );
    }

    /// Grounds of headings, and lines between tracks.
    pub fn rows(&self, drawing: &mut Drawing, list: &DrawList, tree: &TrackTree) {
        for row in list.rows_in(0.0, self.height) {
            let (top, bottom) = (self.top + row.y, self.top + row.y + row.height);
            if matches!(tree.node(row.node).item, TreeItem::Group(_)) {
                drawing.rect(
                    self.left,
                    top,
                    self.width,
                    row.height,
                    ColorRole::Heading,
                    "",
                );
            } else if !row.is_joined {
                let (left, right) = ((self.left, bottom - 1.0), (self.right(), bottom - 1.0));
                drawing.line(left, right, ColorRole::Grid, 1.0);
            }
        }
    }

    /// The marked range, in the tracks that it is of.
    pub fn mark(
        &self,
        drawing: &mut Drawing,
        list: &DrawList,
        tree: &TrackTree,
        state: &ViewState,
    ) {
        let Some(mark) = state.place.mark else { return };
        let ink = Ink::from(ColorRole::Accent).clear(0.14);
        if state.mark_tracks.is_empty() {
            self.fill(drawing, self.ends(mark), ink);
        }
        for row in list.rows_in(0.0, self.height) {
            if let TreeItem::Track(track) = tree.node(row.node).item
                && state.mark_tracks.contains(&track)
            {
                let (top, height) = (self.top + row.y, row.height);
                let narrowed = Self {
                    top,
                    height,
                    ..*self
                };
                narrowed.fill(drawing, self.ends(mark), ink);
            }
        }
        for time in [mark.start, mark.end] {
            self.line(drawing, self.x_of(time), ColorRole::Accent);
        }
    }

    /// The length of the marked range, in a line of texts at the top of the area.
    pub fn mark_length(&self, drawing: &mut Drawing, mark: TimeRange, text: &str, line: u8) {
        let (from, to) = self.ends(mark);
        let (x, y) = (
            f32::midpoint(from, to),
            self.top + 14.0 + 20.0 * f32::from(line),
        );
        let width = width_of(text, FONT) + 12.0;
        drawing.rect(x - width / 2.0, y - 8.0, width, 16.0, ColorRole::Raised, "");
        drawing.text(x, y, Anchor::Middle, FONT, ColorRole::TextStrong, text);
    }
}

/// The width from which bands are drawn.
fn least_width(usual: f32) -> f32 {
    if usual < MIN_BAND { WIDE_BAND } else { 0.0 }
}

/// The width of the longest name, which the last step has. Where it does not fit every step, names come at regular
/// intervals, and in those that are wider.
fn widest_name(bands: &[StepBand]) -> f32 {
    bands
        .last()
        .map_or(0.0, |band| width_of(&band.short_name(), FONT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::DrawingShape;

    /// The names of forty steps of this width, which follow each other.
    fn names(width: f32) -> Vec<String> {
        names_of(width, |at| at)
    }

    /// The names of forty steps that begin at these multiples of a width.
    fn names_of(width: f32, begins: fn(i64) -> i64) -> Vec<String> {
        let time = |at: i64| Timestamp::from_ps(begins(at) * 1_000);
        let band = |number: u32| StepBand {
            range: TimeRange::new(time(number.into()), time(i64::from(number) + 1)),
            time: Picos::from_ps(1_000),
            number,
            title: "jit_f".to_owned(),
            ..StepBand::default()
        };
        let bands: Vec<StepBand> = (0..40).map(band).collect();
        let area = TimeArea {
            left: 0.0,
            top: 0.0,
            width: begins(40) as f32 * width,
            height: 20.0,
            time: Viewport::of(TimeRange::new(time(0), time(40))),
        };
        let mut drawing = Drawing::new(area.width, area.height, ColorRole::Labels);
        area.band_names(&mut drawing, &bands);
        let text = |shape| match shape {
            DrawingShape::Text { text, .. } => Some(text),
            _ => None,
        };
        drawing.shapes.into_iter().filter_map(text).collect()
    }

    #[test]
    fn names_of_narrow_steps_come_at_regular_intervals() {
        let every = |step: usize| (0..40).step_by(step).map(|at: i32| at.to_string());
        assert_eq!(names(30.0), every(1).collect::<Vec<_>>());
        // Two digits do not fit, as one would.
        assert_eq!(names(18.0), every(2).collect::<Vec<_>>());
        assert_eq!(names(8.0), every(5).collect::<Vec<_>>());
        assert_eq!(names(3.0), every(10).collect::<Vec<_>>());
    }

    #[test]
    fn names_of_narrow_steps_do_not_cover_wide_ones() {
        let own = names_of(3.0, |at| if at > 1 { at + 100 } else { at });
        assert_eq!(
            own[..2],
            ["1", "10"],
            "the first one has no room of its own"
        );
    }
}
