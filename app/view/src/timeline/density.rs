//! Load of the trace over its whole length, for the minimap.

use crate::prelude::*;
use trace_model::{may_pause, pausing};

use crate::palette::ColorKey;
use crate::state::TreeItem;
use crate::timeline::columns::class_of;
use crate::timeline::scene::DrawnTrace;

/// Number of pieces of the trace.
const COLUMNS: usize = 1024;

/// The covered share of each piece of the trace.
#[derive(Debug, Default)]
pub struct MinimapDensity {
    /// Mean over the ops of all devices; empty without devices.
    pub devices: Vec<f32>,
    /// The mean of each category with its colour; categories add up to `devices`.
    pub categories: Vec<(ColorKey, Vec<f32>)>,
    /// Mean over all other tracks with slices.
    pub others: Vec<f32>,
}

impl MinimapDensity {
    /// From a whole trace. Uses only the top lanes and their sums for tracks that are no devices.
    pub fn new(scene: DrawnTrace<'_>) -> Self {
        let DrawnTrace {
            model,
            lod,
            tree,
            keys,
        } = scene;
        let extent = model.extent();
        let (mut devices, mut others) = (DensitySum::default(), DensitySum::default());
        let mut categories = CategorySums::default();
        for node in tree.nodes() {
            let TreeItem::Track(track) = node.item else {
                continue;
            };
            let (Some(lane), true) = (model.all_lanes().get(node.lanes.0), node.lanes.1 > 0) else {
                continue;
            };
            let sum = match model.track(track).kind {
                TrackKind::Ops | TrackKind::Stream => {
                    categories.add(model, track, keys, extent);
                    &mut devices
                }
                TrackKind::HostThread | TrackKind::Other => &mut others,
                // Steps and programs cover everything, so they show no load.
                _ => continue,
            };
            may_pause();
            sum.tracks += 1;
            sum.columns.resize(COLUMNS, 0.0);
            let length = (extent.dur().as_ps_f64() / COLUMNS as f64).max(1.0);
            let mut columns = sum.columns.iter_mut();
            lod.sums(node.lanes.0).between(
                model,
                lane,
                class_of(keys),
                ends(extent),
                |covered, _| {
                    if let Some(share) = columns.next() {
                        *share += covered.iter().sum::<i64>() as f64 / length;
                    }
                },
            );
        }
        let categories = categories.mean(devices.tracks);
        Self {
            devices: devices.mean(),
            others: others.mean(),
            categories,
        }
    }

    /// By category, the share of each of so many equal pieces of the trace, left to right.
    pub fn resampled(&self, pieces: usize) -> impl Iterator<Item = Vec<(ColorKey, f32)>> {
        (0..pieces).map(move |piece| {
            let of = |(color, columns): &(ColorKey, Vec<f32>)| {
                (*color, mean_within(columns, piece, pieces))
            };
            self.categories.iter().map(of).collect()
        })
    }
}

/// The mean of one of so many equal pieces of some columns.
fn mean_within(columns: &[f32], piece: usize, pieces: usize) -> f32 {
    let [from, to] =
        [piece, piece + 1].map(|edge| edge as f64 * columns.len() as f64 / pieces.max(1) as f64);
    let covered = columns
        .iter()
        .enumerate()
        .take(to.ceil() as usize)
        .skip(from as usize);
    let weighted = covered.map(|(i, &share)| {
        f64::from(share) * (to.min(i as f64 + 1.0) - from.max(i as f64)).max(0.0)
    });
    (weighted.sum::<f64>() / (to - from).max(f64::MIN_POSITIVE)) as f32
}

/// Where columns begin and end.
fn ends(extent: TimeRange) -> impl Iterator<Item = Timestamp> {
    let offset =
        move |column: usize| i128::from(extent.dur().ps()) * column as i128 / COLUMNS as i128;
    (0..=COLUMNS).map(move |column| {
        extent.start + Picos::from_ps(i64::try_from(offset(column)).unwrap_or(i64::MAX))
    })
}

/// Covered columns by category: each moment of a track counts for the innermost slice.
#[derive(Default)]
struct CategorySums(Vec<(ColorKey, Vec<f32>)>);

impl CategorySums {
    fn add(&mut self, model: &TraceModel, track: TrackId, colors: &[ColorKey], extent: TimeRange) {
        let scale = COLUMNS as f64 / extent.dur().as_ps_f64().max(1.0);
        let color = |slice: SliceRef<'_>| colors.get(slice.label_id().index()).copied();
        for slice in pausing(model.slices_on(track)) {
            let [from, to] = [slice.range().start, slice.range().end]
                .map(|time| (time - extent.start).as_ps_f64() * scale);
            // The time of children does not count for the parent.
            let parent = slice.parent().and_then(color).map(|color| (color, -1.0));
            for (color, sign) in color(slice)
                .map(|color| (color, 1.0))
                .into_iter()
                .chain(parent)
            {
                let columns = self.columns(color);
                for (i, column) in columns
                    .iter_mut()
                    .enumerate()
                    .take((to.ceil() as usize).min(COLUMNS))
                    .skip(from as usize)
                {
                    *column +=
                        (sign * (to.min(i as f64 + 1.0) - from.max(i as f64)).max(0.0)) as f32;
                }
            }
        }
    }

