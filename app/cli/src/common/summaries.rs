//! Summaries of runs: read if saved, else computed from a trace.

use std::path::Path;

use analysis::Scope;
use analysis::compare::Summary;
use importers::Progress;

use crate::common::loading::Loading;
use crate::common::stderr::Stderr;
use crate::common::values::OutputFormat;
use request::summaries::{plain_summary, saved};
use request::{RequestError, StepsArg, checks};

/// An input, and whether all runs of a log directory count.
pub type RequestedInput<'a> = (&'a Path, bool);

/// Every run of a side.
pub fn summaries(
    paths: &[RequestedInput<'_>],
    loading: &Loading<'_>,
    steps: Option<StepsArg>,
    format: OutputFormat,
    stderr: &Stderr,
) -> Result<Vec<Summary>, RequestError> {
    let mut out = Vec::new();
    for &(path, all_runs) in paths {
        if let Some(saved) = saved(path, &loading.import(None), stderr)? {
            if steps.is_some() {
                let why = "needs the trace: a saved summary has only the steps it was made from";
                return Err(RequestError::argument(
                    "steps",
                    format!("{why}: {}", path.display()),
                ));
            }
            out.extend(saved);
            continue;
        }
        for run in runs(path, all_runs, loading) {
            let session = loading.open_for_reports(path, run, format)?;
            let scope = match steps {
                Some(steps) => {
                    checks::check_steps(&session, steps)?;
                    Scope::Steps {
                        first: steps.first,
                        last: steps.last,
                    }
                }
                None => Scope::WholeTrace,
            };
            out.push(plain_summary(&session, scope)?);
        }
    }
    Ok(out)
}

/// The runs of a log directory; otherwise just the path.
fn runs(path: &Path, all: bool, loading: &Loading<'_>) -> Vec<Option<String>> {
    let may_be_directory = path.is_dir() || importers::is_remote(path);
    let located = if all && may_be_directory {
        importers::locate(path, &loading.import(None), &Progress::new()).ok()
    } else {
        None
    };
    match located {
        Some(located) if !located.other_runs.is_empty() => {
            let mut names: Vec<_> = located
                .run
                .into_iter()
                .chain(located.other_runs)
                .map(Some)
                .collect();
            names.sort();
            names
        }
        _ => vec![None],
    }
}
