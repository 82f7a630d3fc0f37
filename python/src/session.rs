//! An open trace.

use std::ffi::{CString, OsString};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use importers::{ListedFile, Progress};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use query::{Database, QueryAnswer, QueryLimits, SqlValue, VIEWS};
use request::answers::CommandAnswer;
use request::{
    CompareRequest, EventsRequest, ExpectRequest, HloRequest, PartRequest, PictureRequest, Result,
    TraceRequest, WhatIfRequest, answers, checks, notes,
};
use session::environment::{ObservedProcess, write};
use session::tables::{Catalog, arguments, picked};

use crate::answer::Answer;
use crate::arguments::request_of;
use crate::error::{CommandFailed, abandonable, interruptible, of_query, of_request, of_usage};
use crate::origin::Origin;
use crate::table::Table;

/// Exit code of a file that cannot be read.
const CANNOT_READ: u8 = 3;

/// An open trace with a scope, the part that reports are about.
#[pyclass(frozen, module = "systole_tpu._systole")]
pub(crate) struct Session {
    trace: ::session::Session,
    origin: Origin,
    scope: analysis::Scope,
    catalog: Mutex<Option<Arc<Catalog>>>,
    /// The database of the last query.
    database: Mutex<Option<Database>>,
}

/// Opens a trace. `tick` is called with the share that is read, from 0 to 1.
#[pyfunction]
#[pyo3(signature = (path, options, tick=None, programs_only=false))]
pub(crate) fn open(
    py: Python<'_>,
    path: PathBuf,
    options: &Bound<'_, PyDict>,
    tick: Option<Py<PyAny>>,
    programs_only: bool,
) -> PyResult<Session> {
    let trace = TraceRequest {
        path,
        ..request_of("open", options)?
    };
    let progress = Arc::new(Progress::new());
    let shown = |py: Python<'_>| match (&tick, progress.fraction()) {
        (Some(tick), Some(fraction)) => tick.call1(py, (fraction,)).map(drop),
        _ => Ok(()),
    };
    let opened = interruptible(
        py,
        || progress.cancel(),
        shown,
        || answers::open(&trace, &[], programs_only, &progress),
    )?;
    let opened = opened.map_err(|error| of_request(&error))?;
    for note in notes(&opened, &trace.assume.values) {
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(note)?, 2)?;
    }
    let origin = Origin::new(opened.clone(), trace.files());
    Ok(Session::new(opened, origin, analysis::Scope::WholeTrace))
}

/// Writes what this process was built from beside the profiles in `directory`.
#[pyfunction]
pub(crate) fn record_environment(
    directory: PathBuf,
    python: String,
    folders: Vec<PathBuf>,
    packages: Vec<String>,
    chip: Option<String>,
) -> PyResult<PathBuf> {
    let versions = [("python".to_owned(), python)].into();
    let process = ObservedProcess::this().with_packages(folders);
    let mut environment = process.environment("systole_tpu.trace", &versions, &packages);
    environment.chip = chip;
    Ok(write(&environment, &directory)?)
}

/// Path, size and time of all files below a directory or a pattern, of this machine or a bucket. The time is that of the
/// last write, in nanoseconds since 1970. What is unknown is `None`.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a tuple of Python")]
pub(crate) fn list_files(
    py: Python<'_>,
    path: PathBuf,
) -> PyResult<Vec<(OsString, Option<u64>, Option<u64>)>> {
    let progress = Progress::new();
    let listed = interruptible(
        py,
        || progress.cancel(),
        quiet,
        || answers::files(&path, &progress),
    )?;
    let since_1970 = |time: SystemTime| {
        u64::try_from(time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_nanos()).ok()
    };
    let facts = |file: ListedFile| {
        (
            file.path.into_os_string(),
            file.bytes,
            file.modified.and_then(since_1970),
        )
    };
    Ok(listed
        .map_err(|error| of_request(&error))?
        .into_iter()
        .map(facts)
        .collect())
}

