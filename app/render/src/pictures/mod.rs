//! Pictures without a window, a display or a GPU: the timeline, the roofline and the
//! steps, as SVG or PNG. A pure function of the trace and the view.

mod panels;
#[cfg(feature = "png")]
mod png;
pub(crate) mod svg;

use std::ffi::OsStr;

use crate::prelude::*;
use analysis::reports::hlo::Neighbourhood;
use trace_model::TraceModel;
use view::charts::timeline::OtherTraceColors;
use view::charts::{self, ChartFrame};
use view::palette::{Palette, Preset, Rgb};
use view::state::ViewState;
use view::time_format::TimeFormat;
use view::timeline::trace::OpenTrace;

pub use panels::{PICTURE_IDS, PICTURES, PicturePanel};

/// How a picture looks.
#[derive(Clone, Copy, Debug)]
pub struct PictureStyle {
    /// In pixels.
    pub width: f32,
    /// In pixels; a timeline is as high as its tracks need, and at most this.
    pub height: f32,
    pub dark: bool,
    /// Colours of slices.
    pub colors: Preset,
    /// How times are written.
    pub times: TimeFormat,
}

impl Default for PictureStyle {
    fn default() -> Self {
        Self {
            width: 1200.0,
            height: 700.0,
            dark: false,
            colors: Preset::default(),
            times: TimeFormat::default(),
        }
    }
}

impl PictureStyle {
    fn frame(self) -> ChartFrame {
        ChartFrame {
            width: self.width,
            height: self.height,
            font: 11.0,
            times: self.times,
            has_titles: true,
        }
    }

    fn picture(self, drawing: Drawing) -> Picture {
        Picture {
            drawing,
            palette: Palette::of(self.dark, self.colors),
        }
    }
}

/// The error for a PNG in a build that supports only SVG.
const SVG_ONLY: &str = "this build writes SVG only: build it with the feature png, or name a .svg";

/// How a picture is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// Vector graphics, sharp at every size.
    Svg,
    /// Pixels, for documents that do not support SVG; not in every build.
    Png,
}

impl PictureFormat {
    /// From the extension of a file name; the error is a sentence.
    pub fn of(name: &Path) -> Result<Self, String> {
        let extension = name.extension().map(OsStr::to_ascii_lowercase);
        match extension.as_ref().and_then(|extension| extension.to_str()) {
            Some("svg") => Ok(Self::Svg),
            Some("png") if cfg!(feature = "png") => Ok(Self::Png),
            Some("png") => Err(SVG_ONLY.to_owned()),
            _ => Err(
                "pictures are written as SVG or PNG: name a file that ends in .svg or .png"
                    .to_owned(),
            ),
        }
    }
}

/// A drawing and its colours.
#[derive(Clone, Debug)]
pub struct Picture {
    pub drawing: Drawing,
    palette: &'static Palette<Rgb>,
}

impl Picture {
    /// This picture with another one below it.
    #[must_use]
    pub fn above(self, other: Self) -> Self {
        let drawing = self.drawing.above(other.drawing);
        Self { drawing, ..self }
    }

    /// The file; a PNG has `scale` pixels for each pixel of the drawing. The error is a sentence.
    pub fn encoded(&self, format: PictureFormat, scale: f32) -> Result<Vec<u8>, String> {
        match format {
            PictureFormat::Svg => Ok(svg::svg(&self.drawing, self.palette).into_bytes()),
            #[cfg(feature = "png")]
            PictureFormat::Png => png::png(&self.drawing, self.palette, scale),
            #[cfg(not(feature = "png"))]
            PictureFormat::Png => {
                let _ = scale;
                Err(SVG_ONLY.to_owned())
            }
        }
    }
}

/// The picture of a panel, `beside` another trace if there is one. The error is a
/// sentence that names what is missing.
pub fn draw(
    panel: PicturePanel,
    trace: &OpenTrace,
    state: &ViewState,
    beside: Option<OtherTraceColors<'_>>,
    look: PictureStyle,
) -> Result<Picture, String> {
    let drawing = (panel.draw)(trace, state, beside, &look.frame())?;
    Ok(look.picture(drawing))
}

