//! Files on this machine and in buckets by their paths: the one place that chooses between them.

use std::io;
use std::path::Path;

use input::storage::{Address, FileTree, LocalTree};
use input::{ImportError, Progress, Result};

use crate::remote;

/// The tree that a path belongs to. A bucket is asked for what is below the path.
///
/// # Errors
///
/// The bucket cannot be read, or this build cannot read buckets.
pub(crate) fn tree_of(path: &Path, progress: &Progress) -> Result<Box<dyn FileTree>> {
    match Address::of(path) {
        None => Ok(Box::new(LocalTree)),
        Some(address) => remote::tree_below(&address, progress),
    }
}

/// The tree that a path belongs to; `None` if nothing is there.
///
/// # Errors
///
/// The bucket cannot be read, or this build cannot read buckets.
pub(crate) fn tree_if_there(path: &Path, progress: &Progress) -> Result<Option<Box<dyn FileTree>>> {
    match tree_of(path, progress) {
        Err(ImportError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        tree => tree.map(Some),
    }
}

/// The first bytes of a file that is in a bucket or on a web server; `None` if there is no such file.
///
/// # Errors
///
/// It cannot be read, or this build cannot read buckets.
pub fn remote_head(path: &Path, progress: &Progress) -> Result<Option<Vec<u8>>> {
    let tree = tree_if_there(path, progress)?.filter(|tree| tree.is_file(path));
    Ok(tree.and_then(|tree| tree.head(path)))
}

/// Posts JSON to a web server.
///
/// # Errors
///
/// The server does not take it, or this build asks no servers.
pub fn post_json(address: &str, json: String) -> Result<()> {
    remote::post_json(address, json)
}

/// Writes a file in a bucket.
///
/// # Errors
///
/// It cannot be written, or this build cannot write to buckets.
pub fn write_remote(path: &Path, file: &mut std::fs::File) -> io::Result<()> {
    remote::upload(path, file)
}
