//! Reads tar archives, packed with gzip or not. Nothing is written to disk. A tar archive has no list of its files, so it
//! is read twice: for the names, and for the files that are wanted.

use std::collections::BTreeMap;
use std::io::{self, Read as _};

use super::read::{HARMLESS, MOST_FILES, MOST_RATIO, leads_outside};
use crate::{ImportError, InputSource, Progress, Result};

/// A tar archive whose names were read.
#[derive(Debug)]
pub struct TarArchive {
    source: InputSource,
    /// Place of each file among the entries, and its size. Of several with one name the last counts, as for all readers.
    files: BTreeMap<String, (usize, u64)>,
}

fn damaged(error: &io::Error) -> ImportError {
    let what = format!("{error}: the copy is incomplete or damaged, copy the archive again");
    ImportError::Unusable {
        format: "tar archive",
        what,
    }
}

/// The unpacked bytes, no more than of an archive that can be trusted: a long name is read as a whole.
fn limited(source: &InputSource) -> impl io::Read {
    source
        .reader()
        .take(HARMLESS.max(source.packed_len().saturating_mul(MOST_RATIO)))
}

impl TarArchive {
    /// Reads the names.
    ///
    /// # Errors
    ///
    /// The archive is damaged, or made to do harm.
    pub fn of(source: InputSource, progress: &Progress) -> Result<Self> {
        let (mut files, mut total) = (BTreeMap::new(), 0_u64);
        let mut archive = tar::Archive::new(limited(&source));
        for (index, entry) in archive
            .entries()
            .map_err(|error| damaged(&error))?
            .enumerate()
        {
            progress.check()?;
            let entry = entry.map_err(|error| damaged(&error))?;
            let size = entry.size();
            total = total.saturating_add(size);
            if total > HARMLESS && total / MOST_RATIO > source.packed_len() {
                let what = format!(
                    "it unpacks to more than {} times its size, more than any run: do not trust it",
                    total / source.packed_len().max(1)
                );
                return Err(ImportError::TooLarge { what });
            }
            // Folders and links are no profiles.
            if !entry.header().entry_type().is_file()
                && !entry.header().entry_type().is_gnu_sparse()
            {
                continue;
            }
            let whole = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let name = whole.trim_start_matches("./");
            if leads_outside(name) {
                let what = format!("it names a file outside of itself, {whole:?}: do not trust it");
                return Err(ImportError::Unusable {
                    format: "tar archive",
                    what,
                });
            }
            files.insert(name.to_owned(), (index, size));
            if files.len() > MOST_FILES {
                let what =
                    format!("it has more than {MOST_FILES} files: unpack it and open the folder");
                return Err(ImportError::TooLarge { what });
            }
        }
        drop(archive);
        Ok(Self { source, files })
    }

    /// Names and sizes of its files.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64)> {
        self.files
            .iter()
            .map(|(name, (_, size))| (name.as_str(), *size))
    }

    /// Unpacks files, which are returned in this order.
    ///
    /// # Errors
    ///
    /// One is not there, or the archive is damaged.
    pub fn read(&self, wanted: &[String], progress: &Progress) -> Result<Vec<Vec<u8>>> {
        let mut unpacked: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        let place = |name: &String| self.files.get(name).copied();
        let mut places: BTreeMap<usize, u64> = wanted.iter().filter_map(place).collect();
        let mut archive = tar::Archive::new(limited(&self.source));
        for (index, entry) in archive
            .entries()
            .map_err(|error| damaged(&error))?
            .enumerate()
        {
            if places.is_empty() {
                break;
            }
            progress.check()?;
            let mut entry = entry.map_err(|error| damaged(&error))?;
            let Some(size) = places.remove(&index) else {
                continue;
            };
            let mut bytes = Vec::new();
            entry
                .by_ref()
                .take(size)
                .read_to_end(&mut bytes)
                .map_err(|error| damaged(&error))?;
            if bytes.len() as u64 != size {
                return Err(damaged(&io::ErrorKind::UnexpectedEof.into()));
            }
            unpacked.insert(index, bytes);
        }
        let missing = || ImportError::NothingFound {
            what: "the archive has changed while it was read".to_owned(),
        };
        let take = |name: &String| unpacked.remove(&place(name)?.0);
        wanted
            .iter()
            .map(take)
            .map(|bytes| bytes.ok_or_else(missing))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use sample_traces::write::gzip;

    use super::*;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            // The crate refuses to write some names that others do.
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            builder.append(&header, *content).unwrap();
        }
        builder.into_inner().unwrap()
    }

    /// All files of an archive, or why it is refused.
    fn read(bytes: Vec<u8>) -> Result<Vec<(String, Vec<u8>)>, String> {
        let source = InputSource::from_bytes("a.tar", bytes).map_err(|error| error.to_string())?;
        let archive =
            TarArchive::of(source, &Progress::new()).map_err(|error| error.to_string())?;
        let names: Vec<String> = archive.files().map(|(name, _)| name.to_owned()).collect();
        let files = archive
            .read(&names, &Progress::new())
            .map_err(|error| error.to_string())?;
        Ok(names.into_iter().zip(files).collect())
    }

    #[test]
    fn files_are_unpacked_and_the_last_of_a_name_counts() {
        let bytes = archive(&[("./run/a", b"old"), ("run/b", b""), ("run/a", b"new")]);
        let expected = vec![
            ("run/a".to_owned(), b"new".to_vec()),
            ("run/b".to_owned(), Vec::new()),
        ];
        assert_eq!(read(bytes.clone()).unwrap(), expected);
        assert_eq!(read(gzip(&bytes)).unwrap(), expected);
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in ["../x", "/etc/passwd", "a/../../x", "C:x", "a\\b"] {
            let why = read(archive(&[(name, b"x")])).unwrap_err();
            assert!(why.contains("outside of itself"), "{name}: {why}");
        }
    }

    #[test]
    fn cut_archives_are_refused_and_never_panic() {
        let bytes = archive(&[("run/a", &[7; 700]), ("run/b", &[8; 600])]);
        // Headers and contents fill blocks of 512 bytes; an archive may end behind one.
        for end in 512..bytes.len() {
            match read(bytes[..end].to_vec()) {
                Ok(files) => assert!(files.iter().all(|(_, file)| file.len() >= 600), "{end}"),
                Err(why) => assert!(why.contains("copy the archive again"), "{end}: {why}"),
            }
        }
        assert!(read(gzip(&bytes)[..60].to_vec()).is_err());
    }

    #[test]
    fn small_archives_of_much_are_refused() {
        let bytes = gzip(archive(&[("run/a", &vec![0; 80 << 20])]));
        let why = read(bytes).unwrap_err();
        assert!(why.contains("do not trust it"), "{why}");
    }
}