/// Nothing to show while work goes on.
#[expect(clippy::unnecessary_wraps, reason = "the type of a tick")]
fn quiet(_: Python<'_>) -> PyResult<()> {
    Ok(())
}

/// Waits for work that cannot be cancelled.
fn worked<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    interruptible(py, || (), quiet, work)?.map_err(|error| of_request(&error))
}

/// What `systole explain` says about a hint.
#[pyfunction]
pub(crate) fn explain(id: &str) -> PyResult<String> {
    answers::explained(id).map_err(|error| of_request(&error))
}

/// What `systole compare` says of saved summaries, a list of files for each side.
#[pyfunction]
pub(crate) fn compare_summaries(
    py: Python<'_>,
    base: Vec<PathBuf>,
    cand: Vec<PathBuf>,
) -> PyResult<Answer> {
    let work = || answers::compared_summaries(&base, &cand, &CompareRequest::default());
    let answer = worked(py, work)?;
    Ok(Answer::new(answer, Origin::default()))
}

/// The views of queries that are no tables: their names, and what they select.
#[pyfunction]
pub(crate) fn query_views() -> Vec<(&'static str, String)> {
    VIEWS
        .iter()
        .map(|view| (view.name, view.select()))
        .collect()
}

impl Session {
    fn new(trace: ::session::Session, origin: Origin, scope: analysis::Scope) -> Self {
        Self {
            trace,
            origin,
            scope,
            catalog: Mutex::default(),
            database: Mutex::default(),
        }
    }

    /// The catalog of tables, made on first use.
    fn catalog(&self) -> Arc<Catalog> {
        let mut kept = self.catalog.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(kept.get_or_insert_with(|| Arc::new(Catalog::new(&self.trace, self.scope))))
    }

    /// The answer that work comes to.
    fn answer(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> Result<CommandAnswer> + Send,
    ) -> PyResult<Answer> {
        let answer = worked(py, work)?;
        self.origin.warn(py)?;
        Ok(Answer::new(answer, self.origin.clone()))
    }

    fn ask(&self, py: Python<'_>, sql: &str, limits: &QueryLimits) -> PyResult<QueryAnswer> {
        let cancel = || limits.cancel.store(true, Ordering::Relaxed);
        let work = || {
            // Taken while it is used: queries of several threads each have their own, and the last one is kept.
            let kept = self
                .database
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            let mut database = kept.map_or_else(|| Database::new(&self.trace, self.scope), Ok)?;
            let answer = database.ask(sql, limits);
            *self.database.lock().unwrap_or_else(PoisonError::into_inner) = Some(database);
            answer
        };
        interruptible(py, cancel, quiet, work)?.map_err(|error| of_query(&error))
    }
}

#[pymethods]
impl Session {
    /// `SIMULATED by …`; `None` where times were measured.
    #[getter]
    fn badge(&self) -> Option<String> {
        self.trace.model().badge()
    }

    /// Number of slices.
    #[getter]
    fn slice_count(&self) -> usize {
        self.trace.model().slice_count()
    }

    /// The same trace with another scope: some steps or a range, or all of it.
    fn scoped(&self, py: Python<'_>, part: &Bound<'_, PyDict>) -> PyResult<Self> {
        let part: PartRequest = request_of("scope", part)?;
        let scope = worked(py, || checks::check_part(&self.trace, &part))?;
        Ok(Self::new(self.trace.clone(), self.origin.clone(), scope))
    }

    /// What `systole analyze` says: all reports, or those with these ids.
    fn analyze(&self, py: Python<'_>, ids: Vec<String>) -> PyResult<Answer> {
        let work = || answers::analyze(&self.trace, self.scope, &ids);
        self.answer(py, work)
    }

    /// The page that `systole analyze -o html=FILE` writes.
    fn page(&self, py: Python<'_>) -> PyResult<String> {
        let page = worked(py, || answers::page(&self.trace, self.scope));
        self.origin.warn(py)?;
        page
    }

