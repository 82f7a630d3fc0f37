//! Typed paths: their directory, what it holds, and how a name is completed.

use std::fs;

use crate::prelude::*;
use importers::IMPORTERS;

/// Entries of a directory that are listed: there are file systems with millions.
const MOST: usize = 10_000;

/// A directory, or a file that may be a profile.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathEntry {
    pub is_file: bool,
    pub name: String,
}

/// The absolute path, or the address, that was typed or pasted after a directory: it replaces the directory.
pub fn typed_anew<'a>(before: &str, now: &'a str) -> Option<&'a str> {
    let added = now
        .strip_prefix(before)
        .filter(|_| before.ends_with(std::path::is_separator))?;
    if let Some(scheme) = before.strip_suffix(":/").filter(|_| added.starts_with('/')) {
        // The second stroke of `gs://`.
        return now.get(name_at(scheme)..);
    }
    (Path::new(added).has_root() || added.starts_with('~') || added.contains("://"))
        .then_some(added)
}

/// The directory that is typed, and the beginning of a name in it.
pub fn split(text: &str) -> (PathBuf, String) {
    let (folder, beginning) = text.split_at(name_at(text));
    (
        if folder.is_empty() {
            PathBuf::from(".")
        } else {
            expanded(folder)
        },
        beginning.to_owned(),
    )
}

/// Where the name after the last directory begins.
pub fn name_at(text: &str) -> usize {
    text.char_indices()
        .rev()
        .find(|&(_, c)| std::path::is_separator(c))
        .map_or(0, |(index, c)| index + c.len_utf8())
}

/// `~` stands for the user's directory.
pub fn expanded(text: &str) -> PathBuf {
    let rest = text
        .strip_prefix('~')
        .filter(|rest| rest.is_empty() || rest.starts_with(std::path::is_separator));
    match (rest, std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches(std::path::is_separator)),
        _ => PathBuf::from(text),
    }
}

/// Directories, then files that an importer may read, or all, by name.
pub fn entries(folder: &Path, all: bool) -> Result<Vec<PathEntry>, String> {
    let read = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let is_readable = |name: &str| {
        IMPORTERS
            .iter()
            .flat_map(|importer| importer.format().extensions)
            .map(|extension| format!(".{extension}"))
            .any(|ending| name.ends_with(&ending))
    };
    let known = read.filter_map(Result::ok).filter_map(|entry| {
        let name = entry
            .file_name()
            .into_string()
            .ok()
            .filter(|name| !name.starts_with('.'))?;
        // Follows links to find out whether they are directories or files.
        let is_file = fs::metadata(entry.path()).ok()?.is_file();
        (all || !is_file || is_readable(&name)).then_some(PathEntry { is_file, name })
    });
    let mut known: Vec<PathEntry> = known.take(MOST).collect();
    known.sort();
    Ok(known)
}

/// The longest common prefix of all names.
pub fn common_beginning(entries: &[PathEntry]) -> String {
    let mut names = entries.iter().map(|entry| entry.name.as_str());
    let Some(first) = names.next() else {
        return String::new();
    };
    let common = |beginning: &str, other: &str| {
        beginning
            .chars()
            .zip(other.chars())
            .take_while(|(a, b)| a == b)
            .count()
    };
    let length = names
        .map(|name| common(first, name))
        .min()
        .unwrap_or(usize::MAX);
    first.chars().take(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_listing_marks_openable_entries() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "b.xplane.pb",
            "a.trace.json.gz",
            "notes.doc",
            ".hidden.json",
        ] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::create_dir(folder.path().join("zoo")).unwrap();
        let names: Vec<String> = entries(folder.path(), false)
            .unwrap()
            .into_iter()
            .map(|entry| entry.name)
            .collect();
        assert_eq!(names, ["zoo", "a.trace.json.gz", "b.xplane.pb"]);
        assert_eq!(entries(folder.path(), true).unwrap().len(), 4);
        assert!(entries(&folder.path().join("missing"), false).is_err());
    }

    #[test]
    fn typed_path_splits_into_directory_and_name_prefix() {
        assert_eq!(
            split("/logs/run_"),
            (PathBuf::from("/logs/"), "run_".to_owned())
        );
        assert_eq!(split("run"), (PathBuf::from("."), "run".to_owned()));
        assert_eq!(split("/logs/"), (PathBuf::from("/logs/"), String::new()));
        assert_eq!(expanded("~other/x"), PathBuf::from("~other/x"));
    }

    #[test]
    fn typed_absolute_path_replaces_the_folder() {
        assert_eq!(
            typed_anew("/logs/", "/logs//data/run.json"),
            Some("/data/run.json")
        );
        assert_eq!(typed_anew("/logs/", "/logs/~"), Some("~"));
        assert_eq!(
            typed_anew("/logs/", "/logs/gs://bucket/run"),
            Some("gs://bucket/run")
        );
        assert_eq!(typed_anew("/logs/gs:/", "/logs/gs://"), Some("gs://"));
        // A name in the folder, and changes elsewhere.
        assert_eq!(typed_anew("/logs/", "/logs/r"), None);
        assert_eq!(typed_anew("/logs/run", "/logs/run/"), None);
        assert_eq!(typed_anew("/logs/run/", "/logs//"), None);
        assert_eq!(typed_anew("/logs/", "/logs/"), None);
    }

    #[test]
    fn names_complete_to_their_common_prefix() {
        let entry = |name: &str| PathEntry {
            is_file: true,
            name: name.to_owned(),
        };
        assert_eq!(
            common_beginning(&[entry("run_é1"), entry("run_é2")]),
            "run_é"
        );
        assert_eq!(common_beginning(&[entry("only")]), "only");
        assert_eq!(common_beginning(&[]), "");
    }
}
