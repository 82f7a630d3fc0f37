//! Source lines of ops: the stack of an op, the self time of each line of a file, and where the file is.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::prelude::*;
use analysis::reports::OpRow;
use analysis::{Scope, TraceFacts as _};

use session::Session;
use session::files::open_regular;

/// Larger files are not shown.
const LARGEST: u64 = 16 << 20;

/// The beginning of recorded paths, and what replaces it here: `--src-prefix OLD=NEW`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePrefix {
    /// As recorded.
    pub old: String,
    /// Where these files are.
    pub new: PathBuf,
}

impl FromStr for SourcePrefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (old, new) = text
            .split_once('=')
            .ok_or("write OLD=NEW, for example /home/runner/job=/home/me/job")?;
        Ok(Self {
            old: old.to_owned(),
            new: PathBuf::from(new),
        })
    }
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// The file, as recorded.
    pub file: String,
    /// The line, from 1; 0 if it is not recorded.
    pub line: u32,
    /// The function; empty if it is not recorded.
    pub function: String,
}

impl SourcePlace {
    /// `file:line`, or `file:line:column`; `None` for an empty text.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let number = |text: &str| text.parse::<u32>().ok();
        let (file, line) = match text.rsplit_once(':') {
            Some((rest, last)) if number(last).is_some() => match rest.rsplit_once(':') {
                Some((file, line)) if number(line).is_some() => (file, number(line)),
                _ => (rest, number(last)),
            },
            _ => (text, None),
        };
        (!file.is_empty()).then(|| Self {
            file: file.to_owned(),
            line: line.unwrap_or(0),
            function: String::new(),
        })
    }

    /// `file:line` with the last part of the path only.
    pub fn short(&self) -> String {
        let name = self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file);
        if self.line == 0 {
            name.to_owned()
        } else {
            format!("{name}:{}", self.line)
        }
    }
}

/// Whether a file belongs to an installed library, and not to the program that was profiled.
pub fn is_library(file: &str) -> bool {
    file.split(['/', '\\']).any(|part| {
        matches!(part, "site-packages" | "dist-packages") || part.starts_with("<frozen")
    })
}

/// The innermost frame of the program's own code; the innermost of all where there is none.
pub fn own_frame(stack: &[SourcePlace]) -> Option<&SourcePlace> {
    let of_user = stack.iter().find(|frame| !is_library(&frame.file));
    of_user.or(stack.first())
}

/// The stack of an op, innermost frame first: as recorded, else from its program, else its line alone.
pub fn stack_of(session: &Session, op: OpId) -> Vec<SourcePlace> {
    let model = session.model();
    let facts = model.op(op);
    if let Some(stack) = facts.source_stack {
        let frames: Vec<SourcePlace> = model
            .str(stack)
            .lines()
            .rev()
            .filter_map(SourcePlace::parse)
            .collect();
        if !frames.is_empty() {
            return frames;
        }
    }
    let cx = session.context(Scope::WholeTrace);
    if let Some(instruction) = cx.instruction(op) {
        let frames = instruction
            .module()
            .stack(&instruction)
            .into_iter()
            .map(|frame| SourcePlace {
                file: frame.file.to_owned(),
                line: u32::try_from(frame.line).unwrap_or(0),
                function: frame.function.to_owned(),
            });
        let frames: Vec<SourcePlace> = frames.filter(|frame| !frame.file.is_empty()).collect();
        if !frames.is_empty() {
            return frames;
        }
    }
    facts
        .source
        .and_then(|source| SourcePlace::parse(model.str(source)))
        .into_iter()
        .collect()
}

/// The ops of a line.
#[derive(Debug, Default)]
pub struct LineTime {
    pub self_time_ps: Picos,
    pub ops: BTreeSet<OpId>,
}

/// A file with the ops of its lines.
#[derive(Debug, Default)]
pub struct FileTimes {
    /// The file, as recorded.
    pub file: String,
    /// Self time of all its ops.
    pub self_time_ps: Picos,
    /// By line.
    pub lines: BTreeMap<u32, LineTime>,
}