    fn columns(&mut self, color: ColorKey) -> &mut Vec<f32> {
        let index = self
            .0
            .iter()
            .position(|(other, _)| *other == color)
            .unwrap_or_else(|| {
                self.0.push((color, vec![0.0; COLUMNS]));
                self.0.len() - 1
            });
        &mut self.0[index].1
    }

    fn mean(mut self, tracks: u32) -> Vec<(ColorKey, Vec<f32>)> {
        for column in self.0.iter_mut().flat_map(|(_, columns)| columns) {
            *column = (*column / tracks.max(1) as f32).clamp(0.0, 1.0);
        }
        // The largest at the bottom, where it is most visible.
        let sum = |columns: &[f32]| columns.iter().sum::<f32>();
        self.0.sort_by(|a, b| sum(&b.1).total_cmp(&sum(&a.1)));
        self.0
    }
}

#[derive(Default)]
struct DensitySum {
    tracks: u32,
    columns: Vec<f64>,
}

impl DensitySum {
    fn mean(self) -> Vec<f32> {
        let tracks = f64::from(self.tracks.max(1));
        self.columns
            .into_iter()
            .map(|sum| (sum / tracks).min(1.0) as f32)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::tree::TrackTree;
    use analysis::OpGroup;
    use trace_model::{GroupKind, LodIndex, SliceSpec, TraceBuilder};

    #[test]
    fn density_is_the_mean_over_tracks() {
        let mut builder = TraceBuilder::new();
        let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "TPU");
        let label = builder.label("x", None);
        let inner = builder.label("y", None);
        for (id, from, to) in [(0, 0, 10_240), (1, 5_120, 10_240)] {
            let track = builder.track(core, TrackKind::Ops, id, &format!("ops {id}"));
            let range = TimeRange::new(Timestamp::from_ps(from), Timestamp::from_ps(to));
            builder.add_slice(track, SliceSpec::new(range, label));
            let within = TimeRange::new(Timestamp::from_ps(5_120), Timestamp::from_ps(7_680));
            builder.add_slice(track, SliceSpec::new(within, inner));
        }
        let model = builder.finish();
        let colors = [
            ColorKey::of_group(OpGroup::MatMul),
            ColorKey::of_group(OpGroup::Vector),
        ];
        let (lod, tree) = (
            LodIndex::build(&model, class_of(&colors)),
            TrackTree::new(&model),
        );
        let density = MinimapDensity::new(DrawnTrace {
            model: &model,
            lod: &lod,
            tree: &tree,
            keys: &colors,
        });
        assert!(
            (density.devices[100] - 0.5).abs() < 1e-3 && (density.devices[900] - 1.0).abs() < 1e-3
        );
        assert!(density.others.is_empty());
        let of = |group: OpGroup, column: usize| {
            let own = density
                .categories
                .iter()
                .find(|(color, _)| *color == ColorKey::of_group(group));
            own.map(|(_, columns)| columns[column])
        };
        assert_eq!(
            (of(OpGroup::MatMul, 100), of(OpGroup::Vector, 100)),
            (Some(0.5), Some(0.0))
        );
        assert_eq!(
            (of(OpGroup::MatMul, 600), of(OpGroup::Vector, 600)),
            (Some(0.0), Some(1.0)),
            "the innermost counts"
        );
        assert_eq!(of(OpGroup::MatMul, 900), Some(1.0));
        for pieces in [1, 7, 300, 1024, 1500] {
            let shares = |group: OpGroup| {
                let color = ColorKey::of_group(group);
                let own = density
                    .resampled(pieces)
                    .map(move |column| column.into_iter().find(|(key, _)| *key == color));
                own.map(|found| found.map_or(0.0, |(_, share)| f64::from(share)))
                    .sum::<f64>()
                    / pieces as f64
            };
            // 5,120 of one track, 7,680 of both less the inner one: (5120 + 2 · 2560) / (2 · 10240).
            assert!(
                (shares(OpGroup::MatMul) - 0.5).abs() < 1e-4,
                "{pieces}: {}",
                shares(OpGroup::MatMul)
            );
            assert!(
                (shares(OpGroup::Vector) - 0.25).abs() < 1e-4,
                "{pieces}: {}",
                shares(OpGroup::Vector)
            );
        }
    }
}
