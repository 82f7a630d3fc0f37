//! The points of a search: the commits of a git repository, in a checkout of their own, or the lines of a list.

use std::ffi::OsStr;
use std::fmt;
use std::process::{Command, Stdio};

use crate::prelude::*;
use analysis::engine::environment::GitState;
use serde::Serialize;
use session::files::read_small;
use tempfile::TempDir;

/// Largest list.
const MAX_LIST: u64 = 4 << 20;
/// Commits at most.
const MOST_POINTS: usize = 100_000;

/// A commit or a line of a list.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BisectPoint {
    /// The hash of the commit, or the line.
    pub id: String,
    /// First line of the commit's message.
    pub subject: Option<String>,
    /// When its author made it.
    #[serde(rename = "author_date")]
    pub date: Option<String>,
    /// Whether it joins branches.
    pub is_merge: bool,
}

impl fmt::Display for BisectPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subject {
            Some(subject) => write!(f, "{} ({subject})", self.short()),
            None => write!(f, "{}", self.id),
        }
    }
}

impl BisectPoint {
    /// The hash of a commit in few digits, or the line.
    pub fn short(&self) -> &str {
        match &self.subject {
            Some(_) => self.id.get(..12).unwrap_or(&self.id),
            None => &self.id,
        }
    }

    /// The state of the checkout at this commit.
    pub fn git_state(&self) -> Option<GitState> {
        let subject = self.subject.clone()?;
        Some(GitState {
            commit: self.id.clone(),
            is_dirty: Some(false),
            subject: Some(subject),
        })
    }
}

/// Lines of a list from the good one to the bad one.
pub fn of_list(path: &Path, good: &str, bad: &str) -> Result<Vec<BisectPoint>> {
    let cure = "write one version a line";
    let text = read_small(path, MAX_LIST).map_err(RequestError::unread(
        "the list of versions",
        cure,
        path,
    ))?;
    let mut lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let place = |wanted: &str, flag: &'static str| {
        let place_of = |fits: &dyn Fn(&str) -> bool| lines.iter().position(|line| fits(line));
        let exact = place_of(&|line| line == wanted);
        let ending = || place_of(&|line| line.rsplit("==").next() == Some(wanted));
        exact.or_else(ending).ok_or_else(|| {
            RequestError::argument(
                flag,
                format!(
                    "{wanted:?} is no line of the list; write one of its lines: {}",
                    path.display()
                ),
            )
        })
    };
    let (good, bad) = (place(good, "good")?, place(bad, "bad")?);
    let mut chosen = lines
        .drain(good.min(bad)..=good.max(bad))
        .collect::<Vec<_>>();
    if good > bad {
        chosen.reverse();
    }
    let point = |line: &str| BisectPoint {
        id: line.to_owned(),
        ..BisectPoint::default()
    };
    Ok(chosen.into_iter().map(point).collect())
}

/// The repository of the current directory.
pub struct Repository {
    root: PathBuf,
    /// The current directory within it.
    below: PathBuf,
}

impl Repository {
    pub fn here() -> Result<Self> {
        let ask = |what| git(Path::new("."), ["rev-parse", what]);
        let root = ask("--show-toplevel").map_err(|why| {
            RequestError::Usage(format!(
                "bisect searches the commits of the git repository in the current directory: {why}; \
                 change to it, or name a list of versions with --over FILE"
            ))
        })?;
        let below = ask("--show-prefix").unwrap_or_default();
        Ok(Self {
            root: PathBuf::from(root),
            below: PathBuf::from(below),
        })
    }

