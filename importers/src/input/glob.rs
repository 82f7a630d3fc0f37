//! Path patterns: `*` is any text within one path component, `?` one character.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Maximum number of matches; stops patterns like `/*/*/*/*`.
const MAX_MATCHES: usize = 10_000;

/// Whether a path contains wildcards.
pub(crate) fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?'])
}

/// Every existing path that matches, sorted by name. Names that start with a dot match only patterns that do.
pub(crate) fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        let text = component.as_os_str().to_string_lossy();
        let wild = matches!(component, Component::Normal(_)) && text.contains(['*', '?']);
        if wild {
            found = found.iter().flat_map(|directory| matches_in(directory, &text)).take(MAX_MATCHES).collect();
        } else {
            for path in &mut found {
                path.push(component);
            }
        }
    }
    found.retain(|path| path.exists());
    found.sort();
    found
}

fn matches_in(directory: &Path, pattern: &str) -> Vec<PathBuf> {
    let listed = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let mut names: Vec<_> = fs::read_dir(listed)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .filter(|name| {
            let name = name.to_string_lossy();
            matches(pattern, &name) && (pattern.starts_with('.') || !name.starts_with('.'))
        })
        .collect();
    names.sort();
    names.into_iter().map(|name| directory.join(name)).collect()
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
    use super::*;

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
        let found = expand(&dir.path().join("*/x.*"));
        let expected: Vec<_> = ["a/x.pb", "b/x.pb"].iter().map(|name| dir.path().join(name)).collect();
        assert_eq!(found, expected);
        assert!(expand(&dir.path().join("c*/x.pb")).is_empty());
    }
}
