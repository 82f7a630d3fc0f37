//! How some values are written as JSON: named fields, never positions in a list.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::OpGroup;

/// From `low` to `high`, both included, in the unit of the field that holds it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Bounds<T> {
    low: T,
    high: T,
}

/// A pair as [`Bounds`].
#[expect(clippy::ref_option, reason = "as serde calls it")]
pub(crate) fn bounds<T: Copy + Serialize, S: Serializer>(pair: &Option<(T, T)>, out: S) -> Result<S::Ok, S::Error> {
    pair.map(|(low, high)| Bounds { low, high }).serialize(out)
}

/// One step of each side of a comparison.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StepPair {
    /// Number of the step of the first side.
    base: u32,
    /// Number of the step of the second side.
    cand: u32,
}

/// Pairs of steps as [`StepPair`].
pub(crate) fn step_pairs<S: Serializer>(pairs: &[(u32, u32)], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(pairs.iter().map(|&(base, cand)| StepPair { base, cand }))
}

/// Numbers in the order of [`OpGroup::ALL`], as a map of groups.
pub(crate) fn by_group<S: Serializer>(numbers: &[i64], out: S) -> Result<S::Ok, S::Error> {
    out.collect_map(OpGroup::ALL.iter().zip(numbers))
}

/// Times in four classes of bandwidth, lowest first.
#[derive(Serialize, JsonSchema)]
#[expect(clippy::struct_field_names, reason = "the unit belongs to the names")]
pub(crate) struct TimeByBandwidth {
    /// Below 4.17 GB/s.
    lowest_ps: i64,
    /// From 4.17 to 8.34 GB/s.
    low_ps: i64,
    /// From 8.34 to 12.5 GB/s.
    high_ps: i64,
    /// From 12.5 GB/s.
    highest_ps: i64,
}

/// Four times as [`TimeByBandwidth`].
pub(crate) fn by_bandwidth<S: Serializer>(times: &[i64; 4], out: S) -> Result<S::Ok, S::Error> {
    let [lowest_ps, low_ps, high_ps, highest_ps] = *times;
    TimeByBandwidth { lowest_ps, low_ps, high_ps, highest_ps }.serialize(out)
}