impl FileTimes {
    /// The line with the most self time.
    pub fn hottest(&self) -> u32 {
        let most = self
            .lines
            .iter()
            .max_by_key(|(line, time)| (time.self_time_ps, Reverse(**line)));
        most.map_or(0, |(line, _)| *line)
    }
}

/// The files of ops, those with the most self time first.
pub fn files(rows: &[OpRow]) -> Vec<FileTimes> {
    let mut files: BTreeMap<String, FileTimes> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.group != OpGroup::Idle) {
        let Some(place) = row.source.as_deref().and_then(SourcePlace::parse) else {
            continue;
        };
        let file = files.entry(place.file.clone()).or_default();
        file.self_time_ps += row.self_time_ps;
        let line = file.lines.entry(place.line).or_default();
        line.self_time_ps += row.self_time_ps;
        line.ops.extend(row.op);
    }
    let mut files: Vec<FileTimes> = files
        .into_iter()
        .map(|(file, times)| FileTimes { file, ..times })
        .collect();
    files.sort_by_key(|file| Reverse(file.self_time_ps));
    files
}

/// The self time of ops without a file.
pub fn without_file(rows: &[OpRow], files: &[FileTimes]) -> Picos {
    let of_ops = rows.iter().filter(|row| row.group != OpGroup::Idle);
    let all: Picos = of_ops.map(|row| row.self_time_ps).sum();
    all - files.iter().map(|file| file.self_time_ps).sum()
}

/// The file on this machine: where a prefix leads, or as recorded, or below the folder of the trace.
pub fn locate(file: &str, prefixes: &[SourcePrefix], folder: &Path) -> Option<PathBuf> {
    let mapped = prefixes.iter().filter_map(|prefix| {
        let rest = file.strip_prefix(&prefix.old)?;
        Some(prefix.new.join(rest.trim_start_matches(['/', '\\'])))
    });
    let as_recorded = [
        PathBuf::from(file),
        folder.join(file.trim_start_matches('/')),
    ];
    mapped.chain(as_recorded).find(|path| path.is_file())
}

/// What to replace in recorded paths so that `file` is found in a folder: as much of its recorded path as possible is kept
/// below it.
pub fn prefix_to(file: &str, folder: &Path) -> Option<SourcePrefix> {
    let after_slashes = file.match_indices(['/', '\\']).map(|(begin, _)| begin + 1);
    let mut begins = std::iter::once(0).chain(after_slashes);
    let begin = begins.find(|&begin| {
        let rest = file.get(begin..).unwrap_or_default();
        !rest.is_empty() && !rest.starts_with(['/', '\\']) && folder.join(rest).is_file()
    })?;
    Some(SourcePrefix {
        old: file.get(..begin)?.to_owned(),
        new: folder.to_owned(),
    })
}

/// A file that was found.
#[derive(Debug)]
pub struct SourceText {
    pub path: PathBuf,
    pub lines: Vec<String>,
}

