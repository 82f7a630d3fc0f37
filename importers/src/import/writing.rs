//! Runs whose files are still being written: how to tell, and waiting for them.

use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use importer_common::ImportOptions;
use input::source::file_name;
use input::{ImportError, Progress, ProgressStage, Result, is_remote, shown_path};
use trace_model::{IssueKind, TraceBuilder};

use crate::import::locate::{LocatedRun, locate};
use crate::import::runs::ListedFile;

/// A file that did not change for this long is complete: profilers write without pauses.
const QUIET: Duration = Duration::from_secs(3);
/// A damaged file that was written less than this long ago may be incomplete.
const RECENT: Duration = Duration::from_secs(10);
/// An empty file that is older was not left by a profiler that still works.
const EMPTY: Duration = Duration::from_mins(1);
/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);

impl ListedFile {
    /// The file as it is now; without size and time if it is not on this machine.
    pub fn now(path: &Path) -> Self {
        let about = if is_remote(path) {
            None
        } else {
            std::fs::metadata(path).ok()
        };
        let modified = about.as_ref().and_then(|about| about.modified().ok());
        Self {
            path: path.to_owned(),
            bytes: about.map(|about| about.len()),
            modified,
        }
    }

    /// Time since it was written; `None` if that is not known or far in the future. Clocks of file servers run ahead, and
    /// that of a machine is set back.
    fn age(&self) -> Option<Duration> {
        // First the file: in a browser there is neither, and asking for the clock would be a panic.
        let modified = self.modified?;
        match SystemTime::now().duration_since(modified) {
            Ok(age) => Some(age),
            Err(ahead) => (ahead.duration() < EMPTY).then_some(Duration::ZERO),
        }
    }

    fn is_younger_than(&self, age: Duration) -> bool {
        self.age().is_some_and(|own_age| own_age < age)
    }

    fn name(&self) -> String {
        file_name(&shown_path(&self.path))
    }
}

impl LocatedRun {
    /// State of the file of each host that would be read. Two equal states some time apart mean that nobody writes.
    pub(super) fn state(&self) -> Vec<ListedFile> {
        let files = self.hosts.iter().filter_map(|host| host.files.first());
        files.map(|path| ListedFile::now(path)).collect()
    }
}

/// Waits until the run at `path` is written, for `limit` at most. A directory may still be empty.
pub(super) fn wait(
    path: &Path,
    limit: Duration,
    options: &ImportOptions,
    progress: &Progress,
) -> Result<()> {
    if is_remote(path) {
        // Objects of buckets exist as a whole or not at all.
        return Ok(());
    }
    let started = Instant::now();
    let mut last: Option<(Vec<ListedFile>, Instant)> = None;
    loop {
        progress.check()?;
        let state = match locate(path, options, progress) {
            Ok(run) => run.state(),
            Err(ImportError::NothingFound { .. }) if path.is_dir() => Vec::new(),
            Err(error) => return Err(error),
        };
        match &last {
            Some((before, since)) if *before == state => {
                if is_settled(&state, since.elapsed()) {
                    break;
                }
            }
            _ if is_settled(&state, Duration::ZERO) => break,
            _ => last = Some((state, Instant::now())),
        }
        if started.elapsed() >= limit {
            break;
        }
        progress.begin(ProgressStage::Waiting);
        thread::sleep(LOOK_EVERY.min(limit));
    }
    progress.begin(ProgressStage::Reading);
    Ok(())
}

/// Whether files that were seen like this for some time are complete.
fn is_settled(state: &[ListedFile], unchanged: Duration) -> bool {
    let is_complete = |file: &ListedFile| match file.bytes {
        Some(0) => !file.is_younger_than(EMPTY),
        _ => unchanged >= QUIET || file.age().is_some_and(|age| age >= QUIET),
    };
    !state.is_empty() && state.iter().all(is_complete)
}

/// What says that a file is still being written: it has changed since `before`, or was written seconds ago and
/// `is_damaged`. Who waits no time at all knows that nobody writes.
fn evidence(before: &[ListedFile], is_damaged: bool, options: &ImportOptions) -> Option<String> {
    if options.wait == Some(Duration::ZERO) {
        return None;
    }
    before.iter().find_map(|file| {
        let now = ListedFile::now(&file.path);
        if now != *file {
            let bytes = |file: &ListedFile| {
                file.bytes
                    .map_or_else(|| "unknown".to_owned(), |bytes| bytes.to_string())
            };
            let (from, to) = (bytes(file), bytes(&now));
            return Some(format!(
                "{} changed while it was read ({from} → {to} bytes)",
                file.name()
            ));
        }
        let age = file.age().filter(|age| is_damaged && *age < RECENT)?;
        Some(format!(
            "{} was written {} s before it was read",
            file.name(),
            age.as_secs()
        ))
    })
}

