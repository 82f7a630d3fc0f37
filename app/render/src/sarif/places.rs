//! Where results of SARIF are: source files of the project, else the trace.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

/// The first source that is a file of the project, else the trace.
pub(super) fn location_of<'a>(
    mut sources: impl Iterator<Item = &'a str>,
    trace: &str,
    below: Option<&Path>,
) -> Value {
    let place = sources.find_map(|source| {
        let (file, line) = file_and_line(source)?;
        Some(location(&source_in(file, below?)?, Some(line)))
    });
    place.unwrap_or_else(|| location(trace, None))
}

pub(super) fn location(uri: &str, line: Option<u32>) -> Value {
    let mut physical = json!({ "artifactLocation": { "uri": uri_of(uri) } });
    if let Some(line) = line {
        physical["region"] = json!({ "startLine": line });
    }
    json!({ "physicalLocation": physical })
}

/// File and line of `a/model.py:12`, also with a column.
fn file_and_line(source: &str) -> Option<(&str, u32)> {
    let (head, last) = source.rsplit_once(':')?;
    let last = last.parse::<u32>().ok()?;
    match head
        .rsplit_once(':')
        .map(|(file, line)| (file, line.parse::<u32>()))
    {
        Some((file, Ok(line))) if line > 0 => Some((file, line)),
        _ => (last > 0 && !head.is_empty()).then_some((head, last)),
    }
}

/// The trace as a path below the working directory, else its name.
pub(super) fn trace_in(trace: &str, below: Option<&Path>) -> String {
    let path = Path::new(trace);
    let inside = below
        .and_then(|root| path.strip_prefix(root).ok())
        .unwrap_or(path);
    let is_below = inside
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let shown = if is_below {
        Some(inside)
    } else {
        inside.file_name().map(Path::new)
    };
    shown
        .and_then(Path::to_str)
        .filter(|path| !path.is_empty())
        .unwrap_or("trace")
        .to_owned()
}

/// Longer paths are not looked up.
const MOST_PARTS: usize = 64;

/// The path of a source file below `root`. The program may have run elsewhere, so the longest suffix of the recorded
/// path that exists is used; other files are not part of the project.
fn source_in(file: &str, root: &Path) -> Option<String> {
    let mut parts: Vec<&OsStr> = Vec::new();
    for part in Path::new(file).components() {
        match part {
            Component::Normal(name) => parts.push(name),
            Component::ParentDir => return None,
            _ => {}
        }
    }
    if parts.len() > MOST_PARTS {
        return None;
    }
    let below = |end: PathBuf| {
        let is_there = root.join(&end).is_file();
        is_there.then(|| end.to_str().map(str::to_owned))?
    };
    if let Ok(inside) = Path::new(file).strip_prefix(root) {
        return below(inside.to_owned());
    }
    // A file name without directories can belong to many files: it counts below a directory of the root's name.
    (0..parts.len()).find_map(|from| {
        let before = from
            .checked_sub(1)
            .and_then(|index| parts.get(index).copied());
        let is_alone = from > 0 && from + 1 == parts.len() && before != root.file_name();
        below(parts.get(from..)?.iter().collect()).filter(|_| !is_alone)
    })
}

/// A relative path as a URI reference (RFC 3986).
fn uri_of(path: &str) -> String {
    use std::fmt::Write as _;
    let mut uri = String::new();
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'/'
            | b'-'
            | b'_'
            | b'.'
            | b'~'
            | b'@'
            | b'+' => {
                uri.push(char::from(byte));
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_locations_have_files_and_lines() {
        assert_eq!(file_and_line("a/b.py:12"), Some(("a/b.py", 12)));
        assert_eq!(file_and_line("a/b.py:12:7"), Some(("a/b.py", 12)));
        for wrong in ["a/b.py", ":3", "a:0", "a:b", ""] {
            assert_eq!(file_and_line(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn paths_are_relative() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("src")).unwrap();
        std::fs::write(dir.path().join("src/a.py"), "").unwrap();
        std::fs::write(dir.path().join("setup.py"), "").unwrap();
        let inside = dir.path().join("src/a.py");
        let beside = dir.path().join("setup.py");
        let name = dir.path().file_name().unwrap().to_str().unwrap();
        for (file, expected) in [
            (inside.to_str().unwrap(), Some("src/a.py")),
            (beside.to_str().unwrap(), Some("setup.py")),
            (&format!("/home/me/{name}/setup.py"), Some("setup.py")),
            ("src/a.py", Some("src/a.py")),
            // On the profiled machine, the project was in another directory.
            ("/home/me/project/src/a.py", Some("src/a.py")),
            ("/usr/lib/python3/b.py", None),
            // Every project has one.
            ("/usr/lib/python3/setup.py", None),
            ("setup.py", Some("setup.py")),
            (&"a/".repeat(100_000), None),
            ("../src/a.py", None),
            ("/", None),
        ] {
            assert_eq!(source_in(file, dir.path()).as_deref(), expected, "{file}");
        }
        let trace = |path| trace_in(path, Some(Path::new("/w")));
        assert_eq!(trace("/w/runs/t.pb"), "runs/t.pb");
        assert_eq!(
            [
                trace("/x/t.pb"),
                trace("../t.pb"),
                trace("t.pb"),
                trace("/")
            ],
            ["t.pb", "t.pb", "t.pb", "trace"]
        );
    }

    #[test]
    fn any_path_becomes_a_valid_uri() {
        assert_eq!(uri_of("a b/ü\".py"), "a%20b/%C3%BC%22.py");
    }
}
