//! What colours of slices mean, for the window and for pictures.

use analysis::{OpGroup, Percent};

use crate::view::palette::ColorKey;
use crate::view::state::ColorBy;
use crate::view::timeline::trace::OpenTrace;

/// What stands beside the colours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColorLegend {
    /// Colours that mean something, and what.
    pub swatches: Vec<(ColorKey, String)>,
    /// What to know of them.
    pub text: &'static str,
}

impl ColorLegend {
    /// Of a trace; colours of change mean something beside another one only.
    pub fn of(trace: &OpenTrace, by: ColorBy, comparing: bool) -> Self {
        let text = |text| Self { text, swatches: Vec::new() };
        match by {
            ColorBy::Name => text("Colours tell names apart; they have no other meaning."),
            ColorBy::Module => text("Colours tell programs apart; they have no other meaning."),
            ColorBy::Efficiency => {
                let swatch =
                    |percent: f64| (ColorKey::of_share(percent), format!("{percent:.0}", percent = Percent(percent)));
                let swatches = [5.0, 25.0, 45.0, 55.0, 75.0, 95.0].map(swatch).to_vec();
                Self { swatches, text: "of the roofline; gray: not known" }
            }
            ColorBy::Change if comparing => {
                let changes = [(0.5, "half the time or less"), (0.8, "−20 %"), (1.25, "+25 %"), (2.0, "twice or more")];
                let changes = changes.into_iter().map(|(ratio, title)| (ColorKey::of_change(ratio), title));
                let noise = (ColorKey::of_group(OpGroup::Other), "~ noise");
                let swatches = changes.chain([noise]).map(|(key, title)| (key, title.to_owned()));
                Self { swatches: swatches.collect(), text: "" }
            }
            ColorBy::Change => text("Only one profile is open: compare it with another to see changes."),
            ColorBy::Category => {
                let swatches = trace.kinds.iter().map(|&(key, title)| (key, title.to_owned())).collect();
                let has_ops = trace.kinds.iter().any(|(key, _)| *key != ColorKey::COMPILATION);
                Self { swatches, text: if has_ops { "" } else { "No device ops here: colours tell names apart." } }
            }
        }
    }
}

/// What hatched slices are.
pub const HATCHED: &str = "hatched: the other run lacks the op";
