//! Which runs of a log directory are complete: their files did not change between two looks, none is empty, and none ends
//! inside an event, unless it stays so for [`PATIENCE`] looks.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use importers::{ListedFile, ListedRun};
use trace_model::{IssueKind, TraceModel};

/// How many times as long as between two looks a file may end inside an event before it is read as it is.
const PATIENCE: u32 = 12;

/// A run as it was when it was looked at.
struct WatchedRun {
    files: Vec<ListedFile>,
    since: Instant,
    is_finished: bool,
    /// Whether it was said that it is waited for.
    is_told: bool,
}

/// The runs of a log directory that were looked at, by name.
pub struct WatchedRuns {
    seen: BTreeMap<String, WatchedRun>,
    /// How long the files of a complete run do not change.
    settle: Duration,
}

/// What is known of a run that is not finished.
#[derive(Clone, Copy, Debug)]
pub struct RunLook {
    /// When it was first seen as it is; `None` at the first look.
    since: Option<Instant>,
    is_told: bool,
    /// Whether it can be read.
    pub is_ready: bool,
    /// Whether files that end inside an event may still be written.
    pub waits: bool,
}

impl RunLook {
    /// Whether a run that was read as it is now is half written, and may still grow.
    pub fn is_half_written(&self, model: &TraceModel) -> bool {
        self.waits && model.import_log().count(IssueKind::TruncatedFile) > 0
    }
}

impl WatchedRuns {
    pub fn new(settle: Duration) -> Self {
        Self {
            seen: BTreeMap::new(),
            settle,
        }
    }

    /// How long a run that stays incomplete is waited for.
    pub fn patience(&self) -> Duration {
        self.settle * PATIENCE
    }

    /// Looks at a run; `None` if it has no files, or is finished and has not changed since.
    pub fn look(&self, run: &ListedRun) -> Option<RunLook> {
        let before = self
            .seen
            .get(&run.name)
            .filter(|seen| seen.files == run.files);
        let is_empty = run.files.is_empty() && run.empty_files.is_empty();
        if is_empty || before.is_some_and(|seen| seen.is_finished) {
            return None;
        }
        let since = before.map(|seen| seen.since);
        let waited = since.map_or(Duration::ZERO, |since| since.elapsed());
        // What stays incomplete is read as it is: its writer has gone.
        let waits = waited < self.patience()
            && unchanged_for(&run.files).is_none_or(|time| time < self.patience());
        let is_settled = since.is_some() && run.empty_files.is_empty() || self.settle.is_zero();
        Some(RunLook {
            since,
            is_told: before.is_some_and(|seen| seen.is_told),
            is_ready: is_settled || !waits,
            waits,
        })
    }

    /// Keeps what became of a look. Answers how long the run is waited for, if this is to be said now.
    pub fn keep(&mut self, run: ListedRun, look: RunLook, is_finished: bool) -> Option<Duration> {
        // At the first look, nobody knows whether it grows.
        let tells = look.since.is_some() && !is_finished && !look.is_told;
        let since = look.since.unwrap_or_else(Instant::now);
        let seen = WatchedRun {
            files: run.files,
            since,
            is_finished,
            is_told: look.is_told || tells,
        };
        self.seen.insert(run.name, seen);
        tells.then(|| self.patience().saturating_sub(since.elapsed()))
    }
}

/// How long the files of a run have not been written, if that is known.
fn unchanged_for(files: &[ListedFile]) -> Option<Duration> {
    let times = files.iter().filter_map(|file| file.modified);
    times.max()?.elapsed().ok()
}
