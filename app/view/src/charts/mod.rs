//! What each chart shows: marks, axes, labels, legend, and what reacts to the pointer. The window and the documents paint
//! the same descriptions.

pub mod curve;
pub mod histogram;
pub mod hlo;
pub mod roofline;
pub mod stacked_bar;
pub mod steps;
pub mod timeline;

use std::borrow::Cow;

use trace_model::Picos;

use crate::drawing::{Anchor, ColorRole, Drawing, Ink, width_of};
use crate::time_format::TimeFormat;

/// The room for a chart, and how it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChartFrame {
    pub width: f32,
    pub height: f32,
    /// Size of texts.
    pub font: f32,
    /// How times are written.
    pub times: TimeFormat,
    /// Whether shapes have titles: the window makes the tooltip only of what is under the pointer.
    pub has_titles: bool,
}

impl ChartFrame {
    pub fn time(&self, ps: i64) -> String {
        self.times.text(Picos::from_ps(ps))
    }

    fn titled(&self, title: impl FnOnce() -> String) -> String {
        if self.has_titles {
            title()
        } else {
            String::new()
        }
    }
}

/// A colour of a chart and its meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartSwatch {
    pub ink: Ink,
    pub title: Cow<'static, str>,
    /// More about it; empty if the title says everything.
    pub about: &'static str,
}

impl ChartSwatch {
    pub fn new(ink: impl Into<Ink>, title: impl Into<Cow<'static, str>>) -> Self {
        Self {
            ink: ink.into(),
            title: title.into(),
            about: "",
        }
    }
}

pub trait Chart {
    fn legend(&self, frame: &ChartFrame) -> Vec<ChartSwatch>;

    /// The chart without its legend. What reacts to the pointer has the number of its mark.
    fn draw(&self, frame: &ChartFrame) -> Drawing;
}

/// A chart with title and legend above it.
pub fn picture(title: &str, chart: &impl Chart, frame: &ChartFrame) -> Drawing {
    let mut head = Drawing::new(frame.width, 0.0, ColorRole::Panel);
    let room = frame.width - 24.0;
    head.fitted(12.0, 18.0, room, 13.0, ColorRole::TextStrong, title);
    head.size.1 = legend(&mut head, 39.0, &chart.legend(frame), &[]);
    let height = (frame.height - head.size.1).max(80.0);
    head.above(chart.draw(&ChartFrame { height, ..*frame }))
}

/// Swatches and texts in as many lines as they need, the first with its middle at `y`; returns where they end.
fn legend(drawing: &mut Drawing, mut y: f32, swatches: &[ChartSwatch], texts: &[&str]) -> f32 {
    const FONT: f32 = 11.0;
    const LEFT: f32 = 12.0;
    let mut x = LEFT;
    let texts = texts.iter().filter(|text| !text.is_empty());
    let entries = swatches.iter().map(|own| (Some(own), own.title.as_ref()));
    for (swatch, title) in entries.chain(texts.map(|text| (None, *text))) {
        let indent = if swatch.is_some() { 15.0 } else { 0.0 };
        let width = indent + width_of(title, FONT);
        if x > LEFT && x + width > drawing.size.0 {
            (x, y) = (LEFT, y + 18.0);
        }
        if let Some(ChartSwatch { ink, about, .. }) = swatch {
            drawing.rect(x, y - 5.0, 10.0, 10.0, *ink, about);
        }
        let (at, color) = (x + indent, ColorRole::TextWeak);
        drawing.text(at, y, Anchor::Start, FONT, color, title);
        x += width + 14.0;
    }
    y + 14.0
}
