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
mod _systole {
    #[pymodule_export]
    use super::{
        answer::Answer,
        capture::capture,
        error::CommandFailed,
        main,
        origin::write_text,
        session::{
            Session, compare_summaries, explain, list_files, open, query_views, record_environment,
        },
        table::Table,
    };

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
