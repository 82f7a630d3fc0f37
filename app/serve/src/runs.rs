//! The runs of the served places. A client names a run by an id that is found in this list, never by a path.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use importers::{ImportError, ImportOptions, ListedRun, Progress, file_name};
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::error::ApiError;

use request::places::Roots;
use request::{AskedTrace, AssumedValues, Assumptions, RequestError, Result, TraceRequest};
use session::fingerprint::hex;
use trace_model::locked;

/// How long a list is good: of this machine, and of buckets, where listing takes time and money.
const LOCAL_AGE: Duration = Duration::from_secs(2);
const REMOTE_AGE: Duration = Duration::from_secs(30);
/// A list that took long is good for so many times as long.
const PAUSE: u32 = 10;

/// A run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct RunEntry {
    /// Its id in addresses: the same as long as the server is started with the same places.
    pub id: String,
    /// Its name, which `--run` takes.
    pub name: String,
    /// The place that it was found in.
    pub place: String,
    /// Names of its hosts; empty if its files do not name them.
    pub hosts: Vec<String>,
    /// Size of the files that are read; null if it is not known.
    pub bytes: Option<u64>,
    /// When a file was last written, in seconds since 1970; null if it is not known.
    pub modified_s: Option<u64>,
    /// Other folders of the same capture, which are read with it.
    pub joined_runs: Vec<String>,
    /// Files without content.
    pub empty_files: Vec<String>,
    /// Whether it is in a bucket.
    pub is_remote: bool,
}

/// A place that cannot be read.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct PlaceError {
    /// The place.
    pub place: String,
    /// Why.
    pub message: String,
}

/// A file of a run.
#[derive(Serialize, JsonSchema)]
pub(super) struct FileEntry {
    /// Its number in addresses.
    pub n: usize,
    /// Its name, without directories.
    pub name: String,
    /// The host that wrote it, if its name says so.
    pub host: Option<String>,
    /// Size in bytes; null if it is not known.
    pub bytes: Option<u64>,
    /// Whether it is the one that is read of its host; others have the same events in other formats.
    pub is_read: bool,
}

#[derive(Clone, Debug)]
pub(super) struct ServedRun {
    pub entry: RunEntry,
    path: PathBuf,
    /// Name of the run in a log directory.
    run: Option<String>,
    listed: Option<(Option<u64>, Option<SystemTime>)>,
}

/// All runs, in the order of the places, the newest of each first.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub runs: Vec<ServedRun>,
    pub errors: Vec<PlaceError>,
}

/// A list of all runs, and how long it took.
struct LastListing {
    at: Instant,
    took: Duration,
    listing: Arc<Listing>,
}

/// The places, and their runs as they were a moment ago.
pub(super) struct RunList {
    places: Vec<PathBuf>,
    pub roots: Arc<Roots>,
    last: Mutex<Option<LastListing>>,
    /// Held while somebody looks for new runs.
    looking: Mutex<()>,
}

impl RunList {
    /// The runs of these places.
    pub fn new(places: Vec<PathBuf>) -> Result<Self> {
        let roots = Roots::of_any(&places, "systole serve DIR")?;
        Ok(Self {
            places,
            roots: Arc::new(roots),
            last: Mutex::default(),
            looking: Mutex::default(),
        })
    }

    /// The last list, if it is so new, or any.
    fn last(&self, is_good: impl FnOnce(&LastListing) -> bool) -> Option<Arc<Listing>> {
        let last = locked(&self.last);
        last.as_ref()
            .filter(|last| is_good(last))
            .map(|last| Arc::clone(&last.listing))
    }

    /// The runs. Looks for new ones unless it has done so a moment ago; meanwhile the others get the last list.
    pub fn list(&self, progress: &Progress) -> Arc<Listing> {
        let is_remote = self.places.iter().any(|place| importers::is_remote(place));
        let age = if is_remote { REMOTE_AGE } else { LOCAL_AGE };
        let is_new = |last: &LastListing| last.at.elapsed() < age.max(last.took * PAUSE);
        let looking = self.looking.try_lock();
        let is_seen = looking.is_err();
        if let Some(listing) = self.last(|last| is_seen || is_new(last)) {
            return listing;
        }
        let _looking = looking
            .or_else(|_seen| self.looking.lock())
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(listing) = self.last(is_new) {
            return listing;
        }
        let started = Instant::now();
        let mut listing = Listing::default();
        for (number, place) in self.places.iter().enumerate() {
            match runs_of(number, place, progress) {
                Ok(runs) => listing.runs.extend(runs),
                Err(error) => {
                    listing.errors.push(PlaceError {
                        place: shown(place),
                        message: error.to_string(),
                    });
                }
            }
        }
        let listing = Arc::new(listing);
        let (read_at, took) = (Instant::now(), started.elapsed());
        *locked(&self.last) = Some(LastListing {
            at: read_at,
            took,
            listing: Arc::clone(&listing),
        });
        listing
    }

