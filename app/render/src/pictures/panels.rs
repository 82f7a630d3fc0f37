//! The pictures of a trace. To add one: a constant here, and its line in [`PICTURES`].

use crate::prelude::*;
use analysis::reports::{Roofline, StepParts, Steps};
use view::charts::roofline::RooflineChart;
use view::charts::steps::{self, StepBars, StepsChart};
use view::charts::timeline::{OtherTraceColors, timeline};
use view::charts::{self, ChartFrame};
use view::state::ViewState;
use view::timeline::trace::OpenTrace;

/// A picture of a trace.
#[derive(Clone, Copy, Debug)]
pub struct PicturePanel {
    /// In arguments and names of files.
    pub id: &'static str,
    pub title: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// Height in pixels where nobody names one.
    pub height: f32,
    /// Whether two traces stand below each other; otherwise it is about one.
    pub is_stacked: bool,
    /// The error is a sentence that names what is missing.
    pub draw: DrawPicture,
}

type DrawPicture = fn(
    &OpenTrace,
    &ViewState,
    Option<OtherTraceColors<'_>>,
    &ChartFrame,
) -> Result<Drawing, String>;

/// All pictures.
pub const PICTURES: [PicturePanel; 3] = [
    PicturePanel::TIMELINE,
    PicturePanel::ROOFLINE,
    PicturePanel::STEPS,
];

/// The ids of all pictures.
pub const PICTURE_IDS: [&str; PICTURES.len()] = {
    let mut ids = [""; PICTURES.len()];
    let mut at = 0;
    while at < ids.len() {
        ids[at] = PICTURES[at].id;
        at += 1;
    }
    ids
};

impl PicturePanel {
    pub const TIMELINE: Self = Self {
        id: "timeline",
        title: "Timeline",
        about: "The tracks",
        height: 2000.0,
        is_stacked: true,
        draw: |trace, state, beside, frame| Ok(timeline(trace, state, beside, frame)),
    };

    pub const ROOFLINE: Self = Self {
        id: "roofline",
        title: "Roofline",
        about: "Ops in a roofline plot",
        height: 900.0,
        is_stacked: false,
        draw: |trace, state, _, frame| {
            let report = trace
                .session
                .report::<Roofline>(state.scope.into())
                .map_err(|error| error.to_string())?;
            let chart = RooflineChart::of(&report, &report.ops);
            let title = format!("{}: {}", trace.title(), chart.title(state.scope));
            Ok(charts::picture(&title, &chart, frame))
        },
    };

    pub const STEPS: Self = Self {
        id: "steps",
        title: "Steps",
        about: "Step times by part",
        height: 600.0,
        is_stacked: false,
        draw: |trace, _, _, frame| {
            let session = &trace.session;
            let report = session
                .report::<Steps>(Scope::WholeTrace)
                .map_err(|error| error.to_string())?;
            if report.steps.is_empty() {
                return Err(report.why.join("; "));
            }
            let divided = session.report::<StepParts>(Scope::WholeTrace).ok();
            let bars = StepBars::new(&report, divided.as_deref());
            let median_ps = report.time.as_ref().map(|time| time.median);
            let title = format!("{}{}", trace.title(), steps::title(&report, frame));
            let bars = &bars;
            Ok(charts::picture(
                &title,
                &StepsChart { bars, median_ps },
                frame,
            ))
        },
    };

    /// The picture with this id.
    pub fn named(id: &str) -> Option<Self> {
        PICTURES.into_iter().find(|picture| picture.id == id)
    }
}

impl PartialEq for PicturePanel {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}