/// Reads a file. The error is a sentence.
pub fn read(path: PathBuf) -> Result<SourceText, String> {
    let failed = |error: std::io::Error| format!("cannot be read: {error}: {}", path.display());
    // The trace names the path: it could be a device without an end.
    let file = open_regular(&path).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    if bytes > LARGEST {
        return Err(format!(
            "is too large to show ({} MB): {}",
            bytes / 1_000_000,
            path.display()
        ));
    }
    let mut text = Vec::new();
    file.take(LARGEST).read_to_end(&mut text).map_err(failed)?;
    let lines = String::from_utf8_lossy(&text)
        .lines()
        .map(|line| line.replace('\t', "    "))
        .collect();
    Ok(SourceText { path, lines })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use analysis::Options;
    use analysis::reports::Ops;
    use sample_traces::text_trace;
    use session::Session;

    #[test]
    fn places_are_read_with_and_without_columns() {
        let place = |text: &str| {
            SourcePlace::parse(text).map(|place| (place.file.clone(), place.line, place.short()))
        };
        let expected =
            |file: &str, line, short: &str| Some((file.to_owned(), line, short.to_owned()));
        assert_eq!(
            place("a/train.py:37"),
            expected("a/train.py", 37, "train.py:37")
        );
        assert_eq!(
            place("a/train.py:37:8"),
            expected("a/train.py", 37, "train.py:37")
        );
        assert_eq!(place("train.py"), expected("train.py", 0, "train.py"));
        assert_eq!(
            place(r"C:\x\train.py:5"),
            expected(r"C:\x\train.py", 5, "train.py:5")
        );
        assert_eq!(place(" "), None);
    }

    #[test]
    fn a_file_is_found_in_the_folder_that_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("src/train.py"), "import jax").unwrap();
        let recorded = "/home/runner/job/src/train.py";
        let old = |folder: &Path| prefix_to(recorded, folder).map(|prefix| prefix.old);
        assert_eq!(old(folder.path()).as_deref(), Some("/home/runner/job/"));
        let inner = folder.path().join("src");
        assert_eq!(old(&inner).as_deref(), Some("/home/runner/job/src/"));
        assert_eq!(old(Path::new("/no such folder")), None);
        // Other files of the same job are found, too.
        fs::write(folder.path().join("data.py"), "").unwrap();
        let prefix = prefix_to(recorded, folder.path()).unwrap();
        let found = locate("/home/runner/job/data.py", &[prefix], Path::new(""));
        assert_eq!(found, Some(folder.path().join("data.py")));
        let bare = prefix_to("train.py", &inner).unwrap();
        assert!(locate("train.py", &[bare], Path::new("/no such folder")).is_some());
    }

    #[test]
    fn frames_of_libraries_are_passed_over() {
        let frame = |text: &str| SourcePlace::parse(text).unwrap();
        let library = frame("/usr/lib/python3/site-packages/flax/linen/module.py:1008");
        let own = frame("/home/me/train.py:37");
        let windows = frame(r"C:\py\Lib\site-packages\jax\api.py:5");
        let stack = [library.clone(), windows, own.clone(), frame("main.py:1")];
        assert_eq!(own_frame(&stack), Some(&own));
        assert_eq!(own_frame(&stack[..1]), Some(&library));
        assert_eq!(own_frame(&[]), None);
        assert!(!is_library("/home/me/site-packages-tools/train.py"));
    }

    #[test]
    fn path_prefix_maps_to_a_moved_file() {
        let here = tempfile::tempdir().unwrap();
        let file = here.path().join("job").join("train.py");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "import jax\n\tx = 1\n").unwrap();
        let prefix: SourcePrefix = format!("/home/runner={}", here.path().display())
            .parse()
            .unwrap();
        let none = Path::new("/no such folder");
        assert_eq!(
            locate(
                "/home/runner/job/train.py",
                std::slice::from_ref(&prefix),
                none
            ),
            Some(file.clone())
        );
        assert_eq!(locate("/home/runner/job/other.py", &[prefix], none), None);
        assert_eq!(
            locate("job/train.py", &[], here.path()),
            Some(file.clone()),
            "beside the trace"
        );
        assert_eq!(read(file).unwrap().lines, ["import jax", "    x = 1"]);
        assert!("no equals sign".parse::<SourcePrefix>().is_err());
    }

    #[test]
    fn lines_have_the_self_time_of_their_ops() {
        let trace = text_trace(
            "
            @column 1us
            ops: aabbbc
            a = dot.1 [dot] source=model.py:7
            b = add.1 [add] source=model.py:9
            c = add.2 [add] source=other.py:1
            ",
        );
        let session = Session::from_model(trace, Options::default());
        let report = session.report::<Ops>(Scope::WholeTrace).unwrap();
        let files = files(&report.rows);
        assert_eq!(
            files
                .iter()
                .map(|file| file.file.as_str())
                .collect::<Vec<_>>(),
            ["model.py", "other.py"]
        );
        assert_eq!(
            (files[0].self_time_ps.ps(), files[0].hottest()),
            (5_000_000, 9)
        );
        let op = files[0].lines[&7].ops.first().copied().unwrap();
        assert_eq!(
            stack_of(&session, op),
            [SourcePlace::parse("model.py:7").unwrap()]
        );
    }
}