    pub fn run(&self, id: &str, progress: &Progress) -> Result<ServedRun, ApiError> {
        let find = |listing: &Listing| listing.runs.iter().find(|run| run.entry.id == id).cloned();
        find(&self.list(progress)).ok_or_else(|| {
            ApiError::missing("there is no run with this id; /api/v1/runs lists them")
        })
    }

    /// The files of a run, each with its path; an error if one of them is a link that leads outside.
    pub fn files(
        &self,
        run: &ServedRun,
        progress: &Progress,
    ) -> Result<Vec<(FileEntry, PathBuf)>, ApiError> {
        let options = ImportOptions {
            run: run.run.clone(),
            ..ImportOptions::default()
        };
        let located = importers::locate(&run.path, &options, progress);
        let located = located.map_err(|error| RequestError::import(error, &run.path))?;
        let mut files = Vec::new();
        for host in located.hosts {
            for (rank, path) in host.files.into_iter().enumerate() {
                if !self.roots.contain(&path) {
                    let name = file_name(&path);
                    return Err(ApiError::forbidden(format!(
                        "a file of the run is a link that leads outside: {name}"
                    )));
                }
                let about = std::fs::metadata(&path).ok();
                let entry = FileEntry {
                    n: files.len(),
                    name: file_name(&path),
                    host: host.host.clone(),
                    bytes: about.map(|about| about.len()),
                    is_read: rank == 0,
                };
                files.push((entry, path));
            }
        }
        Ok(files)
    }
}

impl ServedRun {
    /// How to open it.
    pub fn asked(&self, values: AssumedValues) -> AskedTrace {
        let assume = Assumptions {
            values,
            ..Assumptions::default()
        };
        AskedTrace {
            trace: TraceRequest {
                path: self.path.clone(),
                run: self.run.clone(),
                assume,
            },
            programs_only: false,
            listed: self.listed,
        }
    }
}

