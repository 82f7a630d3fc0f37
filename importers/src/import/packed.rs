//! Runs in a ZIP archive: packed by `systole pack`, or a zipped run folder.

use std::collections::BTreeSet;
use std::fs::File;
#[cfg(feature = "remote")]
use std::io;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::common::ImportOptions;
use crate::import::file_names::endings;
use crate::import::locate::{HostFiles, LocatedRun, hosts_of};
#[cfg(feature = "remote")]
use crate::import::opening::FileOpener;
use crate::input::archive::Archive;
#[cfg(feature = "remote")]
use crate::input::shown_path;
use crate::input::{ImportError, InputSource, Progress, is_remote};

/// The first bytes of an archive.
const MAGIC: &[u8; 4] = b"PK\x03\x04";
/// Marks an archive of `systole pack`.
pub const PACK_FACTS: &str = "systole-pack.json";
/// Folder of the profiles in such an archive.
pub const PACKED_PROFILES: &str = "profile";
/// The view of the run in the window, in such an archive.
pub const PACKED_SESSION: &str = "session.json";
/// Largest view that is read.
const MOST_SESSION: u64 = 8 << 20;
/// Profiles are unpacked in memory, up to this size in all.
const MOST_BYTES: u64 = 16 << 30;

/// The profiles of an archive, unpacked.
pub(super) struct PackedRun {
    /// The hosts, with the names of their files in the archive.
    pub(super) located: LocatedRun,
    /// The richest file of each host.
    pub(super) sources: Vec<InputSource>,
}

/// Unpacks the run at `path`; `None` if it is no archive.
pub(super) fn open(
    path: &Path,
    options: &ImportOptions,
    progress: &Progress,
) -> Result<Option<PackedRun>, ImportError> {
    let Some(mut archive) = archive_at(path, options, progress)? else { return Ok(None) };
    if let Some(run) = &options.run {
        let what = format!("run {run:?} was asked for, but this is an archive of one run, not a log directory");
        return Err(ImportError::NothingFound { what });
    }
    let names = archive.files().iter().map(|file| PathBuf::from(&file.name));
    let is_pack = archive.files().iter().any(|file| file.name == PACK_FACTS);
    let hosts = if is_pack {
        hosts_in_pack(names.filter(|name| name.starts_with(PACKED_PROFILES)).collect())
    } else {
        hosts_of(names.collect())
    };
    check_folders(&hosts)?;
    let mut sources = Vec::new();
    let mut total = 0_u64;
    for host in &hosts {
        let wanted =
            host.files.first().and_then(|name| archive.files().iter().find(|file| name == Path::new(&file.name)));
        let Some(wanted) = wanted.cloned() else { continue };
        total = total.saturating_add(wanted.bytes);
        if total > MOST_BYTES {
            let what = "the profiles of this archive take more than 16 GiB: unpack it and open the folder".to_owned();
            return Err(ImportError::TooLarge { what });
        }
        let name = wanted.name.rsplit('/').next().unwrap_or_default().to_owned();
        sources.push(InputSource::from_bytes(name, archive.read(&wanted)?)?);
    }
    Ok(Some(PackedRun { located: LocatedRun { hosts, ..LocatedRun::default() }, sources }))
}

/// The view of the window in an archive of `systole pack`, as it was saved; `None` if the file is no such archive, or has
/// none.
///
/// # Errors
///
/// The archive is damaged, or the view larger than any.
pub fn packed_session(path: &Path) -> Result<Option<Vec<u8>>, ImportError> {
    if !is_zip(path) {
        return Ok(None);
    }
    let mut archive = Archive::open(path)?;
    let find = |name: &str| archive.files().iter().find(|file| file.name == name).cloned();
    let (Some(_), Some(session)) = (find(PACK_FACTS), find(PACKED_SESSION)) else { return Ok(None) };
    if session.bytes > MOST_SESSION {
        return Err(ImportError::TooLarge {
            what: format!("{PACKED_SESSION} of this archive has {} bytes", session.bytes),
        });
    }
    archive.read(&session).map(Some)
}

/// The archive at a path; `None` if it is none.
fn archive_at(path: &Path, options: &ImportOptions, progress: &Progress) -> Result<Option<Archive>, ImportError> {
    if is_remote(path) {
        return remote_archive(path, options, progress);
    }
    if is_zip(path) { Archive::open(path).map(Some) } else { Ok(None) }
}

/// An archive in a bucket, which is told by its name, because a look inside copies it.
#[cfg(feature = "remote")]
fn remote_archive(path: &Path, options: &ImportOptions, progress: &Progress) -> Result<Option<Archive>, ImportError> {
    if shown_path(path).extension().is_none_or(|ending| ending != "zip") {
        return Ok(None);
    }
    let source = FileOpener::new(&LocatedRun::default(), options, progress)?.open(path)?;
    if !source.head().starts_with(MAGIC) {
        return Ok(None);
    }
    let mut file = tempfile::tempfile()?;
    io::copy(&mut source.reader(), &mut file)?;
    Archive::of(file).map(Some)
}

/// Locating the run says that this build cannot read buckets.
#[cfg(not(feature = "remote"))]
#[expect(clippy::unnecessary_wraps, reason = "the other one can fail")]
fn remote_archive(
    _path: &Path,
    _options: &ImportOptions,
    _progress: &Progress,
) -> Result<Option<Archive>, ImportError> {
    Ok(None)
}

fn is_zip(path: &Path) -> bool {
    let mut head = [0; 4];
    path.is_file() && File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == *MAGIC
}

/// Files that were packed may have any name: a simulator's log is read as well.
fn hosts_in_pack(names: Vec<PathBuf>) -> Vec<HostFiles> {
    let hosts = hosts_of(names.clone());
    if !hosts.is_empty() {
        return hosts;
    }
    names.into_iter().map(|name| HostFiles { host: None, files: vec![name] }).collect()
}

/// Rejects archives of no run, and of several.
fn check_folders(hosts: &[HostFiles]) -> Result<(), ImportError> {
    let folders: BTreeSet<&Path> = hosts.iter().flat_map(|host| &host.files).filter_map(|name| name.parent()).collect();
    let what = match folders.len() {
        0 => format!("this ZIP archive has no file that ends in {}; open what is inside, unpacked", endings()),
        1 => return Ok(()),
        count => format!("this ZIP archive has profiles in {count} folders: unpack it and open one of them"),
    };
    Err(ImportError::NothingFound { what })
}
