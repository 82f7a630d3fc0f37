//! Work that blocks: on threads of its own, few at a time, stopped when nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use request::{Cancel, CancelOnDrop};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::error::ApiError;

/// Requests that may wait for their turn.
const MOST_WAITING: usize = 64;
/// How long one waits.
const TURN: Duration = Duration::from_mins(2);

/// A number of jobs that may run at the same time.
pub(super) struct Work {
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
}

struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Work {
    /// As many jobs as there are processors, and at least this many.
    pub fn new(least: usize) -> Self {
        let jobs = available_parallelism().map_or(least, |count| count.get().max(least));
        Self {
            permits: Arc::new(Semaphore::new(jobs)),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Runs a job, stopped after `limit`.
    pub async fn run<T: Send + 'static>(
        &self,
        limit: Duration,
        job: impl FnOnce(&Cancel) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let permit = self.permit().await?;
        let cancel = Arc::new(Cancel::default());
        let shared = Arc::clone(&cancel);
        // When the request is dropped: the client has gone, or the time is up.
        let guard = CancelOnDrop(cancel);
        // The permit is given back when the work ends, which can be after the request.
        let running = spawn_blocking(move || {
            let _permit = permit;
            job(&shared)
        });
        let result = match timeout(limit, running).await {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => Err(ApiError::internal(format!("internal error: {error}"))),
            Err(_elapsed) => Err(ApiError::slow(limit.as_secs())),
        };
        drop(guard);
        result
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(permit);
        }
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.waiting);
        if before >= MOST_WAITING {
            return Err(ApiError::busy());
        }
        match timeout(TURN, Arc::clone(&self.permits).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(ApiError::busy()),
        }
    }
}
