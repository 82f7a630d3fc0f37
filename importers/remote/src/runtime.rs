//! The async runtime: it lives as long as one listing, transfer or upload, on the thread that asked for it.

use std::future::Future;
use std::time::Duration;

use input::{Progress, Result};

/// How often a cancellation is looked for.
const TICK: Duration = Duration::from_millis(50);

/// Runs `work` until it ends or the import is cancelled.
pub(crate) fn run<T>(progress: &Progress, work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    let result = runtime.block_on(async {
        let mut work = std::pin::pin!(work);
        loop {
            match tokio::time::timeout(TICK, &mut work).await {
                Ok(result) => return result,
                Err(_) => progress.check()?,
            }
        }
    });
    // A name that is still being looked up must not delay the answer.
    runtime.shutdown_background();
    result
}
