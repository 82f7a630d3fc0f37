//! Arguments of Python as requests.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict as _, PyDict};
use request::{RequestError, read};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::error::{of_request, of_usage};

/// The request that `what` makes of its arguments.
pub(crate) fn request_of<T: DeserializeOwned + JsonSchema>(
    what: &str,
    given: &Bound<'_, PyDict>,
) -> PyResult<T> {
    let py = given.py();
    // Paths become texts.
    let options = [("default", py.import("os")?.getattr("fspath")?)].into_py_dict(py)?;
    // JSON has no numbers that are infinite, or none at all.
    options.set_item("allow_nan", false)?;
    let text = py
        .import("json")?
        .call_method("dumps", (given,), Some(&options));
    let text: String = text
        .map_err(|error| {
            if error.is_instance_of::<PyValueError>(py) {
                of_usage(format!("{what}: {}", error.value(py)))
            } else {
                error
            }
        })?
        .extract()?;
    let values = serde_json::from_str(&text).map_err(RequestError::from);
    values
        .and_then(|values| read(what, values))
        .map_err(|error| of_request(&error))
}
