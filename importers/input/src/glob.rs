//! Path patterns: `*` is any text within one path component, `?` one character.

use std::path::{Component, Path, PathBuf};

use wildmatch::WildMatch;

use crate::storage::FileTree;
use crate::{ImportError, Result};

/// Maximum number of matches; stops patterns like `/*/*/*/*`.
const MAX_MATCHES: usize = 10_000;

/// Whether a path contains wildcards.
pub fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?'])
}

/// Every existing path that matches, sorted by name. Names that start with a dot match only patterns that do.
///
/// # Errors
///
/// So much matches the pattern, or a part of it, that nobody can have meant it.
pub fn expand(tree: &dyn FileTree, pattern: &Path) -> Result<Vec<PathBuf>> {
    let (root, rest) = tree.split_pattern(pattern);
    let mut paths = vec![root];
    for component in rest.components() {
        let text = component.as_os_str().to_string_lossy();
        let wild = matches!(component, Component::Normal(_)) && text.contains(['*', '?']);
        if wild {
            let matching = paths
                .iter()
                .flat_map(|directory| matches_in(tree, directory, &text));
            paths = matching.take(MAX_MATCHES + 1).collect();
            if paths.len() > MAX_MATCHES {
                let what = format!(
                    "more than {MAX_MATCHES} paths match the pattern: name the directory above them"
                );
                return Err(ImportError::TooLarge { what });
            }
        } else {
            for path in &mut paths {
                path.push(component);
            }
        }
    }
    paths.retain(|path| tree.kind(path).is_ok());
    paths.sort();
    Ok(paths)
}

fn matches_in(tree: &dyn FileTree, directory: &Path, pattern: &str) -> Vec<PathBuf> {
    let entries = tree.entries(directory).unwrap_or_default().into_iter();
    let is_meant =
        |name: &str| matches(pattern, name) && (pattern.starts_with('.') || !name.starts_with('.'));
    entries
        .filter(|entry| is_meant(&entry.name))
        .map(|entry| entry.path)
        .collect()
}

/// Whether all of `name` matches.
pub fn matches(pattern: &str, name: &str) -> bool {
    WildMatch::new(pattern).matches(name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::storage::LocalTree;

    #[test]
    fn star_and_question_mark_match() {
        for (pattern, name) in [
            ("*", ""),
            ("*", "x"),
            ("a?c", "abc"),
            ("*.pb", "h.xplane.pb"),
            ("a*b*c", "aXbYbZc"),
            ("ü?", "üé"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("?", ""),
            ("a?c", "ac"),
            ("*.pb", "h.pb2"),
            ("a*b*c", "aXcYb"),
            ("", "x"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn pattern_in_a_directory_expands_in_name_order() {
        let dir = tempfile::tempdir().unwrap();
        for run in ["b", "a", ".hidden"] {
            fs::create_dir(dir.path().join(run)).unwrap();
            fs::write(dir.path().join(run).join("x.pb"), b"").unwrap();
        }
        let found = expand(&LocalTree, &dir.path().join("*/x.*")).unwrap();
        let expected: Vec<_> = ["a/x.pb", "b/x.pb"]
            .iter()
            .map(|name| dir.path().join(name))
            .collect();
        assert_eq!(found, expected);
        assert!(
            expand(&LocalTree, &dir.path().join("c*/x.pb"))
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn pattern_with_too_many_matches_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let name = |number: usize| dir.path().join(format!("{number}.pb"));
        (0..MAX_MATCHES).for_each(|number| fs::write(name(number), b"").unwrap());
        let pattern = dir.path().join("*.pb");
        assert_eq!(expand(&LocalTree, &pattern).unwrap().len(), MAX_MATCHES);
        fs::write(name(MAX_MATCHES), b"").unwrap();
        let error = expand(&LocalTree, &pattern).unwrap_err().to_string();
        assert_eq!(
            error,
            "too large: more than 10000 paths match the pattern: name the directory above them"
        );
    }
}
