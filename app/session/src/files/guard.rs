//! Which files a call may write: none that it reads, and none that another program made.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use importers::is_remote;

/// How much of the beginning and of the end of a file is looked at.
const PART: u64 = 64 << 10;
/// Tells our PNG files from those of other programs.
pub const PNG_SOFTWARE: &str = "Software\0systole";
/// The sequence of our packets in a Perfetto trace, as a number and as its bytes.
pub const PERFETTO_SEQUENCE: u64 = 0x53 | 0x79 << 7 | 0x73 << 14 | 0x74 << 21 | 5 << 28;
const PERFETTO_VARINT: [u8; 5] = [0x53 | 0x80, 0x79 | 0x80, 0x73 | 0x80, 0x74 | 0x80, 5];
/// The first line of the list of texts that `anonymize` keeps.
pub const KEPT_TEXTS: &str = "# Texts that systole anonymize kept";

/// The last line of Markdown in a file: a person's notes may look alike in all else.
pub const MARKDOWN_MARK: &str = "<!-- Written by systole: the next run replaces this file. -->";
/// The last line of a text in a file.
pub const TEXT_MARK: &str = "Written by systole: the next run replaces this file.";

/// What the outputs of a call are checked against.
#[derive(Debug, Default)]
pub struct OutputGuard {
    /// What the call reads: files, directories, patterns, addresses.
    inputs: Vec<PathBuf>,
    /// Whether files of other programs are replaced, too.
    is_forced: bool,
}

impl OutputGuard {
    /// Protects these inputs, and files of other programs unless `is_forced`.
    pub fn new(inputs: impl IntoIterator<Item = PathBuf>, is_forced: bool) -> Self {
        Self {
            inputs: inputs.into_iter().collect(),
            is_forced,
        }
    }

    /// Refuses a file that is read by the same call, and one that this program did not write.
    ///
    /// # Errors
    ///
    /// The reason, with the path.
    pub fn check(&self, path: &Path) -> Result<(), String> {
        self.check_with(path, is_ours)
    }

    /// Checks a CSV file with these headings: nothing else tells whose it is.
    ///
    /// # Errors
    ///
    /// The reason, with the path.
    pub fn check_table(&self, path: &Path, headings: &[&str]) -> Result<(), String> {
        self.check_with(path, |content| {
            is_ours(content) || is_like(content, headings)
        })
    }

    /// Refuses a file that is read by the same call.
    ///
    /// # Errors
    ///
    /// The reason, with the path.
    pub fn check_input(&self, path: &Path) -> Result<(), String> {
        self.check_with(path, |_| true)
    }

    fn check_with(&self, path: &Path, is_ours: impl Fn(&[u8]) -> bool) -> Result<(), String> {
        // Devices and pipes are never replaced.
        if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            return Ok(());
        }
        let is_input = || {
            format!(
                "{} is an input of this command: write to another file",
                path.display()
            )
        };
        if self.inputs.iter().any(|input| is_same(input, path)) {
            return Err(is_input());
        }
        // What is in a bucket is not looked at.
        if is_remote(path) || !path.is_file() {
            return Ok(());
        }
        let content = ends_of(path)
            .map_err(|error| format!("cannot read what is there: {error}: {}", path.display()))?;
        if is_ours(&content) {
            return Ok(());
        }
        if self.inputs.iter().any(|input| contains(input, path)) {
            return Err(is_input());
        }
        if self.is_forced {
            return Ok(());
        }
        Err(format!(
            "{} was not written by Systole and would be replaced: write to another file, or add --force",
            path.display()
        ))
    }
}

/// Whether two paths are one file, also through links.
pub fn is_same(one: &Path, other: &Path) -> bool {
    if is_remote(one) || is_remote(other) {
        return one == other;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let id = |path: &Path| {
            fs::metadata(path)
                .ok()
                .map(|there| (there.dev(), there.ino()))
        };
        if let (Some(one), Some(other)) = (id(one), id(other)) {
            return one == other;
        }
    }
    place(one).is_some_and(|one| place(other) == Some(one))
}

