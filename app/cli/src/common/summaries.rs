//! Summaries of runs: read if saved, else computed from a trace.

use std::collections::VecDeque;
use std::thread::{self, ScopedJoinHandle};

use crate::prelude::*;

use crate::common::formats::OutputFormat;
use crate::common::loading::Loading;
use crate::common::stderr::Stderr;
use request::StepsArg;
use request::summaries::{saved, summary_of};

/// An input, and whether all runs of a log directory count.
pub type RequestedInput<'a> = (&'a Path, bool);

/// Inputs of the user; of log directories all runs, or one.
pub fn requested(paths: &[PathBuf], all: bool) -> Vec<RequestedInput<'_>> {
    paths.iter().map(|path| (path.as_path(), all)).collect()
}

/// Runs that are summarised at the same time; one of them ends before another is read.
const AT_ONCE: usize = 2;

/// Every run of all inputs.
pub fn summaries(
    paths: &[RequestedInput<'_>],
    loading: &Loading<'_>,
    steps: Option<StepsArg>,
    format: OutputFormat,
    stderr: &Stderr,
) -> Result<Vec<Summary>> {
    Ok(by_input(paths, |_| loading, steps, format, stderr)?.concat())
}

/// Every run of each input, read as `loading` says of its place. Two runs are read and summarised at a time; more would
/// need too much memory.
pub fn by_input<'l, 'e: 'l>(
    paths: &[RequestedInput<'_>],
    loading: impl Fn(usize) -> &'l Loading<'e>,
    steps: Option<StepsArg>,
    format: OutputFormat,
    stderr: &Stderr,
) -> Result<Vec<Vec<Summary>>> {
    thread::scope(|scope| {
        let mut summaries: Vec<Vec<Summary>> = vec![Vec::new(); paths.len()];
        let mut running: VecDeque<(usize, ScopedJoinHandle<'_, _>)> = VecDeque::new();
        for (place, &(path, all_runs)) in paths.iter().enumerate() {
            let loading = loading(place);
            if let Some(saved) = saved(path, &loading.import(None), stderr)? {
                if steps.is_some() {
                    let why =
                        "needs the trace: a saved summary has only the steps it was made from";
                    return Err(RequestError::argument(
                        "steps",
                        format!("{why}: {}", path.display()),
                    ));
                }
                summaries[place].extend(saved);
                continue;
            }
            let names = runs(path, all_runs, loading);
            for run in names {
                if running.len() == AT_ONCE
                    && let Some((before, summary)) = running.pop_front()
                {
                    summaries[before].push(joined(summary)?);
                }
                // Any of several runs may be the same file, or of the same bytes as a saved one.
                let session = loading.open_for_reports(path, run, format, true)?;
                let part = match steps {
                    Some(steps) => {
                        checks::check_steps(&session, steps).map_err(|error| error.about(path))?;
                        Scope::Steps {
                            first: steps.first,
                            last: steps.last,
                        }
                    }
                    None => Scope::WholeTrace,
                };
                running.push_back((place, scope.spawn(move || summary_of(&session, part))));
            }
        }
        for (place, summary) in running {
            summaries[place].push(joined(summary)?);
        }
        Ok(summaries)
    })
}

fn joined(summary: ScopedJoinHandle<'_, Result<Summary>>) -> Result<Summary> {
    summary
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The runs of a log directory; otherwise just the path.
pub fn runs(path: &Path, all: bool, loading: &Loading<'_>) -> Vec<Option<String>> {
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
