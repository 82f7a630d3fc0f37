//! The Python module `systole_tpu._systole`: sessions, tables and the command line. What users see is the package
//! `systole_tpu` beside it, which is written in Python and typed.

#![allow(clippy::needless_pass_by_value, reason = "Python hands over values")]

mod answer;
mod arguments;
mod capture;
mod error;
mod origin;
mod session;
mod table;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command line with these arguments, the first being the name of the program; returns the exit code.
#[pyfunction]
fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| systole::run(args))
}

/// The module.
#[pymodule]
fn _systole(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add(
        "CommandFailed",
        module.py().get_type::<error::CommandFailed>(),
    )?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(session::open, module)?)?;
    module.add_function(wrap_pyfunction!(session::record_environment, module)?)?;
    module.add_function(wrap_pyfunction!(capture::capture, module)?)?;
    module.add_function(wrap_pyfunction!(session::list_files, module)?)?;
    module.add_function(wrap_pyfunction!(session::compare_summaries, module)?)?;
    module.add_function(wrap_pyfunction!(session::explain, module)?)?;
    module.add_function(wrap_pyfunction!(session::query_views, module)?)?;
    module.add_function(wrap_pyfunction!(origin::write_text, module)?)?;
    module.add_class::<session::Session>()?;
    module.add_class::<answer::Answer>()?;
    module.add_class::<table::Table>()
}
