//! Files below the configuration directory.

use std::env;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::files::write_file;

/// How often to retry while another window is writing: a window must not block for long, and tests run on busy machines.
const LOCK_TRIES: usize = if cfg!(test) { 12_000 } else { 100 };

/// The user's configuration directory.
pub fn config_dir() -> Option<PathBuf> {
    let absolute = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    if cfg!(windows) {
        absolute("APPDATA")
    } else if cfg!(target_os = "macos") {
        absolute("HOME").map(|home| home.join("Library").join("Application Support"))
    } else {
        absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")))
    }
}

/// Prevents other windows from writing until it is dropped. `None` if files cannot be locked or another window holds
/// the lock for too long, because the UI must not block.
pub fn locked(file: &Path) -> Option<File> {
    // Without the directory nothing can be locked or written, and writing reports it.
    let _ = file.parent().map(fs::create_dir_all);
    let lock = OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .ok()?;
    for _ in 0..LOCK_TRIES {
        match lock.try_lock() {
            Ok(()) => return Some(lock),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
            Err(TryLockError::Error(_)) => return None,
        }
    }
    None
}

pub fn read(file: &Path) -> io::Result<Vec<u8>> {
    fs::read(file)
}

/// Writes a file, and makes its directory.
pub fn write(file: &Path, content: &[u8]) -> io::Result<()> {
    file.parent().map_or(Ok(()), fs::create_dir_all)?;
    write_file(file, content)
}

/// Whether there is a file.
pub fn exists(file: &Path) -> bool {
    file.exists()
}

/// Size in bytes.
pub fn len(file: &Path) -> Option<u64> {
    fs::metadata(file).ok().map(|data| data.len())
}

/// When it was last written.
pub fn modified(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|about| about.modified()).ok()
}

pub fn remove(file: &Path) -> io::Result<()> {
    fs::remove_file(file)
}

/// Gives a file another name.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// The files in a directory, in any order.
pub fn list(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect()
}
