//! The meaning of slice colours, for the window and for pictures.

use std::borrow::Cow;

use crate::prelude::*;

use crate::palette::ColorKey;
use crate::state::ColorBy;
use crate::timeline::trace::OpenTrace;

#[derive(Debug, Default)]
pub struct ColorLegend {
    /// Colours with a meaning.
    pub swatches: Vec<(ColorKey, Cow<'static, str>)>,
    /// A remark about the colours.
    pub text: &'static str,
}

impl ColorLegend {
    /// The legend of a trace; changes have colours only beside another trace.
    pub fn of(trace: &OpenTrace, by: ColorBy, comparing: bool) -> Self {
        let text = |text| Self {
            text,
            swatches: Vec::new(),
        };
        match by {
            ColorBy::Name => text("Colours distinguish names; they have no other meaning."),
            ColorBy::Module => text("Colours distinguish programs; they have no other meaning."),
            ColorBy::Efficiency => {
                let title =
                    |percent: f64| Cow::Owned(format!("{percent:.0}", percent = Percent(percent)));
                let swatch = |percent: f64| (ColorKey::of_share(percent), title(percent));
                let swatches = [5.0, 25.0, 45.0, 55.0, 75.0, 95.0].map(swatch).to_vec();
                Self {
                    swatches,
                    text: "of the roofline; gray: unknown",
                }
            }
            ColorBy::Change if comparing => {
                let changes = [
                    (0.5, "half the time or less"),
                    (0.8, "−20 %"),
                    (1.25, "+25 %"),
                    (2.0, "twice or more"),
                ];
                let changes = changes
                    .into_iter()
                    .map(|(ratio, title)| (ColorKey::of_change(ratio), title));
                let noise = (ColorKey::of_group(OpGroup::Other), "~ noise");
                let swatches = changes
                    .chain([noise])
                    .map(|(key, title)| (key, Cow::Borrowed(title)));
                Self {
                    swatches: swatches.collect(),
                    text: "",
                }
            }
            ColorBy::Change => text("Only one profile is open; open a second one to see changes."),
            ColorBy::Category => {
                let swatches = trace
                    .kinds
                    .iter()
                    .map(|&(key, title)| (key, Cow::Borrowed(title)))
                    .collect();
                let has_ops = trace
                    .kinds
                    .iter()
                    .any(|(key, _)| *key != ColorKey::COMPILATION);
                Self {
                    swatches,
                    text: if has_ops {
                        ""
                    } else {
                        "No device ops here: colours distinguish names."
                    },
                }
            }
        }
    }
}

/// The meaning of hatching.
pub const HATCHED: &str = "hatched: the other run lacks the op";
