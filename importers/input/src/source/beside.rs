//! What may be read beside a file: configurations, other tables of the same run.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{CopiedNeighbours, InputSource};

impl InputSource {
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

/// Whether a path lies below one of these directories, links followed; also if there are none.
pub fn is_within(path: &Path, roots: &[PathBuf]) -> bool {
    roots.is_empty()
        || path
            .canonicalize()
            .is_ok_and(|real| roots.iter().any(|root| real.starts_with(root)))
}