/// The neighbourhood of an instruction, as a graph.
pub fn hlo(model: &TraceModel, neighbourhood: &Neighbourhood, look: PictureStyle) -> Picture {
    look.picture(charts::hlo::hlo(model, neighbourhood, &look.frame()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::Options;
    use sample_traces::text_trace;
    use session::Session;
    use view::drawing::{DrawingShape, width_of};
    use view::palette::ColorKey;
    use view::state::{ColorBy, ViewCommand};

    const PICTURE: &str = "
        @column 1us
        steps  : 00000000001111111111
        modules: MMMMMMMMM.MMMMMMMMM
        ops    : AAAAAAAsccBBBBBBBd
               : ..ff..............

        M = jit_step(7)
        A = while.3 [while]
        f = fusion.1 [convolution fusion] flops=2e9 hbm_read=4096
        s = all-gather-start.1 done=all-gather-done.1
    ";

    fn text(picture: &Picture) -> String {
        svg::svg(&picture.drawing, picture.palette)
    }

    fn tracks(
        trace: &OpenTrace,
        state: &ViewState,
        beside: Option<OtherTraceColors<'_>>,
    ) -> String {
        let style = PictureStyle::default();
        text(&draw(PicturePanel::TIMELINE, trace, state, beside, style).unwrap())
    }

    fn roofline(trace: &OpenTrace) -> Result<Picture, String> {
        let state = ViewState::new(&trace.model);
        draw(
            PicturePanel::ROOFLINE,
            trace,
            &state,
            None,
            PictureStyle::default(),
        )
    }

    fn trace() -> OpenTrace {
        named("a <b>", Options::default())
    }

    fn named(name: &str, options: Options) -> OpenTrace {
        OpenTrace::new(
            name.into(),
            Session::from_model(text_trace(PICTURE), options),
        )
    }

    #[test]
    fn timeline_export_shows_tracks_slices_and_times() {
        let trace = trace();
        let picture = tracks(&trace, &ViewState::new(&trace.model), None);
        for text in ["XLA Ops", "while.3", "TPU:0", "10 µs", "a &lt;b&gt;"] {
            assert!(picture.contains(text), "{text} in\n{picture}");
        }
        assert!(!picture.contains("NaN") && !picture.contains("inf"));
        assert_eq!(picture.matches("<svg").count(), 1);
        assert!(picture.trim_end().ends_with("</svg>"));
    }

    #[test]
    fn exported_timeline_includes_scrolled_and_folded_tracks() {
        let trace = trace();
        let mut state = ViewState::new(&trace.model);
        state.apply(&ViewCommand::ScrollTo(5_000.0), &trace.model);
        state.apply(&ViewCommand::FoldAll(true), &trace.model);
        let picture = tracks(&trace, &state, None);
        assert!(picture.contains("TPU:0"), "{picture}");
    }

    #[test]
    fn exported_timeline_includes_marks_and_highlights() {
        let trace = trace();
        let mut state = ViewState::new(&trace.model);
        let plain = tracks(&trace, &state, None);
        state.apply(&ViewCommand::MarkAll, &trace.model);
        let marked = tracks(&trace, &state, None);
        assert!(marked.contains(">20.00 µs<") && !plain.contains(">20.00 µs<"));
        let fill = |picture: &str, name: &str| {
            let at = picture
                .find(&format!("<title>{name}"))
                .unwrap_or_else(|| panic!("{name} in\n{picture}"));
            let start = picture[..at].rfind("fill=").unwrap();
            picture[start..start + 14].to_owned()
        };
        state.apply(&ViewCommand::Search("fusion".to_owned()), &trace.model);
        let searched = tracks(&trace, &state, None);
        assert_ne!(
            fill(&plain, "B"),
            fill(&searched, "B"),
            "what does not match is dim"
        );
        assert!(
            searched.contains(&fill(&plain, "fusion.1")),
            "what matches is as it was"
        );
    }

    #[test]
    fn colours_of_change_are_drawn_and_explained() {
        let trace = trace();
        let mut state = ViewState::new(&trace.model);
        state.apply(&ViewCommand::Color(ColorBy::Change), &trace.model);
        let alone = tracks(&trace, &state, None);
        assert!(
            alone.contains("Only one profile is open") && !alone.contains("twice or more"),
            "{alone}"
        );
        let labels = trace.model.labels().len();
        let (colors, only) = (vec![ColorKey::of_change(2.0); labels], vec![true; labels]);
        let beside = |only| {
            Some(OtherTraceColors {
                colors: &colors,
                only,
            })
        };
        let plain = tracks(&trace, &state, beside(&[]));
        let hatched = tracks(&trace, &state, beside(&only));
        let fill = PictureStyle::default()
            .picture(Drawing::new(0.0, 0.0, ColorRole::Panel))
            .palette
            .slice(ColorKey::of_change(2.0))
            .fill
            .to_string();
        // One is the legend's.
        assert!(
            plain.matches(&fill).count() > 5 && plain.contains("twice or more"),
            "{plain}"
        );
        assert!(hatched.matches("<line").count() > plain.matches("<line").count() + 10);
    }

    #[test]
    fn exported_steps_are_stacked_and_roofline_needs_peaks() {
        let trace = trace();
        let dark = PictureStyle {
            dark: true,
            ..PictureStyle::default()
        };
        let state = ViewState::new(&trace.model);
        let picture = text(&draw(PicturePanel::STEPS, &trace, &state, None, dark).unwrap());
        assert!(
            picture.contains("Matmul") || picture.contains("Other"),
            "{picture}"
        );
        // The picture's device has no peaks.
        assert!(roofline(&trace).unwrap_err().contains("peak"));
    }

    #[test]
    fn link_roofs_are_dashed_and_labelled() {
        let options = Options {
            device_spec: Some("v5e".to_owned()),
            ..Options::default()
        };
        let picture = text(&roofline(&named("a", options)).unwrap());
        assert!(
            picture.contains("per byte over ICI, not HBM</text>"),
            "{picture}"
        );
        assert!(
            picture.contains("<title>Dashed: FLOP/s that links"),
            "{picture}"
        );
    }

    #[test]
    fn pictures_of_predictions_are_marked() {
        let mut model = sample_traces::text_builder(PICTURE);
        model.source_mut().simulator = Some("a model".to_owned());
        let options = Options {
            device_spec: Some("v5e".to_owned()),
            ..Options::default()
        };
        let trace = OpenTrace::new(
            "name".repeat(50).into(),
            Session::from_model(model.finish(), options),
        );
        let state = ViewState::new(&trace.model);
        for panel in PICTURES {
            for width in [400.0, 1200.0] {
                let look = PictureStyle {
                    width,
                    ..PictureStyle::default()
                };
                let marked = draw(panel, &trace, &state, None, look).unwrap();
                assert!(
                    text(&marked).contains(">SIMULATED by a model"),
                    "{panel:?} of {width}: {}",
                    text(&marked)
                );
                let mut silent = marked.clone();
                for shape in &mut silent.drawing.shapes {
                    if let DrawingShape::Text { text, at, size, .. } = shape
                        && text.starts_with("SIMULATED")
                    {
                        assert!(
                            at.0 + width_of("SIMULATED by a model", *size) < width,
                            "it is seen"
                        );
                        text.clear();
                    }
                }
                // It is visible in the PNG, too.
                #[cfg(feature = "png")]
                assert_ne!(
                    marked.encoded(PictureFormat::Png, 1.0),
                    silent.encoded(PictureFormat::Png, 1.0),
                    "{panel:?}"
                );
            }
        }
    }

    #[test]
    fn long_names_are_clipped_at_the_picture_edge() {
        let options = Options {
            device_spec: Some("v5e".to_owned()),
            ..Options::default()
        };
        let drawing = roofline(&named(&"name".repeat(10_000), options)).unwrap();
        let longest = drawing.drawing.shapes.iter().map(|shape| match shape {
            DrawingShape::Text { text, .. } => text.chars().count(),
            _ => 0,
        });
        assert!(longest.max().unwrap() < 250);
    }
}
