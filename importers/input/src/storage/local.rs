//! Files of this machine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{EntryKind, FileTree, TreeEntry};
use crate::InputSource;

/// The file system.
#[derive(Debug)]
pub struct LocalTree;

impl FileTree for LocalTree {
    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        Ok(kind_of(fs::metadata(path)?.file_type()))
    }

    fn entries(&self, directory: &Path) -> io::Result<Vec<TreeEntry>> {
        let listed = if directory.as_os_str().is_empty() {
            Path::new(".")
        } else {
            directory
        };
        let entries = fs::read_dir(listed)?.filter_map(Result::ok);
        let mut listed: Vec<TreeEntry> = entries
            .filter_map(|entry| {
                let name = entry.file_name();
                let path = directory.join(&name);
                let kind = entry.file_type().ok()?;
                let is_link = kind.is_symlink();
                // A link to nothing is like nothing.
                let kind = if is_link {
                    self.kind(&path).ok()?
                } else {
                    kind_of(kind)
                };
                Some(TreeEntry {
                    name: name.to_string_lossy().into_owned(),
                    path,
                    kind,
                    is_link,
                })
            })
            .collect();
        listed.sort();
        Ok(listed)
    }

    fn modified(&self, path: &Path) -> Option<SystemTime> {
        fs::metadata(path).ok()?.modified().ok()
    }

    fn size(&self, path: &Path) -> Option<u64> {
        Some(fs::metadata(path).ok()?.len())
    }

    fn resolved(&self, path: &Path) -> PathBuf {
        fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
    }

    fn head(&self, path: &Path) -> Option<Vec<u8>> {
        Some(InputSource::open(path).ok()?.head().to_owned())
    }

    fn split_pattern(&self, pattern: &Path) -> (PathBuf, PathBuf) {
        (PathBuf::new(), pattern.to_owned())
    }
}

fn kind_of(kind: fs::FileType) -> EntryKind {
    if kind.is_dir() {
        EntryKind::Directory
    } else if kind.is_file() {
        EntryKind::File
    } else {
        EntryKind::Other
    }
}
