//! Runs in an archive: packed by `systole pack`, or a run folder in a ZIP or tar archive.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use importer_common::ImportOptions;
use input::archive::{Archive, TarArchive};
use input::sniffing::is_archive;
use input::{GZIP, ImportError, InputSource, Progress, Result, SharedBytes, is_remote, shown_path};

use crate::import::file_names::endings;
use crate::import::locate::{HostFiles, LocatedRun, hosts_of, shortened};
use crate::import::opening::FileOpener;

/// The first bytes of a ZIP archive.
const ZIP: &[u8; 4] = b"PK\x03\x04";
/// A tar archive is told by the end of its first block.
const BLOCK: u64 = 512;
/// Endings of archives in buckets.
const ENDINGS: [&str; 4] = [".zip", ".tar", ".tar.gz", ".tgz"];
/// Marks an archive of `systole pack`.
pub const PACK_FACTS: &str = "systole-pack.json";
/// Folder of the profiles in such an archive.
pub const PACKED_PROFILES: &str = "profile";
/// The view of the run in the window, in such an archive.
pub const PACKED_SESSION: &str = "session.json";
/// Largest of such files that is read.
const MOST_EXTRA: u64 = 8 << 20;
/// Profiles are unpacked in memory, up to this size in all.
const MOST_BYTES: u64 = if cfg!(target_pointer_width = "32") {
    1 << 30
} else {
    16 << 30
};
/// Maximum number of names in a message.
const SHOWN: usize = 4;

/// The profiles of an archive, unpacked.
pub(super) struct PackedRun {
    /// The hosts, with the names of their files in the archive.
    pub located: LocatedRun,
    /// The richest file of each host.
    pub sources: Vec<InputSource>,
}

/// An archive of either kind.
enum RunArchive {
    Zip(Archive),
    Tar(TarArchive),
}

impl RunArchive {
    fn of(source: InputSource, progress: &Progress) -> Result<Self> {
        if source.head().starts_with(ZIP) {
            return Archive::of(source).map(Self::Zip);
        }
        TarArchive::of(source, progress).map(Self::Tar)
    }

    /// Names and sizes of its files.
    fn files(&self) -> Vec<(&str, u64)> {
        match self {
            Self::Zip(zip) => zip
                .files()
                .iter()
                .map(|file| (file.name.as_str(), file.bytes))
                .collect(),
            Self::Tar(tar) => tar.files().collect(),
        }
    }

    fn read(&self, names: &[String], progress: &Progress) -> Result<Vec<Vec<u8>>> {
        let zip = match self {
            Self::Tar(tar) => return tar.read(names, progress),
            Self::Zip(zip) => zip,
        };
        let named = |name: &String| zip.files().iter().find(|file| file.name == *name);
        names
            .iter()
            .filter_map(named)
            .map(|file| progress.check().and_then(|()| zip.read(file)))
            .collect()
    }
}

/// Unpacks the run at `path`; `None` if it is no archive.
pub(super) fn open(
    path: &Path,
    options: &ImportOptions,
    progress: &Progress,
) -> Result<Option<PackedRun>> {
    archive_at(path, options, progress)?
        .map(|source| unpack(source, options, progress))
        .transpose()
}

/// A file for the arguments of a trace that was imported elsewhere (see [`crate::from_snapshot`]), whose bytes are asked for
/// when they are needed. `None` if they must be unpacked first, as its first bytes say.
pub fn source_for_args(name: String, head: &[u8], bytes: SharedBytes) -> Option<InputSource> {
    let is_packed = is_archive(head) || head.starts_with(&GZIP);
    (!is_packed).then(|| InputSource::later(name, bytes))
}

/// A file of a host to import, or what it has if it is an archive: each source with the name of its host, if it is known.
///
/// # Errors
///
/// The archive is damaged, or has not one run.
pub fn sources_in(
    source: InputSource,
    host: Option<String>,
) -> Result<Vec<(Option<String>, InputSource)>> {
    if !is_archive(source.head()) {
        return Ok(vec![(host, source)]);
    }
    let PackedRun { located, sources } =
        unpack(source, &ImportOptions::default(), &Progress::new())?;
    Ok(located
        .hosts
        .into_iter()
        .map(|host| host.host)
        .zip(sources)
        .collect())
}

/// Unpacks the run in an archive.
pub(super) fn unpack(
    source: InputSource,
    options: &ImportOptions,
    progress: &Progress,
) -> Result<PackedRun> {
    let archive = RunArchive::of(source, progress)?;
    let files = archive.files();
    let names = files.iter().map(|(name, _)| PathBuf::from(name));
    let is_pack = files.iter().any(|(name, _)| *name == PACK_FACTS);
    if let Some(run) = options.run.as_ref().filter(|_| is_pack) {
        let what = format!(
            "run {run:?} was asked for, but this is an archive of one run, not a log directory"
        );
        return Err(ImportError::NothingFound { what });
    }
    let hosts = if is_pack {
        hosts_in_pack(
            names
                .filter(|name| name.starts_with(PACKED_PROFILES))
                .collect(),
        )
    } else {
        hosts_of(in_run(names.collect(), options.run.as_deref())?)
    };
    check_folders(&hosts)?;
    let wanted: Vec<String> = hosts
        .iter()
        .filter_map(|host| host.files.first())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    let total = files
        .iter()
        .filter(|(name, _)| wanted.iter().any(|wanted| wanted == name));
    if total.fold(0, |total: u64, (_, bytes)| total.saturating_add(*bytes)) > MOST_BYTES {
        let most = MOST_BYTES >> 30;
        let what = format!(
            "the profiles of this archive take more than {most} GiB: unpack it and open the folder"
        );
        return Err(ImportError::TooLarge { what });
    }
    let base = |name: &String| name.rsplit('/').next().unwrap_or_default().to_owned();
    let contents = archive.read(&wanted, progress)?;
    let sources = wanted
        .iter()
        .zip(contents)
        .map(|(name, bytes)| InputSource::from_bytes(base(name), bytes));
    let sources = sources.collect::<Result<_, _>>()?;
    Ok(PackedRun {
        located: LocatedRun::of(hosts),
        sources,
    })
}

