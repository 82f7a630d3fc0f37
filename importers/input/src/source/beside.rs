//! What may be read beside a file: configurations, other tables of the same run.

use std::any::Any;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{CopiedNeighbours, InputSource};

/// Largest configuration that is read; most have a few kilobytes.
const MAX_SMALL: u64 = 1 << 20;

impl InputSource {
    /// The folder in which it is, and the one above.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        let folder = self.place().and_then(Path::parent);
        folder.into_iter().chain(folder.and_then(Path::parent))
    }

    /// Files in a folder that may be read beside it and have one of these endings, by name. At most `most` files of the
    /// folder are examined.
    pub fn files_in(&self, folder: &Path, endings: &[&str], most: usize) -> Vec<PathBuf> {
        let is_meant = |path: &PathBuf| {
            let ending = path.extension().unwrap_or_default();
            let is_one = |known: &&str| ending.eq_ignore_ascii_case(known);
            endings.iter().any(is_one) && path.is_file() && self.may_read(path)
        };
        let entries = fs::read_dir(folder).into_iter().flatten();
        let mut files: Vec<PathBuf> = entries
            .filter_map(Result::ok)
            .take(most)
            .map(|entry| entry.path())
            .filter(is_meant)
            .collect();
        files.sort();
        files
    }

    /// The source, beside which only what lies below these directories is read; anything if there are none.
    pub fn within(self, roots: &[PathBuf]) -> Self {
        Self {
            roots: roots.into(),
            ..self
        }
    }

    /// Whether a file or directory beside it may be read: links are followed.
    pub fn may_read(&self, path: &Path) -> bool {
        is_within(path, &self.roots)
            // Copies of what is in a bucket were chosen when they were made.
            || self.place() != self.path()
    }

    /// Another file of the same directory, if it can be read.
    pub fn beside(&self, name: &str) -> Option<Self> {
        let path = self.place()?.parent()?.join(name);
        let source = self
            .has_beside(name)
            .then(|| Self::open(&path).ok())
            .flatten()?;
        Some(Self {
            roots: Arc::clone(&self.roots),
            ..source
        })
    }

    /// Whether there is another file of the same directory. Pipes and devices do not count: reading them might never
    /// end.
    pub fn has_beside(&self, name: &str) -> bool {
        let path = self
            .place()
            .and_then(Path::parent)
            .map(|folder| folder.join(name));
        path.is_some_and(|path| path.is_file() && self.may_read(&path))
    }

    /// The path on this machine where the files beside it are.
    pub fn place(&self) -> Option<&Path> {
        self.beside
            .as_ref()
            .map_or(self.path(), |beside| Some(&beside.place))
    }

    /// The source of a bucket with copies of files beside it, as if it were at `place` in `folder`, a guard that is
    /// dropped with the source.
    pub fn placed(self, place: PathBuf, folder: impl Any + Send + Sync) -> Self {
        Self {
            beside: Some(Arc::new(CopiedNeighbours {
                place,
                _folder: Box::new(folder),
            })),
            ..self
        }
    }
}

/// The text of a configuration; `None` if it cannot be read, or is larger than any.
pub fn small_text(path: &Path) -> Option<String> {
    let there = fs::metadata(path).ok()?;
    // A pipe would be waited for.
    let is_small = there.is_file() && there.len() <= MAX_SMALL;
    is_small.then(|| fs::read_to_string(path).ok()).flatten()
}

/// The last part of a path.
pub fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// Whether a path lies below one of these directories, links followed; also if there are none.
pub fn is_within(path: &Path, roots: &[PathBuf]) -> bool {
    roots.is_empty()
        || path
            .canonicalize()
            .is_ok_and(|real| roots.iter().any(|root| real.starts_with(root)))
}
