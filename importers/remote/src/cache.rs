//! Copies of objects for the next time, in the user's cache directory.
//!
//! A copy is named after the address and the entity tag of the object, so a changed object is another copy. It is
//! written under another name and renamed when it is complete; a copy that was broken off is continued within a day.
//! Beside each copy lies a note with the address; the date of the note is that of the last use, and the copies that were
//! not used for the longest time go first when the limit is passed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use input::storage::Address;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::object::ObjectFacts;
use super::part::PartFile;
use super::settings::CloudSettings;

/// The directory, if not that of the user.
const DIRECTORY: &str = "SYSTOLE_CACHE_DIR";
/// The limit, as `20GB` or `500MB`; `0` keeps nothing.
const LIMIT: &str = "SYSTOLE_CACHE_LIMIT";
/// The limit unless another is set.
pub const DEFAULT_LIMIT: u64 = 20_000_000_000;

/// How the name of a file begins that is being written.
const UNFINISHED: &str = "unfinished-";
/// After this time nobody writes it any more.
const ABANDONED: Duration = Duration::from_hours(24);

/// The cache of the user.
#[derive(Debug)]
pub struct Cache {
    directory: PathBuf,
    limit: u64,
}

/// A copy in the cache.
#[derive(Debug)]
pub struct CachedObject {
    /// The address, without signatures.
    pub url: String,
    /// Its size.
    pub bytes: u64,
    /// When it was last used.
    pub used: SystemTime,
    path: PathBuf,
}

/// What lies beside a copy.
#[derive(Deserialize, Serialize)]
struct CacheNote {
    url: String,
    version: String,
}

impl Cache {
    /// The cache of the user; `None` if there is no place for one.
    pub(crate) fn of_user(settings: &CloudSettings) -> Option<Self> {
        let directory = settings
            .get(DIRECTORY)
            .map(PathBuf::from)
            .or_else(|| directory_of_user(settings))?;
        let limit = settings
            .get(LIMIT)
            .map_or(Some(DEFAULT_LIMIT), bytes)
            .unwrap_or(DEFAULT_LIMIT);
        Some(Self { directory, limit })
    }

    /// The cache that the environment of the process names.
    pub fn of_process() -> Option<Self> {
        Self::of_user(&CloudSettings::of_process())
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Its largest size in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The copies, the last used first.
    pub fn objects(&self) -> Vec<CachedObject> {
        let entries = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .filter_map(Result::ok);
        let object = |note: PathBuf| {
            let path = note.with_extension("");
            let (bytes, used) = (
                fs::metadata(&path).ok()?.len(),
                fs::metadata(&note).ok()?.modified().ok()?,
            );
            let text = fs::read(&note).ok()?;
            let CacheNote { url, .. } = serde_json::from_slice(&text).ok()?;
            Some(CachedObject {
                url,
                bytes,
                used,
                path,
            })
        };
        let notes = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|it| it == "json"));
        let mut objects: Vec<CachedObject> = notes.filter_map(object).collect();
        objects.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.url.cmp(&b.url)));
        objects
    }

    /// Removes all copies, and returns how many there were and their size.
    ///
    /// # Errors
    ///
    /// A file cannot be removed.
    pub fn clear(&self) -> io::Result<(usize, u64)> {
        let objects = self.objects();
        for object in &objects {
            object.remove()?;
        }
        self.remove_unfinished(Duration::ZERO);
        Ok((
            objects.len(),
            objects.iter().map(|object| object.bytes).sum(),
        ))
    }

    /// The copy of an object in this version.
    pub(super) fn find(&self, address: &Address, facts: &ObjectFacts) -> Option<PathBuf> {
        let path = self.path_of(address, facts)?;
        let is_whole = fs::metadata(&path)
            .is_ok_and(|there| Some(there.len()) == facts.size || facts.size.is_none());
        let used = || {
            File::options()
                .append(true)
                .open(note_of(&path))?
                .set_modified(SystemTime::now())
        };
        // A date that cannot be set only makes the copy go earlier.
        is_whole.then(|| drop(used())).map(|()| path)
    }

    /// A file for a new copy, perhaps with what an earlier process has copied; `None` if it would not be kept.
    pub(super) fn begin(&self, address: &Address, facts: &ObjectFacts) -> Option<PartFile> {
        let place = self.path_of(address, facts)?;
        if facts.size? >= self.limit {
            return None;
        }
        fs::create_dir_all(&self.directory).ok()?;
        let name = place.file_name()?.to_string_lossy();
        PartFile::open(self.directory.join(format!("{UNFINISHED}{name}"))).ok()
    }

    /// Keeps a complete copy, and returns its place.
    pub(super) fn keep(
        &self,
        part: PartFile,
        address: &Address,
        facts: &ObjectFacts,
    ) -> io::Result<PathBuf> {
        let no_version = || io::Error::other("the object has no version");
        let path = self.path_of(address, facts).ok_or_else(no_version)?;
        let note = CacheNote {
            url: address.shown(),
            version: facts.version.clone().unwrap_or_default(),
        };
        let mut unfinished = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempfile_in(&self.directory)?;
        serde_json::to_writer(unfinished.as_file_mut(), &note)?;
        unfinished
            .persist(note_of(&path))
            .map_err(|error| error.error)?;
        part.finish(&path)?;
        Ok(path)
    }

    /// Removes what was not used for the longest time until the rest is below the limit.
    pub(super) fn shrink(&self) {
        let mut size = 0_u64;
        for object in self.objects() {
            size = size.saturating_add(object.bytes);
            if size > self.limit {
                // Another process may have been faster.
                let _ = object.remove();
            }
        }
        self.remove_unfinished(ABANDONED);
    }

    fn remove_unfinished(&self, older_than: Duration) {
        let entries = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .filter_map(Result::ok);
        for entry in
            entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(UNFINISHED))
        {
            let modified = entry.metadata().and_then(|about| about.modified());
            if modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age >= older_than)) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn path_of(&self, address: &Address, facts: &ObjectFacts) -> Option<PathBuf> {
        let version = facts.version.as_ref()?;
        let hash = Sha256::digest(format!("{}\n{version}\n{:?}", address.shown(), facts.size));
        let name: String = hash
            .iter()
            .take(20)
            .fold(String::new(), |name, byte| format!("{name}{byte:02x}"));
        Some(self.directory.join(name))
    }
}

impl CachedObject {
    fn remove(&self) -> io::Result<()> {
        // Without its note a copy would never be found again.
        for path in [&self.path, &note_of(&self.path)] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

fn note_of(path: &Path) -> PathBuf {
    path.with_extension("json")
}

/// The user's cache directory.
fn directory_of_user(settings: &CloudSettings) -> Option<PathBuf> {
    let absolute = |name: &str| {
        settings
            .get(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let caches = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        settings
            .home()
            .map(|home| home.join("Library").join("Caches"))
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| settings.home().map(|home| home.join(".cache")))
    };
    caches.map(|caches| caches.join("systole").join("objects"))
}

/// A size: `20GB`, `500 MB`, `1e9`.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text
        .find(|c: char| c.is_ascii_alphabetic() && c != 'e')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim().to_ascii_uppercase().as_str() {
        "" | "B" => 1.0,
        "KB" | "K" => 1e3,
        "MB" | "M" => 1e6,
        "GB" | "G" => 1e9,
        "TB" | "T" => 1e12,
        _ => return None,
    };
    let number: f64 = number.trim().parse().ok()?;
    (number >= 0.0 && number.is_finite()).then_some((number * factor) as u64)
}
