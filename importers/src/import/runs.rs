//! The runs of a log directory, without opening them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use input::source::file_name;
use input::storage::EntryKind;
use input::{Progress, Result, glob};

use crate::access::tree_of;
use crate::import::captures;
use crate::import::locate::{hosts_of, nothing, profiles_in};
use crate::import::run_search::runs_below;

/// A capture in a log directory: one folder, or several of different hosts that began within seconds.
#[derive(Debug)]
pub struct ListedRun {
    /// Its name, which `--run` takes.
    pub name: String,
    /// Other folders of the same capture.
    pub joined: Vec<String>,
    /// Names of its hosts; empty if its files do not name them.
    pub hosts: Vec<String>,
    /// Size of the files that would be read; `None` if one is not known.
    pub bytes: Option<u64>,
    /// Files without content. The profiler failed to write them, or writes them still.
    pub empty_files: Vec<String>,
    /// When a file was last written, if known.
    pub modified: Option<SystemTime>,
    /// The files that would be read.
    pub files: Vec<ListedFile>,
}

impl ListedRun {
    /// The folder that holds all of it, if there is one.
    pub fn only_folder(&self) -> Option<&Path> {
        let first = self.files.first().filter(|_| self.joined.is_empty())?;
        first.path.parent()
    }
}

/// A file of a run, as its directory or bucket lists it: what changes while it is written.
#[derive(Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// Its path or address.
    pub path: PathBuf,
    /// Its size, if known.
    pub bytes: Option<u64>,
    /// When it was last written, if known.
    pub modified: Option<SystemTime>,
}

/// The runs in or below a directory, the newest first.
///
/// # Errors
///
/// The directory cannot be read, or has no runs.
pub fn list_runs(path: &Path, progress: &Progress) -> Result<Vec<ListedRun>> {
    list_log_directory(path, progress).map(|(runs, _)| runs)
}

/// The same, and the profiles that lie directly in the directory, beside its runs: one of each host.
///
/// # Errors
///
/// The directory cannot be read, or has no runs.
pub fn list_log_directory(
    path: &Path,
    progress: &Progress,
) -> Result<(Vec<ListedRun>, Vec<PathBuf>)> {
    let tree = tree_of(path, progress)?;
    let tree = tree.as_ref();
    if tree.kind(path)? != EntryKind::Directory {
        return nothing("this is a file, not a log directory".to_owned());
    }
    tree.entries(path)?;
    let runs = runs_below(tree, path, progress)?;
    if runs.is_empty() {
        return nothing(
            "there is no run: looked for plugins/profile/<run>/ with profiles in it".to_owned(),
        );
    }
    let listed = captures::of(runs).into_iter().filter_map(|capture| {
        let mut names = capture.runs.iter().map(|run| run.name.clone());
        let (name, joined) = (names.next()?, names.collect());
        let modified = capture
            .runs
            .iter()
            .map(|run| run.modified)
            .max()
            .filter(|time| *time > SystemTime::UNIX_EPOCH);
        let files: Vec<PathBuf> = capture.runs.into_iter().flat_map(|run| run.files).collect();
        let is_empty = |file: &&PathBuf| tree.size(file) == Some(0);
        let empty = files.iter().filter(is_empty);
        let empty_files = empty.map(|file| file_name(file)).collect();
        let hosts = hosts_of(files);
        let read = hosts
            .iter()
            .filter_map(|host| host.files.iter().find(|file| tree.size(file) != Some(0)));
        let files: Vec<ListedFile> = read
            .map(|file| ListedFile {
                path: file.clone(),
                bytes: tree.size(file),
                modified: tree.modified(file),
            })
            .collect();
        let bytes = files.iter().map(|file| file.bytes).sum();
        let hosts: BTreeSet<String> = hosts.into_iter().filter_map(|host| host.host).collect();
        Some(ListedRun {
            name,
            joined,
            hosts: hosts.into_iter().collect(),
            bytes,
            empty_files,
            modified,
            files,
        })
    });
    Ok((listed.collect(), profiles_in(tree, path)))
}

