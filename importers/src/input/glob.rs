//! Path patterns: `*` is any text within one path component, `?` one character.

use std::path::{Component, Path, PathBuf};

use crate::input::storage::FileTree;

/// Maximum number of matches; stops patterns like `/*/*/*/*`.
pub(crate) const MAX_MATCHES: usize = 10_000;

/// Whether a path contains wildcards.
pub(crate) fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?'])
}

/// Every existing path that matches, sorted by name. Names that start with a dot match only patterns that do.
pub(crate) fn expand(tree: &dyn FileTree, pattern: &Path) -> Vec<PathBuf> {
    let (root, rest) = tree.split_pattern(pattern);
    let mut found = vec![root];
    for component in rest.components() {
        let text = component.as_os_str().to_string_lossy();
        let wild = matches!(component, Component::Normal(_)) && text.contains(['*', '?']);
        if wild {
            let matching = found.iter().flat_map(|directory| matches_in(tree, directory, &text));
            found = matching.take(MAX_MATCHES).collect();
        } else {
            for path in &mut found {
                path.push(component);
            }
        }
    }
    found.retain(|path| tree.kind(path).is_ok());
    found.sort();
    found
}

fn matches_in(tree: &dyn FileTree, directory: &Path, pattern: &str) -> Vec<PathBuf> {
    let entries = tree.entries(directory).unwrap_or_default().into_iter();
    let is_meant = |name: &str| matches(pattern, name) && (pattern.starts_with('.') || !name.starts_with('.'));
    entries.filter(|entry| is_meant(&entry.name)).map(|entry| entry.path).collect()
}

/// Whether all of `name` matches. Backtracks to the last `*` only, which is
/// enough: an earlier one could not match anything that the last one cannot.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut star = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((star_at, eaten)) = star else { return false };
                star = Some((star_at, eaten + 1));
                p = star_at + 1;
                n = eaten + 1;
            }
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::input::storage::LocalTree;

    #[test]
    fn star_and_question_mark_match() {
        for (pattern, name) in
            [("*", ""), ("*", "x"), ("a?c", "abc"), ("*.pb", "h.xplane.pb"), ("a*b*c", "aXbYbZc"), ("ü?", "üé")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("?", ""), ("a?c", "ac"), ("*.pb", "h.pb2"), ("a*b*c", "aXcYb"), ("", "x")] {
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
        let found = expand(&LocalTree, &dir.path().join("*/x.*"));
        let expected: Vec<_> = ["a/x.pb", "b/x.pb"].iter().map(|name| dir.path().join(name)).collect();
        assert_eq!(found, expected);
        assert!(expand(&LocalTree, &dir.path().join("c*/x.pb")).is_empty());
    }
}
