//! Tells work that nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use importers::Progress;

/// Tells work that nobody waits for it.
#[derive(Debug, Default)]
pub struct Cancel {
    /// Stops an import.
    pub progress: Progress,
    /// Stops a query, and all else.
    pub flag: Arc<AtomicBool>,
}

/// Cancels when it is dropped.
pub struct CancelOnDrop(pub Arc<Cancel>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.progress.cancel();
        self.0.flag.store(true, Ordering::Relaxed);
    }
}
