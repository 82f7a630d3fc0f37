//! Progress and cancellation of an import.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use crate::{ImportError, Result};

/// Progress of an import, shared between the importing thread and the thread that shows it.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
    cancelled: AtomicBool,
    stage: AtomicU8,
    /// Told bytes read and to read.
    watcher: Option<fn(u64, u64)>,
}

/// What an import is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressStage {
    /// Reading files.
    Reading,
    /// Copying them from a bucket or web server.
    Downloading,
    /// Waiting until they are written.
    Waiting,
    /// Looking for them in directories.
    Looking,
}

impl Progress {
    /// No progress yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// No progress yet; `watcher` is told the bytes read and to read as they grow, where no other thread could look.
    pub fn watched(watcher: fn(u64, u64)) -> Self {
        Self {
            watcher: Some(watcher),
            ..Self::default()
        }
    }

    /// Starts another stage, which counts from 0.
    pub fn begin(&self, stage: ProgressStage) {
        self.total.store(0, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
        self.stage.store(stage as u8, Ordering::Relaxed);
    }

    /// What is being done.
    pub fn stage(&self) -> ProgressStage {
        match self.stage.load(Ordering::Relaxed) {
            0 => ProgressStage::Reading,
            1 => ProgressStage::Downloading,
            2 => ProgressStage::Waiting,
            _ => ProgressStage::Looking,
        }
    }

    /// Adds to the number of bytes to read (on disk).
    pub fn add_total(&self, bytes: u64) {
        self.total.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds to the number of bytes read (on disk).
    pub fn add_done(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
        if let Some(watcher) = self.watcher {
            let (done, total) = self.bytes();
            watcher(done, total);
        }
    }

    /// Takes back bytes that must be read again.
    pub fn take_back(&self, bytes: u64) {
        self.done.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes read, and bytes to read (0 while unknown).
    pub fn bytes(&self) -> (u64, u64) {
        (
            self.done.load(Ordering::Relaxed),
            self.total.load(Ordering::Relaxed),
        )
    }

    /// Share done, 0 to 1; `None` while the total is unknown.
    pub fn fraction(&self) -> Option<f32> {
        let (done, total) = self.bytes();
        (total > 0).then(|| (done as f64 / total as f64).min(1.0) as f32)
    }

    /// Asks the import to stop at its next [`Self::check`].
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns an error after cancellation; to be called every few milliseconds.
    ///
    /// # Errors
    ///
    /// [`ImportError::Cancelled`] after [`Self::cancel`].
    #[inline]
    pub fn check(&self) -> Result<()> {
        trace_model::may_pause();
        if self.cancelled.load(Ordering::Relaxed) {
            Err(ImportError::Cancelled)
        } else {
            Ok(())
        }
    }
}