    /// The commits from the good one to the bad one, along first parents.
    pub fn points(&self, good: &str, bad: &str) -> Result<Vec<BisectPoint>> {
        let commit = |name: &str, flag: &'static str| {
            let wanted = format!("{name}^{{commit}}");
            let words = ["rev-parse", "--verify", "--end-of-options", &wanted];
            git(&self.root, words).map_err(|why| {
                RequestError::argument(flag, format!("{name:?} is no commit here: {why}"))
            })
        };
        let (first, last) = (commit(good, "good")?, commit(bad, "bad")?);
        if git(&self.root, ["merge-base", "--is-ancestor", &first, &last]).is_err() {
            return Err(RequestError::Usage(format!(
                "{good} is no ancestor of {bad}: name as --good a commit that {bad} was made from; to look for what made \
                 a program faster, name the slow commit as --good and the fast one as --bad"
            )));
        }
        let wrong =
            |why: String| RequestError::Usage(format!("git cannot list the commits: {why}"));
        let range = format!("{first}..{last}");
        let format = "--format=%H%x00%aI%x00%P%x00%s";
        let later = git(
            &self.root,
            ["log", "--first-parent", "--reverse", format, &range],
        )
        .map_err(wrong)?;
        let first_line = git(&self.root, ["log", "-1", format, &first]).map_err(wrong)?;
        let points: Vec<BisectPoint> = first_line
            .lines()
            .chain(later.lines())
            .filter_map(point)
            .collect();
        if points.len() > MOST_POINTS {
            return Err(wrong(format!("there are more than {MOST_POINTS}")));
        }
        Ok(points)
    }

    /// A checkout of its own, so that the user's files stay as they are.
    pub fn checkout(&self, folder: &TempDir) -> Result<Checkout<'_>> {
        let path = folder.path().join("checkout");
        let words = ["worktree", "add", "--detach"].map(OsStr::new);
        let words = words.into_iter().chain([path.as_os_str()]);
        git(&self.root, words).map_err(|why| {
            RequestError::Usage(format!(
                "git cannot make another checkout (git worktree add): {why}"
            ))
        })?;
        Ok(Checkout {
            repository: self,
            path,
        })
    }
}

/// A line of `git log`.
fn point(line: &str) -> Option<BisectPoint> {
    let mut fields = line.split('\0');
    let mut field = || fields.next().map(str::to_owned);
    let (id, date, parents, subject) = (field()?, field()?, field()?, field()?);
    Some(BisectPoint {
        id,
        subject: Some(subject),
        date: Some(date),
        is_merge: parents.contains(' '),
    })
}

/// A second checkout of a repository, which is removed at the end.
pub struct Checkout<'a> {
    repository: &'a Repository,
    path: PathBuf,
}

impl Checkout<'_> {
    /// Checks a commit out; returns the directory in which the command runs. What the command built and git ignores stays.
    pub fn at(&self, point: &BisectPoint) -> Result<PathBuf, String> {
        let checkout = ["checkout", "--detach", "--force", "--quiet", &point.id];
        git(&self.path, checkout)?;
        git(&self.path, ["clean", "-fdq"])?;
        if self.path.join(".gitmodules").exists() {
            let update = "submodule update --init --recursive --force --quiet";
            git(&self.path, update.split(' '))?;
        }
        let directory = self.path.join(&self.repository.below);
        Ok(if directory.is_dir() {
            directory
        } else {
            self.path.clone()
        })
    }
}

impl Drop for Checkout<'_> {
    fn drop(&mut self) {
        let words = ["worktree", "remove", "--force"].map(OsStr::new);
        let words = words.into_iter().chain([self.path.as_os_str()]);
        // What cannot be removed is a temporary folder, which git forgets with `git worktree prune`.
        let _ = git(&self.repository.root, words);
    }
}

/// What git answers, or the last line of what it says is wrong.
fn git<S: AsRef<OsStr>>(
    directory: &Path,
    words: impl IntoIterator<Item = S>,
) -> Result<String, String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(words)
        // Those of a hook would lead to its repository.
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("git cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout)
            .trim_end_matches('\n')
            .to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().rev().find(|line| !line.trim().is_empty());
    Err(line.map_or_else(
        || format!("git ended with {}", output.status),
        str::to_owned,
    ))
}