fn runs_of(
    number: usize,
    place: &Path,
    progress: &Progress,
) -> Result<Vec<ServedRun>, ImportError> {
    let is_remote = importers::is_remote(place);
    let served = |(path, run, listed): (PathBuf, Option<String>, ListedRun)| {
        let modified = listed.modified;
        ServedRun {
            entry: RunEntry {
                id: id_of(number, &listed.name),
                name: listed.name,
                place: shown(place),
                hosts: listed.hosts,
                bytes: listed.bytes,
                modified_s: modified
                    .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
                    .map(|since| since.as_secs()),
                joined_runs: listed.joined,
                empty_files: listed.empty_files,
                is_remote,
            },
            path,
            run,
            listed: is_remote.then_some((listed.bytes, modified)),
        }
    };
    match importers::list_log_directory(place, progress) {
        Ok((runs, mut beside)) => {
            let named = |run: ListedRun| (place.to_owned(), Some(run.name.clone()), run);
            let mut runs: Vec<_> = runs.into_iter().map(named).collect();
            // Profiles beside the runs; those of a bucket cost another question.
            beside.retain(|_| !is_remote);
            // One that has gone meanwhile hides no other run.
            runs.extend(beside.into_iter().filter_map(|path| {
                let listed = listed_file(&path, progress).ok()?;
                Some((path, None, listed))
            }));
            Ok(runs.into_iter().map(served).collect())
        }
        Err(ImportError::NothingFound { what }) => match listed_file(place, progress) {
            Ok(listed) => Ok(vec![served((place.to_owned(), None, listed))]),
            // Still empty: runs may come.
            Err(ImportError::NothingFound { .. }) if place.is_dir() => {
                Err(ImportError::NothingFound { what })
            }
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    }
}

/// A file, a run copied elsewhere, or the output of a simulator.
fn listed_file(place: &Path, progress: &Progress) -> Result<ListedRun, ImportError> {
    let located = importers::locate(place, &ImportOptions::default(), progress)?;
    let hosts = located
        .hosts
        .iter()
        .filter_map(|host| host.host.clone())
        .collect();
    let files: Vec<PathBuf> = located
        .hosts
        .into_iter()
        .filter_map(|host| host.files.into_iter().next())
        .collect();
    let about: Vec<_> = files
        .iter()
        .map(|path| std::fs::metadata(path).ok())
        .collect();
    let bytes = about
        .iter()
        .map(|about| about.as_ref().map(std::fs::Metadata::len))
        .sum();
    let modified = about
        .iter()
        .flatten()
        .filter_map(|about| about.modified().ok())
        .max();
    let name = file_name(&importers::shown_path(
        &place
            .canonicalize()
            .unwrap_or_else(|_remote| place.to_owned()),
    ));
    Ok(ListedRun {
        name,
        joined: Vec::new(),
        hosts,
        bytes,
        empty_files: Vec::new(),
        modified,
        files: Vec::new(),
    })
}

/// A stable id: the same for the same place and name.
fn id_of(number: usize, name: &str) -> String {
    /// Bytes of the hash: a chance of 1 in 10^10 that two of 10,000 runs share one.
    const BYTES: usize = 8;
    hex(&Sha256::digest(format!("{number}\0{name}"))[..BYTES])
}

fn shown(place: &Path) -> String {
    importers::shown_path(place).display().to_string()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn listed(place: &Path) -> (RunList, Arc<Listing>) {
        let list = RunList::new(vec![place.to_owned()]).unwrap();
        let listing = list.list(&Progress::new());
        (list, listing)
    }

    #[test]
    fn ids_are_stable_and_different() {
        assert_eq!(id_of(0, "a"), id_of(0, "a"));
        let ids = [id_of(0, "a"), id_of(0, "b"), id_of(1, "a"), id_of(10, "a")];
        assert!(
            ids.iter()
                .enumerate()
                .all(|(at, id)| id.len() == 16 && !ids[..at].contains(id)),
            "{ids:?}"
        );
    }

    #[test]
    fn runs_files_and_empty_places_are_listed() {
        let dir = tempfile::tempdir().unwrap();
        let (_, empty) = listed(dir.path());
        assert!(
            empty.runs.is_empty() && empty.errors.len() == 1,
            "{empty:?}"
        );
        let run = dir.path().join("plugins/profile/one");
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("h.xplane.pb"), "abc").unwrap();
        fs::write(run.join("h.trace.json.gz"), "abcd").unwrap();
        let (list, found) = listed(dir.path());
        let [one] = &found.runs[..] else {
            panic!("{found:?}")
        };
        assert_eq!((&one.entry.name[..], one.entry.bytes), ("one", Some(3)));
        let files = list.files(one, &Progress::new()).unwrap();
        let files: Vec<_> = files
            .iter()
            .map(|(file, _)| (file.n, &file.name[..], file.is_read))
            .collect();
        assert_eq!(
            files,
            [(0, "h.xplane.pb", true), (1, "h.trace.json.gz", false)]
        );
        fs::write(dir.path().join("beside.xplane.pb"), "ab").unwrap();
        let (list, found) = listed(dir.path());
        let beside = list.run(&found.runs[1].entry.id, &Progress::new()).unwrap();
        assert_eq!(
            (&beside.entry.name[..], beside.entry.bytes),
            ("beside.xplane.pb", Some(2))
        );
        assert_eq!(list.files(&beside, &Progress::new()).unwrap().len(), 1);
        let (_, file) = listed(&run.join("h.xplane.pb"));
        assert_eq!(
            (file.runs.len(), &file.runs[0].entry.name[..]),
            (1, "h.xplane.pb")
        );
        assert!(list.run("no-such", &Progress::new()).is_err());
        assert!(list.run(&one.entry.id, &Progress::new()).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_outside_is_refused() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret"), "secret").unwrap();
        let run = dir.path().join("plugins/profile/one");
        fs::create_dir_all(&run).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), run.join("h.xplane.pb")).unwrap();
        let (list, found) = listed(dir.path());
        assert!(list.files(&found.runs[0], &Progress::new()).is_err());
    }
}