/// Logs that the run is still being written, if something says so.
pub(super) fn note(
    before: &[ListedFile],
    skipped: &[String],
    options: &ImportOptions,
    out: &mut TraceBuilder,
) {
    let is_damaged = !skipped.is_empty() || out.log_mut().count(IssueKind::TruncatedFile) > 0;
    if let Some(what) = evidence(before, is_damaged, options) {
        out.log(IssueKind::StillWritten, || {
            format!("{what}: {}", ImportError::AGAIN)
        });
    }
}

/// The error with the remark that the file is still being written, if something says so.
pub(super) fn explained(
    error: ImportError,
    before: &[ListedFile],
    options: &ImportOptions,
) -> ImportError {
    let is_damage = match &error {
        ImportError::Malformed { .. } | ImportError::Unusable { .. } => true,
        ImportError::Io(error) => error.kind() == io::ErrorKind::UnexpectedEof,
        _ => false,
    };
    match evidence(before, is_damage, options).filter(|_| is_damage) {
        Some(what) => ImportError::StillWritten {
            error: Box::new(error),
            what,
        },
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, OpenOptions};
    use std::io::Write as _;
    use std::sync::Arc;

    use super::*;
    use crate::import_path;

    fn profile() -> Vec<u8> {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../assets/samples/synthetic_v5e_8chip_overlap.xplane.pb"
        );
        fs::read(path).unwrap()
    }

    fn written_ago(path: &Path, seconds: u64) {
        let time = SystemTime::now()
            .checked_sub(Duration::from_secs(seconds))
            .unwrap();
        File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(time)
            .unwrap();
    }

    fn issues(path: &Path) -> u64 {
        let model = import_path(path, &ImportOptions::default(), &Progress::new()).unwrap();
        model.import_log().count(IssueKind::StillWritten)
    }

    #[test]
    fn an_empty_file_of_a_clock_that_runs_ahead_is_still_written() {
        let written = |ahead: u64| ListedFile {
            path: "host.xplane.pb".into(),
            bytes: Some(0),
            modified: Some(SystemTime::now() + Duration::from_secs(ahead)),
        };
        assert!(!is_settled(&[written(0)], QUIET) && !is_settled(&[written(10)], QUIET));
        assert!(is_settled(&[written(3600)], QUIET));
    }

    #[test]
    fn truncated_file_is_still_written_only_if_it_is_new() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("host.xplane.pb");
        let whole = profile();
        fs::write(&path, &whole).unwrap();
        assert_eq!(issues(&path), 0, "complete files may be new");
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        assert_eq!(issues(&path), 1);
        let complete = ImportOptions {
            wait: Some(Duration::ZERO),
            ..ImportOptions::default()
        };
        let model = import_path(&path, &complete, &Progress::new()).unwrap();
        assert_eq!(model.import_log().count(IssueKind::StillWritten), 0);
        written_ago(&path, 3600);
        assert_eq!(issues(&path), 0);
    }

    #[test]
    fn error_of_a_new_file_says_that_it_may_be_incomplete() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("host.xplane.pb");
        fs::write(&path, "").unwrap();
        let error = || {
            import_path(&path, &ImportOptions::default(), &Progress::new())
                .unwrap_err()
                .to_string()
        };
        assert!(error().contains(ImportError::AGAIN), "{}", error());
        written_ago(&path, 3600);
        assert!(!error().contains(ImportError::AGAIN), "{}", error());
    }

    #[test]
    fn waits_for_a_writer_that_has_not_finished() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("plugins/profile/2026_01_31_04_47_36");
        let whole = profile();
        let progress = Arc::new(Progress::new());
        let seen = Arc::clone(&progress);
        let expected = whole.len() as u64;
        // Each part is written when the reader waits for it: first there is no run, then half a file.
        let write = move || {
            let until_waiting = || {
                while seen.stage() != ProgressStage::Waiting {
                    thread::yield_now();
                }
            };
            until_waiting();
            fs::create_dir_all(&run).unwrap();
            let path = run.join("host.xplane.pb");
            fs::write(&path, &whole[..whole.len() / 2]).unwrap();
            until_waiting();
            let mut file = OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(&whole[whole.len() / 2..]).unwrap();
        };
        let writer = thread::Builder::new().spawn(write).unwrap();
        let options = ImportOptions {
            wait: Some(Duration::from_mins(2)),
            ..ImportOptions::default()
        };
        let model = import_path(dir.path(), &options, &progress).unwrap();
        writer.join().unwrap();
        assert_eq!(model.sources()[0].packed_bytes, expected);
        assert_eq!(model.import_log().lost(), 0);
    }

    #[test]
    fn waiting_ends_with_its_limit_and_when_it_is_cancelled() {
        let dir = tempfile::tempdir().unwrap();
        let wait = |limit, progress: &Progress| {
            let options = ImportOptions {
                wait: Some(limit),
                ..ImportOptions::default()
            };
            import_path(dir.path(), &options, progress)
                .unwrap_err()
                .to_string()
        };
        assert!(wait(Duration::ZERO, &Progress::new()).contains("no profile found"));
        let cancelled = Progress::new();
        cancelled.cancel();
        assert_eq!(wait(Duration::from_hours(1), &cancelled), "cancelled");
    }
}
