//! What each chart shows: marks, axes, labels, legend, and what reacts to the pointer. The window and the documents paint
//! the same descriptions.

pub mod curve;
pub mod histogram;
pub mod hlo;
pub mod roofline;
pub mod stacked_bar;
pub mod steps;
pub mod timeline;
pub mod waterfall;

use std::borrow::Cow;

use crate::prelude::*;

use crate::drawing::{Anchor, ColorRole, Drawing, Ink, width_of};
use crate::time_format::TimeFormat;

/// The room for a chart, and how it is written.
#[derive(Clone, Copy, Debug)]
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
#[derive(Debug)]
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
    let entries = swatches
        .iter()
        .map(|swatch| (Some(swatch), swatch.title.as_ref()));
    for (swatch, title) in entries.chain(texts.map(|text| (None, *text))) {
        let indent = if swatch.is_some() { 15.0 } else { 0.0 };
        let width = indent + width_of(title, FONT);
        if x > LEFT && x + width > drawing.size.0 {
            (x, y) = (LEFT, y + 18.0);
        }
        if let Some(ChartSwatch { ink, about, .. }) = swatch {
            drawing.rect(x, y - 5.0, 10.0, 10.0, *ink, about);
        }
        let (left, color) = (x + indent, ColorRole::TextWeak);
        drawing.text(left, y, Anchor::Start, FONT, color, title);
        x += width + 14.0;
    }
    y + 14.0
}

#[cfg(test)]
mod tests {
    use analysis::reports::{Roofline, StepParts, Steps};
    use analysis::{Options, Scope};
    use sample_traces::text_trace;
    use session::Session;

    use super::roofline::RooflineChart;
    use super::steps::{StepBars, StepsChart};
    use super::*;
    use crate::drawing::{DrawingShape, PlotRange};

    const FRAME: ChartFrame = ChartFrame {
        width: 800.0,
        height: 400.0,
        font: 11.0,
        times: TimeFormat::Digits,
        has_titles: true,
    };

    fn session(picture: &str) -> Session {
        let options = Options {
            device_spec: Some("v5e".to_owned()),
            ..Options::default()
        };
        Session::from_model(text_trace(picture), options)
    }

    fn texts(drawing: &Drawing) -> Vec<&str> {
        let mut texts = Vec::new();
        for shape in &drawing.shapes {
            if let DrawingShape::Text { text, .. } = shape {
                texts.push(text.as_str());
            }
        }
        texts
    }

    #[test]
    fn markers_of_the_roofline_are_named_and_found_at_their_place() {
        let session = session(
            "
            @column 1us
            modules: MMMMMMMM
            ops    : ffffgggg

            M = jit_step(7)
            f = fusion.1 [convolution fusion] flops=2e8 hbm_read=2e6
            g = fusion.2 [convolution fusion] flops=2e6 hbm_read=1e6
            ",
        );
        let report = session.report::<Roofline>(Scope::WholeTrace).unwrap();
        let mut chart = RooflineChart::of(&report, &report.ops);
        let number = |name: &str| {
            let mut marks = chart.marks.iter();
            marks.position(|mark| &*mark.point.name == name).unwrap()
        };
        let (first, second) = (number("fusion.1"), number("fusion.2"));
        let place = |chart: &RooflineChart<'_>, number: usize| {
            chart.area(&FRAME).point(chart.marks[number].place)
        };
        let drawing = chart.draw(&FRAME);
        assert_eq!(drawing.number_at(place(&chart, first)), Some(first));
        assert_eq!(drawing.number_at(place(&chart, second)), Some(second));
        assert_eq!(drawing.number_at((FRAME.width - 30.0, 380.0)), None);
        for name in ["fusion.1", "fusion.2", "program", "100 TFLOP/s"] {
            assert!(texts(&drawing).contains(&name), "{name}: {drawing:?}");
        }
        // Of a smaller part, markers are further apart.
        let apart = |chart: &RooflineChart<'_>| {
            let (one, other) = (place(chart, first), place(chart, second));
            (one.0 - other.0).hypot(one.1 - other.1)
        };
        let before = apart(&chart);
        let (x, y) = chart.marks[first].place;
        chart.range = PlotRange {
            x: (x - 0.5, x + 0.5),
            y: (y - 0.5, y + 0.5),
        };
        assert!(apart(&chart) > before);
        let without = RooflineChart::of(&report, []);
        assert_eq!(without.ops().count(), 0);
        assert!(
            without
                .legend(&FRAME)
                .iter()
                .all(|own| own.title != "Matmul")
        );
    }

    #[test]
    fn steps_are_bars_and_a_single_step_is_one_bar() {
        let bars = |picture: &str| {
            let session = session(picture);
            let steps = session.report::<Steps>(Scope::WholeTrace).unwrap();
            let parts = session.report::<StepParts>(Scope::WholeTrace).ok();
            StepBars::new(&steps, parts.as_deref())
        };
        let several = bars(
            "
            @column 1us
            steps  : 000000001111111122222222
            modules: MMMMMMMMMMMMMMMMMMMMMMMM
            ops    : ffffffffffffffffffffffff
            M = jit_step(7)
            f = fusion.1 [convolution fusion] flops=2e9
            ",
        );
        let chart = StepsChart {
            bars: &several,
            median_ps: Some(8e6),
        };
        let drawing = chart.draw(&FRAME);
        let at = |x: f32| drawing.number_at((x, 200.0));
        assert_eq!(
            [at(100.0), at(430.0), at(780.0)],
            [Some(0), Some(1), Some(2)]
        );
        assert_eq!(at(40.0), None, "the numbers of the axis");
        for text in ["0", "1", "2"] {
            assert!(texts(&drawing).contains(&text), "{text}: {drawing:?}");
        }
        assert!(drawing.shapes.iter().any(|shape| matches!(
            shape,
            DrawingShape::Line {
                is_dashed: true,
                ..
            }
        )));
        let only = StepBars {
            bars: several.bars[..1].to_vec(),
            ..several
        };
        let chart = StepsChart {
            bars: &only,
            median_ps: None,
        };
        let drawing = chart.draw(&FRAME);
        let about = texts(&drawing).concat();
        assert!(about.contains("on the core that took longest"), "{about}");
        assert!(chart.legend(&FRAME)[0].title.starts_with("Matmul 100"));
    }

    #[test]
    fn legends_wrap_above_the_plot() {
        let swatch = |_| ChartSwatch::new(ColorRole::Text, "a name of some length");
        let swatches: Vec<_> = (0..10).map(swatch).collect();
        let height = |width| {
            let mut drawing = Drawing::new(width, 0.0, ColorRole::Panel);
            let end = legend(&mut drawing, 20.0, &swatches, &[]);
            let right = drawing.shapes.iter().filter_map(|shape| match shape {
                DrawingShape::Text { at, text, .. } => Some(at.0 + width_of(text, 11.0)),
                _ => None,
            });
            assert!(right.fold(0.0, f32::max) <= width);
            end
        };
        assert!(height(3_000.0) < height(400.0));
    }
}
