//! Failures as exceptions.

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

/// Runs work on a thread of its own without the interpreter lock, and looks for Ctrl+C meanwhile: then `cancel` is
/// called, and the work is waited for.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    cancel: impl Fn(),
    mut tick: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    use std::sync::mpsc::{RecvTimeoutError, sync_channel};
    use std::time::Duration;

    const TICK: Duration = Duration::from_millis(20);
    std::thread::scope(|scope| {
        let (send, received) = sync_channel(1);
        scope.spawn(move || {
            // Only a panic of the receiver makes this fail.
            let _ = send.send(work());
        });
        let mut stopped = Ok(());
        let mut received = received;
        loop {
            // A receiver belongs to one thread: it moves into the part without the lock and back.
            let answer;
            (received, answer) = py.detach(move || {
                let answer = received.recv_timeout(TICK);
                (received, answer)
            });
            match answer {
                Ok(answer) => return stopped.map(|()| answer),
                Err(RecvTimeoutError::Timeout) if stopped.is_ok() => {
                    stopped = py.check_signals().and_then(|()| tick(py));
                    if stopped.is_err() {
                        cancel();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let why = "the work ended without an answer".to_owned();
                    return Err(of_request(&RequestError::Internal(why)));
                }
            }
        }
    })
}
