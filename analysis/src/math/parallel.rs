//! Work on all cores, where there is enough of it.

use rayon::prelude::*;

/// Slices or ops from which on it pays to wake other threads: fewer take less time
/// than they need to wake up.
const WORTH_WAKING: usize = 20_000;

/// `map` of each item, in their order; `work` is how many slices or ops they go through.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: usize, map: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    if work < WORTH_WAKING { items.iter().map(map).collect() } else { items.par_iter().map(map).collect() }
}
