//! The data of a timeline to draw.

use trace_model::{LodIndex, TraceModel};

use crate::view::timeline::tree::TrackTree;

/// The data of a timeline to draw.
#[derive(Clone, Copy)]
pub struct DrawnTrace<'a> {
    /// The trace.
    pub model: &'a TraceModel,
    /// Its pyramids.
    pub lod: &'a LodIndex,
    /// Its tracks.
    pub tree: &'a TrackTree,
}
