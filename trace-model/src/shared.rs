//! What threads share.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a value that is whole at all times, so that the panic of a thread which had locked it does no harm.
pub fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A text for the life of the program; each distinct one is kept once. For texts of which there are few.
pub fn kept(text: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut all = locked(&KEPT);
    if let Some(same) = all.get(text) {
        return same;
    }
    let text: &'static str = text.to_owned().leak();
    all.insert(text);
    text
}
