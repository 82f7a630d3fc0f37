//! The code that ran: the commit of a checkout, and the file that pins its dependencies.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use analysis::engine::environment::{GitState, LockFile};

use crate::files::open_regular;
use crate::fingerprint::sha256_of;

/// Files that pin dependencies, the most exact first.
const LOCK_FILES: [&str; 8] = [
    "uv.lock",
    "pylock.toml",
    "poetry.lock",
    "pdm.lock",
    "Pipfile.lock",
    "conda-lock.yml",
    "requirements.lock",
    "requirements.txt",
];

/// The commit of the checkout that a directory is in; `None` if it is in none, or there is no git.
pub(super) fn state(directory: &Path) -> Option<GitState> {
    let commit = git(directory, &["rev-parse", "--verify", "HEAD"])?;
    let changed = git(
        directory,
        &["status", "--porcelain", "--untracked-files=no"],
    );
    Some(GitState {
        is_dirty: changed.map(|changed| !changed.is_empty()),
        subject: git(directory, &["log", "-1", "--format=%s"]).filter(|text| !text.is_empty()),
        commit,
    })
}

/// The file that pins dependencies: of the directory, else of the root of its checkout.
pub(super) fn lock_file(directory: &Path) -> Option<LockFile> {
    let root = git(directory, &["rev-parse", "--show-toplevel"]).map(PathBuf::from);
    let directories = std::iter::once(directory).chain(root.as_deref());
    let mut paths = directories.flat_map(|directory| LOCK_FILES.map(|name| directory.join(name)));
    paths.find_map(|path| {
        let file = open_regular(&path).ok()?;
        Some(LockFile {
            name: path.file_name()?.to_string_lossy().into_owned(),
            sha256: sha256_of(file, None).ok()??,
        })
    })
}

/// What git answers, without its line break; `None` if it fails.
fn git(directory: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(words)
        // A look must change nothing, and ask for nothing.
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned();
    output.status.success().then_some(text)
}
