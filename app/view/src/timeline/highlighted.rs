//! Slices that are highlighted while all others are dim.

use crate::prelude::*;
use rayon::prelude::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::timeline::peaks::MaximumIndex;

/// Slices that are highlighted, prepared so that the cost of a frame depends on the number of boxes
/// and not of slices.
#[derive(Debug, Default)]
pub struct Highlighted {
    /// By id.
    pub(super) ids: Vec<SliceId>,
    /// For each slice the total duration of all slices before it, in picoseconds.
    pub(super) sums: Vec<i64>,
    pub(super) longest: MaximumIndex,
    /// By track: whether one of them is on it.
    tracks: Vec<bool>,
}

impl Highlighted {
    /// From slices sorted by id.
    pub fn new(model: &TraceModel, ids: Vec<SliceId>) -> Self {
        let durs: Vec<i64> = ids
            .par_iter()
            .map(|&slice| model.slice(slice).dur().ps())
            .collect();
        let sums = || {
            let sums = durs.iter().scan(0_i64, |sum, &dur| {
                *sum = sum.saturating_add(dur);
                Some(*sum)
            });
            std::iter::once(0).chain(sums).collect()
        };
        let (sums, longest) = rayon::join(sums, || {
            MaximumIndex::new(durs.len(), |i| durs.get(i).copied())
        });
        let has_some = |track: TrackId| {
            model.lanes(track).iter().any(|lane| {
                let rows = model.lane_rows(lane);
                let first = ids.partition_point(|slice| slice.index() < rows.start);
                ids.get(first).is_some_and(|slice| slice.index() < rows.end)
            })
        };
        let tracks = model.track_ids().map(has_some).collect();
        Self {
            ids,
            sums,
            longest,
            tracks,
        }
    }

    /// Whether one of them is on a track.
    pub fn is_on(&self, track: TrackId) -> bool {
        self.tracks.get(track.index()).copied().unwrap_or(false)
    }

    /// By id.
    pub fn ids(&self) -> &[SliceId] {
        &self.ids
    }
}
