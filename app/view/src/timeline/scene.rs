//! The data of a timeline to draw.

use crate::prelude::*;
use trace_model::LodIndex;

use crate::palette::ColorKey;
use crate::timeline::tree::TrackTree;

/// The data of a timeline to draw.
#[derive(Clone, Copy)]
pub struct DrawnTrace<'a> {
    pub model: &'a TraceModel,
    /// Its level of detail, for the colours `keys`.
    pub lod: &'a LodIndex,
    /// The usual colour of each label.
    pub keys: &'a [ColorKey],
    pub tree: &'a TrackTree,
}
