//! Reads archives. Nothing is written to disk, so that a name can do no harm; sizes are checked before and while a file
//! is unpacked, so that a small archive cannot fill the memory.

use std::io::Read as _;
use std::path::Path;

use flate2::Crc;
use flate2::read::DeflateDecoder;
use rawzip::{
    CompressionMethod, ErrorKind, ZipArchive, ZipArchiveEntryWayfinder, ZipFileHeaderRecord,
    ZipSliceArchive, ZipVerification,
};

use crate::{ImportError, InputSource, Result};

/// Files of a run, with room for what else lies in its folder.
pub(super) const MOST_FILES: usize = 10_000;
/// Bytes of the directory for each file: three names, all of them long.
const DIRECTORY_LIMIT: u64 = 64 << 20;
/// Profiles shrink to a tenth at best; what unpacks to more than this is made to do harm.
pub(super) const MOST_RATIO: u64 = 300;
/// Small files may have any ratio.
pub(super) const HARMLESS: u64 = 64 << 20;

/// A file of an archive.
#[derive(Clone, Debug)]
pub struct ArchivedFile {
    /// Its path in the archive, with slashes.
    pub name: String,
    /// Its size, as the archive says.
    pub bytes: u64,
    is_stored: bool,
    at: u64,
    place: ZipArchiveEntryWayfinder,
}

/// An archive whose directory was read.
#[derive(Debug)]
pub struct Archive {
    zip: ZipSliceArchive<InputSource>,
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

impl Archive {
    /// Reads the directory of an archive.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is no archive, is damaged, or is made to do harm.
    pub fn open(path: &Path) -> Result<Self> {
        Self::of(InputSource::open(path)?)
    }

    /// Opens an archive in an open file.
    ///
    /// # Errors
    ///
    /// See [`Self::open`].
    pub fn of(source: InputSource) -> Result<Self> {
        let len = source.packed_len();
        let zip = ZipArchive::from_slice(source).map_err(|error| {
            let what = match error.kind() {
                ErrorKind::MissingEndOfCentralDirectory => {
                    "the list of files at its end is missing"
                }
                ErrorKind::Eof => "it ends within the list of files",
                _ => "its list of files lies outside of it",
            };
            damaged(len, format!("{what}: the copy is incomplete"))
        })?;
        let files = entries(&zip, len)?;
        Ok(Self { zip, files })
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
    pub fn read(&self, wanted: &ArchivedFile) -> Result<Vec<u8>> {
        let name = &wanted.name;
        let entry = self.zip.get_entry(wanted.place).map_err(|_absent| {
            let what = format!("{name} is not where the list of files says");
            damaged(wanted.at, what)
        })?;
        let (start, _) = entry.compressed_data_range();
        // Not reserved: the size is only what the archive says.
        let mut bytes = Vec::new();
        let limit = wanted.bytes.saturating_add(1);
        let read = if wanted.is_stored {
            entry.data().take(limit).read_to_end(&mut bytes)
        } else {
            let unpacked = DeflateDecoder::new(entry.data());
            unpacked.take(limit).read_to_end(&mut bytes)
        };
        read.map_err(|error| damaged(start, format!("{name} cannot be unpacked: {error}")))?;
        let mut crc = Crc::new();
        crc.update(&bytes);
        let sums = ZipVerification {
            crc: crc.sum(),
            uncompressed_size: bytes.len() as u64,
        };
        entry.claim_verifier().valid(sums).map_err(|_differs| {
            let what = format!("{name} is not what the list of files says: copy the archive again");
            damaged(start, what)
        })?;
        Ok(bytes)
    }
}

/// The files in the directory of an archive of `len` bytes.
fn entries(zip: &ZipSliceArchive<InputSource>, len: u64) -> Result<Vec<ArchivedFile>> {
    let (count, directory) = (zip.entries_hint(), zip.directory_offset());
    if count > MOST_FILES as u64 || zip.eocd_offset().saturating_sub(directory) > DIRECTORY_LIMIT {
        let what = format!(
            "it lists {count} files; at most {MOST_FILES} are read: unpack it and open the folder"
        );
        return Err(ImportError::TooLarge { what });
    }
    let mut files: Vec<ArchivedFile> = Vec::new();
    let mut rest = zip.entries();
    for _ in 0..count {
        let Ok(Some(entry)) = rest.next_entry() else {
            let what = "the list of files is damaged: copy the archive again";
            return Err(damaged(directory, what));
        };
        if entry.is_dir() {
            continue;
        }
        let file = ArchivedFile {
            name: String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned(),
            bytes: entry.uncompressed_size_hint(),
            is_stored: entry.compression_method() == CompressionMethod::STORE,
            at: entry.local_header_offset(),
            place: entry.wayfinder(),
        };
        check(&file, &entry, len)?;
        if files.iter().any(|other| other.name == file.name) {
            return Err(unusable(format!("it holds {} twice", file.name)));
        }
        files.push(file);
    }
    // Many small entries can share the same packed bytes.
    let sizes = files.iter().map(|file| file.bytes);
    let total = sizes.fold(0, u64::saturating_add);
    if total > HARMLESS && total / MOST_RATIO > len {
        let what = format!(
            "it unpacks to {} times its size, more than any run: do not trust it",
            total / len.max(1)
        );
        return Err(ImportError::TooLarge { what });
    }
    Ok(files)
}

/// Whether a name leads out of the folder that an archive is unpacked to, on any system.
pub(super) fn leads_outside(name: &str) -> bool {
    name.starts_with('/')
        || name.contains(['\\', ':', '\0'])
        || name.split('/').any(|part| matches!(part, ".." | "." | ""))
}

/// Refuses what is not read, or made to do harm.
fn check(file: &ArchivedFile, entry: &ZipFileHeaderRecord<'_>, len: u64) -> Result<()> {
    let (name, packed) = (&file.name, entry.compressed_size_hint());
    if leads_outside(name) {
        return Err(unusable(format!(
            "it names a file outside of itself, {name:?}: do not trust it"
        )));
    }
    if entry.flags().is_encrypted() {
        return Err(unusable(format!(
            "{name} is encrypted: unpack it and open the folder"
        )));
    }
    if !file.is_stored && entry.compression_method() != CompressionMethod::DEFLATE {
        return Err(unusable(format!(
            "{name} is compressed by another method than deflate: unpack it and open the folder"
        )));
    }
    if file.at.saturating_add(packed) > len {
        return Err(damaged(
            file.at,
            format!("{name} is cut off: the copy is incomplete"),
        ));
    }
    if file.bytes > HARMLESS && file.bytes / MOST_RATIO > packed {
        let what = format!(
            "{name} unpacks to {} times its size, more than any profile: do not trust it",
            file.bytes / packed.max(1)
        );
        return Err(ImportError::TooLarge { what });
    }
    Ok(())
}
