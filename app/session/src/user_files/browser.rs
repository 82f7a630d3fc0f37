//! Texts in the local storage of the browser.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use web_sys::Storage;

/// The directory under which everything is.
pub fn config_dir() -> Option<PathBuf> {
    Some(PathBuf::from("/"))
}

fn storage() -> io::Result<Storage> {
    let storage = web_sys::window().and_then(|window| window.local_storage().ok().flatten());
    storage.ok_or_else(|| io::Error::other("this browser stores nothing for the page"))
}

fn key(file: &Path) -> String {
    file.to_string_lossy().into_owned()
}

/// A lock that is not needed: writing is one step.
pub struct NoLock;

/// Prevents other windows from writing.
pub fn locked(_file: &Path) -> Option<NoLock> {
    None
}

pub fn read(file: &Path) -> io::Result<Vec<u8>> {
    let text = storage()?.get_item(&key(file)).ok().flatten();
    text.map(String::into_bytes)
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Writes a text file.
pub fn write(file: &Path, content: &[u8]) -> io::Result<()> {
    let text = std::str::from_utf8(content).map_err(io::Error::other)?;
    let stored = storage()?.set_item(&key(file), text);
    stored.map_err(|_full| io::Error::other("the storage of this page is full"))
}

/// Whether there is a file.
pub fn exists(file: &Path) -> bool {
    len(file).is_some()
}

/// Size in bytes.
pub fn len(file: &Path) -> Option<u64> {
    read(file).ok().map(|text| text.len() as u64)
}

/// When it was last written: the storage does not say.
pub fn modified(_file: &Path) -> Option<SystemTime> {
    None
}

pub fn remove(file: &Path) -> io::Result<()> {
    let _ = read(file)?;
    storage()?
        .remove_item(&key(file))
        .map_err(|_refused| io::Error::other("the storage refuses it"))
}

/// Gives a file another name.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    write(to, &read(from)?)?;
    remove(from)
}

/// The files in a directory, in any order.
pub fn list(folder: &Path) -> Vec<PathBuf> {
    let Ok(storage) = storage() else {
        return Vec::new();
    };
    let keys = (0..storage.length().unwrap_or(0)).filter_map(|n| storage.key(n).ok().flatten());
    keys.map(PathBuf::from)
        .filter(|path| path.parent() == Some(folder))
        .collect()
}
