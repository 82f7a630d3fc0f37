//! Answers of commands.

use std::sync::Arc;

use pyo3::prelude::*;
use request::answers::CommandAnswer;

use crate::origin::Origin;
use crate::table::Table;

/// What a command answers, in every form.
#[pyclass(frozen, module = "systole_tpu._systole")]
pub(crate) struct Answer(CommandAnswer, Origin);

impl Answer {
    pub(crate) fn new(answer: CommandAnswer, origin: Origin) -> Self {
        Self(answer, origin)
    }
}

#[pymethods]
impl Answer {
    /// As the command prints it with `--format json`.
    #[getter]
    fn json(&self) -> &str {
        &self.0.json
    }

    /// As the command prints it with `--format text`.
    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    /// As a page of its own; empty where the command writes none.
    #[getter]
    fn html(&self) -> &str {
        &self.0.html
    }

    /// Its tables.
    #[getter]
    fn tables(&self) -> Vec<Table> {
        self.0
            .tables
            .iter()
            .map(|table| Table::new(Arc::clone(table), self.1.clone()))
            .collect()
    }
}
