//! Where files are: on this machine, or in a bucket. [`FileTree`] answers what lies below a path, so that finding the
//! files of a run is the same everywhere.

mod address;
mod local;

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub use address::{Address, Provider, is_remote, shown_path};
pub use local::LocalTree;

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A file with content.
    File,
    /// A directory, or what looks like one in a bucket.
    Directory,
    /// A pipe or device.
    Other,
}

/// Something in a directory.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TreeEntry {
    /// Its name, without directories.
    pub name: String,
    /// The path that leads to it.
    pub path: PathBuf,
    /// What it is.
    pub kind: EntryKind,
    /// Whether it is a symbolic link; `kind` is that of its target.
    pub is_link: bool,
}

/// The files below a path.
pub trait FileTree {
    /// What the path leads to.
    ///
    /// # Errors
    ///
    /// There is nothing, or it cannot be looked at.
    fn kind(&self, path: &Path) -> io::Result<EntryKind>;
    /// What is in a directory, sorted by name.
    ///
    /// # Errors
    ///
    /// The directory cannot be read.
    fn entries(&self, directory: &Path) -> io::Result<Vec<TreeEntry>>;
    /// When the file was last written.
    fn modified(&self, path: &Path) -> Option<SystemTime>;
    /// Size of the file in bytes.
    fn size(&self, path: &Path) -> Option<u64>;
    /// The path without links and relative parts.
    fn resolved(&self, path: &Path) -> PathBuf;
    /// The first unpacked bytes of a file.
    fn head(&self, path: &Path) -> Option<Vec<u8>>;
    /// The part of a pattern in which no wildcard counts, and the rest.
    fn split_pattern(&self, pattern: &Path) -> (PathBuf, PathBuf);

    /// Whether the path is a file.
    fn is_file(&self, path: &Path) -> bool {
        self.kind(path).is_ok_and(|kind| kind == EntryKind::File)
    }

    /// Whether the path is a directory.
    fn is_directory(&self, path: &Path) -> bool {
        self.kind(path)
            .is_ok_and(|kind| kind == EntryKind::Directory)
    }
}
