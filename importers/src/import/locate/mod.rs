//! Finds the files to import for a path from the user.
//!
//! Profilers write one directory per session, `<logdir>/plugins/profile/<run>/`, with one file per host and format. A
//! user may name the file, the run, the log directory (or anything around it), or a pattern. File names are only used
//! here, to choose among the files of a directory; the format of a file is detected from its content.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use compiler_formats::llo;
use importer_common::{DetectionConfidence, ImportOptions};
use input::source::file_name;
use input::storage::{EntryKind, FileTree};
use input::{ImportError, Progress, Result, glob};

use super::run_search::{MAX_DEPTH, files_of, runs_in, sort_newest_first};
use crate::access::tree_of;
use crate::import::captures::{self, CaptureFolder, CaptureRun};
use crate::import::file_names::{endings, host_and_rank};
use crate::registry::IMPORTERS;

/// The files of one session.
#[derive(Debug, Default)]
pub struct LocatedRun {
    /// One entry per host, in the order of their names.
    pub hosts: Vec<HostFiles>,
    /// Name of the run, if the path led to a log directory.
    pub run: Option<String>,
    /// Runs of other hosts of the same capture that were joined, because each host names its folder after its own
    /// clock.
    pub joined_runs: Vec<String>,
    /// Runs of other hosts from about the same time, which may belong to the capture.
    pub nearby_runs: Vec<String>,
    /// Other captures of the log directory, newest first.
    pub other_runs: Vec<String>,
    /// Profiles beside the runs, one of each host, which are not read.
    pub beside_runs: Vec<PathBuf>,
}

/// The events of one host, in one or several formats.
#[derive(Debug, Default)]
pub struct HostFiles {
    /// Name of the host by the convention of run directories; `None` for a file
    /// that was named directly.
    pub host: Option<String>,
    /// Formats, richest first. One is imported; the next one only if it cannot be read.
    pub files: Vec<PathBuf>,
}

impl LocatedRun {
    /// A run without a log directory.
    pub(super) fn of(hosts: Vec<HostFiles>) -> Self {
        Self {
            hosts,
            ..Self::default()
        }
    }
}

impl HostFiles {
    /// A file that was named directly.
    pub(super) fn named(file: PathBuf) -> Self {
        Self {
            host: None,
            files: vec![file],
        }
    }
}

/// Finds the files that `path` names.
///
/// # Errors
///
/// The path contains nothing that an importer can read, several runs and none is selected, or a bucket does not answer.
pub fn locate(path: &Path, options: &ImportOptions, progress: &Progress) -> Result<LocatedRun> {
    let tree = tree_of(path, progress)?;
    let tree = tree.as_ref();
    // A file may be called `a*b`: an existing path is not a pattern.
    let kind = match tree.kind(path) {
        Ok(kind) => kind,
        Err(_) if glob::is_pattern(path) => return locate_pattern(tree, path, options, progress),
        Err(error) => return Err(error.into()),
    };
    if kind == EntryKind::Directory {
        tree.entries(path)?; // Distinguishes missing permission from a missing file.
        return locate_in(tree, &[path.to_owned()], options, progress);
    }
    if let Some(run) = &options.run {
        return nothing(format!(
            "run {run:?} was asked for, but this is one file, not a log directory"
        ));
    }
    Ok(LocatedRun::of(vec![HostFiles::named(path.to_owned())]))
}

fn locate_pattern(
    tree: &dyn FileTree,
    pattern: &Path,
    options: &ImportOptions,
    progress: &Progress,
) -> Result<LocatedRun> {
    let paths = glob::expand(tree, pattern)?.into_iter();
    let (directories, files): (Vec<_>, Vec<_>) = paths.partition(|path| tree.is_directory(path));
    let hosts = match files.len() {
        0 if directories.is_empty() => {
            return nothing("no file or directory matches the pattern".to_owned());
        }
        0 => return locate_in(tree, &directories, options, progress),
        // The user chose these files by a pattern, so their names do not matter.
        1 => files.into_iter().map(HostFiles::named).collect(),
        _ => hosts_of(files),
    };
    if hosts.is_empty() {
        return nothing(format!("no match of the pattern ends in {}", endings()));
    }
    Ok(LocatedRun::of(hosts))
}

