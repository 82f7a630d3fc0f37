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

/// The one with the most of something, of equal ones the first by name, and whether several are compared that all have
/// as much.
pub fn most<T>(
    all: impl IntoIterator<Item = T>,
    amount: impl Fn(&T) -> f64,
    name: impl Fn(&T) -> &str,
) -> Option<(T, bool)> {
    let (mut least, mut count) = (f64::INFINITY, 0);
    let counted = all.into_iter().inspect(|one| {
        least = least.min(amount(one));
        count += 1;
    });
    let order = |a: &T, b: &T| {
        let order = amount(a).total_cmp(&amount(b));
        order.then_with(|| name(b).cmp(name(a)))
    };
    let most = counted.max_by(order)?;
    let are_equal = count > 1 && amount(&most) <= least;
    Some((most, are_equal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_ones_the_first_by_name_has_most() {
        let most = |all: &[(&'static str, f64)]| most(all.to_vec(), |one| one.1, |one| one.0);
        assert_eq!(most(&[]), None);
        assert_eq!(most(&[("a", 1.0)]), Some((("a", 1.0), false)));
        let some = [("a", 0.0), ("c", 1.0), ("b", 1.0)];
        assert_eq!(most(&some), Some((("b", 1.0), false)));
        assert_eq!(most(&some[1..]), Some((("b", 1.0), true)));
    }
}
