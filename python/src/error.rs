//! Failures as exceptions.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use query::QueryError;
use request::RequestError;

pyo3::create_exception!(
    systole_tpu._systole,
    CommandFailed,
    PyException,
    "A command failed: its message, and the exit code that the command line would have."
);

/// The exception of a request.
pub(crate) fn of_request(error: &RequestError) -> PyErr {
    CommandFailed::new_err((error.to_string(), error.codes().exit))
}

/// The exception of a query.
pub(crate) fn of_query(error: &QueryError) -> PyErr {
    of_usage(error.to_string())
}

/// The exception of wrong arguments.
pub(crate) fn of_usage(message: String) -> PyErr {
    of_request(&RequestError::Usage(message))
}

/// How often Ctrl+C is looked for.
const TICK: Duration = Duration::from_millis(20);

/// Runs work on a thread of its own without the interpreter lock, and looks for Ctrl+C meanwhile: then `cancel` is
/// called, and the work is waited for.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    cancel: impl Fn(),
    mut tick: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    std::thread::scope(|scope| {
        let (send, mut received) = sync_channel(1);
        scope.spawn(move || {
            // Only a panic of the receiver makes this fail.
            let _ = send.send(work());
        });
        let mut stopped = Ok(());
        loop {
            match next(py, &mut received)? {
                Some(answer) => return stopped.map(|()| answer),
                None if stopped.is_ok() => {
                    stopped = py.check_signals().and_then(|()| tick(py));
                    if stopped.is_err() {
                        cancel();
                    }
                }
                None => {}
            }
        }
    })
}

/// The same for work that cannot be cancelled and changes nothing: after Ctrl+C it ends on its thread, and nobody waits.
pub(crate) fn abandonable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (send, mut received) = sync_channel(1);
    std::thread::Builder::new()
        .name("systole-read".to_owned())
        .spawn(move || {
            // Whoever asked may be gone.
            let _ = send.send(work());
        })?;
    loop {
        if let Some(answer) = next(py, &mut received)? {
            return Ok(answer);
        }
        py.check_signals()?;
    }
}

/// The answer, if it comes within a tick.
fn next<T: Send>(py: Python<'_>, received: &mut Receiver<T>) -> PyResult<Option<T>> {
    // A receiver can be used by one thread at a time: it is borrowed by the part without the lock.
    match py.detach(move || received.recv_timeout(TICK)) {
        Ok(answer) => Ok(Some(answer)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => {
            let why = "the work ended without an answer".to_owned();
            Err(of_request(&RequestError::Internal(why)))
        }
    }
}
