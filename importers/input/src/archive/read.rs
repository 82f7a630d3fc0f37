//! Reads archives. Nothing is written to disk, so that a name can do no harm; sizes are checked before and while a file
//! is unpacked, so that a small archive cannot fill the memory.

use std::io::Read as _;
use std::path::Path;

use flate2::Crc;
use flate2::read::DeflateDecoder;

use super::{DEFLATED, END, ENTRY, LOCAL_HEADER, STORED};
use crate::{ImportError, InputSource};

/// The end of the directory and a comment, which follows it, are at most this long.
const TAIL: u64 = 22 + (1 << 16);
/// Files of a run, with room for what else lies in its folder.
pub(super) const MOST_FILES: usize = 10_000;
/// Bytes of the directory for each file: three names, all of them long.
const DIRECTORY_LIMIT: u64 = 64 << 20;
/// Profiles shrink to a tenth at best; what unpacks to more than this is made to do harm.
pub(super) const MOST_RATIO: u64 = 300;
/// Small files may have any ratio.
pub(super) const HARMLESS: u64 = 64 << 20;

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedFile {
    /// Its path in the archive, with slashes.
    pub name: String,
    /// Its size, as the archive says.
    pub bytes: u64,
    packed: u64,
    crc: u32,
    method: u16,
    at: u64,
}

/// An archive whose directory was read.
#[derive(Debug)]
pub struct Archive {
    source: InputSource,
    files: Vec<ArchivedFile>,
}

fn damaged(offset: u64, what: impl Into<String>) -> ImportError {
    ImportError::Malformed {
        format: "ZIP archive",
        offset,
        what: what.into(),
    }
}

