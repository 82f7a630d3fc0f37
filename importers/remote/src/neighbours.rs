//! What some importers read beside a file: configurations, other tables of the same run. Beside a file of a bucket, they
//! are copied to a folder of this machine that has the names of the folders in the bucket.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use input::storage::{Address, Provider};
use input::{ImportError, InputSource, Progress, Result, glob};

use crate::transfer::fetch;
use crate::tree::files_in;

/// More files than a run has inputs.
const MOST_FILES: usize = 256;
/// Configurations and tables are small; graphs of all ranks can be large.
const MOST_BYTES: u64 = 1 << 30;

/// The folders of a file in a bucket, the outermost first, and those of its copy.
struct CopiedFolders {
    /// The bucket and the folders in it.
    names: Vec<String>,
    folder: PathBuf,
}

impl CopiedFolders {
    /// The folder at a path relative to that of the file: its key, and where its files are copied to.
    fn at(&self, relative: &str) -> Option<(String, PathBuf)> {
        let (mut names, mut folder) = (self.names.clone(), self.folder.clone());
        for part in relative.split('/').filter(|part| !part.is_empty()) {
            if part == ".." {
                // The bucket has no folder above it.
                names.pop().filter(|_| !names.is_empty())?;
                folder.pop();
            } else {
                names.push(part.to_owned());
                folder.push(part);
            }
        }
        Some((names.get(1..)?.join("/"), folder))
    }
}

/// Copies the files that match patterns of paths relative to the folder of the source. What cannot be copied is `skipped`.
///
/// # Errors
///
/// The import was cancelled, or there is no room for copies.
pub fn with_neighbours(
    source: InputSource,
    patterns: &[String],
    keeps_copies: bool,
    progress: &Progress,
    skipped: &mut Vec<String>,
) -> Result<InputSource> {
    let address = source.path().and_then(Address::of);
    let Some(address) = address.filter(|address| address.provider != Provider::Web) else {
        return Ok(source);
    };
    let mut names = vec![address.bucket.clone()];
    names.extend(address.key.split('/').map(str::to_owned));
    names.pop();
    if names.iter().any(|name| !is_plain(name)) || !is_plain(source.name()) {
        return Ok(source);
    }
    let temporary = tempfile::tempdir()?;
    // Importers look at the folder of a run and the one above it.
    let folder: PathBuf = names.iter().skip(names.len().saturating_sub(2)).collect();
    let folders = CopiedFolders {
        names,
        folder: temporary.path().join(folder),
    };
    let place = folders.folder.join(source.name());
    let mut wanted: BTreeMap<PathBuf, (PathBuf, u64)> = BTreeMap::new();
    let mut listed: BTreeMap<&str, Vec<(String, u64)>> = BTreeMap::new();
    for pattern in patterns {
        let (relative, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
        let Some((key, to)) = folders.at(relative) else {
            continue;
        };
        if !listed.contains_key(relative) {
            let files = files_in(
                &Address {
                    key: key.clone(),
                    ..address.clone()
                },
                progress,
            );
            let files = match files {
                Err(ImportError::Cancelled) => return Err(ImportError::Cancelled),
                Err(error) => {
                    skipped.push(format!("the files beside {}: {error}", source.name()));
                    Vec::new()
                }
                Ok(files) => files,
            };
            listed.insert(relative, files);
        }
        let files = listed.get(relative).into_iter().flatten();
        for (file, bytes) in files.filter(|(file, _)| is_plain(file) && glob::matches(name, file)) {
            let key = if key.is_empty() {
                file.clone()
            } else {
                format!("{key}/{file}")
            };
            wanted.insert(to.join(file), (address.of_key(&key), *bytes));
        }
    }
    wanted.remove(&place);
    let bytes = wanted
        .values()
        .fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    if wanted.len() > MOST_FILES || bytes > MOST_BYTES {
        let (name, count) = (source.name(), wanted.len());
        skipped
            .push(format!("the files beside {name}: {count} files of {bytes} bytes: copy the run and open the copy"));
        return Ok(source);
    }
    let paths: Vec<PathBuf> = wanted.values().map(|(path, _)| path.clone()).collect();
    for (to, fetched) in wanted.keys().zip(fetch(&paths, keeps_copies, progress)?) {
        let written = fetched.and_then(|file| {
            fs::create_dir_all(to.parent().unwrap_or(to))?;
            Ok(fs::write(to, file.packed())?)
        });
        if let Err(error) = written {
            skipped.push(format!(
                "{}: {error}",
                to.file_name().unwrap_or_default().to_string_lossy()
            ));
        }
    }
    Ok(source.placed(place, temporary))
}

/// Whether a name of a bucket is that of one file or folder on this machine.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let is_one = matches!(
        (parts.next(), parts.next()),
        (Some(std::path::Component::Normal(_)), None)
    );
    is_one && !name.contains(['/', '\\', ':', '\0'])
}
