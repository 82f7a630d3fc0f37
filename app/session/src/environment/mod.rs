//! What a run was built from and where it ran: read from the file beside its profile, and written there. Only variables of
//! a list are looked at, and values that may be secrets are left out.

#[cfg(not(target_arch = "wasm32"))]
mod checkout;
#[cfg(not(target_arch = "wasm32"))]
mod dump;
#[cfg(not(target_arch = "wasm32"))]
mod packages;
#[cfg(not(target_arch = "wasm32"))]
mod record;

use std::io::Read as _;
use std::path::Path;

use analysis::Environment;
use analysis::engine::environment::RUN_FILE;
use importers::{ImportOptions, Progress};
use trace_model::TraceModel;

use crate::files::{directory_of, open_regular};
#[cfg(not(target_arch = "wasm32"))]
pub use record::{ObservedProcess, write};

/// Largest file that is read.
const MAX_FILE: u64 = 1 << 20;

/// What is known beside a trace: the file beside its profiles, and what the compiler wrote beside its programs.
pub fn of(
    model: &TraceModel,
    path: &Path,
    import: &ImportOptions,
    progress: &Progress,
) -> Option<Environment> {
    let file = beside(model, path, import, progress);
    #[cfg(not(target_arch = "wasm32"))]
    {
        let mut known = file.clone().unwrap_or_default();
        let sources = model.sources().iter();
        let folder = model.has_programs_only().then_some(path);
        let read = sources.filter_map(|source| source.path.as_deref());
        let named = import.hlo.iter().map(std::path::PathBuf::as_path);
        let mut read: Vec<&Path> = folder.into_iter().chain(read).chain(named).collect();
        read.dedup();
        for path in read.into_iter().filter(|path| !importers::is_remote(path)) {
            dump::add(path, &import.roots, &mut known);
        }
        if known != Environment::default() {
            return Some(known);
        }
    }
    file
}

/// What the file beside the profiles of a trace says, if there is one; of an archive, the file that was packed with them.
/// Web servers are not asked for files that nobody named.
fn beside(
    model: &TraceModel,
    path: &Path,
    import: &ImportOptions,
    progress: &Progress,
) -> Option<Environment> {
    if model.sources().iter().all(|source| source.path.is_none()) {
        return match importers::packed_file(path, RUN_FILE) {
            Ok(packed) => packed.as_deref().map(Environment::read),
            Err(error) => Some(unreadable(&error.to_string())),
        };
    }
    let sources = model.sources().iter();
    let mut directories: Vec<&Path> = sources
        .filter_map(|source| source.path.as_deref())
        .filter(|path| !path.starts_with("http:") && !path.starts_with("https:"))
        .map(directory_of)
        .collect();
    directories.dedup();
    directories.into_iter().find_map(|directory| {
        if importers::is_remote(directory) {
            in_bucket(&directory.join(RUN_FILE), import, progress)
        } else {
            read(directory)
        }
    })
}

/// The file in a bucket, if there is one.
fn in_bucket(path: &Path, import: &ImportOptions, progress: &Progress) -> Option<Environment> {
    match importers::small_remote_file(path, MAX_FILE, import, progress) {
        Ok(bytes) => bytes.map(|bytes| Environment::read(&bytes)),
        Err(error) => Some(unreadable(&error.to_string())),
    }
}

/// The file in a directory, if there is one.
fn read(directory: &Path) -> Option<Environment> {
    let file = open_regular(&directory.join(RUN_FILE)).ok()?;
    let mut text = Vec::new();
    let read = file.take(MAX_FILE + 1).read_to_end(&mut text);
    let why = match read {
        Err(error) => error.to_string(),
        Ok(_) if text.len() as u64 > MAX_FILE => "it is larger than 1 MiB".to_owned(),
        Ok(_) => return Some(Environment::read(&text)),
    };
    Some(unreadable(&why))
}

fn unreadable(why: &str) -> Environment {
    Environment {
        unreadable: Some(format!("{RUN_FILE} cannot be read: {why}")),
        ..Environment::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_files_are_said_to_be_broken() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()), None);
        std::fs::write(dir.path().join(RUN_FILE), vec![b' '; (1 << 20) + 1]).unwrap();
        let why = read(dir.path()).unwrap().unreadable.unwrap();
        assert!(why.contains("larger than 1 MiB"), "{why}");
    }
}
