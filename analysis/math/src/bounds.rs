//! Pairs of numbers as JSON: named fields, never positions in a list.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// From `low` to `high`, both included, in the unit of the field that holds it.
#[derive(Serialize, JsonSchema)]
pub struct Bounds<T> {
    low: T,
    high: T,
}

/// A pair as [`Bounds`].
///
/// # Errors
///
/// The serializer fails.
pub fn bounds<T: Copy + Serialize, S: Serializer>(
    pair: &Option<(T, T)>,
    out: S,
) -> Result<S::Ok, S::Error> {
    pair.map(|(low, high)| Bounds { low, high }).serialize(out)
}