fn locate_in(
    tree: &dyn FileTree,
    directories: &[PathBuf],
    options: &ImportOptions,
    progress: &Progress,
) -> Result<LocatedRun> {
    let mut runs = runs_in(tree, directories, progress)?;
    if runs.is_empty()
        && options.run.is_none()
        && let Some(located) = without_runs(tree, directories)?
    {
        return Ok(located);
    }
    if runs.is_empty() {
        return no_capture(tree, directories);
    }
    sort_newest_first(&mut runs);
    let is_wanted = |run: &CaptureRun| match &options.run {
        None => true,
        Some(wanted) => run.name == *wanted || run.is_called(wanted),
    };
    let Some(named) = runs
        .iter()
        .find(|run| is_wanted(run))
        .map(|run| run.name.clone())
    else {
        let wanted = options.run.as_deref().unwrap_or_default();
        return nothing(format!(
            "no run is called {wanted:?}; there are {}",
            shortened(runs.into_iter().map(|run| run.name).collect(), SHOWN)
        ));
    };
    let (mut chosen, mut others) = (CaptureFolder::default(), Vec::new());
    for capture in captures::of(runs) {
        if capture.runs.iter().any(|run| run.name == named) {
            chosen = capture;
        } else {
            others.push(capture);
        }
    }
    // A user who names a run has already chosen.
    let (nearby_runs, beside_runs) = if options.run.is_none() {
        let beside = directories
            .iter()
            .flat_map(|directory| profiles_in(tree, directory));
        (chosen.nearby(&others), beside.collect())
    } else {
        Default::default()
    };
    let other_runs = others
        .iter()
        .filter_map(|capture| Some(capture.runs.first()?.name.clone()))
        .collect();
    let joined_runs = chosen
        .runs
        .iter()
        .map(|run| run.name.clone())
        .filter(|name| *name != named)
        .collect();
    let files = chosen.runs.into_iter().flat_map(|run| run.files).collect();
    Ok(LocatedRun {
        hosts: hosts_of(files),
        run: Some(named),
        joined_runs,
        nearby_runs,
        other_runs,
        beside_runs,
    })
}

/// The files of a directory that is no log directory, as of a run copied elsewhere.
fn without_runs(tree: &dyn FileTree, directories: &[PathBuf]) -> Result<Option<LocatedRun>> {
    let host_files = directories
        .iter()
        .map(|directory| hosts_of(files_of(tree, directory)))
        .find(|hosts| !hosts.is_empty());
    let marked = directories
        .iter()
        .find_map(|directory| marker_in(tree, directory));
    let marked = marked.map(|file| vec![HostFiles::named(file)]);
    // A graph is the input of a simulator; its output has more information.
    let hosts = if host_files
        .as_ref()
        .is_some_and(|hosts| !hosts.iter().all(is_graph))
    {
        host_files
    } else {
        marked.or(host_files)
    };
    if let Some(hosts) = hosts {
        return Ok(Some(LocatedRun::of(hosts)));
    }
    if let Some(dump) = directories.iter().find(|directory| llo::is_dump(directory)) {
        return nothing(format!(
            "{} is a dump of the TPU compiler's code: open the program (its HLO text, or a profile of it), and name \
             the dump with --llo",
            dump.display()
        ));
    }
    by_content(tree, directories)
}

/// The error that there is nothing to open, with the names of files that may be meant.
fn no_capture(tree: &dyn FileTree, directories: &[PathBuf]) -> Result<LocatedRun> {
    let what = format!(
        "no capture (plugins/profile/<run>/*.xplane.pb, up to {MAX_DEPTH} levels down), and no file"
    );
    nothing(match &possible_in(tree, directories)[..] {
        [] => format!("{what} of a format that `systole formats` lists"),
        names => format!(
            "{what} with the name of one; name a file to open it: {}",
            shortened(names.to_vec(), SHOWN)
        ),
    })
}

/// The profiles that lie directly in a directory, one of each host.
pub(super) fn profiles_in(tree: &dyn FileTree, directory: &Path) -> Vec<PathBuf> {
    let hosts = hosts_of(files_of(tree, directory)).into_iter();
    hosts
        .filter_map(|host| host.files.into_iter().next())
        .collect()
}

pub(super) fn nothing<T>(what: String) -> Result<T> {
    Err(ImportError::NothingFound { what })
}

fn is_graph(host: &HostFiles) -> bool {
    host.files
        .iter()
        .all(|file| file.extension().is_some_and(|ending| ending == "et"))
}

/// The file to read first in a directory that a simulator wrote.
fn marker_in(tree: &dyn FileTree, directory: &Path) -> Option<PathBuf> {
    let markers = IMPORTERS
        .iter()
        .flat_map(|importer| importer.format().markers);
    let file = |marker: &&str| {
        if !glob::is_pattern(Path::new(marker)) {
            return Some(directory.join(marker)).filter(|path| tree.is_file(path));
        }
        let entries = tree.entries(directory).unwrap_or_default().into_iter();
        let mut matching = entries.filter(|entry| glob::matches(marker, &entry.name));
        // If there are several programs, the user must choose.
        matching
            .next()
            .filter(|_| matching.next().is_none())
            .map(|entry| entry.path)
    };
    markers.into_iter().find_map(file)
}

