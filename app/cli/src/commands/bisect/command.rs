//! Runs the user's command at a point, and finds the profile that it wrote.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::common::process::ended_within;
use crate::prelude::*;

/// Where the command writes its profile, and which version it is to measure.
pub const PROFILE_DIR: &str = "SYSTOLE_PROFILE_DIR";
pub const VERSION: &str = "SYSTOLE_VERSION";
/// Stands for the version in the words of the command.
const PLACE: &str = "{}";
/// How much of what the command printed is looked at.
const TAIL: u64 = 16 << 10;
/// Lines of it that are shown when it fails.
const SHOWN_LINES: usize = 3;

/// The command of a search.
pub struct MeasuredCommand<'a> {
    pub words: &'a [String],
    /// How long one run may take.
    pub timeout: Duration,
}

impl MeasuredCommand<'_> {
    /// Runs it once; returns where its profile is, or why there is none.
    pub fn run(&self, version: &str, directory: &Path, profiles: &Path) -> Result<PathBuf, String> {
        let cannot = |error: std::io::Error| format!("the command cannot be started: {error}");
        std::fs::create_dir_all(profiles).map_err(cannot)?;
        let (mut out, mut err) = (
            tempfile::tempfile().map_err(cannot)?,
            tempfile::tempfile().map_err(cannot)?,
        );
        let (program, words) = self.words.split_first().ok_or("there is no command")?;
        let placed = |word: &String| word.replace(PLACE, version);
        let child = Command::new(placed(program))
            .args(words.iter().map(placed))
            .current_dir(directory)
            .env(PROFILE_DIR, profiles)
            .env(VERSION, version)
            .stdin(Stdio::null())
            .stdout(out.try_clone().map_err(cannot)?)
            .stderr(err.try_clone().map_err(cannot)?)
            .spawn();
        let mut child = child.map_err(|error| format!("{program} cannot be started: {error}"))?;
        let status = self.wait(&mut child)?;
        let printed = tail(&mut out);
        if !status.success() {
            let said = [tail(&mut err), printed]
                .into_iter()
                .find(|text| !text.trim().is_empty());
            let said = said.map_or_else(String::new, |text| format!(": {}", last_lines(&text)));
            return Err(format!("the command failed ({status}){said}"));
        }
        profile_in(profiles, directory, &printed)
    }

    fn wait(&self, child: &mut Child) -> Result<ExitStatus, String> {
        let ended = ended_within(child, self.timeout)
            .map_err(|error| format!("the command cannot be waited for: {error}"))?;
        ended.ok_or_else(|| {
            // It may have ended meanwhile.
            let _ = child.kill();
            let _ = child.wait();
            let seconds = self.timeout.as_secs();
            format!("the command ran longer than {seconds} s; --timeout allows more")
        })
    }
}

/// The directory that the command was given, if it wrote there, else the one whose path it printed last.
fn profile_in(profiles: &Path, directory: &Path, printed: &str) -> Result<PathBuf, String> {
    let mut there = std::fs::read_dir(profiles).into_iter().flatten();
    if there.next().is_some() {
        return Ok(profiles.to_owned());
    }
    let mut lines = printed.lines().rev().map(str::trim);
    let path = lines
        .find(|line| !line.is_empty())
        .map(|line| directory.join(line));
    path.filter(|path| path.exists()).ok_or_else(|| {
        format!(
            "the command wrote no profile: it must write into the directory ${PROFILE_DIR}, or print the path of its run \
             as its last line"
        )
    })
}

/// The end of a file, as text.
fn tail(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let length = file.metadata().map_or(0, |about| about.len());
    let start = SeekFrom::Start(length.saturating_sub(TAIL));
    match file
        .seek(start)
        .and_then(|_| file.take(TAIL).read_to_end(&mut bytes))
    {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let first = lines.len().saturating_sub(SHOWN_LINES);
    lines.get(first..).unwrap_or_default().join(" / ")
}