/// All files below a directory, or below what matches a pattern, in the order of their paths. Links are not followed.
///
/// # Errors
///
/// Nothing is there, or it cannot be read.
pub fn list_files(path: &Path, progress: &Progress) -> Result<Vec<ListedFile>> {
    let tree = tree_of(path, progress)?;
    let tree = tree.as_ref();
    let mut left = match tree.kind(path) {
        Ok(_) => vec![path.to_owned()],
        Err(_) if glob::is_pattern(path) => glob::expand(tree, path)?,
        Err(error) => return Err(error.into()),
    };
    if left.is_empty() {
        return nothing("no file or directory matches the pattern".to_owned());
    }
    let mut files = Vec::new();
    while let Some(path) = left.pop() {
        progress.check()?;
        if tree.is_directory(&path) {
            left.extend(
                tree.entries(&path)?
                    .into_iter()
                    .filter(|entry| !entry.is_link)
                    .map(|entry| entry.path),
            );
        } else if tree.is_file(&path) {
            files.push(ListedFile {
                bytes: tree.size(&path),
                modified: tree.modified(&path),
                path,
            });
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn captures_are_listed_newest_first_with_their_hosts_and_sizes() {
        let dir = tempfile::tempdir().unwrap();
        for (file, len) in [
            ("2026_01_31_04_47_36/a.xplane.pb", 10),
            ("2026_01_31_04_47_38/b.xplane.pb", 5),
            ("2026_01_31_04_47_38/b.trace.json.gz", 100),
            ("2026_01_30_00_00_00/a.xplane.pb", 0),
            ("2026_01_30_00_00_00/a.trace.json.gz", 7),
        ] {
            let path = dir.path().join("log/plugins/profile").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, vec![0; len]).unwrap();
        }
        let list = |path: &Path| list_runs(path, &Progress::new());
        let runs = list(dir.path()).unwrap();
        let shown: Vec<_> = runs
            .iter()
            .map(|run| (&run.name[..], run.hosts.join(" "), run.bytes))
            .collect();
        let expected = [
            ("log/2026_01_31_04_47_38", "a b".to_owned(), Some(15)),
            ("log/2026_01_30_00_00_00", "a".to_owned(), Some(7)),
        ];
        assert_eq!(shown, expected);
        assert_eq!(runs[0].joined, ["log/2026_01_31_04_47_36"]);
        assert_eq!(runs[1].empty_files, ["a.xplane.pb"]);
        assert_eq!(runs[0].only_folder(), None);
        assert_eq!(runs[1].only_folder(), runs[1].files[0].path.parent());
        let sizes: Vec<_> = runs[0]
            .files
            .iter()
            .map(|file| (file.path.exists(), file.bytes))
            .collect();
        assert_eq!(sizes, [(true, Some(10)), (true, Some(5))]);
        assert!(
            list(
                &dir.path()
                    .join("log/plugins/profile/2026_01_30_00_00_00/a.xplane.pb")
            )
            .is_err()
        );
        assert!(list(&dir.path().join("nothing")).is_err());
    }

    #[test]
    fn all_files_below_a_path_or_a_pattern_are_listed_once() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["a/b/x.pb", "a/b/c/y.pb", "a/z.txt", "d/x.pb"] {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"12").unwrap();
        }
        let list = |path: &str| {
            let files = list_files(&dir.path().join(path), &Progress::new()).unwrap();
            let name = |file: &ListedFile| {
                file.path
                    .strip_prefix(dir.path())
                    .unwrap()
                    .to_string_lossy()
                    .into_owned()
            };
            assert!(
                files
                    .iter()
                    .all(|file| file.bytes == Some(2) && file.modified.is_some())
            );
            files.iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!(list("a"), ["a/b/c/y.pb", "a/b/x.pb", "a/z.txt"]);
        assert_eq!(list("*/*"), ["a/b/c/y.pb", "a/b/x.pb", "a/z.txt", "d/x.pb"]);
        assert_eq!(list("d/x.pb"), ["d/x.pb"]);
        for missing in ["e", "e*"] {
            assert!(list_files(&dir.path().join(missing), &Progress::new()).is_err());
        }
    }
}
