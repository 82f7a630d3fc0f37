//! Continuous profiling: a server records all the time, and sends what it has when it is asked.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use super::address::ServerAddress;
use super::client::{ProfilerClient, ServerError};
use super::gather;
use super::messages::SnapshotRequest;
use super::run::{Capture, CaptureOptions, hosts, keep, request};
use super::save::RunFolder;

/// What one server answered to a start or stop.
pub type ServerAnswer = (ServerAddress, Result<(), ServerError>);

/// Starts to record without end, with the levels and options of a capture.
///
/// # Errors
///
/// This machine fails. Servers that fail are part of the result.
pub fn start(options: &CaptureOptions) -> io::Result<Vec<ServerAnswer>> {
    let now = SystemTime::now();
    let session = RunFolder::new(&options.logdir, None, now).session;
    let tasks: Vec<_> = options
        .addresses
        .iter()
        .map(|address| {
            // Snapshots are sent: the server needs no place for files.
            let (request, timeout) = (
                request(options, Path::new(""), &session, address, now),
                options.timeout,
            );
            let address = address.clone();
            async move {
                ProfilerClient::connect(&address, timeout)
                    .await?
                    .start(request, timeout)
                    .await
            }
        })
        .collect();
    answers(options, tasks)
}

/// Ends what [`start`] began. What was recorded since the last snapshot is lost.
///
/// # Errors
///
/// This machine fails. Servers that fail are part of the result.
pub fn stop(options: &CaptureOptions) -> io::Result<Vec<ServerAnswer>> {
    let timeout = options.timeout;
    let stop = |address: ServerAddress| async move {
        ProfilerClient::connect(&address, timeout)
            .await?
            .stop(timeout)
            .await
    };
    answers(
        options,
        options.addresses.iter().cloned().map(stop).collect(),
    )
}

fn answers<F>(options: &CaptureOptions, tasks: Vec<F>) -> io::Result<Vec<ServerAnswer>>
where
    F: Future<Output = Result<(), ServerError>> + Send + 'static,
{
    let results = gather::block_on(gather::all(tasks, |_| true))?;
    Ok(options.addresses.iter().cloned().zip(results).collect())
}

/// Keeps what was recorded since the start or the last snapshot; recording goes on.
///
/// # Errors
///
/// This machine fails. Servers that fail are part of the result.
pub fn snapshot(options: &CaptureOptions) -> io::Result<Capture> {
    let folder = Arc::new(RunFolder::new(
        &options.logdir,
        options.session.as_deref(),
        SystemTime::now(),
    ));
    let tasks: Vec<_> = options
        .addresses
        .iter()
        .map(|address| {
            let (folder, address, timeout) =
                (Arc::clone(&folder), address.clone(), options.timeout);
            async move {
                let mut client = ProfilerClient::connect(&address, timeout).await?;
                let request = SnapshotRequest {
                    snapshot_session_id: folder.session.clone(),
                };
                let response = client.snapshot(request, timeout).await?;
                keep(folder, address, response).await
            }
        })
        .collect();
    let results = gather::block_on(gather::all(tasks, |_| true))?;
    let mut capture = hosts(&folder, &options.addresses, results);
    capture.record_environment();
    Ok(capture)
}
