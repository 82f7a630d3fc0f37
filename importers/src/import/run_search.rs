//! Searches log directories for runs.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use input::storage::{EntryKind, FileTree};
use input::{ImportError, Progress, ProgressStage, Result};

use crate::import::captures::CaptureRun;
use crate::import::file_names::host_and_rank;

/// Search depth for log directories below the named directory.
pub(super) const MAX_DEPTH: usize = 8;
/// Directories that are looked into: more have other purposes than logs.
const MAX_DIRECTORIES: usize = 200_000;

/// Sorts by the date in the names, because copying changes file dates; if a name has no date, by the file dates.
pub(super) fn sort_newest_first(runs: &mut [CaptureRun]) {
    if runs.iter().all(|run| run.date().is_some()) {
        runs.sort_by(|a, b| b.date().cmp(&a.date()).then_with(|| a.name.cmp(&b.name)));
    } else {
        runs.sort_by(|a, b| {
            b.modified
                .cmp(&a.modified)
                .then_with(|| b.name.cmp(&a.name))
        });
    }
}

/// The runs in or below a directory, the newest first.
pub(super) fn runs_below(
    tree: &dyn FileTree,
    directory: &Path,
    progress: &Progress,
) -> Result<Vec<CaptureRun>> {
    let mut runs = runs_in(tree, &[directory.to_owned()], progress)?;
    sort_newest_first(&mut runs);
    Ok(runs)
}

/// Runs in or below directories, which may themselves be `plugins` or `profile`.
pub(super) fn runs_in(
    tree: &dyn FileTree,
    directories: &[PathBuf],
    progress: &Progress,
) -> Result<Vec<CaptureRun>> {
    let mut walk = RunWalk {
        tree,
        progress,
        left: MAX_DIRECTORIES,
        runs: Vec::new(),
    };
    progress.begin(ProgressStage::Looking);
    for directory in directories {
        let named = tree.resolved(directory);
        if named.ends_with("plugins/profile") {
            walk.add_runs(directory, "")?;
        } else if named.ends_with("plugins") {
            walk.add_runs(&directory.join("profile"), "")?;
        } else {
            walk.below(directory, "", 0)?;
        }
    }
    progress.begin(ProgressStage::Reading);
    Ok(walk.runs)
}

/// A search for log directories.
struct RunWalk<'a> {
    tree: &'a dyn FileTree,
    progress: &'a Progress,
    /// Directories that may still be looked into.
    left: usize,
    runs: Vec<CaptureRun>,
}

impl RunWalk<'_> {
    fn below(&mut self, directory: &Path, prefix: &str, depth: usize) -> Result<()> {
        self.progress.check()?;
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| ImportError::TooLarge {
                what: format!(
                    "more than {MAX_DIRECTORIES} directories to look into: name the log directory"
                ),
            })?;
        let profile = directory.join("plugins/profile");
        if self.tree.is_directory(&profile) {
            self.add_runs(&profile, prefix)?;
        }
        if depth == MAX_DEPTH {
            return Ok(());
        }
        for (name, path) in subdirectories(self.tree, directory) {
            self.below(&path, &format!("{prefix}{name}/"), depth + 1)?;
        }
        Ok(())
    }

    fn add_runs(&mut self, profile: &Path, prefix: &str) -> Result<()> {
        for (name, path) in subdirectories(self.tree, profile) {
            self.progress.check()?;
            let files = files_of(self.tree, &path);
            if !files.is_empty() {
                let modified = files
                    .iter()
                    .filter_map(|file| self.tree.modified(file))
                    .max();
                let modified = modified.unwrap_or(SystemTime::UNIX_EPOCH);
                self.runs.push(CaptureRun {
                    name: format!("{prefix}{name}"),
                    files,
                    modified,
                });
            }
        }
        Ok(())
    }
}

/// Visible subdirectories by name. Symbolic links are skipped, because they can form cycles.
fn subdirectories(tree: &dyn FileTree, directory: &Path) -> Vec<(String, PathBuf)> {
    let entries = tree.entries(directory).unwrap_or_default().into_iter();
    entries
        .filter(|entry| entry.kind == EntryKind::Directory && !entry.is_link)
        .map(|entry| (entry.name, entry.path))
        .filter(|(name, _)| !name.starts_with('.') && name != "plugins")
        .collect()
}

/// Files directly in a directory whose names are those of profiles.
pub(super) fn files_of(tree: &dyn FileTree, directory: &Path) -> Vec<PathBuf> {
    let entries = tree.entries(directory).unwrap_or_default().into_iter();
    let files = entries
        .filter(|entry| entry.kind == EntryKind::File)
        .map(|entry| entry.path);
    files.filter(|path| host_and_rank(path).is_some()).collect()
}