/// The absolute path without links, also of a file that is not there yet.
fn place(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok().or_else(|| {
        Some(
            super::directory_of(path)
                .canonicalize()
                .ok()?
                .join(path.file_name()?),
        )
    })
}

/// Whether a file lies below a directory that is read, or below the directory where a pattern begins.
fn contains(input: &Path, file: &Path) -> bool {
    let is_pattern = |input: &Path| input.to_string_lossy().contains(['*', '?', '[']);
    let directory = if is_pattern(input) {
        input.ancestors().find(|above| !is_pattern(above))
    } else {
        Some(input)
    };
    let directory = directory.map(|directory| {
        if directory.as_os_str().is_empty() {
            Path::new(".")
        } else {
            directory
        }
    });
    let Some(directory) = directory.and_then(|directory| directory.canonicalize().ok()) else {
        return false;
    };
    directory.is_dir()
        && file
            .canonicalize()
            .is_ok_and(|file| file.starts_with(directory))
}

/// The beginning of a file, and its end if it is longer.
fn ends_of(path: &Path) -> io::Result<Vec<u8>> {
    let (mut file, mut content) = (File::open(path)?, Vec::new());
    let length = file.metadata()?.len();
    file.by_ref().take(PART).read_to_end(&mut content)?;
    if length > PART {
        file.seek(SeekFrom::Start(length.saturating_sub(PART).max(PART)))?;
        file.take(PART).read_to_end(&mut content)?;
    }
    Ok(content)
}

/// Whether a file with this beginning (and end) is empty, or one of the outputs of this program.
fn is_ours(content: &[u8]) -> bool {
    let text = String::from_utf8_lossy(content);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let begins = |with: &str| text.starts_with(with);
    let has = |what: &str| text.contains(what);
    let is_json =
        |field: &str| begins("{") && text.split_whitespace().collect::<String>().contains(field);
    content.is_empty()
        // JSON, but not a history, to which lines are appended.
        || is_json("\"schema\":\"systole.") && !has("\"systole.history/")
        || begins("{\"displayTimeUnit\"") && has("\"tool\":\"systole\"")
        || has("sarif-2.1.0.json") && is_json("\"name\":\"systole\"")
        || is_row(text.lines().next().unwrap_or_default())
        || has("<testsuites name=\"systole\"")
        || begins("<!doctype html>") && has(" · Systole</title>")
        || begins("<svg") && has("data-tool=\"systole\"")
        || text.lines().last().is_some_and(|last| [MARKDOWN_MARK, TEXT_MARK].contains(&last))
        || begins(KEPT_TEXTS)
        || has_bytes(content, b"\x89PNG") && has_bytes(content, PNG_SOFTWARE.as_bytes())
        // An archive of `pack` begins with the summary.
        || content.starts_with(b"PK\x03\x04") && content.get(30..).is_some_and(|rest| rest.starts_with(b"summary.json"))
        || content.starts_with(b"ARROW1") && has_bytes(content, b"systole.table")
        || content.starts_with(b"PAR1") && has_bytes(content, b"systole ")
        || content.first() == Some(&0x0a) && has_bytes(content, &PERFETTO_VARINT)
}

/// A line of NDJSON.
fn is_row(line: &str) -> bool {
    let row = serde_json::from_str::<serde_json::Value>(line).unwrap_or_default();
    row.get("report").is_some()
        && (row.get("table").is_some() || row.get("not_applicable").is_some())
}

/// Whether the first line of a file has at least half of these headings: tables get more columns with time.
fn is_like(content: &[u8], headings: &[&str]) -> bool {
    let content = String::from_utf8_lossy(content);
    let old: Vec<&str> = content
        .lines()
        .next()
        .unwrap_or_default()
        .split(',')
        .collect();
    let same = headings
        .iter()
        .filter(|heading| old.contains(heading))
        .count();
    same > 0 && 2 * same >= headings.len() && 2 * same >= old.len()
}

