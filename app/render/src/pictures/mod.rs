//! Pictures without a window, a display or a GPU: the timeline, the roofline and the
//! steps, as SVG or PNG. A pure function of the trace and the view.

mod drawing;
mod hlo;
#[cfg(feature = "png")]
mod png;
mod roofline;
mod steps;
mod svg;
mod timeline;

use std::ffi::OsStr;
use std::path::Path;

use view::palette::{ColorKey, Palette, Preset, Rgb};
use view::state::ViewState;
use view::time_format::TimeFormat;
use view::timeline::trace::OpenTrace;

pub use drawing::Drawing;
pub use hlo::hlo;
pub use roofline::roofline;
pub use steps::steps;
pub use timeline::timeline;

#[cfg(feature = "png")]
use png::png as points;

/// How a picture looks.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    fn palette(self) -> &'static Palette<Rgb> {
        Palette::of(self.dark, self.colors)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PicturePanel {
    #[default]
    Timeline,
    /// Ops below their roof.
    Roofline,
    /// Step times by part.
    Steps,
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

/// What the comparison with another trace provides, by label.
#[derive(Clone, Copy, Debug)]
pub struct OtherTraceColors<'a> {
    /// Colours by how ops changed.
    pub colors: &'a [ColorKey],
    /// Whether the other one lacks the op.
    pub only: &'a [bool],
}

/// The picture of a panel, `beside` another trace if there is one. The error is a
/// sentence that names what is missing.
pub fn draw(
    panel: PicturePanel,
    trace: &OpenTrace,
    state: &ViewState,
    beside: Option<OtherTraceColors<'_>>,
    look: PictureStyle,
) -> Result<Drawing, String> {
    match panel {
        PicturePanel::Timeline => Ok(timeline(trace, state, beside, look)),
        PicturePanel::Roofline => roofline(trace, state.scope, look),
        PicturePanel::Steps => steps(trace, look),
    }
}

/// A drawing as a file; a PNG has `scale` pixels for each pixel of the drawing. The error is a
/// sentence.
pub fn encoded(drawing: &Drawing, format: PictureFormat, scale: f32) -> Result<Vec<u8>, String> {
    match format {
        PictureFormat::Svg => Ok(svg::svg(drawing).into_bytes()),
        PictureFormat::Png => points(drawing, scale),
    }
}

#[cfg(not(feature = "png"))]
fn points(_drawing: &Drawing, _scale: f32) -> Result<Vec<u8>, String> {
    Err(SVG_ONLY.to_owned())
}

#[cfg(test)]
mod tests {
    use super::drawing::width_of;
    use super::*;
    use analysis::Options;
    use sample_traces::text_trace;
    use session::Session;
    use view::state::{ColorBy, ReportScope, ViewCommand};

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

    fn text(drawing: &Drawing) -> String {
        svg::svg(drawing)
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
        let picture = text(&timeline(
            &trace,
            &ViewState::new(&trace.model),
            None,
            PictureStyle::default(),
        ));
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
        let picture = text(&timeline(&trace, &state, None, PictureStyle::default()));
        assert!(picture.contains("TPU:0"), "{picture}");
    }

    #[test]
    fn exported_timeline_includes_marks_and_highlights() {
        let trace = trace();
        let mut state = ViewState::new(&trace.model);
        let plain = text(&timeline(&trace, &state, None, PictureStyle::default()));
        state.apply(&ViewCommand::MarkAll, &trace.model);
        let marked = text(&timeline(&trace, &state, None, PictureStyle::default()));
        assert!(marked.contains(">20.00 µs<") && !plain.contains(">20.00 µs<"));
        let fill = |picture: &str, name: &str| {
            let at = picture
                .find(&format!("<title>{name}"))
                .unwrap_or_else(|| panic!("{name} in\n{picture}"));
            let start = picture[..at].rfind("fill=").unwrap();
            picture[start..start + 14].to_owned()
        };
        state.apply(&ViewCommand::Search("fusion".to_owned()), &trace.model);
        let searched = text(&timeline(&trace, &state, None, PictureStyle::default()));
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
        let alone = text(&timeline(&trace, &state, None, PictureStyle::default()));
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
        let plain = text(&timeline(
            &trace,
            &state,
            beside(&[]),
            PictureStyle::default(),
        ));
        let hatched = text(&timeline(
            &trace,
            &state,
            beside(&only),
            PictureStyle::default(),
        ));
        let fill = PictureStyle::default()
            .palette()
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
        let picture = text(
            &steps(
                &trace,
                PictureStyle {
                    dark: true,
                    ..PictureStyle::default()
                },
            )
            .unwrap(),
        );
        assert!(
            picture.contains("Matmul") || picture.contains("Other"),
            "{picture}"
        );
        // The picture's device has no peaks.
        assert!(
            roofline(&trace, ReportScope::Capture, PictureStyle::default())
                .unwrap_err()
                .contains("peak")
        );
    }

    #[test]
    fn link_roofs_are_dashed_and_labelled() {
        let options = Options {
            device_spec: Some("v5e".to_owned()),
            ..Options::default()
        };
        let picture = text(
            &roofline(
                &named("a", options),
                ReportScope::Capture,
                PictureStyle::default(),
            )
            .unwrap(),
        );
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
        for panel in [
            PicturePanel::Timeline,
            PicturePanel::Roofline,
            PicturePanel::Steps,
        ] {
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
                for shape in &mut silent.shapes {
                    if let drawing::DrawingShape::Text { text, at, size, .. } = shape
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
                    encoded(&marked, PictureFormat::Png, 1.0),
                    encoded(&silent, PictureFormat::Png, 1.0),
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
        let drawing = roofline(
            &named(&"name".repeat(10_000), options),
            ReportScope::Capture,
            PictureStyle::default(),
        )
        .unwrap();
        let longest = drawing.shapes.iter().map(|shape| match shape {
            drawing::DrawingShape::Text { text, .. } => text.chars().count(),
            _ => 0,
        });
        assert!(longest.max().unwrap() < 250);
    }
}
