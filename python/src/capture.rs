//! Profiles of programs that run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use importers::Progress;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use request::CaptureRequest;

use crate::arguments::request_of;
use crate::error::{interruptible, of_request};

/// What `systole capture` records, as JSON. `tick` is called with how far it is, in words.
#[pyfunction]
#[pyo3(signature = (given, tick=None))]
pub(crate) fn capture(
    py: Python<'_>,
    given: &Bound<'_, PyDict>,
    tick: Option<Py<PyAny>>,
) -> PyResult<String> {
    let asked: CaptureRequest = request_of("capture", given)?;
    let (progress, is_stopped) = (Progress::new(), AtomicBool::new(false));
    let stage = Mutex::new(None);
    let latest = || stage.lock().unwrap_or_else(PoisonError::into_inner);
    let stop = || {
        is_stopped.store(true, Ordering::Relaxed);
        progress.cancel();
    };
    let show = |py: Python<'_>| {
        // The lock is free again before Python runs, which the capture must not wait for.
        let stage = latest().take();
        match (&tick, stage) {
            (Some(tick), Some(stage)) => tick.call1(py, (stage,)).map(drop),
            _ => Ok(()),
        }
    };
    let work = || {
        asked.answer(&progress, |stage| {
            *latest() = Some(stage.to_string());
            !is_stopped.load(Ordering::Relaxed)
        })
    };
    let answer = interruptible(py, stop, show, work)?;
    answer
        .map(|answer| answer.to_string())
        .map_err(|error| of_request(&error))
}
