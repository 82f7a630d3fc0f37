//! Asks several servers at the same time, and tells a caller how it goes.

use std::future::Future;
use std::io;
use std::time::Duration;

use tokio::task::JoinSet;

use super::client::ServerError;

/// How often a caller hears of progress and may stop.
pub(super) const TICK: Duration = Duration::from_millis(100);

/// Runs a future to its end on this thread. Fails where the system has no event loop left.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(future);
    // A name that is being looked up cannot be interrupted, and nobody waits for it any more.
    runtime.shutdown_background();
    Ok(result)
}

/// The results of all tasks, in their order. `tick` hears how many are done; where it returns false, the others end.
pub(super) async fn all<T, F>(
    tasks: impl IntoIterator<Item = F>,
    mut tick: impl FnMut(usize) -> bool,
) -> Vec<Result<T, ServerError>>
where
    T: Send + 'static,
    F: Future<Output = Result<T, ServerError>> + Send + 'static,
{
    let mut running = JoinSet::new();
    let mut results = Vec::new();
    for (index, task) in tasks.into_iter().enumerate() {
        running.spawn(async move { (index, task.await) });
        results.push(Err(ServerError::Stopped));
    }
    let mut done = 0;
    while !running.is_empty() {
        match tokio::time::timeout(TICK, running.join_next()).await {
            Ok(Some(Ok((index, result)))) => {
                results[index] = result;
                done += 1;
            }
            // A task that panicked is a bug, and said like one.
            Ok(Some(Err(error))) => std::panic::resume_unwind(error.into_panic()),
            Ok(None) | Err(_) => {}
        }
        if !tick(done) {
            break;
        }
    }
    results
}
