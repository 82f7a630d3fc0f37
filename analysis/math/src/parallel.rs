//! Parallel work on all CPU cores, if there is enough of it.

use rayon::prelude::*;

/// Number of slices or ops from which on waking other threads is worth its cost.
const WORTH_WAKING: usize = 20_000;

/// `map` of each item, in order; `work` is the number of slices or ops to process.
pub fn map<T: Sync, R: Send>(
    items: &[T],
    work: usize,
    map: impl Fn(&T) -> R + Sync + Send,
) -> Vec<R> {
    map_owned(items.iter().collect(), work, map)
}

/// As [`map`], for items that are consumed.
pub fn map_owned<T: Send, R: Send>(
    items: Vec<T>,
    work: usize,
    map: impl Fn(T) -> R + Sync + Send,
) -> Vec<R> {
    if work < WORTH_WAKING {
        items.into_iter().map(map).collect()
    } else {
        items.into_par_iter().map(map).collect()
    }
}