fn has_bytes(content: &[u8], what: &[u8]) -> bool {
    content.windows(what.len()).any(|part| part == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(input: &Path, is_forced: bool) -> OutputGuard {
        OutputGuard::new([input.to_owned()], is_forced)
    }

    #[cfg(unix)]
    #[test]
    fn an_input_is_no_output_whatever_it_is_called() {
        let dir = tempfile::tempdir().unwrap();
        let name = |name: &str| dir.path().join(name);
        fs::create_dir(name("sub")).unwrap();
        fs::write(name("in.json"), "{\"schema\": \"systole.summary/1\"}").unwrap();
        fs::hard_link(name("in.json"), name("hard")).unwrap();
        std::os::unix::fs::symlink("in.json", name("soft")).unwrap();
        for other in ["in.json", "hard", "soft", "sub/../in.json"] {
            for is_forced in [false, true] {
                let refused = guard(&name("in.json"), is_forced)
                    .check(&name(other))
                    .unwrap_err();
                assert!(refused.contains("is an input"), "{refused}");
                assert!(
                    guard(&name(other), is_forced)
                        .check(&name("in.json"))
                        .is_err(),
                    "{other}"
                );
            }
        }
        assert_eq!(
            guard(&name("in.json"), false).check(&name("new.json")),
            Ok(())
        );
    }

    #[test]
    fn files_of_a_directory_that_is_read_stay() {
        let dir = tempfile::tempdir().unwrap();
        let (file, report) = (dir.path().join("host.pb"), dir.path().join("report.json"));
        fs::write(&file, "profile").unwrap();
        fs::write(&report, "{\"schema\": \"systole.report/3\"}").unwrap();
        for input in [
            dir.path().to_owned(),
            dir.path().join("*/host.pb"),
            dir.path().join("h*.pb"),
        ] {
            assert!(
                guard(&input, true)
                    .check(&file)
                    .unwrap_err()
                    .contains("is an input"),
                "{}",
                input.display()
            );
            assert_eq!(guard(&input, false).check(&report), Ok(()));
        }
    }

    #[test]
    fn files_of_other_programs_need_force() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        let line = r#"{"schema":"systole.history/1"}"#;
        let html = "<!doctype html><html><title>mine</title>";
        let settings = r#"{"systole.path": "/usr/bin/systole"}"#;
        let notes = "398.0 ms captured · 1,220 slices · 1 × TPU v6 Lite\nmy own remarks\n";
        let edited = format!("the report\n{TEXT_MARK}\nand my remarks\n");
        let texts = [
            "notes",
            notes,
            &edited,
            "# Read me\n\nHow to tune\n",
            "# Comparison\n\nof two cars\n",
            html,
        ];
        for other in texts.into_iter().chain([
            "[1]",
            "{\"a\": 1}",
            settings,
            "a,b\n1,2\n",
            "PK\x03\x04",
            line,
        ]) {
            fs::write(&file, other).unwrap();
            let refused = guard(Path::new("in"), false).check(&file).unwrap_err();
            assert!(refused.contains("--force"), "{refused}");
            assert_eq!(guard(Path::new("in"), true).check(&file), Ok(()), "{other}");
        }
        for own in [
            "",
            &format!("# Comparison\n\n{MARKDOWN_MARK}\n"),
            &format!("the report\n{TEXT_MARK}\n"),
        ] {
            fs::write(&file, own).unwrap();
            assert_eq!(guard(Path::new("in"), false).check(&file), Ok(()), "{own}");
        }
    }

    #[test]
    fn tables_are_known_by_their_headings() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ops.csv");
        fs::write(&file, "name,self_time_ps\nfusion.1,7\n").unwrap();
        let check = |headings: &[&str]| guard(Path::new("in"), false).check_table(&file, headings);
        assert_eq!(check(&["name", "self_time_ps", "bytes"]), Ok(()));
        assert!(check(&["name", "id", "weight", "message"]).is_err());
    }
}