    /// What `systole summarize` writes: JSON for comparisons.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        let summary = worked(py, || answers::summary(&self.trace, self.scope));
        self.origin.warn(py)?;
        summary
    }

    /// The picture that `systole render` draws, as SVG.
    fn picture(&self, py: Python<'_>, look: &Bound<'_, PyDict>) -> PyResult<String> {
        let look: PictureRequest = request_of("picture", look)?;
        worked(py, || answers::picture(&self.trace, self.scope, &look))
    }

    /// What `systole compare` says of this trace and a candidate.
    fn compare(
        &self,
        py: Python<'_>,
        cand: &Bound<'_, Self>,
        test: &Bound<'_, PyDict>,
    ) -> PyResult<Answer> {
        let test: CompareRequest = request_of("compare", test)?;
        let (other, scope) = (cand.get().trace.clone(), cand.get().scope);
        let work = || {
            answers::compared(
                (&self.trace, self.scope),
                (&other, scope),
                &test,
                Vec::new(),
            )
        };
        let answer = worked(py, work)?;
        self.origin.warn(py)?;
        Ok(Answer::new(answer, self.origin.and(&cand.get().origin)))
    }

    /// What `systole expect` says of these expectations.
    fn expect(&self, py: Python<'_>, expected: &Bound<'_, PyDict>) -> PyResult<Answer> {
        let expected: ExpectRequest = request_of("expect", expected)?;
        let work = || answers::expected(&self.trace, self.scope, &expected);
        self.answer(py, work)
    }

    /// What `systole hlo` says about the programs.
    fn programs(&self, py: Python<'_>, question: &Bound<'_, PyDict>) -> PyResult<Answer> {
        let question: HloRequest = request_of("hlo", question)?;
        let work = || answers::programs(&self.trace, self.scope, &question);
        self.answer(py, work)
    }

    /// The rows of `systole events`, as a table.
    fn events(&self, py: Python<'_>, question: &Bound<'_, PyDict>) -> PyResult<Table> {
        let question: EventsRequest = request_of("events", question)?;
        let is_stopped = AtomicBool::new(false);
        let goes_on = || !is_stopped.load(Ordering::Relaxed);
        let work = || answers::events(&self.trace, self.scope, &question, &goes_on);
        let events = interruptible(
            py,
            || is_stopped.store(true, Ordering::Relaxed),
            quiet,
            work,
        )?;
        let events = events.map_err(|error| of_request(&error))?;
        Ok(Table::new(Arc::new(events), self.origin.clone()))
    }

    /// How long the executions of a program take, and the calls of it that are annotated as `call`.
    fn execution_times(&self, py: Python<'_>, program: &str, call: &str) -> PyResult<Answer> {
        let work = || answers::execution_times(&self.trace, program, call);
        self.answer(py, work)
    }

    /// The arguments of a slice as JSON; `None` without any. Whoever presses Ctrl+C does not wait for the file.
    fn args(&self, py: Python<'_>, slice_id: usize) -> PyResult<Option<String>> {
        let trace = self.trace.clone();
        let read = move || {
            let slice = trace.model().all_slices().nth(slice_id);
            let slice = slice.map(|slice| slice.args().map(|_| arguments(slice)));
            slice.transpose().map(Option::flatten)
        };
        let unread = |why| CommandFailed::new_err((why, CANNOT_READ));
        abandonable(py, read)?.map_err(unread)
    }

    /// What `systole hlo --diff` says of the programs of this trace and another one.
    fn program_diff(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<Answer> {
        let other = other.get().trace.clone();
        let work = || answers::program_diff((&self.trace, self.scope), &other);
        self.answer(py, work)
    }

    /// What `systole whatif` says of these changes.
    fn what_if(&self, py: Python<'_>, changes: &Bound<'_, PyDict>) -> PyResult<Answer> {
        let changes: WhatIfRequest = request_of("what_if", changes)?;
        let work = || answers::what_if(&self.trace, self.scope, &changes);
        self.answer(py, work)
    }

    /// The names of all tables, those of reports last.
    fn table_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let work = || {
            self.catalog()
                .all()
                .iter()
                .map(|table| table.name.clone())
                .collect()
        };
        interruptible(py, || (), quiet, work)
    }

    /// A table by its name.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let work = || {
            let catalog = self.catalog();
            catalog.table(name).ok_or_else(|| {
                catalog
                    .all()
                    .iter()
                    .map(|table| table.name.clone())
                    .collect::<Vec<_>>()
                    .join(", ")
            })
        };
        let table = interruptible(py, || (), quiet, work)?;
        self.origin.warn(py)?;
        table
            .map(|table| Table::new(table, self.origin.clone()))
            .map_err(|all| of_usage(format!("there is no table {name:?}; there are {all}")))
    }

    /// Rows of a table of the timeline that fulfil a condition of SQL, with chosen columns.
    #[pyo3(signature = (name, columns=None, condition=None))]
    fn rows(
        &self,
        py: Python<'_>,
        name: &str,
        columns: Option<Vec<String>>,
        condition: Option<&str>,
    ) -> PyResult<Table> {
        let table = self.table(py, name)?;
        let numbers = table.numbers(columns.as_deref())?;
        let rows = match condition {
            None => None,
            Some(condition) => {
                let sql = format!(
                    "SELECT rowid FROM \"{}\" WHERE {condition}",
                    name.replace('"', "\"\"")
                );
                let answer = self.ask(
                    py,
                    &sql,
                    &QueryLimits {
                        rows: 0,
                        ..QueryLimits::default()
                    },
                )?;
                let rows = answer.rows.iter().filter_map(|row| match row.first() {
                    Some(SqlValue::Integer(row)) => u32::try_from(*row).ok(),
                    _ => None,
                });
                Some(rows.collect())
            }
        };
        let rows = picked(table.data(), &numbers, rows);
        Ok(Table::new(Arc::new(rows), self.origin.clone()))
    }

    /// Answers SQL: names of the columns, rows, and whether there are more rows than `limit` (0 for all).
    #[pyo3(signature = (sql, limit=0, seconds=None))]
    fn query<'py>(
        &self,
        py: Python<'py>,
        sql: &str,
        limit: usize,
        seconds: Option<f64>,
    ) -> PyResult<(Vec<String>, Bound<'py, PyList>, bool)> {
        let time = seconds.map(Duration::try_from_secs_f64).transpose();
        let time = time.map_err(|error| of_usage(format!("seconds: {error}")))?;
        let limits = QueryLimits {
            rows: limit,
            time,
            cancel: Arc::new(AtomicBool::new(false)),
            ..QueryLimits::default()
        };
        let answer = self.ask(py, sql, &limits)?;
        self.origin.warn(py)?;
        let rows = answer.rows.iter().map(|row| {
            let cells = row
                .iter()
                .map(|cell| python_value(py, cell))
                .collect::<PyResult<Vec<_>>>()?;
            pyo3::types::PyTuple::new(py, cells)
        });
        let rows = PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)?;
        Ok((answer.columns, rows, answer.is_truncated))
    }
}

fn python_value(py: Python<'_>, value: &SqlValue) -> PyResult<Py<PyAny>> {
    Ok(match value {
        SqlValue::Null => py.None(),
        SqlValue::Integer(number) => number.into_pyobject(py)?.into_any().unbind(),
        SqlValue::Real(number) => number.into_pyobject(py)?.into_any().unbind(),
        SqlValue::Text(text) => text.into_pyobject(py)?.into_any().unbind(),
        SqlValue::Blob(bytes) => pyo3::types::PyBytes::new(py, bytes).into_any().unbind(),
    })
}
