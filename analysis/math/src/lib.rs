//! Intervals, statistics and tests of significance. Knows nothing of traces but time.

pub mod bounds;
pub mod intervals;
pub mod parallel;
pub mod quantile;
pub mod rank_test;
pub mod resample;
pub mod stats;
pub mod unit;

use std::collections::BTreeMap;
use std::ops::AddAssign;

/// The values of each key, in their order.
pub fn grouped<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut groups: BTreeMap<K, Vec<V>> = BTreeMap::new();
    for (key, value) in pairs {
        groups.entry(key).or_default().push(value);
    }
    groups
}

/// The sum of the values of each key.
pub fn summed<K: Ord, V: Default + AddAssign>(
    pairs: impl IntoIterator<Item = (K, V)>,
) -> BTreeMap<K, V> {
    let mut sums: BTreeMap<K, V> = BTreeMap::new();
    for (key, value) in pairs {
        *sums.entry(key).or_default() += value;
    }
    sums
}