fn unusable(what: impl Into<String>) -> ImportError {
    ImportError::Unusable {
        format: "ZIP archive",
        what: what.into(),
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

impl Archive {
    /// Reads the directory of an archive.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is no archive, is damaged, or is made to do harm.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        Self::of(InputSource::open(path)?)
    }

    /// Opens an archive in an open file.
    ///
    /// # Errors
    ///
    /// See [`Self::open`].
    pub fn of(source: InputSource) -> Result<Self, ImportError> {
        let len = source.packed_len();
        let tail_at = len.saturating_sub(TAIL);
        let tail = part(&source, tail_at, len - tail_at);
        let Some(end) = tail.windows(END.len()).rposition(|window| window == END) else {
            return Err(damaged(
                len,
                "the list of files at its end is missing: the copy is incomplete",
            ));
        };
        // The length of a comment is the last field.
        let (Some(count), Some(size), Some(at), Some(_)) = (
            u16_at(tail, end + 10),
            u32_at(tail, end + 12),
            u32_at(tail, end + 16),
            u16_at(tail, end + 20),
        ) else {
            return Err(damaged(
                len,
                "it ends within the list of files: the copy is incomplete",
            ));
        };
        if u32::MAX == at || u16::MAX == count {
            return Err(unusable(
                "it is larger than 4 GB (ZIP64): unpack it and open the folder",
            ));
        }
        let (size, at) = (u64::from(size), u64::from(at));
        if size > DIRECTORY_LIMIT || usize::from(count) > MOST_FILES {
            let what = format!(
                "it lists {count} files; at most {MOST_FILES} are read: unpack it and open the folder"
            );
            return Err(ImportError::TooLarge { what });
        }
        if at + size > len {
            return Err(damaged(
                len,
                "its list of files lies outside of it: the copy is incomplete",
            ));
        }
        let files = entries(part(&source, at, size), usize::from(count), at, len)?;
        Ok(Self { source, files })
    }

    /// The files, in the order of the directory; folders are left out.
    pub fn files(&self) -> &[ArchivedFile] {
        &self.files
    }

    /// Unpacks one file.
    ///
    /// # Errors
    ///
    /// Its data is damaged, or not what the directory says.
    pub fn read(&self, wanted: &ArchivedFile) -> Result<Vec<u8>, ImportError> {
        let header = part(&self.source, wanted.at, 30);
        let (Some(name), Some(extra)) = (u16_at(header, 26), u16_at(header, 28)) else {
            return Err(damaged(wanted.at, format!("{} is cut off", wanted.name)));
        };
        if !header.starts_with(LOCAL_HEADER) {
            return Err(damaged(
                wanted.at,
                format!("{} is not where the list of files says", wanted.name),
            ));
        }
        let start = wanted.at + 30 + u64::from(name) + u64::from(extra);
        let packed = part(&self.source, start, wanted.packed);
        // Not reserved: the size is only what the archive says.
        let mut bytes = Vec::new();
        let read = match wanted.method {
            STORED => packed.take(wanted.bytes + 1).read_to_end(&mut bytes),
            _ => DeflateDecoder::new(packed)
                .take(wanted.bytes + 1)
                .read_to_end(&mut bytes),
        };
        let mut crc = Crc::new();
        crc.update(&bytes);
        match read {
            Err(error) => Err(damaged(
                start,
                format!("{} cannot be unpacked: {error}", wanted.name),
            )),
            Ok(_) if bytes.len() as u64 != wanted.bytes || crc.sum() != wanted.crc => Err(damaged(
                start,
                format!(
                    "{} is not what the list of files says: copy the archive again",
                    wanted.name
                ),
            )),
            Ok(_) => Ok(bytes),
        }
    }
}

/// Bytes of the archive; fewer if it ends before.
fn part(source: &InputSource, at: u64, len: u64) -> &[u8] {
    let bytes = source.packed();
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
    bytes
        .get(place(at)..place(at.saturating_add(len)))
        .unwrap_or_default()
}

/// The entries of the directory, which begins at `at`.
fn entries(
    directory: &[u8],
    count: usize,
    at: u64,
    len: u64,
) -> Result<Vec<ArchivedFile>, ImportError> {
    let mut files: Vec<ArchivedFile> = Vec::new();
    let mut rest = directory;
    for _ in 0..count {
        let here = at + (directory.len() - rest.len()) as u64;
        let Some((file, length, flags)) = entry(rest) else {
            return Err(damaged(
                here,
                "the list of files is damaged: copy the archive again",
            ));
        };
        rest = rest.get(length..).unwrap_or_default();
        if file.name.ends_with('/') {
            continue;
        }
        check(&file, flags, len)?;
        if files.iter().any(|other| other.name == file.name) {
            return Err(unusable(format!("it holds {} twice", file.name)));
        }
        files.push(file);
    }
    // Many small entries can share the same packed bytes.
    let total: u64 = files.iter().map(|file| file.bytes).sum();
    if total > HARMLESS && total / MOST_RATIO > len {
        let what = format!(
            "it unpacks to {} times its size, more than any run: do not trust it",
            total / len.max(1)
        );
        return Err(ImportError::TooLarge { what });
    }
    Ok(files)
}

/// The first entry of a directory, its length and its flags.
fn entry(bytes: &[u8]) -> Option<(ArchivedFile, usize, u16)> {
    if !bytes.starts_with(ENTRY) {
        return None;
    }
    let [name, extra, comment] = [28, 30, 32].map(|at| u16_at(bytes, at).map(usize::from));
    let name_end = 46 + name?;
    let file = ArchivedFile {
        name: String::from_utf8_lossy(bytes.get(46..name_end)?).into_owned(),
        bytes: u64::from(u32_at(bytes, 24)?),
        packed: u64::from(u32_at(bytes, 20)?),
        crc: u32_at(bytes, 16)?,
        method: u16_at(bytes, 10)?,
        at: u64::from(u32_at(bytes, 42)?),
    };
    Some((file, name_end + extra? + comment?, u16_at(bytes, 8)?))
}

/// Whether a name leads out of the folder that an archive is unpacked to, on any system.
pub(super) fn leads_outside(name: &str) -> bool {
    name.starts_with('/')
        || name.contains(['\\', ':', '\0'])
        || name.split('/').any(|part| matches!(part, ".." | "." | ""))
}

/// Refuses what is not read, or made to do harm.
fn check(file: &ArchivedFile, flags: u16, len: u64) -> Result<(), ImportError> {
    let name = &file.name;
    if leads_outside(name) {
        return Err(unusable(format!(
            "it names a file outside of itself, {name:?}: do not trust it"
        )));
    }
    if flags & 1 != 0 {
        return Err(unusable(format!(
            "{name} is encrypted: unpack it and open the folder"
        )));
    }
    if !matches!(file.method, STORED | DEFLATED) {
        return Err(unusable(format!(
            "{name} is compressed by another method than deflate: unpack it and open the folder"
        )));
    }
    let is_zip64 = [file.bytes, file.packed, file.at].contains(&u64::from(u32::MAX));
    if is_zip64 {
        return Err(unusable(format!(
            "{name} has 4 GB or more (ZIP64): unpack it and open the folder"
        )));
    }
    if file.at + file.packed > len {
        return Err(damaged(
            file.at,
            format!("{name} is cut off: the copy is incomplete"),
        ));
    }
    if file.bytes > HARMLESS && file.bytes / MOST_RATIO > file.packed {
        let what = format!(
            "{name} unpacks to {} times its size, more than any profile: do not trust it",
            file.bytes / file.packed.max(1)
        );
        return Err(ImportError::TooLarge { what });
    }
    Ok(())
}
