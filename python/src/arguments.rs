//! Arguments of Python as requests.

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict as _, PyDict};
use request::{RequestError, read};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::error::of_request;

/// The request that `what` makes of its arguments.
pub(crate) fn request_of<T: DeserializeOwned + JsonSchema>(
    what: &str,
    given: &Bound<'_, PyDict>,
) -> PyResult<T> {
    let py = given.py();
    // Paths become texts.
    let options = [("default", py.import("os")?.getattr("fspath")?)].into_py_dict(py)?;
    let text: String = py
        .import("json")?
        .call_method("dumps", (given,), Some(&options))?
        .extract()?;
    let values = serde_json::from_str(&text).map_err(RequestError::from);
    values
        .and_then(|values| read(what, values))
        .map_err(|error| of_request(&error))
}