/// Whether a file is an archive of profiles: ZIP or tar, packed or not.
pub fn is_archive_file(path: &Path) -> bool {
    is_archive(&head_of(path))
}

/// A file that `systole pack` adds to the profiles, the view of the window for example; `None` if this is no such archive,
/// or has none.
///
/// # Errors
///
/// The archive is damaged, or the file larger than any.
pub fn packed_file(path: &Path, name: &str) -> Result<Option<Vec<u8>>> {
    if head_of(path).starts_with(ZIP) {
        packed_file_in(InputSource::open(path)?, name)
    } else {
        Ok(None)
    }
}

/// A file that `systole pack` adds to the profiles, from an open archive; `None` as for [`packed_file`].
///
/// # Errors
///
/// See [`packed_file`].
pub fn packed_file_in(source: InputSource, name: &str) -> Result<Option<Vec<u8>>> {
    if !source.head().starts_with(ZIP) {
        return Ok(None);
    }
    let archive = Archive::of(source)?;
    let find = |name: &str| archive.files().iter().find(|file| file.name == name);
    let (Some(_), Some(file)) = (find(PACK_FACTS), find(name)) else {
        return Ok(None);
    };
    if file.bytes > MOST_EXTRA {
        return Err(ImportError::TooLarge {
            what: format!("{name} of this archive has {} bytes", file.bytes),
        });
    }
    archive.read(file).map(Some)
}

/// The archive at a path; `None` if it is none. In a bucket it is told by its name, because a look inside copies it.
fn archive_at(
    path: &Path,
    options: &ImportOptions,
    progress: &Progress,
) -> Result<Option<InputSource>> {
    if is_remote(path) {
        let name = shown_path(path).to_string_lossy().to_ascii_lowercase();
        if !ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            return Ok(None);
        }
        let source = FileOpener::new(&LocatedRun::default(), options, progress)?.open(path)?;
        return Ok(Some(source).filter(|source| is_archive(source.head())));
    }
    if is_archive(&head_of(path)) {
        InputSource::open(path).map(Some)
    } else {
        Ok(None)
    }
}

/// The first unpacked bytes of a file; none if it cannot be read, which is said later.
fn head_of(path: &Path) -> Vec<u8> {
    let mut head = Vec::new();
    // A pipe gives its data only once.
    if path.is_file()
        && let Ok(file) = File::open(path)
    {
        let (mut file, mut start) = (BufReader::new(file), [0; 2]);
        if file.read_exact(&mut start).is_ok() {
            let whole = start.chain(file);
            // What a damaged file has before the damage is enough.
            let _ = match start {
                [0x1f, 0x8b] => MultiGzDecoder::new(BufReader::new(whole))
                    .take(BLOCK)
                    .read_to_end(&mut head),
                _ => whole.take(BLOCK).read_to_end(&mut head),
            };
        }
    }
    head
}

/// The files of the run that is asked for: those in a folder of its name.
fn in_run(names: Vec<PathBuf>, run: Option<&str>) -> Result<Vec<PathBuf>> {
    let Some(run) = run else { return Ok(names) };
    let (found, others): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|name| folder_of(name) == run);
    if found.is_empty() {
        let folders = folders_of(&hosts_of(others));
        let there = if folders.is_empty() {
            "none".to_owned()
        } else {
            folders
        };
        let what = format!(
            "run {run:?} was asked for; the folders of this archive with profiles: {there}"
        );
        return Err(ImportError::NothingFound { what });
    }
    Ok(found)
}

/// The name of the folder that a file is in.
fn folder_of(name: &Path) -> String {
    name.parent()
        .and_then(Path::file_name)
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Files that were packed may have any name: a simulator's log is read as well.
fn hosts_in_pack(names: Vec<PathBuf>) -> Vec<HostFiles> {
    let hosts = hosts_of(names.clone());
    if !hosts.is_empty() {
        return hosts;
    }
    names.into_iter().map(HostFiles::named).collect()
}

/// Rejects archives of no run, and of several.
fn check_folders(hosts: &[HostFiles]) -> Result<()> {
    let folders: BTreeSet<_> = hosts
        .iter()
        .flat_map(|host| &host.files)
        .map(|name| name.parent())
        .collect();
    let what = match folders.len() {
        0 => format!(
            "this archive has no file that ends in {}; open what is inside, unpacked",
            endings()
        ),
        1 => return Ok(()),
        _ => format!(
            "this archive has profiles in several folders; name one with --run: {}",
            folders_of(hosts)
        ),
    };
    Err(ImportError::NothingFound { what })
}

/// The folders that profiles are in, for a message.
fn folders_of(hosts: &[HostFiles]) -> String {
    let folders: BTreeSet<String> = hosts
        .iter()
        .flat_map(|host| &host.files)
        .map(|name| folder_of(name))
        .collect();
    shortened(folders.into_iter().rev().collect(), SHOWN)
}
