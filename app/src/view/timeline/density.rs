//! Load of the trace over its whole length, for the minimap.

use trace_model::{LodIndex, LodSlice, Picos, TimeRange, TraceModel, TrackKind};

use crate::view::{state::TreeItem, timeline::tree::TrackTree};

/// Number of pieces of the trace.
const COLUMNS: usize = 1024;

/// The covered share of each piece of the trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MinimapDensity {
    /// Mean over the ops of all devices; empty without devices.
    pub devices: Vec<f32>,
    /// Mean over all other tracks with slices.
    pub others: Vec<f32>,
}

impl MinimapDensity {
    /// From a whole trace. Uses only the top lanes and their level-of-detail data.
    pub fn new(model: &TraceModel, lod: &LodIndex, tree: &TrackTree) -> Self {
        let extent = model.extent();
        let resolution = Picos::from_ps((extent.dur().ps() / COLUMNS as i64).max(1));
        let (mut devices, mut others) = (DensitySum::default(), DensitySum::default());
        let mut found: Vec<LodSlice> = Vec::new();
        for node in tree.nodes() {
            let TreeItem::Track(track) = node.item else { continue };
            let (Some(lane), true) = (model.all_lanes().get(node.lanes.0), node.lanes.1 > 0) else { continue };
            let sum = match model.track(track).kind {
                TrackKind::Ops | TrackKind::Stream => &mut devices,
                TrackKind::HostThread | TrackKind::Other => &mut others,
                // Steps and programs cover everything, and say nothing.
                _ => continue,
            };
            found.clear();
            lod.lane(node.lanes.0).query(model, lane, extent, resolution, &mut found);
            sum.add(&found, extent);
        }
        Self { devices: devices.mean(), others: others.mean() }
    }
}

#[derive(Default)]
struct DensitySum {
    tracks: u32,
    columns: Vec<f32>,
}

impl DensitySum {
    fn add(&mut self, found: &[LodSlice], extent: TimeRange) {
        self.tracks += 1;
        self.columns.resize(COLUMNS, 0.0);
        let scale = COLUMNS as f64 / (extent.dur().ps() as f64).max(1.0);
        for slice in found {
            let share = slice.occupied.ps() as f64 / (slice.range.dur().ps() as f64).max(1.0);
            let from = (slice.range.start - extent.start).ps() as f64 * scale;
            let to = (slice.range.end - extent.start).ps() as f64 * scale;
            let last = (to.ceil() as usize).min(COLUMNS);
            for (i, column) in self.columns.iter_mut().enumerate().take(last).skip(from as usize) {
                let covered = (to.min(i as f64 + 1.0) - from.max(i as f64)).max(0.0);
                *column += (covered * share) as f32;
            }
        }
    }

    fn mean(self) -> Vec<f32> {
        let tracks = self.tracks.max(1) as f32;
        self.columns.into_iter().map(|sum| (sum / tracks).min(1.0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_model::{GroupKind, SliceSpec, Timestamp, TraceBuilder};

    #[test]
    fn each_column_is_as_full_as_its_tracks_are_on_average() {
        let mut builder = TraceBuilder::new();
        let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "TPU");
        let label = builder.label("x", None);
        for (id, from, to) in [(0, 0, 10_240), (1, 5_120, 10_240)] {
            let track = builder.track(core, TrackKind::Ops, id, &format!("ops {id}"));
            let range = TimeRange::new(Timestamp::from_ps(from), Timestamp::from_ps(to));
            builder.add_slice(track, SliceSpec::new(range, label));
        }
        let model = builder.finish();
        let density = MinimapDensity::new(&model, &LodIndex::build(&model), &TrackTree::new(&model));
        assert!((density.devices[100] - 0.5).abs() < 1e-3 && (density.devices[900] - 1.0).abs() < 1e-3);
        assert!(density.others.is_empty());
    }
}
