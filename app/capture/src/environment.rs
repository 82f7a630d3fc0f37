//! What the recorded program was built from, where it ran on this machine. What another machine runs is not known here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use session::environment::{ObservedProcess, write};

use super::contents::ProfileContents;

/// Writes what is known beside the profiles of a run, of which one has these contents. The profile is what was asked for:
/// without this file it is worth as much.
pub(super) fn record(run: &Path, contents: &ProfileContents) -> Option<PathBuf> {
    let (process, by) = match recorded_process(contents) {
        Some(process) => (process, "systole capture, of the recorded process"),
        None => (ObservedProcess::this(), "systole capture, of itself"),
    };
    let environment = process.environment(by, &BTreeMap::new(), &[]);
    write(&environment, run).ok()
}

/// The process that was recorded, if it runs on this machine and may be looked at.
fn recorded_process(contents: &ProfileContents) -> Option<ObservedProcess> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    if contents.hostname.as_deref() != Some(name.trim()) {
        return None;
    }
    ObservedProcess::other(contents.process?)
}
