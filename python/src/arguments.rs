//! Arguments of Python as requests.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyString};
use request::read;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::error::of_request;

/// The request that `what` makes of its arguments.
pub(crate) fn request_of<T: DeserializeOwned + JsonSchema>(what: &str, given: &Bound<'_, PyDict>) -> PyResult<T> {
    read(what, object(given)?).map_err(|error| of_request(&error))
}

fn object(given: &Bound<'_, PyDict>) -> PyResult<Map<String, Value>> {
    given.iter().map(|(name, value)| Ok((name.extract()?, value_of(&value)?))).collect()
}

fn value_of(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    // A boolean is a number, and a text a sequence, too.
    if value.is_none() {
        Ok(Value::Null)
    } else if value.is_instance_of::<PyBool>() {
        Ok(Value::Bool(value.extract()?))
    } else if value.is_instance_of::<PyString>() {
        Ok(Value::String(value.extract()?))
    } else if value.is_instance_of::<PyFloat>() {
        Ok(json!(value.extract::<f64>()?))
    } else if let Ok(number) = value.extract::<i64>() {
        Ok(json!(number))
    } else if let Ok(values) = value.cast::<PyDict>() {
        object(values).map(Value::Object)
    } else if let Ok(values) = value.extract::<Vec<Bound<'_, PyAny>>>() {
        values.iter().map(value_of).collect()
    } else {
        let path: std::path::PathBuf = value.extract()?;
        Ok(Value::String(path.to_string_lossy().into_owned()))
    }
}
