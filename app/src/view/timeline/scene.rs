//! What there is to draw from.

use trace_model::{LodIndex, TraceModel};

use crate::view::timeline::tree::TrackTree;

/// What there is to draw from.
#[derive(Clone, Copy)]
pub struct DrawnTrace<'a> {
    /// The trace.
    pub model: &'a TraceModel,
    /// Its pyramids.
    pub lod: &'a LodIndex,
    /// Its tracks.
    pub tree: &'a TrackTree,
}