/// Maximum number of files examined in a directory.
const MAX_LOOKED_INTO: usize = 256;

/// In a directory without profiles: the only file that an importer recognizes with certainty, because simulators name
/// files after models and chips. If there are several, the user must choose.
fn by_content(tree: &dyn FileTree, directories: &[PathBuf]) -> Result<Option<LocatedRun>> {
    let is_named = |path: &PathBuf| {
        IMPORTERS.iter().any(|importer| {
            let endings = importer.format().extensions.iter();
            let name = file_name(path);
            endings
                .filter(|ending| !ending.contains("json"))
                .any(|ending| name.ends_with(&format!(".{ending}")))
        })
    };
    let entries = directories
        .iter()
        .filter_map(|directory| tree.entries(directory).ok())
        .flatten();
    let named = entries.map(|entry| entry.path).filter(is_named);
    let mut paths: Vec<PathBuf> = named.take(MAX_LOOKED_INTO + 1).collect();
    if paths.len() > MAX_LOOKED_INTO {
        // A choice from only a part of the files would be arbitrary.
        return nothing(format!(
            "more than {MAX_LOOKED_INTO} files are there that could be a simulator's; name one"
        ));
    }
    paths.retain(|path| is_sure(tree, path));
    paths.sort();
    // Ignore the tables of the phases of a run if the table of the whole run is there.
    let whole = paths.clone();
    let is_phase = |path: &Path| {
        let name = path.to_string_lossy();
        let run = PHASES.iter().find_map(|phase| name.strip_suffix(phase));
        run.is_some_and(|run| {
            whole
                .iter()
                .any(|path| path.as_os_str() == format!("{run}.csv").as_str())
        })
    };
    paths.retain(|path| !is_phase(path));
    match &paths[..] {
        [] => Ok(None),
        [only] => Ok(Some(LocatedRun::of(vec![HostFiles::named(only.clone())]))),
        _ => {
            let names = paths.iter().map(|path| file_name(path)).collect();
            nothing(format!(
                "{} files of simulators are there; name one of {}",
                paths.len(),
                shortened(names, SHOWN)
            ))
        }
    }
}

/// Names of JSON files that are traces. Which of them is meant, a user must say: programs write such files for many ends.
fn possible_in(tree: &dyn FileTree, directories: &[PathBuf]) -> Vec<String> {
    let entries = directories
        .iter()
        .filter_map(|directory| tree.entries(directory).ok())
        .flatten();
    let json = entries
        .filter(|entry| entry.name.contains(".json"))
        .map(|entry| entry.path);
    let candidates = json
        .take(MAX_LOOKED_INTO)
        .filter(|path| is_sure(tree, path));
    candidates.map(|path| file_name(&path)).collect()
}

/// Whether an importer recognizes a file with certainty.
fn is_sure(tree: &dyn FileTree, path: &Path) -> bool {
    let head = tree.is_file(path).then(|| tree.head(path)).flatten();
    head.is_some_and(|head| {
        IMPORTERS
            .iter()
            .any(|importer| importer.detect(&head) == DetectionConfidence::Certain)
    })
}

/// File names of the phases of a `NeuSim` run.
const PHASES: [&str; 2] = ["_prefill.csv", "_decode.csv"];

/// Maximum number of names in a message.
const SHOWN: usize = 8;

/// The first of these names, and how many more there are.
pub(super) fn shortened(mut names: Vec<String>, shown: usize) -> String {
    if let Some(more @ 1..) = names.len().checked_sub(shown) {
        names.truncate(shown);
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

/// Groups files by host. A file without a host name repeats the events of another file, so it is used only if it is
/// the only one.
pub(super) fn hosts_of(files: Vec<PathBuf>) -> Vec<HostFiles> {
    let mut hosts: BTreeMap<String, Vec<(usize, PathBuf)>> = BTreeMap::new();
    for file in files {
        if let Some((host, rank)) = host_and_rank(&file) {
            hosts.entry(host).or_default().push((rank, file));
        }
    }
    if hosts.len() > 1
        && let Some(nameless) = hosts.remove("")
        && let Some(mut first) = hosts.first_entry()
    {
        first.get_mut().extend(nameless);
    }
    hosts
        .into_iter()
        .map(|(host, mut files)| {
            files.sort();
            let host = (!host.is_empty()).then_some(host);
            HostFiles {
                host,
                files: files.into_iter().map(|(_, file)| file).collect(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
